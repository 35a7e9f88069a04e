/**
 * Durations as they are typed, and as they are shown.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

const unitOf = (word: string): string =>
  /^(ms|millis|milliseconds?)$/.test(word)
    ? "ms"
    : /^(s|secs?|seconds?)$/.test(word)
      ? "s"
      : /^(m|mins?|minutes?)$/.test(word)
        ? "m"
        : /^(h|hours?)$/.test(word)
          ? "h"
          : /^(d|days?)$/.test(word)
            ? "d"
            : /^(w|weeks?)$/.test(word)
              ? "w"
              : ""

/**
 * A duration as people type it: `90`, `90s`, `2m`, `1m 30s`, `1.5h`, `500ms`, `2 minutes`; seconds where no unit is given.
 * `undefined` for what is none.
 *
 * @since 0.1.0
 * @category parsing
 * @example
 * import { Durations } from "@effect-sqs/cli"
 *
 * Durations.parseDuration("1m 30s") // Duration.seconds(90)
 */
export const parseDuration = (text: string): Duration.Duration | undefined => {
  const parts = [
    ...text
      .trim()
      .toLowerCase()
      .matchAll(/(\d+(?:\.\d+)?)\s*([a-z]*)\s*/g)
  ]
  if (parts.length === 0 || parts.map(([all]) => all).join("") !== text.trim().toLowerCase()) return undefined
  let ms = 0
  for (const [, number, word] of parts) {
    const unit = word === "" && parts.length === 1 ? "s" : unitOf(word!)
    if (unit === "") return undefined
    ms += Number(number) * unitMs[unit]!
  }
  return Duration.millis(ms)
}

/**
 * `1m 30s`; one decimal below ten seconds, ms below one.
 *
 * @since 0.1.0
 * @category rendering
 */
export const show = (input: Duration.DurationInput): string => {
  const ms = Duration.toMillis(input)
  if (ms === 0) return "0s"
  if (ms < 1000) return `${Math.round(ms)}ms`
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(ms < 10_000 ? 1 : ms % 1000 === 0 ? 0 : 1))}s`
  const seconds = Math.round(ms / 1000)
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor((seconds % 86_400) / 3600), "h"],
    [Math.floor((seconds % 3600) / 60), "m"],
    [seconds % 60, "s"]
  ] as const
  // beyond two units nobody reads on
  const first = parts.findIndex(([n]) => n > 0)
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n}${unit}`)
    .join(" ")
}
