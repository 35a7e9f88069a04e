interface Alarm {
  readonly at: number
  readonly f: () => void
  /** where it lies in the heap; -1: it is no longer there */
  index: number
}

interface Sleep {
  readonly until: number
  readonly cancel: () => void
}

/**
 * Many timers on few sleeping fibers. Most timers of a consumer are time limits that are cancelled long before they are
 * reached: they share the sleep until the earliest, and cost no fiber. When a sleep is over the next one follows, if
 * anything is left to wait for; while nothing is, there is none.
 */
export class Alarms {
  /** a binary heap, the earliest first */
  private readonly heap: Array<Alarm> = []
  /** the earliest last */
  private sleeps: Array<Sleep> = []

  constructor(
    /** ms that only ever flow */
    private readonly now: () => number,
    /** the answer cancels */
    private readonly sleep: (ms: number, then: () => void) => () => void
  ) {}

  /** `f` after `ms`, rounded up to whole ones, or whoever looks at the time could be too early. The answer cancels. */
  after(ms: number, f: () => void): () => void {
    const alarm: Alarm = { at: this.now() + Math.max(0, Math.ceil(ms)), f, index: this.heap.length }
    this.heap.push(alarm)
    this.up(alarm)
    this.sleepUntil(alarm.at)
    return () => this.cancel(alarm)
  }

  private cancel(alarm: Alarm): void {
    if (alarm.index < 0) return
    this.remove(alarm)
    if (this.heap.length > 0) return
    for (const { cancel } of this.sleeps) cancel()
    this.sleeps = []
  }

  /** A sleep that ends before is there, or is made. */
  private sleepUntil(at: number): void {
    const next = this.sleeps[this.sleeps.length - 1]
    if (next !== undefined && next.until <= at) return
    const sleep: Sleep = { until: at, cancel: this.sleep(Math.ceil(at - this.now()), () => this.over(sleep)) }
    this.sleeps.push(sleep)
  }

  private over(sleep: Sleep): void {
    this.sleeps.splice(this.sleeps.indexOf(sleep), 1)
    try {
      for (let first = this.heap[0]; first !== undefined && first.at <= sleep.until; first = this.heap[0]) {
        this.remove(first)
        first.f()
      }
    } finally {
      // one that throws must not stop the others
      if (this.heap.length > 0) this.sleepUntil(this.heap[0]!.at)
    }
  }

  private remove(alarm: Alarm): void {
    const at = alarm.index
    alarm.index = -1
    const last = this.heap.pop()!
    if (last === alarm) return
    this.put(last, at)
    this.up(last)
    this.down(last)
  }

  private put(alarm: Alarm, index: number): void {
    this.heap[index] = alarm
    alarm.index = index
  }

  private up(alarm: Alarm): void {
    while (alarm.index > 0) {
      const parent = this.heap[(alarm.index - 1) >> 1]!
      if (parent.at <= alarm.at) return
      const { index } = parent
      this.put(parent, alarm.index)
      this.put(alarm, index)
    }
  }

  private down(alarm: Alarm): void {
    for (;;) {
      const left = this.heap[2 * alarm.index + 1]
      const right = this.heap[2 * alarm.index + 2]
      const child = right !== undefined && right.at < left!.at ? right : left
      if (child === undefined || child.at >= alarm.at) return
      const { index } = child
      this.put(child, alarm.index)
      this.put(alarm, index)
    }
  }
}
