/** Rows as the drivers give them, and as the program knows them. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { JobEvent, type JobEventKind } from "./JobEvent.js"
import { type DeliveryState, JobRow, type JobState, type StepName } from "./JobRow.js"

/** PostgreSQL's driver gives a BIGINT as text, SQLite's as a number */
type Int = string | number

export interface SqlJob {
  readonly id: string
  readonly job: string
  readonly state: JobState
  readonly delivery: DeliveryState
  readonly reason: string | null
  readonly step: StepName | null
  readonly step_done: Int | null
  readonly step_of: Int | null
  readonly result: string | null
  readonly not_before: Int | null
  readonly accepted_at: Int
  readonly started_at: Int | null
  readonly ended_at: Int | null
  readonly updated_at: Int
  readonly send_at: Int | null
  readonly sends: Int
  readonly message_id: string | null
  readonly runs: Int
}

export interface SqlEvent {
  readonly seq: Int
  readonly job_id: string
  readonly at: Int
  readonly kind: JobEventKind
  readonly detail: string
}

export const columns =
  "id, job, state, delivery, reason, step, step_done, step_of, result, not_before, accepted_at, started_at, ended_at, " +
  "updated_at, send_at, sends, message_id, runs"

/** the fields of a row that are not null, under the names of the program */
const present = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))

const int = (value: Int | null) => (value === null ? null : Number(value))

const json = (text: string | null): unknown => (text === null ? null : JSON.parse(text))

const decodeRow = Schema.decodeUnknown(JobRow)
const decodeEvent = Schema.decodeUnknown(JobEvent)

const fieldsOf = (row: SqlJob) =>
  present({
    job: json(row.job),
    state: row.state,
    delivery: row.delivery,
    reason: row.reason,
    progress: row.step === null ? null : present({ step: row.step, done: int(row.step_done), of: int(row.step_of) }),
    result: json(row.result),
    notBefore: int(row.not_before),
    acceptedAt: int(row.accepted_at),
    startedAt: int(row.started_at),
    endedAt: int(row.ended_at),
    updatedAt: int(row.updated_at),
    sendAt: int(row.send_at),
    sends: int(row.sends),
    messageId: row.message_id,
    runs: int(row.runs)
  })

export const toRow = (row: SqlJob) =>
  Effect.flatMap(
    Effect.try(() => fieldsOf(row)),
    decodeRow
  )

export const toEvent = (row: SqlEvent) =>
  Effect.flatMap(
    Effect.try(() => json(row.detail)),
    (detail) => decodeEvent({ seq: Number(row.seq), jobId: row.job_id, at: Number(row.at), kind: row.kind, detail })
  )

/** JSON whose text does not depend on the order in which an object's fields were written */
export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, v: unknown) =>
    v !== null && typeof v === "object" && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
      : v
  )
