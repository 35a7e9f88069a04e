import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schedule from "effect/Schedule"
import type { ConsumerOptions, OptionFault } from "../ConsumerOptions.js"
import type { LeaseSettings } from "../Lease.js"
import type { Policy } from "../Policy.js"
import type { Redelivery } from "../Redelivery.js"
import type { QueueAttributes, Sqs } from "../Sqs.js"
import type { SqsError } from "../SqsError.js"
import { deadLetterUrl, isUrl, type SqsQueue } from "../SqsQueue.js"
import { StartError } from "../StartError.js"
import { type Decoded, decode, leaseSettings } from "./options.js"
import type { SharedLimit } from "./sharedLimit.js"

/** What a consumer knows when polling begins. */
export interface Started {
  readonly options: Decoded
  readonly url: string
  readonly settings: LeaseSettings
  /** its attributes were read */
  readonly exists: boolean
  readonly maxReceiveCount: number | undefined
  readonly deadLetterUrl: string | undefined
  readonly maximumMessageBytes: number
  /** what is risky, and what could not be checked */
  readonly notes: ReadonlyArray<string>
}

const MAX_MESSAGE_BYTES = 1_048_576

/** A start is not an outage's vigil: after some seconds whoever started it should hear of it. */
const startRetry = Schedule.exponential("250 millis").pipe(Schedule.intersect(Schedule.recurs(3)))

const retried = <A>(call: Effect.Effect<A, SqsError>) =>
  Effect.retry(call, { schedule: startRetry, while: (e) => e.retryable })

/** Decodes the options and holds them against the real queue; all faults are told at once. */
export const start = <R>(
  sqs: Sqs["Type"],
  queue: SqsQueue<any, any, any>,
  given: ConsumerOptions,
  policy: Policy<never, any> | undefined,
  redelivery: Redelivery<string, R>,
  limit: { readonly of: SharedLimit; readonly weight: number } | undefined
): Effect.Effect<Started, StartError, R> =>
  Effect.gen(function* () {
    const { faults: ofOptions, options } = decode(given)
    const faults = [...ofOptions, ...ofLimit(limit)]
    const fail = (cause?: SqsError) => new StartError({ queue: queue.name, faults, ...(cause && { cause }) })
    const isFaulty = (option: string) => faults.some((f) => f.option.startsWith(option))

    const url = isUrl(queue.name) ? queue.name : yield* Effect.mapError(retried(sqs.queueUrl(queue.name)), fail)
    const read = yield* Effect.either(retried(sqs.attributes(url)))
    const facts = Either.getOrUndefined(read)
    if (Either.isLeft(read)) {
      if (read.left._tag !== "AccessDenied") return yield* fail(read.left)
      if (options.visibilityMs === undefined && !isFaulty("lease.visibility")) {
        faults.push({
          option: "lease.visibility",
          rule: "must be given, or sqs:GetQueueAttributes allowed: the queue's own visibility timeout cannot be read",
          value: "not given"
        })
      }
    }

    const visibilityMs = options.visibilityMs ?? (facts?.visibilityTimeoutSeconds ?? 0) * 1000
    const lease = leaseSettings(options, visibilityMs)
    // what would be told of a lease with a faulty part could be wrong
    if (visibilityMs > 0 && !isFaulty("lease")) faults.push(...lease.faults)
    if (facts !== undefined) faults.push(...ofQueue(queue, facts, options))
    faults.push(...ofTimes(sqs, options, policy))
    const dlq = yield* deadLetters(sqs, url, options, facts)
    faults.push(...dlq.faults)
    if (faults.length > 0) return yield* fail(Either.isLeft(read) ? read.left : undefined)

    return {
      options,
      url,
      settings: lease.settings,
      exists: facts !== undefined,
      maxReceiveCount: facts?.redrivePolicy?.maxReceiveCount,
      deadLetterUrl: dlq.url,
      maximumMessageBytes: facts?.maximumMessageBytes ?? MAX_MESSAGE_BYTES,
      notes: yield* notes(sqs, queue, facts, dlq.url, redelivery)
    }
  })

type Faults = ReadonlyArray<OptionFault>

const ofLimit = (limit: { readonly of: SharedLimit; readonly weight: number } | undefined): Faults => {
  if (limit === undefined) return []
  const rule = "must be a whole number, at least 1"
  const isWhole = (n: number) => Number.isInteger(n) && n >= 1
  return [
    ...(isWhole(limit.of.size)
      ? []
      : [{ option: "limit.of", rule: `${rule}: its size`, value: String(limit.of.size) }]),
    ...(isWhole(limit.weight) ? [] : [{ option: "limit.weight", rule, value: String(limit.weight) }])
  ]
}

const ofQueue = (queue: SqsQueue<any, any, any>, facts: QueueAttributes, options: Decoded): Faults => {
  const faults: Array<OptionFault> = []
  if (facts.kind !== queue.kind) {
    faults.push({ option: "queue", rule: `must be of kind ${facts.kind}, as the queue is`, value: queue.kind })
  }
  if (options.visibilityMs === undefined && facts.visibilityTimeoutSeconds === 0) {
    const rule =
      "must be given, since the queue's own visibility timeout is 0: every message would be visible to others at once"
    faults.push({ option: "lease.visibility", rule, value: "not given" })
  }
  return faults
}

const ofTimes = (sqs: Sqs["Type"], options: Decoded, policy: Policy<never, any> | undefined): Faults => {
  const faults: Array<OptionFault> = []
  const clientMs = sqs.requestTimeoutMs
  if (clientMs !== undefined && clientMs <= options.waitTimeSeconds * 1000) {
    const rule = `must be shorter than the client's own timeout of ${Duration.format(clientMs)}, or every idle receive fails`
    faults.push({ option: "receive.waitTime", rule, value: `${options.waitTimeSeconds}s` })
  }
  for (const name of ["attemptTimeout", "totalTimeout"] as const) {
    const timeout = policy?.[name]
    if (timeout === undefined || Duration.toMillis(timeout) <= options.limitMs) continue
    const rule = `must be at most the lease's limit of ${Duration.format(options.limitMs)}`
    faults.push({ option: `policy.${name}`, rule, value: Duration.format(timeout) })
  }
  return faults
}

/** Where dead-letter copies go. */
const deadLetters = (
  sqs: Sqs["Type"],
  url: string,
  options: Decoded,
  facts: QueueAttributes | undefined
): Effect.Effect<{ readonly url: string | undefined; readonly faults: Faults }> => {
  const given = options.deadLetterQueue
  if (given === undefined) {
    const arn = facts?.redrivePolicy?.deadLetterTargetArn
    return Effect.succeed({ url: arn === undefined ? undefined : deadLetterUrl(url, arn), faults: [] })
  }
  const fault = (rule: string) => ({
    url: undefined,
    faults: [{ option: "deadLetterQueue", rule, value: JSON.stringify(given) }]
  })
  return Effect.match(isUrl(given) ? Effect.succeed(given) : retried(sqs.queueUrl(given)), {
    onFailure: (e) => fault(`must be the URL of a queue, or a name that can be looked up: ${e.message}`),
    onSuccess: (found) => {
      if (found === url) return fault("must be another queue: its dead letters would come again")
      const isFifo = (u: string) => u.endsWith(".fifo")
      if (isFifo(found) !== isFifo(url))
        return fault(`must be of kind ${isFifo(url) ? "fifo" : "standard"}, as the queue is`)
      return { url: found, faults: [] }
    }
  })
}

/** What is risky, and what could not be checked. */
const notes = <R>(
  sqs: Sqs["Type"],
  queue: SqsQueue<any, any, any>,
  facts: QueueAttributes | undefined,
  dlq: string | undefined,
  redelivery: Redelivery<string, R>
): Effect.Effect<ReadonlyArray<string>, never, R> =>
  Effect.gen(function* () {
    if (facts === undefined) {
      return [
        `Not checked, since sqs:GetQueueAttributes is not allowed: kind, visibility, redrive policy and retention of ${queue.name}.`
      ]
    }
    const notes: Array<string> = []
    const max = facts.redrivePolicy?.maxReceiveCount
    if (max !== undefined && max < 3) {
      notes.push(
        `maxReceiveCount of ${queue.name} is ${max}: a message that a stop gives back, or a lost answer, counts as a receive. Set it to 3 or more.`
      )
    }
    if (dlq === undefined) {
      notes.push(`${queue.name} has no dead-letter queue: what always fails comes again until its retention ends.`)
    }
    return [...notes, ...(yield* retention(sqs, queue, facts, dlq, redelivery))]
  })

/** Two decisions that look like one: how long a message lives, and how long its redeliveries take. */
const retention = <R>(
  sqs: Sqs["Type"],
  queue: SqsQueue<any, any, any>,
  facts: QueueAttributes,
  dlq: string | undefined,
  redelivery: Redelivery<string, R>
): Effect.Effect<ReadonlyArray<string>, never, R> =>
  Effect.gen(function* () {
    const notes: Array<string> = []
    const max = facts.redrivePolicy?.maxReceiveCount
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const delays = max === undefined || redelivery.delays === undefined ? [] : yield* redelivery.delays(max - 1, now)
    const redeliveries = delays.reduce((sum, d) => Duration.sum(sum, d), Duration.zero)
    const lives = Duration.seconds(facts.retentionSeconds)
    if (Duration.greaterThan(redeliveries, lives)) {
      notes.push(
        `${queue.name} keeps a message for ${Duration.format(lives)}, but its redeliveries take ${Duration.format(redeliveries)}: it would expire before its last try. Lengthen the retention or shorten the delays.`
      )
    }
    if (dlq === undefined || queue.kind === "fifo") return notes
    const dead = yield* Effect.either(sqs.attributes(dlq))
    if (Either.isLeft(dead)) notes.push(`Not checked: the retention of the dead-letter queue (${dead.left._tag}).`)
    else if (dead.right.retentionSeconds < facts.retentionSeconds) {
      // as long as the source's, as with both defaults, is little for a message that waited, but no fault to be told daily
      notes.push(
        `The dead-letter queue keeps messages for ${Duration.format(Duration.seconds(dead.right.retentionSeconds))}, counted from their first send, and ${queue.name} for ${Duration.format(lives)}: a message that waited can be gone when it arrives there. Lengthen the retention of the dead-letter queue.`
      )
    }
    return notes
  })
