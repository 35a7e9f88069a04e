/**
 * Between the words of SQS's API and ours. The shapes are written down structurally, so that only `AwsSqs` needs the
 * SDK. Plain loops: this runs for every message.
 */
import type {
  EntryResult,
  MessageAttribute,
  MessageAttributes,
  QueueAttributes,
  ReceivedMessage,
  SendEntry
} from "../Sqs.js"
import { fromCode, ServiceError, type SqsOperation } from "../SqsError.js"

export interface WireAttribute {
  readonly DataType: string | undefined
  readonly StringValue?: string | undefined
  readonly BinaryValue?: Uint8Array | undefined
}

export interface WireMessage {
  readonly MessageId?: string | undefined
  readonly ReceiptHandle?: string | undefined
  readonly Body?: string | undefined
  readonly Attributes?: { readonly [name: string]: string | undefined } | undefined
  readonly MessageAttributes?: { readonly [name: string]: WireAttribute } | undefined
}

export interface WireAnswer<S> {
  readonly Successful?: ReadonlyArray<S> | undefined
  readonly Failed?:
    | ReadonlyArray<{
        readonly Id: string | undefined
        readonly Code: string | undefined
        readonly Message?: string | undefined
        readonly SenderFault: boolean | undefined
      }>
    | undefined
}

const none: MessageAttributes = Object.freeze({})

const fromWireAttributes = (wire: NonNullable<WireMessage["MessageAttributes"]>): MessageAttributes => {
  const attributes: { [name: string]: MessageAttribute } = {}
  for (const name in wire) {
    const { BinaryValue, DataType = "String", StringValue = "" } = wire[name]!
    attributes[name] =
      BinaryValue === undefined
        ? { dataType: DataType, stringValue: StringValue }
        : { dataType: DataType, binaryValue: BinaryValue }
  }
  return attributes
}

const number = (text: string | undefined) => (text === undefined ? undefined : Number(text))

export const fromWireMessages = (wire: ReadonlyArray<WireMessage> | undefined): ReadonlyArray<ReceivedMessage> => {
  const messages: Array<ReceivedMessage> = []
  if (wire === undefined) return messages
  for (const m of wire) {
    const system = m.Attributes ?? {}
    messages.push({
      messageId: m.MessageId ?? "",
      receiptHandle: m.ReceiptHandle ?? "",
      body: m.Body ?? "",
      receiveCount: Number(system.ApproximateReceiveCount ?? 1),
      sentAt: number(system.SentTimestamp),
      firstReceivedAt: number(system.ApproximateFirstReceiveTimestamp),
      senderId: system.SenderId,
      groupId: system.MessageGroupId,
      deduplicationId: system.MessageDeduplicationId,
      sequenceNumber: system.SequenceNumber,
      traceHeader: system.AWSTraceHeader,
      deadLetterSourceArn: system.DeadLetterQueueSourceArn,
      attributes: m.MessageAttributes === undefined ? none : fromWireAttributes(m.MessageAttributes)
    })
  }
  return messages
}

const toWireAttributes = (attributes: MessageAttributes) => {
  const wire: { [name: string]: { DataType: string; StringValue?: string; BinaryValue?: Uint8Array } } = {}
  for (const name in attributes) {
    const a = attributes[name]!
    wire[name] =
      a.binaryValue === undefined
        ? { DataType: a.dataType, StringValue: a.stringValue }
        : { DataType: a.dataType, BinaryValue: a.binaryValue }
  }
  return wire
}

export const toWireEntry = (entry: SendEntry, position: number) => ({
  Id: String(position),
  MessageBody: entry.body,
  DelaySeconds: entry.delaySeconds,
  MessageGroupId: entry.groupId,
  MessageDeduplicationId: entry.deduplicationId,
  MessageAttributes: entry.attributes === undefined ? undefined : toWireAttributes(entry.attributes),
  MessageSystemAttributes:
    entry.traceHeader === undefined
      ? undefined
      : { AWSTraceHeader: { DataType: "String", StringValue: entry.traceHeader } }
})

/** The answers in the order of the entries, whose ids are their positions. An entry without an answer has failed. */
export const positional = <S extends { readonly Id: string | undefined }, A>(
  operation: SqsOperation,
  queue: string,
  count: number,
  answer: WireAnswer<S>,
  resultOf: (successful: S) => EntryResult<A>
): ReadonlyArray<EntryResult<A>> => {
  const results: Array<EntryResult<A> | undefined> = new Array(count).fill(undefined)
  for (const s of answer.Successful ?? []) {
    results[Number(s.Id)] = resultOf(s)
  }
  for (const f of answer.Failed ?? []) {
    const code = f.Code ?? "Unknown"
    const detail = f.Message ?? ""
    const error = fromCode({ operation, queue, code, detail, senderFault: f.SenderFault })
    results[Number(f.Id)] = { _tag: "Failed", error }
  }
  for (let i = 0; i < count; i++) {
    results[i] ??= {
      _tag: "Failed",
      error: new ServiceError({
        operation,
        queue,
        code: "NoAnswer",
        detail: "the entry is in neither list of the answer"
      })
    }
  }
  return results.slice(0, count) as Array<EntryResult<A>>
}

const redrivePolicy = (text: string | undefined): QueueAttributes["redrivePolicy"] => {
  if (text === undefined || text === "") return undefined
  const { deadLetterTargetArn, maxReceiveCount } = JSON.parse(text) as Record<string, unknown>
  return { deadLetterTargetArn: String(deadLetterTargetArn), maxReceiveCount: Number(maxReceiveCount) }
}

/** What is not told has the value that SQS gives a new queue. */
export const fromWireQueue = (wire: { readonly [name: string]: string | undefined } = {}): QueueAttributes => ({
  arn: wire.QueueArn ?? "",
  kind: wire.FifoQueue === "true" ? "fifo" : "standard",
  visibilityTimeoutSeconds: Number(wire.VisibilityTimeout ?? 30),
  retentionSeconds: Number(wire.MessageRetentionPeriod ?? 345_600),
  delaySeconds: Number(wire.DelaySeconds ?? 0),
  maximumMessageBytes: Number(wire.MaximumMessageSize ?? 1_048_576),
  redrivePolicy: redrivePolicy(wire.RedrivePolicy),
  messages: Number(wire.ApproximateNumberOfMessages ?? 0),
  messagesNotVisible: Number(wire.ApproximateNumberOfMessagesNotVisible ?? 0),
  messagesDelayed: Number(wire.ApproximateNumberOfMessagesDelayed ?? 0)
})
