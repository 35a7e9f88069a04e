/** How a run ends in the ledger, given how its job ended. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { LedgerCancelled, LedgerClaimLost, LedgerStoreError } from "../LedgerError.js"
import { LedgerEvent } from "../LedgerEvent.js"
import type { LedgerRecord } from "../LedgerRecord.js"
import { briefly, patiently } from "./calls.js"
import { type Loss, type RunningClaim, standing, write } from "./runningClaim.js"
import { shortText } from "./values.js"

const subject = (claim: RunningClaim) => ({
  namespace: claim.holder.namespace,
  key: claim.holder.key,
  attempt: claim.holder.attempt
})

const completed = (claim: RunningClaim, record: LedgerRecord) =>
  claim.ledger.emit(
    LedgerEvent.Completed({ ...subject(claim), sinceCreatedMs: record.completedAt! - record.createdAt })
  )

/**
 * Stores the result; answers the text that is stored. When the answer of an earlier write was lost, or the job completed
 * in a transaction of its own, the row tells: completed under our attempt is ours.
 */
export const complete = (
  claim: RunningClaim,
  result: string
): Effect.Effect<string, LedgerClaimLost | LedgerCancelled | LedgerStoreError> => {
  const { ledger } = claim
  const store = write(
    claim,
    "complete",
    ledger.store.complete(claim.holder, { result, retentionMs: ledger.settings.retentionMs }),
    (record) => Effect.succeed({ record })
  )
  // a second result is not to be stored over the one that was committed with the job's rows
  const known = claim.completing ? Effect.map(standing(claim), Option.some) : Effect.succeed(Option.none())
  return Effect.gen(function* () {
    const before = yield* known
    const record =
      Option.isSome(before) && before.value.is === "completed by us" ? before.value.record : (yield* store).record
    yield* completed(claim, record)
    return record.result ?? result
  })
}

/** What the user's `failure` option makes of an error. */
export type FailAs = { readonly state: "retryable"; readonly delayMs: number } | { readonly state: "rejected" }

/**
 * Writes that the run failed. `Some`: it had completed, in a transaction whose success the job has not seen. What cannot
 * be written is not waited for: the claim ends by itself.
 */
export const fail = (
  claim: RunningClaim,
  cause: Cause.Cause<unknown>,
  as: FailAs
): Effect.Effect<Option.Option<string>> => {
  const { holder, ledger, loose } = claim
  const error = Cause.isInterruptedOnly(cause) ? "interrupted" : shortText(Cause.squash(cause))
  return Effect.gen(function* () {
    const written = yield* patiently(
      ledger,
      "fail",
      ledger.store.fail(holder, {
        state: as.state,
        error,
        delayMs: as.state === "retryable" ? as.delayMs : 0,
        notMade: loose?.is === "not made" ? loose.ref : undefined,
        retentionMs: ledger.settings.retentionMs
      })
    )
    if (Option.isSome(written)) {
      const { record } = written.value
      yield* ledger.emit(LedgerEvent.Failed({ ...subject(claim), state: record.state }))
      if (record.state === "unknown") {
        yield* ledger.emit(LedgerEvent.OutcomeUnknown({ ...subject(claim), ref: record.call?.ref ?? "" }))
      }
      return Option.none<string>()
    }
    const found = yield* standing(claim)
    if (found.is !== "completed by us") return Option.none<string>()
    yield* completed(claim, found.record)
    return Option.fromNullable(found.record.result)
  }).pipe(
    (self) => briefly(ledger, "fail", self),
    Effect.catchAll((e) =>
      Effect.as(
        Effect.logWarning(`The ledger could not write that ${holder.namespace}/${holder.key} failed`, e),
        Option.none<string>()
      )
    )
  )
}

/** the job's own exit, or the loss that interrupted it */
export const causeOf = <E>(exit: Exit.Failure<unknown, E>, loss: Option.Option<Loss>): Cause.Cause<E | Loss> =>
  Option.isSome(loss) && Cause.isInterruptedOnly(exit.cause) ? Cause.fail(loss.value) : exit.cause
