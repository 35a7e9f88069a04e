/**
 * What can be wrong with a job as a row of the database.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { JobState } from "./JobRow.js"

/**
 * The id names another job already: an id names one job for good.
 *
 * @since 0.1.0
 * @category errors
 */
export class JobConflict extends Schema.TaggedError<JobConflict>()("JobConflict", {
  jobId: Schema.String
}) {
  override get message() {
    return `job ${this.jobId} is known with other parameters: give the new job an id of its own`
  }
}

/**
 * No job has this id.
 *
 * @since 0.1.0
 * @category errors
 */
export class JobNotFound extends Schema.TaggedError<JobNotFound>()("JobNotFound", {
  jobId: Schema.String
}) {
  override get message() {
    return `there is no job ${this.jobId}`
  }
}

/**
 * Too late to cancel: the job has ended otherwise.
 *
 * @since 0.1.0
 * @category errors
 */
export class JobEnded extends Schema.TaggedError<JobEnded>()("JobEnded", {
  jobId: Schema.String,
  state: JobState
}) {
  override get message() {
    return `job ${this.jobId} cannot be cancelled: it is ${this.state}`
  }
}

/**
 * The job was cancelled while it was worked on: what the run would have written is not there.
 *
 * @since 0.1.0
 * @category errors
 */
export class JobCancelled extends Schema.TaggedError<JobCancelled>()("JobCancelled", {
  jobId: Schema.String
}) {
  override get message() {
    return `job ${this.jobId} was cancelled`
  }
}

/**
 * The database of jobs did not do what was asked, or did not answer. Trying again later may help.
 *
 * @since 0.1.0
 * @category errors
 */
export class JobStoreFailed extends Schema.TaggedError<JobStoreFailed>()("JobStoreFailed", {
  operation: Schema.String,
  detail: Schema.String,
  cause: Schema.optional(Schema.Defect)
}) {
  override get message() {
    return `the database of jobs failed in ${this.operation}: ${this.detail}`
  }
}
