import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { hasProperty } from "effect/Predicate"
import * as Tracer from "effect/Tracer"
import type { ConsumerMetrics } from "../ConsumerMetrics.js"
import type { ReceivedMessage, Sqs } from "../Sqs.js"
import type { SqsError } from "../SqsError.js"
import { Attribute, OTHER_ERROR, SYSTEM } from "../Telemetry.js"
import { saying } from "./text.js"
import * as Traceparent from "./traceparent.js"

/** How the producer's context becomes part of a run's span. */
export type Spans = "off" | "link" | "parent"

const attributesOf = (queue: string, operation: string, type: string) => ({
  [Attribute.system]: SYSTEM,
  [Attribute.destination]: queue,
  [Attribute.operationName]: operation,
  [Attribute.operationType]: type
})

const errorType = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return hasProperty(error, "_tag")
    ? saying(() => String(error._tag))
    : error instanceof Error
      ? error.name
      : OTHER_ERROR
}

/** Inside of a span. */
const withErrorType = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.tapErrorCause(effect, (cause) => Effect.annotateCurrentSpan(Attribute.errorType, errorType(cause)))

/** The port with a span and a duration for each receive, settlement and send. */
export const observed = (
  sqs: Sqs["Type"],
  queue: string,
  spans: Spans,
  metrics: ConsumerMetrics | undefined,
  clock: Clock.Clock
): Sqs["Type"] => {
  if (spans === "off" && metrics === undefined) return sqs
  const observe = <A>(operation: string, type: string, call: Effect.Effect<A, SqsError>, count?: number) => {
    const timed =
      metrics === undefined
        ? call
        : Effect.suspend(() => {
            const from = clock.unsafeCurrentTimeMillis()
            return Effect.onExit(call, (exit) =>
              Effect.sync(() => {
                const error = Exit.isSuccess(exit) ? undefined : errorType(exit.cause)
                metrics.operationDuration(operation, error).add((clock.unsafeCurrentTimeMillis() - from) / 1000)
              })
            )
          })
    if (spans === "off") return timed
    // a call serves many deliveries: it belongs to none of their traces, nor to that of who started the consumer
    return Effect.withSpan(withErrorType(timed), `${operation} ${queue}`, {
      kind: "client",
      root: true,
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

/** A run with its span, the producer's span as its link or its parent. */
export type Traced = <A, E, R>(run: Effect.Effect<A, E, R>, message: ReceivedMessage) => Effect.Effect<A, E, R>

const untraced: Traced = (run) => run

export const traced = (queue: string, spans: Spans): Traced => {
  if (spans === "off") return untraced
  const fixed = attributesOf(queue, "process", "process")
  return (run, message) => {
    const header = message.attributes[Traceparent.TRACEPARENT]?.stringValue
    const producer = header === undefined ? undefined : Traceparent.decode(header)
    const context: Tracer.SpanOptions =
      producer === undefined
        ? { root: true }
        : spans === "parent"
          ? { parent: producer }
          : { root: true, links: [{ _tag: "SpanLink", span: producer, attributes: {} }] }
    return Effect.withSpan(withErrorType(run), `process ${queue}`, {
      kind: "consumer",
      captureStackTrace: false,
      ...context,
      attributes: {
        ...fixed,
        [Attribute.messageId]: message.messageId,
        [Attribute.receiveCount]: message.receiveCount,
        ...(message.groupId === undefined ? {} : { [Attribute.groupId]: message.groupId })
      }
    }) as typeof run
  }
}

/** Without a tracer of the user's own nobody would see the spans. */
export const hasTracer: Effect.Effect<boolean> = Effect.map(
  Effect.tracer,
  (tracer) => tracer !== Context.get(DefaultServices.liveServices, Tracer.Tracer)
)
