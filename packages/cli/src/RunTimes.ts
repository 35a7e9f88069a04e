/**
 * Measured run times: from a file of numbers, or from the histogram that a worker exported.
 *
 * @since 0.1.0
 */
import { nameOf } from "@effect-sqs/core/SqsQueue"
import { MetricName } from "@effect-sqs/core/Telemetry"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { badInput, type CliError } from "./CliError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface RunTimes {
  /** where they are from, in words */
  readonly source: string
  /** how many were measured */
  readonly count: number
  /** ascending, at least one; of a histogram a sample of at most 10,000, spread evenly inside each bucket */
  readonly seconds: ReadonlyArray<number>
  /** runs that were cut short and are left out: how long they would have taken is not known */
  readonly interrupted: number
}

const MAX_SAMPLE = 10_000

const sorted = (seconds: ReadonlyArray<number>) => [...seconds].sort((a, b) => a - b)

/**
 * One run of a known length.
 *
 * @since 0.1.0
 * @category constructors
 */
export const one = (run: Duration.DurationInput): RunTimes => ({
  source: "one run",
  count: 1,
  seconds: [Duration.toSeconds(run)],
  interrupted: 0
})

const isRunTime = (n: unknown): n is number => typeof n === "number" && Number.isFinite(n) && n >= 0

/**
 * From a text: a JSON array of seconds, or one a line: a number, or an object with `seconds`. Empty lines, and lines that
 * begin with `#`, are skipped.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromText = (text: string, source: string): Either.Either<RunTimes, CliError> => {
  const asArray = text.trimStart().startsWith("[") ? parseJson(text) : undefined
  const rows: ReadonlyArray<{ readonly where: string; readonly raw: string; readonly value: unknown }> =
    asArray !== undefined && Array.isArray(asArray)
      ? asArray.map((value: unknown, i) => ({ where: `element ${i + 1}`, raw: JSON.stringify(value), value }))
      : text.split(/\r?\n/).flatMap((line, i) => {
          const raw = line.trim()
          return raw === "" || raw.startsWith("#") ? [] : [{ where: `line ${i + 1}`, raw, value: parseJson(raw) }]
        })
  if (rows.length === 0) return Either.left(badInput(`${source}: there is no run time in it.`))
  const seconds: Array<number> = []
  for (const { raw, value, where } of rows) {
    const n: unknown = typeof value === "object" && value !== null && "seconds" in value ? value.seconds : value
    if (!isRunTime(n)) {
      return Either.left(
        badInput(
          `${source}, ${where}: ${raw.slice(0, 40)} is no run time: expected seconds, as 12.5 or {"seconds": 12.5}, or one JSON array of them.`
        )
      )
    }
    seconds.push(n)
  }
  return Either.right({ source, count: seconds.length, seconds: sorted(seconds), interrupted: 0 })
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What this reads of `JSON.stringify` of Effect's `Metric.snapshot`. JSON has no Infinity: the last bound is `null`. */
const Pair = Schema.Struct({
  metricKey: Schema.Struct({
    name: Schema.String,
    tags: Schema.Array(Schema.Struct({ key: Schema.String, value: Schema.String }))
  }),
  metricState: Schema.Unknown
})

const Histogram = Schema.Struct({
  /** upper bound, and how many were at most as long: cumulative */
  buckets: Schema.NonEmptyArray(Schema.Tuple(Schema.NullOr(Schema.NonNegative), Schema.NonNegativeInt)),
  count: Schema.NonNegativeInt,
  min: Schema.Number,
  max: Schema.Number
})

/**
 * What a worker exports: `Effect.map(Metric.snapshot, (pairs) => JSON.stringify(pairs))`. Of it the histograms
 * `messaging.process.duration` are read.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MetricsFile = Schema.Array(Pair)

interface Bucket {
  readonly from: number
  readonly to: number
  readonly count: number
}

const bucketsOf = (h: typeof Histogram.Type): ReadonlyArray<Bucket> => {
  let below = 0
  let from = 0
  return h.buckets.flatMap(([bound, atMost]) => {
    const to = bound ?? h.max
    const bucket = { from: Math.max(from, h.min), to: Math.max(h.min, Math.min(to, h.max)), count: atMost - below }
    below = atMost
    from = to
    return bucket.count > 0 ? [bucket] : []
  })
}

const spread = (buckets: ReadonlyArray<Bucket>): ReadonlyArray<number> => {
  const total = buckets.reduce((sum, b) => sum + b.count, 0)
  const share = Math.min(1, MAX_SAMPLE / total)
  return sorted(
    buckets.flatMap(({ count, from, to }) => {
      const n = Math.max(1, Math.round(count * share))
      return Array.from({ length: n }, (_, i) => Number((from + ((i + 1) / n) * (to - from)).toPrecision(12)))
    })
  )
}

/**
 * From an exported snapshot of metrics; of one queue, if it has several.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromMetrics = (
  text: string,
  source: string,
  queue: string | undefined
): Effect.Effect<RunTimes, CliError> =>
  Effect.gen(function* () {
    const wrong = (what: string) =>
      badInput(`${source}: ${what}. Expected what a worker exports: JSON.stringify of Effect's Metric.snapshot.`)
    const json = parseJson(text)
    if (json === undefined) return yield* wrong("this is no JSON")
    const pairs = yield* Effect.mapError(Schema.decodeUnknown(MetricsFile)(json), (e) => wrong(firstIssue(e)))
    const runs = pairs.filter(({ metricKey }) => metricKey.name === MetricName.processDuration)
    if (runs.length === 0) return yield* wrong(`there is no metric ${MetricName.processDuration} in it`)
    const queueOf = ({ metricKey }: (typeof runs)[number]) =>
      // a worker that was given the URL of its queue says so
      nameOf(metricKey.tags.find(({ key }) => key === "messaging.destination.name")?.value ?? "?")
    const queues = [...new Set(runs.map(queueOf))]
    if (queue !== undefined && !queues.includes(queue)) {
      return yield* badInput(
        `${source} has no run times of ${queue}, but of ${queues.join(", ")}: choose with --queue.`
      )
    }
    if (queue === undefined && queues.length > 1) {
      return yield* badInput(
        `${source} has run times of several queues: choose with --queue one of ${queues.join(", ")}.`
      )
    }
    const buckets: Array<Bucket> = []
    let interrupted = 0
    for (const pair of runs.filter((p) => queue === undefined || queueOf(p) === queue)) {
      const outcome = pair.metricKey.tags.find(({ key }) => key === "effect_sqs.outcome")?.value
      const state = yield* Effect.mapError(Schema.decodeUnknown(Histogram)(pair.metricState), (e) =>
        wrong(`the histogram of ${queueOf(pair)}: ${firstIssue(e)}`)
      )
      const found = bucketsOf(state)
      if (outcome === "interrupted") interrupted += state.count
      else buckets.push(...found)
    }
    const count = buckets.reduce((sum, b) => sum + b.count, 0)
    if (count === 0) {
      return yield* badInput(`${source}: no run has ended yet, there is nothing to plan with.`)
    }
    return { source, count, seconds: spread(buckets), interrupted }
  })

const firstIssue = (e: ParseResult.ParseError): string => {
  const issue = ParseResult.ArrayFormatter.formatErrorSync(e)[0]
  if (issue === undefined) return "it does not fit"
  const path = issue.path.map(String).join(".")
  return `${path === "" ? "" : `${path}: `}${issue.message.slice(0, 120)}`
}

/**
 * The value that a share of the runs does not exceed.
 *
 * @since 0.1.0
 * @category getters
 */
export const quantile = ({ seconds }: RunTimes, q: number): number =>
  seconds[Math.min(seconds.length - 1, Math.max(0, Math.ceil(q * seconds.length) - 1))]!
