/**
 * The jobs: one typed contract that producers, the worker and every page share. On the wire a job is a JSON object; the
 * field `report` tells which report is asked for.
 *
 * @since 0.1.0
 */
import * as SqsQueue from "@effect-sqs/core/SqsQueue"
import * as Schema from "effect/Schema"

/** A fault shows what was given, but not all of what is huge. */
const shownCharacters = 80

const shown = (actual: unknown): string => {
  const text = JSON.stringify(actual) ?? String(actual)
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)}… (${text.length} characters)`
}

/** What is expected of a value, in words: for the core's reason (the description) and for whoever asks Schema (the message). */
const says =
  (expected: string) =>
  <A, I, R>(schema: Schema.Schema<A, I, R>): Schema.Schema<A, I, R> =>
    schema.annotations({
      description: expected,
      message: ({ actual }) => ({ message: `expected ${expected}, not ${shown(actual)}`, override: true })
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

/**
 * The form of a report: PDF for paper, XLSX with a sheet for each table, CSV with the rows alone, HTML as the form that
 * everybody can read, also by ear.
 *
 * @since 0.1.0
 * @category models
 */
export const Format = Schema.Literal("pdf", "xlsx", "csv", "html").pipe(says(`"pdf", "xlsx", "csv" or "html"`))

/**
 * @since 0.1.0
 * @category models
 */
export type Format = typeof Format.Type

const longestUrl = 2000

const isWebUrl = (text: string): boolean => {
  if (text.length > longestUrl || !URL.canParse(text)) return false
  const url = new URL(text)
  return (url.protocol === "https:" || url.protocol === "http:") && url.username === "" && url.password === ""
}

const WebUrl = Schema.String.pipe(
  Schema.filter(isWebUrl),
  // What is wrong with it may be the secret in it: it is not shown.
  Schema.annotations({
    description: `an http or https URL of at most ${longestUrl} characters without user and password`,
    message: () => ({
      message: `expected an http or https URL of at most ${longestUrl} characters without user and password`,
      override: true
    })
  })
)

/**
 * Who is told when the report is finished. `idempotent`: the receiver promises that a second notice with the same
 * idempotency key does nothing. `statusUrl`: where it can be asked whether it has a notice.
 *
 * @since 0.1.0
 * @category models
 */
export const WebhookAddress = Schema.Struct({
  url: WebUrl,
  idempotent: Schema.Boolean.pipe(says("true or false")),
  statusUrl: Schema.optionalWith(WebUrl, { exact: true })
})

/**
 * @since 0.1.0
 * @category models
 */
export type WebhookAddress = typeof WebhookAddress.Type

const AirportCode = Schema.String.pipe(
  Schema.pattern(/^[A-Z]{3}$/),
  says(`a code of three capital letters such as "DEN"`)
)

const StateCode = Schema.String.pipe(
  Schema.pattern(/^[A-Z]{2}$/),
  says(`the code of a state, two capital letters such as "TX"`)
)

/** What every job has. */
const common = {
  jobId: JobId,
  locale: Locale,
  format: Schema.optionalWith(Format, { exact: true, default: () => "pdf" as const }),
  /**
   * At most so many pages a second, so that a heavy report leaves room for others; unset: as fast as it goes. It does
   * not change the report. In forms without pages a hundred rows count as one.
   */
  pagesPerSecond: Schema.optionalWith(
    Schema.Number.pipe(Schema.between(0.1, 1000), says("a number from 0.1 to 1000")),
    { exact: true }
  ),
  webhook: Schema.optionalWith(WebhookAddress, { exact: true }),
  drill: Schema.optionalWith(Drill, { exact: true })
}

const kind = <Name extends string>(name: Name) =>
  Schema.Literal(name).pipe(
    Schema.propertySignature,
    Schema.withConstructorDefault(() => name)
  )

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
  report: kind("flight-delays"),
  period: Period,
  airport: Schema.optionalWith(AirportCode, { exact: true }),
  minDelay: Schema.optionalWith(
    Schema.Int.pipe(Schema.between(-1000, 1000), says("a whole number of minutes from -1000 to 1000")),
    { exact: true, default: () => 15 }
  )
}) {}

/**
 * The years that the wildlife data cover.
 *
 * @since 0.1.0
 * @category constants
 */
export const wildlifeYears = { from: 1990, to: 2002 } as const

const Year = Schema.Int.pipe(
  Schema.between(wildlifeYears.from, wildlifeYears.to),
  says(`a year from ${wildlifeYears.from} to ${wildlifeYears.to}`)
)

/**
 * Wildlife strikes of some years, in one state or in all: by year, phase of flight and species, with what they cost. The
 * report lists the strikes that cost at least `minCost` dollars; 0 lists them all.
 *
 * @since 0.1.0
 * @category models
 * @example
 * import { WildlifeStrikesJob } from "../apps/report-worker/src/ReportJob.js"
 *
 * const job = new WildlifeStrikesJob({ jobId: "texas-birds", state: "TX", from: 1995, to: 1999, locale: "en" })
 */
export class WildlifeStrikesJob extends Schema.Class<WildlifeStrikesJob>("WildlifeStrikesJob")(
  Schema.Struct({
    ...common,
    report: kind("wildlife-strikes"),
    state: Schema.optionalWith(StateCode, { exact: true }),
    from: Schema.optionalWith(Year, { exact: true, default: () => wildlifeYears.from }),
    to: Schema.optionalWith(Year, { exact: true, default: () => wildlifeYears.to }),
    minCost: Schema.optionalWith(
      Schema.Int.pipe(Schema.between(0, 1_000_000_000), says("a whole number of dollars from 0 to 1000000000")),
      { exact: true, default: () => 1 }
    )
  }).pipe(
    Schema.filter(({ from, to }) =>
      from <= to ? undefined : { path: ["to"], message: `expected a year not before ${from}, not ${to}` }
    )
  )
) {}

/**
 * Flights between airports in a year: the routes of one airport, or of all airports of one state.
 *
 * @since 0.1.0
 * @category models
 * @example
 * import { RouteTrafficJob } from "../apps/report-worker/src/ReportJob.js"
 *
 * const job = new RouteTrafficJob({ jobId: "denver-routes", airport: "DEN", format: "xlsx", locale: "en" })
 */
export class RouteTrafficJob extends Schema.Class<RouteTrafficJob>("RouteTrafficJob")(
  Schema.Struct({
    ...common,
    report: kind("route-traffic"),
    airport: Schema.optionalWith(AirportCode, { exact: true }),
    state: Schema.optionalWith(StateCode, { exact: true })
  }).pipe(
    Schema.filter(({ airport, state }) =>
      (airport === undefined) !== (state === undefined)
        ? undefined
        : { path: ["airport"], message: "expected either airport or state, one of the two" }
    )
  )
) {}

/**
 * Any job. A field that the contract does not know is a fault: a misspelt `airport` would else ask for all of them.
 *
 * @since 0.1.0
 * @category models
 */
export const ReportJob = Schema.Union(FlightDelaysJob, WildlifeStrikesJob, RouteTrafficJob).annotations({
  description: "a job: an object that says which report, for which jobId, in which locale",
  parseOptions: { onExcessProperty: "error" }
})

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
