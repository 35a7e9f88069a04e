/**
 * The jobs in SQL: an SQLite file or PostgreSQL, through the same client as the ledger, so that a job's row and its
 * completion in the ledger are one transaction.
 *
 * @since 0.1.0
 */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { namespaces } from "../Policies.js"
import { ReportJob } from "../ReportJob.js"
import { JobCancelled, JobConflict, JobEnded, JobNotFound, JobStoreFailed } from "./JobError.js"
import type { JobEventKind } from "./JobEvent.js"
import { JobResult, type JobRow, JobState } from "./JobRow.js"
import { type Acceptance, JobStore } from "./JobStore.js"
import { migration } from "./migration.js"
import { sendAtOf } from "./Schedule.js"
import { canonical, columns, type SqlEvent, type SqlJob, toEvent, toRow } from "./sqlRow.js"
import { textOf } from "./text.js"

const storeFailed = (operation: string) => (cause: unknown) =>
  cause instanceof JobStoreFailed ? cause : new JobStoreFailed({ operation, detail: textOf(cause), cause })

const encode = Schema.encodeSync(ReportJob)
const encodeResult = Schema.encodeSync(JobResult)

/** what makes two submissions of one id the same job: not how fast it is drawn, nor a drill */
const identityOf = (job: ReportJob) => {
  const { drill: _drill, pagesPerSecond: _pace, ...identity } = encode(job)
  return canonical(identity)
}

const maxReasonChars = 1000

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ledger = yield* Ledger.Ledger
  const all = sql.literal(columns)
  const isPg = sql.onDialectOrElse({ pg: () => true, orElse: () => false })
  /** PostgreSQL: rows that others hold are left to them */
  const skipLocked = sql.literal(isPg ? "FOR UPDATE SKIP LOCKED" : "")

  // a parameter without a type is refused by PostgreSQL where it stands alone
  const int = (value: number | undefined) =>
    value === undefined ? sql.literal("CAST(NULL AS BIGINT)") : sql`CAST(${Math.round(value)} AS BIGINT)`
  const text = (value: string | undefined) => sql`CAST(${value ?? null} AS TEXT)`
  const short = (reason: string) => text(reason.replaceAll("\0", "").slice(0, maxReasonChars))

  /** one statement, or several that belong to a transaction that is open */
  const within = <A, E, R>(operation: string, self: Effect.Effect<A, E, R>) =>
    Effect.mapError(self, (e): JobStoreFailed => storeFailed(operation)(e))

  /** all of it or nothing, again after a conflict; its own errors must be values */
  const atomically = <A, E>(operation: string, self: Effect.Effect<A, E>) =>
    within(operation, Effect.provideService(Ledger.transaction(self), Ledger.Ledger, ledger))

  const rowsOf = (statement: Effect.Effect<ReadonlyArray<SqlJob>, unknown>) =>
    Effect.flatMap(statement, (rows) => Effect.forEach(rows, toRow))

  const rowOf = (statement: Effect.Effect<ReadonlyArray<SqlJob>, unknown>) =>
    Effect.map(rowsOf(statement), (rows) => Option.fromNullable(rows[0]))

  const read = (id: string) => rowOf(sql<SqlJob>`SELECT ${all} FROM report_job WHERE id = ${id}`)

  const ofMessage = (messageId: string) =>
    sql<{ id: string }>`SELECT id FROM report_job WHERE message_id = ${messageId}`

  const tell = (id: string, at: number, kind: JobEventKind, detail: Record<string, unknown> = {}) =>
    sql`INSERT INTO report_event (job_id, at, kind, detail)
      VALUES (${id}, ${int(at)}, ${kind}, ${JSON.stringify(detail)})`

  /** changes a row and tells it, where there is one that may be changed */
  const change = (
    id: string,
    set: (now: number) => Fragment,
    where: Fragment,
    kind: JobEventKind | undefined,
    detail: (row: JobRow) => Record<string, unknown> = () => ({})
  ) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const changed = yield* rowOf(sql<SqlJob>`
        UPDATE report_job SET ${set(now)}, updated_at = ${int(now)} WHERE id = ${id} AND ${where} RETURNING ${all}`)
      if (Option.isSome(changed) && kind !== undefined) yield* tell(id, now, kind, detail(changed.value))
      return changed
    })

  const open = sql.literal("send_at IS NOT NULL")
  const notOver = sql.literal("state NOT IN ('completed', 'cancelled')")
  const undelivered = sql.literal("(state = 'completed' AND delivery = 'pending')")

  const insert = (job: ReportJob, o: { state: JobState; notBefore?: number; sendAt: number; messageId?: string }) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const delivery = job.webhook === undefined ? "none" : "pending"
      const inserted = yield* rowOf(sql<SqlJob>`
        INSERT INTO report_job (id, job, state, delivery, not_before, accepted_at, updated_at, send_at, sends, message_id, runs)
        VALUES (${job.jobId}, ${canonical(encode(job))}, ${o.state}, ${delivery}, ${int(o.notBefore)}, ${int(now)}, ${int(now)},
          ${int(o.sendAt)}, 0, ${text(o.messageId)}, 0)
        ON CONFLICT (id) DO NOTHING RETURNING ${all}`)
      if (Option.isSome(inserted)) {
        const detail = o.notBefore === undefined ? {} : { notBefore: o.notBefore }
        yield* tell(job.jobId, now, "accepted", detail)
        return { _tag: "Accepted", row: inserted.value } as const
      }
      const found = yield* read(job.jobId)
      return Option.isSome(found) ? ({ _tag: "AlreadyAccepted", row: found.value } as const) : undefined
    })

  /** the row of this very job */
  const inserted = (
    operation: string,
    job: ReportJob,
    o: Parameters<typeof insert>[1]
  ): Effect.Effect<Acceptance, JobConflict | JobStoreFailed> =>
    Effect.flatMap(
      atomically(operation, insert(job, o)),
      (answer: Acceptance | undefined): Effect.Effect<Acceptance, JobConflict | JobStoreFailed> =>
        answer === undefined
          ? Effect.fail(new JobStoreFailed({ operation, detail: "the row was removed in the same moment" }))
          : identityOf(answer.row.job) === identityOf(job)
            ? Effect.succeed(answer)
            : Effect.fail(new JobConflict({ jobId: job.jobId }))
    )

  /** most deliveries are of jobs that are known: one read, and no transaction */
  const known = (
    operation: string,
    job: ReportJob,
    o: Parameters<typeof insert>[1]
  ): Effect.Effect<Acceptance, JobConflict | JobStoreFailed> =>
    Effect.flatMap(
      within(operation, read(job.jobId)),
      (found): Effect.Effect<Acceptance, JobConflict | JobStoreFailed> =>
        Option.isSome(found) && identityOf(found.value.job) === identityOf(job)
          ? Effect.succeed({ _tag: "AlreadyAccepted", row: found.value })
          : inserted(operation, job, o)
    )

  const giveUp = (id: string, reason: string) =>
    Effect.gen(function* () {
      const failed = yield* change(
        id,
        (now) => sql`state = 'failed', reason = ${short(reason)}, ended_at = ${int(now)}, send_at = NULL`,
        notOver,
        "failed",
        () => ({ reason })
      )
      if (Option.isSome(failed)) return
      yield* change(
        id,
        () => sql`delivery = 'refused', reason = ${short(reason)}, send_at = NULL`,
        undelivered,
        "delivery",
        () => ({ state: "refused", reason })
      )
    })

  return JobStore.of({
    accept: (job, { notBefore } = {}) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const later = notBefore !== undefined && notBefore > now
        return known("accept", job, {
          state: later ? "scheduled" : "accepted",
          ...(later ? { notBefore } : {}),
          sendAt: later ? sendAtOf(notBefore, now) : now
        })
      }),

    get: (id) => within("get", read(id)),

    list: (q) => {
      const pattern = `%${(q.text ?? "").replaceAll(/[\\%_]/g, (c) => `\\${c}`)}%`
      return within(
        "list",
        rowsOf(sql<SqlJob>`
          SELECT ${all} FROM report_job
          WHERE ${q.states === undefined ? sql.literal("1 = 1") : sql.in("state", q.states)}
            AND ${q.deliveries === undefined ? sql.literal("1 = 1") : sql.in("delivery", q.deliveries)}
            AND ${q.text === undefined ? sql.literal("1 = 1") : sql`id LIKE ${pattern} ESCAPE '\\'`}
            AND ${
              q.before === undefined
                ? sql.literal("1 = 1")
                : sql`(accepted_at, id) < (${int(q.before.acceptedAt)}, ${text(q.before.id)})`
            }
          ORDER BY accepted_at DESC, id DESC LIMIT ${int(Math.min(Math.max(q.limit, 1), 1000))}`)
      )
    },

    counts: within(
      "counts",
      Effect.map(
        sql<{ state: JobState; n: string | number }>`SELECT state, count(*) AS n FROM report_job GROUP BY state`,
        (rows) =>
          Object.fromEntries(
            JobState.literals.map((state) => [state, Number(rows.find((row) => row.state === state)?.n ?? 0)])
          ) as Record<JobState, number>
      )
    ),

    events: (id) =>
      within(
        "events",
        Effect.flatMap(
          sql<SqlEvent>`SELECT seq, job_id, at, kind, detail FROM report_event WHERE job_id = ${id} ORDER BY seq`,
          (rows) => Effect.forEach(rows, toEvent)
        )
      ),

    cancel: (id) =>
      atomically(
        "cancel",
        Effect.gen(function* () {
          // the row first, as a run that finishes does: both take their locks in one order
          const cancelled = yield* change(
            id,
            (now) => sql`state = 'cancelled', ended_at = ${int(now)}, send_at = NULL`,
            sql.literal("state IN ('scheduled', 'accepted', 'queued', 'running')"),
            "cancelled"
          )
          if (Option.isNone(cancelled)) return Option.map(yield* read(id), (row) => ({ row, now: false }))
          yield* Effect.provideService(Ledger.cancel({ namespace: namespaces.reports, key: id }), Ledger.Ledger, ledger)
          return Option.some({ row: cancelled.value, now: true })
        })
      ).pipe(
        Effect.flatMap(
          Option.match({
            onNone: (): Effect.Effect<JobRow, JobNotFound | JobEnded> => Effect.fail(new JobNotFound({ jobId: id })),
            onSome: ({ row }) =>
              row.state === "cancelled"
                ? Effect.succeed(row)
                : Effect.fail(new JobEnded({ jobId: id, state: row.state }))
          })
        )
      ),

    takeDue: ({ holdMs, limit }) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const heldUntil = now + Math.round(holdMs)
        const due = sql`send_at <= ${int(now)}`
        return within(
          "takeDue",
          Effect.map(
            rowsOf(sql<SqlJob>`
              WITH few AS MATERIALIZED (
                SELECT id FROM report_job WHERE ${due} ORDER BY send_at LIMIT ${int(limit)} ${skipLocked})
              UPDATE report_job SET send_at = ${int(heldUntil)} WHERE ${due} AND id IN (SELECT id FROM few)
              RETURNING ${all}`),
            (rows) => rows.map((row) => ({ row, heldUntil }))
          )
        )
      }),

    sent: ({ heldUntil, row }, { messageId, nextAt }) =>
      Effect.asVoid(
        atomically(
          "sent",
          change(
            row.id,
            () => sql`sends = sends + 1, message_id = ${messageId},
              send_at = CASE WHEN send_at = ${int(heldUntil)} THEN ${int(nextAt)} ELSE send_at END,
              state = CASE WHEN state IN ('scheduled', 'accepted') THEN 'queued' ELSE state END`,
            open,
            "sent",
            (changed) => ({ messageId, sends: changed.sends })
          )
        )
      ),

    admit: (job, { messageId, nextAt }) =>
      Effect.map(known("admit", job, { state: "queued", sendAt: nextAt, messageId }), ({ row }) => row),

    started: (id, { nextAt, receiveCount }) =>
      Effect.flatMap(
        atomically(
          "started",
          change(
            id,
            (now) => sql`state = 'running', started_at = ${int(now)}, ended_at = NULL, runs = runs + 1, reason = NULL,
              send_at = ${int(nextAt)}`,
            notOver,
            "started",
            (row) => ({ run: row.runs, receive: receiveCount })
          )
        ),
        (changed) => (Option.isSome(changed) ? Effect.void : Effect.fail(new JobCancelled({ jobId: id })))
      ),

    progress: (id, p, { isNew, nextAt }) => {
      const write = change(
        id,
        () => sql`step = ${p.step}, step_done = ${int(p.done)}, step_of = ${int(p.of)}, send_at = ${int(nextAt)}`,
        sql`(state = 'running' OR ${undelivered})`,
        isNew ? "step" : undefined,
        () => ({ step: p.step })
      )
      return Effect.asVoid(isNew ? atomically("progress", write) : within("progress", write))
    },

    finished: (id, result, { nextAt }) =>
      Effect.flatMap(
        within(
          "finished",
          change(
            id,
            (now) => sql`state = 'completed', result = ${JSON.stringify(encodeResult(result))}, reason = NULL,
              ended_at = ${int(now)}, send_at = CASE WHEN delivery = 'pending' THEN ${int(nextAt)} END`,
            notOver,
            "completed",
            () => ({ artifact: result.artifact })
          )
        ),
        (changed) =>
          Option.isSome(changed)
            ? Effect.void
            : // after a COMMIT whose answer was lost the row is completed: the ledger tells whose completion it was
              Effect.flatMap(within("finished", read(id)), (found) =>
                Option.exists(found, (row) => row.state === "completed")
                  ? Effect.void
                  : Effect.fail(new JobCancelled({ jobId: id }))
              )
      ),

    waiting: (id, reason, { nextAt }) =>
      Effect.asVoid(
        atomically(
          "waiting",
          change(
            id,
            () => sql`reason = ${short(reason)}, send_at = ${int(nextAt)},
              state = CASE WHEN state = 'running' THEN 'queued' ELSE state END`,
            open,
            "waiting",
            () => ({ reason })
          )
        )
      ),

    failed: (id, reason) => atomically("failed", giveUp(id, reason)),

    failedMessage: (messageId, reason) =>
      atomically(
        "failed",
        Effect.flatMap(ofMessage(messageId), (rows) =>
          Effect.forEach(rows, ({ id }) => giveUp(id, reason), { discard: true })
        )
      ),

    duplicate: (id, { messageId, receiveCount: receive }) =>
      within(
        "duplicate",
        Effect.flatMap(Clock.currentTimeMillis, (now) => tell(id, now, "duplicate", { receive, messageId }))
      ),

    duplicateMessage: ({ messageId, receiveCount: receive }) =>
      within(
        "duplicate",
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          for (const { id } of yield* ofMessage(messageId)) yield* tell(id, now, "duplicate", { receive, messageId })
        })
      ),

    delivery: (id, state, reason) =>
      Effect.asVoid(
        atomically(
          "delivery",
          change(
            id,
            (now) => sql`delivery = ${state}, reason = ${reason === undefined ? sql.literal("NULL") : short(reason)},
              send_at = ${state === "pending" ? int(now) : sql.literal("NULL")}`,
            sql`state = 'completed' AND delivery NOT IN ('none', 'delivered', ${state})`,
            "delivery",
            () => ({ state, ...(reason === undefined ? {} : { reason }) })
          )
        )
      )
  })
})

/**
 * The store, its tables made where they are missing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<JobStore, JobStoreFailed, SqlClient.SqlClient | Ledger.Ledger> = Layer.effect(
  JobStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* Effect.mapError(Ledger.transaction(migration(sql)), storeFailed("migrate"))
    return yield* make
  })
)
