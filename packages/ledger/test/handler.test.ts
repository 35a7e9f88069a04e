/** The ledger under a consumer, on an SQS in virtual time. */
import { Consumer, Redelivery, type Sqs, SqsQueue } from "@effect-sqs/core"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as LedgerMetrics from "@effect-sqs/ledger/LedgerMetrics"
import { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import * as MemoryStore from "@effect-sqs/ledger/MemoryStore"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import { Fault, SimClock, VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Metric, Option, Schema } from "effect"

const Jobs = SqsQueue.make("jobs", { schema: Schema.Struct({ id: Schema.String, amount: Schema.Number }) })
type Job = SqsQueue.SqsQueue.Body<typeof Jobs>

const body = (id: string, amount = 1) => JSON.stringify({ id, amount })

const redelivery = Redelivery.standard.pipe(Ledger.redelivery)

const sqs = (options: Omit<VirtualSqs.VirtualSqsOptions, "queues"> = {}, visibility = 30) =>
  VirtualSqs.layer({
    ...options,
    queues: [
      "dead",
      {
        name: "jobs",
        attributes: { VisibilityTimeout: visibility },
        deadLetters: { queue: "dead", maxReceiveCount: 20 }
      }
    ]
  })

const ledger = Ledger.layer.pipe(Layer.provideMerge(MemoryStore.layer))

/** a worker of its own, as in a process of its own */
const start = <E, R>(run: (job: Job) => Effect.Effect<string, E, R>) =>
  Effect.forkDaemon(
    Consumer.run(
      Jobs,
      { redelivery },
      Ledger.handler(Jobs, { key: (job) => job.id, result: Schema.String }, (job) => run(job))
    )
  )

const record = (key: string) => Effect.map(Ledger.get({ namespace: "jobs", key }), Option.getOrThrow)

const simulated = <A, E>(
  name: string,
  test: Effect.Effect<A, E, VirtualSqs.VirtualSqs | Ledger.Ledger | LedgerStore | Sqs.Sqs>,
  options?: Omit<VirtualSqs.VirtualSqsOptions, "queues">
) => it.effect(name, () => test.pipe(Effect.provide(Layer.merge(sqs(options), ledger)), SimClock.run))

describe("Ledger.handler", () => {
  simulated(
    "runs a job once, deletes its message, and gives a second message of the job its result",
    Effect.gen(function* () {
      const { messages, send } = yield* VirtualSqs.VirtualSqs
      const suppressed = Metric.tagged(LedgerMetrics.duplicatesSuppressed, "namespace", "jobs")
      const before = (yield* Metric.value(suppressed)).count
      let runs = 0
      const worker = yield* start((job) => Effect.sync(() => `${job.id} ${++runs}`))
      yield* send("jobs", body("a"))
      yield* Effect.sleep("1 minute")
      yield* send("jobs", body("a"))
      yield* Effect.sleep("1 minute")
      assert.strictEqual(runs, 1)
      assert.deepStrictEqual(yield* messages("jobs"), [])
      assert.strictEqual((yield* Metric.value(suppressed)).count - before, 1)
      yield* Fiber.interrupt(worker)
    })
  )

  simulated(
    "T7 G7: the delete failed: another worker gets the message again, deletes it, and does not run it",
    Effect.gen(function* () {
      const { messages, send } = yield* VirtualSqs.VirtualSqs
      let runs = 0
      const job = () => Effect.sync(() => `${++runs}`)
      yield* send("jobs", body("a"))
      const first = yield* start(job)
      yield* Effect.sleep("90 seconds")
      yield* Fiber.interrupt(first)
      assert.strictEqual((yield* messages("jobs")).length, 1)
      const second = yield* start(job)
      yield* Effect.sleep("5 minutes")
      assert.deepStrictEqual(yield* messages("jobs"), [])
      assert.strictEqual(runs, 1)
      yield* Fiber.interrupt(second)
    }),
    {
      faults: Fault.error("ServiceUnavailable", { httpStatus: 503 }).pipe(
        Fault.on("DeleteMessageBatch"),
        Fault.during("0 seconds", "2 minutes")
      )
    }
  )

  simulated(
    "T1 T23 G1: the same job twice in one batch: one runs; the other is released until the claim ends, then deleted",
    Effect.gen(function* () {
      const { messages, send } = yield* VirtualSqs.VirtualSqs
      let runs = 0
      yield* send("jobs", body("a"))
      yield* send("jobs", body("a"))
      const worker = yield* start(() =>
        Effect.zipRight(
          Effect.sync(() => runs++),
          Effect.as(Effect.sleep("40 seconds"), "done")
        )
      )
      yield* Effect.sleep("39 seconds")
      const waiting = yield* messages("jobs")
      assert.strictEqual(waiting.length, 2)
      assert.strictEqual(runs, 1)
      yield* Effect.sleep("3 minutes")
      assert.deepStrictEqual(yield* messages("jobs"), [])
      assert.strictEqual(runs, 1)
      yield* Fiber.interrupt(worker)
    })
  )

  simulated(
    "T14 G10: a worker died with the job: the message is delayed until the claim ends, then it is taken over",
    Effect.gen(function* () {
      const { messages, send } = yield* VirtualSqs.VirtualSqs
      const at: Array<number> = []
      yield* Ledger.claim({ namespace: "jobs", key: "a", payload: { id: "a", amount: 1 }, owner: "dead" })
      yield* send("jobs", body("a"))
      const startedAt = yield* Effect.clockWith((c) => c.currentTimeMillis)
      const worker = yield* start(() =>
        Effect.map(
          Effect.clockWith((c) => c.currentTimeMillis),
          (now) => `${at.push(now - startedAt)}`
        )
      )
      yield* Effect.sleep("3 minutes")
      assert.deepStrictEqual(yield* messages("jobs"), [])
      assert.strictEqual(at.length, 1)
      assert.isAtLeast(at[0]!, 60_000)
      assert.isAtMost(at[0]!, 70_000)
      assert.strictEqual((yield* record("a")).attempt, 2)
      yield* Fiber.interrupt(worker)
    })
  )

  simulated(
    "G8: another body under the key goes to the dead-letter queue with the reason",
    Effect.gen(function* () {
      const { messages, send } = yield* VirtualSqs.VirtualSqs
      const worker = yield* start(() => Effect.succeed("done"))
      yield* send("jobs", body("a", 1))
      yield* Effect.sleep("10 seconds")
      yield* send("jobs", body("a", 2))
      yield* Effect.sleep("10 seconds")
      assert.deepStrictEqual(yield* messages("jobs"), [])
      const dead = yield* messages("dead")
      assert.deepStrictEqual(
        dead.map((m) => m.body),
        [body("a", 2)]
      )
      assert.include(JSON.stringify(dead[0]), "LedgerMismatch")
      yield* Fiber.interrupt(worker)
    })
  )

  simulated(
    "G3 T27: an unknown outcome is released for long and never run, until there is a verdict",
    Effect.gen(function* () {
      const { messages, send } = yield* VirtualSqs.VirtualSqs
      const store = yield* LedgerStore
      const holder = { namespace: "jobs", key: "a", attempt: 1, owner: "dead" }
      yield* Ledger.claim({ ...holder, payload: { id: "a", amount: 1 } })
      yield* store.begin(holder, { ref: "charge", policy: "ambiguous", timeoutMs: 1000, seq: 1 })
      yield* Effect.sleep("1 minute")
      yield* send("jobs", body("a"))
      let runs = 0
      const worker = yield* start(() =>
        Effect.zipRight(
          Effect.sync(() => runs++),
          Ledger.outside("charge", Ledger.ambiguous({ timeout: "1 second", result: Schema.String }), () =>
            Effect.die("called again")
          )
        )
      )
      yield* Effect.sleep("1 hour")
      assert.strictEqual(runs, 0)
      const [message] = yield* messages("jobs")
      // an hour in steps of 15 minutes and up to a tenth more
      assert.isAtMost(message!.receiveCount, 5)
      yield* Ledger.decide(holder, Verdict.Happened({ result: "charged" }))
      yield* Effect.sleep("20 minutes")
      assert.deepStrictEqual(yield* messages("jobs"), [])
      assert.deepStrictEqual([runs, (yield* record("a")).result], [1, '{"value":"charged"}'])
      yield* Fiber.interrupt(worker)
    })
  )

  simulated(
    "a cancelled job: its owner is interrupted at the next renewal, its message deleted",
    Effect.gen(function* () {
      const { messages, send } = yield* VirtualSqs.VirtualSqs
      let interrupted = 0
      const worker = yield* start(() => Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++)))
      yield* send("jobs", body("a"))
      yield* Effect.sleep("5 seconds")
      yield* Ledger.cancel({ namespace: "jobs", key: "a" })
      yield* Effect.sleep("21 seconds")
      assert.strictEqual(interrupted, 1)
      assert.deepStrictEqual(yield* messages("jobs"), [])
      yield* send("jobs", body("a"))
      yield* Effect.sleep("21 seconds")
      assert.deepStrictEqual(yield* messages("jobs"), [])
      yield* Fiber.interrupt(worker)
    })
  )

  simulated(
    "losing the lease interrupts the job; the next delivery gets the key at once, not at the end of the claim",
    Effect.gen(function* () {
      const { send } = yield* VirtualSqs.VirtualSqs
      const ended: Array<string> = []
      const worker = yield* start(() =>
        Effect.onInterrupt(Effect.as(Effect.sleep("10 minutes"), "done"), () =>
          Effect.sync(() => ended.push("interrupted"))
        )
      )
      yield* send("jobs", body("a"))
      yield* Effect.sleep("35 seconds")
      assert.deepStrictEqual(ended, ["interrupted"])
      const row = yield* record("a")
      assert.deepStrictEqual([row.attempt, row.claimedFrom], [2, "retryable"])
      yield* Fiber.interrupt(worker)
    }),
    { faults: Fault.error("ServiceUnavailable", { httpStatus: 503 }).pipe(Fault.on("ChangeMessageVisibilityBatch")) }
  )

  simulated(
    "a job that fails comes again by the consumer's own policy, and a rejected one is dead-lettered",
    Effect.gen(function* () {
      const { messages, send } = yield* VirtualSqs.VirtualSqs
      let runs = 0
      const worker = yield* Effect.forkDaemon(
        Consumer.run(
          Jobs,
          { redelivery },
          Ledger.handler(
            Jobs,
            {
              key: (job) => job.id,
              failure: (e: "again" | "never") => (e === "never" ? Ledger.reject : Ledger.retry("20 seconds"))
            },
            () => Effect.suspend(() => Effect.fail<"again" | "never">(++runs < 3 ? "again" : "never"))
          )
        )
      )
      yield* send("jobs", body("a"))
      yield* Effect.sleep("10 minutes")
      assert.strictEqual(runs, 3)
      assert.deepStrictEqual(yield* messages("jobs"), [])
      assert.strictEqual((yield* messages("dead")).length, 1)
      assert.strictEqual((yield* record("a")).state, "rejected")
      yield* Fiber.interrupt(worker)
    })
  )
})
