/**
 * The files of data beside the program. `data/DATA.md` tells what they are and where they come from.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { SourceUnavailable } from "../ReportError.js"

/** Both `src/data` and `dist/data` lie two steps below the app's folder. */
const file = (name: string) => new URL(`../../data/${name}`, import.meta.url)

/**
 * The lines of a file below its head; one whose name ends in `.gz` is unpacked.
 *
 * @since 0.1.0
 * @category readers
 */
export const linesOf = (name: string): ReadonlyArray<string> => {
  const bytes = readFileSync(file(name))
  const text = (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8")
  return text.trimEnd().split("\n").slice(1)
}

/**
 * What is read once per thread; the first use reads it (some 40 ms).
 *
 * @since 0.1.0
 * @category constructors
 */
export const once = <A>(source: string, read: () => A): Effect.Effect<A, SourceUnavailable> => {
  let loaded: { readonly value: A } | undefined
  return Effect.try({
    try: () => (loaded ??= { value: read() }).value,
    catch: (cause) => new SourceUnavailable({ source, detail: String(cause) })
  })
}
