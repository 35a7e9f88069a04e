/**
 * What the stores need to know of files of this machine.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import { StoreFailed } from "../ReportError.js"

/**
 * What the operating system said, without the wrapping.
 *
 * @since 0.1.0
 * @category errors
 */
export const storeFailed =
  (file: string, doing: "written" | "read" = "written") =>
  (error: PlatformError): StoreFailed =>
    new StoreFailed({ path: file, detail: error.cause instanceof Error ? error.cause.message : error.message, doing })

/**
 * @since 0.1.0
 * @category models
 */
export interface Digest {
  readonly bytes: number
  readonly sha256: string
}

/**
 * The length and the hash of what a file holds.
 *
 * @since 0.1.0
 * @category reading
 */
export const digest = (fs: FileSystem.FileSystem, file: string): Effect.Effect<Digest, PlatformError> =>
  Effect.suspend(() => {
    const hash = createHash("sha256")
    let bytes = 0
    return Stream.runForEach(fs.stream(file), (chunk) =>
      Effect.sync(() => {
        hash.update(chunk)
        bytes += chunk.length
      })
    ).pipe(Effect.map(() => ({ bytes, sha256: hash.digest("hex") })))
  })

/**
 * Looks whether a finished file is what its maker says, before it is kept at `to`: it may have been changed or cut off.
 *
 * @since 0.1.0
 * @category reading
 */
export const checked = (
  fs: FileSystem.FileSystem,
  file: string,
  sha256: string,
  to: string
): Effect.Effect<Digest, StoreFailed> =>
  digest(fs, file).pipe(
    Effect.mapError(storeFailed(file, "read")),
    Effect.filterOrFail(
      (made) => made.sha256 === sha256,
      () =>
        new StoreFailed({ path: to, detail: `${file} is not what was drawn: it was changed or cut off, draw it again` })
    )
  )
