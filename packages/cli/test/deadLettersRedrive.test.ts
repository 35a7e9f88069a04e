/** A redrive over HTTP, with the real SDK. */
import { Fault } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { apply } from "../src/RedriveApply.js"
import { dryRun } from "../src/RedriveDryRun.js"
import type { LedgerLook } from "../src/RedriveLedger.js"
import {
  auditIn,
  bodies,
  counters,
  deadLetters,
  dieAgain,
  failing,
  idIn,
  numbered,
  pair,
  put,
  quick,
  redrive,
  served,
  sums
} from "./deadLetters.support.js"

describe("redrive", () => {
  it.scopedLive(
    "H1: 2 of 10 sends fail: exactly those 2 stay in the dead-letter queue, 8 are gone, none is there twice",
    () =>
      Effect.gen(function* () {
        const sqs = yield* served({
          queues: pair("jobs", "dead"),
          faults: Fault.all(
            Fault.entries((e) => idIn(e.body) === "k3", "InvalidMessageContents", { senderFault: true }),
            Fault.entries((e) => idIn(e.body) === "k7", "InternalError")
          ).pipe(Fault.on("SendMessageBatch"))
        })
        yield* deadLetters(sqs, "jobs", numbered(10))
        const report = yield* redrive(sqs, { audit: yield* auditIn, limits: { stopPercent: 100 } })
        sums(report)
        assert.deepStrictEqual([report.received, report.sent, report.failed], [10, 8, 2])
        assert.deepStrictEqual((yield* bodies(sqs, "dead")).map(idIn), ["k3", "k7"])
        assert.deepStrictEqual((yield* bodies(sqs, "jobs")).map(idIn), ["k0", "k1", "k2", "k4", "k5", "k6", "k8", "k9"])
        assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 2, inFlight: 0, delayed: 0 })
      })
  )

  it.scopedLive("H2: body, attributes of all types, trace header and group are kept", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: [...pair("jobs", "dead"), ...pair("jobs.fifo", "dead.fifo")] })
      const sending = {
        body: '{ "a": 1.0,\t"ü": "€😀" }\n',
        attributes: {
          text: { DataType: "String", StringValue: "ä €" },
          amount: { DataType: "Number", StringValue: "12345678901234567890.12" },
          bytes: { DataType: "Binary", BinaryValue: Buffer.from([0, 1, 254, 255]).toString("base64") },
          own: { DataType: "String.uuid", StringValue: "x" },
          euro: { DataType: "Number.euro", StringValue: "7" },
          png: { DataType: "Binary.png", BinaryValue: "iVBORw==" }
        },
        groupId: "g-1",
        traceHeader: "Root=1-5759e988-bd862e3fe1be46a994272793"
      }
      for (const [source, dead] of [
        ["jobs", "dead"],
        ["jobs.fifo", "dead.fifo"]
      ] as const) {
        const [id] = yield* deadLetters(sqs, source, [sending])
        const report = yield* redrive(sqs, { queue: dead, audit: yield* auditIn })
        assert.strictEqual(report.sent, 1)
        const [copy] = yield* sqs.virtual.messages(source)
        assert.strictEqual(copy!.body, sending.body)
        assert.strictEqual(copy!.groupId, "g-1")
        assert.strictEqual(copy!.traceHeader, sending.traceHeader)
        assert.notStrictEqual(copy!.messageId, id)
        assert.deepStrictEqual(
          Object.fromEntries(Object.entries(copy!.attributes).filter(([name]) => !name.startsWith("effect_sqs."))),
          sending.attributes
        )
        assert.strictEqual(copy!.attributes["effect_sqs.redrive_count"]?.StringValue, "1")
        assert.strictEqual(copy!.attributes["effect_sqs.original_message_id"]?.StringValue, id)
        assert.strictEqual(copy!.attributes["effect_sqs.redrive_id"]?.StringValue, report.redrive)
      }
    })
  )

  it.scopedLive("H3: completed in the ledger: not sent, deleted; unknown, in review, in progress: kept", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", numbered(5))
      const asked: Array<string> = []
      const advice: Record<string, Effect.Effect.Success<ReturnType<LedgerLook>>> = {
        k0: { state: "completed", action: "delete", why: "completed" },
        k1: { state: "unknown", action: "keep", why: "unknown" },
        k2: { state: "review", action: "keep", why: "review" },
        k3: { state: "in_progress", action: "keep", why: "running" }
      }
      const ledger: LedgerLook = (namespace, key) =>
        Effect.sync(() => {
          asked.push(`${namespace}/${key}`)
          return advice[key] ?? { state: "none", action: "send", why: "new" }
        })
      const report = yield* redrive(sqs, { ledger, key: "$.id", audit: yield* auditIn })
      sums(report)
      assert.deepInclude(report, { received: 5, sent: 1, deleted: 1, kept: 3 })
      assert.include(asked, "jobs/k0")
      assert.deepStrictEqual((yield* bodies(sqs, "jobs")).map(idIn), ["k4"])
      assert.deepStrictEqual((yield* bodies(sqs, "dead")).map(idIn), ["k1", "k2", "k3"])
      assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 3, inFlight: 0, delayed: 0 })
    })
  )

  it.scopedLive("H3: what is completed is deleted too when nothing, or no more, is to be sent", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      const done = { state: "completed", action: "delete", why: "completed" } as const
      const open = { state: "none", action: "send", why: "new" } as const
      // the completed ones lie behind the others
      yield* deadLetters(sqs, "jobs", numbered(30))
      const some: LedgerLook = (_, key) => Effect.succeed(Number(key.slice(1)) < 4 ? open : done)
      const first = yield* redrive(sqs, { ledger: some, key: "$.id", audit: yield* auditIn, limits: { total: 2 } })
      sums(first)
      assert.deepInclude(first, { sent: 2, deleted: 26, kept: 2 })
      const second = yield* redrive(sqs, { ledger: () => Effect.succeed(done), key: "$.id", audit: yield* auditIn })
      assert.deepInclude(second, { sent: 0, deleted: 2, kept: 0, stopped: undefined })
      assert.strictEqual((yield* bodies(sqs, "dead")).length, 0)
    })
  )

  it.scopedLive("H4: the canary comes back: nothing else is sent", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", numbered(30))
      // a worker that fails everything: the redrive policy moves it back
      const worker = yield* Effect.fork(failing(sqs, "jobs"))
      const report = yield* redrive(sqs, {
        audit: yield* auditIn,
        limits: { ...quick, canary: 4, settleMs: 60_000, stopInARow: 4 }
      })
      yield* Fiber.interrupt(worker)
      sums(report)
      assert.strictEqual(report.sent, 4)
      assert.match(report.stopped ?? "", /canary/)
      assert.strictEqual(report.settled.failed, 4)
      assert.strictEqual((yield* bodies(sqs, "dead")).length + (yield* bodies(sqs, "jobs")).length, 30)
    })
  )

  it.scopedLive("H4: without a canary it stops when too many in a row came back", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", numbered(60))
      const worker = yield* Effect.fork(failing(sqs, "jobs"))
      const report = yield* redrive(sqs, { audit: yield* auditIn, limits: { ...quick, rate: 10, stopInARow: 5 } })
      yield* Fiber.interrupt(worker)
      sums(report)
      assert.match(report.stopped ?? "", /failed again/)
      assert.isBelow(report.sent, 60)
      assert.isAtLeast(report.settled.failed, 5)
      assert.strictEqual((yield* bodies(sqs, "dead")).length + (yield* bodies(sqs, "jobs")).length, 60)
    })
  )

  it.scopedLive("a plan whose canary failed sends nothing more, however often it is applied", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", numbered(9))
      const audit = yield* auditIn
      const { plan } = yield* dryRun({ queue: "dead", limits: { ...quick, canary: 3, settleMs: 30_000 } }).pipe(
        Effect.provide(sqs.services)
      )
      const run = apply({ plan, confirm: "dead", audit, actor: "t" }).pipe(Effect.provide(sqs.services))
      const worker = yield* Effect.fork(failing(sqs, "jobs"))
      assert.strictEqual((yield* run).sent, 3)
      yield* Fiber.interrupt(worker)
      const again = yield* run
      assert.strictEqual(again.sent, 0)
      assert.match(again.stopped ?? "", /make a new plan/)
    })
  )

  it.scopedLive("H4: a message is redriven so often and no more", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", numbered(1))
      const sent: Array<number> = []
      for (let n = 0; n < 4; n++) {
        sent.push(
          yield* redrive(sqs, { audit: yield* auditIn, limits: { maxRedrives: 2 } }).pipe(Effect.map((r) => r.sent))
        )
        if ((yield* bodies(sqs, "jobs")).length > 0) yield* dieAgain(sqs)
      }
      assert.deepStrictEqual(sent, [1, 1, 0, 0])
      assert.strictEqual((yield* bodies(sqs, "dead")).length, 1)
    })
  )

  it.scopedLive("exactly --total are sent, and the others of the receive are put back", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", numbered(20))
      const report = yield* redrive(sqs, { audit: yield* auditIn, limits: { total: 3 } })
      sums(report)
      assert.strictEqual(report.sent, 3)
      assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 17, inFlight: 0, delayed: 0 })
      assert.strictEqual((yield* bodies(sqs, "jobs")).length, 3)
    })
  )

  it.scopedLive("a target that is too full is left alone", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", numbered(2))
      for (const { body } of numbered(4)) yield* put(sqs, "jobs", { body })
      const report = yield* redrive(sqs, { audit: yield* auditIn, limits: { maxBacklog: 3 } })
      assert.deepInclude(report, { received: 0, sent: 0 })
      assert.strictEqual((yield* counters(sqs, "dead")).visible, 2)
      assert.match(report.stopped ?? "", /jobs holds about 4 messages, the limit is 3/)
    })
  )

  it.scopedLive("each goes back to its own source; without one it is kept unless it is said where to", () =>
    Effect.gen(function* () {
      const sqs = yield* served({
        queues: [...pair("a", "dead"), { name: "b", deadLetters: { queue: "dead", maxReceiveCount: 1 } }]
      })
      yield* deadLetters(sqs, "a", [{ body: "from a" }])
      yield* deadLetters(sqs, "b", [{ body: "from b" }])
      yield* put(sqs, "dead", { body: "by hand" })
      const report = yield* redrive(sqs, { audit: yield* auditIn })
      assert.deepInclude(report, { sent: 2, kept: 1 })
      assert.deepStrictEqual([yield* bodies(sqs, "a"), yield* bodies(sqs, "b")], [["from a"], ["from b"]])
      assert.strictEqual((yield* redrive(sqs, { audit: yield* auditIn, unknownTo: "b" })).sent, 1)
      assert.deepStrictEqual(yield* bodies(sqs, "b"), ["by hand", "from b"])
    })
  )

  it.scopedLive("of one key one message is sent", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", [...numbered(2), ...numbered(2)])
      const report = yield* redrive(sqs, { key: "$.id", audit: yield* auditIn, limits: { total: 10 } })
      assert.deepInclude(report, { sent: 2, kept: 2 })
      assert.deepStrictEqual((yield* bodies(sqs, "jobs")).map(idIn), ["k0", "k1"])
    })
  )

  it.scopedLive("a kind that the dry run did not show is not sent", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", numbered(1))
      const { plan } = yield* dryRun({ queue: "dead", limits: { ...quick, total: 10 } }).pipe(
        Effect.provide(sqs.services)
      )
      yield* deadLetters(sqs, "jobs", [{ body: JSON.stringify({ _tag: "New", id: "n" }) }])
      const report = yield* apply({ plan, confirm: "dead", audit: yield* auditIn, actor: "t" }).pipe(
        Effect.provide(sqs.services)
      )
      assert.deepInclude(report, { sent: 1, kept: 1 })
      assert.deepStrictEqual((yield* bodies(sqs, "dead")).map(idIn), ["n"])
    })
  )
})
