/**
 * The way to SQS that the flags of a command describe.
 *
 * @since 0.1.0
 */
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import { Sqs } from "@effect-sqs/core/Sqs"
import type { SqsError } from "@effect-sqs/core/SqsError"
import { isUrl } from "@effect-sqs/core/SqsQueue"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { badInput, type CliError, fromSqs, type Whereabouts } from "./CliError.js"
import * as SqsInspector from "./SqsInspector.js"

/**
 * What `--endpoint`, `--region` and `--queue` said.
 *
 * @since 0.1.0
 * @category models
 */
export interface Asked {
  readonly endpoint: string | undefined
  readonly region: string | undefined
  /** name or URL */
  readonly queue: string
}

/**
 * How the SDK is to be made, with what follows from the queue's URL.
 *
 * @since 0.1.0
 * @category models
 */
export interface Connection extends Whereabouts {
  /** for an SQS on this machine, where nobody looks at them */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined
}

/** Of today, and as they were at first. */
const AMAZON = /^(?:sqs(?:-fips)?\.([a-z0-9-]+)|([a-z0-9-]+)\.queue)\.amazonaws\.com(?:\.cn)?$/
const isHere = (host: string) => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|::1)$/.test(host)

/**
 * Decides endpoint, region and credentials. A URL on another host than Amazon's is its own endpoint; an SQS on this machine
 * needs neither region nor credentials.
 *
 * @since 0.1.0
 * @category constructors
 */
export const decide = (asked: Asked): Effect.Effect<Connection, CliError> =>
  Effect.gen(function* () {
    if (isUrl(asked.queue) && !URL.canParse(asked.queue)) {
      return yield* badInput(`--queue ${asked.queue}: this is no URL.`)
    }
    const queueHost = isUrl(asked.queue) ? new URL(asked.queue) : undefined
    const [, region, formerly] = queueHost === undefined ? [] : (AMAZON.exec(queueHost.hostname) ?? [])
    const regionOfUrl = region ?? formerly
    if (regionOfUrl !== undefined && asked.region !== undefined && asked.region !== regionOfUrl) {
      return yield* badInput(
        `The queue's URL is of region ${regionOfUrl}, but --region says ${asked.region}: leave --region out, or give the other URL.`
      )
    }
    const { env } = process
    const configured = env.AWS_ENDPOINT_URL_SQS || env.AWS_ENDPOINT_URL || undefined
    const endpoint =
      asked.endpoint ??
      (queueHost !== undefined && regionOfUrl === undefined && configured === undefined ? queueHost.origin : configured)
    const isLocal = endpoint !== undefined && URL.canParse(endpoint) && isHere(new URL(endpoint).hostname)
    const hasCredentials = (env.AWS_ACCESS_KEY_ID || env.AWS_PROFILE || "") !== ""
    return {
      endpoint,
      // the SDK does not know the second, but the AWS CLI does, and people have it set
      region:
        asked.region ??
        regionOfUrl ??
        (env.AWS_REGION || env.AWS_DEFAULT_REGION || (isLocal ? "us-east-1" : undefined)),
      credentials: isLocal && !hasCredentials ? { accessKeyId: "local", secretAccessKey: "local" } : undefined
    }
  })

/**
 * The core's port, and what an operator looks at beside it, on the AWS SDK.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = ({ credentials, endpoint, region }: Connection): Layer.Layer<Sqs | SqsInspector.SqsInspector> => {
  const options = {
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials })
  }
  return Layer.merge(AwsSqs.layerWith(options), SqsInspector.layerWith(options))
}

/** A person waits: what passes within seconds is tried again, what does not is said. */
const brief = Schedule.exponential("250 millis").pipe(Schedule.intersect(Schedule.recurs(3)))

/**
 * A call of SQS for a command: throttling and faults of the service are tried again for two seconds, errors are sentences.
 *
 * @since 0.1.0
 * @category combinators
 */
export const asking =
  (where: Whereabouts) =>
  <A, R>(call: Effect.Effect<A, SqsError, R>): Effect.Effect<A, CliError, R> =>
    call.pipe(
      Effect.retry({ schedule: brief, while: (e) => e._tag === "Throttled" || e._tag === "ServiceError" }),
      Effect.mapError((e) => fromSqs(e, where))
    )

/**
 * The URL of a queue by its name or URL.
 *
 * @since 0.1.0
 * @category getters
 */
export const queueUrl = (nameOrUrl: string, where: Whereabouts): Effect.Effect<string, CliError, Sqs> =>
  isUrl(nameOrUrl) ? Effect.succeed(nameOrUrl) : Effect.flatMap(Sqs, (sqs) => asking(where)(sqs.queueUrl(nameOrUrl)))
