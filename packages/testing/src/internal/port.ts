/** The port of the core on a room: the calls that the AWS port makes, with the answers turned as it turns them. */
import type * as Sqs from "@effect-sqs/core/Sqs"
import { fromCode, NetworkError, ServiceError, type SqsError, type SqsOperation } from "@effect-sqs/core/SqsError"
import * as Effect from "effect/Effect"
import type { ApiError } from "./apiError.js"
import { run } from "./doors.js"
import type { Json } from "./input.js"
import type { WireMessage } from "./message.js"
import type { WireAttributes } from "./wireAttributes.js"
import type { Answer, Room } from "./room.js"

const longestWaitMs = 20_000

/** The name under which the SDK throws: the shape where SQS models the error, else the query code. */
const nameOf = (error: ApiError): string => (error.modelled ? error.shape : error.code)

const toSqsError = (operation: SqsOperation, queue: string, error: ApiError): SqsError =>
  error.status === 0
    ? new NetworkError({ operation, queue, code: error.code, detail: error.message })
    : fromCode({ operation, queue, code: nameOf(error), detail: error.message, httpStatus: error.status })

const number = (text: string | undefined) => (text === undefined ? undefined : Number(text))

const fromAttributes = (wire: WireAttributes | undefined): Sqs.MessageAttributes =>
  wire === undefined
    ? {}
    : Object.fromEntries(
        Object.entries(wire).map(([name, a]): [string, Sqs.MessageAttribute] => [
          name,
          a.BinaryValue === undefined
            ? { dataType: a.DataType, stringValue: a.StringValue ?? "" }
            : { dataType: a.DataType, binaryValue: new Uint8Array(Buffer.from(a.BinaryValue, "base64")) }
        ])
      )

const toAttributes = (attributes: Sqs.MessageAttributes | undefined): WireAttributes | undefined =>
  attributes === undefined
    ? undefined
    : Object.fromEntries(
        Object.entries(attributes).map(([name, a]) => [
          name,
          a.binaryValue === undefined
            ? { DataType: a.dataType, StringValue: a.stringValue }
            : { DataType: a.dataType, BinaryValue: Buffer.from(a.binaryValue).toString("base64") }
        ])
      )

const fromMessage = (m: WireMessage): Sqs.ReceivedMessage => {
  const system = m.Attributes ?? {}
  return {
    messageId: m.MessageId,
    receiptHandle: m.ReceiptHandle,
    body: m.Body,
    receiveCount: Number(system["ApproximateReceiveCount"] ?? 1),
    sentAt: number(system["SentTimestamp"]),
    firstReceivedAt: number(system["ApproximateFirstReceiveTimestamp"]),
    senderId: system["SenderId"],
    groupId: system["MessageGroupId"],
    deduplicationId: system["MessageDeduplicationId"],
    sequenceNumber: system["SequenceNumber"],
    traceHeader: system["AWSTraceHeader"],
    deadLetterSourceArn: system["DeadLetterQueueSourceArn"],
    attributes: fromAttributes(m.MessageAttributes)
  }
}

interface BatchAnswer<S> {
  readonly Successful?: ReadonlyArray<S & { readonly Id: string }>
  readonly Failed?: ReadonlyArray<{ Id: string; Code: string; Message: string; SenderFault: boolean }>
}

/** The answers in the order of the entries, whose ids are their positions. */
const positional = <S, A>(
  operation: SqsOperation,
  queue: string,
  count: number,
  answer: BatchAnswer<S>,
  valueOf: (successful: S) => A
): ReadonlyArray<Sqs.EntryResult<A>> => {
  const noAnswer = () =>
    new ServiceError({ operation, queue, code: "NoAnswer", detail: "the entry is in neither list of the answer" })
  const results = Array.from({ length: count }, (): Sqs.EntryResult<A> | undefined => undefined)
  for (const s of answer.Successful ?? []) results[Number(s.Id)] = { _tag: "Done", value: valueOf(s) }
  for (const f of answer.Failed ?? []) {
    const error = fromCode({ operation, queue, code: f.Code, detail: f.Message, senderFault: f.SenderFault })
    results[Number(f.Id)] = { _tag: "Failed", error }
  }
  return results.map((result) => result ?? { _tag: "Failed", error: noAnswer() })
}

const fromQueue = (wire: { readonly [name: string]: string }): Sqs.QueueAttributes => {
  const redrive = wire["RedrivePolicy"]
  const policy = redrive === undefined ? undefined : (JSON.parse(redrive) as { [name: string]: unknown })
  return {
    arn: wire["QueueArn"] ?? "",
    kind: wire["FifoQueue"] === "true" ? "fifo" : "standard",
    visibilityTimeoutSeconds: Number(wire["VisibilityTimeout"]),
    retentionSeconds: Number(wire["MessageRetentionPeriod"]),
    delaySeconds: Number(wire["DelaySeconds"]),
    maximumMessageBytes: Number(wire["MaximumMessageSize"]),
    redrivePolicy:
      policy === undefined
        ? undefined
        : {
            deadLetterTargetArn: String(policy["deadLetterTargetArn"]),
            maxReceiveCount: Number(policy["maxReceiveCount"])
          },
    messages: Number(wire["ApproximateNumberOfMessages"]),
    messagesNotVisible: Number(wire["ApproximateNumberOfMessagesNotVisible"]),
    messagesDelayed: Number(wire["ApproximateNumberOfMessagesDelayed"])
  }
}

const all = ["All"]

/**
 * The port. With a timeout a call that is not answered in time, or a receive that is not within its wait time and that,
 * fails as the SDK's client would make it fail.
 */
export const makePort = (room: Room, timeoutMs: number | undefined): Sqs.Sqs["Type"] => {
  const call = <A>(
    operation: SqsOperation,
    queue: string,
    input: Json,
    turn: (answer: Answer) => A,
    waitMs = 0
  ): Effect.Effect<A, SqsError> =>
    Effect.mapBoth(
      run(
        room,
        { operation, input, baseUrl: room.options.baseUrl },
        timeoutMs === undefined ? undefined : waitMs + timeoutMs
      ),
      { onFailure: (error) => toSqsError(operation, queue, error), onSuccess: turn }
    )
  return {
    requestTimeoutMs: timeoutMs === undefined ? undefined : longestWaitMs + timeoutMs,

    queueUrl: (name) =>
      call("GetQueueUrl", name, { QueueName: name }, (answer) => (answer as { readonly QueueUrl: string }).QueueUrl),

    attributes: (queueUrl) =>
      call("GetQueueAttributes", queueUrl, { QueueUrl: queueUrl, AttributeNames: all }, (answer) =>
        fromQueue((answer as { readonly Attributes: { readonly [name: string]: string } }).Attributes)
      ),

    receive: (request) =>
      call(
        "ReceiveMessage",
        request.queueUrl,
        {
          QueueUrl: request.queueUrl,
          MaxNumberOfMessages: request.maxMessages,
          WaitTimeSeconds: request.waitTimeSeconds,
          VisibilityTimeout: request.visibilityTimeoutSeconds,
          MessageSystemAttributeNames: all,
          MessageAttributeNames: all
        },
        (answer) => ((answer as { readonly Messages?: ReadonlyArray<WireMessage> }).Messages ?? []).map(fromMessage),
        request.waitTimeSeconds * 1000
      ),

    deleteBatch: (queueUrl, receiptHandles) =>
      call(
        "DeleteMessageBatch",
        queueUrl,
        {
          QueueUrl: queueUrl,
          Entries: receiptHandles.map((ReceiptHandle, i) => ({ Id: String(i), ReceiptHandle }))
        },
        (answer) =>
          positional("DeleteMessageBatch", queueUrl, receiptHandles.length, answer as BatchAnswer<object>, () => {})
      ),

    changeVisibilityBatch: (queueUrl, entries) =>
      call(
        "ChangeMessageVisibilityBatch",
        queueUrl,
        {
          QueueUrl: queueUrl,
          Entries: entries.map((e, i) => ({
            Id: String(i),
            ReceiptHandle: e.receiptHandle,
            VisibilityTimeout: e.visibilityTimeoutSeconds
          }))
        },
        (answer) =>
          positional("ChangeMessageVisibilityBatch", queueUrl, entries.length, answer as BatchAnswer<object>, () => {})
      ),

    sendBatch: (queueUrl, entries) =>
      call(
        "SendMessageBatch",
        queueUrl,
        {
          QueueUrl: queueUrl,
          Entries: entries.map((e, i) => ({
            Id: String(i),
            MessageBody: e.body,
            MessageAttributes: toAttributes(e.attributes),
            DelaySeconds: e.delaySeconds,
            MessageGroupId: e.groupId,
            MessageDeduplicationId: e.deduplicationId,
            MessageSystemAttributes:
              e.traceHeader === undefined
                ? undefined
                : { AWSTraceHeader: { DataType: "String", StringValue: e.traceHeader } }
          }))
        },
        (answer) =>
          positional(
            "SendMessageBatch",
            queueUrl,
            entries.length,
            answer as BatchAnswer<{ readonly MessageId: string; readonly SequenceNumber?: string }>,
            (s): Sqs.Sent => ({ messageId: s.MessageId, sequenceNumber: s.SequenceNumber })
          )
      )
  }
}
