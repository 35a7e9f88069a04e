import { Producer, Sqs, SqsQueue } from "@effect-sqs/core"
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import { SqsServer, VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { createHash } from "node:crypto"
import { credentials, environment, json, receiveOf, serve, setup } from "./sqsStub.js"

describe("requests and answers", () => {
  it.scopedLive("asks for all that a delivery tells, and the queue's own visibility when none is given", () =>
    Effect.gen(function* () {
      const { calls, port, queueUrl } = yield* setup((call) => json(call, {}))
      assert.deepStrictEqual(yield* receiveOf(port, queueUrl), [])
      yield* port.receive({ queueUrl, maxMessages: 3, waitTimeSeconds: 0, visibilityTimeoutSeconds: 120 })
      const common = { QueueUrl: queueUrl, MessageSystemAttributeNames: ["All"], MessageAttributeNames: ["All"] }
      assert.deepStrictEqual(
        calls.map((call) => call.input),
        [
          { ...common, MaxNumberOfMessages: 10, WaitTimeSeconds: 0 },
          { ...common, MaxNumberOfMessages: 3, WaitTimeSeconds: 0, VisibilityTimeout: 120 }
        ]
      )
    })
  )

  it.scopedLive("tells what SQS tells of a message", () =>
    Effect.gen(function* () {
      const Body = "é"
      const MD5OfBody = createHash("md5").update(Body).digest("hex")
      const { port, queueUrl } = yield* setup((call) =>
        json(call, {
          Messages: [
            {
              MessageId: "m-1",
              ReceiptHandle: "h-1",
              Body,
              MD5OfBody,
              Attributes: {
                ApproximateReceiveCount: "3",
                SentTimestamp: "1700000000001",
                ApproximateFirstReceiveTimestamp: "1700000000002",
                SenderId: "me",
                MessageGroupId: "g",
                MessageDeduplicationId: "d",
                SequenceNumber: "18850000000000000001",
                AWSTraceHeader: "Root=1-5e3d83c1-e6a0db584850d61342823d4c",
                DeadLetterQueueSourceArn: "arn:aws:sqs:us-east-1:0:source"
              },
              MessageAttributes: {
                text: { DataType: "String.x", StringValue: "v" },
                bytes: { DataType: "Binary", BinaryValue: "AQI=" }
              }
            },
            { MessageId: "m-2", ReceiptHandle: "h-2", Body, MD5OfBody }
          ]
        })
      )
      const [full, bare] = yield* receiveOf(port, queueUrl)
      assert.deepStrictEqual(full, {
        messageId: "m-1",
        receiptHandle: "h-1",
        body: Body,
        receiveCount: 3,
        sentAt: 1_700_000_000_001,
        firstReceivedAt: 1_700_000_000_002,
        senderId: "me",
        groupId: "g",
        deduplicationId: "d",
        sequenceNumber: "18850000000000000001",
        traceHeader: "Root=1-5e3d83c1-e6a0db584850d61342823d4c",
        deadLetterSourceArn: "arn:aws:sqs:us-east-1:0:source",
        attributes: {
          text: { dataType: "String.x", stringValue: "v" },
          bytes: { dataType: "Binary", binaryValue: new Uint8Array([1, 2]) }
        }
      })
      assert.deepStrictEqual(bare, {
        messageId: "m-2",
        receiptHandle: "h-2",
        body: Body,
        receiveCount: 1,
        sentAt: undefined,
        firstReceivedAt: undefined,
        senderId: undefined,
        groupId: undefined,
        deduplicationId: undefined,
        sequenceNumber: undefined,
        traceHeader: undefined,
        deadLetterSourceArn: undefined,
        attributes: {}
      })
    })
  )

  const partial = {
    Successful: [{ Id: "2" }, { Id: "0" }],
    Failed: [{ Id: "1", Code: "ReceiptHandleIsInvalid", Message: "text", SenderFault: true }]
  }
  const tags = (results: ReadonlyArray<Sqs.EntryResult<unknown>>) =>
    results.map((result) => (result._tag === "Done" ? "Done" : result.error._tag))

  it.scopedLive("deletes by position, the same message twice in one call too (B5)", () =>
    Effect.gen(function* () {
      const { calls, port, queueUrl } = yield* setup((call) => json(call, partial))
      assert.deepStrictEqual(tags(yield* port.deleteBatch(queueUrl, ["h", "h", "i"])), [
        "Done",
        "HandleInvalid",
        "Done"
      ])
      assert.deepStrictEqual(calls[0]?.input, {
        QueueUrl: queueUrl,
        Entries: [
          { Id: "0", ReceiptHandle: "h" },
          { Id: "1", ReceiptHandle: "h" },
          { Id: "2", ReceiptHandle: "i" }
        ]
      })
    })
  )

  it.scopedLive("changes visibility by position", () =>
    Effect.gen(function* () {
      const { calls, port, queueUrl } = yield* setup((call) => json(call, partial))
      const entries = [0, 30, 43_200].map((visibilityTimeoutSeconds) => ({
        receiptHandle: "h",
        visibilityTimeoutSeconds
      }))
      assert.deepStrictEqual(tags(yield* port.changeVisibilityBatch(queueUrl, entries)), [
        "Done",
        "HandleInvalid",
        "Done"
      ])
      assert.deepStrictEqual(calls[0]?.input.Entries, [
        { Id: "0", ReceiptHandle: "h", VisibilityTimeout: 0 },
        { Id: "1", ReceiptHandle: "h", VisibilityTimeout: 30 },
        { Id: "2", ReceiptHandle: "h", VisibilityTimeout: 43_200 }
      ])
    })
  )

  it.scopedLive("sends by position; an entry without an answer has failed, and can be tried again", () =>
    Effect.gen(function* () {
      const MD5OfMessageBody = createHash("md5").update("b").digest("hex")
      const { calls, port, queueUrl } = yield* setup((call) =>
        json(call, {
          Successful: [
            { Id: "1", MessageId: "m-1", SequenceNumber: "7", MD5OfMessageBody },
            { Id: "0", MessageId: "m-0", MD5OfMessageBody }
          ]
        })
      )
      const results = yield* port.sendBatch(queueUrl, [
        { body: "b" },
        {
          body: "b",
          delaySeconds: 5,
          groupId: "g",
          deduplicationId: "d",
          traceHeader: "Root=1",
          attributes: {
            text: { dataType: "String", stringValue: "v" },
            bytes: { dataType: "Binary", binaryValue: new Uint8Array([1, 2]) }
          }
        },
        { body: "b" }
      ])
      assert.deepStrictEqual(results.slice(0, 2), [
        { _tag: "Done", value: { messageId: "m-0", sequenceNumber: undefined } },
        { _tag: "Done", value: { messageId: "m-1", sequenceNumber: "7" } }
      ])
      const last = results[2]
      assert.isTrue(last?._tag === "Failed" && last.error._tag === "ServiceError" && last.error.retryable)
      assert.deepStrictEqual(calls[0]?.input.Entries, [
        { Id: "0", MessageBody: "b" },
        {
          Id: "1",
          MessageBody: "b",
          DelaySeconds: 5,
          MessageGroupId: "g",
          MessageDeduplicationId: "d",
          MessageAttributes: {
            text: { DataType: "String", StringValue: "v" },
            bytes: { DataType: "Binary", BinaryValue: "AQI=" }
          },
          MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: "Root=1" } }
        },
        { Id: "2", MessageBody: "b" }
      ])
    })
  )

  it.scopedLive("reads the attributes of a queue", () =>
    Effect.gen(function* () {
      let Attributes: Record<string, string> = {
        QueueArn: "arn:aws:sqs:us-east-1:0:jobs.fifo",
        FifoQueue: "true",
        VisibilityTimeout: "60",
        MessageRetentionPeriod: "1209600",
        DelaySeconds: "5",
        MaximumMessageSize: "1024",
        RedrivePolicy: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:0:dlq.fifo","maxReceiveCount":"5"}`,
        ApproximateNumberOfMessages: "7",
        ApproximateNumberOfMessagesNotVisible: "8",
        ApproximateNumberOfMessagesDelayed: "9"
      }
      const { calls, port, queueUrl } = yield* setup((call) => json(call, { Attributes }))
      assert.deepStrictEqual(yield* port.attributes(queueUrl), {
        arn: "arn:aws:sqs:us-east-1:0:jobs.fifo",
        kind: "fifo",
        visibilityTimeoutSeconds: 60,
        retentionSeconds: 1_209_600,
        delaySeconds: 5,
        maximumMessageBytes: 1024,
        redrivePolicy: { deadLetterTargetArn: "arn:aws:sqs:us-east-1:0:dlq.fifo", maxReceiveCount: 5 },
        messages: 7,
        messagesNotVisible: 8,
        messagesDelayed: 9
      })
      assert.deepStrictEqual(calls[0]?.input, { QueueUrl: queueUrl, AttributeNames: ["All"] })
      Attributes = { QueueArn: "arn:aws:sqs:us-east-1:0:jobs", RedrivePolicy: "" }
      assert.deepStrictEqual(yield* port.attributes(queueUrl), {
        arn: "arn:aws:sqs:us-east-1:0:jobs",
        kind: "standard",
        visibilityTimeoutSeconds: 30,
        retentionSeconds: 345_600,
        delaySeconds: 0,
        maximumMessageBytes: 1_048_576,
        redrivePolicy: undefined,
        messages: 0,
        messagesNotVisible: 0,
        messagesDelayed: 0
      })
    })
  )
})

describe("configuration", () => {
  it.scopedLive(
    "takes the endpoint of the environment, the service's own first, over the host of the queue's URL",
    () =>
      Effect.gen(function* () {
        const { calls, url } = yield* serve((call) => json(call, {}))
        const elsewhere = "http://sqs.invalid/0/jobs"
        for (const values of [
          { AWS_ENDPOINT_URL_SQS: url, AWS_ENDPOINT_URL: "http://wrong.invalid" },
          { AWS_ENDPOINT_URL_SQS: undefined, AWS_ENDPOINT_URL: url }
        ]) {
          yield* Effect.scoped(
            Effect.gen(function* () {
              yield* environment(values)
              const port = yield* AwsSqs.make({ region: "us-east-1", credentials })
              yield* receiveOf(port, elsewhere)
            })
          )
        }
        assert.strictEqual(calls.length, 2)
      })
  )

  it.scopedLive("asks a provider of credentials once for all calls", () =>
    Effect.gen(function* () {
      let asked = 0
      const { port, queueUrl } = yield* setup((call) => json(call, {}), {
        credentials: () => {
          asked++
          return Promise.resolve(credentials)
        }
      })
      yield* receiveOf(port, queueUrl)
      yield* port.deleteBatch(queueUrl, ["h"])
      yield* receiveOf(port, queueUrl)
      assert.strictEqual(asked, 1)
    })
  )
})

describe("with the virtual SQS behind HTTP", () => {
  const Jobs = SqsQueue.make("jobs", { schema: Schema.Struct({ id: Schema.String }) })

  const Served = Layer.unwrapScoped(
    Effect.map(SqsServer.SqsServer, ({ url }) => AwsSqs.layerWith({ endpoint: url, region: "us-east-1", credentials }))
  ).pipe(Layer.provide(SqsServer.layer()), Layer.provide(VirtualSqs.layer({ queues: ["jobs"] })))

  it.live("a message goes from the producer through receive, change and delete", () =>
    Effect.gen(function* () {
      const sqs = yield* Sqs.Sqs
      const producer = yield* Producer.make(Jobs)
      const results = yield* producer.sendAll([{ id: "a" }, { id: "b" }], {
        attributes: { tenant: "north", bytes: new Uint8Array([1]) }
      })
      assert.deepStrictEqual(
        results.map((result) => result._tag),
        ["Done", "Done"]
      )
      const queueUrl = producer.queueUrl
      assert.strictEqual((yield* sqs.attributes(queueUrl)).messages, 2)
      const messages = yield* sqs.receive({ queueUrl, maxMessages: 10, waitTimeSeconds: 1 })
      assert.deepStrictEqual(
        (yield* Effect.forEach(messages, (message) => Jobs.decode(message.body))).map((job) => job.id).sort(),
        ["a", "b"]
      )
      assert.deepStrictEqual(messages[0]?.attributes, {
        tenant: { dataType: "String", stringValue: "north" },
        bytes: { dataType: "Binary", binaryValue: new Uint8Array([1]) }
      })
      const handles = messages.map((message) => message.receiptHandle)
      const extended = handles.map((receiptHandle) => ({ receiptHandle, visibilityTimeoutSeconds: 60 }))
      assert.deepStrictEqual(yield* sqs.changeVisibilityBatch(queueUrl, extended), [Sqs.done, Sqs.done])
      const [first, garbage] = yield* sqs.deleteBatch(queueUrl, [handles[0]!, "garbage"])
      assert.strictEqual(first?._tag, "Done")
      assert.isTrue(garbage?._tag === "Failed" && garbage.error._tag === "HandleInvalid")
      const { messages: visible, messagesNotVisible } = yield* sqs.attributes(queueUrl)
      assert.deepStrictEqual([visible, messagesNotVisible], [0, 1])
      assert.strictEqual((yield* Effect.flip(sqs.queueUrl("nope")))._tag, "QueueMissing")
    }).pipe(Effect.provide(Served))
  )
})
