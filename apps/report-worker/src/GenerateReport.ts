/**
 * From a job to its artifact: the handler of the worker, without SQS.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { randomUUID } from "node:crypto"
import { rm } from "node:fs/promises"
import path from "node:path"
import type { Progress } from "./render/RenderProtocol.js"
import { RenderPool } from "./render/RenderPool.js"
import { type RenderError, type RenderThreadLost, SourceUnavailable } from "./ReportError.js"
import type { ReportJob } from "./ReportJob.js"
import { ArtifactStore, artifactName } from "./store/ArtifactStore.js"

/**
 * A finished report. `drawn` is false when an earlier run had finished it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Artifact {
  readonly path: string
  readonly drawn: boolean
}

/** Plays the outage that a job asks for. */
const drill = (job: ReportJob, receiveCount: number): Effect.Effect<void, SourceUnavailable> => {
  const outage = job.drill?.unavailableReceives ?? 0
  return receiveCount <= outage
    ? Effect.fail(
        new SourceUnavailable({ source: "the flight data", detail: `drill, receive ${receiveCount} of ${outage}` })
      )
    : Effect.void
}

/**
 * Draws the job's report and keeps it, or finds that it is kept already: running twice does no harm.
 *
 * @since 0.1.0
 * @category handlers
 */
export const generateReport = (
  job: ReportJob,
  receiveCount: number,
  onProgress: (progress: Progress) => Effect.Effect<void> = () => Effect.void
): Effect.Effect<Artifact, RenderError | RenderThreadLost, ArtifactStore | RenderPool> =>
  Effect.gen(function* () {
    yield* drill(job, receiveCount)
    const store = yield* ArtifactStore
    const pool = yield* RenderPool
    const name = artifactName(job)
    const kept = yield* store.find(name)
    if (Option.isSome(kept)) return { path: kept.value.location, drawn: false }
    return yield* Effect.acquireUseRelease(
      Effect.sync(() => path.join(store.workFolder, `${name}.${randomUUID()}.part`)),
      (file) =>
        Effect.gen(function* () {
          const { sha256 } = yield* pool.render(job, file, onProgress)
          return { path: (yield* store.put(name, file, sha256)).location, drawn: true }
        }),
      (file) => Effect.promise(() => rm(file, { force: true }))
    )
  })
