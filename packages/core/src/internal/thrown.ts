/**
 * From what the AWS SDK throws to our errors. Told apart by name, code and HTTP status, never by class: not every
 * error of SQS has one.
 */
import { fromCode, NetworkError, RefusedInput, ServiceError, type SqsError, type SqsOperation } from "../SqsError.js"

const maxDetailChars = 500

interface Thrown {
  readonly name: string
  readonly message: string
  /** Node's code: `ECONNREFUSED` */
  readonly code?: unknown
  /** set on what SQS itself answered */
  readonly $fault?: unknown
  readonly $metadata?: { readonly httpStatusCode?: number }
  /** of an AggregateError, one per address that was tried; its own message is empty */
  readonly errors?: ReadonlyArray<unknown>
}

const networkNames = new Set(["TimeoutError", "AbortError"])

/** Sockets, names, TLS, broken HTTP. */
const networkCode = /^(E[A-Z]+|EAI_\w+|HPE_\w+|ERR_(TLS|SSL|SOCKET|STREAM)_\w+|\w*(CERT|SIGNATURE)\w*)$/

const isNetwork = (e: Thrown) => networkNames.has(e.name) || (typeof e.code === "string" && networkCode.test(e.code))

const isCredentials = (e: Thrown) => e.name === "CredentialsProviderError" || e.name === "TokenProviderError"

/** The first line, cut: the SDK adds hints of its own below. */
const textOf = (e: Thrown) => {
  const first = e.errors?.[0]
  const text = e.message === "" && first instanceof Error ? first.message : e.message
  return text.split("\n", 1)[0]!.slice(0, maxDetailChars)
}

/** The error for what a call threw. Always one of ours: whatever it was, this call of SQS failed. */
export const fromThrown = (operation: SqsOperation, queue: string, cause: unknown): SqsError => {
  const e: Thrown = cause instanceof Error ? cause : { name: "Unknown", message: String(cause) }
  const fields = { operation, queue, detail: textOf(e), cause }
  const httpStatus = e.$metadata?.httpStatusCode

  if (e.$fault !== undefined || isCredentials(e)) return fromCode({ ...fields, code: e.name, httpStatus })
  if (isNetwork(e)) return new NetworkError({ ...fields, code: typeof e.code === "string" ? e.code : e.name })
  if (e.message === "Region is missing") {
    const detail = "no region: set AWS_REGION, or give region to AwsSqs.layerWith"
    return new RefusedInput({ ...fields, code: "Configuration", detail })
  }
  if (e.message.startsWith("Region not accepted")) return new RefusedInput({ ...fields, code: "Configuration" })
  if (e.code === "ERR_INVALID_URL") {
    const detail = "the endpoint is not a URL: check AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_SQS or the endpoint given"
    return new RefusedInput({ ...fields, code: "Configuration", detail })
  }
  if (e.message.startsWith("Invalid MD5 checksum")) return new ServiceError({ ...fields, code: "InvalidMD5" })
  if (e.name === "SyntaxError" && httpStatus !== undefined) {
    // Its text quotes the answer, and an answer may carry bodies.
    const detail = `the answer, HTTP ${httpStatus}, is not JSON: does the endpoint speak SQS?`
    return new ServiceError({ ...fields, code: "NotJson", detail })
  }
  return new ServiceError({ ...fields, code: e.name })
}
