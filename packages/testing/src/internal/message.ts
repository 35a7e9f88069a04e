/** A message as the virtual SQS stores it, and as it travels. */
import { md5OfAttributes } from "./md5.js"
import type { WireAttributes } from "./wireAttributes.js"

export const Visible = 0
export const Delayed = 1
export const InFlight = 2
export const Gone = 3
export type MessageStateCode = typeof Visible | typeof Delayed | typeof InFlight | typeof Gone

/** What is fixed when a message is sent. */
export interface MessageContent {
  readonly id: string
  readonly body: string
  /** body and attributes as SQS counts them */
  readonly bytes: number
  readonly bodyMd5: string
  readonly attributes: WireAttributes | undefined
  readonly attributesMd5: string | undefined
  readonly traceHeader: string | undefined
  readonly senderId: string
  readonly sentAt: number
  readonly groupId: string | undefined
  readonly deduplicationId: string | undefined
  readonly sequenceNumber: string | undefined
  readonly deadLetterSourceArn: string | undefined
}

/** A message in its queue. */
export interface StoredMessage {
  content: MessageContent
  /** names the message in its queue; grows with each message stored anywhere */
  readonly serial: number
  /** epoch ms from which retention counts */
  readonly retainedFrom: number
  state: MessageStateCode
  /** epoch ms; of interest while delayed or in flight */
  visibleAt: number
  /** as SQS tells it: goes on through a move by the redrive policy */
  receiveCount: number
  /** in this queue: numbers the handles, and is held against maxReceiveCount */
  receives: number
  firstReceivedAt: number | undefined
  /** when the latest handle was issued */
  receivedAt: number
  /** the visibility was changed since the latest receive */
  changed: boolean
  /** places in heaps, -1: in none */
  readyPlace: number
  duePlace: number
  agePlace: number
  /** neighbours in the group of a FIFO queue */
  group: MessageGroup | undefined
  previous: StoredMessage | undefined
  next: StoredMessage | undefined
}

/** The messages of one group of a FIFO queue, in the order in which they were sent. */
export interface MessageGroup {
  readonly id: string
  first: StoredMessage | undefined
  last: StoredMessage | undefined
  /** orders the groups that can be received from */
  readySince: number
  readyPlace: number
}

/** How a message comes into a queue. Times are epoch ms. */
export interface Arrival {
  readonly now: number
  readonly retainedFrom: number
  readonly delayMs: number
  readonly receiveCount: number
  readonly firstReceivedAt: number | undefined
}

export const storeMessage = (content: MessageContent, serial: number, arrival: Arrival): StoredMessage => ({
  content,
  serial,
  retainedFrom: arrival.retainedFrom,
  state: arrival.delayMs > 0 ? Delayed : Visible,
  visibleAt: arrival.now + arrival.delayMs,
  receiveCount: arrival.receiveCount,
  receives: 0,
  firstReceivedAt: arrival.firstReceivedAt,
  receivedAt: 0,
  changed: false,
  readyPlace: -1,
  duePlace: -1,
  agePlace: -1,
  group: undefined,
  previous: undefined,
  next: undefined
})

/** Which attributes a receive asks for. */
export interface Wanted {
  /** `undefined`: none */
  readonly system: ReadonlySet<string> | "all" | undefined
  /** `undefined`: none */
  readonly user: ReadonlyArray<string> | "all" | undefined
}

type SystemAttributes = { [name: string]: string }

/** Written out, because it is done for every message. */
const pickSystem = (m: StoredMessage, wanted: ReadonlySet<string> | "all"): SystemAttributes | undefined => {
  const { deadLetterSourceArn, deduplicationId, groupId, senderId, sentAt, sequenceNumber, traceHeader } = m.content
  const all = wanted === "all"
  const out: SystemAttributes = {}
  if (all || wanted.has("SenderId")) out["SenderId"] = senderId
  if (all || wanted.has("ApproximateFirstReceiveTimestamp")) {
    out["ApproximateFirstReceiveTimestamp"] = String(m.firstReceivedAt ?? m.receivedAt)
  }
  if (all || wanted.has("ApproximateReceiveCount")) out["ApproximateReceiveCount"] = String(m.receiveCount)
  if (all || wanted.has("SentTimestamp")) out["SentTimestamp"] = String(sentAt)
  if (sequenceNumber !== undefined && (all || wanted.has("SequenceNumber"))) out["SequenceNumber"] = sequenceNumber
  if (deduplicationId !== undefined && (all || wanted.has("MessageDeduplicationId"))) {
    out["MessageDeduplicationId"] = deduplicationId
  }
  if (groupId !== undefined && (all || wanted.has("MessageGroupId"))) out["MessageGroupId"] = groupId
  if (traceHeader !== undefined && (all || wanted.has("AWSTraceHeader"))) out["AWSTraceHeader"] = traceHeader
  if (deadLetterSourceArn !== undefined && (all || wanted.has("DeadLetterQueueSourceArn"))) {
    out["DeadLetterQueueSourceArn"] = deadLetterSourceArn
  }
  for (const _ in out) return out
  return undefined
}

const matches = (name: string, pattern: string) =>
  pattern.endsWith(".*") ? name.startsWith(pattern.slice(0, -2)) : name === pattern

const pickUser = (attributes: WireAttributes, wanted: ReadonlyArray<string>): WireAttributes | undefined => {
  const picked = Object.entries(attributes).filter(([name]) => wanted.some((pattern) => matches(name, pattern)))
  return picked.length === 0 ? undefined : Object.fromEntries(picked)
}

export interface WireMessage {
  MessageId: string
  ReceiptHandle: string
  MD5OfBody: string
  Body: string
  Attributes?: { readonly [name: string]: string }
  MD5OfMessageAttributes?: string
  MessageAttributes?: WireAttributes
}

/** A message as ReceiveMessage answers it: keys are absent where nothing was asked or nothing is there. */
export const toWire = (m: StoredMessage, receiptHandle: string, wanted: Wanted): WireMessage => {
  const { attributes, attributesMd5, body, bodyMd5, id } = m.content
  const out: WireMessage = { MessageId: id, ReceiptHandle: receiptHandle, MD5OfBody: bodyMd5, Body: body }
  if (wanted.system !== undefined) {
    const system = pickSystem(m, wanted.system)
    if (system !== undefined) out.Attributes = system
  }
  if (wanted.user !== undefined && attributes !== undefined && attributesMd5 !== undefined) {
    const picked = wanted.user === "all" ? attributes : pickUser(attributes, wanted.user)
    if (picked !== undefined) {
      out.MD5OfMessageAttributes = picked === attributes ? attributesMd5 : md5OfAttributes(picked)
      out.MessageAttributes = picked
    }
  }
  return out
}
