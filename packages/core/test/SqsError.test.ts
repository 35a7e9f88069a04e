import { Sqs, SqsError } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { fromThrown } from "../src/internal/thrown.js"
import { positional } from "../src/internal/wire.js"

const answer = (code: string, more: Partial<SqsError.SqsAnswer> = {}) =>
  SqsError.fromCode({ operation: "ReceiveMessage", queue: "jobs", code, detail: "text", ...more })

describe("fromCode", () => {
  const rows: ReadonlyArray<[SqsError.SqsError["_tag"], retryable: boolean, ReadonlyArray<string>]> = [
    [
      "QueueMissing",
      false,
      [
        "QueueDoesNotExist",
        "AWS.SimpleQueueService.NonExistentQueue",
        "QueueDeletedRecently",
        "AWS.SimpleQueueService.QueueDeletedRecently",
        "InvalidAddress",
        "ResourceNotFoundException"
      ]
    ],
    ["HandleInvalid", false, ["ReceiptHandleIsInvalid", "InvalidIdFormat"]],
    ["MessageGone", false, ["MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight"]],
    ["OverLimit", true, ["OverLimit", "AWS.SimpleQueueService.OverLimit"]],
    [
      "Throttled",
      true,
      [
        "RequestThrottled",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
        "RequestLimitExceeded",
        "KmsThrottled",
        "KMS.ThrottlingException",
        "PurgeQueueInProgress"
      ]
    ],
    [
      "AccessDenied",
      false,
      [
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",
        "OptInRequired",
        "KmsAccessDenied",
        "KMS.AccessDeniedException",
        "KmsDisabled",
        "KMS.DisabledException",
        "KmsInvalidKeyUsage",
        "KMS.InvalidKeyUsageException",
        "KmsInvalidState",
        "KMS.InvalidStateException",
        "KmsNotFound",
        "KMS.NotFoundException",
        "KmsOptInRequired",
        "KMS.OptInRequired"
      ]
    ],
    [
      "CredentialsExpired",
      true,
      [
        "ExpiredToken",
        "ExpiredTokenException",
        "RequestExpired",
        "InvalidClientTokenId",
        "UnrecognizedClientException",
        "InvalidSignatureException",
        "SignatureDoesNotMatch",
        "IncompleteSignatureException",
        "MissingAuthenticationTokenException"
      ]
    ],
    ["ServiceError", true, ["InternalFailure", "InternalError", "InternalServerError", "ServiceUnavailableException"]],
    [
      "RefusedInput",
      false,
      [
        "InvalidSecurity",
        "UnsupportedOperation",
        "InvalidParameterValue",
        "MissingParameter",
        "InvalidAction",
        "BatchRequestTooLong",
        "EmptyBatchRequest",
        "InvalidMessageContents",
        "QueueNameExists",
        "NeverHeardOf"
      ]
    ]
  ]
  for (const [tag, retryable, codes] of rows) {
    for (const code of codes) {
      it(`${code} is ${tag}`, () => {
        const error = answer(code)
        assert.strictEqual(error._tag, tag)
        assert.strictEqual(error.retryable, retryable)
        assert.strictEqual(error.code, code)
        assert.isTrue(SqsError.isSqsError(error))
      })
    }
  }

  it("tells the meanings of InvalidParameterValue apart by their texts", () => {
    const tagOf = (detail: string) => answer("InvalidParameterValue", { detail })._tag
    const value = "Value x for parameter"
    assert.strictEqual(
      tagOf(
        `${value} VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]`
      ),
      "VisibilityLimit"
    )
    assert.strictEqual(
      tagOf(
        `${value} ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.`
      ),
      "MessageGone"
    )
    assert.strictEqual(
      tagOf(`${value} ReceiptHandle is invalid. Reason: The receipt handle has expired.`),
      "MessageGone"
    )
    assert.strictEqual(
      tagOf(`${value} WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.`),
      "RefusedInput"
    )
  })

  it("goes by HTTP status where the code is not known", () => {
    const tagOf = (httpStatus: number) => answer("NeverHeardOf", { httpStatus })._tag
    assert.strictEqual(tagOf(400), "RefusedInput")
    assert.strictEqual(tagOf(401), "AccessDenied")
    assert.strictEqual(tagOf(403), "AccessDenied")
    assert.strictEqual(tagOf(404), "RefusedInput")
    assert.strictEqual(tagOf(408), "ServiceError")
    assert.strictEqual(tagOf(429), "Throttled")
    assert.strictEqual(tagOf(500), "ServiceError")
    assert.strictEqual(tagOf(503), "ServiceError")
    assert.strictEqual(answer("RequestThrottled", { httpStatus: 403 })._tag, "Throttled")
  })

  it("goes by whose fault it is, for an entry of a batch", () => {
    assert.isTrue(answer("NeverHeardOf", { senderFault: false }).retryable)
    assert.isFalse(answer("NeverHeardOf", { senderFault: true }).retryable)
    assert.strictEqual(answer("InternalError", { senderFault: true })._tag, "RefusedInput")
    assert.strictEqual(answer("InternalError", { senderFault: false })._tag, "ServiceError")
    assert.strictEqual(answer("RequestThrottled", { senderFault: true })._tag, "Throttled")
    assert.strictEqual(answer("ReceiptHandleIsInvalid", { senderFault: false })._tag, "HandleInvalid")
  })

  it("names the IAM action that is missing, of the queue or of its key", () => {
    const actionOf = (operation: SqsError.SqsOperation, code: string) => {
      const error = answer(code, { operation })
      return error._tag === "AccessDenied" ? [error.action, error.message.includes(`${error.action} `)] : []
    }
    assert.deepStrictEqual(actionOf("ReceiveMessage", "AccessDenied"), ["sqs:ReceiveMessage", true])
    assert.deepStrictEqual(actionOf("DeleteMessageBatch", "AccessDenied"), ["sqs:DeleteMessage", true])
    assert.deepStrictEqual(actionOf("ChangeMessageVisibilityBatch", "AccessDenied"), [
      "sqs:ChangeMessageVisibility",
      true
    ])
    assert.deepStrictEqual(actionOf("ReceiveMessage", "KmsDisabled"), ["kms:Decrypt", true])
    assert.deepStrictEqual(actionOf("SendMessageBatch", "KMS.AccessDeniedException"), ["kms:GenerateDataKey", true])
  })

  it("says what is wrong and what to do, each in its own words", () => {
    const limit = "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
    const errors = [
      answer("QueueDoesNotExist"),
      answer("AccessDenied"),
      answer("KmsDisabled"),
      answer("ExpiredToken"),
      answer("RequestThrottled"),
      answer("OverLimit"),
      answer("MessageNotInflight"),
      answer("ReceiptHandleIsInvalid"),
      answer("InvalidParameterValue", { detail: limit }),
      answer("InvalidParameterValue"),
      answer("InternalError", { httpStatus: 500 })
    ]
    const said = errors.map(({ code, detail, message }) => {
      const [before, after] = message.split(` (${code}: ${detail}). `)
      return { what: before!.replace("ReceiveMessage on jobs: ", ""), remedy: after! }
    })
    for (const { remedy, what } of said) {
      assert.match(what, /^[a-z][a-z0-9 ']{6,}$/)
      assert.match(remedy, /^[A-Z].{10,}\.$/)
    }
    assert.strictEqual(new Set(said.map(({ what }) => what)).size, said.length)
    assert.strictEqual(new Set(said.map(({ remedy }) => remedy)).size, said.length)
    assert.isFalse(errors[8]!.retryable)
  })

  it("says operation, queue, code, text and a remedy", () => {
    assert.strictEqual(
      answer("QueueDoesNotExist", { detail: "The specified queue does not exist." }).message,
      "ReceiveMessage on jobs: the queue does not exist (QueueDoesNotExist: The specified queue does not exist.). " +
        "Check the name or URL, the region, the account and the endpoint; create the queue if it is new."
    )
  })
})

describe("fromThrown", () => {
  const thrown = (fields: object, message = "text") =>
    fromThrown("DeleteMessageBatch", "jobs", Object.assign(new Error(message), fields))

  it("takes what Node says of sockets, names, TLS and HTTP for a network error", () => {
    const codes = [
      "ECONNREFUSED",
      "ECONNRESET",
      "EPIPE",
      "ETIMEDOUT",
      "ENOTFOUND",
      "EAI_AGAIN",
      "EHOSTUNREACH",
      "ENETUNREACH",
      "EPROTO",
      "CERT_HAS_EXPIRED",
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "ERR_TLS_CERT_ALTNAME_INVALID",
      "HPE_INVALID_CONSTANT",
      "ERR_STREAM_PREMATURE_CLOSE"
    ]
    for (const code of codes) {
      const error = thrown({ code })
      assert.strictEqual(error._tag, "NetworkError")
      assert.strictEqual(error.code, code)
      assert.isTrue(error.retryable)
    }
    assert.strictEqual(thrown({ name: "TimeoutError" })._tag, "NetworkError")
    assert.strictEqual(thrown({ name: "AbortError" })._tag, "NetworkError")
  })

  it("takes the text of the first address where a connection was tried at several", () => {
    const cause = Object.assign(new AggregateError([new Error("connect ECONNREFUSED ::1:9324"), new Error("second")]), {
      code: "ECONNREFUSED"
    })
    const error = fromThrown("GetQueueUrl", "jobs", cause)
    assert.strictEqual(error._tag, "NetworkError")
    assert.strictEqual(error.detail, "connect ECONNREFUSED ::1:9324")
  })

  it("says what to do without a region, with a bad one, with an endpoint that is no URL", () => {
    const region = thrown({}, "Region is missing")
    assert.strictEqual(region._tag, "RefusedInput")
    assert.include(region.message, "AWS_REGION")
    const bad = thrown({}, `Region not accepted: region="a b" is not a valid hostname component.`)
    assert.strictEqual(bad._tag, "RefusedInput")
    assert.include(bad.message, "a b")
    const endpoint = thrown({ code: "ERR_INVALID_URL" }, "Invalid URL")
    assert.strictEqual(endpoint._tag, "RefusedInput")
    assert.include(endpoint.message, "AWS_ENDPOINT_URL")
  })

  it("takes missing credentials for missing credentials", () => {
    for (const name of ["CredentialsProviderError", "TokenProviderError"]) {
      assert.strictEqual(thrown({ name }, "Could not load credentials from any providers")._tag, "CredentialsExpired")
    }
  })

  it("takes a checksum that does not fit for a fault of the service, which can pass", () => {
    const error = thrown({}, "Invalid MD5 checksum on messages: a, b")
    assert.strictEqual(error._tag, "ServiceError")
    assert.strictEqual(error.code, "InvalidMD5")
    assert.isTrue(error.retryable)
  })

  it("does not quote an answer that is no JSON", () => {
    const error = thrown({ name: "SyntaxError", $metadata: { httpStatusCode: 502 } }, `Unexpected token 's', "secret"`)
    assert.strictEqual(error._tag, "ServiceError")
    assert.strictEqual(error.detail, "the answer, HTTP 502, is not JSON: does the endpoint speak SQS?")
  })

  it("takes anything else for a fault of the service, with its cause, cut", () => {
    const cause = new TypeError(`${"x".repeat(1000)}`)
    const error = fromThrown("ReceiveMessage", "jobs", cause)
    assert.strictEqual(error._tag, "ServiceError")
    assert.strictEqual(error.code, "TypeError")
    assert.strictEqual(error.detail.length, 500)
    assert.strictEqual(error.cause, cause)
    assert.strictEqual(fromThrown("ReceiveMessage", "jobs", "a string").detail, "a string")
    assert.strictEqual(thrown({}, "first line\nsecond").detail, "first line")
  })
})

describe("positional", () => {
  const answers = (count: number, wire: Parameters<typeof positional>[3]) =>
    positional("DeleteMessageBatch", "jobs", count, wire, () => Sqs.done)

  it("gives each entry its own answer, in the order of the entries", () => {
    const results = answers(3, {
      Successful: [{ Id: "2" }, { Id: "0" }],
      Failed: [{ Id: "1", Code: "ReceiptHandleIsInvalid", Message: "text", SenderFault: true }]
    })
    assert.deepStrictEqual(
      results.map((r) => (r._tag === "Failed" ? r.error._tag : r._tag)),
      ["Done", "HandleInvalid", "Done"]
    )
  })

  it("takes an entry in neither list for failed, and worth another try", () => {
    const [first, second] = answers(2, { Successful: [{ Id: "1" }] })
    assert.isTrue(first?._tag === "Failed" && first.error.retryable && first.error.code === "NoAnswer")
    assert.strictEqual(second?._tag, "Done")
    assert.isTrue(answers(1, {}).every((r) => r._tag === "Failed"))
  })

  it("is not misled by ids that nobody sent", () => {
    const results = answers(1, { Successful: [{ Id: "0" }, { Id: "7" }, { Id: undefined }, { Id: "x" }] })
    assert.deepStrictEqual(results, [Sqs.done])
  })

  it("believes the failure of an entry that is in both lists", () => {
    const [result] = answers(1, {
      Successful: [{ Id: "0" }],
      Failed: [{ Id: "0", Code: undefined, SenderFault: false }]
    })
    assert.isTrue(result?._tag === "Failed" && result.error.retryable)
  })
})
