/** What happens to queues, processes and clocks while a consumer runs. */
import { Consumer, type ConsumerEvent, type Drain, Poller, Sqs, SqsQueue, StartError } from "@effect-sqs/core"
import { SimClock, type VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Option, Schema } from "effect"
import { Numbers } from "./batchStage.js"
import { beside, send, simulate, view } from "./sim.js"
import { assertOnce, eventsOf, lossesOf, play, seconds } from "./stage.js"

const collecting = () => {
  const events: Array<ConsumerEvent.ConsumerEvent> = []
  return { events, onEvent: (e: ConsumerEvent.ConsumerEvent) => Effect.sync(() => void events.push(e)) }
}

const queueUrl = "http://virtual-sqs/000000000000/jobs"
const receivesOf = (sqs: VirtualSqs.VirtualSqs["Type"]) =>
  sqs.journal.entries.flatMap((e) => (e._tag === "CallStarted" && e.operation === "ReceiveMessage" ? [e.at] : []))

describe("the queue's visibility is changed while the consumer runs", () => {
  for (const [to, options] of [
    [5, {}],
    [0, {}],
    [600, {}],
    [5, { lease: { visibility: "30 seconds" } }]
  ] as const) {
    it.effect(
      `to ${to} s, ${"lease" in options ? "one in the options" : "none in the options"}: leases stay as they were`,
      () =>
        play({ messages: 0, worker: options, handler: () => Effect.sleep("20 seconds") }, (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("1 second")
            yield* Effect.orDie(
              stage.sqs.api("SetQueueAttributes", { QueueUrl: queueUrl, Attributes: { VisibilityTimeout: String(to) } })
            )
            // the receive that was open goes by what was then
            yield* Effect.sleep("25 seconds")
            yield* stage.send(1)
            yield* Effect.sleep("60 seconds")
            assertOnce(stage, 1)
            const [delivery] = stage.deliveries()
            assert.deepStrictEqual(
              delivery!.asks.map((a) => a.kind),
              ["beat", "delete"]
            )
          })
        )
    )
  }
})

describe("the queue is", () => {
  it.effect("deleted while a handler runs: told as a lost lease and a typed end, and nothing hangs", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        const { events, onEvent } = collecting()
        yield* send(sqs, Numbers, 1)
        const worker = yield* SimClock.spawn(
          "worker",
          Consumer.run(Numbers, { onEvent }, () => Effect.sleep("1 hour"))
        )
        yield* Effect.sleep("1 second")
        yield* Effect.orDie(sqs.api("DeleteQueue", { QueueUrl: queueUrl }))
        const exit = yield* worker.await
        const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
        assert.instanceOf(error, Poller.PollError)
        assert.include(
          events.flatMap((e) => (e._tag === "LeaseWasLost" ? [e.lost.reason] : [])),
          "refused"
        )
        assert.strictEqual(events.at(-1)!._tag, "Drained")
      })
    )
  )

  it.effect("purged while a handler runs: its beat is refused, it is interrupted, and the next message runs", () =>
    play({ handler: ({ n }) => (n === 1 ? Effect.sleep("1 hour") : Effect.void), expect: "off" }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("1 second")
        yield* Effect.orDie(stage.sqs.api("PurgeQueue", { QueueUrl: queueUrl }))
        yield* Effect.sleep("70 seconds")
        assert.deepStrictEqual(
          lossesOf(stage).map((l) => l.reason),
          ["refused"]
        )
        assert.deepStrictEqual(
          eventsOf(stage, "RunEnded").map((e) => e.outcome),
          ["interrupted"]
        )
        yield* stage.send(2)
        yield* Effect.sleep("1 second")
        assert.strictEqual(eventsOf(stage, "RunEnded").at(-1)!.outcome, "success")
      })
    )
  )
})

describe("a stop during the start", () => {
  for (const hung of ["queueUrl", "attributes"] as const) {
    it.effect(`while ${hung} has no answer: ends at once, and nothing was received`, () =>
      simulate({}, (sqs) =>
        Effect.gen(function* () {
          const port = yield* Sqs.Sqs
          const slow: Sqs.Sqs["Type"] = { ...port, [hung]: () => Effect.never }
          const worker = yield* SimClock.spawn(
            "worker",
            Effect.provideService(
              Consumer.run(Numbers, {}, () => Effect.void),
              Sqs.Sqs,
              slow
            )
          )
          yield* Effect.sleep("5 seconds")
          yield* worker.terminate
          const [took, exit] = yield* Effect.timed(worker.await)
          assert.strictEqual(String(took), "Duration(0)")
          assert.isTrue(Exit.isInterrupted(exit))
          assert.deepStrictEqual(receivesOf(sqs), [])
        })
      )
    )
  }

  it.effect("at any step of it: what was opened is drained", () =>
    Effect.forEach(
      Array.from({ length: 12 }, (_, i) => i),
      (ms) =>
        simulate({}, (sqs) =>
          Effect.gen(function* () {
            const port = yield* Sqs.Sqs
            const slow: Sqs.Sqs["Type"] = {
              ...port,
              queueUrl: (name) => Effect.delay(port.queueUrl(name), "3 millis"),
              attributes: (url) => Effect.delay(port.attributes(url), "3 millis")
            }
            yield* send(sqs, Numbers, 1)
            const worker = yield* SimClock.spawn(
              "worker",
              Effect.provideService(
                Consumer.run(Numbers, {}, () => Effect.sleep("5 millis")),
                Sqs.Sqs,
                slow
              )
            )
            yield* Effect.sleep(ms)
            yield* worker.terminate
            assert.isTrue(Exit.isInterrupted(yield* worker.await))
            const [delivery] = view(sqs).deliveries
            if (delivery !== undefined) assert.strictEqual(delivery.asks.at(-1)!.outcome, "done")
            assert.strictEqual((yield* sqs.counters("jobs")).inFlight, 0)
          })
        ),
      { discard: true }
    )
  )
})

describe("after the drain", () => {
  it.effect("pause and resume do nothing more, and say nothing", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        const { events, onEvent } = collecting()
        const ready: Array<Consumer.Consumer> = []
        const worker = yield* Effect.fork(
          Effect.scoped(
            Effect.flatMap(
              Consumer.make(Numbers, { onEvent }, () => Effect.void),
              (c) =>
                Effect.zipRight(
                  Effect.sync(() => ready.push(c)),
                  Effect.never
                )
            )
          )
        )
        yield* Effect.sleep("1 second")
        const [c] = ready
        yield* c!.pause
        yield* Fiber.interrupt(worker)
        yield* Fiber.interrupt(worker)
        const before = receivesOf(sqs).length
        yield* c!.resume
        yield* c!.pause
        yield* send(sqs, Numbers, 1)
        yield* Effect.sleep("1 hour")
        assert.strictEqual(receivesOf(sqs).length, before)
        assert.deepStrictEqual(yield* c!.state, { ...(yield* c!.state), running: 0, waiting: 0 })
        assert.strictEqual(events.at(-1)!._tag, "Drained")
        assert.strictEqual((yield* sqs.counters("jobs")).visible, 1)
      })
    )
  )
})

describe("several in one launch", () => {
  it.effect("one that cannot start fails the launch, typed, and the others are drained", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        const reports: Array<Drain.DrainReport> = []
        const onEvent = (e: ConsumerEvent.ConsumerEvent) =>
          Effect.sync(() => {
            if (e._tag === "Drained") reports.push(e.report)
          })
        yield* send(sqs, Numbers, 1)
        const Missing = SqsQueue.make("missing", { schema: Schema.Number })
        const port = yield* Sqs.Sqs
        const slow = Layer.succeed(Sqs.Sqs, {
          ...port,
          queueUrl: (name: string) => Effect.delay(port.queueUrl(name), name === "missing" ? "2 seconds" : 0)
        })
        const exit = yield* Effect.exit(
          Layer.launch(
            Layer.mergeAll(
              Consumer.layer(Numbers, { onEvent }, () => Effect.sleep("5 seconds")),
              Consumer.layer(Missing, {}, () => Effect.void)
            ).pipe(Layer.provide(slow))
          )
        )
        const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
        assert.instanceOf(error, StartError.StartError)
        assert.deepStrictEqual(
          reports.map((r) => r.deliveries.map((d) => d.became)),
          [["settled"]]
        )
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("the same layer twice is one consumer", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        const worker = Consumer.layer(Numbers, {}, () => Effect.void)
        yield* beside(Layer.launch(Layer.mergeAll(worker, worker)))
        yield* Effect.sleep("1 second")
        assert.strictEqual(receivesOf(sqs).length, 1)
      })
    )
  )
})

describe("the wall clock of an idle consumer", () => {
  for (const [what, ms] of [
    ["forward by a day", 86_400_000],
    ["back by a day", -86_400_000],
    ["forward by three seconds", 3_000]
  ] as const) {
    it.effect(`is set ${what}: what comes later is run once, with beats in time`, () =>
      play({ messages: 0, handler: () => Effect.sleep("50 seconds"), expect: { clockJumps: true } }, (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("7 seconds")
          yield* stage.worker.jumpMillis(ms)
          // two ticks that are on time tell a jump from a sleep
          yield* Effect.sleep("11 seconds")
          yield* stage.send(1)
          yield* Effect.sleep("80 seconds")
          assertOnce(stage, 1)
          const beats = stage
            .deliveries()[0]!
            .asks.filter((a) => a.kind === "beat")
            .map((a) => a.sent.at)
          assert.isAtMost(beats[0]!, seconds(18 + 15))
          assert.isAtLeast(beats[0]!, seconds(18 + 13))
        })
      )
    )
  }
})
