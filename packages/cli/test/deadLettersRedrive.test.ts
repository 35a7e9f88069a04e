/** A redrive over HTTP, with the real SDK. */
import { Fault } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import * as PlatformError from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import { Context, Deferred, Effect, Fiber } from "effect"
import { readFile, writeFile } from "node:fs/promises"
import path from "node:path"
import { LedgerUnavailable } from "../src/DeadLetterError.js"
import { apply, type ApplyOptions } from "../src/RedriveApply.js"
import { dryRun, type DryRunOptions } from "../src/RedriveDryRun.js"
import type { LedgerLook } from "../src/RedriveLedger.js"
import * as RedrivePlan from "../src/RedrivePlan.js"
import type { RedriveReport } from "../src/RedriveReport.js"
import {
  bodies,
  counters,
  deadLetters,
  directory,
  lines,
  pair,
  put,
  served,
  type Served
} from "./deadLetters.support.js"

const quick = { canary: 0, rate: 3000, settleMs: 300 }

const redrive = (
  sqs: Served,
  options: Partial<DryRunOptions> & { readonly apply?: Partial<ApplyOptions>; readonly audit: string }
) =>
  Effect.gen(function* () {
    const { plan } = yield* dryRun({ queue: "dead", ...options, limits: { ...quick, ...options.limits } })
    return yield* apply({
      plan,
      confirm: plan.queue.name,
      audit: options.audit,
      actor: "tester",
      ledger: options.ledger,
      ...options.apply
    })
  }).pipe(Effect.provide(sqs.services))

const sums = (r: RedriveReport) => assert.strictEqual(r.received, r.sent + r.deleted + r.kept + r.failed + r.unknown)

const auditIn = Effect.map(directory, (dir) => path.join(dir, "audit.jsonl"))

const numbered = (n: number) => Array.from({ length: n }, (_, i) => ({ body: JSON.stringify({ id: `k${i}` }) }))

const idIn = (body: string | undefined) => (JSON.parse(body ?? "{}") as { readonly id?: string }).id

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

  it.scopedLive("with ten attributes nothing is added: the audit log has it", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      const attributes = Object.fromEntries(
        Array.from({ length: 10 }, (_, i) => [`a${i}`, { DataType: "String", StringValue: "v" }])
      )
      yield* deadLetters(sqs, "jobs", [{ body: "x", attributes }])
      const audit = yield* auditIn
      assert.strictEqual((yield* redrive(sqs, { audit })).sent, 1)
      assert.deepStrictEqual((yield* sqs.virtual.messages("jobs"))[0]!.attributes, attributes)
      const sending = (yield* lines(audit)).find((l) => l.step === "sending")!
      assert.deepInclude(sending, { redriveCount: 1 })
      assert.strictEqual((sending["omitted"] as ReadonlyArray<string>).length, 4)
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

  it.scopedLive("the ledger fails in the middle: nothing is sent without its answer, and all is put back", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", numbered(15))
      let asked = 0
      const ledger: LedgerLook = () =>
        Effect.suspend(() =>
          ++asked > 15 + 12
            ? Effect.fail(new LedgerUnavailable({ detail: "connection refused" }))
            : Effect.succeed({ state: "none", action: "send", why: "new" } as const)
        )
      // the dry run asks for each of 15, the run for 10 and then for two more
      const report = yield* redrive(sqs, { ledger, key: "$.id", audit: yield* auditIn })
      sums(report)
      assert.deepInclude(report, { sent: 10, kept: 5, unknown: 0 })
      assert.match(report.stopped ?? "", /The ledger cannot be asked: connection refused/)
      assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 5, inFlight: 0, delayed: 0 })
    })
  )

  it.scopedLive(
    "interrupted while it waits for the canary: all else is put back; going on sends no second canary",
    () =>
      Effect.gen(function* () {
        const sqs = yield* served({ queues: pair("jobs", "dead") })
        yield* deadLetters(sqs, "jobs", numbered(20))
        const audit = yield* auditIn
        const waiting = yield* Deferred.make<void>()
        const limits = { ...quick, canary: 4, settleMs: 4000 }
        const { plan } = yield* dryRun({ queue: "dead", limits }).pipe(Effect.provide(sqs.services))
        const run = (more: Partial<ApplyOptions>) =>
          apply({ plan, confirm: "dead", audit, actor: "t", ...more }).pipe(Effect.provide(sqs.services))
        const fiber = yield* Effect.fork(
          run({
            onProgress: ({ phase }) =>
              phase === "waiting for the canary" ? Effect.asVoid(Deferred.succeed(waiting, undefined)) : Effect.void
          })
        )
        yield* Deferred.await(waiting)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 16, inFlight: 0, delayed: 0 })
        const canaries: Array<number> = []
        const report = yield* run({
          onProgress: ({ counts, phase }) =>
            Effect.sync(() => {
              if (phase === "waiting for the canary") canaries.push(counts.sent)
            })
        })
        assert.strictEqual(Math.max(...canaries), 0)
        assert.deepInclude(report, { sent: 16, stopped: undefined })
        assert.strictEqual((yield* bodies(sqs, "jobs")).length, 20)
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

  it.scopedLive("two runs of one plan at once: the second is refused", () =>
    Effect.gen(function* () {
      const first = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const sqs = yield* served({
        queues: pair("jobs", "dead"),
        faults: Fault.perform("first", Effect.zipRight(Deferred.succeed(first, undefined), Deferred.await(go))).pipe(
          Fault.on("SendMessageBatch")
        )
      })
      yield* deadLetters(sqs, "jobs", numbered(3))
      const audit = yield* auditIn
      const { plan } = yield* dryRun({ queue: "dead", limits: quick }).pipe(Effect.provide(sqs.services))
      const run = apply({ plan, confirm: "dead", audit, actor: "t" }).pipe(Effect.provide(sqs.services))
      const running = yield* Effect.fork(run)
      yield* Deferred.await(first)
      assert.match((yield* Effect.flip(run)).message, /another run \(process \d+ on .+\) works on this plan/)
      yield* Deferred.succeed(go, undefined)
      assert.strictEqual((yield* Fiber.join(running)).sent, 3)
      assert.isTrue((yield* run).resumed)
    })
  )

  it.scopedLive("an audit log that is damaged, or another plan's, is refused", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", numbered(3))
      const audit = yield* auditIn
      const planned = dryRun({ queue: "dead", limits: { ...quick, total: 1 } }).pipe(Effect.provide(sqs.services))
      const { plan } = yield* planned
      const run = apply({ plan, confirm: "dead", audit, actor: "t" }).pipe(Effect.provide(sqs.services))
      assert.strictEqual((yield* run).sent, 1)
      const text = yield* Effect.promise(() => readFile(audit, "utf8"))
      const write = (changed: string) => Effect.promise(() => writeFile(audit, changed))
      yield* write(text.replace('"step":"sent"', '"step'))
      assert.match((yield* Effect.flip(run)).message, /line \d+ of the audit log cannot be read/)
      // torn at its end, as a crash leaves it
      yield* write(`${text}{"at":1,"step":"sen`)
      assert.strictEqual((yield* run).sent, 0)
      const other = yield* planned
      const wrong = apply({ plan: other.plan, confirm: "dead", audit, actor: "t" })
      assert.match((yield* Effect.flip(wrong.pipe(Effect.provide(sqs.services)))).message, /of another plan/)
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
        if ((yield* bodies(sqs, "jobs")).length > 0) yield* die(sqs)
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
      assert.deepInclude(report, { sent: 0, kept: 2 })
      assert.match(report.stopped ?? "", /jobs holds about 4 messages, the limit is 3/)
    })
  )

  it.scopedLive(
    "the audit log cannot be written any more: what was being sent is reported as unknown, and is not lost",
    () =>
      Effect.gen(function* () {
        const sqs = yield* served({ queues: pair("jobs", "dead") })
        yield* deadLetters(sqs, "jobs", numbered(3))
        const real = Context.get(sqs.services, FileSystem.FileSystem)
        let syncs = 0
        const noSpace = new PlatformError.SystemError({
          reason: "Unknown",
          module: "FileSystem",
          method: "sync",
          description: "no space left"
        })
        // the disk is full after the second step: started, sending
        const full: FileSystem.FileSystem = {
          ...real,
          open: (file, options) =>
            Effect.map(real.open(file, options), (opened) =>
              Object.create(opened, {
                sync: {
                  value: Effect.suspend(() => (++syncs <= 2 ? opened.sync : Effect.fail(noSpace)))
                }
              })
            )
        }
        const { plan } = yield* dryRun({ queue: "dead", limits: quick }).pipe(Effect.provide(sqs.services))
        const report = yield* apply({ plan, confirm: "dead", audit: yield* auditIn, actor: "t" }).pipe(
          Effect.provideService(FileSystem.FileSystem, full),
          Effect.provide(sqs.services)
        )
        sums(report)
        assert.deepInclude(report, { sent: 0, unknown: 3 })
        assert.match(report.stopped ?? "", /the audit log cannot be written/)
        assert.strictEqual((yield* counters(sqs, "dead")).visible, 3)
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

  it.scopedLive("no answer to a send on a standard queue: not sent again, not deleted, reported", () =>
    Effect.gen(function* () {
      const sqs = yield* served({
        queues: pair("jobs", "dead"),
        faults: Fault.loseReply.pipe(Fault.on("SendMessageBatch"), Fault.times(1))
      })
      yield* deadLetters(sqs, "jobs", numbered(3))
      const audit = yield* auditIn
      const { plan } = yield* dryRun({ queue: "dead", limits: quick }).pipe(Effect.provide(sqs.services))
      const again = (more: Partial<ApplyOptions> = {}) =>
        apply({ plan, confirm: "dead", audit, actor: "t", ...more }).pipe(Effect.provide(sqs.services))
      const report = yield* again()
      sums(report)
      assert.deepInclude(report, { sent: 0, unknown: 3 })
      assert.strictEqual((yield* bodies(sqs, "jobs")).length, 3)
      const second = yield* again()
      assert.deepInclude(second, { sent: 0, unknown: 3, resumed: true })
      assert.strictEqual((yield* bodies(sqs, "jobs")).length, 3)
      // only when it is asked for, and then it is there twice
      const third = yield* again({ resendUnknown: true })
      assert.deepInclude(third, { sent: 3, unknown: 0 })
      assert.strictEqual((yield* bodies(sqs, "jobs")).length, 6)
      assert.strictEqual((yield* bodies(sqs, "dead")).length, 0)
    })
  )

  it.scopedLive("Ctrl-C: the batch in hand is finished, the rest is put back, the report says so", () =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const sqs = yield* served({
        queues: pair("jobs", "dead"),
        faults: Fault.perform("reached", Effect.asVoid(Deferred.succeed(reached, undefined))).pipe(
          Fault.on("SendMessageBatch")
        )
      })
      yield* deadLetters(sqs, "jobs", numbered(40))
      let report: RedriveReport | undefined
      const fiber = yield* Effect.fork(
        redrive(sqs, {
          audit: yield* auditIn,
          limits: { rate: 10 },
          apply: { onReport: (r) => Effect.sync(() => (report = r)) }
        })
      )
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      sums(report!)
      assert.isTrue(report!.isInterrupted)
      assert.strictEqual(report!.sent, 10)
      assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 30, inFlight: 0, delayed: 0 })
      assert.strictEqual((yield* bodies(sqs, "jobs")).length, 10)
    })
  )
})

describe("redrive of a FIFO queue", () => {
  const fifo = [
    { name: "dead" + ".fifo" },
    { name: "jobs.fifo", deadLetters: { queue: "dead.fifo", maxReceiveCount: 1 } }
  ]
  const grouped = (groups: number, each: number) =>
    Array.from({ length: groups * each }, (_, i) => ({
      body: JSON.stringify({ id: `g${i % groups}-${Math.floor(i / groups)}` }),
      groupId: `g${i % groups}`
    }))

  it.scopedLive("sends each group in order, deeper than SQS shows at once", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: fifo })
      yield* deadLetters(sqs, "jobs.fifo", grouped(3, 14))
      const report = yield* redrive(sqs, { queue: "dead.fifo", audit: yield* auditIn })
      sums(report)
      assert.strictEqual(report.sent, 42)
      const arrived = (yield* sqs.virtual.messages("jobs.fifo")).map((m) => [m.groupId, idIn(m.body)] as const)
      for (const g of ["g0", "g1", "g2"]) {
        assert.deepStrictEqual(
          arrived.filter(([group]) => group === g).map(([, id]) => id),
          Array.from({ length: 14 }, (_, i) => `${g}-${i}`)
        )
      }
    })
  )

  it.scopedLive("the first that fails stops its group, not the others", () =>
    Effect.gen(function* () {
      const sqs = yield* served({
        queues: fifo,
        faults: Fault.entries((e) => idIn(e.body) === "g1-1", "InvalidMessageContents", { senderFault: true }).pipe(
          Fault.on("SendMessageBatch")
        )
      })
      yield* deadLetters(sqs, "jobs.fifo", grouped(2, 4))
      const report = yield* redrive(sqs, { queue: "dead.fifo", audit: yield* auditIn, limits: { stopPercent: 100 } })
      sums(report)
      assert.deepStrictEqual((yield* bodies(sqs, "jobs.fifo")).map(idIn), ["g0-0", "g0-1", "g0-2", "g0-3", "g1-0"])
      assert.deepStrictEqual((yield* bodies(sqs, "dead.fifo")).map(idIn), ["g1-1", "g1-2", "g1-3"])
      assert.deepInclude(report, { sent: 5, failed: 1, kept: 2 })
    })
  )

  it.scopedLive("H4: a canary that came back is seen, though it is behind the others of its group", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: fifo })
      yield* deadLetters(sqs, "jobs.fifo", grouped(2, 4))
      const worker = yield* Effect.fork(failing(sqs, "jobs.fifo"))
      const report = yield* redrive(sqs, {
        queue: "dead.fifo",
        audit: yield* auditIn,
        limits: { ...quick, canary: 2, settleMs: 2000 }
      })
      yield* Fiber.interrupt(worker)
      sums(report)
      assert.match(report.stopped ?? "", /canary/)
      assert.deepInclude(report, { sent: 2 })
      assert.strictEqual(report.settled.failed, 2)
      assert.strictEqual((yield* bodies(sqs, "dead.fifo")).length, 8)
    })
  )

  it.scopedLive("the answer to a send is lost: it is sent again, and is there once", () =>
    Effect.gen(function* () {
      const sqs = yield* served({
        queues: fifo,
        faults: Fault.loseReply.pipe(Fault.on("SendMessageBatch"), Fault.times(1))
      })
      yield* deadLetters(sqs, "jobs.fifo", grouped(2, 2))
      const report = yield* redrive(sqs, { queue: "dead.fifo", audit: yield* auditIn })
      assert.deepInclude(report, { sent: 4, unknown: 0 })
      assert.strictEqual((yield* bodies(sqs, "jobs.fifo")).length, 4)
      assert.strictEqual((yield* bodies(sqs, "dead.fifo")).length, 0)
    })
  )
})

describe("plan", () => {
  it.scopedLive("a changed plan, a wrong name and a missing ledger are refused, and nothing is sent", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", numbered(2))
      const dir = yield* directory
      const file = path.join(dir, "plan.json")
      yield* Effect.gen(function* () {
        const { plan } = yield* dryRun({ queue: "dead" })
        yield* RedrivePlan.write(plan, file)
        assert.deepStrictEqual(yield* RedrivePlan.read(file), plan)
        assert.match((yield* Effect.flip(RedrivePlan.write(plan, file))).message, /this file exists/)
        const options = { plan, audit: path.join(dir, "audit"), actor: "t" }
        assert.match((yield* Effect.flip(apply({ ...options, confirm: "jobs" }))).message, /--confirm dead/)
        const withLedger = { ...plan, ledger: true }
        assert.match(
          (yield* Effect.flip(apply({ ...options, plan: withLedger, confirm: "dead" }))).message,
          /say --ledger again/
        )
        const text = yield* Effect.promise(() => readFile(file, "utf8"))
        yield* Effect.promise(() => writeFile(file, text.replace('"total": 2', '"total": 2000')))
        assert.match((yield* Effect.flip(RedrivePlan.read(file))).message, /was changed/)
      }).pipe(Effect.provide(sqs.services))
      assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 2, inFlight: 0, delayed: 0 })
    })
  )
})

/** Receives what is there twice, so that the redrive policy moves it. */
const die = (sqs: Served) => Effect.forEach([1, 2], () => receiveAll(sqs, "jobs"), { discard: true })

const receiveAll = ({ virtual }: Served, queue: string) =>
  virtual.api("ReceiveMessage", {
    QueueUrl: virtual.queueUrl(queue),
    MaxNumberOfMessages: 10,
    VisibilityTimeout: 0,
    WaitTimeSeconds: 0
  })

const failing = (sqs: Served, queue: string) =>
  Effect.forever(
    Effect.zipRight(
      receiveAll(sqs, queue),
      Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    )
  )
