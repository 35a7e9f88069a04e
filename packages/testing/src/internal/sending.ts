/** Sending: what SQS checks of a message, in its order, and how the message is stored. */
import { apiError, type ApiError, invalidParameter, invalidValue, missingParameter } from "./apiError.js"
import {
  asObject,
  type Json,
  optionalBase64,
  optionalInteger,
  optionalList,
  optionalObject,
  optionalString
} from "./input.js"
import { md5OfAttributes, md5OfBody, sha256OfBody } from "./md5.js"
import type { WireAttribute, WireAttributes } from "./wireAttributes.js"
import type { VirtualQueue } from "./queue.js"
import type { World } from "./world.js"

export const maximumBatchBytes = 1_048_576

const invalidCharacters =
  "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | " +
  "#x10000 to #x10FFFF"

const invalidCharacter = /[^\u0009\u000a\u000d\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u
const fifoId = /^[0-9A-Za-z!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]{1,128}$/
const attributeName = /^[\u00c0-\u017fA-Za-z0-9_.-]+$/
const notForThisKind = "The request include parameter that is not valid for this queue type."

const bytesOf = (text: string): number => Buffer.byteLength(text, "utf8")

const attributeBytes = (name: string, a: WireAttribute): number =>
  bytesOf(name) +
  bytesOf(a.DataType) +
  (a.StringValue === undefined ? 0 : bytesOf(a.StringValue)) +
  (a.BinaryValue === undefined ? 0 : Buffer.byteLength(a.BinaryValue, "base64"))

const tooLong = (maximumBytes: number, inBatch: boolean): ApiError =>
  invalidValue(
    `One or more parameters ${inBatch ? "cannot be validated" : "are invalid"}. ` +
      `Reason: Message must be shorter than ${maximumBytes} bytes.`
  )

/** A send as far as it can be read without looking at the queue. */
export interface Parsed {
  readonly body: string | undefined
  readonly attributes: WireAttributes | undefined
  readonly systemAttributes: WireAttributes | undefined
  readonly delaySeconds: number | undefined
  readonly groupId: string | undefined
  readonly deduplicationId: string | undefined
  /** body and attributes as they count */
  readonly bytes: number
}

const readAttribute = (value: unknown, operation: string): WireAttribute => {
  const json = asObject(value)
  for (const list of ["StringListValues", "BinaryListValues"]) {
    if ((optionalList(json, list)?.length ?? 0) > 0) {
      throw apiError(
        "UnsupportedOperation",
        `Message attribute list values in ${operation} operation are not supported.`
      )
    }
  }
  const StringValue = optionalString(json, "StringValue")
  const BinaryValue = optionalBase64(json, "BinaryValue")
  return {
    DataType: optionalString(json, "DataType") ?? "",
    ...(StringValue === undefined ? {} : { StringValue }),
    ...(BinaryValue === undefined ? {} : { BinaryValue })
  }
}

const readAttributes = (input: Json, key: string, operation: string): WireAttributes | undefined => {
  const json = optionalObject(input, key)
  if (json === undefined) return undefined
  const entries = Object.entries(json)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [name, readAttribute(value, operation)] as const)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

export const parseSend = (input: Json, operation: "SendMessage" | "SendMessageBatch"): Parsed => {
  const body = optionalString(input, "MessageBody")
  const attributes = readAttributes(input, "MessageAttributes", operation)
  let bytes = body === undefined ? 0 : bytesOf(body)
  if (attributes !== undefined) {
    for (const [name, value] of Object.entries(attributes)) bytes += attributeBytes(name, value)
  }
  return {
    body,
    attributes,
    systemAttributes: readAttributes(input, "MessageSystemAttributes", operation),
    delaySeconds: optionalInteger(input, "DelaySeconds"),
    groupId: optionalString(input, "MessageGroupId"),
    deduplicationId: optionalString(input, "MessageDeduplicationId"),
    bytes
  }
}

const checkValue = (name: string, { BinaryValue, DataType, StringValue }: WireAttribute): void => {
  if (DataType === "")
    throw invalidValue(`The message attribute '${name}' must contain non-empty message attribute type.`)
  const type = /^(String|Number|Binary)(\..*)?$/.exec(DataType)?.[1]
  if (type === undefined) {
    throw invalidValue(
      `The type of message (user) attribute '${name}' is invalid. You must use only the following supported type ` +
        "prefixes: Binary, Number, String."
    )
  }
  if (bytesOf(DataType) > 256) throw invalidValue("Message (user) attribute types must be shorter than 256 Bytes")
  const value = type === "Binary" ? BinaryValue : StringValue
  const other = type === "Binary" ? StringValue : BinaryValue
  if (value === undefined || value === "" || other !== undefined) {
    throw invalidValue(`Message (user) attribute '${name}' must contain a non-empty value of type '${type}'.`)
  }
  if (type === "Number" && !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(value)) {
    throw invalidValue(`Can't cast the value of message (user) attribute '${name}' to a number.`)
  }
  if (type !== "Binary" && invalidCharacter.test(value)) throw invalidValue(invalidCharacters)
}

const checkAttributes = (attributes: WireAttributes | undefined): void => {
  if (attributes === undefined) return
  const entries = Object.entries(attributes)
  if (entries.length > 10) {
    throw invalidValue(`Number of message attributes [${entries.length}] exceeds the allowed maximum [10].`)
  }
  for (const [name, value] of entries) {
    if (bytesOf(name) > 256) throw invalidValue("Message (user) attribute names must be shorter than 256 Bytes")
    if (!attributeName.test(name) || name.includes("..")) {
      throw invalidValue(
        "Message (user) attributes name can only contain upper and lower score characters, digits, periods, hyphens " +
          "and underscores. "
      )
    }
    if (/^(aws\.|amazon\.|\.)|\.$/i.test(name)) {
      throw invalidValue(
        "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. These strings are reserved for " +
          "internal use. Additionally, they cannot start or end with '.'."
      )
    }
    checkValue(name, value)
  }
}

const traceHeaderOf = (attributes: WireAttributes | undefined): string | undefined => {
  if (attributes === undefined) return undefined
  for (const [name, value] of Object.entries(attributes)) {
    if (name !== "AWSTraceHeader") throw invalidValue(`Message system attribute name '${name}' is invalid.`)
    if (value.DataType !== "String" || (value.StringValue ?? "") === "") {
      throw invalidValue("Message system attribute 'AWSTraceHeader' must contain a non-empty value of type 'String'.")
    }
  }
  return attributes["AWSTraceHeader"]?.StringValue
}

const checkFifoId = (id: string | undefined, parameter: string): void => {
  if (id !== undefined && !fifoId.test(id)) {
    throw invalidParameter(
      id,
      parameter,
      `${parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length.`
    )
  }
}

const noDeduplicationId = () =>
  invalidValue(
    "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
  )

/** What a FIFO queue demands of each entry before it looks at any of them. */
export const checkFifoBatchEntry = (queue: VirtualQueue, send: Parsed): void => {
  if (queue.kind === "standard") return
  if (send.deduplicationId === undefined && !queue.settings.contentBasedDeduplication) throw noDeduplicationId()
  if (send.groupId === undefined) throw invalidValue("The request must contain the parameter MessageGroupId.")
}

export interface SendAnswer {
  MessageId: string
  MD5OfMessageBody: string
  MD5OfMessageAttributes?: string
  MD5OfMessageSystemAttributes?: string
  SequenceNumber?: string
}

/** Checks a message and stores it, or finds that it was sent before. */
export const send = (
  world: World,
  queue: VirtualQueue,
  parsed: Parsed,
  options: { readonly now: number; readonly inBatch: boolean; readonly senderId: string }
): SendAnswer => {
  const { attributes, body, delaySeconds, groupId, systemAttributes } = parsed
  const { now } = options
  const { settings } = queue
  const fifo = queue.kind === "fifo"
  if (body === undefined || body === "") throw missingParameter("MessageBody")
  if (parsed.bytes > settings.maximumMessageBytes) throw tooLong(settings.maximumMessageBytes, options.inBatch)
  if (invalidCharacter.test(body)) throw apiError("InvalidMessageContents", invalidCharacters)
  checkAttributes(attributes)
  const traceHeader = traceHeaderOf(systemAttributes)
  checkFifoId(parsed.deduplicationId, "MessageDeduplicationId")
  checkFifoId(groupId, "MessageGroupId")
  if (delaySeconds !== undefined && (delaySeconds < 0 || delaySeconds > 900)) {
    throw invalidParameter(delaySeconds, "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.")
  }
  if (fifo && delaySeconds !== undefined && delaySeconds > 0) {
    throw invalidParameter(delaySeconds, "DelaySeconds", notForThisKind)
  }
  if (!fifo && parsed.deduplicationId !== undefined) {
    throw invalidParameter(parsed.deduplicationId, "MessageDeduplicationId", notForThisKind)
  }
  if (fifo && groupId === undefined) throw missingParameter("MessageGroupId")
  const deduplicationId =
    parsed.deduplicationId ?? (fifo && settings.contentBasedDeduplication ? sha256OfBody(body) : undefined)
  if (fifo && deduplicationId === undefined) throw noDeduplicationId()

  const answer: SendAnswer = { MessageId: "", MD5OfMessageBody: md5OfBody(body) }
  const attributesMd5 = attributes === undefined ? undefined : md5OfAttributes(attributes)
  if (attributesMd5 !== undefined) answer.MD5OfMessageAttributes = attributesMd5
  if (systemAttributes !== undefined) answer.MD5OfMessageSystemAttributes = md5OfAttributes(systemAttributes)

  const key = deduplicationId === undefined ? undefined : deduplicationKey(world, queue, deduplicationId, groupId)
  const first = key === undefined ? undefined : queue.deduplication.get(key, now)
  if (first !== undefined) {
    answer.MessageId = first.messageId
    answer.SequenceNumber = first.sequenceNumber
    world.journal.append({
      _tag: "Deduplicated",
      at: now,
      call: world.call,
      queue: queue.name,
      messageId: first.messageId,
      deduplicationId: deduplicationId ?? ""
    })
    return answer
  }

  const sequenceNumber = fifo ? world.nextSequenceNumber() : undefined
  const stored = queue.store(
    {
      id: world.nextMessageId(),
      body,
      bytes: parsed.bytes,
      bodyMd5: answer.MD5OfMessageBody,
      attributes,
      attributesMd5,
      traceHeader,
      senderId: options.senderId,
      sentAt: now,
      groupId,
      deduplicationId,
      sequenceNumber,
      deadLetterSourceArn: undefined
    },
    {
      now,
      retainedFrom: now,
      delayMs: fifo || delaySeconds === undefined ? settings.delayMs : delaySeconds * 1000,
      receiveCount: 0,
      firstReceivedAt: undefined
    }
  )
  answer.MessageId = stored.content.id
  if (sequenceNumber !== undefined) {
    answer.SequenceNumber = sequenceNumber
    if (key !== undefined) queue.deduplication.set(key, { messageId: stored.content.id, sequenceNumber }, now)
  }
  world.journal.append({
    _tag: "Sent",
    at: now,
    call: world.call,
    queue: queue.name,
    messageId: stored.content.id,
    visibleAt: stored.visibleAt,
    bodyBytes: parsed.bytes,
    groupId,
    sequenceNumber
  })
  return answer
}

const deduplicationKey = (
  world: World,
  queue: VirtualQueue,
  deduplicationId: string,
  groupId: string | undefined
): string => {
  const scope =
    world.read("deduplicationScopeChange") === "applied" ? queue.settings.deduplicationScope : queue.deduplicationScope
  return scope === "messageGroup" ? `${groupId}\u0000${deduplicationId}` : deduplicationId
}
