/**
 * Draws a job's report into a file. It runs in a render thread, and gives the thread back after each page: then an
 * interruption is seen and other reports of the same thread go on.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import * as FlightData from "../data/FlightData.js"
import * as FlightDelays from "../data/FlightDelays.js"
import { flightDelaysPdf, type Step } from "../pdf/PdfReport.js"
import { type RenderError, SourceUnavailable, StoreFailed } from "../ReportError.js"
import type { ReportJob } from "../ReportJob.js"
import { textOf } from "../ReportText.js"
import { Progress, Rendered } from "./RenderProtocol.js"

const progressEveryMs = 200

/** What the operating system said, without the wrapping. */
const storeFailed = (path: string) => (error: PlatformError) =>
  new StoreFailed({ path, detail: error.cause instanceof Error ? error.cause.message : error.message })

/** The steps of the job's report; each report joins here. */
const stepsOf = (job: ReportJob): Effect.Effect<Generator<Step>, RenderError> =>
  Effect.gen(function* () {
    if (job.report !== "flight-delays" || job.format !== "pdf") {
      return yield* new SourceUnavailable({ source: job.report, detail: `it cannot be drawn as ${job.format} yet` })
    }
    const data = yield* FlightData.load
    return flightDelaysPdf(yield* FlightDelays.make(job, data), textOf(job.locale))
  })

/** A new file that is gone again unless all went well. */
const newFile = (path: string): Effect.Effect<FileSystem.File, StoreFailed, FileSystem.FileSystem | Scope.Scope> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    yield* Effect.addFinalizer((exit) => (Exit.isSuccess(exit) ? Effect.void : Effect.ignore(fs.remove(path))))
    return yield* Effect.mapError(fs.open(path, { flag: "wx", mode: 0o640 }), storeFailed(path))
  })

/**
 * Draws into a new file at `path`; the bytes are on disk when it succeeds, and the file is removed when it does not.
 *
 * @since 0.1.0
 * @category rendering
 */
export const render = (
  job: ReportJob,
  path: string,
  onProgress: (progress: Progress) => Effect.Effect<void>
): Effect.Effect<Rendered, RenderError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const steps = yield* stepsOf(job)
    const file = yield* newFile(path)
    const hash = createHash("sha256")
    const startedAt = yield* Clock.currentTimeMillis
    let toldAt = startedAt
    let written = 0
    let pages = 0
    for (;;) {
      const next = yield* Effect.sync(() => steps.next())
      if (next.done === true) break
      const bytes = Buffer.concat(next.value.bytes)
      hash.update(bytes)
      written += bytes.length
      pages = next.value.pages
      // Writing leaves the thread to others; with nothing to write it has to be given up all the same.
      yield* bytes.length > 0 ? Effect.mapError(file.writeAll(bytes), storeFailed(path)) : Effect.sleep(0)
      const now = yield* Clock.currentTimeMillis
      if (now - toldAt >= progressEveryMs || pages === next.value.of) {
        toldAt = now
        yield* onProgress(new Progress({ pages, of: next.value.of }))
      }
      if (job.pagesPerSecond !== undefined) {
        yield* Effect.sleep(Math.max(0, startedAt + (pages * 1000) / job.pagesPerSecond - now))
      }
    }
    yield* Effect.mapError(file.sync, storeFailed(path))
    return new Rendered({ pages, bytes: written, sha256: hash.digest("hex") })
  }).pipe(Effect.scoped)
