/**
 * Tries sets of options on jobs that never were: the real consumer, on the virtual SQS, on the fast clock. All sets get the
 * same jobs at the same times and the same crashes, drawn from the seed, so that what differs is due to the options.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { badInput, CliError, ExitCode } from "./CliError.js"
import type { Distribution } from "./Distribution.js"
import { type Job, stream } from "./internal/labBooks.js"
import { simulate } from "./internal/labSimulation.js"
import type * as OptionSet from "./OptionSet.js"
import { PRICE_USD_PER_MILLION } from "./Plan.js"
import type { Trial } from "./Trial.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Scenario {
  readonly runTimes: Distribution
  /** for how long jobs are sent; then what is left may be done for an hour, or as long again */
  readonly duration: Duration.DurationInput
  readonly workers: number
  /** jobs a second, at random times; unset: so many that 70 % of the places are busy */
  readonly ratePerSecond?: number | undefined
  /** how often a worker dies without a word, an hour; 0 */
  readonly crashesPerHour?: number | undefined
  /** until a worker that died is back; 10 s */
  readonly restart?: Duration.DurationInput | undefined
  /** share of the runs that fail, 0 to 1; 0 */
  readonly failing?: number | undefined
  readonly seed?: number | string | undefined
  /** US dollars for a million requests */
  readonly priceUsd?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface LabReport {
  readonly scenario: {
    readonly runTimes: string
    readonly durationSeconds: number
    readonly workers: number
    readonly ratePerSecond: number
    readonly crashesPerHour: number
    readonly restartSeconds: number
    readonly failing: number
    readonly seed: number | string
    readonly priceUsdPerMillionRequests: number
  }
  readonly trials: ReadonlyArray<Trial>
}

const DEFAULT_LOAD = 0.7
const DEFAULT_CONCURRENCY = 10
/** More do not fit into memory beside each other. */
const MAX_JOBS = 2_000_000

const jobsOf = (scenario: Scenario, ratePerSecond: number, seed: number | string): ReadonlyArray<Job> => {
  const arrivals = stream(seed, "arrivals")
  const runs = stream(seed, "run times")
  const endMs = Duration.toMillis(scenario.duration)
  const jobs: Array<Job> = []
  for (let at = 0; ;) {
    at += (-Math.log(1 - arrivals()) / ratePerSecond) * 1000
    if (at >= endMs) return jobs
    jobs.push({ atMs: Math.floor(at), runMs: scenario.runTimes.draw(runs) })
  }
}

const concurrencyOf = (set: OptionSet.OptionSet) => set.worker.options.concurrency ?? DEFAULT_CONCURRENCY

/**
 * Runs all sets, one after the other. One seed gives the same numbers each time. Options that a consumer would refuse are a
 * `CliError`.
 *
 * @since 0.1.0
 * @category running
 */
export const run = (
  scenario: Scenario,
  sets: ReadonlyArray<OptionSet.OptionSet>,
  onProgress: (set: string, share: number) => Effect.Effect<void> = () => Effect.void
): Effect.Effect<LabReport, CliError> =>
  Effect.gen(function* () {
    const twice = sets.find(({ name }, i) => sets.findIndex((other) => other.name === name) !== i)
    if (twice !== undefined) return yield* badInput(`Two sets are called ${twice.name}: give each a name of its own.`)
    if (sets.length === 0) return yield* badInput("There is no set of options to try.")
    const seed = scenario.seed ?? 0
    const places = scenario.workers * Math.min(...sets.map(concurrencyOf))
    const ratePerSecond = scenario.ratePerSecond ?? (DEFAULT_LOAD * places) / (scenario.runTimes.meanMs / 1000)
    const expected = ratePerSecond * Duration.toSeconds(scenario.duration)
    if (expected > MAX_JOBS) {
      return yield* badInput(
        `These are ${Math.round(expected)} jobs, more than ${MAX_JOBS}: lower --rate, --workers or --for.`
      )
    }
    const settings = {
      durationMs: Duration.toMillis(scenario.duration),
      workers: scenario.workers,
      crashesPerHour: scenario.crashesPerHour ?? 0,
      restartMs: Duration.toMillis(scenario.restart ?? "10 seconds"),
      failing: scenario.failing ?? 0,
      seed,
      priceUsd: scenario.priceUsd ?? PRICE_USD_PER_MILLION
    }
    const jobs = jobsOf(scenario, ratePerSecond, seed)
    if (jobs.length === 0) return yield* badInput("Not one job would come in this time: raise --rate or --for.")
    const trials = yield* Effect.forEach(sets, (set) =>
      simulate({
        ...settings,
        jobs,
        set,
        concurrency: concurrencyOf(set),
        onProgress: (share) => onProgress(set.name, share)
      }).pipe(
        // a simulation that cannot end is a fault of the options, of the lab, or of the consumer: not of the machine
        Effect.catchTag(
          "SimStuck",
          (e) => new CliError({ sentence: `${set.name}: ${e.message}`, exitCode: ExitCode.defect })
        )
      )
    )
    return {
      scenario: {
        runTimes: scenario.runTimes.label,
        durationSeconds: settings.durationMs / 1000,
        workers: settings.workers,
        ratePerSecond: Number(ratePerSecond.toPrecision(6)),
        crashesPerHour: settings.crashesPerHour,
        restartSeconds: settings.restartMs / 1000,
        failing: settings.failing,
        seed,
        priceUsdPerMillionRequests: settings.priceUsd
      },
      trials
    }
  })
