/** When a simulation started, and what happened in it and when. */
import { SimClock } from "@effect-sqs/testing"
import { Effect } from "effect"

export const START = Date.UTC(2026, 0, 1)

/** virtual ms since the start */
export const elapsed = Effect.map(SimClock.progress, (p) => p.elapsedMs)

/** what was said, and when */
export const makeTrace = () => {
  const lines: Array<string> = []
  return { lines, say: (what: string) => Effect.map(elapsed, (ms) => void lines.push(`${ms} ${what}`)) }
}
