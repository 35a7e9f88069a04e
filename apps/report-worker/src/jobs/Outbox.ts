/**
 * The outbox: sends the jobs of the database to the queue when they are due, and again what neither runs nor ends, so that
 * a queue that lost everything is filled again. Beside each worker runs one; what one has taken, others leave alone for a
 * while. A job may be sent twice all the same: the ledger makes that harmless.
 *
 * @since 0.1.0
 */
import * as Producer from "@effect-sqs/core/Producer"
import type { Sqs } from "@effect-sqs/core/Sqs"
import type { SqsError } from "@effect-sqs/core/SqsError"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { outbox } from "../Policies.js"
import { type ReportJob, reportJobs } from "../ReportJob.js"
import type { JobStoreFailed } from "./JobError.js"
import { type DueJob, JobStore } from "./JobStore.js"
import { delayMsOf, pauseMsOf } from "./Schedule.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface OutboxOptions {
  /** the queue's name or URL */
  readonly queue: string
  /** how long after the first send the second one comes, unless the job runs or ends */
  readonly resend: Duration.Duration
}

/**
 * What one pass did.
 *
 * @since 0.1.0
 * @category models
 */
export interface Passed {
  readonly taken: number
  readonly sent: number
  /** could not be sent now: it is tried again when the hold ends */
  readonly unsent: number
  /** sent too often without an end */
  readonly givenUp: number
}

type Jobs = Producer.Producer<ReportJob>

/** connections of the database that an outbox takes for its marks */
const markConcurrency = 4

const exhausted = (due: DueJob) =>
  `sent ${due.row.sends} times without coming to an end: look for its message in the dead-letter queue, and whether workers run`

/**
 * One pass: takes what is due, at most a batch, and sends it. SQS keeps back what is not due for some minutes.
 *
 * @since 0.1.0
 * @category passes
 */
export const pass = (options: OutboxOptions, producer: Jobs): Effect.Effect<Passed, JobStoreFailed, JobStore> =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const taken = yield* jobs.takeDue({ limit: outbox.batch, holdMs: Duration.toMillis(outbox.hold) })
    const over = taken.filter((due) => due.row.sends >= outbox.maxSends)
    yield* Effect.forEach(over, (due) => jobs.failed(due.row.id, exhausted(due)), { discard: true })
    const due = taken.filter((d) => !over.includes(d))
    if (due.length === 0) return { taken: taken.length, sent: 0, unsent: 0, givenUp: over.length }

    const now = yield* Clock.currentTimeMillis
    const delays = due.map(({ row }) => delayMsOf(row.notBefore, now))
    const results = yield* producer.sendAll(
      due.map(({ row }) => row.job),
      (_, i) => (delays[i]! > 0 ? { delay: delays[i]! } : {})
    )
    const marked = yield* Effect.forEach(
      due,
      (one, i) =>
        Effect.gen(function* () {
          const result = results[i]!
          if (result._tag === "Failed") {
            yield* Effect.logWarning(`${one.row.id}: could not be sent, it is tried again: ${result.error.message}`)
            return false
          }
          const pauseMs = pauseMsOf(one.row.sends + 1, options.resend, outbox.longestPause)
          // A death before this line sends it once more, when the hold ends.
          yield* jobs.sent(one, { messageId: result.value.messageId, nextAt: now + delays[i]! + pauseMs })
          return true
        }),
      { concurrency: markConcurrency }
    )
    const sent = marked.filter((done) => done).length
    return { taken: taken.length, sent, unsent: due.length - sent, givenUp: over.length }
  })

const tell = (passed: Passed) =>
  passed.sent + passed.givenUp === 0
    ? Effect.void
    : Effect.logInfo(
        `outbox: ${passed.sent} sent` + (passed.givenUp === 0 ? "" : `, ${passed.givenUp} given up: sent too often`)
      )

/**
 * Passes for ever. What the database or SQS cannot do is logged, and tried again later.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run = (options: OutboxOptions): Effect.Effect<never, never, JobStore | Sqs> =>
  Effect.gen(function* () {
    let producer: Jobs | undefined
    const one: Effect.Effect<void, JobStoreFailed | SqsError, JobStore | Sqs> = Effect.gen(function* () {
      // looked up by the first pass that can: a queue that is not there is the consumer's to tell
      producer ??= yield* Producer.make(reportJobs(options.queue))
      const passed = yield* pass(options, producer)
      yield* tell(passed)
      if (passed.taken < outbox.batch) yield* Effect.sleep(outbox.every)
    })
    return yield* one.pipe(
      Effect.catchAllCause((cause) =>
        Cause.isInterruptedOnly(cause)
          ? Effect.failCause(cause as Cause.Cause<never>)
          : Effect.zipRight(
              Effect.logWarning("the outbox failed; it is tried again", cause),
              Effect.sleep(outbox.afterFailure)
            )
      ),
      Effect.forever
    )
  })
