/** Time that has passed in this process, on the safe side: the clock that has run further counts. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** the time that is written down: whole milliseconds, whatever a clock gives */
export const epochMs: Effect.Effect<number> = Effect.map(Clock.currentTimeMillis, Math.floor)

/** Milliseconds can be set, nanoseconds stand still while the machine is suspended. */
export interface Instant {
  readonly ms: number
  readonly ns: bigint
}

/** `TestClock` dies of its nanoseconds when its time is a fraction of a millisecond, as after a sleep with jitter */
const nanos = Effect.catchAllDefect(Clock.currentTimeNanos, () => Effect.map(epochMs, (ms) => BigInt(ms) * 1_000_000n))

export const now: Effect.Effect<Instant> = Effect.zipWith(Clock.currentTimeMillis, nanos, (ms, ns) => ({ ms, ns }))

export const elapsedMs = (since: Instant): Effect.Effect<number> =>
  Effect.map(now, (at) => Math.max(at.ms - since.ms, Number(at.ns - since.ns) / 1e6))
