/**
 * What a visibility timeout is: a slot of time until the next try, not a lock. With and without a heartbeat, on one
 * queue with one consumer and with two.
 */
import { Consumer, Lease } from "@effect-sqs/core"
import { Fault, JournalQuery, SimClock } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Supervisor } from "effect"
import { asked, assertOnce, calls, eventsOf, Jobs, play, seconds, settledOf } from "./stage.js"

const sleeps = (ms: number) => () => Effect.sleep(ms)
/** as consumers are that know nothing of leases */
const careless = { lease: { heartbeat: "off" }, onLeaseLost: "continue" } as const

describe("the risk window", () => {
  it.effect("without heartbeat a job of 90 s on a slot of 30 s is handed out again at 30 s: 60 s of risk", () =>
    play({ worker: careless, handler: sleeps(seconds(90)) }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("89 seconds")
        const [first, second, third] = stage.deliveries()
        assert.deepStrictEqual(
          [first, second, third].map((d) => d!.received.at),
          [0, seconds(30), seconds(60)]
        )
        assert.isTrue(JournalQuery.runsOverlap(stage.view(), first!.messageId))
        yield* Effect.sleep("2 minutes")
        const ran = stage.deliveries()[0]!.runs[0]!
        const risk = Duration.millis(ran.ended!.at - second!.received.at)
        assert.deepStrictEqual(risk, Duration.seconds(60))
        assert.deepStrictEqual(Lease.riskWindow("90 seconds", "30 seconds"), risk)
      })
    )
  )

  it.effect("with a heartbeat the same job is received once", () =>
    play({ handler: sleeps(seconds(90)) }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("3 minutes")
        assertOnce(stage, 1)
        assert.strictEqual(asked(stage.deliveries()[0]!, "beat").length, 5)
      })
    )
  )

  it.effect("a job of 45 s on 30 s is received twice without", () =>
    play({ worker: careless, handler: sleeps(seconds(45)) }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("3 minutes")
        const [first, second, ...more] = stage.deliveries()
        assert.deepStrictEqual(more, [])
        const risk = Duration.millis(first!.runs[0]!.ended!.at - second!.received.at)
        assert.deepStrictEqual(risk, Duration.seconds(15))
        assert.deepStrictEqual(Lease.riskWindow("45 seconds", "30 seconds"), risk)
      })
    )
  )

  it.effect("and once with", () =>
    play({ handler: sleeps(seconds(45)) }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("3 minutes")
        assertOnce(stage, 1)
      })
    )
  )

  it.effect("by default a job without heartbeat is interrupted before its message is somebody else's", () =>
    play(
      { worker: { lease: { heartbeat: "off" } }, handler: sleeps(seconds(45)), expect: { drained: false } },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("100 seconds")
          const [first, ...more] = stage.deliveries()
          assert.strictEqual(more.length, 3)
          assert.deepInclude(first!.runs[0], { outcome: "interrupted" })
          assert.isBelow(first!.runs[0]!.ended!.at, more[0]!.received.at)
          assert.isFalse(JournalQuery.runsOverlap(stage.view(), first!.messageId))
        })
    )
  )

  it.effect("an interrupted handler's message is never deleted", () =>
    play(
      {
        worker: { drain: "1 second" },
        handler: () => Effect.never
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("10 seconds")
          yield* stage.stop
          const [delivery] = stage.deliveries()
          assert.deepInclude(delivery!.runs[0], { outcome: "interrupted" })
          assert.deepStrictEqual(asked(delivery!, "delete"), [])
          assert.strictEqual(JournalQuery.settlementOf(delivery!)?.kind, "release")
          assert.strictEqual((yield* stage.sqs.messages("jobs")).length, 1)
        })
    )
  )

  it.effect("a failed delete shows as a value", () =>
    play(
      {
        queue: { faults: Fault.on("DeleteMessageBatch")(Fault.error("AccessDenied")) },
        handler: () => Effect.void,
        expect: { drained: false }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 second")
          const [settled] = settledOf(stage)
          assert.strictEqual(settled!.asked._tag, "Delete")
          assert.isFalse(settled!.confirmed)
          assert.deepInclude(settled!.problem, { _tag: "AccessDenied", action: "sqs:DeleteMessage" })
        })
    )
  )
})

describe("two consumers on one queue", () => {
  it.effect("one asks for 120 s with each receive: that holds for its own messages, and the queue is as it was", () =>
    play({ worker: { concurrency: 1 }, handler: sleeps(seconds(25)), messages: 2, expect: "off" }, (stage) =>
      Effect.gen(function* () {
        const patient = yield* SimClock.spawn(
          "patient",
          Consumer.run(Jobs, { concurrency: 1, lease: { visibility: "120 seconds" } }, sleeps(seconds(25)))
        )
        yield* Effect.sleep("20 seconds")
        const [own, asking] = stage.deliveries()
        assert.deepStrictEqual(
          own!.deadlines.map((d) => d.until),
          [seconds(30), seconds(45)]
        )
        assert.deepStrictEqual(
          asking!.deadlines.map((d) => d.until),
          [seconds(120)]
        )
        const { Attributes } = (yield* stage.sqs.api("GetQueueAttributes", {
          QueueUrl: stage.sqs.queueUrl("jobs"),
          AttributeNames: ["VisibilityTimeout"]
        })) as { readonly Attributes: { readonly VisibilityTimeout: string } }
        assert.strictEqual(Attributes.VisibilityTimeout, "30")
        assert.isFalse(
          stage.view().entries.some((e) => e._tag === "CallStarted" && e.operation === "SetQueueAttributes")
        )
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual(yield* stage.sqs.messages("jobs"), [])
        yield* patient.terminate
        yield* patient.await
      })
    )
  )
})

describe("short jobs pay nothing for a heartbeat", () => {
  /** counts the fibers that start under it */
  class Count extends Supervisor.AbstractSupervisor<number> {
    started = 0
    override readonly value = Effect.sync(() => this.started)
    override onStart() {
      this.started++
    }
  }

  const fibers = (heartbeat: "15 seconds" | "off", jobMs: number) => {
    const count = new Count()
    return play(
      {
        worker: { concurrency: 50, lease: { heartbeat } },
        handler: sleeps(jobMs),
        messages: 50,
        supervisor: count
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("5 seconds")
          const before = count.started
          yield* Effect.sleep("15 seconds")
          assert.strictEqual(eventsOf(stage, "DeliverySettled").length, jobMs < seconds(20) ? 50 : 0)
          return {
            at5s: before,
            later: count.started - before,
            beats: calls(stage.view().entries, "ChangeMessageVisibilityBatch").length
          }
        })
    )
  }

  it.effect("no fiber and no call for a job shorter than the first beat", () =>
    Effect.gen(function* () {
      const short = yield* fibers("15 seconds", 2_000)
      const without = yield* fibers("off", 2_000)
      // none for each of the 50 jobs; a few are of the consumer's own timers, whose rhythm goes with the settings
      assert.closeTo(short.at5s, without.at5s, 5)
      assert.closeTo(short.later, without.later, 5)
      assert.strictEqual(short.beats, 0)
      // a long job has one of its own
      const long = yield* fibers("15 seconds", seconds(25))
      assert.isAtLeast(long.later, 50)
      assert.strictEqual(long.beats, 5)
    })
  )
})
