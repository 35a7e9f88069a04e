/** Files that a person names: what goes wrong is a sentence. */
import * as Effect from "effect/Effect"
import { createReadStream } from "node:fs"
import type { Readable } from "node:stream"
import { badInput, type CliError } from "./CliError.js"

const reasons: Record<string, string> = {
  ENOENT: "it does not exist",
  EACCES: "permission denied",
  EISDIR: "it is a directory"
}

const maxBytes = 64 * 1024 * 1024

const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const code = "code" in cause ? String(cause.code) : ""
  return reasons[code] ?? (code === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "it is no text in UTF-8" : cause.message)
}

/** All of a file, or of stdin for `-`. */
export const read = (path: string): Effect.Effect<string, CliError> =>
  Effect.tryPromise({
    try: async (signal) => {
      const stream: Readable = path === "-" ? process.stdin : createReadStream(path)
      signal.addEventListener("abort", () => stream.destroy())
      const chunks: Array<Uint8Array> = []
      let bytes = 0
      for await (const chunk of stream as AsyncIterable<Uint8Array>) {
        bytes += chunk.length
        if (bytes > maxBytes) throw new Error(`it is larger than ${maxBytes / 1024 / 1024} MB: split it`)
        chunks.push(chunk)
      }
      return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks))
    },
    catch: (cause) => badInput(`${path === "-" ? "stdin" : path} cannot be read: ${reasonOf(cause)}.`)
  })
