/**
 * The port of the ledger: conditional writes on one row a key. PostgreSQL, SQLite and memory implement it; one contract
 * suite tests all three.
 *
 * Each write is one condition and one change, done together or not at all. It answers with the row as it is after the
 * write, or with nothing when the condition did not hold; then `read` tells why. The condition is the attempt (and the
 * owner), never the time alone: time decides who *may* take over, the attempt decides who *has*. So each write can be
 * sent again when its answer was lost.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { LedgerStoreError } from "./LedgerError.js"
import type { CallPolicy, LedgerId, LedgerRecord, LedgerState } from "./LedgerRecord.js"

/**
 * A row, and the store's own time when it was read or written.
 *
 * @since 0.1.0
 * @category models
 */
export interface Snapshot {
  readonly record: LedgerRecord
  /** epoch milliseconds */
  readonly now: number
}

/**
 * Who writes: the run that was given this attempt.
 *
 * @since 0.1.0
 * @category models
 */
export interface Holder extends LedgerId {
  readonly attempt: number
  readonly owner: string
}

/**
 * What a verdict is about: an attempt whose outcome is unknown, and which of its calls that is. `callSeq` is that of the row
 * when the question was asked: an owner that reports late may have begun another call since. `undefined`: whatever is open.
 *
 * @since 0.1.0
 * @category models
 */
export interface Question extends LedgerId {
  readonly attempt: number
  readonly callSeq?: number | undefined
}

/**
 * What a verdict makes of a key.
 *
 * @since 0.1.0
 * @category models
 */
export type Decision =
  /** run again; `result`, if given, is remembered as the answer of the open call */
  | { readonly state: "retryable"; readonly callResult: string | undefined }
  | { readonly state: "completed"; readonly result: string }
  | { readonly state: "rejected"; readonly error: string }
  | { readonly state: "review" }

/**
 * What a write answers: the row after it, or nothing when its condition did not hold.
 *
 * @since 0.1.0
 * @category models
 */
export type Written = Effect.Effect<Option.Option<Snapshot>, LedgerStoreError>

/**
 * The service.
 *
 * @since 0.1.0
 * @category services
 */
export class LedgerStore extends Context.Tag("@effect-sqs/ledger/LedgerStore")<
  LedgerStore,
  {
    /**
     * Takes a key that is new, to be tried again, or whose claim has ended. Condition: same payload, and one of these.
     * A claim that ended with an ambiguous call open is not taken: the row becomes `unknown`, without an owner, and that
     * is what is answered. The same owner may ask again, as long as it has begun no call of its own: it keeps its attempt.
     */
    readonly claim: (
      request: LedgerId & {
        readonly payloadHash: string
        readonly owner: string
        readonly claimMs: number
        readonly retentionMs: number
      }
    ) => Written
    /** Condition: ours, still running, not ended, no cancel asked for. Never shortens a claim. */
    readonly renew: (holder: Holder, o: { readonly claimMs: number; readonly retentionMs: number }) => Written
    /**
     * Writes down that an outside call begins. Condition: as for `renew`, at least `timeoutMs` left, no other call open that
     * must not be repeated, and no write about calls with a higher `seq` before.
     */
    readonly begin: (
      holder: Holder,
      o: { readonly ref: string; readonly policy: CallPolicy; readonly timeoutMs: number; readonly seq: number }
    ) => Written
    /**
     * Writes down how it ended: `result` (JSON text) when it was made, `undefined` when it surely was not. Condition: ours
     * and `in_progress`, or `unknown` under the same attempt with this call open: who made the call knows best; and no write
     * with a higher `seq` before. The job goes on, unless a cancel was asked for.
     */
    readonly end: (
      holder: Holder,
      o: {
        readonly ref: string
        readonly result: string | undefined
        readonly seq: number
        readonly claimMs: number
        readonly retentionMs: number
      }
    ) => Written
    /** Remembers the result of a step (JSON text). Condition: ours and `in_progress`. */
    readonly remember: (
      holder: Holder,
      o: { readonly name: string; readonly result: string }
    ) => Effect.Effect<boolean, LedgerStoreError>
    /** What `remember`, `end` or a verdict remembered under this name. */
    readonly recall: (id: LedgerId, name: string) => Effect.Effect<Option.Option<string>, LedgerStoreError>
    /**
     * Finishes the job with its result (JSON text). Condition: ours and `in_progress`, or `unknown` under the same attempt; that the claim
     * has ended does no harm as long as nobody took over. Inside a transaction it commits or rolls back with it.
     */
    readonly complete: (holder: Holder, o: { readonly result: string; readonly retentionMs: number }) => Written
    /**
     * Ends a run without a result. Condition: ours and `in_progress`. With an ambiguous call open the key becomes `unknown`
     * instead, unless it is the one named as not made; then a key that is `unknown` already is put right.
     */
    readonly fail: (
      holder: Holder,
      o: {
        readonly state: "retryable" | "rejected"
        readonly error: string
        readonly delayMs: number
        /** the reference of a call that surely was not made */
        readonly notMade: string | undefined
        readonly retentionMs: number
      }
    ) => Written
    /** Gives a verdict. Condition: this attempt and call, `unknown` or `review`. Raises the attempt. */
    readonly decide: (id: Question, o: { readonly decision: Decision; readonly retentionMs: number }) => Written
    /** Puts the next question to a reconciler off. Condition: this attempt and call, and `unknown`. */
    readonly postpone: (id: Question, o: { readonly delayMs: number }) => Written
    /**
     * Cancels a key, known or not. Ends it at once, and raises the attempt, unless an ambiguous call is open or the outcome
     * is unknown: then the wish is kept, and the key ends as `cancelled` where it would have been tried again. Condition:
     * not ended yet.
     */
    readonly cancel: (id: LedgerId, o: { readonly retentionMs: number }) => Written
    readonly read: (id: LedgerId) => Written
    /** Rows in these states, the one longest unchanged first. */
    readonly list: (o: {
      readonly namespace: string | undefined
      readonly states: ReadonlyArray<LedgerState>
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<Snapshot>, LedgerStoreError>
    /** Makes `unknown` what has an ambiguous call open and a claim that ended: nobody may be coming to find out. */
    readonly expire: (o: {
      readonly namespace: string
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<Snapshot>, LedgerStoreError>
    /** Takes unknown keys whose question is due, counts the try, and keeps others off for `holdMs`. */
    readonly takeDue: (o: {
      readonly namespace: string
      readonly limit: number
      readonly holdMs: number
    }) => Effect.Effect<ReadonlyArray<Snapshot>, LedgerStoreError>
    /** Removes rows past their retention, with what they remember; answers how many. */
    readonly sweep: (o: { readonly limit: number }) => Effect.Effect<number, LedgerStoreError>
    /**
     * All or nothing: the writes of the ledger and, on SQL, the user's own inside `self` are committed together, or rolled
     * back together when it fails. A COMMIT that fails is a typed failure here.
     */
    readonly transaction: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | LedgerStoreError, R>
    /** Whether the caller runs inside a transaction of this database. */
    readonly inTransaction: Effect.Effect<boolean>
  }
>() {}
