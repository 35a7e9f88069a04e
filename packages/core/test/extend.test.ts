/** Row A14 and its kind: a handler extends its own lease, and the heartbeat knows. */
import { Consumer, type Delivery, type Settlement } from "@effect-sqs/core"
import { Fault } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Either, Fiber, Stream } from "effect"
import { asked, assertOnce, eventsOf, Jobs, lossesOf, play, type Scene, seconds, type Stage } from "./stage.js"

const onChanges = Fault.on("ChangeMessageVisibilityBatch")

type Live = Delivery.Delivery<unknown>

/** A job of `forMs` that does something with its delivery meanwhile. */
const job =
  (forMs: number, act: (delivery: Live) => Effect.Effect<void, unknown>): Scene["handler"] =>
  (_, delivery) =>
    Effect.all([Effect.sleep(forMs), act(delivery)], { concurrency: "unbounded", discard: true })

const asks = (stage: Stage) =>
  stage
    .deliveries()[0]!
    .asks.filter((a) => a.kind === "beat")
    .map((a) => [a.sent.at / 1000, a.timeoutSeconds])

describe("A14 extending by hand", () => {
  it.effect("for longer: the next beat comes at its lead before the new deadline", () =>
    play({ handler: job(seconds(620), (d) => Effect.delay(d.extend("10 minutes"), 5_000)) }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("12 minutes")
        assertOnce(stage, 1)
        assert.deepStrictEqual(asks(stage), [
          [5.05, 600],
          [590.05, 30],
          [605.05, 30]
        ])
      })
    )
  )

  it.effect("for less than is left: it is cut, and the next beat comes in time for that", () =>
    play({ handler: job(seconds(30), (d) => Effect.delay(d.extend("4 seconds"), 5_000)) }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("1 minute")
        assertOnce(stage, 1)
        assert.deepStrictEqual(asks(stage), [
          [5.05, 4],
          [7.05, 30],
          [22.05, 30]
        ])
      })
    )
  )

  it.effect("for less than a second, for ever, or until yesterday: a second, or all that SQS gives", () =>
    play(
      {
        handler: job(seconds(5), (d) =>
          Effect.delay(d.extend(0), 1_000).pipe(
            Effect.zipRight(d.extend(Duration.infinity)),
            Effect.zipRight(d.extendUntil(-1))
          )
        ),
        worker: { lease: { heartbeat: "off" } }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("10 seconds")
          assert.deepStrictEqual(
            asks(stage).map(([, s]) => s),
            [1, 43_188, 1]
          )
        })
    )
  )

  it.effect("until a point of time", () =>
    play({ handler: job(seconds(100), (d) => Effect.delay(d.extendUntil(seconds(200)), 5_000)) }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("2 minutes")
        assert.deepStrictEqual(asks(stage), [[5.05, 195]])
      })
    )
  )

  it.effect("moves on what remains", () => {
    const seen: Array<number> = []
    const look = (d: Live) => Effect.map(d.remaining, (r) => void seen.push(Duration.toSeconds(r)))
    return play(
      {
        handler: job(seconds(20), (d) =>
          Effect.delay(look(d), 10_000).pipe(Effect.zipRight(d.extend("10 minutes")), Effect.zipRight(look(d)))
        )
      },
      () =>
        Effect.gen(function* () {
          yield* Effect.sleep("30 seconds")
          assert.deepStrictEqual(seen, [20, 600])
        })
    )
  })

  it.effect("while a beat is on the wire: after it, and the beat after that does not fight it", () =>
    play(
      {
        queue: { faults: onChanges(Fault.latency("3 seconds")) },
        handler: job(seconds(100), (d) => Effect.delay(d.extend("10 minutes"), 16_000))
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("2 minutes")
          assertOnce(stage, 1)
          assert.deepStrictEqual(asks(stage), [
            [15, 30],
            [18.05, 600]
          ])
        })
    )
  )

  it.effect("while the beat falls due: the beat is not sent, and cuts nothing", () =>
    play(
      {
        queue: { faults: onChanges(Fault.latency("3 seconds")) },
        handler: job(seconds(100), (d) => Effect.delay(d.extend("10 minutes"), 14_000))
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("2 minutes")
          assertOnce(stage, 1)
          assert.deepStrictEqual(asks(stage), [[14.05, 600]])
        })
    )
  )

  it.effect("many at once: one after the other", () =>
    play(
      {
        queue: { faults: onChanges(Fault.latency("1 second")) },
        handler: job(seconds(40), (d) =>
          Effect.delay(
            Effect.forEach([40, 50, 60], (s) => d.extend(Duration.seconds(s)), {
              concurrency: "unbounded",
              discard: true
            }),
            5_000
          )
        )
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 minute")
          assertOnce(stage, 1)
          assert.strictEqual(asked(stage.deliveries()[0]!, "beat").length, 3)
        })
    )
  )

  it.effect("works without a heartbeat: two changes of 60 s, at 20 s and at 70 s, end at 80 s and at 130 s", () =>
    play(
      {
        worker: { lease: { heartbeat: "off" }, settlement: { linger: 0 } },
        handler: job(seconds(129), (d) =>
          Effect.zipRight(Effect.delay(d.extend("60 seconds"), 20_000), Effect.delay(d.extend("60 seconds"), 50_000))
        ),
        expect: { drained: false }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("128 seconds")
          assert.deepStrictEqual(
            stage.deliveries()[0]!.deadlines.map((d) => d.until / 1000),
            [30, 80, 130]
          )
          yield* Effect.sleep("500 millis")
          assert.strictEqual(stage.deliveries().length, 1)
        })
    )
  )

  it.effect("a failed one is tried again inside the lease, ever more slowly", () =>
    play(
      {
        queue: { faults: onChanges(Fault.times(4)(Fault.error("RequestThrottled"))) },
        handler: job(seconds(25), (d) => Effect.delay(d.extend("10 minutes"), 1_000))
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 minute")
          assertOnce(stage, 1)
          assert.strictEqual(eventsOf(stage, "BeatFailed").length, 4)
          const times = asks(stage).map(([at]) => at!)
          assert.strictEqual(times.length, 5)
          const pauses = times.slice(1).map((at, i) => at - times[i]!)
          pauses.slice(1).forEach((pause, i) => assert.isAbove(pause, pauses[i]!))
        })
    )
  )

  it.effect("given up before it has left: nothing is asked, and the lease is as it was", () =>
    play(
      {
        worker: { lease: { heartbeat: "off" } },
        handler: job(seconds(20), (d) =>
          Effect.ignore(Effect.timeout(Effect.delay(d.extend("2 seconds"), 5_000), 5_020))
        )
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("25 seconds")
          assertOnce(stage, 1)
          assert.deepStrictEqual(asks(stage), [])
        })
    )
  )

  it.effect("given up on the wire: it counts all the same, and the heartbeat knows", () =>
    play(
      {
        queue: { faults: onChanges(Fault.latency("1 second")) },
        handler: job(seconds(20), (d) =>
          Effect.ignore(Effect.timeout(Effect.delay(d.extend("4 seconds"), 5_000), 5_500))
        )
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("25 seconds")
          assertOnce(stage, 1)
          assert.deepStrictEqual(asks(stage)[0], [5.05, 4])
          assert.isBelow(asks(stage)[1]![0]!, 8)
        })
    )
  )

  it.effect("the last thing that a handler does, with the next beat due: that beat does not leave any more", () =>
    play(
      {
        queue: { faults: onChanges(Fault.latency("700 millis")) },
        handler: (_, d) => Effect.orDie(d.extend("1 second"))
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("10 seconds")
          assertOnce(stage, 1)
          assert.strictEqual(asks(stage).length, 1)
          const [delivery] = stage.deliveries()
          assert.strictEqual(asked(delivery!, "delete")[0]!.at, delivery!.runs[0]!.ended!.at)
        })
    )
  )

  for (const [what, fault, reason] of [
    ["refused", Fault.error("ReceiptHandleIsInvalid"), "refused"],
    ["throttled for ever", Fault.error("RequestThrottled"), "ran out"],
    [
      "beyond the 12 hours of SQS",
      Fault.error("InvalidParameterValue", {
        detail: "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
      }),
      "limit"
    ]
  ] as const) {
    it.effect(`${what}: it fails with the reason`, () => {
      const failures: Array<unknown> = []
      const act = (d: Live) =>
        Effect.delay(d.extend("1 minute"), 1_000).pipe(
          Effect.catchAll((lost) => Effect.sync(() => failures.push(lost.reason))),
          Effect.asVoid
        )
      return play(
        {
          queue: { faults: onChanges(fault) },
          worker: { onLeaseLost: "continue", lease: { heartbeat: "off" } },
          handler: job(seconds(40), act),
          expect: "off"
        },
        () =>
          Effect.gen(function* () {
            yield* Effect.sleep("29.5 seconds")
            assert.deepStrictEqual(failures, [reason])
          })
      )
    })
  }

  it.effect("of a delivery that is being settled, or is: it fails, and asks nothing", () => {
    const results: Array<Either.Either<void, unknown>> = []
    const late = (d: Live) =>
      Effect.forkDaemon(
        Effect.forEach([1_000, 9_000], (ms) =>
          Effect.map(Effect.either(Effect.delay(d.extend("1 minute"), ms)), (r) => results.push(r))
        )
      )
    return play(
      {
        queue: { faults: Fault.on("DeleteMessageBatch")(Fault.latency("5 seconds")) },
        handler: (_, d) => Effect.asVoid(late(d))
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("20 seconds")
          assert.deepStrictEqual(results.map(Either.isLeft), [true, true])
          assert.deepStrictEqual(asks(stage), [])
          assert.deepStrictEqual(lossesOf(stage), [])
        })
    )
  })

  it.effect("holds a delivery of the stream that nobody has processed yet", () =>
    play({ handler: () => Effect.void, messages: 0, expect: "off" }, (stage) =>
      Effect.gen(function* () {
        yield* stage.stop
        yield* stage.send(1)
        const settled: Array<Settlement.Settled> = []
        const taking = yield* Effect.fork(
          Stream.runForEach(Stream.take(Consumer.stream(Jobs, { lease: { heartbeat: "off" } }), 1), (d) =>
            Effect.zipRight(d.extend("2 minutes"), Effect.sleep("100 seconds")).pipe(
              Effect.zipRight(d.process(() => Effect.void)),
              Effect.map((s) => settled.push(s))
            )
          )
        )
        yield* Effect.sleep("130 seconds")
        yield* Fiber.join(taking)
        assert.strictEqual(stage.deliveries().length, 1)
        assert.isTrue(settled[0]!.confirmed)
      })
    )
  )
})
