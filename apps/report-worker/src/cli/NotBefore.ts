/**
 * "Not before" as people type it: a time, or how long from now.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"

const unitsMs: ReadonlyArray<readonly [RegExp, number]> = [
  [/^(s|secs?|seconds?)$/, 1000],
  [/^(m|mins?|minutes?)$/, 60_000],
  [/^(h|hours?)$/, 3_600_000],
  [/^(d|days?)$/, 86_400_000],
  [/^(w|weeks?)$/, 7 * 86_400_000]
]

/** further away it is more likely a slip */
const longestMs = 366 * 86_400_000

const expected = `expected a time such as 2026-12-24T08:00Z, or a duration such as "in 20 minutes", 20m, 2h or 3 days`

/** `undefined`: not of this form */
const durationMs = (text: string): number | undefined => {
  const [, number, word] = /^(?:in\s+)?(\d+(?:\.\d+)?)\s*([a-z]+)$/.exec(text.toLowerCase()) ?? []
  const unit = unitsMs.find(([words]) => words.test(word ?? ""))
  return unit === undefined ? undefined : Number(number) * unit[1]
}

/** a day alone is its first moment, and a time without a zone is of this machine's zone: both by ISO 8601, as Date reads it */
const instantMs = (text: string): number | undefined => {
  const iso = /^\d{4}-(\d{2})-(\d{2})([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?$/i.exec(text)
  if (iso === null) return undefined
  const at = Date.parse(text.length === 10 ? `${text}T00:00` : text)
  // 30 February is read as 2 March
  const daysInMonth = new Date(Date.UTC(Number(text.slice(0, 4)), Number(iso[1]), 0)).getUTCDate()
  return Number.isNaN(at) || Number(iso[2]) > daysInMonth ? undefined : at
}

/**
 * Epoch ms; or what is wrong with it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const parse = (typed: string, now: number): Either.Either<number, string> => {
  const text = typed.trim()
  const ms = durationMs(text)
  const at = ms === undefined ? instantMs(text) : now + ms
  if (at === undefined) return Either.left(expected)
  if (at > now + longestMs) return Either.left("that is more than a year away")
  if (at < now) return Either.left("that is past: leave it out for a job that is to run at once")
  return Either.right(Math.round(at))
}
