/** One claim while its job runs: the books of this process, and how a lost claim is told from a kept one. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { LedgerCancelled, LedgerClaimLost, type LedgerStoreError } from "../LedgerError.js"
import { LedgerEvent } from "../LedgerEvent.js"
import type { LedgerRecord } from "../LedgerRecord.js"
import type { Ledger } from "../LedgerService.js"
import type { Holder, Snapshot } from "../LedgerStore.js"
import { once, patiently } from "./calls.js"
import { elapsedMs, now, type Instant } from "./instant.js"

export type Loss = LedgerClaimLost | LedgerCancelled

/** an outside call of this run that did not end with a stored result */
export interface Loose {
  readonly ref: string
  /** `unknown`: it may have been made; `not made`: only that it began may be written down */
  readonly is: "unknown" | "not made"
}

export interface RunningClaim {
  readonly ledger: Ledger["Type"]
  readonly holder: Holder
  readonly claimMs: number
  /** when the call was sent that gave, or last renewed, the claim: it lasts at least `claimMs` from then */
  confirmed: Instant
  /** a completion was written in a transaction that may still be open: its row lock guards the claim now */
  completing: boolean
  loose: Loose | undefined
  /** numbers the writes about calls; one that is sent again keeps its number */
  callSeq: number
  /** one outside call of a job at a time */
  readonly callPermit: Effect.Semaphore
  /** fails when the claim is lost */
  readonly lost: Deferred.Deferred<never, Loss>
}

export const make = (
  ledger: Ledger["Type"],
  holder: Holder,
  claimMs: number,
  confirmed: Instant
): Effect.Effect<RunningClaim> =>
  Effect.map(Effect.all([Effect.makeSemaphore(1), Deferred.make<never, Loss>()]), ([callPermit, lost]) => ({
    ledger,
    holder,
    claimMs,
    confirmed,
    completing: false,
    loose: undefined,
    callSeq: 0,
    callPermit,
    lost
  }))

export const remainingMs = (claim: RunningClaim): Effect.Effect<number> =>
  Effect.map(elapsedMs(claim.confirmed), (elapsed) => Math.max(0, claim.claimMs - elapsed))

export const lossOf = (claim: RunningClaim, reason: LedgerClaimLost["reason"], leftMs = 0) =>
  new LedgerClaimLost({
    namespace: claim.holder.namespace,
    key: claim.holder.key,
    attempt: claim.holder.attempt,
    reason,
    remainingMs: leftMs
  })

/** What a row says of this claim, after a write under it was refused. */
export type Standing =
  | { readonly is: "ours"; readonly record: LedgerRecord }
  | { readonly is: "completed by us"; readonly record: LedgerRecord }
  | { readonly is: "lost"; readonly loss: Loss; readonly record: LedgerRecord | undefined }

const standingOf = (claim: RunningClaim, found: Option.Option<Snapshot>): Standing => {
  if (Option.isNone(found)) return { is: "lost", loss: lossOf(claim, "decided"), record: undefined }
  const { now, record } = found.value
  const { attempt, key, namespace, owner } = claim.holder
  const lost = (loss: Loss): Standing => ({ is: "lost", loss, record })
  const stopping = record.attempt === attempt && record.cancelRequestedAt !== undefined && record.state !== "completed"
  if (record.state === "cancelled" || stopping) return lost(new LedgerCancelled({ namespace, key }))
  if (record.attempt !== attempt) {
    return record.state === "in_progress"
      ? lost(lossOf(claim, "taken over", Math.max(0, record.claimUntil! - now)))
      : lost(lossOf(claim, record.state === "retryable" ? "taken over" : "decided"))
  }
  if (record.state === "completed") return { is: "completed by us", record }
  if (record.state !== "in_progress" || record.owner !== owner || record.claimUntil! <= now) {
    return lost(lossOf(claim, "ended"))
  }
  return { is: "ours", record }
}

/** Reads the row: why was a write refused? */
export const standing = (claim: RunningClaim, call = patiently): Effect.Effect<Standing, LedgerStoreError> =>
  Effect.map(call(claim.ledger, "read", claim.ledger.store.read(claim.holder)), (found) => standingOf(claim, found))

/** Once: tells everybody who waits on `lost`. */
export const lose = (claim: RunningClaim, loss: Loss): Effect.Effect<void> =>
  Effect.flatMap(Deferred.fail(claim.lost, loss), (first) =>
    first
      ? claim.ledger.emit(
          LedgerEvent.ClaimLost({
            namespace: claim.holder.namespace,
            key: claim.holder.key,
            attempt: claim.holder.attempt,
            reason: loss._tag === "LedgerCancelled" ? "cancelled" : loss.reason
          })
        )
      : Effect.void
  )

/** One renewal. Afterwards the claim is confirmed, or lost, or (a failure) neither is known. */
export const renew = (claim: RunningClaim): Effect.Effect<void, LedgerStoreError> =>
  Effect.gen(function* () {
    const { ledger } = claim
    const asked = yield* now
    const renewed = yield* once(
      ledger,
      "renew",
      ledger.store.renew(claim.holder, { claimMs: claim.claimMs, retentionMs: ledger.settings.retentionMs })
    )
    if (Option.isSome(renewed)) {
      claim.confirmed = asked
      // the row is there to be renewed: a completion that had been written was rolled back
      claim.completing = false
      return
    }
    const found = yield* standing(claim, once)
    if (found.is === "lost" && !mayStillComplete(claim, found.loss)) yield* lose(claim, found.loss)
  })

/** nobody sees into the open transaction: from outside the claim has ended, and its row lock keeps all others off */
const mayStillComplete = (claim: RunningClaim, loss: Loss) =>
  claim.completing && loss._tag === "LedgerClaimLost" && loss.reason === "ended"

/**
 * The scheduled renewal. A renewal that fails is tried again soon; `watch` ends what is never confirmed. One that is under
 * way is not cut off: its answer comes first.
 */
export const renewals = (claim: RunningClaim, everyMs: number): Effect.Effect<void> =>
  Effect.uninterruptible(renew(claim)).pipe(
    Effect.retry(Schedule.spaced(everyMs / 4)),
    Effect.ignore,
    Effect.schedule(Schedule.spaced(everyMs)),
    Effect.asVoid,
    Effect.interruptible
  )

/** Waits until the claim can no longer be counted on, and loses it. */
export const watch = (claim: RunningClaim): Effect.Effect<void> =>
  Effect.gen(function* () {
    let left = yield* remainingMs(claim)
    while (left > 0 || claim.completing) {
      yield* Effect.sleep(left > 0 ? left : claim.claimMs / 4)
      left = yield* remainingMs(claim)
    }
    yield* lose(claim, lossOf(claim, "unconfirmed"))
  }).pipe(Effect.interruptible)

/**
 * A write under the claim: sent until it is answered; refused, it fails with what became of the claim. `ours` says what
 * a refusal means while the claim is still ours.
 */
export const write = <A, E, R>(
  claim: RunningClaim,
  operation: string,
  self: Effect.Effect<Option.Option<A>, LedgerStoreError, R>,
  ours: (record: LedgerRecord) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | Loss | LedgerStoreError, R> =>
  Effect.gen(function* () {
    const written = yield* patiently(claim.ledger, operation, self)
    if (Option.isSome(written)) return written.value
    const found = yield* standing(claim)
    if (found.is === "lost") {
      yield* lose(claim, found.loss)
      return yield* found.loss
    }
    return yield* ours(found.record)
  })
