/**
 * The state machine as pure functions on one row: what the memory store does, and what the SQL is tested against.
 * `undefined` says that the condition did not hold and nothing changes.
 */
import type { CallPolicy, LedgerId, LedgerRecord } from "../LedgerRecord.js"
import type { Decision, Holder, Question } from "../LedgerStore.js"

type Row = LedgerRecord
type Next = Row | undefined

const ambiguous = (row: Row) => row.call?.policy === "ambiguous"

/** the columns of a row that nobody works on */
const idle = { owner: undefined, claimUntil: undefined } as const

const ended = (row: Row) => row.state === "completed" || row.state === "rejected" || row.state === "cancelled"

const isHolder = (row: Row, h: Holder) => row.attempt === h.attempt && row.owner === h.owner

const toUnknown = (row: Row, now: number): Row => ({
  ...row,
  ...idle,
  state: "unknown",
  reconcileTries: 0,
  reconcileAt: now,
  expiresAt: undefined,
  updatedAt: now
})

export const claim = (
  row: Row | undefined,
  r: LedgerId & {
    readonly payloadHash: string
    readonly owner: string
    readonly claimMs: number
    readonly retentionMs: number
  },
  now: number
): Next => {
  const claimed = {
    state: "in_progress",
    owner: r.owner,
    claimUntil: now + r.claimMs,
    notBefore: undefined,
    reconcileTries: 0,
    reconcileAt: undefined,
    expiresAt: now + r.claimMs + r.retentionMs,
    updatedAt: now
  } as const
  if (row === undefined) {
    return {
      namespace: r.namespace,
      key: r.key,
      payloadHash: r.payloadHash,
      attempt: 1,
      claimedFrom: "new",
      call: undefined,
      callSeq: 0,
      result: undefined,
      error: undefined,
      cancelRequestedAt: undefined,
      createdAt: now,
      completedAt: undefined,
      ...claimed
    }
  }
  if (row.payloadHash !== r.payloadHash) return undefined
  if (row.state === "in_progress") {
    if (row.owner === r.owner && row.callSeq === 0) return { ...row, ...claimed }
    if (row.claimUntil! > now) return undefined
    if (ambiguous(row)) return { ...toUnknown(row, now), notBefore: undefined }
    return { ...row, ...claimed, attempt: row.attempt + 1, callSeq: 0, claimedFrom: "expired" }
  }
  if (row.state === "retryable" && (row.notBefore === undefined || row.notBefore <= now)) {
    return { ...row, ...claimed, attempt: row.attempt + 1, callSeq: 0, claimedFrom: "retryable" }
  }
  return undefined
}

const mayGoOn = (row: Row, h: Holder, now: number) =>
  isHolder(row, h) && row.state === "in_progress" && row.claimUntil! > now && row.cancelRequestedAt === undefined

export const renew = (
  row: Row,
  h: Holder,
  o: { readonly claimMs: number; readonly retentionMs: number },
  now: number
): Next => {
  if (!mayGoOn(row, h, now)) return undefined
  const claimUntil = Math.max(row.claimUntil!, now + o.claimMs)
  return { ...row, claimUntil, expiresAt: claimUntil + o.retentionMs, updatedAt: now }
}

export const begin = (
  row: Row,
  h: Holder,
  o: { readonly ref: string; readonly policy: CallPolicy; readonly timeoutMs: number; readonly seq: number },
  now: number
): Next =>
  mayGoOn(row, h, now) &&
  row.claimUntil! >= now + o.timeoutMs &&
  (!ambiguous(row) || row.call?.ref === o.ref) &&
  row.callSeq <= o.seq
    ? { ...row, call: { ref: o.ref, policy: o.policy, startedAt: now }, callSeq: o.seq, updatedAt: now }
    : undefined

export const end = (
  row: Row,
  h: Holder,
  o: { readonly ref: string; readonly seq: number; readonly claimMs: number; readonly retentionMs: number },
  now: number
): Next => {
  const running = isHolder(row, h) && row.state === "in_progress"
  const late = row.attempt === h.attempt && row.state === "unknown" && row.call?.ref === o.ref
  if ((!running && !late) || row.callSeq > o.seq) return undefined
  const known = {
    ...row,
    call: row.call?.ref === o.ref ? undefined : row.call,
    callSeq: o.seq,
    reconcileTries: 0,
    reconcileAt: undefined,
    updatedAt: now
  }
  if (row.cancelRequestedAt !== undefined && known.call === undefined) {
    return { ...known, ...idle, state: "cancelled", expiresAt: now + o.retentionMs }
  }
  const claimUntil = running ? row.claimUntil! : now + o.claimMs
  return { ...known, state: "in_progress", owner: h.owner, claimUntil, expiresAt: claimUntil + o.retentionMs }
}

export const mayRemember = (row: Row, h: Holder) => isHolder(row, h) && row.state === "in_progress"

export const complete = (
  row: Row,
  h: Holder,
  o: { readonly result: string; readonly retentionMs: number },
  now: number
): Next =>
  row.attempt === h.attempt && (row.state === "unknown" || (row.state === "in_progress" && row.owner === h.owner))
    ? {
        ...row,
        ...idle,
        state: "completed",
        result: o.result,
        error: undefined,
        call: undefined,
        reconcileAt: undefined,
        completedAt: now,
        expiresAt: now + o.retentionMs,
        updatedAt: now
      }
    : undefined

export const fail = (
  row: Row,
  h: Holder,
  o: {
    readonly state: "retryable" | "rejected"
    readonly error: string
    readonly delayMs: number
    readonly notMade: string | undefined
    readonly retentionMs: number
  },
  now: number
): Next => {
  const notMade = row.call !== undefined && row.call.ref === o.notMade
  const running = isHolder(row, h) && row.state === "in_progress"
  const late = row.attempt === h.attempt && row.state === "unknown" && notMade
  if (!running && !late) return undefined
  if (ambiguous(row) && !notMade) return { ...toUnknown(row, now), error: o.error }
  return {
    ...row,
    ...idle,
    state: row.cancelRequestedAt !== undefined ? "cancelled" : o.state,
    error: o.error,
    call: notMade ? undefined : row.call,
    notBefore: o.state === "retryable" && o.delayMs > 0 ? now + o.delayMs : undefined,
    reconcileAt: undefined,
    expiresAt: now + o.retentionMs,
    updatedAt: now
  }
}

const isAsked = (row: Row, q: Question) =>
  row.attempt === q.attempt && (q.callSeq === undefined || row.callSeq === q.callSeq)

export const decide = (
  row: Row,
  q: Question,
  o: { readonly decision: Decision; readonly retentionMs: number },
  now: number
): Next => {
  if (!isAsked(row, q) || (row.state !== "unknown" && row.state !== "review")) return undefined
  const d = o.decision
  return {
    ...row,
    ...idle,
    state: d.state === "retryable" && row.cancelRequestedAt !== undefined ? "cancelled" : d.state,
    attempt: row.attempt + 1,
    result: d.state === "completed" ? d.result : row.result,
    error: d.state === "rejected" ? d.error : row.error,
    call: d.state === "review" ? row.call : undefined,
    notBefore: undefined,
    reconcileAt: undefined,
    completedAt: d.state === "completed" ? now : row.completedAt,
    expiresAt: d.state === "review" ? undefined : now + o.retentionMs,
    updatedAt: now
  }
}

export const postpone = (row: Row, q: Question, o: { readonly delayMs: number }, now: number): Next =>
  isAsked(row, q) && row.state === "unknown" ? { ...row, reconcileAt: now + o.delayMs, updatedAt: now } : undefined

export const cancel = (row: Row | undefined, id: LedgerId, o: { readonly retentionMs: number }, now: number): Next => {
  const cancelled = { ...idle, state: "cancelled", expiresAt: now + o.retentionMs, updatedAt: now } as const
  if (row === undefined) {
    return {
      namespace: id.namespace,
      key: id.key,
      payloadHash: undefined,
      attempt: 1,
      claimedFrom: undefined,
      call: undefined,
      callSeq: 0,
      notBefore: undefined,
      result: undefined,
      error: undefined,
      cancelRequestedAt: now,
      reconcileTries: 0,
      reconcileAt: undefined,
      createdAt: now,
      completedAt: undefined,
      ...cancelled
    }
  }
  if (ended(row)) return undefined
  const cancelRequestedAt = row.cancelRequestedAt ?? now
  const undecided = row.state === "unknown" || row.state === "review" || (row.state === "in_progress" && ambiguous(row))
  return undecided
    ? { ...row, cancelRequestedAt, updatedAt: now }
    : { ...row, ...cancelled, cancelRequestedAt, attempt: row.attempt + 1, notBefore: undefined }
}

export const isExpiredOpen = (row: Row, now: number) =>
  row.state === "in_progress" && ambiguous(row) && row.claimUntil! <= now

export const expire = toUnknown

export const isDue = (row: Row, now: number) => row.state === "unknown" && row.reconcileAt! <= now

export const takeDue = (row: Row, holdMs: number, now: number): Row => ({
  ...row,
  reconcileTries: row.reconcileTries + 1,
  reconcileAt: now + holdMs,
  updatedAt: now
})

export const isSweepable = (row: Row, now: number) =>
  row.expiresAt !== undefined && row.expiresAt <= now && !(row.state === "in_progress" && ambiguous(row))
