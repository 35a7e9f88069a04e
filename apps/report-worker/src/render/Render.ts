/**
 * The work of a render thread: what a job's report says, and its drawing. The thread is given back after each piece: then an
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
import { describe } from "../report/Describe.js"
import { paint } from "../report/Paint.js"
import type { Report } from "../report/Report.js"
import type { Step, Steps } from "../report/Step.js"
import { type RenderError, SourceUnavailable, StoreFailed } from "../ReportError.js"
import type { ReportJob } from "../ReportJob.js"
import { Extract, Progress, Rendered } from "./RenderProtocol.js"

const progressEveryMs = 200

/** What the operating system said, without the wrapping. */
const said = (error: PlatformError) => (error.cause instanceof Error ? error.cause.message : error.message)

const storeFailed = (path: string) => (error: PlatformError) => new StoreFailed({ path, detail: said(error) })

/** A new file that is gone again unless all went well. */
const newFile = (path: string): Effect.Effect<FileSystem.File, StoreFailed, FileSystem.FileSystem | Scope.Scope> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    yield* Effect.addFinalizer((exit) => (Exit.isSuccess(exit) ? Effect.void : Effect.ignore(fs.remove(path))))
    return yield* Effect.mapError(fs.open(path, { flag: "wx", mode: 0o640 }), storeFailed(path))
  })

/**
 * Works out what the job's report says, into a new file at `path`; it is on disk when this succeeds, and removed when it
 * does not.
 *
 * @since 0.1.0
 * @category rendering
 */
export const query = (job: ReportJob, path: string): Effect.Effect<Extract, RenderError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const report = yield* describe(job)
    const bytes = Buffer.from(JSON.stringify(report))
    const file = yield* newFile(path)
    yield* Effect.mapError(Effect.zipRight(file.writeAll(bytes), file.sync), storeFailed(path))
    return new Extract({
      rows: report.tables[report.tables.length - 1]!.rows.length,
      bytes: bytes.length,
      sha256: createHash("sha256").update(bytes).digest("hex")
    })
  }).pipe(Effect.scoped)

/** What a query has left. */
const extracted = (path: string): Effect.Effect<Report, SourceUnavailable, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const failed = (detail: string) => new SourceUnavailable({ source: `the extract ${path}`, detail })
    const text = yield* Effect.mapError(fs.readFileString(path), (e) => failed(said(e)))
    return yield* Effect.try({ try: () => JSON.parse(text) as Report, catch: (e) => failed(String(e)) })
  })

/** The steps one by one; who stops before the last gives the painter the chance to clean up. */
const iterator = (steps: Steps) =>
  Effect.acquireRelease(
    Effect.sync((): Iterator<Step> | AsyncIterator<Step> =>
      Symbol.asyncIterator in steps ? steps[Symbol.asyncIterator]() : steps[Symbol.iterator]()
    ),
    (open) => Effect.promise(async () => open.return?.())
  )

/**
 * Draws what the extract says into a new file at `path`; the bytes are on disk when it succeeds, and the file is removed when
 * it does not.
 *
 * @since 0.1.0
 * @category rendering
 */
export const render = (
  job: ReportJob,
  extractFile: string,
  path: string,
  onProgress: (progress: Progress) => Effect.Effect<void>
): Effect.Effect<Rendered, RenderError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const report = yield* extracted(extractFile)
    const file = yield* newFile(path)
    const steps = yield* iterator(paint(report, job.format))
    const hash = createHash("sha256")
    const startedAt = yield* Clock.currentTimeMillis
    let toldAt = startedAt
    let written = 0
    let pages = 0
    for (;;) {
      const stepping = steps.next()
      // only the painter of workbooks answers later
      const next = stepping instanceof Promise ? yield* Effect.promise(() => stepping) : stepping
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
    return new Rendered({
      ...(job.format === "pdf" ? { pages } : {}),
      bytes: written,
      sha256: hash.digest("hex")
    })
  }).pipe(Effect.scoped)
