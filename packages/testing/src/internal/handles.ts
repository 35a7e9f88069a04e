/** What a receipt handle still is worth: the part on which the evidence is split, and so the policy is asked. */
import type { HandleState } from "../Journal.js"
import { apiError, type ApiError, invalidParameter } from "./apiError.js"
import { InFlight, type StoredMessage } from "./message.js"
import type { QueueKind } from "./queueAttributes.js"
import * as Handle from "./receiptHandle.js"
import type { World } from "./world.js"

export const unavailable = (handle: string): ApiError =>
  invalidParameter(handle, "ReceiptHandle", "Message does not exist or is not available for visibility timeout change.")

export const expired = (handle: string): ApiError =>
  invalidParameter(handle, "ReceiptHandle", "The receipt handle has expired.")

/** What a handle was issued for, if it was by this queue. */
export const issuedBy = (queueUid: number, handle: string): Handle.ReceiptHandle => {
  const issued = Handle.decode(handle)
  if (issued === undefined) {
    throw apiError("ReceiptHandleIsInvalid", `The input receipt handle "${handle}" is not a valid receipt handle.`)
  }
  if (issued.queueUid !== queueUid) {
    throw apiError("ReceiptHandleIsInvalid", `The receipt handle "${handle}" is not valid for this queue.`)
  }
  return issued
}

export const stateOf = (message: StoredMessage, issued: Handle.ReceiptHandle): HandleState =>
  issued.receive !== message.receives ? "old" : message.state === InFlight ? "current" : "expired"

/** Whether a handle in this state changes the visibility; refuses where SQS does. */
export const mayChange = (world: World, kind: QueueKind, handle: string, state: HandleState): boolean => {
  if (state === "current") return true
  if (kind === "fifo") {
    const reading = world.read("fifoExpiredHandleChange")
    if (reading === "expired") throw expired(handle)
    if (reading === "unavailable") throw unavailable(handle)
    return true
  }
  if (state === "old") return world.read("oldHandleChange") === "applied"
  const reading = world.read("expiredHandleChange")
  if (reading === "refused") {
    throw apiError(
      "MessageNotInflight",
      `Value ${handle} for parameter ReceiptHandle is invalid. Reason: Message is not in flight.`
    )
  }
  return reading === "applied"
}
