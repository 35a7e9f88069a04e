import { Consumer, Drain, SqsQueue } from "@effect-sqs/core"
import { Fault, type Journal, VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Schema, TestClock } from "effect"
import { calls, receives, sendMany } from "./calls.js"
import { jobs, passUntilDone, worker } from "./support.js"
import { Jobs, listen, became, endsAfter, endsAtOnce, incompleteOf, isClean } from "./drainSupport.js"

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
        "The drain of jobs was not complete: 2 interrupted at the deadline. These messages come again."
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
      "The drain of jobs was not complete: 1 interrupted at the deadline, 1 abandoned: could not be interrupted, " +
        "2 with a lost lease, 1 whose settlement SQS did not confirm. These messages come again."
    )
  })
})
