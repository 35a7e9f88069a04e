/** What the journal and fault plans are told of a request and its answer. */
import type { FaultEntry } from "../FaultPlan.js"
import type { CallEntry, CallInput, CallOutcome, RefusedEntry } from "../Journal.js"
import type { Account } from "./account.js"
import type { ApiError } from "./apiError.js"
import { isObject, type Json } from "./input.js"

const text = (json: Json, key: string): string | undefined => {
  const value = json[key]
  return typeof value === "string" ? value : undefined
}
const number = (json: Json, key: string): number | undefined => {
  const value = json[key]
  return typeof value === "number" ? value : undefined
}
/** An object without the keys that have no value. */
const present = <A extends object>(o: { readonly [K in keyof A]: A[K] | undefined }): A =>
  Object.fromEntries(Object.entries(o).filter(([, value]) => value !== undefined)) as A

/** The name of the queue that a request names; empty where it names none. */
export const queueNameOf = (input: Json): string => {
  const url = text(input, "QueueUrl") ?? text(input, "QueueName") ?? ""
  return url.slice(url.lastIndexOf("/") + 1)
}

const messageIdOf = (account: Account, queueName: string, handle: string | undefined): string | undefined =>
  handle === undefined ? undefined : account.find(queueName)?.messageOf(handle)?.content.id

const single = new Set(["SendMessage", "DeleteMessage", "ChangeMessageVisibility"])

/** A call of one message is a batch of one. */
export const isSingle = (operation: string): boolean => single.has(operation)

const entriesOf = (operation: string, input: Json): ReadonlyArray<Json> => {
  if (isSingle(operation)) return [input]
  const list = operation.endsWith("Batch") ? input["Entries"] : undefined
  return Array.isArray(list) ? list.filter(isObject) : []
}

export const faultEntries = (
  account: Account,
  operation: string,
  queueName: string,
  input: Json
): ReadonlyArray<FaultEntry> =>
  entriesOf(operation, input).map((entry) => {
    const receiptHandle = text(entry, "ReceiptHandle")
    return {
      receiptHandle,
      messageId: messageIdOf(account, queueName, receiptHandle),
      body: text(entry, "MessageBody"),
      visibilityTimeoutSeconds: number(entry, "VisibilityTimeout")
    }
  })

export const summarize = (account: Account, operation: string, queueName: string, input: Json): CallInput => {
  const entries = entriesOf(operation, input).map((entry) => {
    const receiptHandle = text(entry, "ReceiptHandle")
    return present<CallEntry>({
      receiptHandle,
      messageId: messageIdOf(account, queueName, receiptHandle),
      visibilityTimeoutSeconds: number(entry, "VisibilityTimeout"),
      delaySeconds: number(entry, "DelaySeconds"),
      groupId: text(entry, "MessageGroupId"),
      deduplicationId: text(entry, "MessageDeduplicationId")
    })
  })
  if (entries.length > 0) return { entries }
  if (operation !== "ReceiveMessage") return {}
  return present<CallInput>({
    maxMessages: number(input, "MaxNumberOfMessages"),
    waitTimeSeconds: number(input, "WaitTimeSeconds"),
    visibilityTimeoutSeconds: number(input, "VisibilityTimeout"),
    receiveRequestAttemptId: text(input, "ReceiveRequestAttemptId")
  })
}

const list = (json: Json, key: string): ReadonlyArray<Json> => {
  const value = json[key]
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** How a call ended, from its answer. */
export const answered = (operation: string, input: Json, answer: object): CallOutcome => {
  const json = answer as Json
  const own = text(json, "MessageId")
  const messageIds = [...list(json, "Messages"), ...list(json, "Successful")].flatMap(
    (entry) => text(entry, "MessageId") ?? []
  )
  const ids = entriesOf(operation, input).map((entry) => text(entry, "Id"))
  const refused = list(json, "Failed").map((failed): RefusedEntry => ({
    index: ids.indexOf(text(failed, "Id")),
    code: text(failed, "Code") ?? "",
    message: text(failed, "Message") ?? "",
    senderFault: failed["SenderFault"] === true
  }))
  return { _tag: "Answered", messageIds: own === undefined ? messageIds : [own], refused }
}

export const failed = (error: ApiError): CallOutcome => ({
  _tag: "Failed",
  code: error.code,
  message: error.message,
  status: error.status
})
