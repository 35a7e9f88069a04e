import type * as Clock from "effect/Clock"

/**
 * The clock of leases, in ms. Two clocks can be wrong in two ways: the milliseconds jump when the machine's time is
 * set, the nanoseconds stand still while a machine is suspended. A lease must never look younger than it is, so this
 * one goes with whichever of the two ran more, and never back.
 */
export interface LeaseClock {
  readonly now: () => number
  /** the wall clock, epoch ms, for what people and SQS read */
  readonly epoch: () => number
}

/** They tick apart by less, as they are read one after the other, and one of them in whole ms. */
const APART_MS = 20

export const make = (clock: Clock.Clock): LeaseClock => {
  const millis = () => clock.unsafeCurrentTimeMillis()
  const nanos = () => clock.unsafeCurrentTimeNanos()
  let sinceMillis = millis()
  let sinceNanos = nanos()
  let since = sinceMillis
  let latest = since
  return {
    now: () => {
      const ms = millis()
      const ns = nanos()
      const byMillis = ms - sinceMillis
      const byNanos = Number(ns - sinceNanos) / 1_000_000
      latest = Math.max(latest, since + Math.max(byMillis, byNanos))
      if (Math.abs(byMillis - byNanos) > APART_MS) {
        // one of them went wrong: from here on they are compared anew, or the next fault could hide behind this one
        sinceMillis = ms
        sinceNanos = ns
        since = latest
      }
      return latest
    },
    epoch: millis
  }
}
