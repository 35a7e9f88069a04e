/**
 * What S3 said, as something to do.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"

/**
 * A call to S3 that did not succeed. `temporary`: the same call may succeed later.
 *
 * @since 0.1.0
 * @category errors
 */
export class S3CallFailed extends Data.TaggedError("S3CallFailed")<{
  /** as `NoSuchKey`; of answers without a body the name that the SDK gives them */
  readonly code: string
  /** HTTP, when there was an answer */
  readonly status: number | undefined
  readonly detail: string
  readonly temporary: boolean
}> {}

/** What a thrown value of the SDK holds, if it is one. */
interface Thrown {
  readonly name?: string
  readonly message?: string
  readonly code?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

/** Answers of 4xx that a later call may not get. */
const passing = new Set(["RequestTimeout", "RequestTimeTooSkewed", "ConditionalRequestConflict", "OperationAborted"])

const refusedCredentials = new Set([
  "ExpiredToken",
  "InvalidAccessKeyId",
  "InvalidToken",
  "SignatureDoesNotMatch",
  "TokenRefreshRequired"
])

const adviceOn = (
  code: string,
  status: number | undefined,
  where: { readonly bucket: string; readonly prefix: string }
) => {
  const { bucket, prefix } = where
  if (code === "CredentialsProviderError") {
    return "there are no credentials: give the worker a role, or AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
  }
  if (refusedCredentials.has(code)) return `its credentials are refused (${code}): renew them`
  if (code === "NoSuchBucket") return `there is no bucket ${bucket}: create it, or name another one`
  if (code === "PermanentRedirect" || code === "AuthorizationHeaderMalformed" || status === 301) {
    return `the bucket ${bucket} is in another region: set AWS_REGION to it`
  }
  if (status === 403) {
    return (
      `access is denied: the worker needs s3:ListBucket on arn:aws:s3:::${bucket}, and s3:GetObject and s3:PutObject on ` +
      `arn:aws:s3:::${bucket}/${prefix}*`
    )
  }
  return undefined
}

/**
 * From what the SDK throws.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromThrown = (
  thrown: unknown,
  where: { readonly bucket: string; readonly prefix: string }
): S3CallFailed => {
  const { $metadata, code: systemCode, message = "", name = "" } = (thrown ?? {}) as Thrown
  const status = $metadata?.httpStatusCode
  const known = name !== "" && name !== "Error" ? name : (systemCode ?? "Error")
  const said = [known, message].filter((text, i, all) => text !== "" && all.indexOf(text) === i).join(": ")
  const advice = adviceOn(known, status, where)
  return new S3CallFailed({
    code: known,
    status,
    detail: advice ?? (status === undefined ? `no answer of S3: ${said}` : `S3 answered ${status}, ${said}`),
    temporary: advice === undefined && (status === undefined || status >= 500 || status === 429 || passing.has(known))
  })
}
