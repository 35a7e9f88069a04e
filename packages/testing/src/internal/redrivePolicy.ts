/** RedrivePolicy and RedriveAllowPolicy: which queue takes a queue's dead letters, and which queues may use it so. */
import { invalidParameter } from "./apiError.js"
import { isObject } from "./input.js"

export interface RedrivePolicy {
  readonly deadLetterTargetArn: string
  readonly maxReceiveCount: number
}

export interface RedriveAllowPolicy {
  readonly redrivePermission: "allowAll" | "denyAll" | "byQueue"
  readonly sourceQueueArns: ReadonlyArray<string>
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const arnPattern = /^arn:[a-z0-9-]+:sqs:[a-z0-9-]+:\d{12}:[A-Za-z0-9_.-]{1,80}$/

export const parseRedrivePolicy = (text: string): RedrivePolicy => {
  const refuse = (reason: string) => invalidParameter(text, "RedrivePolicy", reason)
  const json = parseJson(text)
  if (!isObject(json)) throw refuse("Redrive policy is not a valid JSON map.")
  for (const name of ["deadLetterTargetArn", "maxReceiveCount"]) {
    if (json[name] === undefined) throw refuse(`Redrive policy does not contain mandatory attribute: ${name}.`)
  }
  const extra = Object.keys(json).some((name) => name !== "deadLetterTargetArn" && name !== "maxReceiveCount")
  if (extra) throw refuse("Only following attributes are supported: [deadLetterTargetArn, maxReceiveCount].")
  const count = json["maxReceiveCount"]
  const maxReceiveCount = typeof count === "string" && /^\d{1,9}$/.test(count) ? Number(count) : count
  if (
    typeof maxReceiveCount !== "number" ||
    !Number.isInteger(maxReceiveCount) ||
    maxReceiveCount < 1 ||
    maxReceiveCount > 1000
  ) {
    throw refuse(`Invalid value for maxReceiveCount: ${String(count)}, valid values are from 1 to 1000 both inclusive.`)
  }
  const deadLetterTargetArn = json["deadLetterTargetArn"]
  if (typeof deadLetterTargetArn !== "string" || !arnPattern.test(deadLetterTargetArn)) {
    throw refuse("Invalid value for deadLetterTargetArn.")
  }
  return { deadLetterTargetArn, maxReceiveCount }
}

export const parseRedriveAllowPolicy = (text: string): RedriveAllowPolicy => {
  const refuse = (reason: string) => invalidParameter(text, "RedriveAllowPolicy", reason)
  const json = parseJson(text)
  if (!isObject(json)) throw refuse("Redrive allow policy is not a valid JSON map.")
  const permission = json["redrivePermission"]
  if (permission !== "allowAll" && permission !== "denyAll" && permission !== "byQueue") {
    throw refuse("Invalid value for redrivePermission, valid values are: [allowAll, denyAll, byQueue].")
  }
  const arns: unknown = json["sourceQueueArns"]
  const sources = Array.isArray(arns) ? arns.filter((arn) => typeof arn === "string") : []
  if (permission === "byQueue") {
    if (sources.length === 0) throw refuse("Invalid value for sourceQueueArns: it must be given with byQueue.")
    if (sources.length > 10) throw refuse("Invalid value for sourceQueueArns: at most 10 queues can be given.")
  } else if (arns !== undefined) {
    throw refuse("sourceQueueArns can only be given with byQueue.")
  }
  return { redrivePermission: permission, sourceQueueArns: sources }
}

export const allowsSource = (policy: RedriveAllowPolicy | undefined, sourceArn: string): boolean =>
  policy === undefined ||
  policy.redrivePermission === "allowAll" ||
  (policy.redrivePermission === "byQueue" && policy.sourceQueueArns.includes(sourceArn))
