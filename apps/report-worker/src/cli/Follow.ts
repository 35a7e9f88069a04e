/**
 * Waiting for jobs to end, and telling meanwhile how far they are. Nothing of it touches the jobs: who stops waiting stops
 * nothing else.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { JobStoreFailed } from "../jobs/JobError.js"
import { hasEnded, type JobRow } from "../jobs/JobRow.js"
import { JobStore } from "../jobs/JobStore.js"
import { CliError, ExitCode } from "./CliError.js"
import * as Jobs from "./Jobs.js"
import * as JobText from "./JobText.js"
import * as Notes from "./Notes.js"
import { saysWhenStopped } from "./Stop.js"
import { plain } from "./text.js"

const every = Duration.seconds(1)

/** so long a database may be away while one waits */
const patience = Duration.seconds(30)

const persistently = <A, E, R>(
  self: Effect.Effect<A, E | JobStoreFailed, R>
): Effect.Effect<A, E | JobStoreFailed, R> =>
  Effect.retry(self, {
    while: (e) => e instanceof JobStoreFailed,
    schedule: Schedule.spaced(every).pipe(Schedule.upTo(patience))
  })

const howToGoOn = (ids: ReadonlyArray<string>) =>
  ids.length === 1
    ? `Stopped waiting; ${ids[0]} goes on: report-worker status ${ids[0]} --follow shows it.`
    : `Stopped waiting; the ${ids.length} jobs go on: report-worker list shows them.`

/** One job: its history as it grows, and how far it is. */
const one = (id: string) =>
  Effect.gen(function* () {
    const notes = yield* Notes.make
    const jobs = yield* JobStore
    let seen = 0
    const look = Effect.gen(function* () {
      const row = yield* Jobs.get(id)
      const history = yield* jobs.events(id)
      for (const event of history.filter(({ seq }) => seq > seen)) {
        seen = event.seq
        yield* notes.say(`${id}  ${JobText.event(event)}`)
      }
      const progress = JobText.progressOf(row)
      if (!hasEnded(row) && row.progress?.done !== undefined) yield* notes.progress(`${id}  ${progress}`)
      return row
    })
    return yield* persistently(look).pipe(
      Effect.tap((row) => (hasEnded(row) ? Effect.void : Effect.sleep(every))),
      Effect.repeat({ until: hasEnded })
    )
  }).pipe(Effect.scoped)

/** Many jobs: how each ended, and how many have. */
const many = (ids: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const notes = yield* Notes.make
    const ended = new Map<string, JobRow>()
    const look = Effect.gen(function* () {
      for (const id of ids.filter((each) => !ended.has(each))) {
        const row = yield* persistently(Jobs.get(id))
        if (!hasEnded(row)) continue
        ended.set(id, row)
        yield* notes.say(`${id}  ${JobText.stateOf(row)}${row.reason === undefined ? "" : `: ${plain(row.reason)}`}`)
      }
      yield* notes.progress(`${ended.size} of ${ids.length} jobs have ended`)
    })
    const isOver = () => ended.size === ids.length
    yield* look.pipe(
      Effect.zipRight(Effect.suspend(() => (isOver() ? Effect.void : Effect.sleep(every)))),
      Effect.repeat({ until: isOver })
    )
    return ids.map((id) => ended.get(id)!)
  }).pipe(Effect.scoped)

/**
 * Waits until nothing more happens to the jobs by itself; the answer has their order. Ctrl-C says that they go on.
 *
 * @since 0.1.0
 * @category combinators
 */
export const untilEnded = (
  ids: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<JobRow>, CliError | JobStoreFailed, JobStore> => {
  const names = [...new Set(ids)]
  return (names.length === 1 ? Effect.map(one(names[0]!), (row) => [row]) : many(names)).pipe(
    saysWhenStopped(howToGoOn(names))
  )
}

const sentenceOf = (row: JobRow): string | undefined => {
  const because = row.reason === undefined ? "" : `: ${plain(row.reason)}`
  if (row.state === "failed") return `${row.id} failed${because}.`
  if (row.state === "cancelled") return `${row.id} was cancelled.`
  switch (row.delivery) {
    case "none":
    case "delivered":
    case "pending":
      return undefined
    case "refused":
      return `${row.id}: the report is there, but its delivery was given up${because}.`
    case "unknown":
      return `${row.id}: the report is there, but nobody knows whether its receiver was told; it is being found out.`
    case "review":
      return `${row.id}: the report is there, but whether its receiver was told could not be found out: see report-worker decide --help.`
  }
}

/**
 * Fails when jobs that have ended did not come out as they should.
 *
 * @since 0.1.0
 * @category checking
 */
export const mustBeDone = (rows: ReadonlyArray<JobRow>): Effect.Effect<void, CliError> => {
  const sentences = rows.flatMap((row) => sentenceOf(row) ?? [])
  if (sentences.length === 0) return Effect.void
  return new CliError({
    sentence:
      rows.length === 1 ? sentences[0]! : `${sentences.length} of ${rows.length} jobs did not come out as they should.`,
    exitCode: ExitCode.failed
  })
}
