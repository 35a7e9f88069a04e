/** What is sent for a dead letter: its body, attributes, trace header and group as they are, and who sent it again. */
import type { MessageAttribute, SendEntry } from "@effect-sqs/core/Sqs"
import { createHash } from "node:crypto"
import { AttributeName, type DeadLetter } from "../DeadLetter.js"

const MAX_ATTRIBUTES = 10
const MAX_ID_CHARS = 128

/** what our own dead-lettering added: it tells of the failure before, and would be stale at the next one */
const ofTheDeadLetter: ReadonlySet<string> = new Set([
  AttributeName.reason,
  AttributeName.error,
  AttributeName.receiveCount,
  AttributeName.origin,
  AttributeName.messageId
])

export const attributeBytes = (name: string, a: MessageAttribute): number =>
  Buffer.byteLength(name) +
  Buffer.byteLength(a.dataType) +
  (a.binaryValue === undefined ? Buffer.byteLength(a.stringValue) : a.binaryValue.byteLength)

/** the size that SQS counts */
export const entryBytes = (entry: SendEntry): number =>
  Object.entries(entry.attributes ?? {}).reduce(
    (bytes, [name, a]) => bytes + attributeBytes(name, a),
    Buffer.byteLength(entry.body)
  )

/** New for each redrive: the old one may count as a duplicate for five minutes, and the dead-letter queue replaced it. */
export const deduplicationId = (messageId: string, redriveId: string, redriveCount: number): string => {
  const id = `${messageId}#${redriveId}#${redriveCount}`
  return id.length <= MAX_ID_CHARS ? id : createHash("sha256").update(id).digest("hex")
}

export interface Copy {
  readonly entry: SendEntry
  readonly bytes: number
  /** attributes that did not fit: only the audit log has them */
  readonly omitted: ReadonlyArray<string>
}

export const copyOf = (
  letter: DeadLetter,
  redrive: { readonly id: string; readonly fifo: boolean; readonly maxBytes: number }
): Copy => {
  const { message } = letter
  const redriveCount = letter.redrives + 1
  const attributes: Record<string, MessageAttribute> = {}
  for (const [name, attribute] of Object.entries(message.attributes)) {
    if (!ofTheDeadLetter.has(name)) attributes[name] = attribute
  }
  let bytes = entryBytes({ body: message.body, attributes })
  const text = (stringValue: string): MessageAttribute => ({ dataType: "String", stringValue })
  const number = (n: number): MessageAttribute => ({ dataType: "Number", stringValue: String(n) })
  const more: ReadonlyArray<readonly [string, MessageAttribute]> = [
    // the guard against loops first
    [AttributeName.redriveCount, number(redriveCount)],
    [AttributeName.redriveId, text(redrive.id)],
    [AttributeName.originalMessageId, text(letter.originalMessageId)],
    ...(letter.firstSentAt === undefined ? [] : [[AttributeName.firstSentAt, number(letter.firstSentAt)] as const])
  ]
  const omitted: Array<string> = []
  for (const [name, attribute] of more) {
    const replaced = attributes[name]
    const grown =
      bytes + attributeBytes(name, attribute) - (replaced === undefined ? 0 : attributeBytes(name, replaced))
    const isFull = replaced === undefined && Object.keys(attributes).length >= MAX_ATTRIBUTES
    if (isFull || grown > redrive.maxBytes) {
      omitted.push(name)
      continue
    }
    attributes[name] = attribute
    bytes = grown
  }
  const entry: SendEntry = {
    body: message.body,
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    ...(message.groupId === undefined ? {} : { groupId: message.groupId }),
    ...(redrive.fifo ? { deduplicationId: deduplicationId(message.messageId, redrive.id, redriveCount) } : {}),
    ...(message.traceHeader === undefined ? {} : { traceHeader: message.traceHeader })
  }
  return { entry, bytes, omitted }
}
