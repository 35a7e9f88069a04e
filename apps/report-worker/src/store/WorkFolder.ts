/**
 * A local folder for unfinished work: made when it is not there, and rid of what killed workers left.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import path from "node:path"
import type { StoreFailed } from "../ReportError.js"
import { storeFailed } from "./LocalFile.js"

/** A live worker's file is never that old. */
const keepUnfinished = Duration.days(1)

const sweep = (fs: FileSystem.FileSystem, folder: string) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const sweepOne = (file: string) =>
      Effect.gen(function* () {
        const { mtime, type } = yield* fs.stat(file)
        const old = Option.exists(mtime, (date) => now - date.getTime() > Duration.toMillis(keepUnfinished))
        if (old && type === "File") yield* fs.remove(file)
      })
    // One that another worker sweeps at the same time is gone: no reason to leave the others.
    yield* Effect.forEach(yield* fs.readDirectory(folder), (name) => Effect.ignore(sweepOne(path.join(folder, name))))
  })

/**
 * Opens a work folder. It fails when nothing can be written to it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const open = (folder: string): Effect.Effect<string, StoreFailed, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const absolute = path.resolve(folder)
    yield* fs
      .makeDirectory(absolute, { recursive: true })
      .pipe(Effect.andThen(fs.access(absolute, { writable: true })), Effect.mapError(storeFailed(absolute)))
    yield* Effect.ignore(sweep(fs, absolute))
    return absolute
  })
