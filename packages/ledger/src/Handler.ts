/**
 * The ledger with the consumer: a handler under a business key, and what its ends mean for the message.
 *
 * @since 0.1.0
 */
import type { Delivery } from "@effect-sqs/core/Delivery"
import * as Redelivery from "@effect-sqs/core/Redelivery"
import * as Settlement from "@effect-sqs/core/Settlement"
import { nameOf, type SqsQueue } from "@effect-sqs/core/SqsQueue"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type { Claim, CurrentClaim } from "./Claim.js"
import {
  LedgerBusy,
  LedgerCancelled,
  LedgerClaimLost,
  LedgerMismatch,
  LedgerNotBefore,
  LedgerRejected,
  LedgerReview,
  LedgerUnknown,
  LedgerValueInvalid
} from "./LedgerError.js"
import type { Ledger } from "./LedgerService.js"
import { once, type Failing, type OnceError } from "./Once.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface HandlerOptions<Body, A, I, RS, E = never> {
  /** the business key of a body: what makes two messages the same job; never the MessageId */
  readonly key: (body: Body) => string
  /** default: the name of the queue */
  readonly namespace?: string | undefined
  /** what two messages of one key must have in common, JSON; default: the whole body, as it is sent */
  readonly payload?: ((body: Body) => unknown) | undefined
  /** of the job's result; default: nothing */
  readonly result?: Schema.Schema<A, I, RS> | undefined
  /** how long the claim lasts unless renewed; default: that of the ledger */
  readonly claim?: Duration.DurationInput | undefined
  /** what a failure of the job means for the key; default: it may be run again at once */
  readonly failure?: ((error: E) => Failing) | undefined
}

/**
 * The ways a handler under the ledger can fail, beside the job's own errors.
 *
 * @since 0.1.0
 * @category errors
 */
export type HandlerError = Exclude<OnceError, LedgerCancelled>

/**
 * A handler for `Consumer.run` that runs each job once under its business key, as `Ledger.once` does.
 *
 * It succeeds, so that the message is deleted, when the job succeeded, when it had been completed before (counted by
 * `effect_sqs.duplicates.suppressed`), and when it was cancelled. Everything else is a typed failure for the redelivery
 * policy: see `Ledger.redelivery`. Losing the lease interrupts the job, as losing the claim does.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import { Consumer, Redelivery, SqsQueue } from "@effect-sqs/core"
 * import * as Ledger from "@effect-sqs/ledger/Ledger"
 * import { Effect, Schema } from "effect"
 *
 * class ReportJob extends Schema.Class<ReportJob>("ReportJob")({ reportId: Schema.String }) {}
 * const ReportJobs = SqsQueue.make("report-jobs", { schema: ReportJob })
 * declare const render: (job: ReportJob) => Effect.Effect<string, Error>
 *
 * export const worker = Consumer.run(
 *   ReportJobs,
 *   { redelivery: Redelivery.standard.pipe(Ledger.redelivery) },
 *   Ledger.handler(ReportJobs, { key: (job) => job.reportId, result: Schema.String }, (job) => render(job))
 * )
 */
export const handler =
  <Body, BI, BR, E, R, A = void, I = void, RS = never>(
    queue: SqsQueue<Body, BI, BR>,
    options: HandlerOptions<Body, A, I, RS, NoInfer<E>>,
    handle: (body: Body, delivery: Delivery<Body>, claim: Claim<A>) => Effect.Effect<A, E, R>
  ) =>
  (
    body: Body,
    delivery: Delivery<Body>
  ): Effect.Effect<void, Exclude<E, LedgerCancelled> | HandlerError, Ledger | BR | RS | Exclude<R, CurrentClaim>> =>
    Effect.gen(function* () {
      const id = { namespace: options.namespace ?? nameOf(queue.name), key: options.key(body) }
      const payload = options.payload === undefined ? yield* encoded(id, queue, body) : options.payload(body)
      yield* once<A, I, RS, E, R>(
        {
          ...id,
          payload,
          result: options.result ?? (Schema.Void as unknown as Schema.Schema<A, I, RS>),
          claim: options.claim,
          failure: options.failure
        },
        (claim) => Effect.suspend(() => handle(body, delivery, claim))
      )
    }).pipe(
      Effect.catchIf(
        (e): e is LedgerCancelled => e instanceof LedgerCancelled,
        () => Effect.void
      )
    ) as Effect.Effect<void, Exclude<E, LedgerCancelled> | HandlerError, Ledger | BR | RS | Exclude<R, CurrentClaim>>

const encoded = <Body, BI, BR>(
  id: { readonly namespace: string; readonly key: string },
  queue: SqsQueue<Body, BI, BR>,
  body: Body
): Effect.Effect<unknown, LedgerValueInvalid, BR> =>
  Effect.mapError(
    Schema.encode(queue.schema)(body),
    (e) => new LedgerValueInvalid({ ...id, what: "the body", detail: `cannot be encoded: ${e.message}` })
  )

/** nobody knows when a verdict comes: rarely enough not to use up the receives that a queue allows */
const undecided = Duration.minutes(15)

/** at least so much is drawn from, so that those who wait for one claim do not come back in one moment */
const leastSpreadMs = 1000

/** not before `ms` have passed, and up to a tenth later */
const after = (ms: number): Redelivery.Redelivery =>
  Redelivery.make((failure) =>
    Effect.map(Random.nextRange(0, Math.max(leastSpreadMs, ms / 10)), (spread) =>
      Settlement.Release(Duration.min(Duration.millis(ms + spread), failure.maxDelay))
    )
  )

/**
 * Puts the ledger's answers in front of another policy, which keeps deciding all other failures:
 *
 * - busy, not before, claim lost: released until the claim, or the pause, ends, with jitter
 * - unknown, review: released for 15 minutes, with jitter; never run until there is a verdict
 * - mismatch, rejected: dead-lettered with the reason
 * - cancelled: deleted
 *
 * Each release uses up a receive: give such queues a maxReceiveCount of 10 or more. On a FIFO queue a key that waits for a
 * verdict blocks its group; to let the group go on, dead-letter it and redrive it after the verdict:
 * `Redelivery.catchTag("LedgerUnknown", Redelivery.deadLetter)`, put after this one.
 *
 * @since 0.1.0
 * @category redelivery
 * @example
 * import { Redelivery } from "@effect-sqs/core"
 * import * as Ledger from "@effect-sqs/ledger/Ledger"
 *
 * export const policy = Redelivery.standard.pipe(Ledger.redelivery)
 * export const skipping = Redelivery.fifo.pipe(
 *   Ledger.redelivery,
 *   Redelivery.catchTag("LedgerUnknown", Redelivery.deadLetter),
 *   Redelivery.catchTag("LedgerReview", Redelivery.deadLetter)
 * )
 */
export const redelivery = <N extends string, R>(self: Redelivery.Redelivery<N, R>): Redelivery.Redelivery<N, R> =>
  self.pipe(
    Redelivery.catchError(LedgerBusy, (e) => after(e.remainingMs)),
    Redelivery.catchError(LedgerNotBefore, (e) => after(e.remainingMs)),
    Redelivery.catchError(LedgerClaimLost, (e) => after(e.remainingMs)),
    Redelivery.catchError(LedgerUnknown, () => after(Duration.toMillis(undecided))),
    Redelivery.catchError(LedgerReview, () => after(Duration.toMillis(undecided))),
    Redelivery.catchError(LedgerMismatch, () => Redelivery.deadLetter),
    Redelivery.catchError(LedgerRejected, () => Redelivery.deadLetter),
    Redelivery.catchError(LedgerCancelled, () => Redelivery.delete)
    // names no tags: a handler that deals with some of these itself can use it too
  ) as Redelivery.Redelivery<any, R>
