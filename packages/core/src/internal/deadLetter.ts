import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { hasProperty } from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import { EndWith, NoDeadLetterQueue, type SettlementProblem } from "../Settlement.js"
import type { MessageAttribute, MessageAttributes, ReceivedMessage, SendEntry, Sqs } from "../Sqs.js"
import { NetworkError, ServiceError, type SqsError } from "../SqsError.js"
import { attributeBytes, entryBytes, MAX_ATTRIBUTES } from "./outgoing.js"
import { cut, saying } from "./text.js"
import type { LeaseClock } from "./time.js"

/** What a copy carries beside the message's own attributes, the most telling first: SQS takes ten in all. */
export const AttributeName = {
  reason: "effect_sqs.reason",
  error: "effect_sqs.error",
  receiveCount: "effect_sqs.receive_count",
  origin: "effect_sqs.origin",
  messageId: "effect_sqs.message_id"
} as const

const MAX_VALUE_CHARS = 256

/** Characters that SQS takes; one other would have the whole copy refused, and so would an empty value. */
const clean = (value: string) =>
  cut(value.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD"), MAX_VALUE_CHARS) || "none"

const text = (value: string): MessageAttribute => ({ dataType: "String", stringValue: clean(value) })

const errorName = (error: unknown): string =>
  // a handler that ends with a settlement of its own has no error
  error instanceof EndWith
    ? "none"
    : hasProperty(error, "_tag")
      ? saying(() => String(error._tag))
      : error instanceof Error
        ? error.name
        : "none"

/** The copy of a message: body and attributes as they were, and as much of the reason as fits. */
export const copyOf = (
  message: ReceivedMessage,
  facts: {
    readonly reason: string
    readonly error: unknown
    readonly origin: string
    readonly maxBytes: number
    /** whether the copy goes to a FIFO queue */
    readonly fifo: boolean
  }
): SendEntry => {
  const attributes: Record<string, MessageAttribute> = { ...message.attributes }
  let bytes = entryBytes({ body: message.body, attributes })
  const more: MessageAttributes = {
    [AttributeName.reason]: text(facts.reason),
    [AttributeName.error]: text(errorName(facts.error)),
    [AttributeName.receiveCount]: { dataType: "Number", stringValue: String(message.receiveCount) },
    [AttributeName.origin]: text(facts.origin),
    [AttributeName.messageId]: text(message.messageId)
  }
  for (const [name, attribute] of Object.entries(more)) {
    // a copy of a copy replaces what the first one said
    const replaced = attributes[name]
    const grown =
      bytes + attributeBytes(name, attribute) - (replaced === undefined ? 0 : attributeBytes(name, replaced))
    if (grown > facts.maxBytes) continue
    if (replaced === undefined && Object.keys(attributes).length >= MAX_ATTRIBUTES) continue
    attributes[name] = attribute
    bytes = grown
  }
  return {
    body: message.body,
    attributes,
    // a FIFO queue needs both: in order with its group, and once though the answer of a first try was lost
    groupId: message.groupId ?? (facts.fifo ? message.messageId : undefined),
    deduplicationId: facts.fifo ? message.messageId : undefined,
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

const timedOut = (queue: string, ms: number) =>
  new NetworkError({
    operation: "SendMessageBatch",
    queue,
    code: "TimeoutError",
    detail: `no answer within ${Math.round(ms)} ms`
  })

/** The message is deleted only after SQS said that it has the copy. */
const noAnswer = (queue: string) =>
  new ServiceError({
    operation: "SendMessageBatch",
    queue,
    code: "NoAnswer",
    detail: "the copy is missing in the answer"
  })

/**
 * Sends the copy; `undefined` when SQS accepted it. Tried again until the lease ends: then somebody else may work on the
 * message.
 */
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
    return Effect.suspend(() => {
      const facts = { reason, error, origin: o.queue, maxBytes: o.maxBytes, fifo: url.endsWith(".fifo") }
      const entry = copyOf(message, facts)
      const leftMs = Math.max(0, notAfter - o.clock.now())
      let last: SqsError | undefined
      const once = Effect.suspend(() => o.sqs.sendBatch(url, [entry])).pipe(
        Effect.interruptible,
        Effect.timeoutFail({ duration: o.callTimeoutMs, onTimeout: () => timedOut(url, o.callTimeoutMs) }),
        Effect.flatMap(([result]): Effect.Effect<unknown, SqsError> =>
          result === undefined ? noAnswer(url) : result._tag === "Failed" ? result.error : Effect.void
        ),
        Effect.tapError((e) => Effect.sync(() => (last = e)))
      )
      return once.pipe(
        Effect.retry({ schedule: retrySchedule, while: (e) => e.retryable }),
        Effect.match({ onFailure: (e): SettlementProblem | undefined => e, onSuccess: () => undefined }),
        Effect.timeoutOption(leftMs),
        Effect.map(Option.getOrElse(() => last ?? timedOut(url, leftMs)))
      )
    })
  }
