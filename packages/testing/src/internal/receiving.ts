/** Receiving: the parameters of ReceiveMessage, and one attempt to answer it. */
import type { FaultDecision } from "../FaultPlan.js"
import { apiError, invalidParameter } from "./apiError.js"
import { type Json, optionalInteger, optionalString, optionalStrings } from "./input.js"
import { toWire, type Wanted, type WireMessage } from "./message.js"
import type { HandedOut, VirtualQueue } from "./queue.js"
import { attributeNames } from "./queueAttributes.js"
import type { World } from "./world.js"

export interface ReceiveInput {
  readonly max: number
  readonly waitSeconds: number
  readonly visibilityTimeoutMs: number
  readonly attemptId: string | undefined
  readonly wanted: Wanted
}

export interface ReceiveOutput {
  readonly Messages?: ReadonlyArray<WireMessage>
}

const systemNames = new Set([
  "SenderId",
  "SentTimestamp",
  "ApproximateReceiveCount",
  "ApproximateFirstReceiveTimestamp",
  "SequenceNumber",
  "MessageDeduplicationId",
  "MessageGroupId",
  "AWSTraceHeader",
  "DeadLetterQueueSourceArn"
])

/** The current and the legacy list of names, put together. */
const wantedSystem = (input: Json): Wanted["system"] => {
  const names = [
    ...(optionalStrings(input, "MessageSystemAttributeNames") ?? []),
    ...(optionalStrings(input, "AttributeNames") ?? [])
  ]
  if (names.length === 0) return undefined
  for (const name of names) {
    // the legacy list is typed by the names of queue attributes
    if (name !== "All" && !systemNames.has(name) && !attributeNames.has(name)) {
      throw apiError("InvalidAttributeName", `Unknown Attribute ${name}.`)
    }
  }
  return names.includes("All") ? "all" : new Set(names)
}

const wantedUser = (input: Json): Wanted["user"] => {
  const names = optionalStrings(input, "MessageAttributeNames")
  if (names === undefined || names.length === 0) return undefined
  return names.some((name) => name === "All" || name === ".*" || name === "*") ? "all" : names
}

export const readReceive = (queue: VirtualQueue, input: Json): ReceiveInput => {
  const max = optionalInteger(input, "MaxNumberOfMessages") ?? 1
  if (max < 1 || max > 10) {
    throw invalidParameter(max, "MaxNumberOfMessages", "Must be between 1 and 10, if provided.")
  }
  const wait = optionalInteger(input, "WaitTimeSeconds")
  if (wait !== undefined && (wait < 0 || wait > 20)) {
    throw invalidParameter(wait, "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided.")
  }
  const visibility = optionalInteger(input, "VisibilityTimeout")
  if (visibility !== undefined && (visibility < 0 || visibility > 43_200)) {
    throw invalidParameter(visibility, "VisibilityTimeout", "Must be >= 0 and <= 43200, if provided.")
  }
  const attemptId = optionalString(input, "ReceiveRequestAttemptId")
  if (attemptId !== undefined) {
    if (queue.kind === "standard") {
      throw invalidParameter(
        attemptId,
        "ReceiveRequestAttemptId",
        "The request include parameter that is not valid for this queue type."
      )
    }
    if (!/^[\x21-\x7e]{1,128}$/.test(attemptId)) {
      throw invalidParameter(
        attemptId,
        "ReceiveRequestAttemptId",
        "ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to 128 in length."
      )
    }
  }
  return {
    max,
    waitSeconds: wait ?? queue.settings.waitSeconds,
    visibilityTimeoutMs: visibility === undefined ? queue.settings.visibilityTimeoutMs : visibility * 1000,
    attemptId,
    wanted: { system: wantedSystem(input), user: wantedUser(input) }
  }
}

/** How many messages a short poll of some of the servers may find. */
const sampled = (world: World, request: ReceiveInput): number =>
  request.waitSeconds === 0 && world.read("shortPoll") === "sampled"
    ? Math.floor(world.draw() * (request.max + 1))
    : request.max

const handOut = (
  world: World,
  queue: VirtualQueue,
  request: ReceiveInput,
  now: number,
  decision: FaultDecision | undefined
): ReadonlyArray<HandedOut> => {
  if (request.attemptId !== undefined) {
    const again = queue.receiveAgain(request.attemptId, now, request.visibilityTimeoutMs)
    if (again !== undefined) return again
  }
  const max = queue.kind === "standard" ? sampled(world, request) : request.max
  const out = max === 0 ? [] : queue.receive(now, max, request.visibilityTimeoutMs)
  const duplicates = Math.min(decision?.duplicate ?? 0, request.max - out.length)
  if (duplicates > 0 && queue.kind === "standard") {
    out.push(...queue.receiveHidden(now, duplicates, request.visibilityTimeoutMs, out))
  }
  if (request.attemptId !== undefined) queue.rememberAttempt(request.attemptId, out, now)
  return decision?.reorder === undefined ? out : decision.reorder(out)
}

/** One attempt: what can be handed out now, in the form of the answer; `undefined` when there is nothing. */
export const receiveNow = (
  world: World,
  queue: VirtualQueue,
  request: ReceiveInput,
  now: number,
  decision: FaultDecision | undefined
): ReceiveOutput | undefined => {
  if (queue.kind === "standard" && request.waitSeconds === 0 && queue.full) {
    throw apiError(
      "OverLimit",
      "Too many messages have been received without being deleted. Please delete your received messages or let them " +
        "timeout before receiving more."
    )
  }
  const handedOut = handOut(world, queue, request, now, decision)
  return handedOut.length === 0
    ? undefined
    : { Messages: handedOut.map(({ handle, message }) => toWire(message, handle, request.wanted)) }
}
