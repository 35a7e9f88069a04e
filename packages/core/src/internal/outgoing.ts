/** What SQS asks of a message before it is sent: checked here, so that one bad message does not cost a call. */
import * as Duration from "effect/Duration"
import type { MessageAttribute, MessageAttributes, SendEntry } from "../Sqs.js"
import type { QueueKind } from "../SqsQueue.js"

export const MAX_ATTRIBUTES = 10
export const MAX_BATCH_ENTRIES = 10
/** of one message, and of all messages of a batch together */
export const MAX_BYTES = 1_048_576
const maxDelaySeconds = 900

/** What an attribute adds to the size of its message. */
export const attributeBytes = (name: string, a: MessageAttribute): number =>
  Buffer.byteLength(name) +
  Buffer.byteLength(a.dataType) +
  (a.binaryValue === undefined ? Buffer.byteLength(a.stringValue) : a.binaryValue.byteLength)

/** The size that SQS counts: body and attributes in UTF-8, without system attributes. */
export const entryBytes = (entry: SendEntry): number => {
  let bytes = Buffer.byteLength(entry.body)
  for (const name in entry.attributes) bytes += attributeBytes(name, entry.attributes[name]!)
  return bytes
}

/** Letters, digits and ASCII punctuation. */
const id = /^[\x21-\x7e]{1,128}$/

const attributeName = /^(?!aws\.|amazon\.|\.)(?!.*\.\.)[A-Za-z0-9_.-]{1,256}(?<!\.)$/i
const attributeType = /^(String|Number|Binary)(\..+)?$/

const attributeFaults = (attributes: MessageAttributes): Array<string> => {
  const faults: Array<string> = []
  const names = Object.keys(attributes)
  if (names.length > MAX_ATTRIBUTES) faults.push(`${names.length} attributes, at most ${MAX_ATTRIBUTES} are possible`)
  for (const name of names) {
    const a = attributes[name]!
    if (!attributeName.test(name)) faults.push(`${JSON.stringify(name)} cannot be an attribute's name`)
    if (!attributeType.test(a.dataType)) faults.push(`attribute ${name}: type is String, Number or Binary`)
    if ((a.binaryValue === undefined ? a.stringValue : a.binaryValue).length === 0) {
      faults.push(`attribute ${name}: a value cannot be empty`)
    }
  }
  return faults
}

/** Delays are whole seconds; a part of one waits the whole. */
export const delaySeconds = (delay: Duration.DurationInput): number => Math.ceil(Duration.toSeconds(delay))

/** All that SQS would refuse in this entry, but its size. */
export const entryFaults = (kind: QueueKind, entry: SendEntry): Array<string> => {
  const faults = entry.attributes === undefined ? [] : attributeFaults(entry.attributes)
  const { deduplicationId, delaySeconds: delay, groupId } = entry
  if (kind === "fifo") {
    if (groupId === undefined) faults.push("a FIFO queue needs a groupId, by the queue's contract or with the message")
    if (delay !== undefined) faults.push("a FIFO queue takes no delay for single messages, only its own")
  } else {
    if (deduplicationId !== undefined) faults.push("a standard queue takes no deduplicationId")
    if (delay !== undefined && delay > maxDelaySeconds) {
      faults.push(`a delay of ${delay} s, at most ${maxDelaySeconds} s are possible`)
    }
  }
  if (groupId !== undefined && !id.test(groupId)) faults.push("groupId: 1 to 128 letters, digits or punctuation marks")
  if (deduplicationId !== undefined && !id.test(deduplicationId)) {
    faults.push("deduplicationId: 1 to 128 letters, digits or punctuation marks")
  }
  return faults
}
