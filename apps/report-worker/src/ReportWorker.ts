/**
 * The worker: report jobs from SQS, one at a time for each render thread, their leases kept by heartbeats, their failures
 * redelivered by kind; beside it the outbox, and what looks after the ledger.
 *
 * @since 0.1.0
 */
import * as Consumer from "@effect-sqs/core/Consumer"
import type { ConsumerEvent } from "@effect-sqs/core/ConsumerEvent"
import * as Redelivery from "@effect-sqs/core/Redelivery"
import type { Settlement } from "@effect-sqs/core/Settlement"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Deliveries from "./jobs/Deliveries.js"
import * as Duplicates from "./jobs/Duplicates.js"
import { JobStore } from "./jobs/JobStore.js"
import * as Outbox from "./jobs/Outbox.js"
import { type Handler, handler, RunFailed } from "./Pipeline.js"
import * as Policies from "./Policies.js"
import { reportJobs } from "./ReportJob.js"
import type { Settings } from "./Settings.js"

/**
 * What of the settings concerns the worker, and not where things are kept.
 *
 * @since 0.1.0
 * @category models
 */
export type WorkerSettings = Omit<
  Settings,
  | "out"
  | "threads"
  | "logLevel"
  | "store"
  | "database"
  | "claim"
  | "webhookPrivate"
  | "health"
  | "page"
  | "pageTokens"
  | "pageHosts"
  | "pageReadOnly"
>

/** Puts down what was decided of a message in the row of its job. The message's own way does not depend on it. */
const remember = (failed: RunFailed, settlement: Settlement, resend: Duration.Duration) =>
  Effect.gen(function* () {
    if (!Policies.concernsRow(failed.why)) return
    const jobs = yield* JobStore
    if (settlement._tag === "DeadLetter") yield* jobs.failed(failed.jobId, settlement.reason)
    if (settlement._tag === "Release") {
      const comesAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(settlement.after)
      yield* jobs.waiting(failed.jobId, failed.message, { nextAt: comesAt + Duration.toMillis(resend) })
    }
  }).pipe(
    Effect.timeout("5 seconds"),
    Effect.catchAllCause((cause) =>
      Effect.logWarning(`${failed.jobId}: what becomes of it could not be written down`, cause)
    )
  )

/**
 * When a failed job comes again, as `Policies` says; the row of the job is told.
 *
 * @since 0.1.0
 * @category policies
 */
export const redelivery = (
  settings: Pick<Settings, "redeliveryFrom" | "redeliveryTo" | "resend">
): Redelivery.Redelivery<never, JobStore> => {
  const byKind = Policies.redelivery(settings.redeliveryFrom, settings.redeliveryTo)
  return Redelivery.make((failure) => {
    const failed = failure.error
    if (!(failed instanceof RunFailed)) return byKind.decide(failure)
    return Effect.tap(byKind.decide({ ...failure, cause: failed.why, error: Cause.squash(failed.why) }), (settlement) =>
      remember(failed, settlement, settings.resend)
    )
  })
}

/**
 * Logs what the consumer does not log itself: the ends of deliveries other than by success. For an `onEvent` of one's own.
 *
 * @since 0.1.0
 * @category logging
 */
export const logEnd = (event: ConsumerEvent): Effect.Effect<void> => {
  if (event._tag === "Started") return Effect.logInfo(`waiting for jobs on ${event.queue}`)
  if (event._tag !== "DeliverySettled" || !event.settled.confirmed) return Effect.void
  const { asked } = event.settled
  switch (asked._tag) {
    case "Release":
      return Effect.logInfo(
        `message ${event.messageId}: comes again in ${Duration.format(Duration.seconds(Math.ceil(Duration.toSeconds(asked.after))))}`
      )
    case "DeadLetter":
      return Effect.logWarning(`message ${event.messageId}: moved to the dead-letter queue, ${asked.reason}`)
    default:
      return Effect.void
  }
}

/**
 * What the row of a job has to know of a message that no run sees: one that cannot be read ends in the dead-letter queue,
 * and the job has failed; one of finished work is deleted.
 */
const inRow = (event: ConsumerEvent) => {
  switch (event._tag) {
    case "Undecodable":
      return Effect.flatMap(JobStore, (jobs) => jobs.failedMessage(event.messageId, event.reason)).pipe(
        Effect.catchAll((e) => Effect.logWarning(`message ${event.messageId} cannot be read, ${e.message}`))
      )
    case "DuplicateDeleted":
      return Duplicates.noteMessage(event)
    default:
      return Effect.void
  }
}

/**
 * Runs the worker. It ends by interruption, after a drain, or with the consumer's typed errors; what runs beside the
 * consumer ends after it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run = (
  settings: WorkerSettings,
  options: {
    readonly handler?: Handler
    readonly onEvent?: (event: ConsumerEvent) => Effect.Effect<void>
    /** what holds the consumer while it runs */
    readonly attach?: (consumer: Consumer.Consumer) => Effect.Effect<void, never, Scope.Scope>
  } = {}
) =>
  Effect.gen(function* () {
    const { attach = () => Effect.void, onEvent = logEnd } = options
    yield* Effect.forkScoped(Outbox.run({ queue: settings.queue, resend: settings.resend }))
    yield* Effect.forkScoped(Deliveries.run)
    yield* Effect.forkScoped(Ledger.sweeper())
    const consumer = Consumer.make(
      reportJobs(settings.queue),
      {
        concurrency: settings.concurrency,
        // A job that only waits is better visible to workers that have a thread for it.
        prefetch: 0,
        lease: {
          visibility: settings.visibility,
          heartbeat: settings.heartbeat,
          extendBy: settings.extendBy,
          limit: settings.limit
        },
        receive: { waitTime: settings.waitTime },
        redelivery: redelivery(settings),
        deadLetterQueue: settings.deadLetterQueue,
        drain: settings.drain,
        onEvent: (event) => Effect.zipRight(inRow(event), onEvent(event))
      },
      options.handler ?? handler(settings)
    )
    // drained before the rest ends
    return yield* Effect.scoped(
      Effect.flatMap(consumer, (running) => Effect.zipRight(attach(running), running.failure))
    )
  }).pipe(Effect.scoped)
