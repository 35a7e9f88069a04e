/** A thousand mixed dead letters, with faults on send and delete, workers with a ledger behind, until nothing is left to do. */
import { Consumer, Redelivery, SqsQueue } from "@effect-sqs/core"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as SqliteFile from "@effect-sqs/ledger/SqliteFile"
import * as SqliteStore from "@effect-sqs/ledger/SqliteStore"
import { Fault, type FaultPlan } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Schema } from "effect"
import path from "node:path"
import { apply, type ApplyOptions } from "../src/RedriveApply.js"
import { dryRun } from "../src/RedriveDryRun.js"
import * as RedriveLedger from "../src/RedriveLedger.js"
import { bodies, counters, deadLetters, directory, lines, served } from "./deadLetters.support.js"

const ALL = 1000
const COMPLETED = 50
const UNKNOWN = 20

const Job = Schema.Struct({ id: Schema.String, n: Schema.Number })

/** of every type, in five mixtures */
const attributesOf = (i: number) => {
  const attributes = {
    text: { DataType: "String", StringValue: `t${i}` },
    amount: { DataType: "Number", StringValue: `${i}.50` },
    bytes: { DataType: "Binary", BinaryValue: Buffer.from([i % 256, 255, 0]).toString("base64") },
    own: { DataType: "String.custom", StringValue: "ü" },
    png: { DataType: "Binary.png", BinaryValue: "iVBORw==" }
  }
  return Object.fromEntries(Object.entries(attributes).slice(0, i % 6))
}

const scene = (fifo: boolean) =>
  Effect.gen(function* () {
    const name = (queue: string) => (fifo ? `${queue}.fifo` : queue)
    const sources = ["a", "b", "c"].map(name)
    const dead = name("dead")
    const jobs = Array.from({ length: ALL }, (_, i) => ({ i, id: `k${i}`, source: sources[i % 3]! }))
    // behind a key that nobody knows the end of, the rest of its group waits: here they are the last of their groups
    const isUnknown = (i: number) => (fifo ? i >= ALL - UNKNOWN - 1 && i % 20 !== 3 : i % 50 === 7)
    const isCompleted = (i: number) => i % 20 === 3

    const onSend = Fault.on("SendMessageBatch")
    const onDelete = (plan: FaultPlan.FaultPlan) => plan.pipe(Fault.on("DeleteMessageBatch"), Fault.queue(dead))
    const sqs = yield* served({
      queues: [
        { name: dead },
        ...sources.map((source) => ({ name: source, deadLetters: { queue: dead, maxReceiveCount: 3 } }))
      ],
      faults: Fault.all(
        Fault.loseReply.pipe(onSend, Fault.queue(sources[0]!), Fault.after(8), Fault.times(2)),
        Fault.error("ServiceUnavailable", { httpStatus: 503 }).pipe(
          onSend,
          Fault.queue(sources[1]!),
          Fault.after(9),
          Fault.times(2)
        ),
        Fault.error("RequestThrottled").pipe(onSend, Fault.queue(sources[2]!), Fault.after(10), Fault.times(2)),
        Fault.randomEntries("entries", 0.03, "InternalError").pipe(onSend),
        onDelete(Fault.loseReply.pipe(Fault.after(10), Fault.times(2))),
        onDelete(Fault.error("ServiceUnavailable", { httpStatus: 503 }).pipe(Fault.after(20), Fault.times(2))),
        onDelete(Fault.randomEntries("deletes", 0.03, "InternalError"))
      )
    })

    const file = path.join(yield* directory, "ledger.db")
    const workersLedger = yield* Layer.build(
      Ledger.layer.pipe(Layer.provide(SqliteStore.layer), Layer.provide(SqliteFile.layer({ filename: file })))
    )
    const payload = (i: number) => ({ id: `k${i}`, n: i })
    for (const { i, id, source } of jobs) {
      const key = { namespace: source, key: id, payload: payload(i), result: Schema.Void }
      if (isCompleted(i))
        yield* Effect.provide(
          Ledger.once(key, () => Effect.void),
          workersLedger
        )
      if (isUnknown(i)) {
        const call = Ledger.outside("charge", Ledger.ambiguous({ timeout: "1 second" }), () => Effect.fail("cut off"))
        yield* Effect.provide(Effect.exit(Ledger.once(key, () => call)), workersLedger)
      }
    }

    // the sources' messages die in turns, so that they are mixed in the dead-letter queue
    for (let from = 0; from < ALL; from += 60) {
      for (const source of sources) {
        const own = jobs.slice(from, from + 60).filter((job) => job.source === source)
        yield* deadLetters(
          sqs,
          source,
          own.map(({ i }) => ({
            body: JSON.stringify(payload(i)),
            attributes: attributesOf(i),
            ...(fifo || i % 4 === 0 ? { groupId: `g${i % 40}` } : {})
          }))
        )
      }
    }
    assert.strictEqual((yield* counters(sqs, dead)).visible, ALL)

    // workers that count how often each job is really done
    const done = new Map<string, number>()
    for (const source of sources) {
      const queue = SqsQueue.make(source, { schema: Job })
      yield* Effect.forkScoped(
        Consumer.run(
          queue,
          // at the end each worker waits for its last receive
          {
            concurrency: 10,
            receive: { waitTime: "1 second" },
            redelivery: Redelivery.standard.pipe(Ledger.redelivery)
          },
          Ledger.handler(queue, { key: (job) => job.id }, (job) =>
            Effect.sync(() => void done.set(job.id, (done.get(job.id) ?? 0) + 1))
          )
        ).pipe(Effect.provide(sqs.services), Effect.provide(workersLedger))
      )
    }

    const dir = yield* directory
    const audit = path.join(dir, "audit.jsonl")
    const ledger = yield* Effect.provide(RedriveLedger.look, yield* Layer.build(RedriveLedger.layer(file)))
    const { plan } = yield* dryRun({
      queue: dead,
      key: "$.id",
      ledger,
      scan: 2 * ALL,
      limits: { canary: 10, rate: 3000, settleMs: 15_000, stopPercent: 20, total: ALL }
    }).pipe(Effect.provide(sqs.services))
    const run = (more: Partial<ApplyOptions> = {}) =>
      Effect.gen(function* () {
        const before = (yield* bodies(sqs, dead)).length
        const report = yield* apply({ plan, confirm: dead, audit, actor: "tester", ledger, ...more })
        const { deleted, failed, kept, received, sent, unknown } = report
        assert.strictEqual(received, sent + deleted + kept + failed + unknown)
        // the sums are those of the queue
        const after = yield* counters(sqs, dead)
        assert.strictEqual(after.visible, before - sent - deleted)
        assert.strictEqual(after.inFlight, 0)
        return report
      }).pipe(Effect.provide(sqs.services))

    return { sqs, dead, sources, jobs, isUnknown, isCompleted, done, plan, run, audit, workersLedger }
  })

const isThrough = (fifo: boolean) =>
  Effect.gen(function* () {
    const s = yield* scene(fifo)
    assert.strictEqual(s.plan.seen > 0, true)
    const first = yield* s.run()
    assert.strictEqual(first.stopped, undefined)
    assert.isAbove(first.sent, fifo ? 800 : 850)
    assert.strictEqual(first.isInterrupted, false)

    // again until nothing moves any more; what may have been sent is sent again only after the workers had their time
    const second = yield* s.run()
    const third = yield* s.run({ resendUnknown: true })
    assert.deepInclude(third, { unknown: 0, failed: 0, stopped: undefined })

    // nothing is lost: in the queue are those whose outcome is unknown, and all else is done
    const left = (yield* s.sqs.virtual.messages(s.dead)).map((m) => (JSON.parse(m.body) as { id: string }).id)
    assert.deepStrictEqual(
      left.sort(),
      s.jobs
        .filter(({ i }) => s.isUnknown(i))
        .map((j) => j.id)
        .sort()
    )
    for (const { i, id, source } of s.jobs) {
      // no key is done twice
      assert.strictEqual(s.done.get(id) ?? 0, s.isUnknown(i) || s.isCompleted(i) ? 0 : 1, `${id} of ${source}`)
      const record = yield* Effect.provide(Ledger.get({ namespace: source, key: id }), s.workersLedger)
      assert.strictEqual(Option.getOrThrow(record).state, s.isUnknown(i) ? "unknown" : "completed")
    }
    for (const source of s.sources) assert.strictEqual((yield* bodies(s.sqs, source)).length, 0)

    // the log knows each message that was sent, and what became of it
    const steps = yield* lines(s.audit)
    const sentIds = new Set(steps.filter((l) => l.step === "sent").map((l) => l["messageId"]))
    const deletedIds = new Set(steps.filter((l) => l.step === "deleted").map((l) => l["messageId"]))
    for (const id of sentIds) assert.isTrue(deletedIds.has(id))
    assert.strictEqual(deletedIds.size, ALL - UNKNOWN)
    assert.strictEqual(
      first.sent + first.deleted + second.sent + second.deleted + third.sent + third.deleted,
      ALL - UNKNOWN
    )
    return { first, second, third }
  })

describe("a thousand dead letters", () => {
  it.scopedLive(
    `standard, three sources: ${COMPLETED} completed and ${UNKNOWN} unknown in the ledger`,
    () => isThrough(false),
    400_000
  )
  it.scopedLive(
    `FIFO, three sources, 40 groups: ${COMPLETED} completed and ${UNKNOWN} unknown in the ledger`,
    () => isThrough(true),
    400_000
  )
})
