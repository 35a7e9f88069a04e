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

export const isKnownDone = (ask: Ask): boolean => ask.outcome === "done"

/** Whether asking again can help; where no answer came it can. */
export const retryable = (ask: Ask): boolean =>
  ask.outcome === "lost" ||
  ask.outcome === "interrupted" ||
  ask.status === 0 ||
  fromCode({
    operation: ask.kind === "delete" ? "DeleteMessageBatch" : "ChangeMessageVisibilityBatch",
    queue: "",
    code: ask.code ?? "",
    detail: ask.detail ?? "",
    httpStatus: ask.status,
    senderFault: ask.senderFault
  }).retryable

/** A refusal that tells that the delivery is not ours any more. */
export const tellsLoss = (ask: Ask): boolean =>
  (ask.outcome === "refused" || ask.outcome === "failed") && !retryable(ask)
