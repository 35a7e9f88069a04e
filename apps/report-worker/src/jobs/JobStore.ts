/**
 * The port to the database of jobs. A job stands there before anything else happens to it, so that a queue that loses
 * everything loses nothing; every change of a job also writes a row of history, in the same transaction.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { ReportJob } from "../ReportJob.js"
import type { JobCancelled, JobConflict, JobEnded, JobNotFound, JobStoreFailed } from "./JobError.js"
import type { JobEvent } from "./JobEvent.js"
import type { DeliveryState, JobProgress, JobResult, JobRow, JobState } from "./JobRow.js"

/**
 * The answer to a submission. `AlreadyAccepted`: the same job was accepted before, nothing was changed.
 *
 * @since 0.1.0
 * @category models
 */
export interface Acceptance {
  readonly _tag: "Accepted" | "AlreadyAccepted"
  readonly row: JobRow
}

/**
 * What of the jobs is asked for, newest first.
 *
 * @since 0.1.0
 * @category models
 */
export interface JobQuery {
  /** those in one of these states; none given: all */
  readonly states?: ReadonlyArray<JobState> | undefined
  /** those whose delivery is in one of these states */
  readonly deliveries?: ReadonlyArray<DeliveryState> | undefined
  /** those with this text in their id */
  readonly text?: string | undefined
  /** those accepted before this row: the last one of the page before */
  readonly before?: { readonly acceptedAt: number; readonly id: string } | undefined
  /** at most so many, 1 to 1000 */
  readonly limit: number
}

/**
 * A message that was not run, because all was done.
 *
 * @since 0.1.0
 * @category models
 */
export interface Duplicate {
  readonly messageId: string
  readonly receiveCount: number
}

/**
 * A job whose message is to be sent, taken by one outbox for a while.
 *
 * @since 0.1.0
 * @category models
 */
export interface DueJob {
  readonly row: JobRow
  /** epoch ms: until then no other outbox takes it */
  readonly heldUntil: number
}

/**
 * @since 0.1.0
 * @category services
 */
export class JobStore extends Context.Tag("@effect-sqs/report-worker/JobStore")<
  JobStore,
  {
    /**
     * Puts a job into the database; an outbox sends it, not before `notBefore` (epoch ms). The same job again is
     * accepted too, and changes nothing.
     */
    readonly accept: (
      job: ReportJob,
      options?: { readonly notBefore?: number | undefined }
    ) => Effect.Effect<Acceptance, JobConflict | JobStoreFailed>
    readonly get: (id: string) => Effect.Effect<Option.Option<JobRow>, JobStoreFailed>
    readonly list: (query: JobQuery) => Effect.Effect<ReadonlyArray<JobRow>, JobStoreFailed>
    /** how many jobs are in each state */
    readonly counts: Effect.Effect<Readonly<Record<JobState, number>>, JobStoreFailed>
    /** the history of a job, oldest first */
    readonly events: (id: string) => Effect.Effect<ReadonlyArray<JobEvent>, JobStoreFailed>
    /**
     * Cancels a job that has not ended, also one that runs: it is stopped at the next renewal of its claim. What is
     * cancelled already stays so.
     */
    readonly cancel: (id: string) => Effect.Effect<JobRow, JobNotFound | JobEnded | JobStoreFailed>

    // for the outbox

    /** Takes at most `limit` jobs whose time to be sent has come, each for `holdMs`: others that ask meanwhile get others. */
    readonly takeDue: (options: {
      readonly limit: number
      readonly holdMs: number
    }) => Effect.Effect<ReadonlyArray<DueJob>, JobStoreFailed>
    /** A message was sent; if the job has not ended, another one is sent at `nextAt` (epoch ms). */
    readonly sent: (
      due: DueJob,
      sent: { readonly messageId: string; readonly nextAt: number }
    ) => Effect.Effect<void, JobStoreFailed>

    // for a run

    /**
     * A message of the job is here. A job that came from elsewhere than the outbox gets its row now. Fails for an id that
     * names another job.
     */
    readonly admit: (
      job: ReportJob,
      message: { readonly messageId: string; readonly nextAt: number }
    ) => Effect.Effect<JobRow, JobConflict | JobStoreFailed>
    /** A run begins, also of a job that had failed; the next message is put off to `nextAt`. */
    readonly started: (
      id: string,
      run: { readonly receiveCount: number; readonly nextAt: number }
    ) => Effect.Effect<void, JobCancelled | JobStoreFailed>
    /** How far it is; puts the next message off. `isNew`: a step began, which is written into the history. */
    readonly progress: (
      id: string,
      progress: JobProgress,
      options: { readonly isNew: boolean; readonly nextAt: number }
    ) => Effect.Effect<void, JobStoreFailed>
    /** The report is there. To be called inside the transaction that completes the job in the ledger. */
    readonly finished: (
      id: string,
      result: JobResult,
      options: { readonly nextAt: number }
    ) => Effect.Effect<void, JobCancelled | JobStoreFailed>
    /** A run ended without success, and its message comes again; the next message is put off to `nextAt`. */
    readonly waiting: (
      id: string,
      reason: string,
      options: { readonly nextAt: number }
    ) => Effect.Effect<void, JobStoreFailed>
    /** Given up. What is completed or cancelled stays so; of a completed job the delivery is given up. */
    readonly failed: (id: string, reason: string) => Effect.Effect<void, JobStoreFailed>
    /** The same, by the message that the outbox sent last: its body could not be read. */
    readonly failedMessage: (messageId: string, reason: string) => Effect.Effect<void, JobStoreFailed>
    /** A message that came when all was done, and was not run: a line of the history. */
    readonly duplicate: (id: string, message: Duplicate) => Effect.Effect<void, JobStoreFailed>
    /** The same, by the message that the outbox sent last. */
    readonly duplicateMessage: (message: Duplicate) => Effect.Effect<void, JobStoreFailed>
    /** The state of the delivery; `pending` has a message sent at once. */
    readonly delivery: (
      id: string,
      state: Exclude<DeliveryState, "none">,
      reason?: string
    ) => Effect.Effect<void, JobStoreFailed>
  }
>() {}
