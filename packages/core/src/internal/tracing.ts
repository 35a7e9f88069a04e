import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import type { ConsumerMetrics } from "../ConsumerMetrics.js"
import type { MessageAttributes, ReceivedMessage, Sqs } from "../Sqs.js"
import type { SqsError } from "../SqsError.js"
import { Attribute, SYSTEM } from "../Telemetry.js"

/** How the producer's context becomes part of a run's span. */
export type Spans = "off" | "link" | "parent"

const attributesOf = (queue: string, operation: string, type: string) => ({
  [Attribute.system]: SYSTEM,
  [Attribute.destination]: queue,
  [Attribute.operationName]: operation,
  [Attribute.operationType]: type
})

/** The port with a span and a duration for each call of a settlement or a send. Receives are told by the poller. */
export const observed = (
  sqs: Sqs["Type"],
  queue: string,
  spans: Spans,
  metrics: ConsumerMetrics | undefined,
  clock: Clock.Clock
): Sqs["Type"] => {
  if (spans === "off" && metrics === undefined) return sqs
  const observe = <A>(operation: string, type: string, call: Effect.Effect<A, SqsError>, count?: number) => {
    const duration = metrics?.operationDuration(operation)
    const timed =
      duration === undefined
        ? call
        : Effect.suspend(() => {
            const from = clock.unsafeCurrentTimeMillis()
            return Effect.onExit(call, () =>
              Effect.sync(() => duration.add((clock.unsafeCurrentTimeMillis() - from) / 1000))
            )
          })
    if (spans === "off") return timed
    return Effect.withSpan(timed, `${operation} ${queue}`, {
      kind: "client",
      captureStackTrace: false,
      attributes: {
        ...attributesOf(queue, operation, type),
        ...(count === undefined ? {} : { [Attribute.batchCount]: count })
      }
    })
  }
  return {
    ...sqs,
    receive: (request) => observe("receive", "receive", sqs.receive(request)),
    deleteBatch: (url, handles) => observe("ack", "settle", sqs.deleteBatch(url, handles), handles.length),
    changeVisibilityBatch: (url, entries) =>
      observe("nack", "settle", sqs.changeVisibilityBatch(url, entries), entries.length),
    sendBatch: (url, entries) => observe("send", "send", sqs.sendBatch(url, entries), entries.length)
  }
}

/** The producer's span, as it travelled in the message. */
export const producerSpan = (attributes: MessageAttributes): Tracer.ExternalSpan | undefined => {
  const header = attributes["traceparent"]?.stringValue
  const match = header === undefined ? null : /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/i.exec(header)
  if (match === null) return undefined
  return Tracer.externalSpan({
    traceId: match[1]!,
    spanId: match[2]!,
    sampled: (Number.parseInt(match[3]!, 16) & 1) === 1
  })
}

/** A run with its span. */
export const processed = <A, E, R>(
  run: Effect.Effect<A, E, R>,
  queue: string,
  message: ReceivedMessage,
  spans: Exclude<Spans, "off">
): Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>> => {
  const producer = producerSpan(message.attributes)
  return Effect.withSpan(run, `process ${queue}`, {
    kind: "consumer",
    captureStackTrace: false,
    ...(producer === undefined
      ? { root: true }
      : spans === "parent"
        ? { parent: producer }
        : { root: true, links: [{ _tag: "SpanLink", span: producer, attributes: {} } as const] }),
    attributes: {
      ...attributesOf(queue, "process", "process"),
      [Attribute.messageId]: message.messageId,
      [Attribute.receiveCount]: message.receiveCount,
      ...(message.groupId === undefined ? {} : { [Attribute.groupId]: message.groupId })
    }
  })
}

/** Without a tracer of the user's own nobody would see the spans. */
export const hasTracer: Effect.Effect<boolean> = Effect.map(
  Effect.tracer,
  (tracer) => tracer !== Context.get(DefaultServices.liveServices, Tracer.Tracer)
)
