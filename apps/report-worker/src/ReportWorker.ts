/**
 * The worker: report jobs from SQS, one at a time for each render thread, their leases kept by heartbeats, their
 * failures redelivered by kind.
 *
 * @since 0.1.0
 */
import * as Consumer from "@effect-sqs/core/Consumer"
import type { ConsumerEvent } from "@effect-sqs/core/ConsumerEvent"
import type { Delivery } from "@effect-sqs/core/Delivery"
import * as Redelivery from "@effect-sqs/core/Redelivery"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { generateReport } from "./GenerateReport.js"
import type { Progress } from "./render/RenderProtocol.js"
import type { RenderPool } from "./render/RenderPool.js"
import type { RenderError, RenderThreadLost } from "./ReportError.js"
import { type ReportJob, reportJobs } from "./ReportJob.js"
import type { Settings } from "./Settings.js"
import type { ArtifactStore } from "./store/ArtifactStore.js"

/**
 * What of the settings concerns the consumer.
 *
 * @since 0.1.0
 * @category models
 */
export type WorkerSettings = Omit<
  Settings,
  "out" | "threads" | "logLevel" | "store" | "database" | "claim" | "resend" | "webhookTimeout" | "webhookPrivate"
>

/**
 * @since 0.1.0
 * @category models
 */
export type Handler = (
  job: ReportJob,
  delivery: Delivery<ReportJob>
) => Effect.Effect<void, RenderError | RenderThreadLost, ArtifactStore | RenderPool>

/**
 * When a failed job comes again. What no second try can help goes to the dead-letter queue at once; everything else comes
 * again after a pause that doubles, and goes there at its last receive, with the reason.
 *
 * @since 0.1.0
 * @category policies
 */
export const redelivery = (from: Duration.DurationInput, to: Duration.DurationInput) =>
  Redelivery.schedule(
    Schedule.exponential(from).pipe(
      Schedule.union(Schedule.spaced(to)),
      // Jobs that failed together do not come back together.
      Schedule.jitteredWith({ min: 0.5, max: 1 })
    ),
    { whenOver: Redelivery.deadLetter }
  ).pipe(
    Redelivery.lastAttempt(Redelivery.deadLetter),
    Redelivery.catchTag("UnknownAirport", Redelivery.deadLetter),
    Redelivery.catchTag("NoFlights", Redelivery.deadLetter)
  )

/**
 * Makes the report of a job and says so in the log.
 *
 * @since 0.1.0
 * @category handlers
 */
export const handler =
  (onProgress: (job: ReportJob, progress: Progress) => Effect.Effect<void> = () => Effect.void): Handler =>
  (job, delivery) =>
    Effect.gen(function* () {
      yield* Effect.logInfo(`${job.jobId}: started, receive ${delivery.receiveCount}, message ${delivery.messageId}`)
      const artifact = yield* generateReport(job, delivery.receiveCount, (p) => onProgress(job, p))
      yield* Effect.logInfo(`${job.jobId}: ${artifact.drawn ? "drawn" : "was drawn before"}, ${artifact.path}`)
    }).pipe(Effect.tapError((error) => Effect.logWarning(`${job.jobId}: failed, ${error.message}`)))

/** What the consumer does not log itself: the ends of deliveries other than by success. */
const logEnd = (event: ConsumerEvent): Effect.Effect<void> => {
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
 * Runs the worker. It ends by interruption, after a drain, or with the consumer's typed errors.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run = (
  settings: WorkerSettings,
  options: { readonly handler?: Handler; readonly onEvent?: (event: ConsumerEvent) => Effect.Effect<void> } = {}
) =>
  Consumer.run(
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
      redelivery: redelivery(settings.redeliveryFrom, settings.redeliveryTo),
      deadLetterQueue: settings.deadLetterQueue,
      drain: settings.drain,
      onEvent: options.onEvent ?? logEnd
    },
    options.handler ?? handler()
  )
