/** Checks of how much a consumer takes on, and of its stop. */
import { type Delivery, type Moment, settlementsOf } from "../../JournalQuery.js"
import type { Expectations } from "../../Expectations.js"
import { arrivalMargin, beatFailed, type Check, type Finding, ofDelivery, safeEnd, tellsLoss } from "./facts.js"
import { receives } from "../words.js"

/**
 * How soon a delivery that is not wanted any more is given back, once no receive is open that could take it straight back.
 * In a FIFO group one goes after the other.
 */
const GIVE_BACK_MS = { standard: 1000, fifo: 5000 }

interface Step {
  readonly at: number
  readonly index: number
  readonly change: 1 | -1
  readonly delivery: Delivery
}

/** The first step at which more than `limit` are open; time runs out before anything else of the same instant. */
const firstAbove = (steps: Array<Step>, limit: number, text: (open: number) => string): Array<Finding> => {
  steps.sort((a, b) => a.at - b.at || a.index - b.index)
  let open = 0
  for (const { at, change, delivery } of steps) {
    open += change
    if (open > limit) return [ofDelivery(delivery, at, text(open))]
  }
  return []
}

export const runningWithinConcurrency: Check = ({ deliveries, expectations: { concurrency } }) => {
  if (concurrency === undefined) return []
  const steps = deliveries.flatMap((delivery) =>
    delivery.runs.flatMap(({ ended, started }): Array<Step> => [
      { ...started, change: 1, delivery },
      ...(ended === undefined ? [] : [{ ...ended, change: -1 as const, delivery }])
    ])
  )
  return firstAbove(
    steps,
    concurrency,
    (open) => `run started as number ${open} at once; concurrency is ${concurrency}`
  )
}

export const inHandWithinBounds: Check = ({
  deliveries,
  expectations: { clockJumps, concurrency, kind, limitMs = Infinity, neverRuns, prefetch = 0, stallMs = 0 },
  view
}) => {
  // without runs in the journal nothing tells when a slot is free
  if (concurrency === undefined || clockJumps === true || view.runs.length === 0) return []
  const limit = concurrency + prefetch
  const failures = kind === "fifo" ? groupFailures(deliveries, stallMs) : undefined
  const steps = deliveries.flatMap((delivery): Array<Step> => {
    const { arrived } = delivery
    if (arrived === undefined) return []
    // what cannot be decoded may be left as soon as it is there, and nothing tells of that
    if (neverRuns?.(delivery.messageId) === true && settlementsOf(delivery).length === 0) return []
    // work that was done before is deleted on arrival, without a place
    const wasDone = view.messages
      .get(delivery.messageId)!
      .deliveries.some(
        (d) =>
          d.runs.some((r) => r.outcome === "success" && r.ended!.index < arrived.index) ||
          d.asks.some((ask) => ask.kind === "delete" && ask.sent.index < arrived.index)
      )
    if (wasDone && delivery.runs.length === 0) return []
    const end = placeFree(delivery, failures?.get(delivery.groupId) ?? [], limitMs, stallMs)
    if (end === undefined) return [{ ...arrived, change: 1, delivery }]
    if (end.at < arrived.at || (end.at === arrived.at && end.index < arrived.index)) return []
    return [
      { ...arrived, change: 1, delivery },
      { ...end, change: -1, delivery }
    ]
  })
  return firstAbove(
    steps,
    limit,
    (open) => `received as number ${open} in hand; concurrency and prefetch allow ${limit}`
  )
}

/**
 * When a delivery's place was free again: its handler had ended, or it was on its way back without having run, or its lease
 * had ended before it could run.
 */
const placeFree = (
  delivery: Delivery,
  groupFails: ReadonlyArray<Moment>,
  limitMs: number,
  stallMs: number
): Moment | undefined => {
  const { arrived, deadlines, received, runs } = delivery
  if (runs.length > 0) return runs.at(-1)!.ended
  const moments = [
    settlementsOf(delivery)[0]?.sent,
    delivery.asks.find((ask) => ask.kind === "beat" && tellsLoss(ask))?.ended,
    groupFails.find((m) => (m.index < 0 ? m.at >= arrived!.at : m.index > arrived!.index)),
    { at: mayEnd(delivery, stallMs), index: -1 },
    { at: received.at - arrivalMargin(deadlines[0]!.until - received.at) + limitMs, index: -1 }
  ]
  return moments.filter((m) => m !== undefined).sort((a, b) => a.at - b.at || a.index - b.index)[0]
}

/** When a lease that is not extended may be over: for a process that slept as soon as it learns of it. */
const mayEnd = (delivery: Delivery, stallMs: number): number =>
  Math.max(safeEnd(delivery, Infinity) - stallMs, delivery.arrived?.at ?? 0)

/**
 * When a group lost its order: a run of it ended without success, or a lease of it was lost, or it was not deleted. What
 * waits behind it is no longer in hand, it is on its way back.
 */
const groupFailures = (
  deliveries: ReadonlyArray<Delivery>,
  stallMs: number
): ReadonlyMap<string | undefined, ReadonlyArray<Moment>> => {
  const failures = new Map<string | undefined, Array<Moment>>()
  for (const delivery of deliveries) {
    const { asks, groupId, runs } = delivery
    if (groupId === undefined) continue
    const ends = runs.flatMap(({ ended, outcome }) => (ended === undefined || outcome === "success" ? [] : [ended]))
    const moments = [
      ...ends,
      ...asks.flatMap((ask) => (ask.kind === "release" ? [ask.sent] : ask.ended && tellsLoss(ask) ? [ask.ended] : [])),
      ...(asks.some((ask) => ask.kind !== "beat" && ask.outcome === "done")
        ? []
        : [{ at: mayEnd(delivery, stallMs), index: -1 }])
    ]
    failures.set(groupId, [...(failures.get(groupId) ?? []), ...moments])
  }
  for (const ends of failures.values()) ends.sort((a, b) => a.at - b.at || a.index - b.index)
  return failures
}

export const stopRunsNothing: Check = ({
  deliveries,
  end,
  expectations: { kind = "standard", neverRuns, process, queue, stallMs = 0, stoppedAt },
  view
}) => {
  if (stoppedAt === undefined) return []
  // nothing is received after the stop, so these are the receives that were open then
  const openReceives = new Set<number>()
  let lastAnswer = 0
  for (const e of view.entries) {
    if (e._tag === "CallStarted" && e.operation === "ReceiveMessage") {
      const isMeant = (queue === undefined || e.queue === queue) && (process === undefined || e.process === process)
      if (isMeant) openReceives.add(e.call)
    } else if (e._tag === "CallEnded" && openReceives.has(e.call)) lastAnswer = e.at
  }
  return deliveries.flatMap((delivery): Array<Finding> => {
    // a later one is a retry inside the same delivery
    const run = delivery.runs[0]
    if (run !== undefined && run.started.at > stoppedAt)
      return [ofDelivery(delivery, run.started.at, "run started after the stop")]
    const { arrived } = delivery
    if (arrived === undefined || arrived.at <= stoppedAt || delivery.runs.length > 0) return []
    // a policy decides of what cannot be decoded, and that may take its time
    if (neverRuns?.(delivery.messageId) === true) return []
    const given = settlementsOf(delivery)[0]?.sent.at ?? end
    const soon = Math.max(arrived.at, lastAnswer) + GIVE_BACK_MS[kind]
    // a beat was on the wire then, and its answer had to be waited for
    const beat = delivery.asks.findLast((ask) => ask.kind === "beat" && ask.sent.at <= soon)?.ended?.at ?? 0
    const latest = Math.max(soon, beat)
    // its lease had ended before
    if (settlementsOf(delivery).length === 0 && safeEnd(delivery, Infinity, stallMs) <= latest) return []
    return given > latest
      ? [ofDelivery(delivery, arrived.at, "arrived after the stop and was not given back at once")]
      : []
  })
}

/** Lost, or given back, though the consumer did what it could: it ran out, its beats failed, or it reached the limit. */
const isForced = (delivery: Delivery, { limitMs = Infinity, mayRunOut, process }: Expectations): boolean => {
  if (process !== undefined && delivery.process !== process) return true
  const settled = settlementsOf(delivery)[0]
  if (settled !== undefined && settled.sent.at - delivery.received.at >= limitMs - LIMIT_MARGIN_MS) return true
  return (mayRunOut === true && settled === undefined) || beatFailed(delivery)
}

/** A limit counts from what the consumer takes for the receive, and ends a lease a little early. */
const LIMIT_MARGIN_MS = 2000

export const neverRanNeverDead: Check = ({ expectations, view }) =>
  [...view.messages.values()].flatMap((life) => {
    const moved = life.deadLettered.find((d) => expectations.queue === undefined || d.queue === expectations.queue)
    if (moved === undefined || view.runs.length === 0 || expectations.neverRuns?.(life.messageId) === true) return []
    const deliveries = life.deliveries.filter((d) => d.queue === moved.queue)
    // an answer that never arrived burned one too, and nobody could have run it
    const burned = deliveries.filter((d) => d.arrived !== undefined && !isForced(d, expectations)).length
    return burned > deliveries.length / 2 && deliveries.every((d) => d.runs.length === 0)
      ? [
          {
            messageId: life.messageId,
            at: moved.at,
            text: `moved to ${moved.target} after ${receives(moved.receiveCount)}, and it never ran`
          }
        ]
      : []
  })
