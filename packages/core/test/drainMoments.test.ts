import { Consumer, Poller, Redelivery, SqsQueue } from "@effect-sqs/core"
import { Fault, JournalQuery, VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Option, Schema, Scope, Stream, TestClock } from "effect"
import { calls, receives, sendMany } from "./calls.js"
import { jobs, passUntilDone, worker } from "./support.js"
import { Jobs, listen, became, endsAfter, endsAtOnce, isClean } from "./drainSupport.js"

describe("a drain at any moment", () => {
  it.scoped(
    "D9 nothing is released while another receive of ours is open, neither what never ran nor what failed",
    () =>
      Effect.gen(function* () {
        const virtual = yield* VirtualSqs.VirtualSqs
        // several receives are open after a burst
        yield* sendMany("jobs", 40)
        const { onEvent, reports } = listen()
        const { fiber } = yield* worker(
          Consumer.run(Jobs, { concurrency: 40, prefetch: 0, redelivery: Redelivery.release(0), onEvent }, (n) =>
            n === 100 ? Effect.zipRight(Effect.sleep("2 seconds"), Effect.fail("no")) : Effect.void
          )
        )
        yield* TestClock.adjust("10 seconds")
        assert.isAtLeast(yield* virtual.openPolls("jobs"), 3)
        yield* sendMany("jobs", 1, 100)
        yield* TestClock.adjust("100 millis")
        yield* Fiber.interruptFork(fiber)
        yield* TestClock.adjust("100 millis")
        const open = yield* virtual.openPolls("jobs")
        assert.isAtLeast(open, 2)
        // one receive brings it; the others could take it back
        yield* sendMany("jobs", 1, 101)
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual(yield* virtual.openPolls("jobs"), open - 1)
        assert.deepInclude(yield* virtual.counters("jobs"), { visible: 0, inFlight: 2 })
        assert.isTrue(isClean(yield* passUntilDone(fiber)))
        assert.deepInclude(yield* virtual.counters("jobs"), { visible: 2, inFlight: 0 })
        const view = JournalQuery.read(virtual.journal.entries)
        for (const { messageId } of yield* virtual.messages("jobs")) {
          assert.strictEqual(JournalQuery.deliveriesOf(view, messageId).length, 1)
        }
        assert.deepStrictEqual(became(reports[0]), ["released", "settled"])
      }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a stop before the first receive, and one at the same moment", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      let runs = 0
      const run = Effect.sync(() => void runs++)
      const abort = { drain: { openReceives: "abort" } } as const
      yield* endsAtOnce(yield* Effect.fork(Effect.scoped(Consumer.make(Jobs, abort, () => run))))
      assert.strictEqual(yield* virtual.openPolls("jobs"), 0)
      yield* sendMany("jobs", 1)
      const { fiber } = yield* worker(Consumer.run(Jobs, {}, () => run))
      yield* Fiber.interruptFork(fiber)
      yield* endsAtOnce(fiber)
      assert.strictEqual(yield* virtual.openPolls("jobs"), 0)
      const { inFlight, visible } = yield* virtual.counters("jobs")
      assert.deepStrictEqual([visible + runs, inFlight], [1, 0])
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a stop during the pause after a failed receive ends at once", () =>
    Effect.gen(function* () {
      const { fiber } = yield* worker(Consumer.run(Jobs, {}, () => Effect.void))
      yield* TestClock.adjust("2 minutes")
      yield* Fiber.interruptFork(fiber)
      assert.isTrue(isClean(yield* endsAtOnce(fiber)))
    }).pipe(Effect.provide(jobs({ faults: Fault.reset.pipe(Fault.on("ReceiveMessage")) })))
  )

  it.scoped("a receive that fails after the stop began is not followed by a pause", () =>
    Effect.gen(function* () {
      const { fiber } = yield* worker(Consumer.run(Jobs, {}, () => Effect.void))
      // the next receive is open, and fails 5 s after its start
      let open = 0
      while (open < 6) {
        yield* TestClock.adjust("1 second")
        open = (yield* receives()).length
      }
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(Option.isSome(yield* Fiber.poll(fiber)))
    }).pipe(
      Effect.provide(
        jobs({ faults: Fault.all(Fault.latency("5 seconds"), Fault.reset).pipe(Fault.on("ReceiveMessage")) })
      )
    )
  )

  it.scoped("a stop while paused: handlers run out, what waits is released, and no receive is opened", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { onEvent, reports } = listen()
      yield* sendMany("jobs", 4)
      const scope = yield* Scope.make()
      const consumer = yield* Consumer.make(Jobs, { concurrency: 1, prefetch: 1, onEvent }, () =>
        Effect.sleep("10 seconds")
      ).pipe(Scope.extend(scope))
      yield* TestClock.adjust("1 second")
      yield* consumer.pause
      const before = (yield* receives()).length
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* endsAfter(closing, "8900 millis", "200 millis")
      assert.deepStrictEqual(became(reports[0]), ["released", "settled"])
      assert.strictEqual((yield* receives()).length, before)
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 3, inFlight: 0 })
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("bodies that are none are settled by their policy, and the report says so", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { onEvent, reports } = listen()
      const { fiber } = yield* worker(Consumer.run(Jobs, { onEvent }, () => Effect.void))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("1 second")
      yield* virtual.send("jobs", "no number")
      yield* passUntilDone(fiber)
      assert.strictEqual((yield* virtual.messages("dead")).length, 1)
      assert.deepStrictEqual(became(reports[0]), ["settled"])
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a body that is none and that its policy releases is settled: it is not visible to others at once", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { onEvent, reports } = listen()
      const undecodable = Redelivery.release("5 minutes")
      const { fiber } = yield* worker(Consumer.run(Jobs, { onEvent, undecodable }, () => Effect.void))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("1 second")
      yield* virtual.send("jobs", "no number")
      assert.isTrue(isClean(yield* passUntilDone(fiber)))
      assert.deepStrictEqual(became(reports[0]), ["settled"])
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 0, inFlight: 1 })
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a handler that fails by itself in the drain is settled by its policy", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { onEvent, reports } = listen()
      yield* sendMany("jobs", 1)
      const { fiber } = yield* worker(
        Consumer.run(Jobs, { concurrency: 1, onEvent, redelivery: Redelivery.release("5 minutes") }, () =>
          Effect.zipRight(Effect.sleep("2 seconds"), Effect.fail("no"))
        )
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      assert.isTrue(isClean(yield* endsAfter(fiber, "900 millis", "200 millis")))
      assert.deepStrictEqual(became(reports[0]), ["settled"])
      assert.deepStrictEqual(
        (yield* calls("ChangeMessageVisibilityBatch")).map((c) => c.input.entries?.[0]?.visibilityTimeoutSeconds),
        [300]
      )
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 0, inFlight: 1 })
    }).pipe(Effect.provide(jobs()))
  )

  const deleteQueue = (name: string) =>
    Effect.flatMap(VirtualSqs.VirtualSqs, (v) => v.api("DeleteQueue", { QueueUrl: v.queueUrl(name) }))

  it.scoped("a fatal error of receiving fails the run, typed, after the drain", () =>
    Effect.gen(function* () {
      const { onEvent, reports } = listen()
      yield* sendMany("jobs", 1)
      let ended = false
      const { fiber } = yield* worker(
        Consumer.run(Jobs, { onEvent, drain: "10 minutes" }, () =>
          Effect.zipRight(
            Effect.sleep("4 minutes"),
            Effect.sync(() => void (ended = true))
          )
        )
      )
      yield* TestClock.adjust("3 minutes")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      assert.isFalse(ended)
      const exit = yield* passUntilDone(fiber)
      assert.isTrue(ended)
      assert.instanceOf(Exit.isFailure(exit) && Option.getOrNull(Cause.failureOption(exit.cause)), Poller.PollError)
      assert.deepStrictEqual(became(reports[0]), ["settled"])
    }).pipe(
      Effect.provide(
        jobs({ faults: Fault.error("AccessDenied").pipe(Fault.on("ReceiveMessage"), Fault.during("1 second")) })
      )
    )
  )

  it.scoped("a fatal error in one layer fails the launch, typed, and drains its siblings", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* virtual.createQueue("other")
      yield* sendMany("jobs", 1)
      const { onEvent, reports } = listen()
      const Other = SqsQueue.make("other", { schema: Schema.Number })
      const { fiber } = yield* worker(
        Layer.launch(
          Layer.mergeAll(
            Consumer.layer(Other, {}, () => Effect.void),
            Consumer.layer(Jobs, { concurrency: 1, onEvent, drain: "5 minutes" }, () => Effect.sleep("3 minutes"))
          )
        )
      )
      yield* TestClock.adjust("10 seconds")
      yield* deleteQueue("other")
      const exit = yield* passUntilDone(fiber)
      const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
      assert.instanceOf(error, Poller.PollError)
      assert.strictEqual((error as Poller.PollError).queue, "other")
      assert.deepStrictEqual(became(reports[0]), ["settled"])
      assert.deepStrictEqual(yield* virtual.messages("jobs"), [])
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("many that wait are given back ten to a call", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 100)
      const { fiber } = yield* worker(
        Consumer.run(Jobs, { concurrency: 1, prefetch: 100 }, () => Effect.sleep("5 seconds"))
      )
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 0, inFlight: 100 })
      yield* Fiber.interruptFork(fiber)
      assert.isTrue(isClean(yield* passUntilDone(fiber)))
      assert.strictEqual((yield* calls("ChangeMessageVisibilityBatch")).length, 10)
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 99, inFlight: 0 })
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a stream whose deliveries nobody takes gives them back when it is closed", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 3)
      const taken = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkDaemon(
        Effect.scoped(
          Effect.flatMap(Stream.toPull(Consumer.stream(Jobs, { drain: { openReceives: "abort" } })), (pull) =>
            Effect.zipRight(pull, Deferred.succeed(taken, undefined))
          )
        )
      )
      yield* Deferred.await(taken)
      yield* passUntilDone(fiber)
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 3, inFlight: 0 })
    }).pipe(Effect.provide(jobs()))
  )
})
