/**
 * The open long polls: each is woken when messages may have become available to it, and when its time is over. One timer
 * serves them all; it may ring for nothing, and then only looks again.
 */
import type { Account } from "./account.js"
import { Heap } from "./heap.js"
import type { Poll } from "./operations.js"
import type { VirtualQueue } from "./queue.js"

export interface Waiter {
  readonly poll: Poll
  readonly wake: () => void
  /** whether its process sleeps or is gone: it may not try when it is woken, or never */
  readonly isAway: () => boolean
  /** orders equal deadlines */
  readonly order: number
  deadlinePlace: number
}

interface Line {
  /** in the order of arrival */
  readonly waiters: Set<Waiter>
  /** woken for messages, has not tried yet: until then nobody else is woken for the same */
  woken: Waiter | undefined
}

/** Calls back after a time, never before it has returned; gives the way to call it off. */
export type SetTimer = (delayMs: number, ring: () => void) => () => void

export class Polls {
  private readonly lines = new Map<VirtualQueue, Line>()
  private readonly deadlines = new Heap<"deadlinePlace", Waiter>(
    "deadlinePlace",
    (a, b) => a.poll.deadline < b.poll.deadline || (a.poll.deadline === b.poll.deadline && a.order < b.order)
  )
  private timer: { readonly at: number; readonly cancel: () => void } | undefined
  private order = 0
  private serving = false

  constructor(
    private readonly account: Account,
    private readonly now: () => number,
    private readonly setTimer: SetTimer
  ) {}

  open(queue: VirtualQueue): number {
    return this.lines.get(queue)?.waiters.size ?? 0
  }

  wait(poll: Poll, wake: () => void, isAway: () => boolean): Waiter {
    const waiter: Waiter = { poll, wake, isAway, order: ++this.order, deadlinePlace: -1 }
    let line = this.lines.get(poll.queue)
    if (line === undefined) {
      line = { waiters: new Set(), woken: undefined }
      this.lines.set(poll.queue, line)
    }
    line.waiters.add(waiter)
    this.deadlines.push(waiter)
    this.arm()
    return waiter
  }

  /** The waiter has tried, or will not: others may be woken in its place. */
  leave(waiter: Waiter): void {
    const line = this.lines.get(waiter.poll.queue)
    if (line === undefined) return
    line.waiters.delete(waiter)
    this.deadlines.remove(waiter)
    if (line.woken === waiter) {
      line.woken = undefined
      this.account.dirty.add(waiter.poll.queue)
    }
    if (line.waiters.size === 0 && line.woken === undefined) this.lines.delete(waiter.poll.queue)
  }

  /** Wakes who can be served by what has changed. */
  serve(): void {
    if (this.serving) return
    this.serveDirty()
    this.arm()
  }

  stop(): void {
    this.timer?.cancel()
    this.timer = undefined
  }

  private serveDirty(): void {
    this.serving = true
    try {
      for (const queue of this.account.dirty) {
        this.account.dirty.delete(queue)
        this.serveQueue(queue)
      }
    } finally {
      this.serving = false
    }
  }

  private serveQueue(queue: VirtualQueue): void {
    const line = this.lines.get(queue)
    if (line === undefined) return
    const deleted = this.account.find(queue.name) !== queue
    for (const waiter of line.waiters) {
      if (!deleted) {
        if ((line.woken !== undefined && !line.woken.isAway()) || !queue.available) return
        if (!waiter.isAway()) line.woken = waiter
      }
      this.wakeUp(waiter)
    }
  }

  private wakeUp(waiter: Waiter): void {
    this.lines.get(waiter.poll.queue)?.waiters.delete(waiter)
    this.deadlines.remove(waiter)
    waiter.wake()
  }

  private ring(): void {
    this.timer = undefined
    const now = this.now()
    this.account.advance(now)
    for (const queue of this.lines.keys()) queue.settle(now)
    this.serveDirty()
    for (let w = this.deadlines.peek(); w !== undefined && w.poll.deadline <= now; w = this.deadlines.peek()) {
      this.wakeUp(w)
    }
    this.serve()
  }

  private arm(): void {
    const next = this.nextAt()
    if (next === undefined || (this.timer !== undefined && this.timer.at <= next)) return
    this.timer?.cancel()
    const delay = Math.max(0, Math.ceil(next - this.now()))
    this.timer = { at: next, cancel: this.setTimer(delay, () => this.ring()) }
  }

  private nextAt(): number | undefined {
    let next = this.deadlines.peek()?.poll.deadline
    if (next === undefined) return undefined
    const consider = (at: number | undefined) => {
      if (at !== undefined && (next === undefined || at < next)) next = at
    }
    for (const queue of this.lines.keys()) consider(queue.nextDueAt)
    consider(this.account.moveTasks.nextAt)
    if (this.account.options.policy.deadLetterMove !== "atReceive") {
      for (const queue of this.account.all()) if (queue.settings.redrive !== undefined) consider(queue.nextDueAt)
    }
    return next
  }
}
