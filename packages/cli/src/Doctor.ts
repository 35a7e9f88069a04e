/**
 * Looks at a queue, its dead-letter queue and, where they are given, a worker's options and run times, and tells what is wrong
 * or risky. It changes nothing and receives nothing.
 *
 * @since 0.1.0
 */
import { Sqs } from "@effect-sqs/core/Sqs"
import { deadLetterUrl, nameOf } from "@effect-sqs/core/SqsQueue"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { CliError, Whereabouts } from "./CliError.js"
import * as Connection from "./Connection.js"
import * as Finding from "./Finding.js"
import { ageCommand, checks } from "./internal/doctorChecks.js"
import {
  type Attributes,
  type DeadLetterFacts,
  type Facts,
  type Look,
  redrivePolicyOf
} from "./internal/doctorFacts.js"
import type { RunTimes } from "./RunTimes.js"
import { type Probe, SqsInspector } from "./SqsInspector.js"
import * as WorkerFile from "./WorkerFile.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface DoctorOptions {
  /** name or URL */
  readonly queue: string
  /** for sentences and commands: where the queue is */
  readonly where: Whereabouts
  /** run times of its jobs; unset: visibility is not held against them */
  readonly runs?: RunTimes | undefined
  /** a worker's options; unset: a worker without heartbeat is supposed */
  readonly worker?: WorkerFile.WorkerFile | undefined
  /** between two looks at the backlog; 0: one look */
  readonly wait?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Report {
  readonly queue: string
  readonly url: string
  readonly kind: "standard" | "fifo"
  /** all attributes, as SQS names them; `null`: may not be read */
  readonly attributes: Attributes | null
  readonly deadLetterQueue: string | null
  /** worst first; empty: all that was looked at is in order */
  readonly findings: ReadonlyArray<Finding.Finding>
  /** what this cannot see, and where it is to be seen */
  readonly notLookedAt: ReadonlyArray<string>
  /** `true`: nothing but advice */
  readonly inOrder: boolean
}

const lookOf = (attributes: Attributes): Look => ({
  visible: Number(attributes.ApproximateNumberOfMessages),
  inFlight: Number(attributes.ApproximateNumberOfMessagesNotVisible),
  delayed: Number(attributes.ApproximateNumberOfMessagesDelayed)
})

const deadLettersOf = (
  url: string,
  attributes: Attributes | undefined
): Effect.Effect<DeadLetterFacts | undefined, never, SqsInspector> =>
  Effect.gen(function* () {
    const policy = redrivePolicyOf(attributes)
    if (policy === undefined) return undefined
    const arn = policy.deadLetterTargetArn
    const inspector = yield* SqsInspector
    const target = deadLetterUrl(url, arn)
    const read =
      target === undefined
        ? ("missing" as const)
        : yield* Effect.match(inspector.attributes(target), {
            onSuccess: (found) => found,
            onFailure: (e) => (e.isMissing ? ("missing" as const) : ("denied" as const))
          })
    return { arn, name: nameOf(arn.slice(arn.lastIndexOf(":") + 1)), url: target, attributes: read }
  })

const probes: ReadonlyArray<Probe> = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"]

const permissionsOf = (url: string) =>
  Effect.gen(function* () {
    const inspector = yield* SqsInspector
    const answers = yield* Effect.forEach(
      probes,
      (action) =>
        Effect.map(
          Effect.orElseSucceed(inspector.isAllowed(url, action), () => undefined),
          (isAllowed) => ({ action, isAllowed })
        ),
      { concurrency: "unbounded" }
    )
    return {
      denied: answers.filter((a) => a.isAllowed === false).map((a) => a.action),
      unknown: answers.filter((a) => a.isAllowed === undefined).map((a) => a.action)
    }
  })

/**
 * Looks, and looks at the backlog a second time after `wait`. A queue that does not exist, or cannot be reached, is a
 * `CliError`.
 *
 * @since 0.1.0
 * @category examining
 */
export const examine = (options: DoctorOptions): Effect.Effect<Report, CliError, Sqs | SqsInspector> =>
  Effect.gen(function* () {
    const { where } = options
    const sqs = yield* Sqs
    const inspector = yield* SqsInspector
    const url = yield* Connection.queueUrl(options.queue, where)
    // the core's port tells errors apart; an inspector's answer has more attributes
    const isReadable = yield* Connection.asking(where)(
      sqs.attributes(url).pipe(
        Effect.as(true),
        Effect.catchTag("AccessDenied", () => Effect.succeed(false))
      )
    )
    const read = isReadable
      ? Effect.map(Effect.option(inspector.attributes(url)), (o) => (o._tag === "Some" ? o.value : undefined))
      : Effect.succeed(undefined)
    const attributes = yield* read
    const wait = Duration.decode(options.wait ?? "10 seconds")
    const deadLetters = yield* deadLettersOf(url, attributes)
    const permissions = yield* permissionsOf(url)
    const workerFaults = options.worker === undefined ? [] : yield* WorkerFile.check(url, options.worker.options)
    const isLooking = attributes !== undefined && Duration.toMillis(wait) > 0
    const later = isLooking ? yield* Effect.zipRight(Effect.sleep(wait), read) : undefined
    const facts: Facts = {
      where,
      url,
      attributes,
      deadLetters,
      ...permissions,
      first: attributes === undefined ? undefined : lookOf(attributes),
      second: later === undefined ? undefined : lookOf(later),
      secondsApart: Duration.toSeconds(wait),
      runs: options.runs,
      worker: options.worker,
      workerFaults
    }
    const findings = Finding.worstFirst(checks.flatMap((check) => check(facts)))
    return {
      queue: nameOf(url),
      url,
      kind: url.endsWith(".fifo") ? "fifo" : "standard",
      attributes: attributes ?? null,
      deadLetterQueue: deadLetters?.name ?? null,
      findings,
      notLookedAt: notLookedAt(facts),
      inOrder: !findings.some(Finding.isBad)
    }
  })

const notLookedAt = ({ runs, second, url, where, worker }: Facts): ReadonlyArray<string> => [
  ...(runs === undefined ? ["visibility against run times: give --runs FILE or --from metrics.json"] : []),
  ...(worker === undefined ? ["a worker's options: give --worker FILE"] : []),
  ...(second === undefined ? ["whether the backlog grows: give --wait 10s"] : []),
  `the age of the oldest message: SQS does not tell it, CloudWatch does${where.endpoint === undefined ? `: ${ageCommand(where, nameOf(url))}` : ""}`
]
