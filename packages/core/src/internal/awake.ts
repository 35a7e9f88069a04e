import type { LeaseSettings } from "../Lease.js"
import type { Forker } from "./fork.js"
import type { LeaseClock } from "./time.js"

/**
 * A sleep between two ticks is not seen: a lease may look so much younger than it is. That must be a part of what its
 * first beat has to spare; and a tick must not cost much.
 */
const tickMsOf = ({ extendByMs, heartbeatMs, visibilityMs }: LeaseSettings) => {
  const spareMs = heartbeatMs === undefined ? visibilityMs / 4 : Math.min(visibilityMs, extendByMs) - heartbeatMs
  return Math.min(LONGEST_TICK_MS, Math.max(SHORTEST_TICK_MS, spareMs / 3))
}

const SHORTEST_TICK_MS = 250
const LONGEST_TICK_MS = 10_000
/** A tick that is later than that came out of a sleep; the event loop of a busy process is late too, but not so much. */
const LATE_MS = 250

/**
 * Whether this process was awake lately. An answer that is seen when the process wakes from a sleep (blocked event loop,
 * suspended machine) may have come at any time of it; the last tick before tells from when on.
 */
export class Awake {
  private readonly tickMs: number
  private last = 0
  /** the last tick that was not late: what had come until then has been seen */
  private sure = 0
  private cancel: (() => void) | undefined

  constructor(
    private readonly forker: Pick<Forker<never>, "after">,
    private readonly clock: LeaseClock,
    settings: LeaseSettings
  ) {
    this.tickMs = tickMsOf(settings)
  }

  start(): void {
    this.last = this.sure = this.clock.now()
    this.arm()
  }

  stop(): void {
    this.cancel?.()
  }

  private arm(): void {
    this.cancel = this.forker.after(this.tickMs, () => {
      const now = this.clock.now()
      if (!this.isLate(now)) this.sure = now
      this.last = now
      this.arm()
    })
  }

  private isLate(now: number): boolean {
    return now - this.last > this.tickMs + LATE_MS
  }

  /** What is seen now had not come before: now, or when the process was last awake for sure. */
  get notBefore(): number {
    const now = this.clock.now()
    return this.sure === this.last && !this.isLate(now) ? now : this.sure
  }
}
