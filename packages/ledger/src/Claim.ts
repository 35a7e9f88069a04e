/**
 * The claim that a job runs under: what it may ask of the ledger while it runs.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { LedgerCancelled, LedgerClaimLost, LedgerStoreError, LedgerValueInvalid } from "./LedgerError.js"
import type { LedgerId } from "./LedgerRecord.js"
import type { RunningClaim } from "./internal/runningClaim.js"

/**
 * What a write under a claim can fail with, beside the store.
 *
 * @since 0.1.0
 * @category errors
 */
export type ClaimError = LedgerClaimLost | LedgerCancelled | LedgerStoreError | LedgerValueInvalid

/**
 * Given to the job. `A` is the job's result.
 *
 * @since 0.1.0
 * @category models
 */
export interface Claim<in A> extends LedgerId {
  /** the fencing token: give it to whatever can refuse an older one */
  readonly attempt: number
  /** what is left of the claim, at least, by the clock of this process; it is renewed while the job runs */
  readonly remaining: Effect.Effect<Duration.Duration>
  /**
   * Stores the result, inside the transaction that the caller has open: the caller's rows and the completion commit or roll
   * back together. Fails when the claim was taken over meanwhile, or when this run has completed already; let the failure roll
   * the transaction back. The job then ends with the result that was committed, whatever it returns after.
   */
  readonly complete: (result: A) => Effect.Effect<void, ClaimError>
  /**
   * Runs `rows` in a transaction of its own, with the completion as its last statement; what `rows` gives is the result of
   * the job. After a conflict (SQLSTATE 40001, 40P01, SQLITE_BUSY) all of it is run again: let it do nothing but SQL. It may be
   * tried again after a COMMIT whose answer was lost: rows that did get there are not written twice.
   */
  readonly commit: <B extends A, E, R>(rows: Effect.Effect<B, E, R>) => Effect.Effect<B, E | ClaimError, R>
}

/**
 * In the context of a running job: what `Ledger.step` and `Ledger.outside` write under.
 *
 * @since 0.1.0
 * @category services
 */
export class CurrentClaim extends Context.Tag("@effect-sqs/ledger/CurrentClaim")<CurrentClaim, RunningClaim>() {}
