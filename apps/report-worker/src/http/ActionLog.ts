/**
 * Who did what, by hand: a table beside the jobs. It is only ever appended to.
 *
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { JobStoreFailed } from "../jobs/JobError.js"
import { textOf } from "../jobs/text.js"
import type { Action } from "./View.js"

/** what a person may have typed */
const maxChars = 500

const short = (value: string | number | boolean) =>
  typeof value === "string" ? value.replaceAll("\0", "").slice(0, maxChars) : value

const failed = (operation: string) => (cause: unknown) =>
  new JobStoreFailed({ operation, detail: textOf(cause), cause })

interface Row {
  readonly seq: string | number
  readonly at: string | number
  readonly actor: string
  readonly action: string
  readonly subject: string
  readonly detail: string
}

/**
 * @since 0.1.0
 * @category services
 */
export class ActionLog extends Context.Tag("@effect-sqs/report-worker/ActionLog")<
  ActionLog,
  {
    readonly append: (action: {
      readonly actor: string
      readonly action: string
      readonly subject: string
      readonly detail?: Readonly<Record<string, string | number | boolean>> | undefined
    }) => Effect.Effect<void, JobStoreFailed>
    /** newest first, at most `limit`, those before the number `before` */
    readonly list: (o: {
      readonly before?: number | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<Action>, JobStoreFailed>
  }
>() {}

const columns =
  "at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, subject TEXT NOT NULL, detail TEXT NOT NULL"

/** names this table among the advisory locks of a PostgreSQL database: the ASCII of "action" */
const advisoryLock = 0x616374696f6e

const migration = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError> =>
  Effect.forEach(
    sql.onDialectOrElse({
      pg: () => [
        `SELECT pg_advisory_xact_lock(${advisoryLock})`,
        `CREATE TABLE IF NOT EXISTS report_action (seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ${columns})`
      ],
      orElse: () => [
        `CREATE TABLE IF NOT EXISTS report_action (seq INTEGER PRIMARY KEY AUTOINCREMENT, ${columns.replaceAll("BIGINT", "INTEGER")}) STRICT`
      ]
    }),
    (statement) => sql.unsafe(statement),
    { discard: true }
  )

/**
 * The log, its table made where it is missing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ActionLog, JobStoreFailed, SqlClient.SqlClient | Ledger.Ledger> = Layer.effect(
  ActionLog,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* Effect.mapError(Ledger.transaction(migration(sql)), failed("migrate"))
    return ActionLog.of({
      append: ({ action, actor, detail = {}, subject }) =>
        Effect.gen(function* () {
          const now = Math.round(yield* Clock.currentTimeMillis)
          const text = JSON.stringify(Object.fromEntries(Object.entries(detail).map(([k, v]) => [k, short(v)])))
          yield* sql`INSERT INTO report_action (at, actor, action, subject, detail)
            VALUES (${now}, ${actor}, ${action}, ${short(subject)}, ${text})`
        }).pipe(Effect.mapError(failed("log"))),
      list: ({ before, limit }) =>
        sql<Row>`
          SELECT seq, at, actor, action, subject, detail FROM report_action
          WHERE ${before === undefined ? sql.literal("1 = 1") : sql`seq < ${before}`}
          ORDER BY seq DESC LIMIT ${limit}`.pipe(
          Effect.map((rows) =>
            rows.map((row) => ({
              ...row,
              seq: Number(row.seq),
              at: Number(row.at),
              detail: JSON.parse(row.detail) as Action["detail"]
            }))
          ),
          Effect.mapError(failed("log"))
        )
    })
  })
)
