/** What the checks of `Invariants` share: the deliveries of the consumer's queue, and the deadlines of their leases. */
import { fromCode } from "@effect-sqs/core/SqsError"
import { type Ask, type Deadline, type Delivery, type JournalView, settlementsOf } from "../../JournalQuery.js"
import type { Expectations } from "../../Expectations.js"

export interface Facts {
  readonly view: JournalView
  readonly expectations: Expectations
  /** of the consumer's queue, in the order of their receives */
  readonly deliveries: ReadonlyArray<Delivery>
  /** time of the last entry, epoch ms */
  readonly end: number
}

/** What a check finds; `Invariants.check` adds the invariant's name. */
export interface Finding {
  readonly messageId: string | undefined
  /** epoch ms */
  readonly at: number
  readonly text: string
}

export type Check = (facts: Facts) => Array<Finding>

export const GRACE_MS = 1000

export const graceOf = ({ expectations }: Facts): number => expectations.graceMs ?? GRACE_MS

export const seconds = (ms: number): string => `${Math.round(ms) / 1000} s`

export const ofDelivery = (delivery: Delivery, at: number, text: string): Finding => ({
  messageId: delivery.messageId,
  at,
  text: `delivery ${delivery.receiptHandle} (receive count ${delivery.receiveCount}): ${text}`
})

/** Whether a deadline comes from a settlement, that is, no longer belongs to the lease. */
const bySettlement = (delivery: Delivery, deadline: Deadline): boolean =>
  settlementsOf(delivery).some(
    (ask) =>
      ask.tookEffect &&
      deadline.from.index > ask.sent.index &&
      (ask.ended === undefined || deadline.from.index < ask.ended.index)
  )

/** Until when the lease was held, as things stood at a place in the journal; releases do not count. */
export const leaseAt = (delivery: Delivery, index: number): number =>
  (delivery.deadlines.findLast((d) => d.from.index <= index && !bySettlement(delivery, d)) ?? delivery.deadlines[0]!)
    .until

/** How much of a long poll a consumer may count to a lease that it learns of by the answer. */
export const arrivalMargin = (slotMs: number): number => Math.min(1000, slotMs / 10)
/** So much before its deadline a lease counts as run out, so that the handler is interrupted in time. */
const guard = (slotMs: number): number => Math.min(1000, slotMs / 20)

/**
 * From then on the consumer may hold that its lease is over, as things stood at a place in the journal: it goes by what SQS
 * has answered, counts an extension from its sending and a receive from a little before its arrival, and stops in time. What
 * a process finds when it wakes may have been there for the whole of its sleep of `stallMs`.
 */
export const safeEnd = (delivery: Delivery, index: number, stallMs = 0): number => {
  const first = delivery.deadlines[0]!
  const slot = first.until - first.from.at
  let end = first.until - arrivalMargin(slot) - guard(slot) - stallMs
  for (const ask of delivery.asks) {
    if (ask.kind !== "beat" || ask.sent.index > index) continue
    const askedMs = ask.timeoutSeconds! * 1000
    const until = ask.sent.at + askedMs - guard(askedMs) - stallMs
    if (ask.outcome === "done" && ask.ended!.index <= index) {
      // an answer that came after the end is of no use: the lease was lost by then
      if (ask.ended!.at >= end) break
      end = until
      // one that was cut short by hand may be so, though nobody said it
    } else if (ask.outcome !== "refused" || errorOf(ask)._tag === "ServiceError") end = Math.min(end, until)
  }
  return end
}

/** The last beat did not help: it had no success, or none in time. */
export const beatFailed = (delivery: Delivery): boolean => {
  const beat = delivery.asks.findLast((ask) => ask.kind === "beat")
  return beat !== undefined && (beat.outcome !== "done" || beat.ended!.at >= safeEnd(delivery, beat.ended!.index - 1))
}

/**
 * Until then the consumer may at most hold that the lease is its own: what SQS knows, or what it answered. An answer that
 * was long under way, or says that something was done that was not, is not the consumer's doing.
 */
export const heldUntil = (delivery: Delivery, index: number): number => {
  const first = delivery.deadlines[0]!
  const slot = first.until - first.from.at
  const arrived = delivery.arrived === undefined ? first.until : delivery.arrived.at - arrivalMargin(slot) + slot
  const told = delivery.asks.findLast((a) => a.kind === "beat" && a.outcome === "done" && a.ended!.index <= index)
  const answered = told === undefined ? arrived : told.sent.at + told.timeoutSeconds! * 1000
  return Math.max(leaseAt(delivery, index), answered)
}

export const isKnownDone = (ask: Ask): boolean => ask.outcome === "done"

const errorOf = (ask: Ask) =>
  fromCode({
    operation: ask.kind === "delete" ? "DeleteMessageBatch" : "ChangeMessageVisibilityBatch",
    queue: "",
    code: ask.code ?? "",
    detail: ask.detail ?? "",
    httpStatus: ask.status,
    senderFault: ask.senderFault
  })

/** Whether asking again can help; where no answer came it can. */
export const retryable = (ask: Ask): boolean =>
  ask.outcome === "lost" || ask.outcome === "interrupted" || ask.status === 0 || errorOf(ask).retryable

/** A refusal that tells that the delivery is not ours any more. */
export const tellsLoss = (ask: Ask): boolean =>
  (ask.outcome === "refused" || (ask.outcome === "failed" && ask.status !== 0)) &&
  ["MessageGone", "HandleInvalid", "QueueMissing"].includes(errorOf(ask)._tag)
