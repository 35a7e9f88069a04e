import type { Forker } from "./fork.js"
import type { LeaseClock } from "./time.js"

/** A delivery whose lease needs nothing yet. */
export interface Watched {
  readonly watchAt: number
  readonly startHeartbeat: () => void
  readonly watchedBy: (unwatch: () => void) => void
}

interface Entry {
  readonly at: number
  readonly members: Set<Watched>
  next: Entry | undefined
  previous: Entry | undefined
}

/**
 * Wakes the heartbeats of deliveries when their first beat is due: one timer for all. Deliveries of one receive share an
 * entry, and entries are in order of time, so a short job costs next to nothing.
 */
export class Watch {
  private first: Entry | undefined
  private last: Entry | undefined
  private timerAt = Infinity
  private cancel: (() => void) | undefined

  constructor(
    private readonly forker: Pick<Forker<never>, "after">,
    private readonly clock: LeaseClock
  ) {}

  /** of one receive: all at the same time */
  add(deliveries: ReadonlyArray<Watched>): void {
    const head = deliveries[0]
    if (head === undefined) return
    const entry: Entry = { at: head.watchAt, members: new Set(deliveries), next: undefined, previous: undefined }
    let before = this.last
    while (before !== undefined && before.at > entry.at) before = before.previous
    entry.previous = before
    entry.next = before === undefined ? this.first : before.next
    if (entry.previous === undefined) this.first = entry
    else entry.previous.next = entry
    if (entry.next === undefined) this.last = entry
    else entry.next.previous = entry
    for (const delivery of deliveries) {
      delivery.watchedBy(() => {
        entry.members.delete(delivery)
        if (entry.members.size === 0) this.remove(entry)
      })
    }
    this.arm()
  }

  private remove(entry: Entry): void {
    if (entry.previous === undefined) {
      if (this.first !== entry) return
      this.first = entry.next
    } else entry.previous.next = entry.next
    if (entry.next === undefined) this.last = entry.previous
    else entry.next.previous = entry.previous
    entry.previous = entry.next = undefined
  }

  /** A timer that is early is left to fire: re-arming it for each delivery that ends would cost more. */
  private arm(): void {
    const first = this.first
    if (first === undefined || first.at >= this.timerAt) return
    this.cancel?.()
    this.timerAt = first.at
    this.cancel = this.forker.after(first.at - this.clock.now(), () => {
      this.timerAt = Infinity
      this.cancel = undefined
      this.fire()
    })
  }

  private fire(): void {
    const now = this.clock.now()
    while (this.first !== undefined && this.first.at <= now) {
      const entry = this.first
      this.remove(entry)
      for (const delivery of entry.members) delivery.startHeartbeat()
    }
    this.arm()
  }

  close(): void {
    this.cancel?.()
  }
}
