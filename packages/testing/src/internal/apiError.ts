/** The errors of the API: for each shape its query code, namespace and HTTP status, as AWS answers them. */

/** An answer that is an error. Not an `Error`: it is data, thrown inside the engine, and needs no stack. */
export class ApiError {
  readonly _tag = "ApiError"
  constructor(
    /** name of the shape, as `QueueDoesNotExist` */
    readonly shape: string,
    /** query code, as `AWS.SimpleQueueService.NonExistentQueue` */
    readonly code: string,
    readonly message: string,
    readonly status: number,
    /** `false`: SQS's own fault */
    readonly senderFault: boolean,
    readonly namespace: string
  ) {}
  /** what travels as `__type` */
  get type(): string {
    return `${this.namespace}#${this.shape}`
  }
  /** SQS models it: the SDK throws it by its shape, the others by their code */
  get modelled(): boolean {
    return this.namespace === modelled
  }
}

const modelled = "com.amazonaws.sqs"
const coral = "com.amazon.coral.service"
const availability = "com.amazon.coral.availability"
const old = (shape: string) => `AWS.SimpleQueueService.${shape}`

interface Row {
  readonly code: string
  readonly status: number
  readonly namespace: string
}
const row = (code: string, status = 400, namespace = modelled): Row => ({ code, status, namespace })

const rows: ReadonlyMap<string, Row> = new Map([
  ["QueueDoesNotExist", row(old("NonExistentQueue"))],
  ["QueueDeletedRecently", row(old("QueueDeletedRecently"))],
  ["QueueNameExists", row("QueueAlreadyExists")],
  ["ReceiptHandleIsInvalid", row("ReceiptHandleIsInvalid", 404)],
  ["MessageNotInflight", row(old("MessageNotInflight"))],
  ["OverLimit", row("OverLimit", 403)],
  ["RequestThrottled", row("RequestThrottled", 403)],
  ["PurgeQueueInProgress", row(old("PurgeQueueInProgress"), 403)],
  ["BatchEntryIdsNotDistinct", row(old("BatchEntryIdsNotDistinct"))],
  ["BatchRequestTooLong", row(old("BatchRequestTooLong"))],
  ["EmptyBatchRequest", row(old("EmptyBatchRequest"))],
  ["InvalidBatchEntryId", row(old("InvalidBatchEntryId"))],
  ["TooManyEntriesInBatchRequest", row(old("TooManyEntriesInBatchRequest"))],
  ["UnsupportedOperation", row(old("UnsupportedOperation"))],
  ["InvalidAddress", row("InvalidAddress", 404)],
  ["InvalidSecurity", row("InvalidSecurity", 403)],
  ["ResourceNotFoundException", row("ResourceNotFoundException", 404)],
  ["InvalidAttributeName", row("InvalidAttributeName")],
  ["InvalidAttributeValue", row("InvalidAttributeValue")],
  ["InvalidMessageContents", row("InvalidMessageContents")],
  ["KmsAccessDenied", row("KMS.AccessDeniedException")],
  ["KmsDisabled", row("KMS.DisabledException")],
  ["KmsInvalidKeyUsage", row("KMS.InvalidKeyUsageException")],
  ["KmsInvalidState", row("KMS.InvalidStateException")],
  ["KmsNotFound", row("KMS.NotFoundException")],
  ["KmsOptInRequired", row("KMS.OptInRequired", 403)],
  ["KmsThrottled", row("KMS.ThrottlingException")],
  ["InvalidParameterValueException", row("InvalidParameterValue", 400, coral)],
  ["MissingRequiredParameterException", row("MissingParameter", 400, coral)],
  ["UnknownOperationException", row("InvalidAction", 400, coral)],
  ["SerializationException", row("MalformedInput", 400, coral)],
  ["IncompleteSignatureException", row("IncompleteSignature", 403, coral)],
  ["InvalidSignatureException", row("SignatureDoesNotMatch", 403, coral)],
  ["UnrecognizedClientException", row("InvalidClientTokenId", 403, coral)],
  ["ExpiredTokenException", row("ExpiredToken", 403, coral)],
  ["AccessDeniedException", row("AccessDenied", 403, coral)],
  ["ThrottlingException", row("Throttling", 400, availability)],
  ["InternalFailure", row("InternalFailure", 500, coral)],
  ["ServiceUnavailableException", row("ServiceUnavailable", 503, coral)],
  ["RequestEntityTooLargeException", row("RequestEntityTooLarge", 413, coral)],
  ["ExpectationFailedException", row("ExpectationFailed", 417, coral)]
])

/** A shape by its query code, its name, or its name without `Exception`. */
const shapeByCode: ReadonlyMap<string, string> = new Map(
  [...rows].flatMap(([shape, { code }]) => [
    [shape, shape],
    [code, shape],
    [shape.replace(/Exception$/, ""), shape]
  ])
)

/** The error of a shape. */
export const apiError = (shape: string, message: string): ApiError => {
  const known = rows.get(shape)
  return known === undefined
    ? new ApiError(shape, shape, message, 400, true, coral)
    : new ApiError(shape, known.code, message, known.status, known.status < 500, known.namespace)
}

/** The error for a code, or name, of SQS, as a fault plan names it. */
export const apiErrorOfCode = (code: string, message: string, status?: number): ApiError => {
  const e = apiError(shapeByCode.get(code) ?? code, message)
  return status === undefined ? e : new ApiError(e.shape, e.code, e.message, status, status < 500, e.namespace)
}

export const invalidValue = (message: string): ApiError => apiError("InvalidParameterValueException", message)

/** `Value 11 for parameter MaxNumberOfMessages is invalid. Reason: …` */
export const invalidParameter = (value: unknown, parameter: string, reason: string): ApiError =>
  invalidValue(`Value ${String(value)} for parameter ${parameter} is invalid. Reason: ${reason}`)

export const missingParameter = (parameter: string): ApiError =>
  apiError("MissingRequiredParameterException", `The request must contain the parameter ${parameter}.`)

export const queueDoesNotExist = (): ApiError => apiError("QueueDoesNotExist", "The specified queue does not exist.")
