/** The attributes of a queue: which there are, what they may say, and how they are told. */
import { apiError, type ApiError } from "./apiError.js"
import {
  parseRedriveAllowPolicy,
  parseRedrivePolicy,
  type RedriveAllowPolicy,
  type RedrivePolicy
} from "./redrivePolicy.js"

export type QueueKind = "standard" | "fifo"

/** Attributes as numbers and structures, for the engine. `texts` has all that was set or defaulted, as strings. */
export interface QueueSettings {
  readonly texts: ReadonlyMap<string, string>
  readonly visibilityTimeoutMs: number
  readonly delayMs: number
  readonly retentionMs: number
  readonly waitSeconds: number
  readonly maximumMessageBytes: number
  readonly contentBasedDeduplication: boolean
  readonly deduplicationScope: "queue" | "messageGroup"
  readonly redrive: RedrivePolicy | undefined
  readonly redriveAllow: RedriveAllowPolicy | undefined
}

const counters = [
  "ApproximateNumberOfMessages",
  "ApproximateNumberOfMessagesNotVisible",
  "ApproximateNumberOfMessagesDelayed"
] as const
const told = ["QueueArn", ...counters, "CreatedTimestamp", "LastModifiedTimestamp"] as const

const unknown = (name: string): ApiError => apiError("InvalidAttributeName", `Unknown Attribute ${name}.`)
const invalid = (name: string, reason?: string): ApiError =>
  apiError(
    "InvalidAttributeValue",
    `Invalid value for the parameter ${name}.${reason === undefined ? "" : ` Reason: ${reason}`}`
  )

const integer = (from: number, to: number) => (name: string, value: string) => {
  if (!/^\d{1,10}$/.test(value) || Number(value) < from || Number(value) > to) throw invalid(name)
}
const oneOf =
  (...values: ReadonlyArray<string>) =>
  (name: string, value: string) => {
    if (!values.includes(value)) throw invalid(name)
  }
const boolean = (name: string, value: string) => {
  if (!/^(true|false)$/i.test(value)) throw invalid(name)
}
const policyText = (name: string, value: string) => {
  if (value === "") return
  try {
    JSON.parse(value)
  } catch {
    throw invalid(name)
  }
}
const anything = () => {}

const checks: ReadonlyMap<string, (name: string, value: string) => void> = new Map([
  ["DelaySeconds", integer(0, 900)],
  ["MaximumMessageSize", integer(1024, 1_048_576)],
  ["MessageRetentionPeriod", integer(60, 1_209_600)],
  ["ReceiveMessageWaitTimeSeconds", integer(0, 20)],
  ["VisibilityTimeout", integer(0, 43_200)],
  ["Policy", policyText],
  ["RedrivePolicy", (_: string, value: string) => void (value === "" || parseRedrivePolicy(value))],
  ["RedriveAllowPolicy", (_: string, value: string) => void (value === "" || parseRedriveAllowPolicy(value))],
  ["KmsMasterKeyId", anything],
  ["KmsDataKeyReusePeriodSeconds", integer(60, 86_400)],
  ["SqsManagedSseEnabled", boolean],
  ["FifoQueue", boolean],
  ["ContentBasedDeduplication", boolean],
  ["DeduplicationScope", oneOf("queue", "messageGroup")],
  ["FifoThroughputLimit", oneOf("perQueue", "perMessageGroupId")]
])

/** All names that GetQueueAttributes knows. */
export const attributeNames: ReadonlySet<string> = new Set([...told, ...checks.keys()])

/** Those that are no longer there when they are set to the empty string. */
const removable = new Set(["Policy", "RedrivePolicy", "RedriveAllowPolicy", "KmsMasterKeyId"])

const defaults = (kind: QueueKind): ReadonlyArray<readonly [string, string]> => [
  ["VisibilityTimeout", "30"],
  ["MaximumMessageSize", "1048576"],
  ["MessageRetentionPeriod", "345600"],
  ["DelaySeconds", "0"],
  ["ReceiveMessageWaitTimeSeconds", "0"],
  ["SqsManagedSseEnabled", "true"],
  ...(kind === "fifo"
    ? ([
        ["FifoQueue", "true"],
        ["ContentBasedDeduplication", "false"],
        ["DeduplicationScope", "queue"],
        ["FifoThroughputLimit", "perQueue"]
      ] as const)
    : [])
]

const checkOne = (kind: QueueKind, name: string, value: string): void => {
  const check = checks.get(name)
  if (check === undefined) throw unknown(name)
  if (kind === "standard") {
    if (name === "FifoQueue" || name === "ContentBasedDeduplication") throw unknown(name)
    if (name === "DeduplicationScope" || name === "FifoThroughputLimit") {
      throw apiError("InvalidAttributeName", `You can specify the ${name} only when FifoQueue is set to true.`)
    }
  } else if (name === "FifoQueue" && value.toLowerCase() !== "true") {
    throw invalid(name, "Modifying queue type is not supported.")
  }
  check(name, value)
}

const booleans = new Set(["SqsManagedSseEnabled", "FifoQueue", "ContentBasedDeduplication"])

/** The attributes after setting `changes`, checked one by one and together. */
export const applyAttributes = (
  kind: QueueKind,
  current: ReadonlyMap<string, string> | undefined,
  changes: ReadonlyMap<string, string>
): QueueSettings => {
  for (const [name, value] of changes) checkOne(kind, name, value)
  const texts = new Map(current ?? defaults(kind))
  for (const [name, value] of changes) {
    if (value === "" && removable.has(name)) texts.delete(name)
    else texts.set(name, booleans.has(name) ? value.toLowerCase() : value)
  }
  if (texts.get("KmsMasterKeyId") !== undefined) {
    if (changes.get("SqsManagedSseEnabled")?.toLowerCase() === "true") {
      throw apiError(
        "InvalidAttributeName",
        "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE."
      )
    }
    texts.set("SqsManagedSseEnabled", "false")
    if (!texts.has("KmsDataKeyReusePeriodSeconds")) texts.set("KmsDataKeyReusePeriodSeconds", "300")
  } else {
    texts.delete("KmsDataKeyReusePeriodSeconds")
  }
  if (texts.get("FifoThroughputLimit") === "perMessageGroupId" && texts.get("DeduplicationScope") === "queue") {
    throw invalid(
      "FifoThroughputLimit",
      "perMessageGroupId is allowed only when the value for DeduplicationScope is messageGroup."
    )
  }
  return settings(texts)
}

const settings = (texts: ReadonlyMap<string, string>): QueueSettings => {
  const number = (name: string) => Number(texts.get(name))
  const redrive = texts.get("RedrivePolicy")
  const allow = texts.get("RedriveAllowPolicy")
  return {
    texts,
    visibilityTimeoutMs: number("VisibilityTimeout") * 1000,
    delayMs: number("DelaySeconds") * 1000,
    retentionMs: number("MessageRetentionPeriod") * 1000,
    waitSeconds: number("ReceiveMessageWaitTimeSeconds"),
    maximumMessageBytes: number("MaximumMessageSize"),
    contentBasedDeduplication: texts.get("ContentBasedDeduplication") === "true",
    deduplicationScope: texts.get("DeduplicationScope") === "messageGroup" ? "messageGroup" : "queue",
    redrive: redrive === undefined ? undefined : parseRedrivePolicy(redrive),
    redriveAllow: allow === undefined ? undefined : parseRedriveAllowPolicy(allow)
  }
}

/** The first attribute in which `asked` differs from what the queue has. */
export const differingAttribute = (
  kind: QueueKind,
  texts: ReadonlyMap<string, string>,
  asked: ReadonlyMap<string, string>
): string | undefined => {
  for (const [name, value] of asked) {
    checkOne(kind, name, value)
    const normal = booleans.has(name) ? value.toLowerCase() : value
    if ((texts.get(name) ?? "") !== normal) return name
  }
  return undefined
}

/** What GetQueueAttributes answers for the names asked; `undefined` when nothing was asked or nothing is there. */
export const tellAttributes = (
  asked: ReadonlyArray<string>,
  texts: ReadonlyMap<string, string>,
  facts: { readonly [name in (typeof told)[number]]: string }
): { readonly [name: string]: string } | undefined => {
  const all = asked.includes("All")
  for (const name of asked) if (name !== "All" && !attributeNames.has(name)) throw unknown(name)
  const out: { [name: string]: string } = {}
  let any = false
  const tell = (name: string, value: string | undefined) => {
    if (value === undefined || (!all && !asked.includes(name))) return
    out[name] = value
    any = true
  }
  for (const name of told) tell(name, facts[name])
  for (const [name, value] of texts) tell(name, value)
  return any ? out : undefined
}
