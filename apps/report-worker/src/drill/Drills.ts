/**
 * The three drills before a deploy: the slow but healthy job, the worker that is killed in the middle, and the result that is
 * stored while the delete fails. Real workers, as processes of their own, on the real SDK; only the SQS is a local one.
 *
 * @since 0.1.0
 */
import * as Timeline from "@effect-sqs/testing/Timeline"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { existsSync, readdirSync } from "node:fs"
import type { JobRow } from "../jobs/JobRow.js"
import { pageCount } from "../pdf/PdfPages.js"
import { describe } from "../report/Describe.js"
import { FlightDelaysJob } from "../ReportJob.js"
import * as Stage from "./Stage.js"
import * as WorkerProcess from "./WorkerProcess.js"

/**
 * A drill could not be played to its end.
 *
 * @since 0.1.0
 * @category errors
 */
export class DrillFailed extends Data.TaggedError("DrillFailed")<{
  readonly drill: string
  readonly reason: string
}> {
  override get message() {
    return `the drill "${this.drill}" could not be played: ${this.reason}`
  }
}

/**
 * What was seen, and what is not as it must be; nothing is where all is right. Times in seconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Drilled {
  readonly drill: string
  readonly visibilitySeconds: number
  /** from its submission to its end, or to now */
  readonly seconds: number
  readonly state: string
  readonly receives: number
  readonly heartbeats: number
  readonly runs: number
  readonly queries: number
  readonly artifacts: number
  readonly left: number
  readonly wrong: ReadonlyArray<string>
  readonly timeline: string
}

/** The slow job takes this much of the visibility. */
const slowFactor = 3

/** So many seconds beyond what a drill should take. */
const graceSeconds = 90

/** A job on many pages, at a pace that makes it take so long. */
const jobOf = (jobId: string, lasts: Duration.Duration) =>
  Effect.gen(function* () {
    const job = new FlightDelaysJob({ jobId, locale: "en", period: "2001-Q1", airport: "DEN", minDelay: -1000 })
    const pages = pageCount(yield* describe(job))
    const pace = Math.min(1000, Math.max(0.1, pages / Duration.toSeconds(lasts)))
    return new FlightDelaysJob({ ...job, pagesPerSecond: pace })
  })

const rowOf = (stage: Stage.Stage, id: string) => Effect.map(stage.jobs.get(id), Option.getOrUndefined)

/** Waits until the row is as it is asked for; not longer than it can take, nor than the worker lives. */
const until = (
  drill: string,
  stage: Stage.Stage,
  id: string,
  seconds: number,
  what: string,
  worker: WorkerProcess.WorkerProcess,
  is: (row: JobRow, stage: Stage.Stage) => boolean
) => {
  const wait = Effect.repeat(
    Effect.map(
      Effect.orElseSucceed(rowOf(stage, id), () => undefined),
      (row) => row !== undefined && is(row, stage)
    ),
    { until: (met) => met, schedule: Schedule.spaced("50 millis") }
  ).pipe(
    Effect.timeoutFail({
      duration: Duration.seconds(seconds + graceSeconds),
      onTimeout: () => new DrillFailed({ drill, reason: `${what} was waited for ${seconds + graceSeconds} s` })
    })
  )
  const ended = Effect.flatMap(worker.ownEnd, (said) =>
    Effect.fail(new DrillFailed({ drill, reason: `the worker ended by itself: ${said}` }))
  )
  return Effect.raceAll([Effect.asVoid(wait), ended])
}

const deliveriesOf = (stage: Stage.Stage, row: JobRow | undefined) =>
  row?.messageId === undefined ? [] : (stage.lifeOf(row.messageId)?.deliveries ?? [])

const receivesOf = (stage: Stage.Stage, row: JobRow | undefined) => deliveriesOf(stage, row).length

const plural = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`

/** The facts of a job, held against what must be. */
const look = (
  drill: string,
  stage: Stage.Stage,
  id: string,
  expected: { readonly receives: number; readonly runs: number; readonly heartbeats?: number; readonly drawn: number }
) =>
  Effect.gen(function* () {
    const row = yield* rowOf(stage, id)
    const events = yield* stage.jobs.events(id)
    const life = row?.messageId === undefined ? undefined : stage.lifeOf(row.messageId)
    const beats = life?.deliveries.flatMap((d) => d.asks.filter((ask) => ask.kind === "beat")).length ?? 0
    const stepsOf = (step: string) => events.filter((e) => e.kind === "step" && e.detail["step"] === step).length
    const artifacts = existsSync(stage.artifacts)
      ? readdirSync(stage.artifacts, { withFileTypes: true }).filter((entry) => entry.isFile()).length
      : 0
    const facts = {
      state: row?.state ?? "not there",
      receives: receivesOf(stage, row),
      heartbeats: beats,
      runs: row?.runs ?? 0,
      queries: stepsOf("query"),
      artifacts,
      left: yield* stage.left
    }
    const completions = events.filter((e) => e.kind === "completed").length
    const wrong = [
      ...(facts.state === "completed" ? [] : [`the job is ${facts.state}`]),
      ...(completions === 1 ? [] : [`it was completed ${plural(completions, "time")}`]),
      ...(facts.receives === expected.receives
        ? []
        : [`it was received ${plural(facts.receives, "time")}, not ${expected.receives}`]),
      ...(facts.runs === expected.runs ? [] : [`it was run ${plural(facts.runs, "time")}, not ${expected.runs}`]),
      ...(beats >= (expected.heartbeats ?? 0) ? [] : [`there were ${plural(beats, "heartbeat")}`]),
      ...(facts.queries === 1 ? [] : [`its query was made ${plural(facts.queries, "time")}`]),
      ...(stepsOf("render") === expected.drawn ? [] : [`it was drawn ${plural(stepsOf("render"), "time")}`]),
      ...(artifacts === 1 ? [] : [`there are ${plural(artifacts, "artifact")}`]),
      ...(facts.left === 0 ? [] : [`${plural(facts.left, "message")} in the queue`])
    ]
    const now = yield* Clock.currentTimeMillis
    const drilled: Drilled = {
      drill,
      visibilitySeconds: Duration.toSeconds(stage.visibility),
      seconds: row === undefined ? 0 : Math.round(((row.endedAt ?? now) - row.acceptedAt) / 100) / 10,
      ...facts,
      wrong,
      timeline: life === undefined ? "" : Timeline.text(life)
    }
    return drilled
  })

/** until the message is gone, so that nothing of it is still to come */
const settled = (stage: Stage.Stage) =>
  Effect.repeat(stage.left, { until: (n) => n === 0, schedule: Schedule.spaced("50 millis") }).pipe(
    Effect.timeout("10 seconds"),
    Effect.ignore
  )

const slow = (environment: NodeJS.ProcessEnv) =>
  Effect.gen(function* () {
    const drill = "a slow but healthy job"
    const stage = yield* Stage.make(environment)
    const lasts = Duration.times(stage.visibility, slowFactor)
    yield* stage.jobs.accept(yield* jobOf("slow", lasts))
    const worker = yield* WorkerProcess.start(stage.environment)
    const seconds = Duration.toSeconds(lasts)
    yield* until(drill, stage, "slow", seconds, "its end", worker, (row) => row.state === "completed")
    yield* settled(stage)
    yield* worker.stop
    return yield* look(drill, stage, "slow", { receives: 1, runs: 1, heartbeats: 1, drawn: 1 })
  })

const killed = (environment: NodeJS.ProcessEnv) =>
  Effect.gen(function* () {
    const drill = "a worker killed in the middle"
    const stage = yield* Stage.make(environment)
    yield* stage.jobs.accept(yield* jobOf("killed", stage.visibility))
    const seconds = Duration.toSeconds(stage.visibility)
    const first = yield* WorkerProcess.start(stage.environment)
    yield* until(
      drill,
      stage,
      "killed",
      seconds,
      "the middle of its drawing",
      first,
      (row) => row.progress?.step === "render" && (row.progress.done ?? 0) > 0
    )
    yield* first.kill
    const second = yield* WorkerProcess.start(stage.environment)
    const wait = 2 * seconds + Duration.toSeconds(stage.claim)
    yield* until(drill, stage, "killed", wait, "its end", second, (row) => row.state === "completed")
    yield* settled(stage)
    yield* second.stop
    // a claim that outlives the visibility costs a receive more: the message is given back until the claim has ended
    const row = yield* rowOf(stage, "killed")
    const receives = Math.max(2, receivesOf(stage, row))
    return yield* look(drill, stage, "killed", { receives, runs: 2, drawn: 2 })
  })

const undeleted = (environment: NodeJS.ProcessEnv) =>
  Effect.gen(function* () {
    const drill = "the result stored, the delete failing"
    const stage = yield* Stage.make(environment)
    yield* stage.jobs.accept(yield* jobOf("stored", Duration.seconds(1)))
    yield* stage.failDeletes(true)
    const seconds = Duration.toSeconds(stage.visibility)
    const first = yield* WorkerProcess.start(stage.environment)
    const refused = (row: JobRow) =>
      row.state === "completed" &&
      deliveriesOf(stage, row).some((d) => d.asks.some((ask) => ask.kind === "delete" && ask.outcome !== undefined))
    yield* until(drill, stage, "stored", seconds, "its end and a delete that fails", first, refused)
    // nobody is there any more who remembers it: the ledger has to
    yield* first.kill
    yield* stage.failDeletes(false)
    const second = yield* WorkerProcess.start(stage.environment)
    const again = (row: JobRow) => receivesOf(stage, row) > 1
    yield* until(drill, stage, "stored", 2 * seconds, "its coming again", second, again)
    yield* settled(stage)
    yield* second.stop
    return yield* look(drill, stage, "stored", { receives: 2, runs: 1, drawn: 1 })
  })

/** What keeps a drill from being played is one kind of failure. */
const played = <A, E, R>(drill: string, self: Effect.Effect<A, E, R | Scope.Scope>) =>
  Effect.scoped(self).pipe(
    Effect.mapError((e) =>
      e instanceof DrillFailed ? e : new DrillFailed({ drill, reason: e instanceof Error ? e.message : String(e) })
    )
  )

/**
 * All three side by side, each on a stage of its own, with the settings of the environment; what is not set in it is short.
 *
 * @since 0.1.0
 * @category drills
 */
export const all = (environment: NodeJS.ProcessEnv): Effect.Effect<ReadonlyArray<Drilled>, DrillFailed> =>
  Effect.all(
    [
      played("slow", slow(environment)),
      played("killed", killed(environment)),
      played("stored", undeleted(environment))
    ],
    {
      concurrency: "unbounded"
    }
  )

/**
 * About how long they take, in seconds.
 *
 * @since 0.1.0
 * @category drills
 */
export const expectedSeconds = (o: {
  readonly visibility: Duration.Duration
  readonly claim: Duration.Duration
}): number =>
  Math.ceil(
    10 +
      Math.max(
        slowFactor * Duration.toSeconds(o.visibility),
        3 * Duration.toSeconds(o.visibility) + Duration.toSeconds(o.claim)
      )
  )

/**
 * What happened, for people.
 *
 * @since 0.1.0
 * @category rendering
 */
export const render = (all: ReadonlyArray<Drilled>): string =>
  all
    .map((d, i) =>
      [
        `${i + 1}. ${d.drill[0]!.toUpperCase()}${d.drill.slice(1)}, visibility ${d.visibilitySeconds} s: ${d.wrong.length === 0 ? "right" : "WRONG"}`,
        `   ${d.state} after ${d.seconds} s; received ${plural(d.receives, "time")}, ${plural(d.heartbeats, "heartbeat")}, ${plural(d.runs, "run")}, ${plural(d.artifacts, "artifact")}`,
        ...d.wrong.map((w) => `   WRONG: ${w}`),
        "",
        d.timeline
          .split("\n")
          .map((line) => (line === "" ? "" : `   ${line}`))
          .join("\n")
      ].join("\n")
    )
    .join("\n\n")
