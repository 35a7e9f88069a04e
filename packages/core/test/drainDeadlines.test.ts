import { Consumer, Drain, Sqs } from "@effect-sqs/core"
import { Fault, VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Scope, TestClock } from "effect"
import { sendMany } from "./calls.js"
import { jobs, passUntilDone, worker } from "./support.js"
import { Jobs, listen, became, endsAfter, endsAtOnce, incompleteOf, isClean } from "./drainSupport.js"

describe("the deadlines of a drain", () => {
  it.scoped(
    "D11 a handler that cannot be interrupted: the others are settled, it is abandoned at the second deadline",
    () =>
      Effect.gen(function* () {
        const virtual = yield* VirtualSqs.VirtualSqs
        const { onEvent, reports } = listen()
        yield* sendMany("jobs", 3)
        const { fiber } = yield* worker(
          Consumer.run(
            Jobs,
            { onEvent, drain: { timeout: "5 seconds", interruptTimeout: "3 seconds", openReceives: "abort" } },
            (n) =>
              n === 0
                ? Effect.uninterruptible(Effect.sleep("1 hour"))
                : n === 1
                  ? Effect.sleep("2 seconds")
                  : Effect.sleep("1 hour")
          )
        )
        yield* TestClock.adjust("1 second")
        yield* Fiber.interruptFork(fiber)
        const exit = yield* endsAfter(fiber, "7900 millis", "200 millis")
        assert.deepStrictEqual(became(reports[0]), ["abandoned", "interrupted", "settled"])
        assert.include(incompleteOf(exit)?.message, "1 abandoned: could not be interrupted")
        assert.deepInclude(yield* virtual.counters("jobs"), { visible: 1, inFlight: 1 })
      }).pipe(Effect.provide(jobs()))
  )

  it.scoped("an abandoned handler keeps its lease while the process lives on, and is released when it ends", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 1)
      const { fiber } = yield* worker(
        Consumer.run(
          Jobs,
          { drain: { timeout: "1 second", interruptTimeout: "1 second", openReceives: "abort" } },
          () => Effect.uninterruptible(Effect.sleep("2 minutes"))
        )
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      assert.isDefined(incompleteOf(yield* passUntilDone(fiber)))
      yield* TestClock.adjust("90 seconds")
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 0, inFlight: 1 })
      yield* TestClock.adjust("28 seconds")
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 1, inFlight: 0 })
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a drain shorter than the wait time gives the open receives up at its deadline", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { fiber } = yield* worker(Consumer.run(Jobs, { drain: "3 seconds" }, () => Effect.void))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      assert.isTrue(isClean(yield* endsAfter(fiber, "2900 millis", "200 millis")))
      assert.strictEqual(yield* virtual.openPolls("jobs"), 0)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a drain of 0 cuts everything at once, and an idle consumer is complete all the same", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { onEvent, reports } = listen()
      const idle = yield* worker(Consumer.run(Jobs, { drain: 0, onEvent }, () => Effect.never))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(idle.fiber)
      assert.isTrue(isClean(yield* endsAtOnce(idle.fiber)))
      yield* sendMany("jobs", 1)
      const busy = yield* worker(Consumer.run(Jobs, { drain: 0, onEvent }, () => Effect.never))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(busy.fiber)
      assert.isDefined(incompleteOf(yield* endsAtOnce(busy.fiber)))
      assert.deepStrictEqual(reports.map(became), [[], ["interrupted"]])
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 1, inFlight: 0 })
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("settlements that SQS refuses at a stop: bounded by the two deadlines, told as not confirmed", () =>
    Effect.gen(function* () {
      const { onEvent, reports } = listen()
      yield* sendMany("jobs", 1)
      const { fiber } = yield* worker(
        Consumer.run(
          Jobs,
          {
            concurrency: 1,
            onEvent,
            lease: { visibility: "10 minutes" },
            drain: { timeout: "10 seconds", interruptTimeout: "5 seconds" }
          },
          () => Effect.sleep("2 seconds")
        )
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      const exit = yield* endsAfter(fiber, "14900 millis", "200 millis")
      assert.deepStrictEqual(became(reports[0]), ["not confirmed"])
      assert.include(incompleteOf(exit)?.message, "1 whose settlement SQS did not confirm")
    }).pipe(Effect.provide(jobs({ faults: Fault.error("RequestThrottled").pipe(Fault.on("DeleteMessageBatch")) })))
  )

  it.scoped("settlements that SQS refuses for good end the stop at once, told as not confirmed", () =>
    Effect.gen(function* () {
      const { onEvent, reports } = listen()
      yield* sendMany("jobs", 1)
      const { fiber } = yield* worker(Consumer.run(Jobs, { concurrency: 1, onEvent }, () => Effect.sleep("2 seconds")))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      const exit = yield* endsAfter(fiber, "900 millis", "200 millis")
      assert.isDefined(incompleteOf(exit))
      assert.deepStrictEqual(became(reports[0]), ["not confirmed"])
      assert.include(Drain.render(reports[0]!), "not confirmed — DeleteMessageBatch on")
    }).pipe(Effect.provide(jobs({ deny: ["sqs:DeleteMessage"] })))
  )

  it.scoped("a receive that cannot be given up does not hold up the stop; what it brings is not run", () => {
    const slow = Layer.effect(
      Sqs.Sqs,
      Effect.map(Sqs.Sqs, (sqs) => ({
        ...sqs,
        receive: (r: Sqs.ReceiveRequest) =>
          Effect.uninterruptible(Effect.zipRight(Effect.sleep("15 seconds"), sqs.receive({ ...r, waitTimeSeconds: 0 })))
      }))
    )
    return Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 1)
      let runs = 0
      const { fiber } = yield* worker(
        Consumer.run(Jobs, { drain: { timeout: "2 seconds", interruptTimeout: "3 seconds" } }, () =>
          Effect.sync(() => void runs++)
        )
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      yield* endsAfter(fiber, "4900 millis", "200 millis")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(runs, 0)
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 1, inFlight: 0 })
    }).pipe(Effect.provide(slow), Effect.provide(jobs()))
  })

  it.scoped("a listener that hangs holds up a stop for a second", () =>
    Effect.gen(function* () {
      const { fiber } = yield* worker(
        Consumer.run(Jobs, { drain: { openReceives: "abort" }, onEvent: () => Effect.never }, () => Effect.void)
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      assert.isTrue(isClean(yield* endsAfter(fiber, "900 millis", "200 millis")))
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a consumer that was made in an uninterruptible region interrupts its handlers all the same", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* virtual.send("jobs", "1")
      const scope = yield* Scope.make()
      let interrupted = 0
      yield* Consumer.make(Jobs, { drain: "5 seconds" }, () =>
        Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      ).pipe(Scope.extend(scope), Effect.uninterruptible)
      yield* TestClock.adjust("1 second")
      const exit = yield* passUntilDone(yield* Effect.fork(Scope.close(scope, Exit.void)))
      assert.strictEqual(interrupted, 1)
      assert.include(Cause.pretty(Exit.isFailure(exit) ? exit.cause : Cause.empty), "1 interrupted at the deadline")
    }).pipe(Effect.provide(jobs()))
  )
})
