/** What users' code and other ports may do wrong, and what must not come of it: places, timers and messages that are lost. */
import { BatchHandler, Consumer, Poller, Redelivery, Settlement, SqsQueue } from "@effect-sqs/core"
import { SimClock } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, ParseResult, Schema, Stream, TestClock } from "effect"
import { Alarms } from "../src/internal/alarms.js"
import { LiveDelivery } from "../src/internal/delivery.js"
import { calls, sendMany } from "./calls.js"
import { became, incompleteOf, listen } from "./drainSupport.js"
import { failureOf, Jobs, withReceive } from "./pollingSupport.js"
import { beside, send, simulate, view } from "./sim.js"
import { jobs, passUntilDone, worker } from "./support.js"

describe("a batch handler", () => {
  it.effect("leaves nobody who waits for a stop behind, however its deliveries end", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        let watching = 0
        const { whenStopping } = LiveDelivery.prototype
        LiveDelivery.prototype.whenStopping = function (f) {
          watching++
          const unwatch = whenStopping.call(this, f)
          let isWatching = true
          return () => {
            if (isWatching) watching--
            isWatching = false
            unwatch()
          }
        }
        yield* Effect.addFinalizer(() => Effect.sync(() => (LiveDelivery.prototype.whenStopping = whenStopping)))
        for (let n = 1; n <= 30; n++) yield* send(sqs, Jobs, n)
        const handler = yield* BatchHandler.make(Jobs, { size: 4, window: "1 second" }, (deliveries) =>
          deliveries[0]!.body % 3 === 0 ? Effect.fail("no" as const) : Effect.void
        )
        yield* beside(Consumer.run(Jobs, { redelivery: Redelivery.delete }, handler))
        yield* Effect.sleep("30 seconds")
        assert.strictEqual((yield* sqs.messages("jobs")).length, 0)
        assert.strictEqual(watching, 0)
      })
    )
  )
})

describe("a redelivery policy that hangs", () => {
  it.scoped("is interrupted at the drain's deadline: the message is left, and nothing holds it any more", () =>
    Effect.gen(function* () {
      const { onEvent, reports } = listen()
      yield* sendMany("jobs", 1)
      const { fiber } = yield* worker(
        Consumer.run(
          Jobs,
          {
            onEvent,
            redelivery: Redelivery.make(() => Effect.never),
            drain: { timeout: "5 seconds", interruptTimeout: "5 seconds", openReceives: "abort" }
          },
          () => Effect.fail("no" as const)
        )
      )
      yield* TestClock.adjust("20 seconds")
      yield* Fiber.interruptFork(fiber)
      const exit = yield* passUntilDone(fiber)
      assert.include(incompleteOf(exit)?.message, "1 interrupted")
      assert.deepStrictEqual(became(reports[0]), ["interrupted"])
      yield* TestClock.adjust("1 hour")
      // the drain was over at 25 s
      assert.deepStrictEqual(yield* calls("ChangeMessageVisibilityBatch", 26_000), [])
    }).pipe(Effect.provide(jobs()))
  )
})

describe("an end that is no settlement", () => {
  it.effect("is a failure like any other: the message comes again", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        const wrong = ["nothing", undefined, { _tag: "Deleted" }] as ReadonlyArray<any>
        yield* beside(
          Consumer.run(Jobs, { redelivery: Redelivery.release("5 seconds") }, (_, d) =>
            d.receiveCount <= wrong.length ? Settlement.endWith(wrong[d.receiveCount - 1]) : Effect.void
          )
        )
        yield* Effect.sleep("1 minute")
        assert.strictEqual(view(sqs).deliveries.length, 4)
        assert.strictEqual((yield* sqs.messages("jobs")).length, 0)
      })
    )
  )
})

describe("a port that answers a receive with what is none", () => {
  it.scoped("ends the consumer with an error, and does not leave it idle", () =>
    Effect.gen(function* () {
      const { fiber } = yield* worker(Consumer.run(Jobs, {}, () => Effect.void))
      const exit = yield* passUntilDone(fiber)
      assert.instanceOf(failureOf(exit), Poller.PollError)
    }).pipe(Effect.provide(withReceive(() => Effect.succeed(undefined as any))), Effect.provide(jobs()))
  )
})

describe("an alarm that throws", () => {
  it("does not keep the others from ringing", () => {
    const sleeping: Array<() => void> = []
    let now = 0
    const alarms = new Alarms(
      () => now,
      (_, then) => {
        sleeping.push(then)
        return () => {}
      }
    )
    let rung = false
    alarms.after(10, () => {
      throw new Error("by plan")
    })
    alarms.after(20, () => (rung = true))
    now = 10
    assert.throws(() => sleeping.shift()!(), /by plan/)
    now = 20
    sleeping.shift()!()
    assert.isTrue(rung)
  })
})

describe("a stream that is stopped", () => {
  const Slow = SqsQueue.make("jobs", {
    schema: Schema.transformOrFail(Schema.Number, Schema.Number, {
      decode: (n) => Effect.delay(ParseResult.succeed(n), "2 seconds"),
      encode: ParseResult.succeed
    })
  })
  const Fifo = SqsQueue.make("jobs.fifo", { schema: Schema.Number })

  for (const [what, queue] of [
    ["followers of a group", Fifo],
    ["bodies that are still being decoded", Slow]
  ] as const) {
    it.effect(`hands out ${what} before it ends`, () =>
      simulate({ name: queue.name }, (sqs) =>
        Effect.gen(function* () {
          for (let n = 1; n <= 3; n++) {
            const fifo = queue === Fifo ? { groupId: "g", deduplicationId: String(n) } : {}
            yield* Effect.orDie(sqs.send(queue.name, String(n), fifo))
          }
          const stop = yield* Deferred.make<void>()
          const process = yield* SimClock.spawn(
            "worker",
            Consumer.stream(queue, { concurrency: 5, stop: Deferred.await(stop) }).pipe(
              Stream.mapEffect((d) => d.process(() => Effect.sleep("10 seconds")), {
                concurrency: "unbounded",
                unordered: true
              }),
              Stream.runCollect
            )
          )
          yield* Effect.sleep("1 second")
          yield* Deferred.succeed(stop, undefined)
          const settled = yield* Effect.flatten(process.await)
          assert.deepStrictEqual(
            [...settled].map(({ asked, confirmed }) => [asked._tag, confirmed]),
            Array.from({ length: 3 }, () => ["Delete", true])
          )
        })
      )
    )
  }
})
