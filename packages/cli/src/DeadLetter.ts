/**
 * One message of a dead-letter queue, with what can be told of how it came there.
 *
 * @since 0.1.0
 */
import type { MessageAttribute, ReceivedMessage } from "@effect-sqs/core/Sqs"
import { nameOf } from "@effect-sqs/core/SqsQueue"

/**
 * The attributes that this project's own dead-lettering and redrive write on a message.
 *
 * @since 0.1.0
 * @category constants
 */
export const AttributeName = {
  reason: "effect_sqs.reason",
  error: "effect_sqs.error",
  receiveCount: "effect_sqs.receive_count",
  origin: "effect_sqs.origin",
  messageId: "effect_sqs.message_id",
  redriveCount: "effect_sqs.redrive_count",
  redriveId: "effect_sqs.redrive_id",
  originalMessageId: "effect_sqs.original_message_id",
  firstSentAt: "effect_sqs.first_sent_at"
} as const

/**
 * @since 0.1.0
 * @category constants
 */
export const NONE_RECORDED = "none recorded"

/**
 * A dead letter. Times are epoch milliseconds by the clock of SQS.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLetter {
  readonly message: ReceivedMessage
  readonly messageId: string
  /** why it was dead-lettered, as far as somebody wrote it down */
  readonly reason: string | undefined
  /** the class of the error that led to it, if it was written down */
  readonly error: string | undefined
  /** name of the queue that it came from: of the redrive policy, or as our own dead-lettering recorded it */
  readonly source: string | undefined
  /** what kind of message: attribute `type`, or `_tag` or `type` of a JSON body */
  readonly type: string | undefined
  /** how often it has been redriven by this tool */
  readonly redrives: number
  /** the plan of its last redrive */
  readonly redriveId: string | undefined
  /** the id that SQS gave when it was sent the first time */
  readonly originalMessageId: string
  readonly firstSentAt: number | undefined
}

/**
 * What makes two dead letters one kind: the reason without its numbers and ids, the type, and the source.
 *
 * @since 0.1.0
 * @category models
 */
export interface Kind {
  readonly reason: string
  readonly type: string | undefined
  readonly source: string | undefined
}

/**
 * The text of an attribute; bytes in base64.
 *
 * @since 0.1.0
 * @category getters
 */
export const textOf = (attribute: MessageAttribute): string =>
  attribute.binaryValue === undefined ? attribute.stringValue : Buffer.from(attribute.binaryValue).toString("base64")

/**
 * The body as JSON; `undefined` when it is none.
 *
 * @since 0.1.0
 * @category getters
 */
export const json = (letter: { readonly message: { readonly body: string } }): unknown => {
  try {
    return JSON.parse(letter.message.body) as unknown
  } catch {
    return undefined
  }
}

const member = (value: unknown, name: string): string | undefined => {
  if (typeof value !== "object" || value === null || !(name in value)) return undefined
  const found = (value as Record<string, unknown>)[name]
  return typeof found === "string" && found !== "" ? found : undefined
}

const lastOfArn = (arn: string): string => arn.slice(arn.lastIndexOf(":") + 1)

/**
 * Reads what a received message tells of itself.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromMessage = (message: ReceivedMessage): DeadLetter => {
  const attribute = (name: string): string | undefined => {
    const found = message.attributes[name]
    return found === undefined ? undefined : textOf(found)
  }
  const number = (name: string): number | undefined => {
    const n = Number(attribute(name))
    return Number.isFinite(n) ? n : undefined
  }
  const origin = attribute(AttributeName.origin)
  const body = json({ message })
  return {
    message,
    messageId: message.messageId,
    reason: attribute(AttributeName.reason),
    error: attribute(AttributeName.error),
    source:
      message.deadLetterSourceArn !== undefined
        ? lastOfArn(message.deadLetterSourceArn)
        : origin === undefined
          ? undefined
          : nameOf(origin),
    type: attribute("type") ?? member(body, "_tag") ?? member(body, "type"),
    redrives: number(AttributeName.redriveCount) ?? 0,
    redriveId: attribute(AttributeName.redriveId),
    originalMessageId:
      attribute(AttributeName.originalMessageId) ?? attribute(AttributeName.messageId) ?? message.messageId,
    firstSentAt: number(AttributeName.firstSentAt) ?? message.sentAt
  }
}

/** Ids and numbers differ in each message; without them one fault is one line. */
const withoutValues = (reason: string): string =>
  reason
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, "#")
    .replace(/\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b/gi, "#")
    .replace(/\d+(\.\d+)?/g, "#")

/**
 * The kind of a dead letter.
 *
 * @since 0.1.0
 * @category getters
 */
export const kindOf = (letter: DeadLetter): Kind => ({
  reason: letter.reason === undefined ? NONE_RECORDED : withoutValues(letter.reason),
  type: letter.type,
  source: letter.source
})

/**
 * A text that is the same for the same kind.
 *
 * @since 0.1.0
 * @category getters
 */
export const kindKey = (kind: Kind): string => JSON.stringify([kind.reason, kind.type ?? null, kind.source ?? null])

/**
 * How long ago it was sent, in ms, by the time that SQS stored it; `undefined` when SQS did not say.
 *
 * @since 0.1.0
 * @category getters
 */
export const ageMs = (letter: DeadLetter, now: number): number | undefined =>
  letter.message.sentAt === undefined ? undefined : Math.max(0, now - letter.message.sentAt)

/**
 * A dead letter as JSON, complete: bytes in base64, the body as it is.
 *
 * @since 0.1.0
 * @category getters
 */
export const toJson = (letter: DeadLetter) => {
  const { attributes, receiptHandle: _, ...message } = letter.message
  return {
    ...message,
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([name, a]) => [
        name,
        a.binaryValue === undefined
          ? { dataType: a.dataType, stringValue: a.stringValue }
          : { dataType: a.dataType, binaryValueBase64: textOf(a) }
      ])
    ),
    reason: letter.reason,
    error: letter.error,
    source: letter.source,
    type: letter.type,
    redrives: letter.redrives,
    redriveId: letter.redriveId,
    originalMessageId: letter.originalMessageId,
    firstSentAt: letter.firstSentAt
  }
}
