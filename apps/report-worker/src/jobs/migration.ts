/** The tables of the jobs, in the two dialects. Times are epoch ms, values JSON text: the same on both. */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { JobEventKind } from "./JobEvent.js"
import { DeliveryState, JobState, StepName } from "./JobRow.js"

/** names this migration among the advisory locks of a PostgreSQL database: the ASCII of "report" */
const advisoryLock = 0x7265706f7274

const oneOf = (words: { readonly literals: ReadonlyArray<string> }) => words.literals.map((w) => `'${w}'`).join(", ")

const jobColumns = `
  id TEXT PRIMARY KEY,
  job TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN (${oneOf(JobState)})),
  delivery TEXT NOT NULL CHECK (delivery IN (${oneOf(DeliveryState)})),
  reason TEXT,
  step TEXT CHECK (step IN (${oneOf(StepName)})),
  step_done BIGINT,
  step_of BIGINT,
  result TEXT,
  not_before BIGINT,
  accepted_at BIGINT NOT NULL,
  started_at BIGINT,
  ended_at BIGINT,
  updated_at BIGINT NOT NULL,
  send_at BIGINT,
  sends BIGINT NOT NULL,
  message_id TEXT,
  runs BIGINT NOT NULL,
  CHECK ((state = 'completed') = (result IS NOT NULL)),
  CHECK ((state IN ('completed', 'failed', 'cancelled')) = (ended_at IS NOT NULL)),
  CHECK ((send_at IS NOT NULL) = (ended_at IS NULL OR (state = 'completed' AND delivery = 'pending')))`

const eventColumns = `
  job_id TEXT NOT NULL REFERENCES report_job,
  at BIGINT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN (${oneOf(JobEventKind)})),
  detail TEXT NOT NULL`

const indices = [
  "CREATE INDEX IF NOT EXISTS report_job_due ON report_job (send_at) WHERE send_at IS NOT NULL",
  "CREATE INDEX IF NOT EXISTS report_job_newest ON report_job (accepted_at, id)",
  "CREATE INDEX IF NOT EXISTS report_job_state ON report_job (state, accepted_at)",
  "CREATE INDEX IF NOT EXISTS report_job_open ON report_job (delivery) WHERE delivery IN ('unknown', 'review')",
  "CREATE INDEX IF NOT EXISTS report_job_message ON report_job (message_id)",
  "CREATE INDEX IF NOT EXISTS report_event_job ON report_event (job_id, seq)"
]

const pg = [
  `SELECT pg_advisory_xact_lock(${advisoryLock})`,
  `CREATE TABLE IF NOT EXISTS report_job (${jobColumns})`,
  `CREATE TABLE IF NOT EXISTS report_event (seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ${eventColumns})`,
  ...indices
]

/** STRICT knows INTEGER, not BIGINT. */
const strict = (columns: string) => columns.replaceAll("BIGINT", "INTEGER")

const sqlite = [
  `CREATE TABLE IF NOT EXISTS report_job (${strict(jobColumns)}) STRICT`,
  `CREATE TABLE IF NOT EXISTS report_event (seq INTEGER PRIMARY KEY AUTOINCREMENT, ${strict(eventColumns)}) STRICT`,
  ...indices
]

/**
 * Creates what is missing; may be run again, and by several processes at once: on PostgreSQL they wait for each other on an
 * advisory lock, in an SQLite file one writes at a time. To be called inside a transaction.
 */
export const migration = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError> =>
  Effect.forEach(sql.onDialectOrElse({ pg: () => pg, orElse: () => sqlite }), (statement) => sql.unsafe(statement), {
    discard: true
  })
