/**
 * Artifacts in a folder of one machine, or of a file system that several share and that has hard links.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { randomUUID } from "node:crypto"
import path from "node:path"
import { ArtifactNotFound, StoreFailed } from "../ReportError.js"
import { type Artifact, ArtifactStore, isArtifactName } from "./ArtifactStore.js"
import { checked, digest, storeFailed } from "./LocalFile.js"
import * as WorkFolder from "./WorkFolder.js"

/** No artifact's name begins with a dot. */
const workFolderName = ".work"

const isNotFound = (e: PlatformError) => e._tag === "SystemError" && e.reason === "NotFound"
const isThere = (e: PlatformError) => e._tag === "SystemError" && e.reason === "AlreadyExists"
const isOtherFileSystem = (e: PlatformError) => (e.cause as NodeJS.ErrnoException | undefined)?.code === "EXDEV"

const make = (folder: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const root = path.resolve(folder)
    const workFolder = yield* WorkFolder.open(path.join(root, workFolderName))

    const sync = (file: string) => Effect.scoped(Effect.flatMap(fs.open(file, { flag: "r" }), (opened) => opened.sync))

    /** A link, or a new folder, is there after a power cut only when the folder that names it is on disk too. */
    const syncFolders = (file: string): Effect.Effect<void, PlatformError> => {
      const parent = path.dirname(file)
      return Effect.andThen(sync(parent), parent === root ? Effect.void : syncFolders(parent))
    }

    const look = (name: string): Effect.Effect<Option.Option<Artifact>, PlatformError> => {
      const location = path.join(root, name)
      return digest(fs, location).pipe(
        Effect.map((found) => Option.some({ name, location, ...found })),
        Effect.catchIf(isNotFound, () => Effect.succeedNone)
      )
    }

    /** A link needs both on one file system; a file from elsewhere is copied first. */
    const link = (from: string, to: string) =>
      Effect.catchIf(fs.link(from, to), isOtherFileSystem, () =>
        Effect.acquireUseRelease(
          Effect.sync(() => path.join(workFolder, `${randomUUID()}.copy`)),
          (copy) => fs.copyFile(from, copy).pipe(Effect.andThen(sync(copy)), Effect.andThen(fs.link(copy, to))),
          (copy) => Effect.ignore(fs.remove(copy))
        )
      )

    const keep = (from: string, to: string) =>
      sync(from).pipe(
        Effect.andThen(fs.makeDirectory(path.dirname(to), { recursive: true })),
        // A link never overwrites, as a rename would.
        Effect.andThen(Effect.catchIf(link(from, to), isThere, () => Effect.void))
      )

    const find = (name: string) =>
      isArtifactName(name)
        ? Effect.mapError(look(name), storeFailed(path.join(root, name), "read"))
        : Effect.succeedNone

    return ArtifactStore.of({
      workFolder,
      find,
      put: (name, file, sha256) =>
        Effect.gen(function* () {
          if (!isArtifactName(name)) return yield* new StoreFailed({ path: name, detail: "no name for an artifact" })
          const to = path.join(root, name)
          const failed = Effect.mapError(storeFailed(to))
          if (Option.isNone(yield* find(name))) {
            yield* checked(fs, file, sha256, to)
            yield* failed(keep(file, to))
          }
          // Also when it was there: who linked it may have died before this.
          yield* failed(syncFolders(to))
          return yield* Effect.flatMap(
            find(name),
            Option.match({
              onNone: () => new StoreFailed({ path: to, detail: "it was removed while it was kept" }),
              onSome: (artifact) => Effect.succeed(artifact)
            })
          )
        }),
      read: (name) => {
        const notFound = () => new ArtifactNotFound({ artifact: name })
        if (!isArtifactName(name)) return Stream.fail(notFound())
        const file = path.join(root, name)
        return Stream.mapError(fs.stream(file), (e) => (isNotFound(e) ? notFound() : storeFailed(file, "read")(e)))
      }
    })
  })

/**
 * Artifacts in a folder, which is made when it is not there; unfinished work lies in its folder `.work`, so that keeping a
 * file is one link. It fails when nothing can be written.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (folder: string): Layer.Layer<ArtifactStore, StoreFailed, FileSystem.FileSystem> =>
  Layer.effect(ArtifactStore, make(folder))
