/**
 * What happens in a ledger, one value each. No event carries a payload or a result.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import type { LedgerState } from "./LedgerRecord.js"

/**
 * All events. They name the key; `attempt` is the one that was given or closed.
 *
 * - `Claimed`: a run begins. `takenOver`: from an owner whose claim had ended.
 * - `NotRun`: a claim found something else; `found` is the tag of the `ClaimOutcome`. `Completed` is a suppressed duplicate.
 * - `CallBegun`, `CallEnded`: an outside call. `outcome`: its result is stored, it surely did not happen, or nobody knows.
 * - `Completed`: the result is stored. `sinceCreatedMs`: since the key was first claimed.
 * - `Failed`: the run ended without a result; `state` is what became of the key.
 * - `ClaimLost`: the run was interrupted, or what it wrote was refused; `reason` is that of `LedgerClaimLost`, or `cancelled`.
 * - `OutcomeUnknown`: the key waits for a verdict.
 * - `Decided`: a verdict was given; `state` is what became of the key.
 * - `Cancelled`: a cancel was asked for; `state` tells whether it took effect at once.
 * - `Retried`: the database could not do it, it is tried again.
 * - `Swept`: rows past their retention were removed.
 *
 * @since 0.1.0
 * @category models
 */
export type LedgerEvent = Data.TaggedEnum<{
  Claimed: Subject & { readonly takenOver: boolean }
  NotRun: Omit<Subject, "attempt"> & { readonly found: string }
  CallBegun: Subject & { readonly ref: string }
  CallEnded: Subject & { readonly ref: string; readonly outcome: "done" | "did not happen" | "unknown" }
  Completed: Subject & { readonly sinceCreatedMs: number }
  Failed: Subject & { readonly state: LedgerState }
  ClaimLost: Subject & { readonly reason: string }
  OutcomeUnknown: Subject & { readonly ref: string }
  Decided: Subject & { readonly state: LedgerState }
  Cancelled: Subject & { readonly state: LedgerState }
  Retried: { readonly operation: string; readonly reason: string }
  Swept: { readonly removed: number }
}>

/**
 * What an event is about.
 *
 * @since 0.1.0
 * @category models
 */
export interface Subject {
  readonly namespace: string
  readonly key: string
  readonly attempt: number
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const LedgerEvent = Data.taggedEnum<LedgerEvent>()
