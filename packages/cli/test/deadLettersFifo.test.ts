/** A redrive of a FIFO queue, and the plan's file, over HTTP, with the real SDK. */
import { Fault } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { readFile, writeFile } from "node:fs/promises"
import path from "node:path"
import { apply } from "../src/RedriveApply.js"
import { dryRun } from "../src/RedriveDryRun.js"
import * as RedrivePlan from "../src/RedrivePlan.js"
import {
  auditIn,
  bodies,
  counters,
  deadLetters,
  directory,
  failing,
  idIn,
  numbered,
  pair,
  quick,
  redrive,
  served,
  sums
} from "./deadLetters.support.js"

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
