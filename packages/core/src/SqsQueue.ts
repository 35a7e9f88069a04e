/**
 * The typed contract of a queue: its name or URL, its kind, the schema of its bodies, and, for FIFO and fair queues,
 * how group and deduplication id follow from a body. Producer and consumer share the one value.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { decoder, encoder } from "./internal/bodyCodec.js"

/**
 * Whether this is the URL of a queue, and not its name.
 *
 * @since 0.1.0
 * @category names
 */
export const isUrl = (nameOrUrl: string): boolean => /^https?:\/\//i.test(nameOrUrl)

/**
 * The name of a queue by its name or URL: the last segment of a URL, a name as it is.
 *
 * @since 0.1.0
 * @category names
 */
export const nameOf = (nameOrUrl: string): string =>
  isUrl(nameOrUrl) ? nameOrUrl.slice(nameOrUrl.lastIndexOf("/") + 1) : nameOrUrl

/**
 * The URL of a dead-letter queue, from the URL of its source queue and the ARN that the redrive policy names: both
 * queues are always in one account and region. `undefined` when the ARN is none of a queue.
 *
 * @since 0.1.0
 * @category names
 * @example
 * import { SqsQueue } from "@effect-sqs/core"
 *
 * SqsQueue.deadLetterUrl("https://sqs.eu-west-1.amazonaws.com/1234/jobs", "arn:aws:sqs:eu-west-1:1234:jobs-dlq")
 * // https://sqs.eu-west-1.amazonaws.com/1234/jobs-dlq
 */
export const deadLetterUrl = (sourceUrl: string, deadLetterArn: string): string | undefined => {
  const name = /^arn:[^:]+:sqs:[^:]*:[^:]*:([^:]+)$/.exec(deadLetterArn)?.[1]
  return name === undefined ? undefined : sourceUrl.slice(0, sourceUrl.lastIndexOf("/") + 1) + name
}

/**
 * A FIFO queue keeps order inside a group; a standard queue does not. SQS tells them apart by the suffix `.fifo`.
 *
 * @since 0.1.0
 * @category models
 */
export type QueueKind = "standard" | "fifo"

/**
 * A body that is not what the queue's schema says. The reason names paths and expected types, never values.
 *
 * @since 0.1.0
 * @category errors
 */
export class DecodeError extends Schema.TaggedError<DecodeError>()("DecodeError", {
  queue: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `A message of ${this.queue} is not what its schema says: ${this.reason}`
  }
}

/**
 * A value that the queue's schema cannot write as JSON. The reason names paths and expected types, never values.
 *
 * @since 0.1.0
 * @category errors
 */
export class EncodeError extends Schema.TaggedError<EncodeError>()("EncodeError", {
  queue: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `This value is no message for ${this.queue}: ${this.reason}`
  }
}

/**
 * What `make` throws for a contract that cannot be: all faults at once.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidQueue extends Schema.TaggedError<InvalidQueue>()("InvalidQueue", {
  queue: Schema.String,
  faults: Schema.Array(Schema.String)
}) {
  override get message() {
    return `The queue ${JSON.stringify(this.queue)} cannot be: ${this.faults.join("; ")}`
  }
}

/**
 * The contract. Give it to `Consumer.run` and `Producer.make`.
 *
 * @since 0.1.0
 * @category models
 */
export interface SqsQueue<A, I = unknown, R = never> {
  /** as given: a name or a URL */
  readonly name: string
  readonly kind: QueueKind
  /** of a body; on the wire it is JSON */
  readonly schema: Schema.Schema<A, I, R>
  /** the group of a body, on FIFO and fair queues */
  readonly groupId: ((body: A) => string) | undefined
  /** the deduplication id of a body, on FIFO queues */
  readonly deduplicationId: ((body: A) => string) | undefined
  /** a body from the text of a message */
  readonly decode: (text: string) => Effect.Effect<A, DecodeError, R>
  /**
   * The same without an effect, for the hot path: `undefined` when this schema needs one (it is asynchronous), and then
   * `decode` is to be used. Never throws.
   */
  readonly decodeNow: (text: string) => Exit.Exit<A, DecodeError> | undefined
  /** the text of a message from a body */
  readonly encode: (body: A) => Effect.Effect<string, EncodeError, R>
}

/**
 * @since 0.1.0
 * @category models
 */
export declare namespace SqsQueue {
  /**
   * The type of the bodies of a queue.
   *
   * @since 0.1.0
   * @category models
   */
  export type Body<Q extends SqsQueue<any, any, any>> = Q extends SqsQueue<infer A, any, any> ? A : never
}

/**
 * @since 0.1.0
 * @category models
 */
export interface SqsQueueOptions<A, I, R> {
  readonly schema: Schema.Schema<A, I, R>
  /** the group of a body: order on a FIFO queue, fair shares on a standard one */
  readonly groupId?: ((body: A) => string) | undefined
  /** the deduplication id of a body, FIFO only; without it the queue must deduplicate by content */
  readonly deduplicationId?: ((body: A) => string) | undefined
  /** follows from the name; given, it must agree with it */
  readonly kind?: QueueKind | undefined
}

const faultsOf = (nameOrUrl: string, o: SqsQueueOptions<any, any, any>): Array<string> => {
  const name = nameOf(nameOrUrl)
  const kind = kindOf(nameOrUrl)
  const faults: Array<string> = []
  if (!/^[A-Za-z0-9_-]+(\.fifo)?$/.test(name) || name.length > 80) {
    faults.push(
      (isUrl(nameOrUrl) ? "the URL's last segment" : "a name") +
        " has 1 to 80 letters, digits, hyphens or underscores, and .fifo at the end of a FIFO queue's"
    )
  }
  if (o.kind !== undefined && o.kind !== kind) {
    faults.push(
      `kind is ${JSON.stringify(o.kind)}, but a name ${kind === "fifo" ? "with" : "without"} .fifo is ${kind}`
    )
  }
  if (kind === "standard" && o.deduplicationId !== undefined) {
    faults.push("deduplicationId is for FIFO queues only")
  }
  return faults
}

const kindOf = (nameOrUrl: string): QueueKind => (nameOf(nameOrUrl).endsWith(".fifo") ? "fifo" : "standard")

/**
 * Makes the contract of a queue, by name or by URL. With a URL no permission is needed to look it up.
 *
 * Throws `InvalidQueue`, which tells all faults at once: contracts are written as constants, so a wrong one is found
 * when its module is loaded.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import { SqsQueue } from "@effect-sqs/core"
 * import { Schema } from "effect"
 *
 * class ReportJob extends Schema.Class<ReportJob>("ReportJob")({ reportId: Schema.String }) {}
 *
 * export const ReportJobs = SqsQueue.make("report-jobs", { schema: ReportJob })
 *
 * // order per customer
 * export const Invoices = SqsQueue.make("invoices.fifo", {
 *   schema: Schema.Struct({ id: Schema.String, customer: Schema.String }),
 *   groupId: (invoice) => invoice.customer,
 *   deduplicationId: (invoice) => invoice.id
 * })
 */
export const make = <A, I, R = never>(nameOrUrl: string, options: SqsQueueOptions<A, I, R>): SqsQueue<A, I, R> => {
  const faults = faultsOf(nameOrUrl, options)
  if (faults.length > 0) throw new InvalidQueue({ queue: nameOrUrl, faults })
  const decodeError = (reason: string) => new DecodeError({ queue: nameOrUrl, reason })
  const encodeError = (reason: string) => new EncodeError({ queue: nameOrUrl, reason })
  const { decode, decodeNow } = decoder(options.schema, decodeError)
  return {
    name: nameOrUrl,
    kind: kindOf(nameOrUrl),
    schema: options.schema,
    groupId: options.groupId,
    deduplicationId: options.deduplicationId,
    decode,
    decodeNow,
    encode: encoder(options.schema, encodeError)
  }
}
