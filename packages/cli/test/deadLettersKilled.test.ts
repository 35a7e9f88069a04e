/** The real command, killed with SIGKILL between two steps, and started again. */
import { Fault, type FaultPlan } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ChildProcess } from "node:child_process"
import path from "node:path"
import type { RedriveReport } from "../src/RedriveReport.js"
import { command, type Ended } from "./deadLetters.command.js"
import { bodies, counters, deadLetters, directory, lines, served } from "./deadLetters.support.js"

const MESSAGES = 25

/** the process that is killed when the plan acts */
interface Victim {
  child: ChildProcess | undefined
}

const killing = (victim: Victim) =>
  Fault.perform(
    "kill",
    Effect.sync(() => victim.child?.kill("SIGKILL"))
  )

const scene = (fifo: boolean, plan: (kill: FaultPlan.FaultPlan) => FaultPlan.FaultPlan) =>
  Effect.gen(function* () {
    const victim: Victim = { child: undefined }
    const [jobs, dead] = fifo ? ["jobs.fifo", "dead.fifo"] : ["jobs", "dead"]
    const sqs = yield* served({
      queues: [{ name: dead }, { name: jobs, deadLetters: { queue: dead, maxReceiveCount: 1 } }],
      faults: plan(killing(victim))
    })
    const cwd = yield* directory
    const messages = Array.from({ length: MESSAGES }, (_, i) => ({
      body: `{"id":"k${String(i).padStart(2, "0")}"}`,
      ...(fifo ? { groupId: `g${i}` } : {})
    }))
    yield* deadLetters(sqs, jobs, messages)
    const run = (...args: ReadonlyArray<string>) =>
      command(["dlq", "redrive", "--queue", dead, "--plan", "p.json", "--endpoint", sqs.url, ...args], {
        cwd,
        onStart: (child) => (victim.child = child)
      })
    const planned = yield* run("--canary", "0", "--rate", "1000")
    assert.strictEqual(planned.code, 0, planned.stderr)
    const apply = (...more: ReadonlyArray<string>) => run("--confirm", dead, "--json", ...more)
    return { sqs, jobs, dead, cwd, apply, audit: path.join(cwd, "p.audit.jsonl"), all: messages.map((m) => m.body) }
  })

const reportOf = (ended: Ended): RedriveReport => {
  const report = JSON.parse(ended.stdout) as RedriveReport
  assert.strictEqual(report.received, report.sent + report.deleted + report.kept + report.failed + report.unknown)
  return report
}

/** longer than a message in hand is hidden */
const VISIBILITY_MS = 121_000

describe("redrive, killed", () => {
  it.scopedLive(
    "between send and delete: going on deletes what was sent, and sends nothing twice",
    () =>
      Effect.gen(function* () {
        const { all, apply, audit, dead, jobs, sqs } = yield* scene(false, (kill) =>
          Fault.all(kill, Fault.reset).pipe(Fault.on("DeleteMessageBatch"), Fault.times(1))
        )
        const killed = yield* apply()
        assert.strictEqual(killed.signal, "SIGKILL")
        assert.strictEqual((yield* lines(audit)).filter((l) => l.step === "sent").length, 10)
        assert.strictEqual((yield* bodies(sqs, dead)).length, MESSAGES)
        yield* sqs.ahead(VISIBILITY_MS)
        const report = reportOf(yield* apply())
        assert.deepInclude(report, { resumed: true, sent: 15, deleted: 10, unknown: 0, failed: 0 })
        assert.deepStrictEqual(yield* bodies(sqs, jobs), all)
        assert.deepStrictEqual(yield* counters(sqs, dead), { visible: 0, inFlight: 0, delayed: 0 })
      }),
    120_000
  )

  it.scopedLive(
    "after SQS took a batch, before the answer: those are held, and there twice only when that is asked for",
    () =>
      Effect.gen(function* () {
        const { all, apply, audit, dead, jobs, sqs } = yield* scene(false, (kill) =>
          Fault.all(kill, Fault.loseReply).pipe(Fault.on("SendMessageBatch"), Fault.times(1))
        )
        assert.strictEqual((yield* apply()).signal, "SIGKILL")
        assert.strictEqual((yield* bodies(sqs, jobs)).length, 10)
        assert.deepStrictEqual(
          (yield* lines(audit)).map((l) => l.step).filter((step) => step !== "started"),
          Array.from({ length: 10 }, () => "sending")
        )
        yield* sqs.ahead(VISIBILITY_MS)
        const report = reportOf(yield* apply())
        assert.deepInclude(report, { resumed: true, sent: 15, deleted: 0, unknown: 10 })
        assert.deepStrictEqual(yield* bodies(sqs, jobs), all)
        assert.strictEqual((yield* bodies(sqs, dead)).length, 10)
        const again = reportOf(yield* apply("--resend-unknown"))
        assert.deepInclude(again, { sent: 10, unknown: 0 })
        const arrived = yield* bodies(sqs, jobs)
        assert.deepStrictEqual([...new Set(arrived)], all)
        assert.strictEqual(arrived.length, MESSAGES + 10)
        assert.deepStrictEqual(yield* counters(sqs, dead), { visible: 0, inFlight: 0, delayed: 0 })
      }),
    120_000
  )

  it.scopedLive(
    "before SQS got a batch: nothing is lost, and sent when that is asked for",
    () =>
      Effect.gen(function* () {
        const { all, apply, dead, jobs, sqs } = yield* scene(false, (kill) =>
          Fault.all(kill, Fault.reset).pipe(Fault.on("SendMessageBatch"), Fault.after(1), Fault.times(1))
        )
        assert.strictEqual((yield* apply()).signal, "SIGKILL")
        assert.strictEqual((yield* bodies(sqs, jobs)).length, 10)
        yield* sqs.ahead(VISIBILITY_MS)
        assert.deepInclude(reportOf(yield* apply()), { unknown: 10, sent: 5 })
        assert.deepInclude(reportOf(yield* apply("--resend-unknown")), { unknown: 0, sent: 10 })
        assert.deepStrictEqual(yield* bodies(sqs, jobs), all)
        assert.deepStrictEqual(yield* counters(sqs, dead), { visible: 0, inFlight: 0, delayed: 0 })
      }),
    120_000
  )

  it.scopedLive(
    "FIFO: going on within minutes sends again under the same deduplication id: nothing is there twice",
    () =>
      Effect.gen(function* () {
        const { all, apply, dead, jobs, sqs } = yield* scene(true, (kill) =>
          Fault.all(kill, Fault.loseReply).pipe(Fault.on("SendMessageBatch"), Fault.times(1))
        )
        assert.strictEqual((yield* apply()).signal, "SIGKILL")
        assert.strictEqual((yield* bodies(sqs, jobs)).length, 10)
        yield* sqs.ahead(VISIBILITY_MS)
        assert.deepInclude(reportOf(yield* apply()), { resumed: true, sent: 25, unknown: 0 })
        assert.deepStrictEqual(yield* bodies(sqs, jobs), all)
        assert.deepStrictEqual(yield* counters(sqs, dead), { visible: 0, inFlight: 0, delayed: 0 })
      }),
    120_000
  )
})
