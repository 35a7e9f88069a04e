/** Checks of how deliveries are settled. */
import { type Ask, type Delivery, settlementsOf } from "../../JournalQuery.js"
import {
  beatFailed,
  type Check,
  type Facts,
  type Finding,
  heldUntil,
  isKnownDone,
  ofDelivery,
  retryable,
  safeEnd,
  seconds,
  tellsLoss
} from "./facts.js"

/** A settlement that failed for good reason to try again is not given up with more lease left than this. */
const GIVE_UP_MARGIN_MS = 10_000

export const deletedOnlyAfterSuccess: Check = (facts) => {
  const { deliveries, expectations, view } = facts
  const copies = view.entries.flatMap((e, index) =>
    e._tag === "Sent" && e.queue === expectations.deadLetterQueue ? [index] : []
  )
  const copied = new Set<string>()
  const hasCopy = (messageId: string, before: number): boolean => {
    if (!copied.has(messageId) && copies.filter((index) => index < before).length > copied.size) copied.add(messageId)
    return copied.has(messageId)
  }
  const isFinished = (messageId: string, before: number) =>
    view.messages
      .get(messageId)!
      .deliveries.some((d) => d.runs.some((r) => r.outcome === "success" && r.ended!.index < before))
  // by this delivery, or by one before it whose delete had failed
  const hasRun = (messageId: string, before: number) =>
    view.messages
      .get(messageId)!
      .deliveries.some((d) => d.runs.some((r) => r.ended !== undefined && r.ended.index < before))
  const isAllowed = ({ messageId }: Delivery, index: number) =>
    isFinished(messageId, index) ||
    (expectations.policyDeletes === true &&
      (expectations.neverRuns?.(messageId) === true || hasRun(messageId, index))) ||
    hasCopy(messageId, index)
  return deliveries
    .flatMap((delivery) => delivery.asks.map((ask) => ({ delivery, ask })))
    .filter(({ ask }) => ask.kind === "delete")
    .sort((a, b) => a.ask.sent.index - b.ask.sent.index)
    .filter(({ ask, delivery }) => !isAllowed(delivery, ask.sent.index))
    .map(({ ask, delivery }) => ofDelivery(delivery, ask.sent.at, "deleted, and no run of the message had succeeded"))
}

export const settledAfterRun: Check = ({ deliveries, expectations }) =>
  deliveries.flatMap((delivery) =>
    settlementsOf(delivery)
      .filter((ask) =>
        delivery.runs.some(
          (run) => run.started.index < ask.sent.index && (run.ended === undefined || run.ended.index > ask.sent.index)
        )
      )
      // at the end of a drain a handler that cannot be interrupted is abandoned, and its message given back
      .filter(({ kind, sent }) => kind !== "release" || !(sent.at >= (expectations.stoppedAt ?? Infinity)))
      .map((ask) => ofDelivery(delivery, ask.sent.at, `${ask.kind} sent while its handler was running`))
  )

export const settledOnce: Check = ({ deliveries, view }) => [
  ...deliveries.flatMap((delivery) => {
    const settlements = settlementsOf(delivery)
    return settlements.slice(1).flatMap((ask, i): Array<Finding> => {
      const earlier = settlements.slice(0, i + 1)
      const overlaps = earlier.some((e) => e.ended === undefined || e.ended.index > ask.sent.index)
      if (overlaps)
        return [ofDelivery(delivery, ask.sent.at, `${ask.kind} sent before the settlement before it was answered`)]
      return earlier.some(isKnownDone)
        ? [ofDelivery(delivery, ask.sent.at, `${ask.kind} sent after the delivery had been settled`)]
        : []
    })
  }),
  ...view.entries.flatMap((entry): Array<Finding> => {
    if (entry._tag !== "CallStarted" || !/^(Delete|ChangeVis|ChangeMessageVis)/.test(entry.operation)) return []
    return (entry.input.entries ?? [])
      .filter((e) => e.messageId === undefined && !view.handles.has(e.receiptHandle ?? ""))
      .map((e) => ({
        messageId: undefined,
        at: entry.at,
        text: `${entry.operation} with a handle of no message: ${e.receiptHandle}`
      }))
  })
]

export const retriedByClass: Check = (facts) =>
  facts.deliveries.flatMap((delivery) => {
    const settlements = settlementsOf(delivery)
    return settlements.flatMap((ask, i): Array<Finding> => {
      if (ask.outcome === "done" || ask.outcome === "open" || ask.ended === undefined) return []
      const next = settlements[i + 1]
      if (next === undefined) return givenUp(facts, delivery, ask)
      if (!retryable(ask))
        return [ofDelivery(delivery, next.sent.at, `${ask.kind} tried again after ${ask.code}, which cannot help`)]
      return next.sent.at <= ask.ended.at
        ? [ofDelivery(delivery, next.sent.at, `${ask.kind} tried again without a pause`)]
        : []
    })
  })

const givenUp = ({ end, expectations }: Facts, delivery: Delivery, ask: Ask): Array<Finding> => {
  if (expectations.drained !== true || expectations.clockJumps === true || !retryable(ask) || ask.ended === undefined)
    return []
  // the consumer goes by what it was told: an extension whose answer was lost is none
  const left = safeEnd(delivery, ask.ended.index) - ask.ended.at
  const until = Math.min(end, expectations.stoppedAt ?? Infinity)
  const { stallMs = 0 } = expectations
  return left > GIVE_UP_MARGIN_MS + stallMs && until > ask.ended.at + GIVE_UP_MARGIN_MS
    ? [
        ofDelivery(
          delivery,
          ask.ended.at,
          `${ask.kind} given up after ${ask.code ?? ask.outcome}, with ${seconds(left)} of lease left`
        )
      ]
    : []
}

/**
 * What was received and is not settled is visible again, or on its way back by itself: its lease was lost. A lease that the
 * consumer held, and let go without a word, hides a message for nobody.
 */
export const nothingStranded: Check = (facts) => {
  const { deliveries, end, expectations } = facts
  if (expectations.drained !== true || expectations.clockJumps === true) return []
  return deliveries.flatMap((delivery): Array<Finding> => {
    if (delivery.arrived === undefined) return []
    const open = delivery.runs.find((run) => run.ended === undefined)
    if (open !== undefined) return [ofDelivery(delivery, open.started.at, "its run has not ended")]
    if (settlementsOf(delivery).length > 0) return []
    const mayBeOver = (index: number) => safeEnd(delivery, index, expectations.stallMs)
    const refused = delivery.asks.find((ask) => ask.kind === "beat" && tellsLoss(ask))?.ended
    const ranOut = mayBeOver(Infinity) <= end && (expectations.mayRunOut === true || beatFailed(delivery))
    const last = delivery.runs.at(-1)
    if (last?.ended === undefined) {
      // the policy decides of what cannot be decoded
      const isBad = expectations.neverRuns?.(delivery.messageId) === true
      const left = isBad && (expectations.leaves === true || copyFailed(facts, delivery))
      return refused !== undefined || ranOut || left
        ? []
        : [ofDelivery(delivery, delivery.arrived.at, "neither run nor given back")]
    }
    const { ended, outcome } = last
    const goesOn = outcome === "success" && expectations.onLeaseLost === "continue"
    const lost =
      !goesOn && ((refused !== undefined && refused.index < ended.index) || mayBeOver(ended.index) <= ended.at)
    // a success is deleted at once, whatever becomes of the lease; the rest may have to wait
    const late = outcome !== "success" && (ranOut || refused !== undefined || copyFailed(facts, delivery))
    if (lost || late || (expectations.leaves === true && outcome !== "success")) return []
    return [ofDelivery(delivery, ended.at, `its run ended (${outcome}), and it was not settled`)]
  })
}

/** A copy for the dead-letter queue was not accepted while the lease lasted. */
const copyFailed = ({ end, expectations, view }: Facts, delivery: Delivery): boolean => {
  const { deadLetterQueue } = expectations
  const from = (delivery.runs.at(-1)?.ended ?? delivery.arrived!).at
  const to = heldUntil(delivery, Infinity)
  return (
    deadLetterQueue !== undefined &&
    safeEnd(delivery, Infinity) <= end &&
    view.entries.some(
      (e) =>
        e._tag === "CallEnded" &&
        e.queue === deadLetterQueue &&
        e.at >= from &&
        e.startedAt <= to &&
        (e.outcome._tag !== "Answered" || e.outcome.refused.length > 0)
    )
  )
}

export const noBeatAfterLoss: Check = ({ deliveries }) =>
  deliveries.flatMap((delivery) => {
    const loss = delivery.asks.find((ask) => ask.kind === "beat" && tellsLoss(ask))
    const told = loss?.ended?.index
    if (loss === undefined || told === undefined) return []
    const ended = delivery.runs.at(-1)?.ended?.index ?? Infinity
    return (
      delivery.asks
        .filter((ask) => ask.sent.index > told && ask !== loss)
        // a settlement that was on its way when the news came may follow it
        .filter((ask) => ask.kind === "beat" || (ask.kind === "release" && told < ended))
        .map((ask) =>
          ofDelivery(delivery, ask.sent.at, `${ask.kind} sent after ${loss.code} had told that the lease is lost`)
        )
    )
  })
