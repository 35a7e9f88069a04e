/**
 * `once`: a job under a business key.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import { type Claim, type ClaimError, CurrentClaim } from "./Claim.js"
import type { ClaimOutcome } from "./ClaimOutcome.js"
import { LedgerMisuse, type LedgerStoreError, type LedgerValueInvalid } from "./LedgerError.js"
import type { LedgerId } from "./LedgerRecord.js"
import { Ledger } from "./LedgerService.js"
import { apart } from "./internal/apart.js"
import * as calls from "./internal/calls.js"
import * as claiming from "./internal/claiming.js"
import * as instant from "./internal/instant.js"
import * as running from "./internal/runningClaim.js"
import * as settle from "./internal/settle.js"
import * as values from "./internal/values.js"

/**
 * What a failed run means for the key.
 *
 * @since 0.1.0
 * @category models
 */
export type Failing = { readonly _tag: "Retry"; readonly after: Duration.Duration } | { readonly _tag: "Reject" }

/**
 * The job may be run again, after a delay if one is given.
 *
 * @since 0.1.0
 * @category constructors
 */
export const retry = (after: Duration.DurationInput = 0): Failing => ({
  _tag: "Retry",
  after: Duration.decode(after)
})

/**
 * The job is never to be run again; the text of the error is kept as the reason.
 *
 * @since 0.1.0
 * @category constructors
 */
export const reject: Failing = { _tag: "Reject" }

/**
 * @since 0.1.0
 * @category models
 */
export interface OnceOptions<A, I, RS, E = never> extends LedgerId {
  /** what must be equal for two messages to be the same job: JSON, kept as a hash; default: the key alone */
  readonly payload?: unknown
  /** of the job's result, which is stored in its encoded form */
  readonly result: Schema.Schema<A, I, RS>
  /** how long the claim lasts unless renewed; default: that of the ledger */
  readonly claim?: Duration.DurationInput | undefined
  /** what a failure of the job means for the key; default: it may be run again at once */
  readonly failure?: ((error: E) => Failing) | undefined
}

/**
 * The ways `once` can end without a result, beside the job's own errors.
 *
 * @since 0.1.0
 * @category errors
 */
export type OnceError = claiming.NotClaimed | ClaimError

const noTransaction = (ledger: Ledger["Type"], what: string) =>
  Effect.flatMap(ledger.store.inTransaction, (inside) =>
    inside
      ? Effect.die(
          new LedgerMisuse({
            detail: `${what} inside a database transaction: what it writes must be committed before the job goes on`
          })
        )
      : Effect.void
  )

const claimMsOf = (ledger: Ledger["Type"], claim: Duration.DurationInput | undefined): Effect.Effect<number> => {
  const ms = claim === undefined ? ledger.settings.claimMs : Duration.toMillis(claim)
  return ms > 0 && Number.isFinite(ms)
    ? Effect.succeed(ms)
    : Effect.die(new LedgerMisuse({ detail: `a claim must last above zero and not for ever, not ${ms} ms` }))
}

const claimOf = <A, I, RS>(
  claim: running.RunningClaim,
  schema: Schema.Schema<A, I, RS>
): Effect.Effect<Claim<A>, never, RS> =>
  Effect.map(Effect.context<RS>(), (context) => {
    const { holder, ledger } = claim
    const complete = (result: A): Effect.Effect<void, ClaimError> =>
      Effect.gen(function* () {
        if (!(yield* ledger.store.inTransaction)) {
          return yield* Effect.die(
            new LedgerMisuse({
              detail: "claim.complete outside a database transaction: return the result instead, or use claim.commit"
            })
          )
        }
        const text = yield* values.encode(holder, "result", schema, result, ledger.settings.maxResultBytes)
        yield* running.write(
          claim,
          "complete",
          ledger.store.complete(holder, { result: text, retentionMs: ledger.settings.retentionMs }),
          // also when it is completed by this run: rows that were committed with it may be about to be written again
          () => Effect.fail(running.lossOf(claim, "decided"))
        )
        claim.completing = true
      }).pipe(Effect.provide(context))
    return {
      namespace: holder.namespace,
      key: holder.key,
      attempt: holder.attempt,
      remaining: Effect.map(running.remainingMs(claim), Duration.millis),
      complete,
      commit: (rows) =>
        calls
          .transaction(ledger, Effect.tap(rows, complete))
          .pipe(Effect.onError(() => Effect.sync(() => void (claim.completing = false))))
    }
  })

/**
 * Runs a job under a business key: at most once at a time, and once finished its stored result is given back instead.
 *
 * The job runs in a fiber of its own. Its claim is renewed while it runs; when the claim is lost, or the caller is
 * interrupted, the job is interrupted, and its finalizers run, before `once` ends. Losing the claim is a typed failure.
 *
 * A job that succeeds is completed with its result; one that completed in a transaction of its own (`claim.commit`,
 * `claim.complete`) keeps that result. One that fails, dies or is interrupted may be run again, unless an outside call
 * that must not be repeated was left open: then its outcome is unknown.
 *
 * Must not be called inside a database transaction (a defect): the claim has to be seen by others.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import * as Ledger from "@effect-sqs/ledger/Ledger"
 * import { Effect, Schema } from "effect"
 *
 * declare const render: (reportId: string) => Effect.Effect<string, Error>
 *
 * export const report = (reportId: string) =>
 *   Ledger.once({ namespace: "reports", key: reportId, result: Schema.String }, () => render(reportId))
 */
export const once = <A, I, RS, E, R>(
  options: OnceOptions<A, I, RS, NoInfer<E>>,
  job: (claim: Claim<A>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | OnceError, Ledger | RS | Exclude<R, CurrentClaim>> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* noTransaction(ledger, "Ledger.once")
      const { key, namespace } = options
      yield* values.checkId(options)
      const request = {
        namespace,
        key,
        payloadHash: yield* values.hash(options, options.payload),
        owner: globalThis.crypto.randomUUID(),
        claimMs: yield* claimMsOf(ledger, options.claim)
      }
      const asked = yield* instant.now
      const outcome: ClaimOutcome = yield* claiming.claim(ledger, request)
      if (outcome._tag === "Completed") return yield* values.decode(options, "result", options.result, outcome.result)
      if (outcome._tag !== "Claimed") return yield* claiming.toError(request, outcome)

      const holder = { namespace, key, attempt: outcome.attempt, owner: request.owner }
      const claim = yield* running.make(ledger, holder, request.claimMs, asked)
      const everyMs = (ledger.settings.renewEveryMs / ledger.settings.claimMs) * request.claimMs
      const exit = yield* apart(
        Effect.provideService(Effect.flatMap(claimOf(claim, options.result), job), CurrentClaim, claim),
        restore,
        (runner) => [
          running.renewals(claim, everyMs),
          running.watch(claim),
          Effect.catchAll(Deferred.await(claim.lost), () => Fiber.interrupt(runner))
        ]
      )
      const loss = yield* lossOf(claim)

      if (Exit.isSuccess(exit)) {
        const text = yield* Effect.either(
          values.encode(options, "result", options.result, exit.value, ledger.settings.maxResultBytes)
        )
        if (text._tag === "Right") {
          const stored = yield* settle.complete(claim, text.right)
          return stored === text.right ? exit.value : yield* values.decode(options, "result", options.result, stored)
        }
        return yield* afterFailure(options, claim, Cause.fail(text.left), { state: "retryable", delayMs: 0 })
      }
      return yield* afterFailure(options, claim, settle.causeOf(exit, loss), failAs(exit.cause, options.failure))
    })
  )

const lossOf = (claim: running.RunningClaim): Effect.Effect<Option.Option<running.Loss>> =>
  Effect.flatMap(Deferred.poll(claim.lost), (polled) =>
    Option.isSome(polled)
      ? Effect.map(Effect.flip(polled.value), Option.some)
      : Effect.succeed(Option.none<running.Loss>())
  )

const failAs = <E>(cause: Cause.Cause<E>, failure: ((error: E) => Failing) | undefined): settle.FailAs => {
  const error = Cause.failureOption(cause)
  const failing = Option.isSome(error) && failure !== undefined ? ask(failure, error.value) : retry()
  return failing._tag === "Reject"
    ? { state: "rejected" }
    : { state: "retryable", delayMs: Duration.toMillis(failing.after) }
}

/** the run ends in the ledger although the user's function throws */
const ask = <E>(failure: (error: E) => Failing, error: E): Failing => {
  try {
    return failure(error)
  } catch {
    return retry()
  }
}

const afterFailure = <A, I, RS, E>(
  options: OnceOptions<A, I, RS, any>,
  claim: running.RunningClaim,
  cause: Cause.Cause<E>,
  as: settle.FailAs
): Effect.Effect<A, E | LedgerValueInvalid, RS> =>
  Effect.flatMap(settle.fail(claim, cause, as), (done): Effect.Effect<A, E | LedgerValueInvalid, RS> =>
    Option.isSome(done) ? values.decode(options, "result", options.result, done.value) : Effect.failCause(cause)
  )

/**
 * The bare claim, for those who build their own: one conditional write, and what was found. Nothing renews it, and the
 * caller writes under it through the `LedgerStore`. Asking again with the same `owner` keeps the attempt.
 *
 * @since 0.1.0
 * @category constructors
 */
export const claim = (
  request: LedgerId & {
    readonly payload?: unknown
    readonly owner: string
    readonly claim?: Duration.DurationInput | undefined
  }
): Effect.Effect<ClaimOutcome, LedgerStoreError | LedgerValueInvalid, Ledger> =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    yield* noTransaction(ledger, "Ledger.claim")
    yield* values.checkId(request)
    return yield* claiming.claim(ledger, {
      namespace: request.namespace,
      key: request.key,
      payloadHash: yield* values.hash(request, request.payload),
      owner: request.owner,
      claimMs: yield* claimMsOf(ledger, request.claim)
    })
  })
