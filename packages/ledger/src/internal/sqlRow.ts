/** A row as the drivers give it, and as the ledger knows it. */
import type { CallPolicy, LedgerRecord, LedgerState } from "../LedgerRecord.js"
import type { Snapshot } from "../LedgerStore.js"

/** PostgreSQL's driver gives a BIGINT as text, SQLite's as a number */
type Int = string | number

export interface SqlRow {
  readonly namespace: string
  readonly key: string
  readonly payload_hash: string | null
  readonly state: LedgerState
  readonly attempt: Int
  readonly owner: string | null
  readonly claim_until: Int | null
  readonly claimed_from: "new" | "retryable" | "expired" | null
  readonly call_ref: string | null
  readonly call_policy: CallPolicy | null
  readonly call_started_at: Int | null
  readonly call_seq: Int
  readonly not_before: Int | null
  readonly result: string | null
  readonly error: string | null
  readonly cancel_requested_at: Int | null
  readonly reconcile_tries: Int
  readonly reconcile_at: Int | null
  readonly created_at: Int
  readonly updated_at: Int
  readonly completed_at: Int | null
  readonly expires_at: Int | null
  readonly now_ms: Int
}

export const columns =
  "namespace, key, payload_hash, state, attempt, owner, claim_until, claimed_from, call_ref, call_policy, " +
  "call_started_at, call_seq, not_before, result, error, cancel_requested_at, reconcile_tries, reconcile_at, created_at, " +
  "updated_at, completed_at, expires_at"

const time = (value: Int | null) => (value === null ? undefined : Number(value))

const toRecord = (row: SqlRow): LedgerRecord => ({
  namespace: row.namespace,
  key: row.key,
  payloadHash: row.payload_hash ?? undefined,
  state: row.state,
  attempt: Number(row.attempt),
  owner: row.owner ?? undefined,
  claimUntil: time(row.claim_until),
  claimedFrom: row.claimed_from ?? undefined,
  call:
    row.call_ref === null
      ? undefined
      : { ref: row.call_ref, policy: row.call_policy!, startedAt: Number(row.call_started_at) },
  callSeq: Number(row.call_seq),
  notBefore: time(row.not_before),
  result: row.result ?? undefined,
  error: row.error ?? undefined,
  cancelRequestedAt: time(row.cancel_requested_at),
  reconcileTries: Number(row.reconcile_tries),
  reconcileAt: time(row.reconcile_at),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  completedAt: time(row.completed_at),
  expiresAt: time(row.expires_at)
})

export const toSnapshot = (row: SqlRow): Snapshot => ({ record: toRecord(row), now: Number(row.now_ms) })
