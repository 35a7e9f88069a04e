/**
 * The ledger: running twice does no harm.
 *
 * This module is what a program uses; `docs/ledger.md` explains it. `Ledger.once` runs a job under a business key,
 * `Ledger.outside` and `Ledger.step` are used inside it, and the rest looks after what is left over.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { LedgerStoreError } from "./LedgerError.js"
import { Ledger } from "./LedgerService.js"
import * as calls from "./internal/calls.js"

export { type Claim, CurrentClaim } from "./Claim.js"
export { handler, type HandlerError, type HandlerOptions, redelivery } from "./Handler.js"
export { cancel, get, list, sweep, sweeper } from "./Keys.js"
export { layer, layerWith, Ledger, type LedgerOptions } from "./LedgerService.js"
export { claim, type Failing, once, type OnceError, type OnceOptions, reject, retry } from "./Once.js"
export { ambiguous, outside, type OutsideCall, type OutsideError, type OutsidePolicy, replayable } from "./Outside.js"
export { decide, reconcile, reconciler, reviews } from "./Reconciler.js"
export { step } from "./Step.js"

/**
 * A transaction of the ledger's database that is run again, as a whole, after a conflict: SQLSTATE 40001 or 40P01, or
 * SQLITE_BUSY, wherever in it that came up, at COMMIT too. Counted by `effect_sqs.ledger.retries`. Everything else surfaces.
 * Let it do nothing but SQL. Inside another transaction it is a part of that one, and not run again.
 *
 * For jobs that complete in a transaction of their own, `claim.commit` is shorter.
 *
 * @since 0.1.0
 * @category transactions
 */
export const transaction = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E | LedgerStoreError, Ledger | R> =>
  Effect.flatMap(Ledger, (ledger) => calls.transaction(ledger, self))
