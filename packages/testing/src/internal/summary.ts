/** What the journal and fault plans are told of a request and its answer. */
import type { FaultEntry } from "../FaultPlan.js"
import type { CallEntry, CallInput, CallOutcome, RefusedEntry } from "../Journal.js"
import type { Account } from "./account.js"
import type { ApiError } from "./apiError.js"
import { isObject, type Json } from "./input.js"

const none: ReadonlyArray<never> = []

const text = (json: Json, key: string): string | undefined => {
  const value = json[key]
  return typeof value === "string" ? value : undefined
}
const number = (json: Json, key: string): number | undefined => {
  const value = json[key]
  return typeof value === "number" ? value : undefined
}
/** The name of the queue that a request names; empty where it names none. */
export const queueNameOf = (input: Json): string => {
  const url = text(input, "QueueUrl") ?? text(input, "QueueName") ?? ""
  return url.slice(url.lastIndexOf("/") + 1)
}

const messageIdOf = (account: Account, queueName: string, handle: string | undefined): string | undefined =>
  handle === undefined ? undefined : account.find(queueName)?.messageOf(handle)?.content.id

const objectsOf = (value: unknown): ReadonlyArray<Json> =>
  Array.isArray(value) ? (value.every(isObject) ? value : value.filter(isObject)) : none

const single = new Set(["SendMessage", "DeleteMessage", "ChangeMessageVisibility"])

/** A call of one message is a batch of one. */
export const isSingle = (operation: string): boolean => single.has(operation)

const entriesOf = (operation: string, input: Json): ReadonlyArray<Json> => {
  if (isSingle(operation)) return [input]
  const list = operation.endsWith("Batch") ? input["Entries"] : undefined
  return objectsOf(list)
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

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

/** Sets what has a value: the journal's entries have no keys that say `undefined`. */
const set = <A, K extends keyof A>(to: A, key: K, value: A[K] | undefined): void => {
  if (value !== undefined) to[key] = value
}

const summarizeEntry = (account: Account, queueName: string, entry: Json): CallEntry => {
  const out: Mutable<CallEntry> = {}
  const receiptHandle = text(entry, "ReceiptHandle")
  if (receiptHandle !== undefined) {
    out.receiptHandle = receiptHandle
    set(out, "messageId", messageIdOf(account, queueName, receiptHandle))
    set(out, "visibilityTimeoutSeconds", number(entry, "VisibilityTimeout"))
  } else {
    set(out, "delaySeconds", number(entry, "DelaySeconds"))
    set(out, "groupId", text(entry, "MessageGroupId"))
    set(out, "deduplicationId", text(entry, "MessageDeduplicationId"))
  }
  return out
}

export const summarize = (account: Account, operation: string, queueName: string, input: Json): CallInput => {
  const entries = entriesOf(operation, input)
  if (entries.length > 0) return { entries: entries.map((entry) => summarizeEntry(account, queueName, entry)) }
  const out: Mutable<CallInput> = {}
  if (operation === "ReceiveMessage") {
    set(out, "maxMessages", number(input, "MaxNumberOfMessages"))
    set(out, "waitTimeSeconds", number(input, "WaitTimeSeconds"))
    set(out, "visibilityTimeoutSeconds", number(input, "VisibilityTimeout"))
    set(out, "receiveRequestAttemptId", text(input, "ReceiveRequestAttemptId"))
  }
  return out
}

const list = (json: Json, key: string): ReadonlyArray<Json> => objectsOf(json[key])

/** How a call ended, from its answer. */
export const answered = (operation: string, input: Json, answer: object): CallOutcome => {
  const json = answer as Json
  const own = text(json, "MessageId")
  const messageIds: Array<string> = []
  for (const key of ["Messages", "Successful"]) {
    for (const entry of list(json, key)) {
      const id = text(entry, "MessageId")
      if (id !== undefined) messageIds.push(id)
    }
  }
  return {
    _tag: "Answered",
    messageIds: own === undefined ? messageIds : [own],
    refused: refusedOf(operation, input, json)
  }
}

const refusedOf = (operation: string, input: Json, answer: Json): ReadonlyArray<RefusedEntry> => {
  const failures = list(answer, "Failed")
  if (failures.length === 0) return none
  const ids = entriesOf(operation, input).map((entry) => text(entry, "Id"))
  return failures.map((failure) => ({
    index: ids.indexOf(text(failure, "Id")),
    code: text(failure, "Code") ?? "",
    message: text(failure, "Message") ?? "",
    senderFault: failure["SenderFault"] === true
  }))
}
export const failed = (error: ApiError): CallOutcome => ({
  _tag: "Failed",
  code: error.code,
  message: error.message,
  status: error.status
})
