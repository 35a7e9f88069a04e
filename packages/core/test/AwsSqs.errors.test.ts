import type { SqsError } from "@effect-sqs/core"
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { credentials, environment, json, receiveOf, setup } from "./sqsStub.js"

describe("errors", () => {
  // shape, query code, HTTP status, ours
  const sender: ReadonlyArray<[string, string, number, SqsError.SqsError["_tag"]]> = [
    ["QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", 400, "QueueMissing"],
    ["QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently", 400, "QueueMissing"],
    ["QueueNameExists", "QueueAlreadyExists", 400, "RefusedInput"],
    ["ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404, "HandleInvalid"],
    ["MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight", 400, "MessageGone"],
    ["OverLimit", "OverLimit", 403, "OverLimit"],
    ["RequestThrottled", "RequestThrottled", 403, "Throttled"],
    ["PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress", 403, "Throttled"],
    ["BatchEntryIdsNotDistinct", "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", 400, "RefusedInput"],
    ["BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", 400, "RefusedInput"],
    ["EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest", 400, "RefusedInput"],
    ["InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId", 400, "RefusedInput"],
    ["TooManyEntriesInBatchRequest", "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", 400, "RefusedInput"],
    ["UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation", 400, "RefusedInput"],
    ["InvalidAddress", "InvalidAddress", 404, "QueueMissing"],
    ["InvalidSecurity", "InvalidSecurity", 403, "RefusedInput"],
    ["ResourceNotFoundException", "ResourceNotFoundException", 404, "QueueMissing"],
    ["KmsAccessDenied", "KMS.AccessDeniedException", 400, "AccessDenied"],
    ["KmsDisabled", "KMS.DisabledException", 400, "AccessDenied"],
    ["KmsInvalidKeyUsage", "KMS.InvalidKeyUsageException", 400, "AccessDenied"],
    ["KmsInvalidState", "KMS.InvalidStateException", 400, "AccessDenied"],
    ["KmsNotFound", "KMS.NotFoundException", 400, "AccessDenied"],
    ["KmsOptInRequired", "KMS.OptInRequired", 403, "AccessDenied"],
    ["KmsThrottled", "KMS.ThrottlingException", 400, "Throttled"],
    ["InvalidAttributeName", "InvalidAttributeName", 400, "RefusedInput"],
    ["InvalidAttributeValue", "InvalidAttributeValue", 400, "RefusedInput"],
    ["InvalidMessageContents", "InvalidMessageContents", 400, "RefusedInput"]
  ]
  // not modelled: the namespace is another, and the class has no name of its own
  const coral: typeof sender = [
    ["InvalidParameterValueException", "InvalidParameterValue", 400, "RefusedInput"],
    ["MissingRequiredParameterException", "MissingParameter", 400, "RefusedInput"],
    ["UnknownOperationException", "InvalidAction", 400, "RefusedInput"],
    ["ThrottlingException", "Throttling", 400, "Throttled"],
    ["AccessDeniedException", "AccessDenied", 400, "AccessDenied"],
    ["ExpiredTokenException", "ExpiredToken", 403, "CredentialsExpired"],
    ["UnrecognizedClientException", "InvalidClientTokenId", 403, "CredentialsExpired"],
    ["InvalidSignatureException", "SignatureDoesNotMatch", 403, "CredentialsExpired"],
    ["InternalFailure", "InternalFailure", 500, "ServiceError"],
    ["ServiceUnavailableException", "ServiceUnavailable", 503, "ServiceError"]
  ]
  const rows = [
    ...sender.map((row) => ["com.amazonaws.sqs", ...row] as const),
    ...coral.map((row) => ["com.amazon.coral.service", ...row] as const)
  ]

  for (const [namespace, shape, code, status, tag] of rows) {
    it.scopedLive(`${shape} is ${tag}, with and without the header, after one request`, () =>
      Effect.gen(function* () {
        const { calls, port, queueUrl } = yield* setup((call) =>
          json(
            call,
            { __type: `${namespace}#${shape}`, message: "the text" },
            status,
            calls.length % 2 === 1 ? { "x-amzn-query-error": `${code};${status < 500 ? "Sender" : "Receiver"}` } : {}
          )
        )
        for (const call of [receiveOf(port, queueUrl), port.deleteBatch(queueUrl, ["h"])]) {
          const error = yield* Effect.flip(Effect.asVoid<unknown, SqsError.SqsError, never>(call))
          assert.strictEqual(error._tag, tag)
          assert.strictEqual(error.detail, "the text")
          assert.strictEqual(error.queue, queueUrl)
        }
        // what can be tried again is tried again by the caller, not by the SDK
        assert.deepStrictEqual(
          calls.map((call) => call.operation),
          ["ReceiveMessage", "DeleteMessageBatch"]
        )
      })
    )
  }

  it.scopedLive("tells a lost delivery and the end of the 12 hours by their texts", () =>
    Effect.gen(function* () {
      let message = ""
      const { port, queueUrl } = yield* setup((call) =>
        json(call, { __type: "com.amazon.coral.service#InvalidParameterValueException", message }, 400)
      )
      const tagFor = (text: string) => {
        message = text
        return Effect.map(
          Effect.flip(port.changeVisibilityBatch(queueUrl, [{ receiptHandle: "h", visibilityTimeoutSeconds: 1 }])),
          (e) => e._tag
        )
      }
      assert.strictEqual(
        yield* tagFor(
          "Value h for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change."
        ),
        "MessageGone"
      )
      assert.strictEqual(
        yield* tagFor(
          "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
        ),
        "VisibilityLimit"
      )
    })
  )

  it.scopedLive("answers that are not of SQS are faults of the service", () =>
    Effect.gen(function* () {
      let status = 502
      const { port, queueUrl } = yield* setup(({ response }) => {
        response.writeHead(status, { "content-type": "text/html" })
        response.end("<html>secret</html>")
      })
      const gateway = yield* Effect.flip(receiveOf(port, queueUrl))
      assert.strictEqual(gateway._tag, "ServiceError")
      assert.strictEqual(gateway.detail, "the answer, HTTP 502, is not JSON: does the endpoint speak SQS?")
      status = 200
      assert.strictEqual((yield* Effect.flip(receiveOf(port, queueUrl)))._tag, "ServiceError")
    })
  )

  it.scopedLive("a 500 without a body is a fault of the service", () =>
    Effect.gen(function* () {
      const { calls, port, queueUrl } = yield* setup(({ response }) => response.writeHead(500).end())
      assert.strictEqual((yield* Effect.flip(receiveOf(port, queueUrl)))._tag, "ServiceError")
      assert.strictEqual(calls.length, 1)
    })
  )

  it.scopedLive("a checksum that does not fit fails the receive, and can be tried again", () =>
    Effect.gen(function* () {
      const { port, queueUrl } = yield* setup((call) =>
        json(call, { Messages: [{ MessageId: "m", ReceiptHandle: "h", Body: "x", MD5OfBody: "0".repeat(32) }] })
      )
      const error = yield* Effect.flip(receiveOf(port, queueUrl))
      assert.deepStrictEqual([error._tag, error.code, error.retryable], ["ServiceError", "InvalidMD5", true])
    })
  )

  it.scopedLive("an answer without what was asked for is a fault of the service", () =>
    Effect.gen(function* () {
      const { port } = yield* setup((call) => json(call, {}))
      assert.strictEqual((yield* Effect.flip(port.queueUrl("jobs")))._tag, "ServiceError")
    })
  )

  const withoutAws = environment({
    AWS_REGION: undefined,
    AWS_DEFAULT_REGION: undefined,
    AWS_PROFILE: undefined,
    AWS_ACCESS_KEY_ID: undefined,
    AWS_SECRET_ACCESS_KEY: undefined,
    AWS_CONFIG_FILE: "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
    AWS_EC2_METADATA_DISABLED: "true"
  })

  it.scopedLive("says AWS_REGION when there is no region", () =>
    Effect.gen(function* () {
      yield* withoutAws
      const port = yield* AwsSqs.make({ credentials })
      const error = yield* Effect.flip(port.queueUrl("jobs"))
      assert.strictEqual(error._tag, "RefusedInput")
      assert.include(error.message, "AWS_REGION")
    })
  )

  it.scopedLive("says credentials when there are none", () =>
    Effect.gen(function* () {
      yield* withoutAws
      const port = yield* AwsSqs.make({ region: "us-east-1" })
      const error = yield* Effect.flip(port.queueUrl("jobs"))
      assert.strictEqual(error._tag, "CredentialsExpired")
      assert.include(error.message, "AWS_ACCESS_KEY_ID")
    })
  )

  it.scopedLive("says AWS_ENDPOINT_URL when the endpoint is no URL", () =>
    Effect.gen(function* () {
      yield* environment({ AWS_ENDPOINT_URL_SQS: undefined, AWS_ENDPOINT_URL: "localhost" })
      const port = yield* AwsSqs.make({ region: "us-east-1", credentials })
      const error = yield* Effect.flip(port.queueUrl("jobs"))
      assert.strictEqual(error._tag, "RefusedInput")
      assert.include(error.message, "AWS_ENDPOINT_URL")
    })
  )
})
