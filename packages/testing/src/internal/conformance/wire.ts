/** Checks of the protocol itself: AWS JSON 1.0 over HTTP. */
import * as Effect from "effect/Effect"
import { check, type Check, type T } from "./kit.js"

const post = (t: T, operation: string, body: string) =>
  t.door.raw === undefined
    ? t.fail("this door has no raw calls")
    : Effect.map(
        t.door.raw({
          headers: {
            "content-type": "application/x-amz-json-1.0",
            "x-amz-target": `AmazonSQS.${operation}`,
            "x-amzn-query-mode": "true"
          },
          body
        }),
        (reply) => ({ ...reply, json: JSON.parse(reply.body) as any })
      )

const raw = (id: string, evidence: Check["evidence"], title: string, body: (t: T) => Generator<any, unknown, any>) =>
  check(id, evidence, title, body, { needs: "raw" })

export const wire: ReadonlyArray<Check> = [
  raw("wire-modelled-error", "documented", "a modelled error: type, query code, request id, status", function* (t) {
    const q = yield* t.queue()
    const { headers, json, status } = yield* post(t, "ReceiveMessage", JSON.stringify({ QueueUrl: `${q.url}-missing` }))
    yield* t.equal(
      [status, json.__type, json.message, headers["x-amzn-query-error"]],
      [
        400,
        "com.amazonaws.sqs#QueueDoesNotExist",
        "The specified queue does not exist.",
        "AWS.SimpleQueueService.NonExistentQueue;Sender"
      ],
      "status, type, message, query error"
    )
    yield* t.that((headers["x-amzn-requestid"] ?? "").length > 0, "there is no x-amzn-RequestId")
    yield* t.that(
      (headers["content-type"] ?? "").startsWith("application/x-amz-json-1.0"),
      `content-type is ${headers["content-type"]}`
    )
  }),
  raw(
    "wire-common-error",
    "documented",
    "an error that is not modelled has the namespace of the framework",
    function* (t) {
      const q = yield* t.queue()
      const { headers, json } = yield* post(
        t,
        "ReceiveMessage",
        JSON.stringify({ QueueUrl: q.url, MaxNumberOfMessages: 11 })
      )
      yield* t.equal(
        [json.__type, headers["x-amzn-query-error"]],
        ["com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue;Sender"],
        "type, query error"
      )
    }
  ),
  raw("wire-empty-answer", "documented", "success with nothing to say is an empty object", function* (t) {
    const q = yield* t.queue()
    const { body, status } = yield* post(t, "PurgeQueue", JSON.stringify({ QueueUrl: q.url }))
    yield* t.equal([status, body], [200, "{}"], "status, body")
  }),
  raw("wire-empty-receive", "recorded", "so is an empty receive", function* (t) {
    const q = yield* t.queue()
    const { body, status } = yield* post(t, "ReceiveMessage", JSON.stringify({ QueueUrl: q.url }))
    yield* t.equal([status, body], [200, "{}"], "status, body")
  }),
  raw("wire-unknown-operation", "documented", "an unknown operation", function* (t) {
    const { headers, json, status } = yield* post(t, "Nonsense", "{}")
    yield* t.equal(
      [status, json.__type, headers["x-amzn-query-error"]],
      [400, "com.amazon.coral.service#UnknownOperationException", "InvalidAction;Sender"],
      "status, type, query error"
    )
  }),
  raw("wire-not-json", "documented", "a body that is not JSON", function* (t) {
    const { json, status } = yield* post(t, "ListQueues", "{not json")
    yield* t.equal([status, json.__type], [400, "com.amazon.coral.service#SerializationException"], "status, type")
  }),
  raw("wire-wrong-type", "documented", "a member of the wrong type", function* (t) {
    const q = yield* t.queue()
    const { json, status } = yield* post(
      t,
      "ReceiveMessage",
      JSON.stringify({ QueueUrl: q.url, MaxNumberOfMessages: "ten" })
    )
    yield* t.equal([status, json.__type], [400, "com.amazon.coral.service#SerializationException"], "status, type")
  }),
  raw("wire-not-base64", "inferred", "a binary value that is not base64", function* (t) {
    const q = yield* t.queue()
    const MessageAttributes = { a: { DataType: "Binary", BinaryValue: "not base64!" } }
    const { json, status } = yield* post(
      t,
      "SendMessage",
      JSON.stringify({ QueueUrl: q.url, MessageBody: "m", MessageAttributes })
    )
    yield* t.equal([status, json.__type], [400, "com.amazon.coral.service#SerializationException"], "status, type")
  }),
  raw("wire-no-queue-url", "inferred", "a call without QueueUrl", function* (t) {
    const { headers, status } = yield* post(t, "ReceiveMessage", "{}")
    yield* t.equal([status, headers["x-amzn-query-error"]], [400, "MissingParameter;Sender"], "status, query error")
  })
]
