/** Uses that were not thought of, and must do no harm. */
import { Consumer, type Delivery, Redelivery } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, FiberRef, HashMap, Logger, Option } from "effect"
import { Numbers } from "./batchStage.js"
import { beside, send, simulate, view } from "./sim.js"
import { eventsOf, play, seconds } from "./stage.js"

describe("a handler extends its lease by", () => {
  const odd: ReadonlyArray<readonly [string, (d: Delivery.Delivery<unknown>) => Effect.Effect<void, unknown>]> = [
    ["nothing", (d) => d.extend(0)],
    ["less than nothing", (d) => d.extend(-5_000)],
    ["no number", (d) => d.extend(Number.NaN)],
    ["for ever", (d) => d.extend(Infinity)],
    ["a time that is past", (d) => d.extendUntil(-1)],
    ["a time that is no number", (d) => d.extendUntil(Number.NaN)],
    ["a part of a second", (d) => d.extend(1)],
    [
      "many at once",
      (d) => Effect.all([d.extend("1 minute"), d.extend("2 minutes")], { concurrency: 2, discard: true })
    ]
  ]
  for (const [what, extend] of odd) {
    it.effect(`${what}: SQS is asked for whole seconds within its limits, and the run goes on`, () =>
      play(
        {
          handler: (_, d) =>
            Effect.zipRight(Effect.zipRight(Effect.sleep("5 seconds"), extend(d)), Effect.sleep("40 seconds")),
          expect: "off"
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("3 minutes")
            const deliveries = stage.deliveries()
            assert.strictEqual(deliveries.length, 1)
            for (const { kind, outcome, timeoutSeconds } of deliveries[0]!.asks) {
              assert.strictEqual(outcome, "done")
              if (kind === "delete") continue
              assert.isTrue(Number.isInteger(timeoutSeconds) && timeoutSeconds! >= 1 && timeoutSeconds! <= 43_195)
            }
            assert.strictEqual(deliveries[0]!.asks.at(-1)!.kind, "delete")
          })
      )
    )
  }
})

describe("a handler", () => {
  it.effect("that releases its own delivery is told that this is no end, as a value and in the log", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const log = Logger.make(({ message }) => void lines.push(String(message)))
        yield* send(sqs, Numbers, 1)
        const problems: Array<string | undefined> = []
        yield* beside(
          Consumer.run(Numbers, {}, (_, d) =>
            Effect.map(d.release("5 minutes"), (settled) => void problems.push(settled.problem?._tag))
          ).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, log)))
        )
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(problems, ["AlreadySettled"])
        assert.isTrue(lines.some((line) => line.includes("Settlement.endWith")))
      })
    )
  )

  it.effect("has the surroundings of its consumer, and changes them for nobody else", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        const ref = FiberRef.unsafeMake("outer")
        const seen: Array<string> = []
        const annotations: Array<string> = []
        for (const n of [1, 2, 3]) yield* send(sqs, Numbers, n)
        yield* beside(
          Consumer.run(Numbers, { concurrency: 1 }, (n) =>
            Effect.gen(function* () {
              seen.push(yield* FiberRef.get(ref))
              yield* FiberRef.set(ref, `set by ${n}`)
              annotations.push(String(Option.getOrUndefined(HashMap.get(yield* Effect.logAnnotations, "worker"))))
            })
          ).pipe(Effect.locally(ref, "of the run"), Effect.annotateLogs("worker", "w1"))
        )
        yield* Effect.sleep("5 seconds")
        assert.deepStrictEqual(seen, ["of the run", "of the run", "of the run"])
        assert.deepStrictEqual(annotations, ["w1", "w1", "w1"])
      })
    )
  )

  it.effect("uses its delivery after its end: no call is made for it", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Numbers, 1)
        let kept: Delivery.Delivery<number> | undefined
        yield* beside(Consumer.run(Numbers, {}, (_, d) => Effect.sync(() => void (kept = d))))
        yield* Effect.sleep("1 second")
        const before = sqs.journal.entries.filter(
          (e) => e._tag === "CallStarted" && e.operation !== "ReceiveMessage"
        ).length
        const extended = yield* Effect.either(kept!.extend("1 minute"))
        assert.strictEqual(extended._tag, "Left")
        assert.strictEqual((yield* kept!.release()).problem?._tag, "AlreadySettled")
        assert.strictEqual((yield* kept!.process(() => Effect.void)).problem?._tag, "AlreadySettled")
        yield* Effect.sleep("1 second")
        const calls = sqs.journal.entries.filter((e) => e._tag === "CallStarted" && e.operation !== "ReceiveMessage")
        assert.strictEqual(calls.length, before)
      })
    )
  )
})

describe("a run", () => {
  it.effect("with a time limit around it drains when that is over", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Numbers, 1)
        const exit = yield* Effect.exit(
          Effect.timeout(
            Consumer.run(Numbers, {}, () => Effect.sleep("25 seconds")),
            "10 seconds"
          )
        )
        const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
        assert.strictEqual(error?._tag, "TimeoutException")
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
        assert.strictEqual(view(sqs).deliveries[0]!.asks.at(-1)!.sent.at, 25_000)
      })
    )
  )

  it.effect("whose policy hangs is stopped within its two deadlines, and says what is left", () =>
    play(
      {
        handler: () => Effect.fail("no"),
        worker: {
          drain: { timeout: "21 seconds", interruptTimeout: "3 seconds" },
          redelivery: Redelivery.make(() => Effect.never)
        },
        expect: "off"
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 second")
          yield* stage.stop
          const [drained] = eventsOf(stage, "Drained")
          assert.isAtMost(drained!.at, seconds(26))
          assert.deepStrictEqual(
            drained!.report.deliveries.map((d) => d.became),
            ["interrupted"]
          )
        })
    )
  )

  it.effect("of many that all fail at once frees each place, and asks no more than it may", () =>
    play(
      {
        messages: 50,
        handler: (_, d) => (d.receiveCount === 1 ? Effect.die("no") : Effect.void),
        worker: { concurrency: 5, prefetch: 0, redelivery: Redelivery.release("5 seconds") }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 minute")
          assert.deepStrictEqual(yield* Effect.orDie(stage.sqs.messages("jobs")), [])
          assert.strictEqual(stage.deliveries().length, 100)
        })
    )
  )
})
