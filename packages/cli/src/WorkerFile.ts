/**
 * The options of a worker as a JSON file, so that they can be held against a queue: what `Consumer.run` takes as plain values,
 * and how its redeliveries are spaced.
 *
 * @since 0.1.0
 */
import * as Consumer from "@effect-sqs/core/Consumer"
import type { ConsumerOptions, OptionFault } from "@effect-sqs/core/ConsumerOptions"
import { Sqs } from "@effect-sqs/core/Sqs"
import { fromCode } from "@effect-sqs/core/SqsError"
import * as SqsQueue from "@effect-sqs/core/SqsQueue"
import type { StartError } from "@effect-sqs/core/StartError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { badInput, type CliError } from "./CliError.js"

/**
 * Exponential delays: the first, doubled each time, up to `max`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Backoff {
  readonly firstSeconds: number
  readonly maxSeconds: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface WorkerFile {
  readonly options: ConsumerOptions
  /** `undefined`: the default of the queue's kind */
  readonly redelivery: Backoff | undefined
}

/**
 * The defaults of the consumer, by the kind of the queue.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaultBackoff: Record<SqsQueue.QueueKind, Backoff> = {
  standard: { firstSeconds: 10, maxSeconds: 900 },
  fifo: { firstSeconds: 1, maxSeconds: 60 }
}

const isRecord = (u: unknown): u is Readonly<Record<string, unknown>> =>
  typeof u === "object" && u !== null && !Array.isArray(u)

const secondsOf = (u: unknown): number | undefined => {
  const decoded = Duration.decodeUnknown(u)
  return Option.isSome(decoded) && Duration.toMillis(decoded.value) > 0 ? Duration.toSeconds(decoded.value) : undefined
}

/**
 * From the text of a file. What its options say is judged by `check`, as a consumer would; here only its form.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import { WorkerFile } from "@effect-sqs/cli"
 *
 * WorkerFile.fromText('{ "concurrency": 16, "lease": { "visibility": "2 minutes", "heartbeat": "1 minute" } }', "worker.json")
 */
export const fromText = (text: string, source: string): Either.Either<WorkerFile, CliError> => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return Either.left(
      badInput(`${source}: this is no JSON. Expected the options of Consumer.run, as {"concurrency": 16}.`)
    )
  }
  if (!isRecord(json)) {
    return Either.left(
      badInput(`${source}: expected an object with the options of Consumer.run, as {"concurrency": 16}.`)
    )
  }
  const { redelivery, ...options } = json
  if (redelivery === undefined) return Either.right({ options, redelivery: undefined })
  const firstSeconds = isRecord(redelivery) ? secondsOf(redelivery.first) : undefined
  const maxSeconds = isRecord(redelivery) ? secondsOf(redelivery.max) : undefined
  if (firstSeconds === undefined || maxSeconds === undefined) {
    return Either.left(
      badInput(
        `${source}: redelivery must be as {"first": "10 seconds", "max": "15 minutes"}: the first delay, doubled up to max.`
      )
    )
  }
  return Either.right({ options, redelivery: { firstSeconds, maxSeconds } })
}

/** The consumer starts, which holds its options against the queue, and then finds that it may not receive. */
const withoutReceives = (sqs: Sqs["Type"]): Sqs["Type"] => ({
  ...sqs,
  receive: ({ queueUrl }) =>
    Effect.fail(
      fromCode({ operation: "ReceiveMessage", queue: queueUrl, code: "AccessDenied", detail: "only a check" })
    )
})

/**
 * What is wrong with the options, for this queue: the very checks that a consumer makes before it begins to poll. Nothing
 * is received.
 *
 * @since 0.1.0
 * @category checking
 */
export const check = (
  queueUrl: string,
  options: ConsumerOptions
): Effect.Effect<ReadonlyArray<OptionFault>, never, Sqs> =>
  Effect.gen(function* () {
    const sqs = yield* Sqs
    const queue = SqsQueue.make(queueUrl, { schema: Schema.Unknown })
    const ended = yield* Consumer.run(queue, { ...options, spans: "off", metrics: false }, () => Effect.void).pipe(
      Effect.provideService(Sqs, withoutReceives(sqs)),
      Logger.withMinimumLogLevel(LogLevel.None),
      Effect.flip
    )
    return ended._tag === "StartError" ? faultsOf(ended) : []
  })

const faultsOf = ({ faults }: StartError): ReadonlyArray<OptionFault> => faults
