import { Consumer, type Delivery, Policy, Redelivery, Settlement, SqsQueue } from "@effect-sqs/core"
import { Fault, Invariants, SimClock, Tracking, type VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Exit, Fiber, Schema, Stream } from "effect"
import { beside, send, simulate, view } from "./sim.js"

class Busy extends Schema.TaggedError<Busy>()("Busy", {}) {}

const Jobs = SqsQueue.make("jobs", { schema: Schema.Number })

const all = { concurrency: "unbounded", unordered: true } as const

type Options = NonNullable<Parameters<typeof Consumer.stream<number, number, never>>[1]>

/** Deliveries that nobody touches; they are collected while the test sleeps. */
const untouched = (options?: Options) =>
  Effect.gen(function* () {
    const taken: Array<Delivery.Delivery<number>> = []
    yield* beside(Stream.runForEach(Consumer.stream(Jobs, options), (d) => Effect.sync(() => void taken.push(d))))
    return taken
  })

/** so that the journal, and the invariants, know of the runs */
const tracked = (sqs: VirtualSqs.VirtualSqs["Type"], run: (n: number) => Effect.Effect<void, Busy>) =>
  Tracking.tracked({ journal: sqs.journal, queue: "jobs" }, run)

const words = (settled: Settlement.Settled) => [settled.asked._tag, settled.confirmed, settled.problem?._tag] as const

describe("Consumer.stream", () => {
  it.effect("processes deliveries under leases, each settled by its exit", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* Effect.forEach([1, 2, 3], (n) => send(sqs, Jobs, n))
        const settled: Array<Settlement.Settled> = []
        const handler = tracked(sqs, (n) =>
          Effect.sleep("70 seconds").pipe(Effect.zipRight(n === 2 ? new Busy() : Effect.void))
        )
        const redelivery = Redelivery.standard.pipe(Redelivery.catchTag("Busy", Redelivery.deadLetter))
        yield* beside(
          Consumer.stream(Jobs, { concurrency: 3 }).pipe(
            Stream.mapEffect((d) => d.process(handler, { redelivery }), all),
            Stream.runForEach((s) => Effect.sync(() => void settled.push(s)))
          )
        )
        yield* Effect.sleep("80 seconds")
        assert.deepStrictEqual(settled.map(words).sort(), [
          ["DeadLetter", true, undefined],
          ["Delete", true, undefined],
          ["Delete", true, undefined]
        ])
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
        assert.strictEqual(view(sqs).deliveries.length, 3)
        Invariants.assertAll(sqs.journal.entries, { queue: "jobs", concurrency: 3, deadLetterQueue: "dead" })
      })
    )
  )

  it.effect("runs no more handlers than concurrency allows, though all are asked to be processed", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* Effect.forEach([1, 2, 3, 4, 5, 6], (n) => send(sqs, Jobs, n))
        let running = 0
        let most = 0
        const handler = () =>
          Effect.acquireUseRelease(
            Effect.sync(() => (most = Math.max(most, ++running))),
            () => Effect.sleep("1 second"),
            () => Effect.sync(() => running--)
          )
        const taken = Consumer.stream(Jobs, { concurrency: 2, prefetch: 4 })
        yield* beside(Stream.runDrain(Stream.mapEffect(taken, (d) => d.process(handler), all)))
        yield* Effect.sleep("5 seconds")
        assert.strictEqual(most, 2)
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("hands out no more deliveries than places and prefetch; they wait, leased", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* Effect.forEach([1, 2, 3, 4, 5, 6], (n) => send(sqs, Jobs, n))
        const taken = yield* untouched({ concurrency: 2, prefetch: 1 })
        yield* Effect.sleep("100 seconds")
        assert.deepStrictEqual(
          taken.map((d) => [d.body, d.receiveCount]),
          [
            [1, 1],
            [2, 1],
            [3, 1]
          ]
        )
        assert.isAbove(Duration.toSeconds(yield* taken[0]!.remaining), 0)
        assert.deepStrictEqual(yield* sqs.counters("jobs"), { visible: 3, inFlight: 3, delayed: 0 })
      })
    )
  )

  it.effect("a delivery ends once: what comes second is answered, and changes nothing", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* Effect.forEach([1, 2], (n) => send(sqs, Jobs, n))
        const taken = yield* untouched()
        yield* Effect.sleep("1 second")
        const [first, second] = taken
        let runs = 0
        const handler = tracked(sqs, () =>
          Effect.zipRight(
            Effect.sync(() => void runs++),
            Effect.sleep("5 seconds")
          )
        )
        const processed = yield* Effect.fork(first!.process(handler))
        yield* Effect.sleep("1 second")
        // while it runs
        assert.deepStrictEqual(words(yield* first!.process(handler)), ["Leave", false, "AlreadySettled"])
        assert.deepStrictEqual(words(yield* first!.release()), ["Leave", false, "AlreadySettled"])
        assert.deepStrictEqual(words(yield* Fiber.join(processed)), ["Delete", true, undefined])
        // and afterwards
        assert.deepStrictEqual(words(yield* first!.process(handler)), ["Delete", false, "AlreadySettled"])
        assert.strictEqual(runs, 1)

        assert.deepStrictEqual(words(yield* second!.release("1 minute")), ["Release", true, undefined])
        assert.deepStrictEqual(words(yield* second!.release()), ["Release", false, "AlreadySettled"])
        assert.deepStrictEqual(words(yield* second!.process(handler)), ["Release", false, "AlreadySettled"])
        assert.strictEqual(runs, 1)
        yield* Effect.sleep("50 seconds")
        assert.strictEqual(taken.length, 2)
        yield* Effect.sleep("15 seconds")
        assert.deepStrictEqual([taken[2]?.body, taken[2]?.receiveCount], [2, 2])
        Invariants.assertAll(sqs.journal.entries, { queue: "jobs" })
      })
    )
  )

  it.effect("who waited too long is told how its lease was lost", () =>
    simulate({ faults: Fault.error("InternalFailure").pipe(Fault.on("ChangeMessageVisibilityBatch")) }, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        const taken = yield* untouched()
        yield* Effect.sleep("40 seconds")
        let ran = false
        const settled = yield* taken[0]!.process(() => Effect.sync(() => void (ran = true)))
        assert.deepStrictEqual(words(settled), ["Leave", false, "LeaseLost"])
        assert.isFalse(ran)
        assert.strictEqual(taken[0]!.leaseLost?.reason, "ran out")
      })
    )
  )

  it.effect("interrupting the wait of process does not interrupt the handler", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        const taken = yield* untouched()
        yield* Effect.sleep("1 second")
        const ended = yield* Deferred.make<void>()
        const waiting = yield* Effect.fork(
          taken[0]!.process(() => Effect.zipRight(Effect.sleep("5 seconds"), Deferred.succeed(ended, undefined)))
        )
        yield* Effect.sleep("1 second")
        const exit = yield* Fiber.interrupt(waiting)
        assert.isTrue(Exit.isInterrupted(exit))
        assert.isFalse(yield* Deferred.isDone(ended))
        yield* Effect.sleep("5 seconds")
        assert.isTrue(yield* Deferred.isDone(ended))
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("policy, redelivery and handler are given the services of whoever processes", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        class Zone extends Context.Tag("test/Zone")<Zone, string>() {}
        yield* send(sqs, Jobs, 1)
        const taken = yield* untouched()
        yield* Effect.sleep("1 second")
        let runs = 0
        const retried = yield* Deferred.make<string>()
        const policy = Policy.make({ attemptTimeout: "2 seconds" })
        const redelivery = Redelivery.make((f) =>
          Effect.as(
            Effect.flatMap(Zone, (zone) =>
              Deferred.succeed(retried, `${zone} ${(f.error as Policy.AttemptTimedOut)._tag}`)
            ),
            Settlement.Delete
          )
        )
        const settled = yield* taken[0]!
          .process(
            () =>
              Effect.zipRight(
                Effect.map(Zone, () => void runs++),
                Effect.never
              ),
            { policy, redelivery }
          )
          .pipe(Effect.provideService(Zone, "north"))
        assert.deepStrictEqual(words(settled), ["Delete", true, undefined])
        assert.strictEqual(yield* Deferred.await(retried), "north AttemptTimedOut")
        assert.strictEqual(runs, 1)
      })
    )
  )

  it.effect("without a policy of its own a failure takes the default backoff", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        const taken = yield* untouched()
        yield* Effect.sleep("1 second")
        const settled = yield* taken[0]!.process(() => new Busy())
        assert.strictEqual(settled.asked._tag, "Release")
        const [ask] = view(sqs).deliveries[0]!.asks
        assert.isAtLeast(ask!.timeoutSeconds!, 5)
        assert.isAtMost(ask!.timeoutSeconds!, 10)
      })
    )
  )
})

describe("the end of a stream", () => {
  it.effect("stop: nothing more is asked for, and what was received is processed before the stream ends", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* Effect.forEach([1, 2, 3, 4], (n) => send(sqs, Jobs, n))
        const stop = yield* Deferred.make<void>()
        const ran: Array<number> = []
        const handler = tracked(sqs, (n) =>
          Effect.zipRight(
            Effect.sleep("10 seconds"),
            Effect.sync(() => void ran.push(n))
          )
        )
        const settled = yield* Effect.fork(
          Consumer.stream(Jobs, { concurrency: 1, prefetch: 1, stop: Deferred.await(stop) }).pipe(
            Stream.mapEffect((d) => d.process(handler), all),
            Stream.runCollect
          )
        )
        yield* Effect.sleep("1 second")
        yield* Deferred.succeed(stop, undefined)
        const exit = yield* Fiber.await(settled)
        assert.isTrue(Exit.isSuccess(exit))
        if (Exit.isSuccess(exit)) {
          assert.deepStrictEqual([...exit.value].map(words), [
            ["Delete", true, undefined],
            ["Delete", true, undefined]
          ])
        }
        assert.deepStrictEqual(ran, [1, 2])
        assert.deepStrictEqual(yield* sqs.counters("jobs"), { visible: 2, inFlight: 0, delayed: 0 })
        Invariants.assertAll(sqs.journal.entries, { queue: "jobs", drained: true })
      })
    )
  )

  it.effect("stop with an idle queue ends the stream when the open receive has answered", () =>
    simulate({}, () =>
      Effect.gen(function* () {
        const stop = Effect.sleep("5 seconds")
        yield* Stream.runDrain(Consumer.stream(Jobs, { stop }))
        assert.strictEqual(yield* SimClock.trueTimeMillis, 20_000)
      })
    )
  )

  it.effect("a stream that is closed gives back what nobody has processed, and drains what runs", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* Effect.forEach([1, 2, 3], (n) => send(sqs, Jobs, n))
        const ended: Array<number> = []
        const handler = tracked(sqs, (n) =>
          Effect.zipRight(
            Effect.sleep("10 seconds"),
            Effect.sync(() => void ended.push(n))
          )
        )
        const fiber = yield* Effect.fork(
          Consumer.stream(Jobs, { concurrency: 3, receive: { waitTime: "1 second" } }).pipe(
            Stream.runForEach((d) =>
              d.body === 1 ? Effect.asVoid(Effect.forkDaemon(d.process(handler))) : Effect.void
            )
          )
        )
        yield* Effect.sleep("2 seconds")
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(ended, [1])
        const left = yield* sqs.messages("jobs")
        assert.deepStrictEqual(
          left.map((m) => m.body),
          ["2", "3"]
        )
        assert.deepStrictEqual(yield* sqs.counters("jobs"), { visible: 2, inFlight: 0, delayed: 0 })
        Invariants.assertAll(sqs.journal.entries, { queue: "jobs", drained: true })
      })
    )
  )

  it.effect("process that had no place yet when the drain began is told that it was released", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* Effect.forEach([1, 2], (n) => send(sqs, Jobs, n))
        const settled: Array<string> = []
        const stream = yield* Effect.fork(
          Consumer.stream(Jobs, { concurrency: 1, prefetch: 1, drain: "5 seconds" }).pipe(
            Stream.runForEach((d) =>
              d
                .process(() => Effect.sleep("3 seconds"))
                .pipe(
                  Effect.map((s) => void settled.push([d.body, ...words(s)].join(" "))),
                  Effect.forkDaemon
                )
            )
          )
        )
        yield* Effect.sleep("1 second")
        yield* Fiber.interrupt(stream)
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(settled, ["2 Release true ", "1 Delete true "])
      })
    )
  )

  it.effect("a drain that is not complete is told as an event: a stream drops what its end dies with", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        const told: Array<string> = []
        const fiber = yield* Effect.fork(
          Stream.runForEach(
            Consumer.stream(Jobs, {
              drain: { timeout: "2 seconds", interruptTimeout: "1 second" },
              onEvent: (e) =>
                Effect.sync(() => {
                  if (e._tag === "Drained") told.push(...e.report.deliveries.map((d) => d.became))
                })
            }),
            (d) => Effect.forkDaemon(d.process(() => Effect.never))
          )
        )
        yield* Effect.sleep("1 second")
        const exit = yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(told, ["interrupted"])
        assert.isTrue(Exit.isInterrupted(exit))
      })
    )
  )

  it.effect("receiving that fails for good fails the stream, typed", () =>
    simulate({ deny: ["sqs:ReceiveMessage"] }, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Stream.runDrain(Consumer.stream(Jobs)))
        assert.strictEqual(error._tag, "PollError")
      })
    )
  )

  it.effect("options that cannot be fail the stream before it begins", () =>
    simulate({}, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Stream.runDrain(Consumer.stream(Jobs, { concurrency: 0 })))
        assert.strictEqual(error._tag, "StartError")
      })
    )
  )
})
