/**
 * From a message to a delivered report, on the ledger: query, render, store, complete, deliver. What a step has finished is
 * remembered, so that whoever gets the message next goes on after it; a job that is finished is not run again.
 *
 * @since 0.1.0
 */
import type { Delivery } from "@effect-sqs/core/Delivery"
import type { Claim } from "@effect-sqs/ledger/Claim"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { randomUUID } from "node:crypto"
import path from "node:path"
import * as Duplicates from "./jobs/Duplicates.js"
import { JobResult } from "./jobs/JobRow.js"
import { JobStore } from "./jobs/JobStore.js"
import { track, type Tracker } from "./jobs/Progress.js"
import { bounded, failing, namespaces, patiently } from "./Policies.js"
import type { Progress } from "./render/RenderProtocol.js"
import { RenderPool } from "./render/RenderPool.js"
import { SourceUnavailable, StoreFailed } from "./ReportError.js"
import { ReportJob } from "./ReportJob.js"
import type { Settings } from "./Settings.js"
import { ArtifactStore, artifactName } from "./store/ArtifactStore.js"
import { Delivered, Notice, policyOf, referenceOf, Webhook } from "./webhook/Webhook.js"

/**
 * What of the settings concerns a job.
 *
 * @since 0.1.0
 * @category models
 */
export type PipelineSettings = Pick<Settings, "resend" | "webhookTimeout">

/**
 * A run without success: which job it was, and why.
 *
 * @since 0.1.0
 * @category errors
 */
export class RunFailed extends Data.TaggedError("RunFailed")<{
  readonly jobId: string
  readonly why: Cause.Cause<PipelineError>
}> {
  override get message() {
    const error = Cause.squash(this.why)
    return error instanceof Error ? error.message : String(error)
  }
}

/** What "query" leaves: figures under a name in the store. */
const Extracted = Schema.Struct({ name: Schema.String, rows: Schema.Number, sha256: Schema.String })

/** What "render" leaves: a file on this machine. */
const Drawn = Schema.Struct({
  file: Schema.String,
  bytes: Schema.Number,
  sha256: Schema.String,
  pages: Schema.optional(Schema.Number)
})

type Drawn = typeof Drawn.Type

/** what decides neither the content nor where it goes */
const incidental: ReadonlyArray<string> = ["drill", "pagesPerSecond", "webhook"]

/** What two messages of one job must have in common. */
const payloadOf = (job: ReportJob) =>
  Object.fromEntries(Object.entries(Schema.encodeSync(ReportJob)(job)).filter(([key]) => !incidental.includes(key)))

/** Plays the outage that a job asks for. */
const drill = (job: ReportJob, receiveCount: number): Effect.Effect<void, SourceUnavailable> => {
  const outage = job.drill?.unavailableReceives ?? 0
  return receiveCount <= outage
    ? Effect.fail(
        new SourceUnavailable({ source: "the flight data", detail: `drill, receive ${receiveCount} of ${outage}` })
      )
    : Effect.void
}

const storeFailed = (file: string) => (error: { readonly message: string }) =>
  new StoreFailed({ path: file, detail: error.message })

/** The steps of one run under its claim. */
const steps = (
  job: ReportJob,
  tracker: Tracker,
  onProgress: (job: ReportJob, progress: Progress) => Effect.Effect<void>
) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const pool = yield* RenderPool
    const store = yield* ArtifactStore
    const name = artifactName(job)
    /** the figures, where this run has them as a file already */
    let figures: string | undefined

    const remove = (file: string) => Effect.ignore(fs.remove(file, { force: true }))
    const newFile = (what: string) => path.join(store.workFolder, `${job.jobId}.${randomUUID()}.${what}`)
    /** one that is gone with the run */
    const temporary = (what: string) =>
      Effect.acquireRelease(
        Effect.sync(() => newFile(what)),
        remove
      )

    const query = Effect.gen(function* () {
      const file = yield* temporary("extract")
      const { rows, sha256 } = yield* pool.query(job, file)
      const kept = yield* store.put(`extracts/${name}.json`, file, sha256)
      figures = file
      return { name: kept.name, rows, sha256: kept.sha256 }
    })

    /** the figures as a file, also of a run on another machine */
    const fetched = (extract: typeof Extracted.Type) =>
      figures !== undefined
        ? Effect.succeed(figures)
        : Effect.gen(function* () {
            const file = yield* temporary("extract")
            yield* Stream.run(store.read(extract.name), fs.sink(file)).pipe(
              Effect.catchTags({ BadArgument: storeFailed(file), SystemError: storeFailed(file) })
            )
            figures = file
            return file
          })

    const draw = (extract: typeof Extracted.Type) =>
      Effect.gen(function* () {
        const from = yield* fetched(extract)
        const file = newFile(job.format)
        const { bytes, pages, sha256 } = yield* (
          pool
            .render(job, from, file, (progress) =>
              Effect.zipRight(tracker.tell(progress.pages, progress.of), onProgress(job, progress))
            )
            // a thread that died has not taken its file away
            .pipe(Effect.onError(() => remove(file)))
        )
        return { file, bytes, sha256, pages }
      })

    /** drawn by an earlier run on another machine, or swept: then it is drawn again */
    const isHere = (drawn: Drawn) =>
      fs.stat(drawn.file).pipe(
        Effect.map((info) => Number(info.size) === drawn.bytes),
        Effect.orElseSucceed(() => false)
      )

    const step = <A, I, E, R>(
      name: "query" | "render" | "store",
      schema: Schema.Schema<A, I>,
      run: Effect.Effect<A, E, R>
    ) => Ledger.step(name, schema, Effect.zipRight(tracker.begin(name), bounded(name)(run)))

    const extract = yield* step("query", Extracted, query)
    const drawn = yield* step("render", Drawn, draw(extract))
    return yield* step(
      "store",
      JobResult,
      Effect.gen(function* () {
        const { bytes: _, file, pages, sha256 } = (yield* isHere(drawn)) ? drawn : yield* draw(extract)
        const kept = yield* store.put(name, file, sha256)
        yield* remove(file)
        return new JobResult({
          artifact: kept.name,
          location: kept.location,
          bytes: kept.bytes,
          sha256: kept.sha256,
          pages
        })
      })
    )
  })

/** Tells the receiver, once under the ledger; what nobody knows afterwards, the reconciler finds out. */
const deliver = (job: ReportJob, result: JobResult, settings: PipelineSettings) =>
  Effect.gen(function* () {
    const target = job.webhook
    if (target === undefined) return
    const jobs = yield* JobStore
    const webhook = yield* Webhook
    const policy = policyOf(target, settings.webhookTimeout)
    const notice = new Notice({
      jobId: job.jobId,
      report: job.report,
      artifact: { name: result.artifact, location: result.location, bytes: result.bytes, sha256: result.sha256 }
    })
    yield* Ledger.once(
      {
        namespace: namespaces.deliveries,
        key: job.jobId,
        result: Delivered,
        // three times what a call may take: it is never refused for want of time
        claim: Duration.times(policy.timeout, 3),
        failure: failing
      },
      () =>
        Effect.gen(function* () {
          const tracker = yield* track(job.jobId, Duration.toMillis(settings.resend))
          yield* tracker.begin("deliver")
          return yield* Ledger.outside(referenceOf(job.jobId), policy, (call) => webhook.deliver(target, notice, call))
        }).pipe(Effect.scoped)
    ).pipe(
      Effect.zipRight(patiently(jobs.delivery(job.jobId, "delivered"))),
      Effect.zipRight(Effect.logInfo(`${job.jobId}: delivered`)),
      Effect.catchTags({
        LedgerUnknown: (e) => patiently(jobs.delivery(job.jobId, "unknown", e.message)),
        LedgerReview: (e) => patiently(jobs.delivery(job.jobId, "review", e.message)),
        LedgerCancelled: (e) => patiently(jobs.delivery(job.jobId, "refused", e.message))
      })
    )
  })

/** Clocks differ by less. What comes earlier than that is no message of the outbox. */
const earlyMs = Duration.toMillis("1 minute")

/** The whole life of a delivery of SQS. */
const process = (
  job: ReportJob,
  delivery: Delivery<ReportJob>,
  settings: PipelineSettings,
  onProgress: (job: ReportJob, progress: Progress) => Effect.Effect<void>
) =>
  Effect.gen(function* () {
    const id = job.jobId
    const jobs = yield* JobStore
    const putOffMs = Duration.toMillis(settings.resend)
    const nextAt = Effect.map(Clock.currentTimeMillis, (now) => now + putOffMs)
    const row = yield* patiently(jobs.admit(job, { messageId: delivery.messageId, nextAt: yield* nextAt }))
    if (row.notBefore !== undefined && row.notBefore - (yield* Clock.currentTimeMillis) > earlyMs) {
      return yield* Effect.logInfo(`${id}: is not to run yet, and is sent again in time`)
    }
    let ran = false

    const run = (claim: Claim<JobResult>) =>
      Effect.gen(function* () {
        ran = true
        yield* patiently(jobs.started(id, { receiveCount: delivery.receiveCount, nextAt: yield* nextAt }))
        yield* Effect.logInfo(`${id}: started, receive ${delivery.receiveCount}, message ${delivery.messageId}`)
        yield* drill(job, delivery.receiveCount)
        const tracker = yield* track(id, putOffMs)
        const result = yield* steps(job, tracker, onProgress)
        yield* tracker.begin("complete")
        const complete = Effect.flatMap(nextAt, (at) =>
          claim.commit(Effect.as(jobs.finished(id, result, { nextAt: at }), result))
        )
        return yield* bounded("complete")(complete)
      }).pipe(Effect.scoped)

    const result = yield* Ledger.once(
      { namespace: namespaces.reports, key: id, payload: payloadOf(job), result: JobResult, failure: failing },
      run
    )
    if (!ran && row.delivery !== "pending") yield* Duplicates.note(id, delivery)
    // the ledger remembers longer than the rows may be kept
    if (!ran && row.state !== "completed") {
      const finished = Effect.flatMap(nextAt, (at) => jobs.finished(id, result, { nextAt: at }))
      yield* Ledger.transaction(finished)
    }
    yield* Effect.logInfo(`${id}: ${ran ? "completed" : "was completed before"}, ${result.location}`)
    yield* deliver(job, result, settings)
  }).pipe(
    Effect.catchTag("LedgerCancelled", () => Effect.logInfo(`${job.jobId}: was cancelled, and is not run`)),
    Effect.catchTag("JobCancelled", () => Effect.logInfo(`${job.jobId}: was cancelled, and is not run`))
  )

/**
 * @since 0.1.0
 * @category errors
 */
export type PipelineError = Effect.Effect.Error<ReturnType<typeof process>>

/**
 * @since 0.1.0
 * @category models
 */
export type PipelineServices = ArtifactStore | FileSystem.FileSystem | JobStore | Ledger.Ledger | RenderPool | Webhook

/**
 * @since 0.1.0
 * @category models
 */
export type Handler = (
  job: ReportJob,
  delivery: Delivery<ReportJob>
) => Effect.Effect<void, RunFailed, PipelineServices>

/**
 * The handler of the worker. It succeeds when the job is done, was done before or is cancelled; a failure knows its job.
 *
 * @since 0.1.0
 * @category handlers
 */
export const handler =
  (
    settings: PipelineSettings,
    onProgress: (job: ReportJob, progress: Progress) => Effect.Effect<void> = () => Effect.void
  ): Handler =>
  (job, delivery) =>
    process(job, delivery, settings, onProgress).pipe(
      Effect.onInterrupt(() => stopped(job, delivery, settings)),
      Effect.catchAllCause((why) =>
        Cause.isInterruptedOnly(why)
          ? Effect.failCause(why as Cause.Cause<never>)
          : Effect.fail(new RunFailed({ jobId: job.jobId, why }))
      ),
      Effect.tapError((error) => Effect.logWarning(`${job.jobId}: failed, ${error.message}`))
    )

/** The worker stops, and gives the message back; after a lost lease another may be at it already. */
const stopped = (job: ReportJob, delivery: Delivery<ReportJob>, settings: PipelineSettings) =>
  delivery.leaseLost !== undefined
    ? Effect.void
    : Effect.gen(function* () {
        const jobs = yield* JobStore
        const now = yield* Clock.currentTimeMillis
        yield* jobs.waiting(job.jobId, "its worker was stopped", { nextAt: now + Duration.toMillis(settings.resend) })
      }).pipe(Effect.interruptible, Effect.timeout("2 seconds"), Effect.ignore)
