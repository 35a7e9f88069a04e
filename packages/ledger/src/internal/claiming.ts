/** Claims a key, and says what was found when it was not to be had. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ClaimOutcome } from "../ClaimOutcome.js"
import {
  LedgerBusy,
  LedgerCancelled,
  LedgerMismatch,
  LedgerNotBefore,
  LedgerRejected,
  LedgerReview,
  type LedgerStoreError,
  LedgerUnknown
} from "../LedgerError.js"
import { LedgerEvent } from "../LedgerEvent.js"
import type { LedgerId, LedgerRecord } from "../LedgerRecord.js"
import type { Ledger } from "../LedgerService.js"
import type { Snapshot } from "../LedgerStore.js"
import { patiently } from "./calls.js"

export interface ClaimRequest extends LedgerId {
  readonly payloadHash: string
  readonly owner: string
  readonly claimMs: number
}

/** between the refused write and the read the row can change: then the claim is tried again */
const maxRounds = 10

const refOf = (record: LedgerRecord) => record.call?.ref ?? ""

/** what a row means to somebody who could not claim it; `undefined`: it can be claimed by now */
const meaning = (request: ClaimRequest, { now, record }: Snapshot): ClaimOutcome | undefined => {
  if (record.payloadHash !== undefined && record.payloadHash !== request.payloadHash) {
    return ClaimOutcome.Mismatch({ storedHash: record.payloadHash })
  }
  switch (record.state) {
    case "completed":
      return ClaimOutcome.Completed({ result: record.result!, attempt: record.attempt })
    case "in_progress": {
      const until = record.claimUntil!
      return until > now ? ClaimOutcome.Busy({ until, remainingMs: until - now }) : undefined
    }
    case "retryable": {
      const { notBefore } = record
      return notBefore !== undefined && notBefore > now
        ? ClaimOutcome.NotBefore({ notBefore, remainingMs: notBefore - now })
        : undefined
    }
    case "unknown":
      return ClaimOutcome.Unknown({ ref: refOf(record), moved: false, record })
    case "review":
      return ClaimOutcome.Review({ ref: refOf(record) })
    case "rejected":
      return ClaimOutcome.Rejected({ reason: record.error ?? "" })
    case "cancelled":
      return ClaimOutcome.Cancelled()
  }
}

const taken = (request: ClaimRequest, { record }: Snapshot): ClaimOutcome =>
  record.owner === request.owner
    ? ClaimOutcome.Claimed({
        attempt: record.attempt,
        until: record.claimUntil!,
        takenOver: record.claimedFrom === "expired"
      })
    : ClaimOutcome.Unknown({ ref: refOf(record), moved: true, record })

const tell = (ledger: Ledger["Type"], request: ClaimRequest, outcome: ClaimOutcome): Effect.Effect<void> => {
  const { key, namespace } = request
  if (outcome._tag === "Claimed") {
    return ledger.emit(LedgerEvent.Claimed({ namespace, key, attempt: outcome.attempt, takenOver: outcome.takenOver }))
  }
  const notRun = ledger.emit(LedgerEvent.NotRun({ namespace, key, found: outcome._tag }))
  return outcome._tag === "Unknown" && outcome.moved
    ? Effect.zipLeft(
        notRun,
        ledger.emit(LedgerEvent.OutcomeUnknown({ namespace, key, attempt: outcome.record.attempt, ref: outcome.ref }))
      )
    : notRun
}

export const claim = (ledger: Ledger["Type"], request: ClaimRequest): Effect.Effect<ClaimOutcome, LedgerStoreError> => {
  const { store, settings } = ledger
  const attempt = (round: number): Effect.Effect<ClaimOutcome, LedgerStoreError> =>
    Effect.gen(function* () {
      const row = yield* patiently(ledger, "claim", store.claim({ ...request, retentionMs: settings.retentionMs }))
      if (Option.isSome(row)) return taken(request, row.value)
      const found = yield* patiently(ledger, "read", store.read(request))
      const outcome = Option.isSome(found) ? meaning(request, found.value) : undefined
      if (outcome !== undefined) return outcome
      if (round < maxRounds) return yield* attempt(round + 1)
      const now = Option.isSome(found) ? found.value.now : 0
      return ClaimOutcome.Busy({ until: now, remainingMs: 0 })
    })
  return Effect.tap(attempt(1), (outcome) => tell(ledger, request, outcome))
}

export type NotClaimed =
  LedgerBusy | LedgerNotBefore | LedgerMismatch | LedgerUnknown | LedgerRejected | LedgerReview | LedgerCancelled

/** the outcomes that are neither a claim nor a result, as errors */
export const toError = (
  request: ClaimRequest,
  outcome: Exclude<ClaimOutcome, { readonly _tag: "Claimed" | "Completed" }>
): NotClaimed => {
  const id = { namespace: request.namespace, key: request.key }
  switch (outcome._tag) {
    case "Busy":
      return new LedgerBusy({ ...id, until: outcome.until, remainingMs: outcome.remainingMs })
    case "NotBefore":
      return new LedgerNotBefore({ ...id, notBefore: outcome.notBefore, remainingMs: outcome.remainingMs })
    case "Mismatch":
      return new LedgerMismatch({ ...id, storedHash: outcome.storedHash, givenHash: request.payloadHash })
    case "Unknown":
      return new LedgerUnknown({ ...id, ref: outcome.ref })
    case "Rejected":
      return new LedgerRejected({ ...id, reason: outcome.reason })
    case "Review":
      return new LedgerReview({ ...id, ref: outcome.ref })
    case "Cancelled":
      return new LedgerCancelled(id)
  }
}
