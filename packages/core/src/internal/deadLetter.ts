import * as Effect from "effect/Effect"
import { hasProperty } from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import { NoDeadLetterQueue, type SettlementProblem } from "../Settlement.js"
import type { MessageAttribute, MessageAttributes, ReceivedMessage, SendEntry, Sqs } from "../Sqs.js"
import { NetworkError, type SqsError } from "../SqsError.js"
import type { LeaseClock } from "./time.js"

/** What a copy carries beside the message's own attributes, the most telling first: SQS takes ten in all. */
export const AttributeName = {
  reason: "effect_sqs.reason",
  error: "effect_sqs.error",
  receiveCount: "effect_sqs.receive_count",
  origin: "effect_sqs.origin",
  messageId: "effect_sqs.message_id"
} as const

const MAX_ATTRIBUTES = 10

/** Characters that SQS takes; others would have the copy refused. */
const clean = (text: string) => text.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD]/gu, "\uFFFD").slice(0, 256) || "none"

const text = (value: string): MessageAttribute => ({ dataType: "String", stringValue: clean(value) })

const utf8 = new TextEncoder()
const bytesOf = (s: string) => utf8.encode(s).length

const sizeOf = (name: string, a: MessageAttribute) =>
  bytesOf(name) + bytesOf(a.dataType) + (a.stringValue === undefined ? a.binaryValue!.length : bytesOf(a.stringValue))

/** The copy of a message: body and attributes as they were, and as much of the reason as fits. */
export const copyOf = (
  message: ReceivedMessage,
  facts: { readonly reason: string; readonly error: unknown; readonly origin: string; readonly maxBytes: number }
): SendEntry => {
  const attributes: Record<string, MessageAttribute> = { ...message.attributes }
  let count = Object.keys(attributes).length
  let bytes = bytesOf(message.body) + Object.entries(attributes).reduce((n, [name, a]) => n + sizeOf(name, a), 0)
  const error = hasProperty(facts.error, "_tag")
    ? facts.error._tag
    : facts.error instanceof Error
      ? facts.error.name
      : "none"
  const more: MessageAttributes = {
    [AttributeName.reason]: text(facts.reason),
    [AttributeName.error]: text(String(error)),
    [AttributeName.receiveCount]: { dataType: "Number", stringValue: String(message.receiveCount) },
    [AttributeName.origin]: text(facts.origin),
    [AttributeName.messageId]: text(message.messageId)
  }
  for (const [name, a] of Object.entries(more)) {
    const size = sizeOf(name, a)
    // a copy of a copy replaces what the first one said
    const replaces = name in attributes
    if ((!replaces && count >= MAX_ATTRIBUTES) || bytes + size > facts.maxBytes) continue
    attributes[name] = a
    bytes += size
    if (!replaces) count++
  }
  return {
    body: message.body,
    attributes,
    groupId: message.groupId,
    deduplicationId: message.sequenceNumber === undefined ? undefined : message.messageId,
    traceHeader: message.traceHeader
  }
}

export interface DeadLetterOptions {
  readonly sqs: Sqs["Type"]
  readonly queue: string
  readonly url: string | undefined
  readonly maxBytes: number
  readonly callTimeoutMs: number
  readonly clock: LeaseClock
}

const retrySchedule = Schedule.exponential("100 millis").pipe(
  Schedule.union(Schedule.spaced("5 seconds")),
  Schedule.jitteredWith({ min: 0.5, max: 1 })
)

/** Sends the copy; `undefined` when SQS accepted it. Tried again while the lease allows. */
export const send =
  (o: DeadLetterOptions) =>
  (
    message: ReceivedMessage,
    reason: string,
    error: unknown,
    notAfter: number
  ): Effect.Effect<SettlementProblem | undefined> => {
    const { url } = o
    if (url === undefined) return Effect.succeed(new NoDeadLetterQueue({ queue: o.queue }))
    const entry = copyOf(message, { reason, error, origin: o.queue, maxBytes: o.maxBytes })
    const once = Effect.interruptible(o.sqs.sendBatch(url, [entry])).pipe(
      Effect.timeoutFail({
        duration: o.callTimeoutMs,
        onTimeout: () =>
          new NetworkError({
            operation: "SendMessageBatch",
            queue: url,
            code: "TimeoutError",
            detail: `no answer within ${o.callTimeoutMs} ms`
          })
      }),
      Effect.flatMap(([result]): Effect.Effect<void, SqsError> =>
        result?._tag === "Failed" ? Effect.fail(result.error) : Effect.void
      )
    )
    return once.pipe(
      Effect.retry({ schedule: retrySchedule, while: (e) => e.retryable && o.clock.now() < notAfter }),
      Effect.match({ onFailure: (e) => e, onSuccess: () => undefined })
    )
  }
