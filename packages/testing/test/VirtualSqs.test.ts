import { Sqs } from "@effect-sqs/core/Sqs"
import * as Fault from "@effect-sqs/testing/Fault"
import { layer, VirtualSqs } from "@effect-sqs/testing/VirtualSqs"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"

const receive = (queue: string, options: { max?: number; wait?: number; visibility?: number } = {}) =>
  Effect.gen(function* () {
    const sqs = yield* Sqs
    return yield* sqs.receive({
      queueUrl: yield* sqs.queueUrl(queue),
      maxMessages: options.max ?? 10,
      waitTimeSeconds: options.wait ?? 0,
      visibilityTimeoutSeconds: options.visibility
    })
  })
const bodies = (messages: ReadonlyArray<{ readonly body: string }>) => messages.map((m) => m.body)

describe("VirtualSqs", () => {
  it.effect("hands a message out, hides it, and hands it out again with a new handle", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs
      yield* virtual.send("jobs", "a")
      const [first] = yield* receive("jobs")
      assert.deepStrictEqual(yield* receive("jobs"), [])
      yield* TestClock.adjust("29999 millis")
      assert.deepStrictEqual(yield* receive("jobs"), [])
      yield* TestClock.adjust("1 millis")
      const [second] = yield* receive("jobs")
      assert.strictEqual(second?.messageId, first?.messageId)
      assert.notStrictEqual(second?.receiptHandle, first?.receiptHandle)
      assert.strictEqual(second?.receiveCount, 2)
      assert.strictEqual(second?.firstReceivedAt, 0)
    }).pipe(Effect.provide(layer({ queues: ["jobs"] })))
  )

  it.effect("wakes a long poll on arrival, on return, and at the end of a delay", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs
      const at = Effect.clockWith((clock) => clock.currentTimeMillis)
      const poll = Effect.fork(Effect.zip(receive("jobs", { wait: 20 }), at))

      const arrival = yield* poll
      yield* TestClock.adjust("3 seconds")
      yield* virtual.send("jobs", "a")
      assert.deepStrictEqual(yield* Fiber.join(arrival).pipe(Effect.map(([m, t]) => [bodies(m), t])), [["a"], 3000])

      const again = yield* receive("jobs", { visibility: 5 })
      assert.deepStrictEqual(again, [])
      const back = yield* poll
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* Fiber.join(back).pipe(Effect.map(([m, t]) => [bodies(m), t])), [[], 23_000])

      const returned = yield* poll
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* Fiber.join(returned).pipe(Effect.map(([m, t]) => [bodies(m), t])), [["a"], 33_000])

      yield* virtual.send("jobs", "b", { delaySeconds: 4 })
      const delayed = yield* poll
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* Fiber.join(delayed).pipe(Effect.map(([m, t]) => [bodies(m), t])), [["b"], 47_000])
    }).pipe(Effect.provide(layer({ queues: ["jobs"] })))
  )

  it.effect("an interrupted poll takes no message, even when it was woken already", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs
      const poll = yield* Effect.fork(receive("jobs", { wait: 20 }))
      const second = yield* Effect.fork(receive("jobs", { wait: 20 }))
      yield* TestClock.adjust("1 seconds")
      yield* virtual.send("jobs", "a")
      yield* Fiber.interrupt(poll)
      assert.deepStrictEqual(bodies(yield* Fiber.join(second)), ["a"])
      const [message] = yield* virtual.messages("jobs")
      assert.strictEqual(message?.receiveCount, 1)
      const ends = virtual.journal.entries.flatMap((e) => (e._tag === "CallEnded" ? [e.outcome._tag] : []))
      assert.deepStrictEqual(ends, ["Answered", "Answered", "Interrupted", "Answered"])
    }).pipe(Effect.provide(layer({ queues: ["jobs"] })))
  )

  it.effect("a lost reply hides the message and counts a receive", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs
      yield* virtual.send("jobs", "a")
      const error = yield* Effect.flip(receive("jobs"))
      assert.strictEqual(error._tag, "NetworkError")
      assert.deepStrictEqual(yield* virtual.counters("jobs"), { visible: 0, inFlight: 1, delayed: 0 })
      yield* TestClock.adjust("30 seconds")
      const [message] = yield* receive("jobs")
      assert.strictEqual(message?.receiveCount, 2)
      const lost = virtual.journal.entries.filter((e) => e._tag === "CallEnded" && e.outcome._tag === "Lost")
      assert.strictEqual(lost.length, 1)
    }).pipe(
      Effect.provide(
        layer({ queues: ["jobs"], faults: Fault.loseReply.pipe(Fault.on("ReceiveMessage"), Fault.times(1)) })
      )
    )
  )

  it.effect("a fault that waits does so on the clock, and the call takes effect after it", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs
      const done = yield* Deferred.make<number, unknown>()
      yield* virtual.send("jobs", "a")
      yield* Effect.fork(
        receive("jobs").pipe(
          Effect.zipRight(Effect.clockWith((clock) => clock.currentTimeMillis)),
          Effect.intoDeferred(done)
        )
      )
      yield* TestClock.adjust("1999 millis")
      assert.isFalse(yield* Deferred.isDone(done))
      assert.deepStrictEqual(yield* virtual.counters("jobs"), { visible: 1, inFlight: 0, delayed: 0 })
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* Deferred.await(done), 2000)
    }).pipe(
      Effect.provide(layer({ queues: ["jobs"], faults: Fault.latency("2 seconds").pipe(Fault.on("ReceiveMessage")) }))
    )
  )
})
