/**
 * The lives of messages, read from a journal: each delivery with its lease, its beats, its runs and its settlement. What
 * `Timeline` draws and `Invariants` checks.
 *
 * @since 0.1.0
 */
import { asksByHandle, classify, usualExtensions } from "./internal/asks.js"
import type { DeadLettered, JournalEntry, Received } from "./Journal.js"
import type { Ask, Deadline, Delivery, JournalView, MessageLife, Moment, Run } from "./JournalLife.js"

export type * from "./JournalLife.js"

/** A life while it is being read. */
interface Draft {
  readonly messageId: string
  sent: MessageLife["sent"]
  readonly deliveries: Array<Delivery>
  readonly deadLettered: Array<DeadLettered & { readonly index: number }>
  end: MessageLife["end"]
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Reads a journal. It takes time in proportion to its length; read once, query often.
 *
 * @since 0.1.0
 * @category constructors
 */
export const read = (entries: ReadonlyArray<JournalEntry>): JournalView => {
  const messages = new Map<string, Draft>()
  const deliveries: Array<Delivery> = []
  const runs: Array<Mutable<Run>> = []
  const byHandle = new Map<string, { deadlines: Array<Deadline>; runs: Array<Mutable<Run>> }>()
  const answered = answersOf(entries)
  const callers = callersOf(entries)
  const asks = asksByHandle(entries)

  const draft = (messageId: string): Draft => {
    let found = messages.get(messageId)
    if (found === undefined) {
      found = { messageId, sent: undefined, deliveries: [], deadLettered: [], end: undefined }
      messages.set(messageId, found)
    }
    return found
  }
  const receive = (entry: Received, index: number) => {
    const received = { at: entry.at, index }
    const lists = { deadlines: [{ from: received, until: entry.visibleAt }], runs: [] as Array<Mutable<Run>> }
    byHandle.set(entry.receiptHandle, lists)
    const delivery: Delivery = {
      messageId: entry.messageId,
      queue: entry.queue,
      groupId: entry.groupId,
      receiptHandle: entry.receiptHandle,
      receiveCount: entry.receiveCount,
      received,
      process: entry.call === undefined ? undefined : callers.get(entry.call),
      arrived: entry.call === undefined ? undefined : answered.get(entry.call),
      asks: asks.get(entry.receiptHandle) ?? [],
      ...lists
    }
    deliveries.push(delivery)
    draft(entry.messageId).deliveries.push(delivery)
  }

  entries.forEach((entry, index) => {
    switch (entry._tag) {
      case "Sent":
        draft(entry.messageId).sent ??= { ...entry, index }
        break
      case "Received":
        receive(entry, index)
        break
      case "VisibilityChanged":
        byHandle.get(entry.receiptHandle)?.deadlines.push({ from: { at: entry.at, index }, until: entry.visibleAt })
        break
      case "Deleted":
      case "Expired":
      case "Purged":
        draft(entry.messageId).end = { ...entry, index }
        break
      case "DeadLettered":
        draft(entry.messageId).deadLettered.push({ ...entry, index })
        break
      case "RunStarted": {
        const { messageId, receiptHandle } = entry
        const started = { at: entry.at, index }
        const run: Run = { messageId, receiptHandle, started, ended: undefined, outcome: undefined, reason: undefined }
        runs.push(run)
        byHandle.get(receiptHandle)?.runs.push(run)
        break
      }
      case "RunEnded": {
        const run = byHandle.get(entry.receiptHandle)?.runs.findLast((r) => r.ended === undefined)
        if (run !== undefined) {
          run.ended = { at: entry.at, index }
          run.outcome = entry.outcome
          run.reason = entry.reason
        }
        break
      }
    }
  })
  const usual = usualExtensions(deliveries)
  const classified = new Map(deliveries.map((d) => [d, { ...d, asks: classify(d, usual) }]))
  for (const life of messages.values()) life.deliveries.forEach((d, i) => (life.deliveries[i] = classified.get(d)!))
  return { entries, messages, deliveries: [...classified.values()], runs, handles: new Set(byHandle.keys()) }
}

/** Which process made each call. */
const callersOf = (entries: ReadonlyArray<JournalEntry>): Map<number, string | undefined> =>
  new Map(entries.flatMap((e) => (e._tag === "CallStarted" ? [[e.call, e.process]] : [])))

/** When each receive's answer reached its caller. */
const answersOf = (entries: ReadonlyArray<JournalEntry>): Map<number, Moment> => {
  const answers = new Map<number, Moment>()
  entries.forEach((entry, index) => {
    if (entry._tag === "CallEnded" && entry.outcome._tag === "Answered")
      answers.set(entry.call, { at: entry.at, index })
  })
  return answers
}

/**
 * The deliveries of a message, oldest first; none for an unknown id.
 *
 * @since 0.1.0
 * @category queries
 */
export const deliveriesOf = (view: JournalView, messageId: string): ReadonlyArray<Delivery> =>
  view.messages.get(messageId)?.deliveries ?? []

/**
 * The beats of all deliveries of a message, refused ones included, in the order in which they were sent.
 *
 * @since 0.1.0
 * @category queries
 */
export const beatsOf = (view: JournalView, messageId: string): ReadonlyArray<Ask> =>
  deliveriesOf(view, messageId)
    .flatMap((delivery) => delivery.asks.filter((ask) => ask.kind === "beat"))
    .sort((a, b) => a.sent.index - b.sent.index)

/**
 * The runs of all deliveries of a message, in the order in which they started.
 *
 * @since 0.1.0
 * @category queries
 */
export const runsOf = (view: JournalView, messageId: string): ReadonlyArray<Run> =>
  deliveriesOf(view, messageId)
    .flatMap((delivery) => delivery.runs)
    .sort((a, b) => a.started.index - b.started.index)

/**
 * Whether two runs of one message were ever under way at the same time.
 *
 * @since 0.1.0
 * @category queries
 */
export const runsOverlap = (view: JournalView, messageId: string): boolean =>
  runsOf(view, messageId).some((run, i, all) => all.slice(i + 1).some((later) => isWithin(later.started, run)))

/** Whether a moment lies in a run; its end does not. */
const isWithin = (moment: Moment, run: Run): boolean =>
  moment.index > run.started.index && (run.ended === undefined || moment.index < run.ended.index)

/**
 * What was asked to settle a delivery, in order: deletes and releases, tried again where they failed.
 *
 * @since 0.1.0
 * @category queries
 */
export const settlementsOf = (delivery: Delivery): ReadonlyArray<Ask> =>
  delivery.asks.filter((ask) => ask.kind !== "beat")

/**
 * The settlement that SQS carried out, `undefined` for none: not settled, left, or failed to the end.
 *
 * @since 0.1.0
 * @category queries
 */
export const settlementOf = (delivery: Delivery): Ask | undefined =>
  delivery.asks.find((ask) => ask.kind !== "beat" && (ask.tookEffect || ask.outcome === "done"))

/**
 * Until when a delivery's message was to stay hidden, as things stood at a moment (that moment included).
 *
 * @since 0.1.0
 * @category queries
 */
export const deadlineAt = (delivery: Delivery, index: number): number =>
  (delivery.deadlines.findLast((deadline) => deadline.from.index <= index) ?? delivery.deadlines[0]!).until
