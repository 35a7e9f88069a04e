/**
 * The jobs: one typed contract that producers, the worker and every page share. On the wire a job is a JSON object; the
 * field `report` tells which report is asked for.
 *
 * @since 0.1.0
 */
import * as SqsQueue from "@effect-sqs/core/SqsQueue"
import * as Schema from "effect/Schema"

/** What is expected of a value, in words: for the core's reason (the description) and for whoever asks Schema (the message). */
const says =
  (expected: string) =>
  <A, I, R>(schema: Schema.Schema<A, I, R>): Schema.Schema<A, I, R> =>
    schema.annotations({
      description: expected,
      message: ({ actual }) => ({ message: `expected ${expected}, not ${JSON.stringify(actual)}`, override: true })
    })

/**
 * The producer's name for a job. It becomes part of a file's name, so it holds nothing that could be a path.
 *
 * @since 0.1.0
 * @category models
 */
export const JobId = Schema.String.pipe(
  Schema.pattern(/^[a-z0-9][a-z0-9-]{0,47}$/),
  says("1 to 48 lower-case letters, digits or hyphens")
)

/**
 * The language of a report: its words, dates and weekdays. Names of places stay as the data have them.
 *
 * @since 0.1.0
 * @category models
 */
export const Locale = Schema.Literal("en", "ko").pipe(says(`"en" or "ko"`))

/**
 * @since 0.1.0
 * @category models
 */
export type Locale = typeof Locale.Type

/**
 * What the flight data cover: three months and their quarter.
 *
 * @since 0.1.0
 * @category models
 */
export const Period = Schema.Literal("2001-01", "2001-02", "2001-03", "2001-Q1").pipe(
  says("2001-01, 2001-02, 2001-03 or 2001-Q1")
)

/**
 * @since 0.1.0
 * @category models
 */
export type Period = typeof Period.Type

/**
 * Deliberate trouble, for demos and drills; leave it out of real jobs. `unavailableReceives`: for so many receives of
 * this job the worker behaves as if the data could not be reached.
 *
 * @since 0.1.0
 * @category models
 */
export const Drill = Schema.Struct({
  unavailableReceives: Schema.Int.pipe(Schema.between(0, 10), says("a whole number from 0 to 10"))
})

/** What every job has. */
const common = {
  jobId: JobId,
  locale: Locale,
  format: Schema.Literal("pdf"),
  /**
   * At most so many pages a second, so that a heavy report leaves room for others; unset: as fast as it goes. It does
   * not change the report.
   */
  pagesPerSecond: Schema.optionalWith(
    Schema.Number.pipe(Schema.between(0.1, 1000), says("a number from 0.1 to 1000")),
    { exact: true }
  ),
  drill: Schema.optionalWith(Drill, { exact: true })
}

/**
 * Flight delays of a period, of one airport or of all. The report lists the flights that arrived at least
 * `minDelay` minutes late; -1000 lists them all.
 *
 * @since 0.1.0
 * @category models
 * @example
 * import { FlightDelaysJob } from "../apps/report-worker/src/ReportJob.js"
 *
 * const job = new FlightDelaysJob({ jobId: "den-2001-02", period: "2001-02", airport: "DEN", locale: "ko" })
 */
export class FlightDelaysJob extends Schema.Class<FlightDelaysJob>("FlightDelaysJob")({
  ...common,
  format: Schema.optionalWith(common.format, { exact: true, default: () => "pdf" }),
  report: Schema.Literal("flight-delays").pipe(
    Schema.propertySignature,
    Schema.withConstructorDefault(() => "flight-delays" as const)
  ),
  period: Period,
  airport: Schema.optionalWith(
    Schema.String.pipe(Schema.pattern(/^[A-Z]{3}$/), says(`a code of three capital letters such as "DEN"`)),
    { exact: true }
  ),
  minDelay: Schema.optionalWith(
    Schema.Int.pipe(Schema.between(-1000, 1000), says("a whole number of minutes from -1000 to 1000")),
    { exact: true, default: () => 15 }
  )
}) {}

/**
 * Any job. A field that the contract does not know is a fault: a misspelt `airport` would else ask for all of them.
 *
 * @since 0.1.0
 * @category models
 */
export const ReportJob = Schema.Union(FlightDelaysJob).annotations({ parseOptions: { onExcessProperty: "error" } })

/**
 * @since 0.1.0
 * @category models
 */
export type ReportJob = typeof ReportJob.Type

/**
 * The contract of the queue by its name or URL; the default name is `report-jobs`.
 *
 * @since 0.1.0
 * @category queues
 */
export const reportJobs = (nameOrUrl: string) => SqsQueue.make(nameOrUrl, { schema: ReportJob })
