/** How a lease is lost, and what becomes of the handler, of its result and of the message. */
import { type Delivery, Policy, Redelivery, Settlement } from "@effect-sqs/core"
import { Fault, JournalQuery } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { asked, assertOnce, eventsOf, play, seconds, settledOf, lossesOf } from "./stage.js"

const onBeats = Fault.on("ChangeMessageVisibilityBatch")
const sleeps = (ms: number) => () => Effect.sleep(ms)
const noBeats = { heartbeat: "off" } as const

describe("a beat that SQS did though no answer came in time", () => {
  for (const [what, fault] of [
    ["never comes", Fault.hangAfter],
    ["comes after the loss", Fault.latency("12 seconds", { after: true })]
  ] as const) {
    it.effect(`its answer ${what}: the message is late, and nothing is put back that may be somebody else's`, () =>
      play(
        {
          queue: { faults: onBeats(fault).pipe(Fault.during("0 seconds", "40 seconds")) },
          worker: { lease: { heartbeat: "25 seconds" } },
          handler: () => Effect.sleep("31 seconds")
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("4 minutes")
            const [lost, next] = stage.deliveries()
            assert.deepStrictEqual(lossesOf(stage)[0], { at: seconds(29), reason: "ran out" })
            const beats = asked(lost!, "beat")
            assert.isAbove(beats.length, 0)
            assert.deepStrictEqual(
              lost!.asks.map((a) => a.kind),
              beats.map(() => "beat")
            )
            assert.strictEqual(next!.received.at, beats.at(-1)!.at + seconds(30))
            assert.deepInclude(next!.runs[0], { outcome: "success" })
          })
      )
    )
  }
})

describe("rows", () => {
  it.effect("A5 at the limit the handler is interrupted, cleans up, and the message is released once", () => {
    const cleaned: Array<string | undefined> = []
    return play(
      {
        queue: { visibility: 120 },
        worker: { lease: { limit: "30 minutes" }, redelivery: Redelivery.release("1 hour") },
        handler: (_, delivery) =>
          Effect.onInterrupt(Effect.sleep("1 hour"), () =>
            Effect.zipRight(
              Effect.sleep("10 seconds"),
              Effect.sync(() => cleaned.push(delivery.leaseLost?.reason))
            )
          )
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("50 minutes")
          const [delivery, ...more] = stage.deliveries()
          assert.deepStrictEqual(more, [])
          assert.deepStrictEqual(cleaned, ["limit"])
          assert.deepStrictEqual(lossesOf(stage), [{ at: seconds(1_800), reason: "limit" }])
          assert.deepStrictEqual(asked(delivery!, "release"), [{ at: seconds(1_810), seconds: 3_600 }])
          assert.deepStrictEqual(asked(delivery!, "delete"), [])
          assert.deepInclude(delivery!.runs[0], { outcome: "interrupted" })
        })
    )
  })

  const refusals = [
    ["ReceiptHandleIsInvalid", "The input receipt handle is invalid."],
    ["AWS.SimpleQueueService.MessageNotInflight", "The message is not in flight."],
    [
      "InvalidParameterValue",
      "Value x for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change."
    ],
    ["AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist."]
  ] as const
  for (const [code, detail] of refusals) {
    for (const whole of [true, false]) {
      it.effect(`A7 ${code} for ${whole ? "the call" : "the entry"} of a beat: the lease is lost`, () =>
        play(
          {
            queue: {
              faults: onBeats(
                whole ? Fault.error(code, { detail }) : Fault.entries(() => true, code, { detail, senderFault: true })
              )
            },
            handler: () => Effect.never
          },
          (stage) =>
            Effect.gen(function* () {
              yield* Effect.sleep("25 seconds")
              const [delivery] = stage.deliveries()
              assert.deepStrictEqual(lossesOf(stage), [{ at: seconds(15), reason: "refused" }])
              // one beat, and neither release nor delete: it is not ours
              assert.deepStrictEqual(
                delivery!.asks.map((a) => a.sent.at),
                [seconds(15)]
              )
              assert.deepInclude(delivery!.runs[0], { outcome: "interrupted" })
              assert.strictEqual(delivery!.runs[0]!.ended!.at, seconds(15))
              const [settled] = eventsOf(stage, "DeliverySettled")
              assert.deepInclude(settled!.settled, { confirmed: false })
              assert.deepInclude(settled!.settled.problem, { _tag: "LeaseLost", reason: "refused" })
            })
        )
      )
    }
  }

  for (const [what, fault] of [
    ["throttled", Fault.error("RequestThrottled")],
    ["hung", Fault.hang]
  ] as const) {
    it.effect(`A9 beats are ${what} for ever: interrupted before the deadline, with the reason`, () =>
      play({ queue: { faults: onBeats(fault) }, handler: () => Effect.never, expect: { drained: false } }, (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("29.5 seconds")
          const [delivery] = stage.deliveries()
          assert.deepStrictEqual(lossesOf(stage), [{ at: seconds(29), reason: "ran out" }])
          assert.strictEqual(delivery!.runs[0]!.ended!.at, seconds(29))
          const beats = asked(delivery!, "beat").length
          assert.isAtLeast(beats, 2)
          assert.isAtMost(beats, 12)
        })
      )
    )
  }

  it.effect("A9 beats are not permitted: the lease is ours until its deadline, and permissions come back", () =>
    // the checker of invariants takes every error that is not worth a retry for a loss
    play(
      {
        queue: { faults: onBeats(Fault.times(3)(Fault.error("AccessDenied"))) },
        handler: sleeps(40_000),
        expect: "off"
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 minute")
          assertOnce(stage, 1)
          assert.strictEqual(eventsOf(stage, "BeatFailed").length, 3)
        })
    )
  )

  it.effect("A13 the process stalls longer than its lease: on waking nothing is settled", () =>
    play({ handler: sleeps(20_000), remote: true, expect: { graceMs: seconds(30) } }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("10 seconds")
        yield* stage.worker.stall("45 seconds")
        yield* Effect.sleep("1 minute")
        const [first, second, ...more] = stage.deliveries()
        assert.deepStrictEqual(more, [])
        assert.deepStrictEqual(lossesOf(stage), [{ at: seconds(55), reason: "stalled" }])
        assert.deepStrictEqual(first!.asks, [])
        assert.strictEqual(JournalQuery.settlementOf(second!)?.kind, "delete")
      })
    )
  )

  it.effect("A13 nor does it start what waited through the stall", () =>
    play(
      {
        worker: { concurrency: 1, prefetch: 4 },
        messages: 5,
        handler: sleeps(12_000),
        // what waited through the stall could neither run nor be given back
        expect: { prefetch: 4, graceMs: seconds(30), drained: false }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("10 seconds")
          yield* stage.worker.stall("45 seconds")
          yield* Effect.sleep("3 minutes")
          assert.strictEqual(lossesOf(stage).length, 5)
          for (const delivery of stage.deliveries().slice(0, 5)) {
            assert.deepStrictEqual(delivery.asks, [])
            assert.isAtMost(delivery.runs.length, 1)
          }
          // one had begun before the stall and is done; the others ran later, under new leases
          assert.strictEqual(stage.view().runs.length, 5)
          assert.strictEqual((yield* stage.sqs.messages("jobs")).length, 0)
        })
    )
  )

  it.effect("A13 nor does a retry of the policy that was due meanwhile begin", () =>
    play(
      {
        worker: { policy: Policy.make({ retry: Schedule.spaced("5 seconds") }) },
        handler: () => Effect.sleep(seconds(5)).pipe(Effect.zipRight(Effect.fail("again"))),
        remote: true,
        expect: { mayRunOut: true }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("8 seconds")
          yield* stage.worker.stall("45 seconds")
          yield* Effect.sleep("1 second")
          const [first] = stage.deliveries()
          assert.deepStrictEqual(lossesOf(stage), [{ at: seconds(53), reason: "stalled" }])
          assert.strictEqual(first!.runs.length, 1)
          assert.deepStrictEqual(first!.asks, [])
          assert.strictEqual(eventsOf(stage, "RunEnded")[0]?.outcome, "interrupted")
        })
    )
  )

  it.effect("A15 two deliveries of one message in a process: each has its own handle, lease and end", () =>
    play(
      {
        queue: { visibility: 10 },
        worker: { concurrency: 2, lease: { heartbeat: "off" }, onLeaseLost: "continue" },
        handler: sleeps(15_000)
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 minute")
          const [first, second, ...more] = stage.deliveries()
          assert.deepStrictEqual(more, [])
          assert.strictEqual(first!.messageId, second!.messageId)
          assert.deepStrictEqual(asked(first!, "delete"), [{ at: seconds(15.05), seconds: undefined }])
          assert.deepStrictEqual(asked(second!, "delete"), [{ at: seconds(25), seconds: undefined }])
          assert.strictEqual(eventsOf(stage, "DeliverySettled").length, 2)
        })
    )
  )
})

describe("the handler", () => {
  it.effect("that cannot be interrupted keeps its place until it ends; nothing is settled that is not ours", () =>
    play(
      {
        queue: { visibility: 10 },
        worker: { concurrency: 1, lease: noBeats },
        handler: (_, delivery) =>
          delivery.receiveCount === 1 ? Effect.uninterruptible(Effect.sleep("25 seconds")) : Effect.void,
        expect: { graceMs: seconds(16) }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("24 seconds")
          // its place is taken: nothing more was received
          assert.strictEqual(stage.deliveries().length, 1)
          yield* Effect.sleep("10 seconds")
          const [first, second] = stage.deliveries()
          assert.deepStrictEqual(lossesOf(stage), [{ at: 9_500, reason: "ran out" }])
          assert.deepStrictEqual(first!.asks, [])
          assert.strictEqual(second!.received.at, seconds(25))
          const [settled] = settledOf(stage)
          assert.deepInclude(settled, { asked: Settlement.Leave, confirmed: false })
          assert.deepInclude(settled!.problem, { _tag: "LeaseLost", reason: "ran out" })
        })
    )
  )

  it.effect("that ends exactly at the deadline was too late", () =>
    play(
      {
        worker: { lease: noBeats },
        handler: (_, delivery) =>
          delivery.receiveCount === 1 ? Effect.uninterruptible(Effect.sleep("30 seconds")) : Effect.void
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 minute")
          const [first, second] = stage.deliveries()
          assert.deepStrictEqual(first!.asks, [])
          assert.strictEqual(JournalQuery.settlementOf(second!)?.kind, "delete")
        })
    )
  )

  it.effect("that ends just before it is interrupted was in time: its delete leaves before the deadline", () =>
    play(
      {
        worker: { lease: noBeats, settlement: { linger: "5 seconds" }, concurrency: 2 },
        // the second job keeps the batch waiting
        handler: (job) => Effect.sleep(job.n === 1 ? 28_900 : 29_500),
        messages: 2,
        expect: "off"
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("32 seconds")
          const [first] = stage.deliveries()
          assert.isBelow(asked(first!, "delete")[0]!.at, seconds(30))
          assert.isAbove(asked(first!, "delete")[0]!.at, 28_900)
        })
    )
  )

  it.effect("may go on: on a standard queue its delete is tried, with its own handle", () =>
    play(
      {
        // the next receive, for the place that came free, is slower than the delete
        queue: { visibility: 10, faults: Fault.on("ReceiveMessage")(Fault.latency(100)) },
        worker: { concurrency: 1, lease: noBeats, onLeaseLost: "continue" },
        handler: sleeps(25_000)
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("40 seconds")
          const [first, ...more] = stage.deliveries()
          assert.deepStrictEqual(more, [])
          assert.deepStrictEqual(asked(first!, "delete"), [{ at: seconds(25.1), seconds: undefined }])
          assert.deepStrictEqual(settledOf(stage), [{ asked: Settlement.Delete, confirmed: true, problem: undefined }])
        })
    )
  )

  it.effect("B12 may go on: on FIFO the refusal of its delete is a lost lease, not a failure of the handler", () =>
    play(
      {
        queue: { visibility: 10 },
        fifo: true,
        worker: { concurrency: 1, lease: noBeats, onLeaseLost: "continue" },
        handler: (_, delivery) => (delivery.receiveCount === 1 ? Effect.sleep("25 seconds") : Effect.void),
        expect: "off"
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("26 seconds")
          const [refused, ...more] = settledOf(stage).filter((s) => s.asked._tag === "Delete" && !s.confirmed)
          assert.deepStrictEqual(more, [])
          assert.deepInclude(refused!.problem, { _tag: "LeaseLost" })
          assert.deepStrictEqual(
            eventsOf(stage, "RunEnded").map((e) => e.outcome),
            // the message came again, and its work was done: it was deleted, not run
            ["success"]
          )
          assert.strictEqual(eventsOf(stage, "DuplicateDeleted").length, 1)
          assert.strictEqual((yield* stage.sqs.messages("jobs.fifo")).length, 0)
        })
    )
  )

  it.effect("may go on and fails: nothing is settled, and its policy is not asked", () => {
    let decided = 0
    return play(
      {
        queue: { visibility: 10 },
        worker: {
          concurrency: 1,
          lease: noBeats,
          onLeaseLost: "continue",
          redelivery: Redelivery.make(() => Effect.sync(() => (decided++, Settlement.Release("1 minute"))))
        },
        handler: (_, delivery) => (delivery.receiveCount === 1 ? Effect.delay(Effect.fail("no"), 25_000) : Effect.void)
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("40 seconds")
          assert.deepStrictEqual(stage.deliveries()[0]!.asks, [])
          assert.strictEqual(decided, 0)
        })
    )
  })

  it.effect("can tell that its lease is lost, and why", () => {
    const seen: Array<unknown> = []
    return play(
      {
        queue: { visibility: 10 },
        worker: { lease: noBeats },
        handler: (_, delivery: Delivery.Delivery<unknown>) =>
          Effect.onInterrupt(Effect.never, () =>
            Effect.flatMap(delivery.remaining, (remaining) =>
              Effect.sync(() => seen.push(delivery.leaseLost?.reason, delivery.leaseLost?.heldMs, String(remaining)))
            )
          ),
        expect: { drained: false }
      },
      () =>
        Effect.gen(function* () {
          yield* Effect.sleep("9.9 seconds")
          assert.deepStrictEqual(seen, ["ran out", 9_500, "Duration(0)"])
        })
    )
  })
})
