import type * as Clock from "effect/Clock"

/**
 * The clock of leases, in ms. Two clocks can be wrong in two ways: the milliseconds jump when the machine's time is
 * set, the nanoseconds stand still while a machine is suspended. A lease must never look younger than it is, so this
 * one is ahead with whichever of the two ran more, and never goes back.
 */
export interface LeaseClock {
  readonly now: () => number
  /** the wall clock, epoch ms, for what people and SQS read */
  readonly epoch: () => number
}

export const make = (clock: Clock.Clock): LeaseClock => {
  const startMs = clock.unsafeCurrentTimeMillis()
  const startNanos = clock.unsafeCurrentTimeNanos()
  let lastMs = startMs
  let setBackMs = 0
  return {
    now: () => {
      const ms = clock.unsafeCurrentTimeMillis()
      if (ms < lastMs) setBackMs += lastMs - ms
      lastMs = ms
      const byNanos = startMs + Number(clock.unsafeCurrentTimeNanos() - startNanos) / 1_000_000
      return Math.max(ms + setBackMs, byNanos)
    },
    epoch: () => clock.unsafeCurrentTimeMillis()
  }
}
