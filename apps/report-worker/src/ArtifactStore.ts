/**
 * Where finished reports are kept: a folder. A name in it is a whole, durable file or nothing; a file once there is never
 * written again.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { createHash, randomUUID } from "node:crypto"
import path from "node:path"
import { StoreFailed } from "./ReportError.js"
import { ReportJob } from "./ReportJob.js"
import { dataVersion, layoutVersion } from "./Versions.js"

const unfinished = ".part"
const keepUnfinished = Duration.days(1)

const encode = Schema.encodeSync(ReportJob)

/**
 * The name of a job's report: the job's own, and a key of all that decides the content, so that the same name never
 * means two contents. What only decides how fast it is drawn is not in the key.
 *
 * @since 0.1.0
 * @category naming
 */
export const artifactName = (job: ReportJob): string => {
  const { drill: _drill, jobId, pagesPerSecond: _pace, ...content } = encode(job)
  const sorted = Object.entries(content).sort(([a], [b]) => (a < b ? -1 : 1))
  const key = createHash("sha256")
    .update(JSON.stringify([sorted, dataVersion, layoutVersion]))
    .digest("hex")
  return `${jobId}-${key.slice(0, 12)}.${job.format}`
}

const failed = (file: string) => (error: PlatformError) =>
  new StoreFailed({ path: file, detail: error.cause instanceof Error ? error.cause.message : error.message })

/**
 * @since 0.1.0
 * @category services
 */
export class ArtifactStore extends Context.Tag("@effect-sqs/report-worker/ArtifactStore")<
  ArtifactStore,
  {
    /** the path of a finished artifact */
    readonly find: (name: string) => Effect.Effect<Option.Option<string>, StoreFailed>
    /**
     * Keeps what `write` writes to the path it is given, which must be on disk when it succeeds. Nothing remains of a
     * write that fails or is interrupted. Answers the path; an artifact that is there already stays as it is.
     */
    readonly put: <E, R>(
      name: string,
      write: (path: string) => Effect.Effect<unknown, E, R>
    ) => Effect.Effect<string, E | StoreFailed, R>
  }
>() {
  /**
   * A folder, made when it is not there. It fails when nothing can be written to it.
   *
   * @category layers
   */
  static readonly layerFolder = (folder: string): Layer.Layer<ArtifactStore, StoreFailed, FileSystem.FileSystem> =>
    Layer.effect(ArtifactStore, make(path.resolve(folder)))
}

const make = (folder: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem

    /** What killed workers left; a live one's file is never a day old. */
    const sweep = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const names = (yield* fs.readDirectory(folder)).filter((name) => name.endsWith(unfinished))
      for (const name of names) {
        const file = path.join(folder, name)
        const modified = Option.map((yield* fs.stat(file)).mtime, (date) => date.getTime())
        const old = Option.exists(modified, (at) => now - at > Duration.toMillis(keepUnfinished))
        if (old) yield* fs.remove(file)
      }
    })

    /** A link is there after a power cut only when its folder is on disk too. */
    const syncFolder = Effect.scoped(Effect.flatMap(fs.open(folder, { flag: "r" }), (directory) => directory.sync))

    const keep = (from: string, to: string) =>
      fs.link(from, to).pipe(
        // A link never overwrites, as a rename would.
        Effect.catchIf(
          (e) => e._tag === "SystemError" && e.reason === "AlreadyExists",
          () => Effect.void
        ),
        Effect.andThen(syncFolder),
        Effect.mapError(failed(to))
      )

    yield* fs
      .makeDirectory(folder, { recursive: true })
      .pipe(Effect.andThen(fs.access(folder, { writable: true })), Effect.mapError(failed(folder)))
    yield* Effect.ignore(sweep)

    return ArtifactStore.of({
      find: (name) => {
        const file = path.join(folder, name)
        return Effect.mapBoth(fs.exists(file), {
          onFailure: failed(file),
          onSuccess: (there) => (there ? Option.some(file) : Option.none())
        })
      },
      put: (name, write) => {
        const to = path.join(folder, name)
        return Effect.acquireUseRelease(
          Effect.sync(() => path.join(folder, `.${name}.${randomUUID()}${unfinished}`)),
          (from) => write(from).pipe(Effect.andThen(Effect.uninterruptible(keep(from, to))), Effect.as(to)),
          (from) => Effect.ignore(fs.remove(from))
        )
      }
    })
  })
