import { Consumer, Drain, Poller, Redelivery, Sqs, SqsQueue } from "@effect-sqs/core"
import { Fault, type Journal, JournalQuery, VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Duration, Effect, Exit, Fiber, Layer, Option, Schema, Scope, Stream, TestClock } from "effect"
import { calls, receives, sendMany } from "./calls.js"
import { jobs, passUntilDone, worker } from "./support.js"

const Jobs = SqsQueue.make("jobs", { schema: Schema.Number })

/** What the consumer tells of its drains. */
const listen = () => {
  const reports: Array<Drain.DrainReport> = []
  const began: Array<{ readonly running: number; readonly waiting: number }> = []
  const onEvent: NonNullable<Consumer.Parts["onEvent"]> = (e) =>
    Effect.sync(() => {
      if (e._tag === "Drained") reports.push(e.report)
      if (e._tag === "Draining") began.push({ running: e.running, waiting: e.waiting })
    })
  return { reports, began, onEvent }
}

const became = (report: Drain.DrainReport | undefined) => report?.deliveries.map((d) => d.became).sort()

/** Whether it ends within so much virtual time, and not before it has passed. */
const endsAfter = <A, E>(
  fiber: Fiber.RuntimeFiber<A, E>,
  duration: Duration.DurationInput,
  within: Duration.DurationInput = 100
) =>
  Effect.gen(function* () {
    yield* TestClock.adjust(duration)
    assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)), `ended before ${Duration.format(duration)} had passed`)
    yield* TestClock.adjust(within)
    const exit = yield* Fiber.poll(fiber)
    assert.isTrue(Option.isSome(exit), `still there after ${Duration.format(Duration.sum(duration, within))}`)
    return Option.getOrThrow(exit)
  })

const endsAtOnce = <A, E>(fiber: Fiber.RuntimeFiber<A, E>) =>
  Effect.gen(function* () {
    yield* TestClock.adjust(1)
    const exit = yield* Fiber.poll(fiber)
    assert.isTrue(Option.isSome(exit), "still there")
    return Option.getOrThrow(exit)
  })

const incompleteOf = <E>(exit: Exit.Exit<unknown, E>) =>
  Exit.isFailure(exit)
    ? [...Cause.defects(exit.cause)].find((d): d is Drain.DrainIncomplete => d instanceof Drain.DrainIncomplete)
    : undefined

const isClean = <E>(exit: Exit.Exit<unknown, E>) => Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)

describe("drain", () => {
  it.scoped("D1 stop with a 300 ms handler running: ends after the handler and its delete, soon after", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { onEvent, reports } = listen()
      yield* sendMany("jobs", 1)
      const { fiber } = yield* worker(Consumer.run(Jobs, { concurrency: 1, onEvent }, () => Effect.sleep("300 millis")))
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interruptFork(fiber)
      assert.isTrue(isClean(yield* endsAfter(fiber, "199 millis", "50 millis")))
      assert.deepStrictEqual(yield* virtual.messages("jobs"), [])
      assert.deepStrictEqual(became(reports[0]), ["settled"])
      assert.isTrue(reports[0]!.complete)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("D2 idle with a long poll open: ends when it has answered, and nothing is stranded", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { onEvent, reports } = listen()
      const { fiber } = yield* worker(Consumer.run(Jobs, { onEvent }, () => Effect.void))
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.interruptFork(fiber)
      assert.isTrue(isClean(yield* endsAfter(fiber, "14 seconds", "2 seconds")))
      assert.deepStrictEqual(reports[0]?.deliveries, [])
      yield* sendMany("jobs", 1)
      yield* TestClock.adjust("1 minute")
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 1, inFlight: 0 })
      assert.strictEqual((yield* receives()).length, 1)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("D2 with abort it ends at once", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { fiber } = yield* worker(Consumer.run(Jobs, { drain: { openReceives: "abort" } }, () => Effect.void))
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.interruptFork(fiber)
      assert.isTrue(isClean(yield* endsAtOnce(fiber)))
      assert.strictEqual(yield* virtual.openPolls("jobs"), 0)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("D3 a message that comes on the open receive after the stop: not run, visible within a second of it", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { onEvent, reports } = listen()
      let runs = 0
      const { fiber } = yield* worker(Consumer.run(Jobs, { onEvent }, () => Effect.sync(() => void runs++)))
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("3 seconds")
      yield* sendMany("jobs", 1)
      assert.isTrue(isClean(yield* endsAtOnce(fiber)))
      yield* TestClock.adjust("500 millis")
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 1, inFlight: 0 })
      assert.strictEqual(runs, 0)
      assert.deepStrictEqual(became(reports[0]), ["released"])
      assert.isTrue(reports[0]!.complete)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("D4 what was received and had not started is released at once, and told in the report", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { began, onEvent, reports } = listen()
      yield* sendMany("jobs", 5)
      let runs = 0
      const { fiber } = yield* worker(
        Consumer.run(Jobs, { concurrency: 1, prefetch: 4, onEvent }, () =>
          Effect.zipRight(
            Effect.sync(() => void runs++),
            Effect.sleep("10 seconds")
          )
        )
      )
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 0, inFlight: 5 })
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 4, inFlight: 1 })
      const released = yield* calls("ChangeMessageVisibilityBatch")
      assert.deepStrictEqual(
        released.map((c) => c.input.entries?.map((e) => e.visibilityTimeoutSeconds)),
        [[0, 0, 0, 0]]
      )
      assert.isTrue(isClean(yield* passUntilDone(fiber)))
      assert.strictEqual(runs, 1)
      assert.deepStrictEqual(began, [{ running: 1, waiting: 4 }])
      assert.deepStrictEqual(became(reports[0]), ["released", "released", "released", "released", "settled"])
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("D4 what is still being decoded is released too", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { onEvent, reports } = listen()
      yield* sendMany("jobs", 1)
      const Slow = SqsQueue.make("jobs", {
        schema: Schema.transformOrFail(Schema.Number, Schema.Number, {
          decode: () => Effect.never,
          encode: Effect.succeed
        })
      })
      const { fiber } = yield* worker(
        Consumer.run(Slow, { onEvent, drain: { openReceives: "abort" } }, () => Effect.void)
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      assert.isTrue(isClean(yield* endsAtOnce(fiber)))
      assert.deepStrictEqual(became(reports[0]), ["released"])
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 1, inFlight: 0 })
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("D5 the deadline passes: handlers are interrupted together, clean up, are released, and it shows", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { onEvent, reports } = listen()
      yield* sendMany("jobs", 3)
      let cleaned = 0
      const { fiber } = yield* worker(
        Consumer.run(Jobs, { onEvent, drain: { timeout: "10 seconds", openReceives: "abort" } }, (n) =>
          n === 0
            ? Effect.sleep("9 seconds")
            : Effect.onInterrupt(Effect.never, () =>
                Effect.zipRight(
                  Effect.sleep("2 seconds"),
                  Effect.sync(() => void cleaned++)
                )
              )
        )
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("11 seconds")
      // not released while their cleanup goes on
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 0, inFlight: 2 })
      const exit = yield* endsAfter(fiber, "900 millis", "200 millis")
      assert.strictEqual(cleaned, 2)
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 2, inFlight: 0 })
      assert.deepStrictEqual(became(reports[0]), ["interrupted", "interrupted", "settled"])
      assert.isFalse(reports[0]!.complete)
      assert.strictEqual(
        incompleteOf(exit)?.message,
        "The drain of jobs was not complete: 2 interrupted at the deadline and released. These messages come again."
      )
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("D6 a second interruption changes nothing", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { onEvent, reports } = listen()
      yield* sendMany("jobs", 2)
      const { fiber } = yield* worker(
        Consumer.run(Jobs, { concurrency: 1, prefetch: 1, onEvent }, () => Effect.sleep("10 seconds"))
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptFork(fiber)
      assert.isTrue(isClean(yield* endsAfter(fiber, "7900 millis", "200 millis")))
      assert.strictEqual(reports.length, 1)
      assert.deepStrictEqual(became(reports[0]), ["released", "settled"])
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 1, inFlight: 0 })
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("D7 beats and deletes that are on the wire when the stop begins are not aborted", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 2)
      const { fiber } = yield* worker(
        Consumer.run(Jobs, { concurrency: 2, lease: { visibility: "30 seconds", heartbeat: "5 seconds" } }, (n) =>
          Effect.sleep(n === 0 ? "4500 millis" : "8 seconds")
        )
      )
      // a beat and a delete have been sent, and take 2 s
      yield* TestClock.adjust("5500 millis")
      assert.strictEqual((yield* calls("ChangeMessageVisibilityBatch")).length, 1)
      assert.strictEqual((yield* calls("DeleteMessageBatch")).length, 1)
      yield* Fiber.interruptFork(fiber)
      assert.isTrue(isClean(yield* passUntilDone(fiber)))
      assert.deepStrictEqual(yield* virtual.messages("jobs"), [])
      const ends = virtual.journal.entries.filter((e): e is Journal.CallEnded => e._tag === "CallEnded")
      assert.isTrue(ends.every((e) => e.outcome._tag === "Answered"))
    }).pipe(
      Effect.provide(
        jobs({
          faults: Fault.latency("2 seconds").pipe(Fault.on("ChangeMessageVisibilityBatch", "DeleteMessageBatch"))
        })
      )
    )
  )

  it.scoped("settlements that wait for company are sent at once when the stop begins", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 4)
      const { fiber } = yield* worker(
        Consumer.run(Jobs, { settlement: { linger: "5 seconds" } }, (n) => Effect.sleep(n === 0 ? "1 minute" : 100))
      )
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* calls("DeleteMessageBatch")).length, 0)
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust(1)
      assert.deepInclude(yield* virtual.counters("jobs"), { inFlight: 1 })
      assert.deepStrictEqual(
        (yield* calls("DeleteMessageBatch")).map((c) => c.input.entries?.length),
        [3]
      )
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("D8 stopped and started again there is one set of receives, not two", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const run = Consumer.run(Jobs, {}, () => Effect.void)
      for (let i = 0; i < 3; i++) {
        const { stop } = yield* worker(run)
        yield* TestClock.adjust("30 seconds")
        assert.strictEqual(yield* virtual.openPolls("jobs"), 1)
        assert.isTrue(isClean(yield* stop))
        assert.strictEqual(yield* virtual.openPolls("jobs"), 0)
      }
    }).pipe(Effect.provide(jobs()))
  )

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

describe("Drain.render", () => {
  const line = (became: Drain.DrainedDelivery["became"]): Drain.DrainedDelivery => ({
    messageId: `m-${became}`,
    receiptHandle: "h",
    receiveCount: 2,
    became,
    settled: undefined
  })

  it("one line for the drain and one for each delivery", () => {
    const report = (complete: boolean, deliveries: ReadonlyArray<Drain.DrainedDelivery>): Drain.DrainReport => ({
      queue: "jobs",
      complete,
      took: Duration.millis(2_500),
      deliveries
    })
    assert.strictEqual(Drain.render(report(true, [])), "jobs: drained in 2s 500ms, nothing was in hand")
    assert.strictEqual(
      Drain.render(report(true, [line("settled")])),
      "jobs: drained in 2s 500ms, 1 delivery\n  m-settled (receive 2): settled"
    )
    assert.strictEqual(
      Drain.render(report(false, [line("interrupted"), line("lost")])),
      "jobs: drain not complete in 2s 500ms, 2 deliveries\n  m-interrupted (receive 2): interrupted\n  m-lost (receive 2): lost"
    )
  })

  it("the error counts each kind", () => {
    const report: Drain.DrainReport = {
      queue: "jobs",
      complete: false,
      took: Duration.zero,
      deliveries: (["settled", "released", "interrupted", "lost", "lost", "not confirmed", "abandoned"] as const).map(
        line
      )
    }
    assert.strictEqual(
      Drain.incomplete(report).message,
      "The drain of jobs was not complete: 1 interrupted at the deadline and released, 1 abandoned: could not be interrupted, " +
        "2 with a lost lease, 1 whose settlement SQS did not confirm. These messages come again."
    )
  })
})
