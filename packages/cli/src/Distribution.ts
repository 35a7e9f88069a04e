/**
 * How long jobs run, as something to draw from.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import { parseDuration, show } from "./Durations.js"
import type { RunTimes } from "./RunTimes.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Distribution {
  /** in words */
  readonly label: string
  readonly meanMs: number
  /** one run time in ms, from numbers of 0 to 1 */
  readonly draw: (random: () => number) => number
}

/**
 * Every job takes the same.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fixed = (run: Duration.DurationInput): Distribution => {
  const ms = Duration.toMillis(run)
  return { label: show(ms), meanMs: ms, draw: () => ms }
}

/**
 * Any time of a range, all alike.
 *
 * @since 0.1.0
 * @category constructors
 */
export const uniform = (from: Duration.DurationInput, to: Duration.DurationInput): Distribution => {
  const [a, b] = [Duration.toMillis(from), Duration.toMillis(to)]
  return {
    label: `${show(a)} to ${show(b)}`,
    meanMs: (a + b) / 2,
    draw: (random) => Math.round(a + random() * (b - a))
  }
}

/** Of the normal distribution: 99 % lie below. */
const Z99 = 2.326348
/** Nothing runs longer than SQS can hold it. */
const MAX_MS = 43_200_000

/**
 * Most are short, some are long: by its median and its 99th percentile. Cut at 12 hours.
 *
 * @since 0.1.0
 * @category constructors
 */
export const lognormal = (p50: Duration.DurationInput, p99: Duration.DurationInput): Distribution => {
  const [median, high] = [Duration.toMillis(p50), Duration.toMillis(p99)]
  const mu = Math.log(median)
  const sigma = (Math.log(high) - mu) / Z99
  return {
    label: `lognormal, p50 ${show(median)}, p99 ${show(high)}`,
    meanMs: Math.exp(mu + sigma ** 2 / 2),
    draw: (random) => {
      const z = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
      return Math.min(MAX_MS, Math.max(1, Math.round(Math.exp(mu + sigma * z))))
    }
  }
}

/**
 * As they were measured: each drawn anew.
 *
 * @since 0.1.0
 * @category constructors
 */
export const measured = (runs: RunTimes): Distribution => {
  const { seconds, source } = runs
  return {
    label: `as in ${source}`,
    meanMs: (seconds.reduce((sum, s) => sum + s, 0) / seconds.length) * 1000,
    draw: (random) => Math.max(1, Math.round(seconds[Math.floor(random() * seconds.length)]! * 1000))
  }
}

/**
 * From a text: `45s`, `20s..60s`, or `lognormal:30s,5m`. `undefined` for what is none of them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromText = (text: string): Distribution | undefined => {
  const pair = (separator: string, rest: string) => {
    const [first, second, ...more] = rest.split(separator).map(parseDuration)
    if (first === undefined || second === undefined || more.length > 0) return undefined
    return Duration.lessThanOrEqualTo(first, second) && Duration.toMillis(first) > 0
      ? ([first, second] as const)
      : undefined
  }
  if (text.startsWith("lognormal:")) {
    const found = pair(",", text.slice("lognormal:".length))
    return found === undefined ? undefined : lognormal(...found)
  }
  if (text.includes("..")) {
    const found = pair("..", text)
    return found === undefined ? undefined : uniform(...found)
  }
  const one = parseDuration(text)
  return one === undefined || Duration.toMillis(one) < 1 ? undefined : fixed(one)
}
