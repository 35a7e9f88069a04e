/** The check of order inside the groups of a FIFO queue. */
import type { Delivery, MessageLife, Run } from "../../JournalQuery.js"
import { type Check, type Finding, isKnownDone, leaseAt, ofDelivery } from "./facts.js"

export const groupOrder: Check = ({ deliveries, expectations, view }) => {
  if (expectations.kind !== "fifo") return []
  const groups = new Map<string, Array<MessageLife>>()
  for (const life of view.messages.values()) {
    const { sent } = life
    if (sent?.groupId === undefined) continue
    const key = JSON.stringify([sent.queue, sent.groupId])
    const list = groups.get(key)
    if (list === undefined) groups.set(key, [life])
    else list.push(life)
  }
  const mine = new Set(deliveries)
  return [...groups.values()].flatMap((lives) => ofGroup(lives, mine))
}

const ofGroup = (lives: ReadonlyArray<MessageLife>, mine: ReadonlySet<Delivery>): Array<Finding> => {
  const findings: Array<Finding> = []
  const open: Array<{ readonly delivery: Delivery; readonly run: Run }> = []
  /** messages before this one are gone for good */
  let settled = 0
  const runs = lives
    .flatMap((life, position) =>
      life.deliveries
        .filter((delivery) => mine.has(delivery))
        .flatMap((delivery) => delivery.runs.map((run) => ({ position, delivery, run })))
    )
    .sort((a, b) => a.run.started.index - b.run.started.index)
  for (const current of runs) {
    const { delivery, position, run } = current
    const { at, index } = run.started
    // two runs of one message are no matter of order: `oneRunAtATime` looks at them
    const other = open.find(
      (o) => o.delivery.messageId !== delivery.messageId && (o.run.ended === undefined || o.run.ended.index > index)
    )
    // what a consumer may still believe when SQS has ended a lease is for `startsUnderLease`
    if (
      other !== undefined &&
      isLeased(other.delivery, lives, at, index) &&
      isLeased(delivery, lives, at, index) &&
      !wasMoved(other.delivery, lives, delivery)
    ) {
      findings.push(ofDelivery(delivery, at, `run started while ${other.delivery.messageId} of its group was running`))
    }
    while (settled < position && isGone(lives[settled]!, delivery, index)) settled++
    /** what was given out since it was removed, and stands between, tells that it is gone: also when it was not run */
    const isTold = (life: MessageLife, i: number) =>
      lives
        .slice(i + 1, position)
        .some((later) =>
          later.deliveries.some(
            (d) => mine.has(d) && d.arrived !== undefined && d.arrived.index < index && isGone(life, d, index)
          )
        )
    const before = lives
      .slice(settled, position)
      .find((life, i) => life.deliveries.length > 0 && !isGone(life, delivery, index) && !isTold(life, settled + i))
    if (before !== undefined) {
      findings.push(ofDelivery(delivery, at, `run started before ${before.messageId} of its group was confirmed`))
    }
    open.push(current)
    if (open.length > 64)
      open.splice(0, open.length, ...open.filter((o) => o.run.ended === undefined || o.run.ended.index > index))
  }
  return findings
}

/** SQS has neither let its lease end nor handed the message out again, whoever made it do so. */
const isLeased = (delivery: Delivery, lives: ReadonlyArray<MessageLife>, at: number, index: number): boolean =>
  at < leaseAt(delivery, index) &&
  !lives.some(
    (life) =>
      life.messageId === delivery.messageId &&
      life.deliveries.some((d) => d.received.index > delivery.received.index && d.received.index < index)
  )

/** Somebody else's handle ended its lease, and SQS moved it away before it gave out the next. */
const wasMoved = (running: Delivery, lives: ReadonlyArray<MessageLife>, next: Delivery): boolean =>
  lives.some(
    (life) =>
      life.messageId === running.messageId &&
      life.deadLettered.some((d) => d.index > running.received.index && d.index < next.received.index)
  )

/** A message is out of the way when its deletion was confirmed, or when SQS had removed it before it gave out the next. */
const isGone = (life: MessageLife, next: Delivery, index: number): boolean =>
  (life.end !== undefined && life.end.index < next.received.index) ||
  life.deadLettered.some((d) => d.index < next.received.index) ||
  life.deliveries.some((d) => d.asks.some((a) => a.kind === "delete" && isKnownDone(a) && a.ended!.index < index))
