/**
 * What the ledger remembers of one key, and the words for it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * The states of a key. `docs/ledger.md` draws how one follows from another.
 *
 * - `in_progress`: someone holds the claim, or held it and has not been taken over yet
 * - `retryable`: the last run failed and may be tried again, at once or from `notBefore`
 * - `completed`: finished, with a stored result
 * - `rejected`: finished, and never to be run again
 * - `cancelled`: finished by `cancel`
 * - `unknown`: an outside call began that must not be repeated, and nobody knows how it ended
 * - `review`: unknown, and now a person decides
 *
 * @since 0.1.0
 * @category models
 */
export const LedgerState = Schema.Literal(
  "in_progress",
  "retryable",
  "completed",
  "rejected",
  "cancelled",
  "unknown",
  "review"
)

/**
 * @since 0.1.0
 * @category models
 */
export type LedgerState = typeof LedgerState.Type

/**
 * What may be done with an outside call whose end nobody has seen: `replayable`, it is made again with the same
 * reference; `ambiguous`, it must not be made again.
 *
 * @since 0.1.0
 * @category models
 */
export type CallPolicy = "replayable" | "ambiguous"

/**
 * An outside call that has begun and whose end is not recorded.
 *
 * @since 0.1.0
 * @category models
 */
export interface OpenCall {
  /** the reference that the outside was given */
  readonly ref: string
  readonly policy: CallPolicy
  /** epoch milliseconds */
  readonly startedAt: number
}

/**
 * What a row is found by.
 *
 * @since 0.1.0
 * @category models
 */
export interface LedgerId {
  /** keeps the keys of different kinds of jobs apart, as the name of the queue does */
  readonly namespace: string
  /** the business key: what makes two messages the same job; never the MessageId */
  readonly key: string
}

/**
 * One row of the ledger. All times are epoch milliseconds by the clock of the store.
 *
 * @since 0.1.0
 * @category models
 */
export interface LedgerRecord extends LedgerId {
  /** SHA-256 of the payload, hex; `undefined` when the key was cancelled before its first message came */
  readonly payloadHash: string | undefined
  readonly state: LedgerState
  /** the fencing token: only grows, by one with each claim, verdict and cancel */
  readonly attempt: number
  /** who holds the claim, one value a run; `undefined` unless `in_progress` */
  readonly owner: string | undefined
  /** from when on someone else may take over; `undefined` unless `in_progress` */
  readonly claimUntil: number | undefined
  /** what the last claim found: no row, a job to try again, or a claim that had ended */
  readonly claimedFrom: "new" | "retryable" | "expired" | undefined
  readonly call: OpenCall | undefined
  /** numbers what this attempt has written about its calls, so that an older write that arrives late changes nothing */
  readonly callSeq: number
  readonly notBefore: number | undefined
  /** the result as JSON text, in the envelope `{"value": …}` */
  readonly result: string | undefined
  /** a short text on the last failure */
  readonly error: string | undefined
  readonly cancelRequestedAt: number | undefined
  /** how often reconcilers have been asked */
  readonly reconcileTries: number
  /** when a reconciler is asked next; `undefined` unless `unknown` */
  readonly reconcileAt: number | undefined
  readonly createdAt: number
  readonly updatedAt: number
  readonly completedAt: number | undefined
  /** from when on a sweep may remove the row; `undefined` while `unknown` or `review`: those wait for a verdict */
  readonly expiresAt: number | undefined
}
