/** Rows B1 to B12 of the failures that consumers have shown: settlement. The batches themselves are in settler.test.ts. */
import { Redelivery, Settlement } from "@effect-sqs/core"
import { Fault, JournalQuery } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { asked, assertOnce, calls, eventsOf, play, seconds, settledOf, type Stage } from "./stage.js"

const onDeletes = Fault.on("DeleteMessageBatch")
const sleeps = (ms: number) => () => Effect.sleep(ms)

const deleteCalls = (stage: Stage) => calls(stage.view().entries, "DeleteMessageBatch").map((entries) => entries.length)

/** each message's handler run so often, by the journal */
const runs = (stage: Stage) => stage.view().runs.length

describe("B settlement", () => {
  it.effect("B1 two of ten fail, not by our fault: only those two are sent again, inside their lease", () =>
    play(
      {
        queue: { faults: onDeletes(Fault.times(1)(Fault.entries((_, i) => i === 2 || i === 7, "InternalError"))) },
        handler: sleeps(1_000),
        messages: 10
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("10 seconds")
          assert.deepStrictEqual(deleteCalls(stage), [10, 2])
          assert.strictEqual(runs(stage), 10)
          assert.strictEqual(settledOf(stage).filter((s) => s.confirmed).length, 10)
          const [first, again] = stage.deliveries()[2]!.asks
          assert.isAtLeast(again!.sent.at - first!.sent.at, 50)
        })
    )
  )

  it.effect("B2 one fails by our fault: not sent again, told with queue, message and code", () =>
    play(
      {
        queue: {
          faults: onDeletes(
            Fault.times(1)(
              Fault.entries((_, i) => i === 1, "InvalidParameterValue", { detail: "no", senderFault: true })
            )
          )
        },
        handler: sleeps(1_000),
        messages: 3,
        expect: { drained: false }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("20 seconds")
          assert.deepStrictEqual(deleteCalls(stage), [3])
          const refused = eventsOf(stage, "DeliverySettled").filter((e) => !e.settled.confirmed)
          assert.strictEqual(refused.length, 1)
          assert.deepInclude(refused[0], {
            queue: "jobs",
            messageId: stage.deliveries()[1]!.messageId,
            receiveCount: 1
          })
          assert.deepStrictEqual(refused[0]!.settled.asked, Settlement.Delete)
          assert.deepInclude(refused[0]!.settled.problem, { _tag: "RefusedInput", code: "InvalidParameterValue" })
          assert.include(refused[0]!.settled.problem!.message, "jobs")
        })
    )
  )

  for (const [what, fault] of [
    ["is throttled", Fault.error("RequestThrottled")],
    ["fails at the service", Fault.error("InternalFailure")],
    ["is never answered", Fault.hang],
    ["is carried out and never answered", Fault.hangAfter],
    ["is cut off", Fault.reset],
    ["is carried out and cut off", Fault.loseReply]
  ] as const) {
    it.effect(`B3 the whole delete ${what}: sent again, the handler is not`, () =>
      play({ queue: { faults: onDeletes(Fault.times(1)(fault)) }, handler: sleeps(1_000), messages: 3 }, (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("25 seconds")
          assert.deepStrictEqual(deleteCalls(stage), [3, 3])
          assertOnce(stage, 3)
          assert.isTrue(settledOf(stage).every((s) => s.confirmed))
        })
      )
    )
  }

  it.effect("B4 deleting stays impossible until the lease ends: told; when it comes again it is deleted, not run", () =>
    play(
      {
        queue: { faults: onDeletes(Fault.during(0, "35 seconds")(Fault.error("RequestThrottled"))) },
        handler: sleeps(1_000)
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 minute")
          const [first, second, ...more] = stage.deliveries()
          assert.deepStrictEqual(more, [])
          // the lease is 30 s long
          assert.isTrue(first!.asks.every((a) => a.sent.at < seconds(30)))
          assert.deepInclude(settledOf(stage)[0]!, { asked: Settlement.Delete, confirmed: false })
          assert.strictEqual(settledOf(stage)[0]!.problem?._tag, "Throttled")
          assert.strictEqual(second!.runs.length, 0)
          assert.strictEqual(JournalQuery.settlementOf(second!)?.kind, "delete")
          assert.strictEqual(runs(stage), 1)
          assert.strictEqual(eventsOf(stage, "DuplicateDeleted").length, 1)
          assert.deepStrictEqual(yield* stage.sqs.messages("jobs"), [])
        })
    )
  )

  it.effect("B4 once deleted it is forgotten: the same message sent anew is run", () =>
    play(
      {
        queue: { faults: onDeletes(Fault.times(1)(Fault.error("AccessDenied"))) },
        handler: sleeps(1_000)
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("40 seconds")
          assert.strictEqual(runs(stage), 1)
          assert.deepStrictEqual(yield* stage.sqs.messages("jobs"), [])
          yield* stage.send(2)
          yield* Effect.sleep("10 seconds")
          assert.strictEqual(runs(stage), 2)
        })
    )
  )

  it.effect("B4 a failed delete shows as a value, an event, and in the report of the stop", () =>
    play(
      {
        queue: { faults: onDeletes(Fault.error("AccessDenied")) },
        handler: sleeps(1_000),
        expect: { drained: false }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep(500)
          yield* stage.stop
          const reports = eventsOf(stage, "Drained").flatMap((e) => e.report.deliveries)
          assert.deepStrictEqual(
            reports.map((d) => [d.became, d.settled?.asked._tag, d.settled?.problem?._tag]),
            [["not confirmed", "Delete", "AccessDenied"]]
          )
        })
    )
  )

  it.effect("B5 the same message twice in one delete: both go through, by position", () =>
    play(
      {
        // the second receive hands the message out once more
        queue: { faults: Fault.on("ReceiveMessage")(Fault.after(1)(Fault.times(2)(Fault.duplicate()))) },
        worker: { concurrency: 2 },
        handler: (_, delivery) => Effect.sleep(delivery.receiveCount === 1 ? 10_000 : 10_000 - 1),
        expect: "off"
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("30 seconds")
          const both = calls(stage.view().entries, "DeleteMessageBatch").filter((entries) => entries.length === 2)
          assert.strictEqual(both.length, 1)
          assert.strictEqual(both[0]![0]!.messageId, both[0]![1]!.messageId)
          assert.notStrictEqual(both[0]![0]!.receiptHandle, both[0]![1]!.receiptHandle)
          assert.isTrue(settledOf(stage).every((s) => s.confirmed))
        })
    )
  )

  it.effect("B6 one message a minute: its delete leaves at once, with nothing to wait for", () =>
    play({ handler: () => Effect.void, messages: 0 }, (stage) =>
      Effect.gen(function* () {
        for (let n = 1; n <= 5; n++) {
          yield* Effect.sleep("1 minute")
          yield* stage.send(n)
        }
        yield* Effect.sleep("10 seconds")
        assertOnce(stage, 5)
        for (const delivery of stage.deliveries()) {
          assert.strictEqual(asked(delivery, "delete")[0]!.at, delivery.received.at)
        }
      })
    )
  )

  it.effect("B6 beside a long job: within the linger", () =>
    play(
      {
        handler: (job) => (job.n === 1 ? Effect.sleep("10 minutes") : Effect.void),
        worker: { settlement: { linger: "2 seconds" } }
      },
      (stage) =>
        Effect.gen(function* () {
          for (let n = 2; n <= 5; n++) {
            yield* Effect.sleep("1 minute")
            yield* stage.send(n)
          }
          yield* Effect.sleep("10 minutes")
          assertOnce(stage, 5)
          for (const delivery of stage.deliveries().slice(1)) {
            assert.strictEqual(asked(delivery, "delete")[0]!.at, delivery.received.at + seconds(2))
          }
        })
    )
  )

  it.effect("B7 a stop with three deletes waiting: they leave before it ends", () =>
    play(
      {
        handler: (job) => Effect.sleep(job.n === 4 ? 4_000 : 1_000),
        worker: { settlement: { linger: "5 seconds" } },
        messages: 4
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("2 seconds")
          assert.deepStrictEqual(deleteCalls(stage), [])
          yield* stage.stop
          assert.deepStrictEqual(deleteCalls(stage), [3, 1])
          assert.strictEqual(asked(stage.deliveries()[0]!, "delete")[0]!.at, seconds(2))
          assertOnce(stage, 4)
        })
    )
  )

  it.effect("B7 a stop gives back what waits in one call", () =>
    play(
      {
        handler: () => Effect.uninterruptible(Effect.sleep("3 seconds")),
        worker: { concurrency: 1, prefetch: 9 },
        messages: 10,
        expect: { prefetch: 9 }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 second")
          yield* stage.stop
          assert.deepStrictEqual(
            calls(stage.view().entries, "ChangeMessageVisibilityBatch").map((entries) => entries.length),
            [9]
          )
        })
    )
  )

  it.effect("B8 an idle consumer sends no empty batch", () =>
    play({ handler: () => Effect.void, messages: 0 }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("10 minutes")
        yield* stage.stop
        const operations = new Set(stage.view().entries.flatMap((e) => (e._tag === "CallStarted" ? [e.operation] : [])))
        assert.isFalse(operations.has("DeleteMessageBatch"))
        assert.isFalse(operations.has("ChangeMessageVisibilityBatch"))
      })
    )
  )

  it.effect("B9 1,000 jobs of random length, some failing, on a port full of faults: each is settled once", () => {
    const troubled = Fault.all(
      Fault.latencyBetween(1, "5 millis", "300 millis"),
      Fault.randomEntries(2, 0.1, "InternalError"),
      Fault.random(3, 0.05)(Fault.error("RequestThrottled")),
      Fault.random(4, 0.02)(Fault.reset)
    ).pipe(Fault.on("DeleteMessageBatch", "ChangeMessageVisibilityBatch"))
    return play(
      {
        queue: { faults: troubled, maxReceiveCount: 100 },
        worker: { concurrency: 50, redelivery: Redelivery.release("3 seconds") },
        handler: () =>
          Effect.gen(function* () {
            yield* Effect.sleep(yield* Random.nextIntBetween(1, 3_000))
            if ((yield* Random.next) < 0.1) return yield* Effect.fail("no")
          }),
        messages: 1_000,
        expect: { prefetch: 20 }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("4 minutes")
          yield* stage.stop
          assert.deepStrictEqual(yield* stage.sqs.messages("jobs"), [])
          const settled = settledOf(stage)
          assert.strictEqual(settled.length, stage.deliveries().length)
          assert.isTrue(settled.every((s) => s.confirmed))
          assert.strictEqual(settled.filter((s) => s.asked._tag === "Delete").length, 1_000)
          assert.isAbove(settled.length, 1_050)
          assert.isTrue(deleteCalls(stage).every((n) => n >= 1 && n <= 10))
        })
    )
  })

  it.effect("B10 a listener that dies, and a policy that does: settlement goes on", () =>
    play(
      {
        worker: {
          redelivery: Redelivery.make(() => Effect.die(new Error("broken policy")))
        },
        listener: () => Effect.die(new Error("broken listener")),
        handler: (job, delivery) => (job.n === 1 && delivery.receiveCount === 1 ? Effect.fail("no") : Effect.void),
        messages: 3,
        expect: { leaves: true }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 minute")
          const [first, second, third, again] = stage.deliveries()
          // what the broken policy leaves comes again when its visibility ends
          assert.deepStrictEqual(first!.asks, [])
          assert.strictEqual(again!.received.at, seconds(30))
          for (const delivery of [second, third, again]) {
            assert.strictEqual(JournalQuery.settlementOf(delivery!)?.kind, "delete")
          }
        })
    )
  )

  it.effect("B11 nine fine, one failed: each delivery has its own answer", () =>
    play(
      {
        queue: {
          faults: onDeletes(Fault.times(1)(Fault.entries((_, i) => i === 4, "AccessDenied", { senderFault: true })))
        },
        handler: sleeps(1_000),
        messages: 10
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("10 seconds")
          const bad = stage.deliveries()[4]!.messageId
          for (const { messageId, settled } of eventsOf(stage, "DeliverySettled")) {
            assert.strictEqual(settled.confirmed, messageId !== bad)
          }
          assert.strictEqual(eventsOf(stage, "DeliverySettled").length, 10)
          yield* Effect.sleep("30 seconds")
        })
    )
  )
})
