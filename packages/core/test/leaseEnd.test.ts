/** The limit of a lease, and leases that end between a run and its settlement. */
import { type Delivery, Redelivery, Settlement } from "@effect-sqs/core"
import { Fault, JournalQuery } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { asked, assertOnce, eventsOf, lossesOf, play, seconds, settledOf } from "./stage.js"

const onBeats = Fault.on("ChangeMessageVisibilityBatch")
const noBeats = { heartbeat: "off" } as const

describe("the limit", () => {
  it.effect("shorter than the visibility: interrupted there, released, and it may come again", () =>
    play(
      {
        worker: { lease: { limit: "10 seconds" }, redelivery: Redelivery.release("5 seconds") },
        handler: (_, delivery) => (delivery.receiveCount === 1 ? Effect.never : Effect.void)
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 minute")
          const [first, second] = stage.deliveries()
          assert.deepStrictEqual(asked(first!, "release"), [{ at: seconds(10), seconds: 5 }])
          assert.strictEqual(second!.received.at, seconds(15))
          assert.strictEqual(JournalQuery.settlementOf(second!)?.kind, "delete")
        })
    )
  )

  it.effect("reached by what waits for a place: given back", () =>
    play(
      {
        worker: {
          concurrency: 1,
          prefetch: 1,
          lease: { limit: "10 seconds" },
          redelivery: Redelivery.release("1 hour")
        },
        messages: 2,
        handler: () => Effect.uninterruptible(Effect.sleep("12 seconds")),
        expect: { prefetch: 1, drained: false }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("11 seconds")
          const waited = stage.deliveries()[1]!
          assert.deepStrictEqual(asked(waited, "release"), [{ at: seconds(10.05), seconds: 0 }])
          assert.strictEqual(waited.runs.length, 0)
        })
    )
  )

  it.effect("and a cleanup that outlives the lease: then the message is not ours to release", () =>
    play(
      {
        worker: { lease: { limit: "20 seconds" }, redelivery: Redelivery.release("5 seconds") },
        handler: (_, delivery) =>
          delivery.receiveCount === 1 ? Effect.onInterrupt(Effect.never, () => Effect.sleep("1 minute")) : Effect.void,
        expect: { graceMs: seconds(36) }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("100 seconds")
          const [first, second] = stage.deliveries()
          assert.deepStrictEqual(
            first!.asks.map((a) => [a.kind, a.sent.at]),
            [["beat", seconds(15)]]
          )
          assert.strictEqual(second!.received.at, seconds(45))
          assert.deepInclude(settledOf(stage).find((s) => !s.confirmed)?.problem, {
            _tag: "LeaseLost",
            reason: "limit"
          })
        })
    )
  )
})

describe("the 12 hours of SQS", () => {
  it.effect(
    "used up earlier than was counted: SQS says so once, the handler is interrupted, the message released",
    () =>
      play(
        {
          queue: {
            faults: onBeats(
              Fault.times(1)(
                Fault.error("InvalidParameterValue", {
                  detail: "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
                })
              )
            )
          },
          worker: { redelivery: Redelivery.release(0) },
          handler: (_, delivery) => (delivery.receiveCount === 1 ? Effect.never : Effect.void)
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("1 minute")
            const [first, second] = stage.deliveries()
            assert.deepStrictEqual(lossesOf(stage), [{ at: seconds(15), reason: "limit" }])
            assert.deepStrictEqual(
              first!.asks.map((a) => [a.kind, a.sent.at]),
              [
                ["beat", seconds(15)],
                ["release", seconds(15)]
              ]
            )
            assert.strictEqual(JournalQuery.settlementOf(second!)?.kind, "delete")
          })
      )
  )
})

describe("after the run", () => {
  const slowPolicy = (ms: number) =>
    Redelivery.make(() => Effect.delay(Effect.succeed(Settlement.Release("5 seconds")), ms))

  const failsFirst = (_: unknown, delivery: Delivery.Delivery<unknown>) =>
    delivery.receiveCount === 1 ? Effect.fail("no") : Effect.void

  it.effect("the heartbeat goes on while the policy decides", () =>
    // beats after a run look like releases to who reads the journal
    play({ worker: { redelivery: slowPolicy(65_000) }, handler: failsFirst, expect: "off" }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("2 minutes")
        const [first, second] = stage.deliveries()
        assert.deepStrictEqual(
          // nothing else runs: a beat leaves when it is ready, some ms before its time
          first!.asks.map((a) => [Math.round(a.sent.at / 1000), a.timeoutSeconds]),
          [
            [15, 30],
            [30, 30],
            [45, 30],
            [60, 30],
            [65, 5]
          ]
        )
        assert.strictEqual(second!.received.at, seconds(70))
      })
    )
  )

  for (const settlement of [Settlement.Release("5 seconds"), Settlement.Delete, Settlement.DeadLetter("bad")]) {
    it.effect(`a lease lost while the policy decides: its ${settlement._tag} is not sent`, () =>
      play(
        {
          worker: {
            lease: noBeats,
            redelivery: Redelivery.make(() => Effect.delay(Effect.succeed(settlement), 65_000))
          },
          handler: failsFirst,
          expect: { drained: false, policyDeletes: true, deadLetterQueue: "dead" }
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("80 seconds")
            const [first] = stage.deliveries()
            assert.deepStrictEqual(first!.asks, [])
            assert.deepStrictEqual(yield* stage.sqs.messages("dead"), [])
            assert.deepStrictEqual(lossesOf(stage), [{ at: seconds(29), reason: "ran out" }])
            const unconfirmed = settledOf(stage).filter((s) => !s.confirmed)
            assert.strictEqual(unconfirmed.length, 1)
            assert.deepInclude(unconfirmed[0]!.problem, { _tag: "LeaseLost", reason: "ran out" })
          })
      )
    )
  }

  it.effect("a lease lost while a stop holds the release back: it is not sent, and the report says so", () =>
    play(
      {
        queue: { visibility: 10 },
        worker: { lease: noBeats, redelivery: Redelivery.release(0) },
        handler: () => Effect.delay(Effect.fail("no"), 6_000),
        expect: { drained: false }
      },
      (stage) =>
        Effect.gen(function* () {
          // the open poll, asked at the start, answers after 20 s
          yield* Effect.sleep("5 seconds")
          yield* stage.stop
          assert.deepStrictEqual(stage.deliveries()[0]!.asks, [])
          assert.deepStrictEqual(lossesOf(stage), [{ at: 9_500, reason: "ran out" }])
          const drained = eventsOf(stage, "Drained")
          assert.deepStrictEqual(
            drained.flatMap((e) => e.report.deliveries.map((d) => [d.receiveCount, d.became])),
            [
              [1, "lost"],
              // the open receive took it when it was visible again
              [2, "released"]
            ]
          )
        })
    )
  )

  it.effect("a release that stays impossible until the lease ends is given up as a value", () =>
    play(
      {
        queue: { faults: onBeats(Fault.error("RequestThrottled")) },
        worker: { redelivery: Redelivery.release(0) },
        handler: failsFirst,
        expect: { drained: false }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("29.9 seconds")
          const [settled] = settledOf(stage)
          assert.deepInclude(settled, { asked: Settlement.Release(0), confirmed: false })
          assert.deepInclude(settled!.problem, { _tag: "Throttled" })
          assert.isTrue(stage.deliveries()[0]!.asks.every((a) => a.sent.at < seconds(30)))
        })
    )
  )
})

describe("the machine's clock", () => {
  it.effect("set back by an hour: beats go on as if nothing had been", () =>
    play({ handler: () => Effect.sleep("50 seconds") }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("10 seconds")
        yield* stage.worker.jumpMillis(-3_600_000)
        yield* Effect.sleep("1 minute")
        assertOnce(stage, 1)
        assert.deepStrictEqual(
          asked(stage.deliveries()[0]!, "beat").map((b) => b.at),
          [15, 30, 45].map(seconds)
        )
      })
    )
  )

  it.effect(
    "set forward by an hour, as after a sleep of the machine: the lease counts as lost, nothing is settled",
    () =>
      play(
        {
          handler: (_, delivery) => Effect.sleep(delivery.receiveCount === 1 ? "50 seconds" : "20 seconds"),
          expect: { drained: false }
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("10 seconds")
            yield* stage.worker.jumpMillis(3_600_000)
            yield* Effect.sleep("1 minute")
            const [first, second, ...more] = stage.deliveries()
            assert.deepStrictEqual(more, [])
            assert.deepStrictEqual(first!.asks, [])
            assert.deepInclude(first!.runs[0], { outcome: "interrupted" })
            assert.deepStrictEqual(
              eventsOf(stage, "LeaseWasLost").map((e) => e.lost.reason),
              ["stalled"]
            )
            // under the new time all is as it should be
            assert.strictEqual(asked(second!, "beat").length, 1)
            assert.strictEqual(JournalQuery.settlementOf(second!)?.kind, "delete")
          })
      )
  )

  it.effect("refused while it was at its limit already: nothing is given back that is not ours", () =>
    play(
      {
        queue: {
          faults: onBeats(
            Fault.all(
              Fault.latency("3 seconds"),
              Fault.entries(() => true, "ReceiptHandleIsInvalid", { senderFault: true })
            )
          )
        },
        worker: { lease: { visibility: "20 seconds", heartbeat: "4 seconds", limit: "5 seconds" } },
        handler: () => Effect.sleep("1 minute"),
        expect: { drained: false }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("15 seconds")
          const [first] = stage.deliveries()
          assert.deepStrictEqual(
            first!.asks.map(({ kind, outcome }) => [kind, outcome]),
            [["beat", "refused"]]
          )
          assert.strictEqual(settledOf(stage)[0]?.confirmed, false)
        })
    )
  )
})
