/**
 * The port: the six calls of SQS that this library makes, batch-shaped, with typed errors per call and a result per
 * entry. `AwsSqs` implements it on the AWS SDK, `@effect-sqs/testing` in virtual time.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { SqsError } from "./SqsError.js"

/**
 * One user attribute of a message. `dataType` is `String`, `Number` or `Binary`, with an optional `.suffix`.
 *
 * @since 0.1.0
 * @category models
 */
export type MessageAttribute =
  | { readonly dataType: string; readonly stringValue: string; readonly binaryValue?: undefined }
  | { readonly dataType: string; readonly binaryValue: Uint8Array; readonly stringValue?: undefined }

/**
 * @since 0.1.0
 * @category models
 */
export type MessageAttributes = { readonly [name: string]: MessageAttribute }

/**
 * One message as SQS hands it out. Times are epoch milliseconds by the clock of SQS, not ours.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReceivedMessage {
  readonly messageId: string
  readonly receiptHandle: string
  readonly body: string
  /** how often SQS has handed it out, this time included; 1 at first */
  readonly receiveCount: number
  readonly sentAt: number | undefined
  readonly firstReceivedAt: number | undefined
  readonly senderId: string | undefined
  readonly groupId: string | undefined
  readonly deduplicationId: string | undefined
  readonly sequenceNumber: string | undefined
  /** AWS X-Ray's header, if it was sent */
  readonly traceHeader: string | undefined
  /** set on a message that a redrive policy moved into a dead-letter queue */
  readonly deadLetterSourceArn: string | undefined
  readonly attributes: MessageAttributes
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ReceiveRequest {
  readonly queueUrl: string
  /** 1 to 10 */
  readonly maxMessages: number
  /** 0 to 20 s */
  readonly waitTimeSeconds: number
  /** for the messages of this call only; unset: the queue's own */
  readonly visibilityTimeoutSeconds?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface VisibilityEntry {
  readonly receiptHandle: string
  /** 0 to 43,200 s from the call */
  readonly visibilityTimeoutSeconds: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface SendEntry {
  readonly body: string
  readonly attributes?: MessageAttributes | undefined
  /** 0 to 900 s */
  readonly delaySeconds?: number | undefined
  readonly groupId?: string | undefined
  readonly deduplicationId?: string | undefined
  readonly traceHeader?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Sent {
  readonly messageId: string
  readonly sequenceNumber: string | undefined
}

/**
 * What became of one entry of a batch. The answers of a batch are positional: the n-th is that of the n-th entry.
 *
 * @since 0.1.0
 * @category models
 */
export type EntryResult<A = void> =
  { readonly _tag: "Done"; readonly value: A } | { readonly _tag: "Failed"; readonly error: SqsError }

/**
 * The answer of an entry that went through and has nothing to tell.
 *
 * @since 0.1.0
 * @category constructors
 */
export const done: EntryResult<void> = { _tag: "Done", value: undefined }

/**
 * What SQS tells of a queue; `undefined` where it was not told.
 *
 * @since 0.1.0
 * @category models
 */
export interface QueueAttributes {
  readonly arn: string
  readonly kind: "standard" | "fifo"
  readonly visibilityTimeoutSeconds: number
  readonly retentionSeconds: number
  readonly delaySeconds: number
  readonly maximumMessageBytes: number
  readonly redrivePolicy: { readonly deadLetterTargetArn: string; readonly maxReceiveCount: number } | undefined
  readonly messages: number
  readonly messagesNotVisible: number
  readonly messagesDelayed: number
}

/**
 * The service. Batches take 1 to 10 entries; a call that fails as a whole fails the effect, an entry that fails is data.
 *
 * A `receive` that is interrupted can strand the messages that SQS had already assigned to it for one visibility
 * timeout: callers let it answer.
 *
 * @since 0.1.0
 * @category services
 */
export class Sqs extends Context.Tag("@effect-sqs/core/Sqs")<
  Sqs,
  {
    /** the URL of a queue by its name */
    readonly queueUrl: (name: string) => Effect.Effect<string, SqsError>
    readonly attributes: (queueUrl: string) => Effect.Effect<QueueAttributes, SqsError>
    readonly receive: (request: ReceiveRequest) => Effect.Effect<ReadonlyArray<ReceivedMessage>, SqsError>
    readonly deleteBatch: (
      queueUrl: string,
      receiptHandles: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<EntryResult>, SqsError>
    readonly changeVisibilityBatch: (
      queueUrl: string,
      entries: ReadonlyArray<VisibilityEntry>
    ) => Effect.Effect<ReadonlyArray<EntryResult>, SqsError>
    readonly sendBatch: (
      queueUrl: string,
      entries: ReadonlyArray<SendEntry>
    ) => Effect.Effect<ReadonlyArray<EntryResult<Sent>>, SqsError>
    /** how long the client behind this port waits for an answer, in ms; `undefined`: no limit known */
    readonly requestTimeoutMs: number | undefined
  }
>() {}
