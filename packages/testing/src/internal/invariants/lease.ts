/** Checks of leases: their beats, and the runs under them. */
import { type Delivery, type Run, settlementsOf } from "../../JournalQuery.js"
import { type Check, type Facts, type Finding, graceOf, heldUntil, ofDelivery, seconds } from "./facts.js"

/** 12 hours: what SQS allows a delivery in all. */
const LIMIT_MS = 43_200_000

const beatsOf = (delivery: Delivery) => delivery.asks.filter((ask) => ask.kind === "beat")

export const noBeatAfterSettlement: Check = ({ deliveries }) =>
  deliveries.flatMap((delivery) => {
    const settlement = settlementsOf(delivery)[0]
    if (settlement === undefined) return []
    return beatsOf(delivery).flatMap((beat): Array<Finding> => {
      if (beat.sent.index > settlement.sent.index) {
        return [ofDelivery(delivery, beat.sent.at, `beat sent after the ${settlement.kind}`)]
      }
      return beat.ended === undefined || beat.ended.index > settlement.sent.index
        ? [ofDelivery(delivery, settlement.sent.at, `${settlement.kind} sent while a beat was on the wire`)]
        : []
    })
  })

export const oneBeatAtATime: Check = ({ deliveries }) =>
  deliveries.flatMap((delivery) =>
    beatsOf(delivery).flatMap((beat, i, beats) => {
      const before = beats[i - 1]
      return before !== undefined && (before.ended === undefined || before.ended.index > beat.sent.index)
        ? [ofDelivery(delivery, beat.sent.at, "beat sent while another was on the wire")]
        : []
    })
  )

export const withinTwelveHours: Check = ({ deliveries }) =>
  deliveries.flatMap((delivery) =>
    delivery.asks.flatMap((ask) => {
      if (ask.timeoutSeconds === undefined) return []
      const total = ask.sent.at + ask.timeoutSeconds * 1000 - delivery.received.at
      return total > LIMIT_MS
        ? [
            ofDelivery(
              delivery,
              ask.sent.at,
              `${ask.kind} asks for ${seconds(total)} since the receive; SQS allows 43200 s`
            )
          ]
        : []
    })
  )

export const startsUnderLease: Check = ({ deliveries, expectations }) =>
  deliveries.flatMap((delivery) =>
    // who may go on without a lease may try again without one
    delivery.runs.slice(0, expectations.onLeaseLost === "continue" ? 1 : Infinity).flatMap((run) => {
      const lease = heldUntil(delivery, run.started.index)
      return run.started.at >= lease
        ? [
            ofDelivery(
              delivery,
              run.started.at,
              `run started ${seconds(run.started.at - lease)} after its lease had run out`
            )
          ]
        : []
    })
  )

export const endsWithLease: Check = (facts) => {
  if (facts.expectations.onLeaseLost === "continue") return []
  return facts.deliveries.flatMap((delivery) =>
    delivery.runs.flatMap((run) => {
      const late = (run.ended?.at ?? facts.end) - heldUntil(delivery, run.ended?.index ?? Infinity)
      return late > graceOf(facts)
        ? [
            ofDelivery(
              delivery,
              run.ended?.at ?? facts.end,
              `run went on for ${seconds(late)} after its lease had run out`
            )
          ]
        : []
    })
  )
}

export const oneRunAtATime: Check = (facts) => {
  const byMessage = new Map<string, Array<{ readonly delivery: Delivery; readonly run: Run }>>()
  for (const delivery of facts.deliveries) {
    for (const run of delivery.runs) {
      const list = byMessage.get(delivery.messageId)
      if (list === undefined) byMessage.set(delivery.messageId, [{ delivery, run }])
      else list.push({ delivery, run })
    }
  }
  const findings: Array<Finding> = []
  for (const runs of byMessage.values()) {
    runs.sort((a, b) => a.run.started.index - b.run.started.index)
    runs.forEach((first, i) => {
      for (const second of runs.slice(i + 1)) {
        if (first.run.ended !== undefined && first.run.ended.index < second.run.started.index) continue
        if (isOurs(facts, first.delivery, second)) {
          const text = `run started while a run of delivery ${first.delivery.receiptHandle} went on`
          findings.push(ofDelivery(second.delivery, second.run.started.at, text))
        }
      }
    })
  }
  return findings
}

/** SQS may hand out a message that is hidden; that two runs then overlap is not the consumer's doing. */
const isOurs = (facts: Facts, first: Delivery, second: { readonly delivery: Delivery; readonly run: Run }): boolean => {
  if (first === second.delivery) return true
  if (facts.expectations.onLeaseLost === "continue") return false
  const lease = heldUntil(first, second.delivery.received.index)
  return second.delivery.received.at >= lease && second.run.started.at > lease + graceOf(facts)
}
