/**
 * The twelve jobs of the demo, and what must become of each. They tell what a visibility timeout does: the queue hides
 * a job for four seconds, and most of what can happen to a job meets that.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { FlightDelaysJob, ReportJob } from "../ReportJob.js"

/**
 * @since 0.1.0
 * @category models
 */
export type Kind = "ordinary" | "long" | "flaky" | "failing" | "malformed"

/**
 * One message of the story; `job` is `undefined` where the body is none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Scene {
  readonly kind: Kind
  readonly job: ReportJob | undefined
  readonly body: string
}

/** How long the queue hides a job, in seconds. */
export const visibilitySeconds = 4

/** The long job takes this much of it. */
export const longFactor = 3

/** A job that needs longer than this many receives goes to the dead-letter queue by SQS's own rule. */
export const maxReceiveCount = 5

/** The whole quarter on some 457 pages; at this pace they take thirteen seconds on any machine that can keep it. */
const longPagesPerSecond = 35

const encode = Schema.encodeSync(ReportJob)

const scene = (kind: Kind, job: FlightDelaysJob): Scene => ({ kind, job, body: JSON.stringify(encode(job)) })

const month = (jobId: string, period: FlightDelaysJob["period"], airport: string) =>
  new FlightDelaysJob({ jobId, period, airport, locale: jobId.endsWith("-ko") ? "ko" : "en" })

/**
 * @since 0.1.0
 * @category constants
 */
export const scenes: ReadonlyArray<Scene> = [
  scene(
    "long",
    new FlightDelaysJob({
      jobId: "all-q1-ko",
      locale: "ko",
      period: "2001-Q1",
      minDelay: -1000,
      pagesPerSecond: longPagesPerSecond
    })
  ),
  scene(
    "flaky",
    new FlightDelaysJob({
      jobId: "sfo-feb-ko",
      locale: "ko",
      period: "2001-02",
      airport: "SFO",
      drill: { unavailableReceives: 2 }
    })
  ),
  scene("ordinary", month("den-feb-ko", "2001-02", "DEN")),
  scene("failing", month("zzz-jan-en", "2001-01", "ZZZ")),
  scene("ordinary", month("ord-jan-en", "2001-01", "ORD")),
  {
    kind: "malformed",
    job: undefined,
    body: `{"report":"flight-delays","jobId":"bos-feb-en","locale":"en","period":"February"}`
  },
  scene("ordinary", month("dfw-mar-ko", "2001-03", "DFW")),
  scene("ordinary", month("atl-feb-en", "2001-02", "ATL")),
  scene("ordinary", month("lax-jan-ko", "2001-01", "LAX")),
  scene("ordinary", month("jfk-mar-en", "2001-03", "JFK")),
  scene("ordinary", month("sea-q1-ko", "2001-Q1", "SEA")),
  scene("ordinary", new FlightDelaysJob({ jobId: "all-jan-en", locale: "en", period: "2001-01", minDelay: 120 }))
]

/**
 * What a scene is called: its job, or that it is none.
 *
 * @since 0.1.0
 * @category formatting
 */
export const nameOf = (s: Scene): string => s.job?.jobId ?? "(no valid job)"
