/**
 * Sending a batch so that for each entry it is known whether SQS has it, or that it is not known.
 */
import type { SendEntry, Sent, Sqs } from "@effect-sqs/core/Sqs"
import type { SqsError } from "@effect-sqs/core/SqsError"
import * as Effect from "effect/Effect"
import { batch } from "./deadLetterCalls.js"

export type SendOutcome =
  | { readonly _tag: "Sent"; readonly sent: Sent }
  /** SQS does not have it */
  | { readonly _tag: "Refused"; readonly error: SqsError }
  /** it may have it, or not */
  | { readonly _tag: "Unknown"; readonly error: SqsError }

/** no connection came about, so nothing arrived */
const neverArrived = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"])

const isUnknown = (error: SqsError, whole: boolean): boolean =>
  whole
    ? (error._tag === "NetworkError" && !neverArrived.has(error.code)) || error._tag === "ServiceError"
    : error.code === "NoAnswer"

/**
 * The n-th answer is that of the n-th entry. What SQS surely did not take, for a reason that can pass, is sent again. What it
 * may have taken is sent again only on a FIFO queue, where the deduplication id keeps it from being there twice.
 */
export const send = (
  sqs: Sqs["Type"],
  queueUrl: string,
  entries: ReadonlyArray<SendEntry>
): Effect.Effect<ReadonlyArray<SendOutcome>> => {
  const isDeduplicated = entries.every((entry) => entry.deduplicationId !== undefined)
  const mayRepeat = (error: SqsError, whole: boolean) =>
    error.retryable && error._tag !== "CredentialsExpired" && (isDeduplicated || !isUnknown(error, whole))
  return Effect.map(
    batch(entries, (some) => sqs.sendBatch(queueUrl, some), mayRepeat),
    (results) =>
      results.map((result): SendOutcome =>
        result._tag === "Done"
          ? { _tag: "Sent", sent: result.value }
          : { _tag: isUnknown(result.error, result.whole === true) ? "Unknown" : "Refused", error: result.error }
      )
  )
}
