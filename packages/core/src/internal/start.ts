import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schedule from "effect/Schedule"
import { type ConsumerOptions, type Decoded, decode, leaseSettings, type OptionFault } from "../ConsumerOptions.js"
import type { LeaseSettings } from "../Lease.js"
import type { Policy } from "../Policy.js"
import type { Redelivery } from "../Redelivery.js"
import type { QueueAttributes, Sqs } from "../Sqs.js"
import type { SqsError } from "../SqsError.js"
import { deadLetterUrl, isUrl, type SqsQueue } from "../SqsQueue.js"
import { StartError } from "../StartError.js"

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
  redelivery: Redelivery<string, R>
): Effect.Effect<Started, StartError, R> =>
  Effect.gen(function* () {
    const decoded = decode(given)
    if (Either.isLeft(decoded)) return yield* new StartError({ queue: queue.name, faults: [...decoded.left] })
    const options = decoded.right
    const fail = (cause: SqsError) => new StartError({ queue: queue.name, faults: [], cause })
    const url = isUrl(queue.name) ? queue.name : yield* Effect.mapError(retried(sqs.queueUrl(queue.name)), fail)
    const facts = yield* attributes(sqs, queue, url, options)
    const faults: Array<OptionFault> = []
    const notes: Array<string> = []

    if (facts === undefined) {
      notes.push(
        `Not checked, since sqs:GetQueueAttributes is not allowed: kind, visibility, redrive policy and retention of ${queue.name}.`
      )
    } else {
      if (facts.kind !== queue.kind) {
        faults.push({ option: "queue", rule: `must be of kind ${facts.kind}, as the queue is`, value: queue.kind })
      }
      if (options.visibilityMs === undefined && facts.visibilityTimeoutSeconds === 0) {
        faults.push({
          option: "lease.visibility",
          rule: "must be given, since the queue's own visibility timeout is 0: every message would be visible to others at once",
          value: "not given"
        })
      }
    }
    const visibilityMs = options.visibilityMs ?? (facts?.visibilityTimeoutSeconds ?? 0) * 1000
    const lease = leaseSettings(options, visibilityMs)
    if (visibilityMs > 0) faults.push(...lease.faults)

    const timeoutMs = sqs.requestTimeoutMs
    if (timeoutMs !== undefined && timeoutMs <= options.waitTimeSeconds * 1000) {
      faults.push({
        option: "receive.waitTime",
        rule: `must be shorter than the client's own timeout of ${Duration.format(timeoutMs)}, or every idle receive fails`,
        value: `${options.waitTimeSeconds}s`
      })
    }
    const total = policy?.totalTimeout
    if (total !== undefined && Duration.toMillis(total) > lease.settings.limitMs) {
      faults.push({
        option: "policy.totalTimeout",
        rule: `must be at most the lease's limit of ${Duration.format(lease.settings.limitMs)}`,
        value: Duration.format(total)
      })
    }
    if (faults.length > 0) return yield* new StartError({ queue: queue.name, faults })

    const max = facts?.redrivePolicy?.maxReceiveCount
    const dlq = yield* deadLetters(sqs, url, options, facts)
    if (facts !== undefined) {
      if (max !== undefined && max < 3) {
        notes.push(
          `maxReceiveCount of ${queue.name} is ${max}: a message that a stop gives back, or a lost answer, counts as a receive. Set it to 3 or more.`
        )
      }
      if (dlq === undefined) {
        notes.push(`${queue.name} has no dead-letter queue: what always fails comes again until its retention ends.`)
      }
      notes.push(...(yield* retention(sqs, queue, facts, dlq, redelivery)))
    }
    return {
      options,
      url,
      settings: lease.settings,
      exists: facts !== undefined,
      maxReceiveCount: max,
      deadLetterUrl: dlq,
      maximumMessageBytes: facts?.maximumMessageBytes ?? MAX_MESSAGE_BYTES,
      notes
    }
  })

/** `undefined`: reading them is not allowed, and not needed, since the visibility was given. */
const attributes = (
  sqs: Sqs["Type"],
  queue: SqsQueue<any, any, any>,
  url: string,
  options: Decoded
): Effect.Effect<QueueAttributes | undefined, StartError> =>
  retried(sqs.attributes(url)).pipe(
    Effect.catchAll((error) => {
      if (error._tag !== "AccessDenied") {
        return Effect.fail(new StartError({ queue: queue.name, faults: [], cause: error }))
      }
      if (options.visibilityMs !== undefined) return Effect.succeed(undefined)
      const rule = "must be given, or sqs:GetQueueAttributes allowed: the queue's own visibility timeout cannot be read"
      return Effect.fail(
        new StartError({
          queue: queue.name,
          faults: [{ option: "lease.visibility", rule, value: "not given" }],
          cause: error
        })
      )
    })
  )

const deadLetters = (
  sqs: Sqs["Type"],
  url: string,
  options: Decoded,
  facts: QueueAttributes | undefined
): Effect.Effect<string | undefined, StartError> => {
  const given = options.deadLetterQueue
  if (given === undefined) {
    const arn = facts?.redrivePolicy?.deadLetterTargetArn
    return Effect.succeed(arn === undefined ? undefined : deadLetterUrl(url, arn))
  }
  if (isUrl(given)) return Effect.succeed(given)
  return Effect.mapError(retried(sqs.queueUrl(given)), (cause) => new StartError({ queue: given, faults: [], cause }))
}

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
    else if (dead.right.retentionSeconds <= facts.retentionSeconds) {
      notes.push(
        `The dead-letter queue keeps messages for ${Duration.format(Duration.seconds(dead.right.retentionSeconds))}, counted from their first send, and ${queue.name} for ${Duration.format(lives)}: a message can expire soon after it arrives there. Lengthen the retention of the dead-letter queue.`
      )
    }
    return notes
  })
