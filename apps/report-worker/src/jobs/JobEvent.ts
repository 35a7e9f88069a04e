/**
 * The history of a job: one row for each thing that happened to it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * What can happen.
 *
 * - `accepted`, `sent`, `started`, `completed`, `failed`, `cancelled`: as the states of a job
 * - `step`: a step began; its name is in the detail
 * - `waiting`: a run ended without success, and the job comes again
 * - `delivery`: the state of the delivery changed
 * - `duplicate`: a message came again when nothing was left to do, and was not run
 *
 * @since 0.1.0
 * @category models
 */
export const JobEventKind = Schema.Literal(
  "accepted",
  "sent",
  "started",
  "step",
  "waiting",
  "completed",
  "failed",
  "cancelled",
  "delivery",
  "duplicate"
)

/**
 * @since 0.1.0
 * @category models
 */
export type JobEventKind = typeof JobEventKind.Type

/**
 * `seq` only grows within a job. `at` is in epoch ms.
 *
 * @since 0.1.0
 * @category models
 */
export class JobEvent extends Schema.Class<JobEvent>("JobEvent")({
  seq: Schema.Number,
  jobId: Schema.String,
  at: Schema.Number,
  kind: JobEventKind,
  detail: Schema.Record({ key: Schema.String, value: Schema.Union(Schema.String, Schema.Number, Schema.Boolean) })
}) {}
