/** Files that a person names: what goes wrong is a sentence. */
import * as Effect from "effect/Effect"
import { readFile, writeFile } from "node:fs/promises"
import { badInput, type CliError } from "../CliError.js"

const reasons: Record<string, string> = {
  ENOENT: "it, or its directory, does not exist",
  EACCES: "permission denied",
  EISDIR: "it is a directory",
  ENOSPC: "the disk is full",
  EROFS: "the file system is read-only"
}

const reason = (cause: unknown) => {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : ""
  return reasons[code] ?? (cause instanceof Error ? cause.message : String(cause))
}

export const read = (path: string): Effect.Effect<string, CliError> =>
  Effect.tryPromise({
    try: (signal) => readFile(path, { encoding: "utf8", signal }),
    catch: (cause) => badInput(`${path} cannot be read: ${reason(cause)}.`)
  })

export const write = (path: string, text: string): Effect.Effect<void, CliError> =>
  Effect.tryPromise({
    try: (signal) => writeFile(path, text, { signal }),
    catch: (cause) => badInput(`${path} cannot be written: ${reason(cause)}.`)
  })
