/** What happened to one message, as sentences in their order. */
import type { Ask, Delivery, MessageLife, Run } from "../JournalQuery.js"
import { receives } from "./words.js"

export interface TimelineEvent {
  /** epoch ms */
  readonly at: number
  readonly index: number
  /** number of the delivery, from 1 */
  readonly delivery: number | undefined
  readonly text: string
}

/** As `+1.500 s`, from the start of the life. */
export const relative = (ms: number): string => `${ms < 0 ? "−" : "+"}${(Math.abs(ms) / 1000).toFixed(3)} s`

/** The first moment of a life, epoch ms. */
export const startOf = (life: MessageLife): number =>
  life.sent?.at ?? life.deliveries[0]?.received.at ?? life.end?.at ?? 0

/** When a delivery's lease ran out unsettled, epoch ms; `undefined` when it did not, as far as the life tells. */
export const ranOutAt = (delivery: Delivery, until: number): number | undefined => {
  const last = delivery.deadlines.at(-1)!
  const settled = delivery.asks.some((ask) => ask.kind !== "beat" && ask.tookEffect)
  return !settled && last.until <= until ? last.until : undefined
}

/** The last moment that a life tells of, epoch ms. */
export const endOf = (life: MessageLife): number =>
  Math.max(
    startOf(life),
    life.end?.at ?? 0,
    ...life.deadLettered.map((d) => d.at),
    ...life.deliveries.flatMap((d) => [
      d.received.at,
      d.arrived?.at ?? 0,
      ...d.asks.map((ask) => ask.ended?.at ?? ask.sent.at),
      ...d.runs.map((run) => run.ended?.at ?? run.started.at)
    ])
  )

const say = (ask: Ask, delivery: Delivery, zero: number): string => {
  const what =
    ask.kind === "delete"
      ? "delete"
      : ask.kind === "beat"
        ? `beat, ${ask.timeoutSeconds} s`
        : ask.timeoutSeconds === 0
          ? "release at once"
          : `release after ${ask.timeoutSeconds} s`
  const took = ask.ended !== undefined && ask.ended.at > ask.sent.at ? ` (${relative(ask.ended.at - ask.sent.at)})` : ""
  const deadline = ask.tookEffect
    ? delivery.deadlines.find((d) => d.from.index > ask.sent.index && d.from.index < (ask.ended?.index ?? Infinity))
    : undefined
  const effect = deadline === undefined ? "" : `: hidden until ${relative(deadline.until - zero)}`
  switch (ask.outcome) {
    case "done":
      return `${what}${effect}${took}`
    case "lost":
      return `${what}${effect}, but the answer was lost${took}`
    case "open":
      return `${what}${effect}, no answer`
    case "interrupted":
      return `${what}, given up by the caller${took}`
    default:
      return `${what}: ${ask.outcome}, ${ask.code}: ${ask.detail}${took}`
  }
}

const ofDelivery = (delivery: Delivery, number: number, zero: number, end: number): Array<TimelineEvent> => {
  const event = (at: number, index: number, text: string): TimelineEvent => ({ at, index, delivery: number, text })
  const { arrived, received } = delivery
  const hidden = `hidden until ${relative(delivery.deadlines[0]!.until - zero)}`
  const lag =
    arrived === undefined
      ? ", the answer never arrived"
      : arrived.at > received.at
        ? `, arrived ${relative(arrived.at - zero)}`
        : ""
  const ranOut = ranOutAt(delivery, end)
  return [
    event(received.at, received.index, `received, receive count ${delivery.receiveCount}, ${hidden}${lag}`),
    ...delivery.asks.map((ask) => event(ask.sent.at, ask.sent.index, say(ask, delivery, zero))),
    ...delivery.runs.flatMap((run) => ofRun(run, event)),
    ...(ranOut === undefined ? [] : [event(ranOut, Infinity, "the lease ran out")])
  ]
}

const ofRun = (run: Run, event: (at: number, index: number, text: string) => TimelineEvent): Array<TimelineEvent> => {
  const started = event(run.started.at, run.started.index, "run starts")
  if (run.ended === undefined) return [started]
  const reason = run.reason === undefined ? "" : `: ${run.reason}`
  return [started, event(run.ended.at, run.ended.index, `run ends, ${run.outcome}${reason}`)]
}

export const eventsOf = (life: MessageLife): ReadonlyArray<TimelineEvent> => {
  const zero = startOf(life)
  const until = endOf(life)
  const events: Array<TimelineEvent> = []
  const add = (at: number, index: number, text: string) => events.push({ at, index, delivery: undefined, text })
  if (life.sent !== undefined) add(life.sent.at, life.sent.index, `sent to ${life.sent.queue}`)
  life.deliveries.forEach((delivery, i) => events.push(...ofDelivery(delivery, i + 1, zero, until)))
  for (const d of life.deadLettered)
    add(d.at, d.index, `moved to ${d.target} by SQS, after ${receives(d.receiveCount)}`)
  const { end } = life
  if (end !== undefined) add(end.at, end.index, `${end._tag.toLowerCase()}: gone from ${end.queue}`)
  return events.sort((a, b) => a.at - b.at || a.index - b.index)
}
