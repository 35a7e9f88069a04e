/**
 * How far a run is, kept in the job's row: each step when it begins, and in between at most one write a second. It is for
 * people and for the outbox, which leaves alone what goes on: a write that fails, or takes long, never fails the job.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { JobProgress, type StepName } from "./JobRow.js"
import { JobStore } from "./JobStore.js"

const every = Duration.seconds(1)

/** a step does not wait longer for the database to know of it */
const patience = Duration.seconds(2)

/**
 * @since 0.1.0
 * @category models
 */
export interface Tracker {
  /** a step begins */
  readonly begin: (step: StepName) => Effect.Effect<void>
  /** how far the present step is */
  readonly tell: (done: number, of: number) => Effect.Effect<void>
}

/**
 * A tracker of one run, writing until the scope closes. While it does, the next message of the job stays `putOffMs` away.
 *
 * @since 0.1.0
 * @category constructors
 */
export const track = (id: string, putOffMs: number): Effect.Effect<Tracker, never, JobStore | Scope.Scope> =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    let latest: JobProgress | undefined
    let written: JobProgress | undefined
    let writtenAt = yield* Clock.currentTimeMillis

    const write = (progress: JobProgress, isNew: boolean) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        yield* jobs.progress(id, progress, { isNew, nextAt: now + putOffMs })
        written = progress
        writtenAt = now
      }).pipe(
        Effect.timeout(patience),
        Effect.catchAllCause((cause) => Effect.logDebug(`${id}: its progress could not be written`, cause))
      )

    const look = Effect.gen(function* () {
      yield* Effect.sleep(every)
      const now = yield* Clock.currentTimeMillis
      // also when nothing is new: a long step without progress must not be taken for a lost one
      const due = latest !== written || now - writtenAt >= putOffMs / 3
      if (latest !== undefined && due) yield* write(latest, false)
    })
    yield* Effect.forkScoped(Effect.forever(look))

    return {
      begin: (step) =>
        Effect.suspend(() => {
          latest = new JobProgress({ step })
          return write(latest, true)
        }),
      tell: (done, of) =>
        Effect.sync(() => {
          if (latest !== undefined) latest = new JobProgress({ step: latest.step, done, of })
        })
    }
  })
