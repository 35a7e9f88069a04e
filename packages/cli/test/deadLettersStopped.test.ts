/** A redrive that is stopped, and goes on, over HTTP, with the real SDK. */
import { Fault } from "@effect-sqs/testing"
import * as PlatformError from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber } from "effect"
import { readFile, writeFile } from "node:fs/promises"
import { LedgerUnavailable } from "../src/DeadLetterError.js"
import { apply, type ApplyOptions } from "../src/RedriveApply.js"
import { dryRun } from "../src/RedriveDryRun.js"
import type { LedgerLook } from "../src/RedriveLedger.js"
import type { RedriveReport } from "../src/RedriveReport.js"
import {
  auditIn,
  bodies,
  counters,
  deadLetters,
  lines,
  numbered,
  pair,
  quick,
  redrive,
  served,
  sums
} from "./deadLetters.support.js"

describe("redrive, stopped and continued", () => {
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
