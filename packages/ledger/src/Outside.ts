/**
 * Calls to the outside from within a job: what the ledger cannot roll back.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type ClaimError, CurrentClaim } from "./Claim.js"
import {
  LedgerCallTimeout,
  LedgerCancelled,
  type LedgerClaimLost,
  LedgerClaimTooShort,
  LedgerMisuse,
  LedgerUnknown
} from "./LedgerError.js"
import { LedgerEvent } from "./LedgerEvent.js"
import type { CallPolicy } from "./LedgerRecord.js"
import { apart } from "./internal/apart.js"
import { patiently } from "./internal/calls.js"
import * as running from "./internal/runningClaim.js"
import * as values from "./internal/values.js"

/**
 * What the ledger must know of a call: whether it may be repeated, how long it may take, what its result looks like.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutsidePolicy<A, I, R, in E> {
  readonly policy: CallPolicy
  readonly timeout: Duration.Duration
  readonly result: Schema.Schema<A, I, R>
  readonly didNotHappen: (error: E) => boolean
}

/**
 * The outside knows idempotency keys: the same reference again does no harm. A call that nobody saw end is made again by
 * the next attempt.
 *
 * @since 0.1.0
 * @category constructors
 */
export const replayable = <A = void, I = void, R = never>(options: {
  /** the most the call may take; it is cut off then */
  readonly timeout: Duration.DurationInput
  /** of the call's result, which is remembered; default: nothing */
  readonly result?: Schema.Schema<A, I, R> | undefined
}): OutsidePolicy<A, I, R, unknown> => ({
  policy: "replayable",
  timeout: Duration.decode(options.timeout),
  result: options.result ?? (Schema.Void as Schema.Schema<any, any, never>),
  didNotHappen: () => false
})

/**
 * The outside knows no idempotency keys: a call that nobody saw end must not be made again. A timeout, an interruption, a
 * defect, a failure or a death in the middle makes the outcome unknown, unless `didNotHappen` says of the failure that the
 * call surely was not carried out (connection refused, a 4xx).
 *
 * @since 0.1.0
 * @category constructors
 */
export const ambiguous = <A = void, I = void, R = never, E = unknown>(options: {
  readonly timeout: Duration.DurationInput
  readonly result?: Schema.Schema<A, I, R> | undefined
  readonly didNotHappen?: ((error: E) => boolean) | undefined
}): OutsidePolicy<A, I, R, E> => ({
  policy: "ambiguous",
  timeout: Duration.decode(options.timeout),
  result: options.result ?? (Schema.Void as Schema.Schema<any, any, never>),
  didNotHappen: options.didNotHappen ?? (() => false)
})

/**
 * What the call is given: hand both on to an outside that can use them.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutsideCall {
  /** the idempotency key */
  readonly ref: string
  /** the fencing token: an outside that remembers the highest can refuse an owner that was paused for too long */
  readonly attempt: number
}

/**
 * @since 0.1.0
 * @category errors
 */
export type OutsideError = ClaimError | LedgerUnknown | LedgerClaimTooShort | LedgerCallTimeout

/** set while a call runs: one within another would wait for itself */
class Calling extends Context.Reference<Calling>()("@effect-sqs/ledger/Outside/Calling", {
  defaultValue: (): boolean => false
}) {}

const misuse = (detail: string) => Effect.die(new LedgerMisuse({ detail }))

/**
 * Writes down that the call begins; a claim that is too short for it may do when it is renewed. The store looks at the time
 * when it writes: a begin that travelled for long is looked at again here.
 */
const begin = (claim: running.RunningClaim, ref: string, policy: CallPolicy, timeoutMs: number) => {
  const { holder, ledger } = claim
  const seq = ++claim.callSeq
  const begun = running.write(
    claim,
    "begin",
    Effect.map(ledger.store.begin(holder, { ref, policy, timeoutMs, seq }), Option.as(true)),
    ({ call, state }): Effect.Effect<boolean, LedgerUnknown | LedgerClaimLost> => {
      // a job that has completed and goes on: no longer claim would do
      if (state === "completed") return Effect.fail(running.lossOf(claim, "decided"))
      return call?.policy === "ambiguous" && call.ref !== ref
        ? Effect.fail(new LedgerUnknown({ namespace: holder.namespace, key: holder.key, ref: call.ref }))
        : Effect.succeed(false)
    }
  )
  return Effect.gen(function* () {
    const fits = Effect.suspend(() => Effect.map(running.remainingMs(claim), (left) => left >= timeoutMs))
    if (Number.isFinite(timeoutMs)) {
      if ((yield* begun) && (yield* fits)) return
      yield* Effect.ignore(running.renew(claim))
      if ((yield* begun) && (yield* fits)) return
    }
    const remainingMs = yield* running.remainingMs(claim)
    return yield* new LedgerClaimTooShort({
      namespace: holder.namespace,
      key: holder.key,
      ref,
      timeoutMs,
      remainingMs
    })
  })
}

/** writes down how the call ended; `undefined`: it surely was not made */
const end = (claim: running.RunningClaim, ref: string, result: string | undefined) => {
  const { holder, ledger } = claim
  const seq = ++claim.callSeq
  return Effect.gen(function* () {
    const record = yield* running.write(
      claim,
      "end",
      Effect.map(
        ledger.store.end(holder, {
          ref,
          result,
          seq,
          claimMs: claim.claimMs,
          retentionMs: ledger.settings.retentionMs
        }),
        Option.map((s) => s.record)
      ),
      Effect.succeed
    )
    claim.loose = undefined
    const outcome = result === undefined ? "did not happen" : "done"
    yield* ledger.emit(LedgerEvent.CallEnded({ ...subject(claim), ref, outcome }))
    if (record.state === "cancelled") {
      const cancelled = new LedgerCancelled({ namespace: holder.namespace, key: holder.key })
      yield* running.lose(claim, cancelled)
      return yield* cancelled
    }
  })
}

const subject = ({ holder }: running.RunningClaim) => ({
  namespace: holder.namespace,
  key: holder.key,
  attempt: holder.attempt
})

/**
 * Makes a call to the outside, under a reference that the outside is given, and remembers its result: a later run of the
 * job is given the result and does not call.
 *
 * That the call begins is written down and committed before it is made, and it is refused when the claim, renewed, is still
 * shorter than the call's timeout. One call of a job is open at a time; others wait. `ref`, 1 to 500 characters, must follow
 * from the job, as `charge:${orderId}`: another one on the next run would be another call.
 *
 * After a call whose outcome is unknown the job's other calls are refused, and the job fails as unknown, unless it succeeds
 * all the same: then it knows.
 *
 * An interruption of the job cuts the call off. Wrapped in `Effect.uninterruptible` the call may finish, within its timeout,
 * and its outcome is known: worth it for calls that are short.
 *
 * Must not be called inside a database transaction, nor inside another outside call (defects).
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import * as Ledger from "@effect-sqs/ledger/Ledger"
 * import { Effect, Schema } from "effect"
 *
 * class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}
 * class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}
 * declare const charge: (order: string, key: string) => Effect.Effect<string, Refused | Broken>
 *
 * export const pay = (order: string) =>
 *   Ledger.outside(
 *     `charge:${order}`,
 *     Ledger.ambiguous({
 *       timeout: "10 seconds",
 *       result: Schema.String,
 *       didNotHappen: (e: Refused | Broken) => e._tag === "Refused"
 *     }),
 *     (call) => charge(order, call.ref)
 *   )
 */
export const outside = <A, I, RS, P, E extends P, R>(
  ref: string,
  policy: OutsidePolicy<A, I, RS, P>,
  call: (call: OutsideCall) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | OutsideError, CurrentClaim | RS | R> =>
  Effect.gen(function* () {
    const claim = yield* CurrentClaim
    if (yield* Calling) return yield* misuse(`Ledger.outside ${ref} inside another outside call`)
    if (yield* claim.ledger.store.inTransaction) {
      return yield* misuse(
        `Ledger.outside ${ref} inside a database transaction: its locks would be held across the call, and that the ` +
          "call begins would not be committed before it"
      )
    }
    return yield* claim.callPermit.withPermits(1)(alone(claim, ref, policy, call))
  })

const alone = <A, I, RS, E, R>(
  claim: running.RunningClaim,
  ref: string,
  policy: OutsidePolicy<A, I, RS, E>,
  call: (call: OutsideCall) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | OutsideError, RS | R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const { holder, ledger } = claim
      const id = { namespace: holder.namespace, key: holder.key }
      yield* values.checkName(id, "the reference of an outside call", ref)
      const what = `the result of the outside call ${ref}`

      const remembered = yield* patiently(ledger, "recall", ledger.store.recall(holder, ref))
      if (Option.isSome(remembered)) return yield* values.decode(holder, what, policy.result, remembered.value)
      if (claim.loose?.is === "unknown") return yield* new LedgerUnknown({ ...id, ref: claim.loose.ref })
      if (claim.loose?.is === "not made") yield* end(claim, claim.loose.ref, undefined)

      const timeoutMs = Duration.toMillis(policy.timeout)
      // until it is known to be written down: whatever becomes of the answer, the call has not been made
      claim.loose = { ref, is: "not made" }
      yield* begin(claim, ref, policy.policy, timeoutMs)
      yield* ledger.emit(LedgerEvent.CallBegun({ ...subject(claim), ref }))

      let started = false
      let timedOut = false
      const making = Effect.suspend(() => {
        started = true
        return Effect.provideService(call({ ref, attempt: holder.attempt }), Calling, true)
      })
      const exit = yield* apart(making, restore, (fiber) => [
        Effect.sleep(policy.timeout).pipe(
          Effect.zipRight(Effect.sync(() => void (timedOut = true))),
          Effect.zipRight(Fiber.interrupt(fiber))
        )
      ])
      const ambiguous = policy.policy === "ambiguous"
      if (started) claim.loose = ambiguous ? { ref, is: "unknown" } : undefined

      if (Exit.isSuccess(exit)) {
        const text = yield* values.encode(holder, what, policy.result, exit.value, ledger.settings.maxResultBytes)
        yield* end(claim, ref, text)
        return exit.value
      }
      if (!started || surely(policy, exit.cause)) {
        claim.loose = { ref, is: "not made" }
        yield* end(claim, ref, undefined)
        return yield* Effect.failCause(exit.cause)
      }
      const cutOff = timedOut && Cause.isInterruptedOnly(exit.cause)
      const late = new LedgerCallTimeout({ ...id, ref, timeoutMs })
      if (!ambiguous) return yield* cutOff ? late : Effect.failCause(exit.cause)
      yield* ledger.emit(LedgerEvent.CallEnded({ ...subject(claim), ref, outcome: "unknown" }))
      return yield* Cause.isInterruptedOnly(exit.cause) && !cutOff
        ? Effect.failCause(exit.cause)
        : new LedgerUnknown({ ...id, ref, cause: cutOff ? late : Cause.squash(exit.cause) })
    })
  )

/** Only of one plain failure: beside an interruption or a defect something else may have gone on. */
const surely = <E>(policy: OutsidePolicy<any, any, any, E>, cause: Cause.Cause<E>): boolean => {
  const failures = [...Cause.failures(cause)]
  if (failures.length !== 1 || Cause.isInterrupted(cause) || Cause.isDie(cause)) return false
  try {
    return policy.didNotHappen(failures[0]!)
  } catch {
    return false
  }
}
