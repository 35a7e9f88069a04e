/** A heap of timers, the earliest first; timers of one instant by `tie`. Removing one costs as little as adding one. */

export interface Timer {
  readonly at: number
  readonly tie: number
  readonly fire: () => void
  /** whose it is; for what is told of it */
  readonly owner: unknown
  /** where it lies in the heap; -1 when it is no longer there */
  index: number
}

const before = (a: Timer, b: Timer): boolean => a.at < b.at || (a.at === b.at && a.tie < b.tie)

export class Timers {
  private readonly heap: Array<Timer> = []

  get size(): number {
    return this.heap.length
  }

  get first(): Timer | undefined {
    return this.heap[0]
  }

  /** in no order */
  get all(): ReadonlyArray<Timer> {
    return this.heap
  }

  add(at: number, tie: number, fire: () => void, owner?: unknown): Timer {
    const timer: Timer = { at, tie, fire, owner, index: this.heap.length }
    this.heap.push(timer)
    this.up(timer)
    return timer
  }

  remove(timer: Timer): void {
    const at = timer.index
    if (at < 0) return
    timer.index = -1
    const last = this.heap.pop()!
    if (last === timer) return
    this.put(last, at)
    this.up(last)
    this.down(last)
  }

  private put(timer: Timer, index: number): void {
    this.heap[index] = timer
    timer.index = index
  }

  private up(timer: Timer): void {
    let i = timer.index
    while (i > 0) {
      const parent = this.heap[(i - 1) >> 1]!
      if (!before(timer, parent)) break
      const next = parent.index
      this.put(parent, i)
      i = next
    }
    this.put(timer, i)
  }

  private down(timer: Timer): void {
    const size = this.heap.length
    let i = timer.index
    for (;;) {
      let child = 2 * i + 1
      if (child >= size) break
      if (child + 1 < size && before(this.heap[child + 1]!, this.heap[child]!)) child++
      const least = this.heap[child]!
      if (!before(least, timer)) break
      this.put(least, i)
      i = child
    }
    this.put(timer, i)
  }
}
