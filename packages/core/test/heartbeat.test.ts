/** Rows of the failures that consumers have shown: heartbeats. What a lost lease does is in leaseLoss.test.ts. */
import { type Delivery, Redelivery } from "@effect-sqs/core"
import { Fault, JournalQuery } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { asked, assertOnce, calls, eventsOf, lossesOf, play, seconds } from "./stage.js"

const onBeats = Fault.on("ChangeMessageVisibilityBatch")
/** goes on after that for longer than it was given */
const byHandMidway = (delivery: Delivery.Delivery<unknown>) =>
  Effect.zipRight(Effect.delay(delivery.extend("45 seconds"), "70 seconds"), Effect.sleep("1 minute"))
const sleeps = (ms: number) => () => Effect.sleep(ms)

describe("A heartbeat and lease", () => {
  const sameTick = (handlerMs: (n: number) => number, order: "fifo" | "random", seed: number) =>
    play(
      {
        worker: { concurrency: 100 },
        handler: (job) => Effect.sleep(handlerMs(job.n)),
        messages: 100,
        order,
        seed
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("20 seconds")
          assertOnce(stage, 100)
          assert.deepStrictEqual(eventsOf(stage, "BeatFailed"), [])
          assert.deepStrictEqual(lossesOf(stage), [])
        })
    )

  it.effect("A1 a handler ends in the same tick as a beat, 100 runs: nothing is asked after the delete", () =>
    Effect.gen(function* () {
      // around the moment in which beats get ready, and that in which they are sent
      yield* sameTick((n) => 14_900 + 2 * n, "fifo", 0)
      for (const seed of [1, 2, 3, 4, 5]) {
        yield* sameTick((n) => (n % 2 === 0 ? 14_950 : 15_000), "random", seed)
      }
    })
  )

  for (const after of [false, true]) {
    it.effect(`A2 the settlement waits for a beat that travels ${after ? "back" : "there"}`, () =>
      play({ queue: { faults: onBeats(Fault.latency(200, { after })) }, handler: sleeps(15_050) }, (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("20 seconds")
          const [delivery] = stage.deliveries()
          assert.deepStrictEqual(asked(delivery!, "beat"), [{ at: 15_000, seconds: 30 }])
          assert.deepStrictEqual(asked(delivery!, "delete"), [{ at: 15_200, seconds: undefined }])
        })
      )
    )
  }

  it.effect("A3 each beat asks for the extension from now, never a sum", () =>
    play({ worker: { lease: { heartbeat: "25 seconds" } }, handler: sleeps(80_000) }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("2 minutes")
        const [delivery] = stage.deliveries()
        assert.deepStrictEqual(
          asked(delivery!, "beat"),
          [25, 50, 75].map((s) => ({ at: seconds(s), seconds: 30 }))
        )
        assert.deepStrictEqual(
          delivery!.deadlines.map((d) => d.until),
          [30, 55, 80, 105].map(seconds)
        )
        assertOnce(stage, 1)
      })
    )
  )

  it.effect("A3 the longest heartbeats that a start accepts beat in time, whatever a beat asks", () =>
    Effect.forEach(
      [
        { heartbeat: 28_999 },
        { heartbeat: 28_999, extendBy: "1 minute" },
        { heartbeat: 1_899, extendBy: "2 seconds" },
        { heartbeat: 949, visibility: "1 second" }
      ] as const,
      (lease) =>
        play({ worker: { lease }, handler: (_, delivery) => byHandMidway(delivery) }, (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("3 minutes")
            assert.deepStrictEqual(lossesOf(stage), [])
            assertOnce(stage, 1)
          })
        ),
      { discard: true }
    )
  )

  it.effect("A3 and keeps to the heartbeat when that is much shorter than the extension", () =>
    play({ worker: { lease: { heartbeat: "5 seconds" } }, handler: sleeps(22_000) }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual(
          asked(stage.deliveries()[0]!, "beat"),
          [5, 10, 15, 20].map((s) => ({ at: seconds(s), seconds: 30 }))
        )
      })
    )
  )

  it.effect("A4 the handler fails while a beat is in flight: the release has the last word", () =>
    play(
      {
        queue: { faults: onBeats(Fault.latency(200)) },
        worker: { redelivery: Redelivery.release("5 seconds") },
        handler: (_, delivery) => (delivery.receiveCount === 1 ? Effect.delay(Effect.fail("no"), 15_050) : Effect.void)
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 minute")
          const [first, second] = stage.deliveries()
          assert.deepStrictEqual(asked(first!, "beat"), [{ at: 15_000, seconds: 30 }])
          assert.deepStrictEqual(asked(first!, "release"), [{ at: 15_200, seconds: 5 }])
          // the release travelled for 200 ms too
          assert.strictEqual(first!.deadlines.at(-1)!.until, 20_400)
          assert.strictEqual(second!.received.at, 20_400)
        })
    )
  )

  it.effect("A6 every call takes 200 ms: each beat is sent the lead before its own deadline", () =>
    play({ queue: { faults: Fault.latency(200) }, handler: sleeps(55_000) }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("1 minute")
        const [delivery] = stage.deliveries()
        const beats = delivery!.asks.filter((a) => a.kind === "beat")
        assert.strictEqual(beats.length, 3)
        for (const beat of beats) {
          assert.isAtLeast(JournalQuery.deadlineAt(delivery!, beat.sent.index) - beat.sent.at, seconds(15))
        }
        assertOnce(stage, 1)
      })
    )
  )

  const troubles = [
    ["throttled", Fault.error("RequestThrottled")],
    ["answered with a 500", Fault.error("InternalFailure")],
    ["never answered", Fault.hang],
    ["carried out and never answered", Fault.hangAfter],
    ["cut off", Fault.reset],
    ["carried out and cut off", Fault.loseReply],
    ["sent with expired credentials", Fault.error("ExpiredToken")]
  ] as const
  for (const [what, fault] of troubles) {
    it.effect(`A8 one beat is ${what}: tried again inside the same lease`, () =>
      play({ queue: { faults: onBeats(Fault.times(1)(fault)) }, handler: sleeps(40_000) }, (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 minute")
          assertOnce(stage, 1)
          assert.strictEqual(eventsOf(stage, "BeatFailed").length, 1)
          assert.deepStrictEqual(lossesOf(stage), [])
        })
      )
    )
  }

  it.effect("A10 a job of 13 hours: extensions are cut to the 12 hours, and then there is one clear outcome", () =>
    play({ queue: { visibility: 120 }, handler: sleeps(seconds(13 * 3_600)) }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("12 hours")
        const [delivery] = stage.deliveries()
        for (const ask of delivery!.asks) {
          assert.strictEqual(ask.outcome, "done")
          assert.isAtMost(ask.sent.at + seconds(ask.timeoutSeconds!), seconds(43_200))
        }
        assert.isAtMost(asked(delivery!, "beat").length, 722)
        const losses = lossesOf(stage)
        assert.strictEqual(losses.length, 1)
        assert.strictEqual(losses[0]!.reason, "limit")
        assert.isAbove(losses[0]!.at, seconds(43_180))
        assert.strictEqual(asked(delivery!, "release").length, 1)
        assert.deepStrictEqual(asked(delivery!, "delete"), [])
        assert.deepStrictEqual(eventsOf(stage, "BeatFailed"), [])
      })
    )
  )

  for (const visibility of [1, 3]) {
    it.effect(`A11 a visibility of ${visibility} s: beats at the rate that was asked for`, () =>
      play({ queue: { visibility }, handler: sleeps(60_000) }, (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("2 minutes")
          assertOnce(stage, 1)
          const beats = asked(stage.deliveries()[0]!, "beat")
          assert.strictEqual(beats.length, 120 / visibility - 1)
          assert.isTrue(beats.every((b) => b.seconds === visibility))
        })
      )
    )
  }

  for (const prefetch of [undefined, 9]) {
    it.effect(
      `A12 ten messages, one place, a job of 0.6 slots, prefetch ${prefetch ?? "by default"}: each runs once`,
      () =>
        play(
          {
            worker: { concurrency: 1, ...(prefetch === undefined ? {} : { prefetch }) },
            handler: sleeps(18_000),
            messages: 10,
            expect: { prefetch: prefetch ?? 0 }
          },
          (stage) =>
            Effect.gen(function* () {
              yield* Effect.sleep("4 minutes")
              assertOnce(stage, 10)
              assert.deepStrictEqual(lossesOf(stage), [])
            })
        )
    )
  }

  it.effect("A12 what waits behind its group on FIFO is kept alive too", () =>
    play({ fifo: true, handler: sleeps(40_000), messages: 3, expect: { prefetch: 100 } }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("3 minutes")
        assertOnce(stage, 3)
        assert.deepStrictEqual(lossesOf(stage), [])
      })
    )
  )

  it.effect("A16 slow beats: never two of one delivery at a time", () =>
    play(
      {
        queue: { faults: onBeats(Fault.latency("4 seconds")) },
        worker: { lease: { heartbeat: "3 seconds" } },
        handler: sleeps(61_000)
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("2 minutes")
          assertOnce(stage, 1)
          const beats = stage.deliveries()[0]!.asks.filter((a) => a.kind === "beat")
          assert.isAbove(beats.length, 10)
          beats.slice(1).forEach((beat, i) => assert.isAtLeast(beat.sent.at, beats[i]!.ended!.at))
        })
    )
  )

  it.effect("A17 the queue's own visibility is read and used", () =>
    play({ queue: { visibility: 600 }, handler: sleeps(seconds(700)) }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("15 minutes")
        const [receive] = stage
          .view()
          .entries.filter((e) => e._tag === "CallStarted" && e.operation === "ReceiveMessage")
        assert.strictEqual(receive?._tag === "CallStarted" ? receive.input.visibilityTimeoutSeconds : 0, 600)
        assert.deepStrictEqual(asked(stage.deliveries()[0]!, "beat"), [
          { at: seconds(300), seconds: 600 },
          { at: seconds(600), seconds: 600 }
        ])
      })
    )
  )

  it.effect("the beats of 100 long jobs go ten to a call", () =>
    play({ worker: { concurrency: 100 }, handler: sleeps(25_000), messages: 100 }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("1 minute")
        assertOnce(stage, 100)
        const beats = calls(stage.view().entries, "ChangeMessageVisibilityBatch")
        assert.strictEqual(beats.flat().length, 100)
        assert.isAtMost(beats.length, 11)
      })
    )
  )
})
