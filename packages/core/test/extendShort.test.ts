/** A14 and its kind: a handler cuts its own lease short. */
import type { Delivery } from "@effect-sqs/core"
import { Fault } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { assertOnce, lossesOf, play, type Scene, seconds, type Stage } from "./stage.js"

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

describe("A14 cut short by hand", () => {
  for (const [what, fault] of [
    ["lost", Fault.loseReply],
    ["never given", Fault.hangAfter]
  ] as const) {
    it.effect(`cut short, and the answer is ${what}: the lease is believed to be as short as was asked`, () =>
      play(
        {
          queue: { faults: onChanges(fault) },
          worker: { lease: { heartbeat: "off" } },
          handler: job(seconds(20), (d) => Effect.delay(d.extend("2 seconds"), 5_000)),
          expect: { drained: false }
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("7.1 seconds")
            const [first] = stage.deliveries()
            assert.deepInclude(first!.runs[0], { outcome: "interrupted" })
            assert.isBelow(first!.runs[0]!.ended!.at, first!.deadlines[1]!.until)
          })
      )
    )
  }

  for (const [what, fault] of [
    ["refused for now", Fault.error("OverLimit")],
    ["throttled", Fault.error("RequestThrottled")]
  ] as const) {
    it.effect(`cut short, and that is ${what}: the lease is as it was`, () =>
      play(
        {
          queue: { faults: onChanges(fault) },
          worker: { lease: { heartbeat: "off" } },
          handler: job(seconds(20), (d) =>
            Effect.ignore(Effect.timeout(Effect.delay(d.extend("2 seconds"), 5_000), 6_000))
          )
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("25 seconds")
            assertOnce(stage, 1)
            assert.deepStrictEqual(lossesOf(stage), [])
          })
      )
    )
  }

  it.effect("cut short while it waits for others to leave with: the lease is as it was until then", () =>
    play(
      {
        worker: { lease: { heartbeat: "off" }, settlement: { linger: "2 seconds" } },
        handler: job(seconds(6.5), (d) => Effect.delay(d.extend("1 second"), 5_000))
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("10 seconds")
          assertOnce(stage, 1)
          assert.deepStrictEqual(lossesOf(stage), [])
        })
    )
  )

  it.effect("cut short and left: it counts from the moment of leaving", () =>
    play(
      {
        worker: { lease: { heartbeat: "off" }, settlement: { linger: "2 seconds" } },
        handler: job(seconds(20), (d) => Effect.delay(d.extend("1 second"), 5_000)),
        expect: { mayRunOut: true }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("9 seconds")
          const [first] = stage.deliveries()
          assert.deepStrictEqual(asks(stage), [[7, 1]])
          assert.deepInclude(first!.runs[0], { outcome: "interrupted" })
          assert.strictEqual(first!.runs[0]!.ended!.at, 7_950)
          yield* stage.stop
        })
    )
  )

  it.effect("cut short, lost, and only then refused for now: a lease that is lost beats no more", () =>
    play(
      {
        queue: { faults: onChanges(Fault.all(Fault.latency("3 seconds"), Fault.error("OverLimit"))) },
        handler: (_, d) =>
          Effect.onInterrupt(
            Effect.all([Effect.sleep(seconds(60)), Effect.delay(d.extend("2 seconds"), 5_000)], {
              concurrency: "unbounded",
              discard: true
            }),
            () => Effect.sleep(seconds(15))
          ),
        expect: { graceMs: seconds(20), drained: false }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("25 seconds")
          assert.deepStrictEqual(
            lossesOf(stage).map(({ reason }) => reason),
            ["ran out"]
          )
          assert.deepStrictEqual(asks(stage), [[5.05, 2]])
        })
    )
  )
})
