/**
 * Typed sending, ten messages to a call.
 *
 * What fails for a reason that can pass is sent again, alone. On a standard queue that can send a message twice: when
 * the answer of a call was lost, nobody knows whether SQS took it. On a FIFO queue the deduplication id prevents it, for
 * five minutes.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import {
  delaySeconds,
  entryBytes,
  entryFaults,
  MAX_ATTRIBUTES,
  MAX_BATCH_ENTRIES,
  MAX_BYTES
} from "./internal/outgoing.js"
import * as Traceparent from "./internal/traceparent.js"
import type { MessageAttribute, MessageAttributes, SendEntry, Sent } from "./Sqs.js"
import { Sqs } from "./Sqs.js"
import { ServiceError, type SqsError } from "./SqsError.js"
import { type EncodeError, isUrl, nameOf, type SqsQueue } from "./SqsQueue.js"
import { Attribute, MetricName, SYSTEM } from "./Telemetry.js"

/**
 * A message of more than 1,048,576 bytes: body and attributes (names, types, values) in UTF-8. It was not sent.
 *
 * @since 0.1.0
 * @category errors
 */
export class MessageTooLarge extends Schema.TaggedError<MessageTooLarge>()("MessageTooLarge", {
  queue: Schema.String,
  sizeBytes: Schema.Number,
  limitBytes: Schema.Number
}) {
  override get message() {
    return (
      `A message for ${this.queue} has ${this.sizeBytes} bytes, ${this.limitBytes} are possible. ` +
      "Put the large part elsewhere (S3) and send where it is."
    )
  }
}

/**
 * A message that SQS would refuse, for the reasons listed. It was not sent.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidMessage extends Schema.TaggedError<InvalidMessage>()("InvalidMessage", {
  queue: Schema.String,
  faults: Schema.Array(Schema.String)
}) {
  override get message() {
    return `A message for ${this.queue} cannot be sent: ${this.faults.join("; ")}`
  }
}

/**
 * Why a message was not sent. With `NetworkError` and `ServiceError` it is not known whether it was.
 *
 * @since 0.1.0
 * @category errors
 */
export type SendError = SqsError | EncodeError | MessageTooLarge | InvalidMessage

/**
 * What became of one message of `sendAll`.
 *
 * @since 0.1.0
 * @category models
 */
export type SendResult =
  { readonly _tag: "Done"; readonly value: Sent } | { readonly _tag: "Failed"; readonly error: SendError }

/**
 * @since 0.1.0
 * @category models
 */
export interface SendOptions {
  /** up to 15 minutes, rounded up to seconds; not on FIFO queues */
  readonly delay?: Duration.DurationInput | undefined
  /** at most ten; a string, number or bytes stand for attributes of type `String`, `Number`, `Binary` */
  readonly attributes?: { readonly [name: string]: string | number | Uint8Array | MessageAttribute } | undefined
  /** instead of the one that the queue's contract gives */
  readonly groupId?: string | undefined
  /** instead of the one that the queue's contract gives */
  readonly deduplicationId?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ProducerOptions {
  /** when to send again what failed for a reason that can pass. Default: five times, from 100 ms, doubling, jittered */
  readonly retry?: Schedule.Schedule<unknown, SqsError> | undefined
  /** whether the current span travels along, in the attribute `traceparent`. Default `true` */
  readonly traceContext?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Producer<A, R = never> {
  readonly queueUrl: string
  /** Sends one message. */
  readonly send: (body: A, options?: SendOptions) => Effect.Effect<Sent, SendError, R>
  /**
   * Sends many, ten to a call and at most 1 MiB a call. The n-th result is that of the n-th body; the effect itself
   * does not fail. Once a call has failed as a whole, retries included and not for its content, what was not yet tried
   * fails with the same error.
   *
   * A FIFO queue gets one call after the other, in order. A message that is sent again there can come after later
   * messages of its own group, namely those of the same call. A standard queue gets four calls at a time.
   *
   * All texts are in memory at once: for more than fits there, send a stream in pieces.
   */
  readonly sendAll: (
    bodies: Iterable<A>,
    options?: SendOptions | ((body: A, index: number) => SendOptions)
  ) => Effect.Effect<ReadonlyArray<SendResult>, never, R>
}

const standardConcurrency = 4

const unanswered = (queue: string): SendResult => ({
  _tag: "Failed",
  error: new ServiceError({
    operation: "SendMessageBatch",
    queue,
    code: "NoAnswer",
    detail: "the entry is missing in the answer"
  })
})

const defaultRetry: Schedule.Schedule<unknown, SqsError> = Schedule.exponential("100 millis").pipe(
  Schedule.jitteredWith({ min: 0.5, max: 1 }),
  Schedule.intersect(Schedule.recurs(5))
)

interface Prepared {
  readonly index: number
  readonly entry: SendEntry
  readonly bytes: number
}

const attributeOf = (value: string | number | Uint8Array | MessageAttribute): MessageAttribute =>
  typeof value === "string"
    ? { dataType: "String", stringValue: value }
    : typeof value === "number"
      ? { dataType: "Number", stringValue: String(value) }
      : value instanceof Uint8Array
        ? { dataType: "Binary", binaryValue: value }
        : value

/** The attributes to send; the trace context where there is room for it and none was given. */
const attributesOf = (
  given: SendOptions["attributes"],
  traceparent: string | undefined
): MessageAttributes | undefined => {
  if (given === undefined && traceparent === undefined) return undefined
  const attributes: { [name: string]: MessageAttribute } = {}
  for (const name in given) attributes[name] = attributeOf(given[name]!)
  if (traceparent !== undefined && !(Traceparent.TRACEPARENT in attributes)) {
    if (Object.keys(attributes).length < MAX_ATTRIBUTES) {
      attributes[Traceparent.TRACEPARENT] = attributeOf(traceparent)
    }
  }
  return attributes
}

const inBatches = (messages: ReadonlyArray<Prepared>): ReadonlyArray<ReadonlyArray<Prepared>> => {
  const batches: Array<Array<Prepared>> = []
  let batch: Array<Prepared> = []
  let bytes = 0
  for (const message of messages) {
    if (batch.length === MAX_BATCH_ENTRIES || (batch.length > 0 && bytes + message.bytes > MAX_BYTES)) {
      batches.push(batch)
      batch = []
      bytes = 0
    }
    batch.push(message)
    bytes += message.bytes
  }
  if (batch.length > 0) batches.push(batch)
  return batches
}

/**
 * Makes the producer of a queue; its URL is looked up here, once, unless the contract has it. Fails when there is no
 * such queue or it may not be looked up.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import { Producer, SqsQueue } from "@effect-sqs/core"
 * import { Effect, Schema } from "effect"
 *
 * const Jobs = SqsQueue.make("jobs", { schema: Schema.Struct({ reportId: Schema.String }) })
 *
 * export const program = Effect.gen(function* () {
 *   const jobs = yield* Producer.make(Jobs)
 *   yield* jobs.send({ reportId: "r-1" }, { delay: "30 seconds", attributes: { tenant: "north" } })
 *   const results = yield* jobs.sendAll([{ reportId: "r-2" }, { reportId: "r-3" }])
 *   return results.filter((result) => result._tag === "Failed")
 * })
 */
export const make = <A, I, R>(
  queue: SqsQueue<A, I, R>,
  options: ProducerOptions = {}
): Effect.Effect<Producer<A, R>, SqsError, Sqs> =>
  Effect.gen(function* () {
    const sqs = yield* Sqs
    const retry = options.retry ?? defaultRetry
    const whileRetryable = { schedule: retry, while: (error: SqsError) => error.retryable }
    const queueUrl = isUrl(queue.name) ? queue.name : yield* sqs.queueUrl(queue.name).pipe(Effect.retry(whileRetryable))
    const name = nameOf(queue.name)
    const sentMessages = Metric.counter(MetricName.sentMessages, {
      description: "messages sent",
      incremental: true
    }).pipe(
      Metric.tagged(Attribute.system, SYSTEM),
      Metric.tagged(Attribute.destination, name),
      Metric.tagged(Attribute.operationName, "send")
    )

    /** the entry of a body, or why it cannot be sent */
    const prepare = (index: number, body: A, o: SendOptions, traceparent: string | undefined) =>
      Effect.flatMap(queue.encode(body), (text): Effect.Effect<Prepared, InvalidMessage | MessageTooLarge> => {
        const invalid = (faults: ReadonlyArray<string>) =>
          Effect.fail(new InvalidMessage({ queue: queue.name, faults }))
        let entry: SendEntry
        try {
          entry = {
            body: text,
            attributes: attributesOf(o.attributes, traceparent),
            delaySeconds: o.delay === undefined ? undefined : delaySeconds(o.delay),
            groupId: o.groupId ?? queue.groupId?.(body),
            deduplicationId: o.deduplicationId ?? queue.deduplicationId?.(body)
          }
        } catch (u) {
          return invalid([`what goes with it could not be read: ${String(u)}`])
        }
        const faults = entryFaults(queue.kind, entry)
        if (faults.length > 0) return invalid(faults)
        const bytes = entryBytes(entry)
        return bytes > MAX_BYTES
          ? Effect.fail(new MessageTooLarge({ queue: queue.name, sizeBytes: bytes, limitBytes: MAX_BYTES }))
          : Effect.succeed({ index, entry, bytes })
      })

    /** Sends a batch until nothing is left to try; answers the error of its last call, if that failed as a whole. */
    const sendBatch = (batch: ReadonlyArray<Prepared>, results: Array<SendResult>) => {
      let pending = batch
      let whole: SqsError | undefined
      const attempt = Effect.suspend(() =>
        sqs.sendBatch(
          queueUrl,
          pending.map((message) => message.entry)
        )
      ).pipe(
        Effect.matchEffect({
          onFailure: (error) => {
            whole = error
            for (const { index } of pending) results[index] = { _tag: "Failed", error }
            return Effect.fail(error)
          },
          onSuccess: (answers) => {
            whole = undefined
            const again: Array<Prepared> = []
            let last: SqsError | undefined
            pending.forEach((message, i) => {
              // a port that answers too few told nothing of the rest
              const answer = answers[i] ?? unanswered(queue.name)
              results[message.index] = answer
              if (answer._tag === "Failed" && answer.error.retryable) {
                again.push(message)
                last = answer.error
              }
            })
            pending = again
            return last === undefined ? Effect.void : Effect.fail(last)
          }
        })
      )
      return attempt.pipe(
        Effect.retry(whileRetryable),
        Effect.ignore,
        Effect.map(() => whole)
      )
    }

    const sendMany = (
      bodies: Iterable<A>,
      given: SendOptions | ((body: A, index: number) => SendOptions),
      traceparent: string | undefined
    ): Effect.Effect<ReadonlyArray<SendResult>, never, R> =>
      Effect.gen(function* () {
        const results: Array<SendResult> = []
        const ready: Array<Prepared> = []
        let index = 0
        for (const body of bodies) {
          const i = index++
          const o = typeof given === "function" ? given(body, i) : given
          yield* Effect.match(prepare(i, body, o, traceparent), {
            onFailure: (error) => {
              results[i] = { _tag: "Failed", error }
            },
            onSuccess: (message) => {
              ready.push(message)
            }
          })
        }
        let stopped: SqsError | undefined
        yield* Effect.forEach(
          inBatches(ready),
          (batch) => {
            if (stopped !== undefined) {
              const error = stopped
              for (const message of batch) results[message.index] = { _tag: "Failed", error }
              return Effect.void
            }
            return Effect.map(sendBatch(batch, results), (error) => {
              if (error !== undefined && error._tag !== "RefusedInput") stopped = error
            })
          },
          { concurrency: queue.kind === "fifo" ? 1 : standardConcurrency, discard: true }
        )
        yield* count(results)
        return results
      })

    /** The conventions count failures too, under their type. */
    const count = (results: ReadonlyArray<SendResult>) => {
      const failures = results.flatMap((result) => (result._tag === "Failed" ? [result.error._tag] : []))
      return Effect.zipRight(
        Metric.incrementBy(sentMessages, results.length - failures.length),
        Effect.forEach(failures, (tag) => Metric.increment(Metric.tagged(sentMessages, Attribute.errorType, tag)), {
          discard: true
        })
      )
    }

    /** In a span of its own where one is open; where none is, nothing is traced and nothing travels along. */
    const traced = <B, E, R2>(run: (traceparent: string | undefined) => Effect.Effect<B, E, R2>) =>
      Effect.flatMap(Effect.option(Effect.currentParentSpan), (parent) =>
        Option.isNone(parent)
          ? run(undefined)
          : Effect.useSpan(
              `send ${name}`,
              {
                kind: "producer",
                captureStackTrace: false,
                attributes: {
                  [Attribute.system]: SYSTEM,
                  [Attribute.destination]: name,
                  [Attribute.operationName]: "send",
                  [Attribute.operationType]: "send"
                }
              },
              (span) =>
                run(options.traceContext === false ? undefined : Traceparent.encode(span)).pipe(
                  Effect.withParentSpan(span)
                )
            )
      )

    return {
      queueUrl,
      send: (body, o = {}) =>
        traced((traceparent) =>
          Effect.flatMap(sendMany([body], o, traceparent), ([result]) =>
            result!._tag === "Done" ? Effect.succeed(result!.value) : Effect.fail(result!.error)
          )
        ),
      sendAll: (bodies, o = {}) => traced((traceparent) => sendMany(bodies, o, traceparent))
    }
  })
