/**
 * What a claim can find.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import type { LedgerRecord } from "./LedgerRecord.js"

/**
 * The answer to a claim. Only `Claimed` may run the job. Times are epoch milliseconds by the clock of the store;
 * `remainingMs` is reckoned by the store itself.
 *
 * @since 0.1.0
 * @category models
 */
export type ClaimOutcome = Data.TaggedEnum<{
  /** the key is ours until `until`; `takenOver`: from an owner whose claim had ended */
  Claimed: { readonly attempt: number; readonly until: number; readonly takenOver: boolean }
  /** finished before; `result` is the stored JSON text */
  Completed: { readonly result: string; readonly attempt: number }
  Busy: { readonly until: number; readonly remainingMs: number }
  NotBefore: { readonly notBefore: number; readonly remainingMs: number }
  /** another payload under the same key */
  Mismatch: { readonly storedHash: string }
  /** `moved`: it was this claim that found it out */
  Unknown: { readonly ref: string; readonly moved: boolean; readonly record: LedgerRecord }
  Rejected: { readonly reason: string }
  Review: { readonly ref: string }
  Cancelled: {}
}>

/**
 * @since 0.1.0
 * @category constructors
 */
export const ClaimOutcome = Data.taggedEnum<ClaimOutcome>()
