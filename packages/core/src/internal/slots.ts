import type { Forker } from "./fork.js"
import type { Member, SharedLimit } from "./sharedLimit.js"

/** SQS gives at most ten messages to a receive. */
const FULL_RECEIVE = 10

export interface SlotsOptions {
  readonly concurrency: number
  /** `undefined`: by the run times that are seen */
  readonly prefetch: number | undefined
  /** the most of it, when by run times */
  readonly prefetchMax: number
  readonly lingerMs: number
  readonly shared: { readonly limit: SharedLimit; readonly weight: number } | undefined
  /** deliveries that were received and are not settled */
  readonly unsettled: () => number
}

/** Above this mean run time a second message is better left visible to others. */
const LONG_RUN_MS = 1_000
/** No prefetched message should wait longer than this for its place. */
const WAIT_MS = 250
/** Weight of the newest run in the mean. */
const NEWEST = 0.05
/** So many handlers should have ended by then. */
const WORTH_WAITING = 0.2
/** While SQS does not confirm so many settlements, no more is received. */
const MOST_SETTLING = 1_000

type Grant = (n: number) => void

/**
 * The free places of a consumer. In hand is what was received and whose handler has not ended, and what an open receive
 * may still bring. A receive takes its places before it asks and gives back what did not come.
 */
export class Slots {
  running = 0
  inHand = 0
  private meanMs = Infinity
  private stopped = false
  private paused = false
  private lingered = false
  private cancelLinger: (() => void) | undefined
  private readonly asking: Array<Grant> = []
  private readonly member: Member | undefined

  constructor(
    readonly options: SlotsOptions,
    private readonly forker: Pick<Forker<never>, "after">,
    /** called when a waiting delivery may start */
    onPlace: () => void
  ) {
    const { shared } = options
    if (shared === undefined) return
    this.member = { weight: shared.weight, start: onPlace, freed: () => this.grant() }
    shared.limit.join(this.member)
  }

  get isPaused(): boolean {
    return this.paused
  }

  get prefetch(): number {
    if (this.options.prefetch !== undefined) return this.options.prefetch
    if (this.meanMs > LONG_RUN_MS) return 0
    const perMs = this.options.concurrency / Math.max(this.meanMs, 0.01)
    return Math.min(this.options.prefetchMax, Math.floor(perMs * WAIT_MS))
  }

  get capacity(): number {
    return this.options.concurrency + this.prefetch
  }

  /** how many more a receive may bring now */
  private get free(): number {
    const { shared, unsettled } = this.options
    const own = Math.min(this.capacity - this.inHand, this.capacity + MOST_SETTLING - unsettled())
    if (shared === undefined) return own
    // whatever the others do one may wait for its turn: who has nothing that waits is not in line
    const runnable = Math.floor(shared.limit.free / shared.weight) + this.prefetch - this.waiting
    return Math.min(own, Math.max(this.inHand === 0 ? 1 : 0, runnable))
  }

  /** Places for the next receive, at most ten: waits for one, then a moment for more. 0: stopped. */
  reserve(grant: Grant): void {
    this.asking.push(grant)
    this.grant()
  }

  /** Whether another receive could be granted at once, and would be worth its request. */
  get wantsMore(): boolean {
    return !this.stopped && !this.paused && this.free >= Math.min(FULL_RECEIVE, this.options.concurrency)
  }

  private grant(): void {
    while (this.asking.length > 0) {
      if (this.stopped) {
        this.asking.shift()!(0)
        continue
      }
      const free = this.free
      if (this.paused || free < 1) return
      const full = Math.min(FULL_RECEIVE, this.capacity)
      if (free < full && this.inHand > 0 && !this.lingered) {
        if (this.hasEnough) return
        if (this.isWorthWaiting) return this.linger()
      }
      this.lingered = false
      this.cancelLinger?.()
      this.cancelLinger = undefined
      const n = Math.min(FULL_RECEIVE, free)
      this.inHand += n
      this.asking.shift()!(n)
    }
  }

  private linger(): void {
    if (this.cancelLinger !== undefined) return
    this.cancelLinger = this.forker.after(this.options.lingerMs, () => {
      this.cancelLinger = undefined
      if (this.hasEnough) return
      this.lingered = true
      this.grant()
    })
  }

  /**
   * Whether it is worth to linger for the end of other handlers, by the run times that were seen: not with long jobs.
   * When none runs, what is in hand is about to start, or comes with an open receive.
   */
  private get isWorthWaiting(): boolean {
    const ms = this.options.lingerMs
    return this.running === 0 || this.meanMs === Infinity || this.running * ms > WORTH_WAITING * this.meanMs
  }

  /**
   * While enough is waiting no handler starves: a fuller receive is cheaper. When none runs, what is in hand is about to
   * start, or comes with an open receive: handlers that end at once free their places one by one, but in one breath.
   */
  private get hasEnough(): boolean {
    return this.running > 0 && this.waiting > this.prefetch / 2
  }

  private get waiting(): number {
    return this.inHand - this.running
  }

  /** `n` places that a receive had taken and did not fill, or deliveries that ended without a run */
  giveBack(n: number): void {
    if (n === 0) return
    this.inHand -= n
    // it may have been what waited for its turn
    if (this.member !== undefined) this.options.shared!.limit.serve()
    this.grant()
  }

  /** A waiting delivery's handler may start: true, and the place is taken. */
  start(): boolean {
    if (this.running >= this.options.concurrency) return false
    if (this.member !== undefined && !this.options.shared!.limit.take(this.member)) return false
    this.running++
    // the buffer got shorter: it may be time to fill it
    if (this.asking.length > 0) this.grant()
    return true
  }

  /** A handler has ended after `ranMs`. */
  end(ranMs: number): void {
    this.running--
    this.inHand--
    this.meanMs = this.meanMs === Infinity ? ranMs : this.meanMs + (ranMs - this.meanMs) * NEWEST
    if (this.member === undefined) return this.grant()
    this.options.shared!.limit.give(this.member)
  }

  /** SQS has confirmed a settlement, or will not. */
  settled(): void {
    if (this.asking.length > 0) this.grant()
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
    this.grant()
  }

  /** Grants no more. */
  stop(): void {
    this.stopped = true
    // what waited for its turn may be given back instead
    this.options.shared?.limit.serve()
    this.grant()
  }

  close(): void {
    this.cancelLinger?.()
    if (this.member !== undefined) this.options.shared!.limit.leave(this.member)
  }
}
