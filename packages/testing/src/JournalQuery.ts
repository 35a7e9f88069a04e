/**
 * The lives of messages, read from a journal: each delivery with its lease, its beats, its runs and its settlement. What
 * `Timeline` draws and `Invariants` checks.
 *
 * @since 0.1.0
 */
import { asksByHandle, classify, usualExtensions } from "./internal/asks.js"
import type { DeadLettered, Deleted, Expired, JournalEntry, Purged, Received, Sent } from "./Journal.js"

/**
 * A time, and the place in the journal, which orders what happened in the same millisecond.
 *
 * @since 0.1.0
 * @category models
 */
export interface Moment {
  /** epoch ms */
  readonly at: number
  readonly index: number
}

/**
 * One thing that was asked of SQS for one delivery: an entry of a batch, or a single call. `beat`: the lease is extended;
 * `release`: the message is given back; `delete`.
 *
 * A change of visibility to more than 0 is taken for a beat while a handler runs. Else it is a release if it is the last
 * that was asked for a delivery that is not deleted, or asks for what no beat asks; of a delivery that never ran, only if it
 * shortens the lease or asks for what no beat asks. So releases with a delay need runs in the journal (`Tracking`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Ask {
  readonly kind: "beat" | "release" | "delete"
  readonly call: number
  readonly sent: Moment
  /** when the answer, or the news that none will come, reached the caller; `undefined`: not yet */
  readonly ended: Moment | undefined
  readonly timeoutSeconds: number | undefined
  readonly outcome: "done" | "refused" | "failed" | "lost" | "interrupted" | "open"
  /** of `refused` and `failed` */
  readonly code: string | undefined
  readonly detail: string | undefined
  /** of `failed`: the HTTP status; 0 when the connection broke */
  readonly status: number | undefined
  /** of `refused` */
  readonly senderFault: boolean | undefined
  /** SQS did it, whether or not the caller knows */
  readonly tookEffect: boolean
}

/**
 * A span of the lease: from `from` on the message is hidden until `until`, unless the next one says otherwise.
 *
 * @since 0.1.0
 * @category models
 */
export interface Deadline {
  readonly from: Moment
  /** epoch ms */
  readonly until: number
}

/**
 * One execution of the handler. `ended` is `undefined` while it goes on.
 *
 * @since 0.1.0
 * @category models
 */
export interface Run {
  readonly messageId: string
  readonly receiptHandle: string
  readonly started: Moment
  readonly ended: Moment | undefined
  readonly outcome: "success" | "failure" | "defect" | "interrupted" | undefined
  readonly reason: string | undefined
}

/**
 * One receive of a message and what became of it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Delivery {
  readonly messageId: string
  readonly queue: string
  readonly groupId: string | undefined
  readonly receiptHandle: string
  readonly receiveCount: number
  readonly received: Moment
  /** when the answer of the receive reached the caller; `undefined`: it never did, or has not yet */
  readonly arrived: Moment | undefined
  /** the receive's own first, then what beats and releases made of it */
  readonly deadlines: ReadonlyArray<Deadline>
  readonly asks: ReadonlyArray<Ask>
  readonly runs: ReadonlyArray<Run>
}

/**
 * One message from its sending to its end, under one id; a redrive policy takes the id along to the dead-letter queue.
 *
 * @since 0.1.0
 * @category models
 */
export interface MessageLife {
  readonly messageId: string
  readonly sent: (Sent & { readonly index: number }) | undefined
  readonly deliveries: ReadonlyArray<Delivery>
  readonly deadLettered: ReadonlyArray<DeadLettered & { readonly index: number }>
  /** deleted, expired or purged; `undefined`: still there */
  readonly end: ((Deleted | Expired | Purged) & { readonly index: number }) | undefined
}

/**
 * A journal, read once.
 *
 * @since 0.1.0
 * @category models
 */
export interface JournalView {
  readonly entries: ReadonlyArray<JournalEntry>
  /** by message id, in the order of their first appearance */
  readonly messages: ReadonlyMap<string, MessageLife>
  /** of all messages, in the order of their receives */
  readonly deliveries: ReadonlyArray<Delivery>
  readonly runs: ReadonlyArray<Run>
  /** receipt handles that were handed out */
  readonly handles: ReadonlySet<string>
}

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
