/**
 * What the database knows of a job: one row, from the moment it is accepted.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ReportJob } from "../ReportJob.js"

/**
 * Where a job is.
 *
 * - `scheduled`: accepted, and not to be sent before its time
 * - `accepted`: to be sent
 * - `queued`: a message of it is in the queue; also when it waits there to be tried again
 * - `running`: a worker has begun
 * - `completed`: the report is there
 * - `failed`: given up, with a reason; a redrive of its message may still complete it
 * - `cancelled`: never to be run
 *
 * @since 0.1.0
 * @category models
 */
export const JobState = Schema.Literal("scheduled", "accepted", "queued", "running", "completed", "failed", "cancelled")

/**
 * @since 0.1.0
 * @category models
 */
export type JobState = typeof JobState.Type

/**
 * Where the delivery of a report is.
 *
 * - `none`: the job asks for none
 * - `pending`: to be made, or to be made again
 * - `delivered`: the receiver has it
 * - `unknown`: nobody knows whether the receiver has it; it is asked
 * - `review`: it could not be found out; a person decides
 * - `refused`: given up: the receiver or a person said no, or it did not succeed in all tries
 *
 * @since 0.1.0
 * @category models
 */
export const DeliveryState = Schema.Literal("none", "pending", "delivered", "unknown", "review", "refused")

/**
 * @since 0.1.0
 * @category models
 */
export type DeliveryState = typeof DeliveryState.Type

/**
 * The pieces of a job, in their order.
 *
 * @since 0.1.0
 * @category models
 */
export const StepName = Schema.Literal("query", "render", "store", "complete", "deliver")

/**
 * @since 0.1.0
 * @category models
 */
export type StepName = typeof StepName.Type

/**
 * A finished report.
 *
 * @since 0.1.0
 * @category models
 */
export class JobResult extends Schema.Class<JobResult>("JobResult")({
  /** its name in the artifact store */
  artifact: Schema.String,
  /** a path, or an address as `s3://bucket/key` */
  location: Schema.String,
  bytes: Schema.Number,
  /** hex */
  sha256: Schema.String,
  /** of paged formats */
  pages: Schema.optional(Schema.Number)
}) {}

/**
 * How far a running job is: `done` of `of` in the unit of its step (pages, rows), where that is known.
 *
 * @since 0.1.0
 * @category models
 */
export class JobProgress extends Schema.Class<JobProgress>("JobProgress")({
  step: StepName,
  done: Schema.optional(Schema.Number),
  of: Schema.optional(Schema.Number)
}) {}

/**
 * A job as it is now. Times are epoch ms by the clock of the process that wrote them.
 *
 * @since 0.1.0
 * @category models
 */
export class JobRow extends Schema.Class<JobRow>("JobRow")({
  job: ReportJob,
  state: JobState,
  delivery: DeliveryState,
  /** why it failed, or was last given back; why its delivery was refused */
  reason: Schema.optional(Schema.String),
  /** of the present or the last run */
  progress: Schema.optional(JobProgress),
  result: Schema.optional(JobResult),
  /** what was asked for when it was submitted */
  notBefore: Schema.optional(Schema.Number),
  acceptedAt: Schema.Number,
  startedAt: Schema.optional(Schema.Number),
  /** completed, failed or cancelled */
  endedAt: Schema.optional(Schema.Number),
  updatedAt: Schema.Number,
  /** when a message of it is sent (again), unless it has ended by then */
  sendAt: Schema.optional(Schema.Number),
  /** how many messages the outbox has sent */
  sends: Schema.Number,
  /** of the last message that was sent, or of the one that brought the job */
  messageId: Schema.optional(Schema.String),
  /** runs that began */
  runs: Schema.Number
}) {
  /** @since 0.1.0 */
  get id(): string {
    return this.job.jobId
  }
}

/**
 * Whether nothing more happens to a job by itself.
 *
 * @since 0.1.0
 * @category queries
 */
export const hasEnded = (row: JobRow): boolean =>
  row.state === "failed" || row.state === "cancelled" || (row.state === "completed" && row.delivery !== "pending")
