/** Steps and labels of a time axis. */

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 7, 14].map((n) => n * DAY)
]

/** The smallest round step, in ms, that cuts a span into at most so many parts. */
export const niceStep = (spanMs: number, parts: number): number =>
  STEPS.find((step) => spanMs / step <= parts) ?? Math.ceil(spanMs / parts / DAY) * DAY

/** A multiple of a round step in the step's own unit, as `0`, `250 ms`, `90 s`, `2 h`. */
export const showStep = (ms: number, step: number): string => {
  if (ms === 0) return "0"
  const [unit, word] = UNITS.find(([size]) => step >= size && step % size === 0) ?? [1, "ms"]
  return `${ms / unit} ${word}`
}

const UNITS = [
  [DAY, "d"],
  [HOUR, "h"],
  [MINUTE, "min"],
  [SECOND, "s"]
] as const
