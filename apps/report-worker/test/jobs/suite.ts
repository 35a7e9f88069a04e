/** What every database of jobs must do. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import type * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { JobProgress, JobResult } from "../../src/jobs/JobRow.js"
import { JobStore } from "../../src/jobs/JobStore.js"
import { FlightDelaysJob } from "../../src/ReportJob.js"
import type { Backend } from "./backend.js"

export const job = (jobId: string, o: Partial<FlightDelaysJob> = {}) =>
  new FlightDelaysJob({ jobId, locale: "en", period: "2001-02", airport: "DEN", ...o })

export const withWebhook = (jobId: string) =>
  job(jobId, { webhook: { url: "https://receiver.example/reports", idempotent: true } })

const result = new JobResult({ artifact: "a.pdf", location: "/a.pdf", bytes: 3, sha256: "abc", pages: 2 })

const minute = 60_000

const take = Effect.flatMap(JobStore, (jobs) => jobs.takeDue({ limit: 10, holdMs: minute }))
const takenIds = Effect.map(take, (due) => due.map((d) => d.row.id).sort())
const row = (id: string) => Effect.flatMap(JobStore, (jobs) => Effect.flatten(jobs.get(id)))
const kinds = (id: string) =>
  Effect.map(
    Effect.flatMap(JobStore, (jobs) => jobs.events(id)),
    (events) => events.map((e) => e.kind)
  )

export const suite = (backend: Backend) => {
  const test = <E>(
    name: string,
    body: Effect.Effect<void, E, JobStore | Ledger.Ledger | SqlClient.SqlClient | Scope.Scope>
  ) =>
    it.scoped(name, () =>
      Effect.flatMap(backend.fresh, (layer) =>
        Effect.flatMap(Layer.build(layer), (context) => Effect.provide(body, context))
      )
    )

  /** a job that runs, and may finish */
  const running = (id: string, self = job(id)) =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      yield* jobs.accept(self)
      const [due] = yield* take
      yield* jobs.sent(due!, { messageId: `m-${id}`, nextAt: 10 * minute })
      yield* jobs.started(id, { receiveCount: 1, nextAt: 10 * minute })
    })

  const finish = (id: string, nextAt = 20 * minute) =>
    Effect.flatMap(JobStore, (jobs) =>
      Ledger.once({ namespace: "reports", key: id, result: JobResult }, (claim) =>
        claim.commit(Effect.as(jobs.finished(id, result, { nextAt }), result))
      )
    )

  describe(`jobs on ${backend.name}`, () => {
    test(
      "accepts a job once; the same again changes nothing, another one of its name is refused",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* TestClock.setTime(1000)
        const first = yield* jobs.accept(job("a"))
        assert.strictEqual(first._tag, "Accepted")
        assert.deepStrictEqual(
          [first.row.job, first.row.state, first.row.delivery, first.row.sendAt, first.row.acceptedAt, first.row.sends],
          [job("a"), "accepted", "none", 1000, 1000, 0]
        )
        yield* TestClock.setTime(2000)
        const second = yield* jobs.accept(job("a"), { notBefore: 3_600_000 })
        assert.deepStrictEqual([second._tag, second.row], ["AlreadyAccepted", first.row])
        const conflict = yield* Effect.flip(jobs.accept(job("a", { locale: "ko" })))
        assert.match(conflict.message, /^job a is known with other parameters/)
        assert.deepStrictEqual(yield* kinds("a"), ["accepted"])
        assert.deepStrictEqual(yield* jobs.get("b"), Option.none())
      })
    )

    test(
      "of many submissions of one job at once one is the first",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const answers = yield* Effect.all(
          Array.from({ length: 8 }, () => jobs.accept(job("a"))),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(answers.filter((a) => a._tag === "Accepted").length, 1)
        assert.deepStrictEqual(yield* kinds("a"), ["accepted"])
      })
    )

    test(
      "a job for later is due a quarter of an hour before its time",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { row: scheduled } = yield* jobs.accept(job("a"), { notBefore: 60 * minute })
        assert.deepStrictEqual([scheduled.state, scheduled.notBefore], ["scheduled", 60 * minute])
        assert.deepStrictEqual(yield* takenIds, [])
        yield* TestClock.setTime(45 * minute)
        const [due] = yield* take
        yield* jobs.sent(due!, { messageId: "m", nextAt: 70 * minute })
        const sent = yield* row("a")
        assert.deepStrictEqual([sent.state, sent.sends, sent.sendAt, sent.messageId], ["queued", 1, 70 * minute, "m"])
        // what is past is no time to wait for
        assert.strictEqual((yield* jobs.accept(job("b"), { notBefore: 1 })).row.state, "accepted")
      })
    )

    test(
      "what one outbox took is not given to another before its hold ends; then it is",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* Effect.forEach(["a", "b", "c"], (id) => jobs.accept(job(id)))
        const both = yield* Effect.all(
          Array.from({ length: 4 }, () => take),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          both
            .flat()
            .map((d) => d.row.id)
            .sort(),
          ["a", "b", "c"]
        )
        assert.deepStrictEqual(yield* takenIds, [])
        yield* TestClock.adjust("1 minutes")
        assert.deepStrictEqual(yield* takenIds, ["a", "b", "c"])
        yield* TestClock.adjust("1 minutes")
        assert.strictEqual((yield* jobs.takeDue({ limit: 2, holdMs: minute })).length, 2)
      })
    )

    test(
      "a run that began while its message was being marked keeps its own time",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* jobs.accept(job("a"))
        const [due] = yield* take
        yield* jobs.started("a", { receiveCount: 1, nextAt: 33 * minute })
        yield* jobs.sent(due!, { messageId: "m", nextAt: 10 * minute })
        const a = yield* row("a")
        assert.deepStrictEqual([a.state, a.sendAt, a.sends], ["running", 33 * minute, 1])
      })
    )

    test(
      "row and completion are one transaction",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* running("a")
        const cut = yield* Effect.either(
          Ledger.once({ namespace: "reports", key: "a", result: JobResult }, (claim) =>
            claim.commit(Effect.zipRight(jobs.finished("a", result, { nextAt: 0 }), Effect.fail("cut off" as const)))
          )
        )
        assert.deepStrictEqual(cut, Either.left("cut off"))
        assert.deepStrictEqual([(yield* row("a")).state, (yield* kinds("a")).includes("completed")], ["running", false])
        yield* TestClock.setTime(5000)
        yield* finish("a")
        const a = yield* row("a")
        assert.deepStrictEqual(
          [a.state, a.result, a.endedAt, a.sendAt, a.reason],
          ["completed", result, 5000, undefined, undefined]
        )
        assert.deepStrictEqual(yield* kinds("a"), ["accepted", "sent", "started", "completed"])
        assert.deepStrictEqual(
          (yield* jobs.events("a")).map((e) => e.seq),
          (yield* jobs.events("a")).map((e) => e.seq).sort((x, y) => x - y)
        )
      })
    )

    test(
      "shows progress, tells the steps, and puts the next message off; what has ended shows none",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* running("a")
        const step = new JobProgress({ step: "render" })
        yield* jobs.progress("a", step, { isNew: true, nextAt: 11 * minute })
        yield* jobs.progress("a", new JobProgress({ step: "render", done: 3, of: 40 }), {
          isNew: false,
          nextAt: 12 * minute
        })
        const a = yield* row("a")
        assert.deepStrictEqual([{ ...a.progress }, a.sendAt], [
          { step: "render", done: 3, of: 40 },
          12 * minute
        ] as Array<unknown>)
        yield* finish("a")
        yield* jobs.progress("a", step, { isNew: true, nextAt: 13 * minute })
        assert.deepStrictEqual((yield* kinds("a")).slice(2), ["started", "step", "completed"])
        assert.isUndefined((yield* row("a")).sendAt)
      })
    )

    test(
      "a run without success waits in the queue, with the reason",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* running("a")
        yield* jobs.waiting("a", "the disk is full\0", { nextAt: 15 * minute })
        const a = yield* row("a")
        assert.deepStrictEqual([a.state, a.reason, a.sendAt], ["queued", "the disk is full", 15 * minute])
        yield* jobs.started("a", { receiveCount: 2, nextAt: 16 * minute })
        const again = yield* row("a")
        assert.deepStrictEqual([again.state, again.reason, again.runs], ["running", undefined, 2])
      })
    )

    test(
      "a job that is given up is never sent, and may still complete when its message is redriven",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* running("a")
        yield* jobs.failed("a", "no airport ZZZ")
        const failed = yield* row("a")
        assert.deepStrictEqual([failed.state, failed.reason, failed.sendAt], ["failed", "no airport ZZZ", undefined])
        yield* TestClock.setTime(100 * minute)
        assert.deepStrictEqual(yield* takenIds, [])
        yield* jobs.started("a", { receiveCount: 1, nextAt: 110 * minute })
        yield* finish("a")
        yield* jobs.failed("a", "too late")
        assert.deepStrictEqual([(yield* row("a")).state, (yield* row("a")).reason], ["completed", undefined])
      })
    )

    test(
      "a body that could not be read fails the job that was sent with that message, and no other",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* running("a")
        yield* running("b")
        yield* jobs.failedMessage("m-b", "it is not JSON")
        yield* jobs.failedMessage("m-else", "it is not JSON")
        assert.deepStrictEqual(
          [(yield* row("a")).state, (yield* row("b")).state, (yield* row("b")).reason],
          ["running", "failed", "it is not JSON"]
        )
      })
    )

    test(
      "writes down what came again and was not run, by the job or by the message that was sent last",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* running("a")
        yield* finish("a")
        yield* jobs.duplicate("a", { messageId: "m-else", receiveCount: 1 })
        yield* jobs.duplicateMessage({ messageId: "m-a", receiveCount: 3 })
        yield* jobs.duplicateMessage({ messageId: "nobody's", receiveCount: 3 })
        const told = (yield* jobs.events("a")).filter((e) => e.kind === "duplicate").map((e) => e.detail)
        assert.deepStrictEqual(told, [
          { receive: 1, messageId: "m-else" },
          { receive: 3, messageId: "m-a" }
        ])
        assert.strictEqual((yield* row("a")).state, "completed")
      })
    )

    test(
      "cancels a job in the ledger too; what has ended cannot be cancelled",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* running("a")
        assert.strictEqual((yield* jobs.cancel("a")).state, "cancelled")
        assert.strictEqual((yield* jobs.cancel("a")).state, "cancelled")
        const run = yield* Effect.flip(
          Ledger.once({ namespace: "reports", key: "a", result: Schema.Void }, () => Effect.void)
        )
        assert.strictEqual(run._tag, "LedgerCancelled")
        assert.strictEqual((yield* Effect.flip(jobs.started("a", { receiveCount: 1, nextAt: 0 })))._tag, "JobCancelled")
        yield* jobs.failed("a", "no")
        yield* jobs.waiting("a", "no", { nextAt: 0 })
        assert.deepStrictEqual([(yield* row("a")).state, (yield* row("a")).sendAt], ["cancelled", undefined])

        yield* running("b")
        yield* finish("b")
        assert.match((yield* Effect.flip(jobs.cancel("b"))).message, /job b cannot be cancelled: it is completed/)
        assert.match((yield* Effect.flip(jobs.cancel("c"))).message, /there is no job c/)
      })
    )

    test(
      "a run that is cancelled while it finishes leaves neither result nor completion",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* running("a")
        const cut = yield* Effect.flip(
          Ledger.once({ namespace: "reports", key: "a", result: JobResult }, (claim) =>
            Effect.zipRight(
              jobs.cancel("a"),
              claim.commit(Effect.as(jobs.finished("a", result, { nextAt: 0 }), result))
            )
          )
        )
        assert.include(["JobCancelled", "LedgerCancelled"], cut._tag)
        assert.deepStrictEqual([(yield* row("a")).state, (yield* row("a")).result], ["cancelled", undefined])
      })
    )

    test(
      "a completed job is sent until its report is delivered",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* running("a", withWebhook("a"))
        assert.strictEqual((yield* row("a")).delivery, "pending")
        yield* finish("a", 20 * minute)
        assert.strictEqual((yield* row("a")).sendAt, 20 * minute)
        yield* jobs.delivery("a", "unknown", "no answer")
        const unknown = yield* row("a")
        assert.deepStrictEqual([unknown.delivery, unknown.reason, unknown.sendAt], ["unknown", "no answer", undefined])
        yield* TestClock.setTime(30 * minute)
        yield* jobs.delivery("a", "pending")
        assert.deepStrictEqual(yield* takenIds, ["a"])
        yield* jobs.delivery("a", "delivered")
        yield* jobs.delivery("a", "unknown", "late")
        const delivered = yield* row("a")
        assert.deepStrictEqual(
          [delivered.state, delivered.delivery, delivered.reason, delivered.sendAt],
          ["completed", "delivered", undefined, undefined]
        )
        const states = (yield* jobs.events("a")).filter((e) => e.kind === "delivery").map((e) => e.detail["state"])
        assert.deepStrictEqual(states, ["unknown", "pending", "delivered"])

        yield* running("b", withWebhook("b"))
        yield* finish("b")
        yield* jobs.failed("b", "the receiver never answered")
        const given = yield* row("b")
        assert.deepStrictEqual(
          [given.state, given.delivery, given.reason, given.sendAt],
          ["completed", "refused", "the receiver never answered", undefined]
        )
      })
    )

    test(
      "lists the newest first, by state and text, page by page; counts by state",
      Effect.gen(function* () {
        const jobs = yield* JobStore
        for (const id of ["a-1", "a-2", "b-1", "b-2", "b-3"]) {
          yield* TestClock.adjust("1 seconds")
          yield* jobs.accept(job(id))
        }
        yield* jobs.cancel("b-2")
        const ids = (q: Parameters<typeof jobs.list>[0]) => Effect.map(jobs.list(q), (rows) => rows.map((r) => r.id))
        assert.deepStrictEqual(yield* ids({ limit: 10 }), ["b-3", "b-2", "b-1", "a-2", "a-1"])
        assert.deepStrictEqual(yield* ids({ limit: 10, text: "b-", states: ["accepted"] }), ["b-3", "b-1"])
        assert.deepStrictEqual(yield* ids({ limit: 10, text: "%" }), [])
        assert.deepStrictEqual(yield* ids({ limit: 10, deliveries: ["pending"] }), [])
        assert.deepStrictEqual(yield* ids({ limit: 2, before: yield* row("b-1") }), ["a-2", "a-1"])
        const { accepted, cancelled, completed } = yield* jobs.counts
        assert.deepStrictEqual([accepted, cancelled, completed], [4, 1, 0])
      })
    )

    it.scopedLive("tables that are there stay, also when several start at once", () =>
      Effect.gen(function* () {
        const layer = yield* backend.fresh
        const contexts = yield* Effect.all(
          Array.from({ length: 4 }, () => Layer.build(Layer.fresh(layer))),
          { concurrency: "unbounded" }
        )
        yield* Effect.provide(
          Effect.flatMap(JobStore, (jobs) => jobs.accept(job("a"))),
          contexts[0]!
        )
        const seen = yield* Effect.forEach([contexts[3]!, yield* Layer.build(Layer.fresh(layer))], (context) =>
          Effect.provide(row("a"), context)
        )
        assert.deepStrictEqual(
          seen.map((r) => r.state),
          ["accepted", "accepted"]
        )
      })
    )
  })
}
