/**
 * What SQS, or the way to it, can answer instead of a result; told apart by what a caller can do about it.
 *
 * @since 0.1.0
 */
import { hasProperty } from "effect/Predicate"
import * as Schema from "effect/Schema"

/**
 * @since 0.1.0
 * @category type ids
 */
export const TypeId: unique symbol = Symbol.for("@effect-sqs/core/SqsError")

/**
 * @since 0.1.0
 * @category type ids
 */
export type TypeId = typeof TypeId

/**
 * The calls of the SQS API that this library makes.
 *
 * @since 0.1.0
 * @category models
 */
export const SqsOperation = Schema.Literal(
  "GetQueueUrl",
  "GetQueueAttributes",
  "ReceiveMessage",
  "DeleteMessageBatch",
  "ChangeMessageVisibilityBatch",
  "SendMessageBatch"
)

/**
 * @since 0.1.0
 * @category models
 */
export type SqsOperation = typeof SqsOperation.Type

/** What every one of the errors says. */
const fields = {
  /** the call that was answered so */
  operation: SqsOperation,
  /** name or URL of the queue, as far as the caller knew it */
  queue: Schema.String,
  /** SQS's own code, as `AWS.SimpleQueueService.NonExistentQueue` */
  code: Schema.String,
  /** SQS's own text */
  detail: Schema.String,
  cause: Schema.optional(Schema.Defect)
}

/**
 * The arguments of each error's constructor.
 *
 * @since 0.1.0
 * @category models
 */
export interface SqsErrorFields {
  readonly operation: SqsOperation
  readonly queue: string
  readonly code: string
  readonly detail: string
  readonly cause?: unknown
}

const sentence = (e: SqsErrorFields, what: string, remedy: string) =>
  `${e.operation} on ${e.queue}: ${what} (${e.code}: ${e.detail}). ${remedy}`

/**
 * The queue does not exist, or not in this account and region.
 *
 * @since 0.1.0
 * @category errors
 */
export class QueueMissing extends Schema.TaggedError<QueueMissing>()("QueueMissing", fields) {
  readonly [TypeId] = TypeId
  /** `false`: trying again does not create a queue. */
  get retryable() {
    return false
  }
  override get message() {
    return sentence(
      this,
      "the queue does not exist",
      "Check the name or URL, the region, the account and the endpoint; create the queue if it is new."
    )
  }
}

/**
 * The caller may not do this on this queue, or may not use its key.
 *
 * @since 0.1.0
 * @category errors
 */
export class AccessDenied extends Schema.TaggedError<AccessDenied>()("AccessDenied", fields) {
  readonly [TypeId] = TypeId
  get retryable() {
    return false
  }
  /** The IAM action that the call needs, as `sqs:ReceiveMessage`, or `kms:Decrypt` where the queue's key is at fault. */
  get action(): string {
    if (!/^kms/i.test(this.code)) return `sqs:${this.operation.replace(/Batch$/, "")}`
    return this.operation === "SendMessageBatch" ? "kms:GenerateDataKey" : "kms:Decrypt"
  }
  override get message() {
    return this.action.startsWith("kms:")
      ? sentence(
          this,
          "the queue's key cannot be used",
          `Check that the KMS key exists, is enabled and allows ${this.action} to the role that calls.`
        )
      : sentence(this, "access denied", `Allow ${this.action} on this queue to the role that calls.`)
  }
}

/**
 * No credentials, or credentials that are no longer, or not yet, accepted.
 *
 * @since 0.1.0
 * @category errors
 */
export class CredentialsExpired extends Schema.TaggedError<CredentialsExpired>()("CredentialsExpired", fields) {
  readonly [TypeId] = TypeId
  /** `true`: providers renew what has expired. */
  get retryable() {
    return true
  }
  override get message() {
    return sentence(
      this,
      "the credentials are missing or not accepted",
      "Give credentials that are in force (AWS_ACCESS_KEY_ID and its secret, a profile, a role); check this machine's clock."
    )
  }
}

/**
 * Too many calls: on the queue, or on the key that encrypts it.
 *
 * @since 0.1.0
 * @category errors
 */
export class Throttled extends Schema.TaggedError<Throttled>()("Throttled", fields) {
  readonly [TypeId] = TypeId
  get retryable() {
    return true
  }
  override get message() {
    return sentence(this, "throttled", "It is tried again more slowly; ask for a higher quota when it lasts.")
  }
}

/**
 * Too many messages are in flight on the queue (about 120,000).
 *
 * @since 0.1.0
 * @category errors
 */
export class OverLimit extends Schema.TaggedError<OverLimit>()("OverLimit", fields) {
  readonly [TypeId] = TypeId
  get retryable() {
    return true
  }
  override get message() {
    return sentence(
      this,
      "too many messages are in flight",
      "Delete or release what was received; look for consumers that receive and never settle."
    )
  }
}

/**
 * The receipt handle was good once and is no longer: the message is deleted, or another delivery of it took over.
 *
 * @since 0.1.0
 * @category errors
 */
export class MessageGone extends Schema.TaggedError<MessageGone>()("MessageGone", fields) {
  readonly [TypeId] = TypeId
  get retryable() {
    return false
  }
  override get message() {
    return sentence(this, "this delivery is no longer ours", "The lease was lost: look at visibility and heartbeat.")
  }
}

/**
 * The receipt handle is none of this queue's.
 *
 * @since 0.1.0
 * @category errors
 */
export class HandleInvalid extends Schema.TaggedError<HandleInvalid>()("HandleInvalid", fields) {
  readonly [TypeId] = TypeId
  get retryable() {
    return false
  }
  override get message() {
    return sentence(this, "the receipt handle is not valid", "Use the handle of the delivery itself, on its own queue.")
  }
}

/**
 * More visibility was asked than the 43,200 s that SQS allows from the receive.
 *
 * @since 0.1.0
 * @category errors
 */
export class VisibilityLimit extends Schema.TaggedError<VisibilityLimit>()("VisibilityLimit", fields) {
  readonly [TypeId] = TypeId
  get retryable() {
    return false
  }
  override get message() {
    return sentence(
      this,
      "the 12 hours of visibility are used up",
      "Cut the work into shorter steps: no message can stay hidden longer."
    )
  }
}

/**
 * No answer came: refused, reset, not resolved, or too late.
 *
 * @since 0.1.0
 * @category errors
 */
export class NetworkError extends Schema.TaggedError<NetworkError>()("NetworkError", fields) {
  readonly [TypeId] = TypeId
  get retryable() {
    return true
  }
  override get message() {
    return sentence(this, "no answer", "Check that the endpoint is right and reachable from here.")
  }
}

/**
 * SQS had a fault of its own (5xx).
 *
 * @since 0.1.0
 * @category errors
 */
export class ServiceError extends Schema.TaggedError<ServiceError>()("ServiceError", fields) {
  readonly [TypeId] = TypeId
  get retryable() {
    return true
  }
  override get message() {
    return sentence(this, "the service failed", "It is tried again.")
  }
}

/**
 * SQS refused what was asked: a value out of range, a message too long, an operation the queue does not support.
 *
 * @since 0.1.0
 * @category errors
 */
export class RefusedInput extends Schema.TaggedError<RefusedInput>()("RefusedInput", fields) {
  readonly [TypeId] = TypeId
  get retryable() {
    return false
  }
  override get message() {
    return sentence(this, "refused", "Correct what the text names: sending the same again cannot help.")
  }
}

/**
 * Everything that a call of the port can fail with.
 *
 * @since 0.1.0
 * @category errors
 */
export type SqsError =
  | QueueMissing
  | AccessDenied
  | CredentialsExpired
  | Throttled
  | OverLimit
  | MessageGone
  | HandleInvalid
  | VisibilityLimit
  | NetworkError
  | ServiceError
  | RefusedInput

/**
 * @since 0.1.0
 * @category guards
 */
export const isSqsError = (u: unknown): u is SqsError => hasProperty(u, TypeId)

type Constructor = new (f: SqsErrorFields) => SqsError

/** The codes that need no look at their text, as `bare` leaves them. */
const byCode = new Map<string, Constructor>(
  (
    [
      [QueueMissing, "QueueDoesNotExist NonExistentQueue QueueDeletedRecently InvalidAddress ResourceNotFound"],
      [HandleInvalid, "ReceiptHandleIsInvalid InvalidIdFormat"],
      [MessageGone, "MessageNotInflight"],
      [OverLimit, "OverLimit"],
      [Throttled, "RequestThrottled Throttling Throttled TooManyRequests RequestLimitExceeded SlowDown"],
      [Throttled, "KmsThrottled KmsThrottling PurgeQueueInProgress"],
      [AccessDenied, "AccessDenied AuthorizationError NotAuthorized OptInRequired KmsAccessDenied KmsOptInRequired"],
      [AccessDenied, "KmsDisabled KmsInvalidKeyUsage KmsInvalidState KmsNotFound"],
      [CredentialsExpired, "ExpiredToken RequestExpired InvalidClientTokenId UnrecognizedClient InvalidSignature"],
      [CredentialsExpired, "SignatureDoesNotMatch IncompleteSignature MissingAuthenticationToken"],
      [CredentialsExpired, "CredentialsProviderError TokenProviderError"],
      // Not HTTPS, or not signed as SQS wants it: no permission helps, though the status is 403.
      [RefusedInput, "InvalidSecurity"],
      [ServiceError, "InternalFailure InternalError InternalServerError ServiceUnavailable RequestTimeout"]
    ] as ReadonlyArray<[Constructor, string]>
  ).flatMap(([constructor, codes]) => codes.split(" ").map((code) => [code, constructor] as const))
)

/** One code has several spellings: of the shape, of the query protocol, and with or without `Exception`. */
const bare = (code: string) =>
  code
    .replace(/^AWS\.SimpleQueueService\./, "")
    .replace(/^KMS\./, "Kms")
    .replace(/Exception$/, "")

/** SQS says `InvalidParameterValue` for many things; only the text tells them apart. */
const byText = (detail: string): Constructor | undefined =>
  /Total VisibilityTimeout for the message is beyond the limit/i.test(detail)
    ? VisibilityLimit
    : /does not exist or is not available for visibility timeout change|receipt handle has expired/i.test(detail)
      ? MessageGone
      : undefined

const byStatus = (status: number | undefined): Constructor => {
  if (status === undefined) return RefusedInput
  if (status === 429) return Throttled
  if (status >= 500 || status === 408) return ServiceError
  return status === 401 || status === 403 ? AccessDenied : RefusedInput
}

/**
 * What decides the class of an error beside its code and text.
 *
 * @since 0.1.0
 * @category models
 */
export interface SqsAnswer extends SqsErrorFields {
  /** of the answer as a whole: decides for codes that are not known */
  readonly httpStatus?: number | undefined
  /** of one entry of a batch: `true`, and it is not tried again; `false` makes an unknown code one of the service */
  readonly senderFault?: boolean | undefined
}

/**
 * The error for a code and text of SQS. Codes that are not known go by HTTP status or, for an entry of a batch, by
 * whose fault SQS says it is.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import { SqsError } from "@effect-sqs/core"
 *
 * const e = SqsError.fromCode({
 *   operation: "ReceiveMessage",
 *   queue: "jobs",
 *   code: "RequestThrottled",
 *   detail: "Rate exceeded"
 * })
 * console.log(e._tag, e.retryable) // Throttled true
 */
export const fromCode = (answer: SqsAnswer): SqsError => {
  const { httpStatus, senderFault, ...fields } = answer
  const status = httpStatus ?? (senderFault === undefined ? undefined : senderFault ? 400 : 500)
  const known = byText(fields.detail) ?? byCode.get(bare(fields.code)) ?? byStatus(status)
  return new (senderFault === true && known === ServiceError ? RefusedInput : known)(fields)
}
