/** A message as one sees it from behind. */
import { Delayed, type StoredMessage, Visible } from "./message.js"
import type { WireAttributes } from "./wireAttributes.js"

/** A message in its queue, with what no receive would tell. Times are epoch milliseconds. */
export interface MessageState {
  readonly messageId: string
  readonly body: string
  /** of a FIFO queue also `visible` behind a hidden one of its group */
  readonly state: "visible" | "delayed" | "inFlight"
  /** when it becomes visible, or did */
  readonly visibleAt: number
  readonly sentAt: number
  readonly receiveCount: number
  readonly firstReceivedAt: number | undefined
  readonly lastReceivedAt: number | undefined
  readonly groupId: string | undefined
  readonly deduplicationId: string | undefined
  readonly sequenceNumber: string | undefined
  readonly traceHeader: string | undefined
  readonly deadLetterSourceArn: string | undefined
  /** as they travel: binary values in base64 */
  readonly attributes: WireAttributes
}

export const messageState = (m: StoredMessage): MessageState => ({
  messageId: m.content.id,
  body: m.content.body,
  state: m.state === Visible ? "visible" : m.state === Delayed ? "delayed" : "inFlight",
  visibleAt: m.visibleAt,
  sentAt: m.content.sentAt,
  receiveCount: m.receiveCount,
  firstReceivedAt: m.firstReceivedAt,
  lastReceivedAt: m.receives === 0 ? undefined : m.receivedAt,
  groupId: m.content.groupId,
  deduplicationId: m.content.deduplicationId,
  sequenceNumber: m.content.sequenceNumber,
  traceHeader: m.content.traceHeader,
  deadLetterSourceArn: m.content.deadLetterSourceArn,
  attributes: m.content.attributes ?? {}
})
