import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { DrainedDelivery } from "../Drain.js"
import * as Lease from "../Lease.js"
import type { Receipt } from "../Poller.js"
import type { Redelivery } from "../Redelivery.js"
import type { Settled } from "../Settlement.js"
import type { DecodeError, SqsQueue } from "../SqsQueue.js"
import { LiveDelivery } from "./delivery.js"
import type { Finished } from "./finished.js"
import { interrupt } from "./fork.js"
import { Groups } from "./groups.js"
import type { DeliveryHost, Host, Run } from "./host.js"
import { inWords } from "./text.js"
import type { Watch } from "./watch.js"

export interface DispatcherOptions<A> {
  readonly queue: SqsQueue<A, any, any>
  /** for schemas that need effects, with what they need */
  readonly decode: (text: string) => Effect.Effect<A, DecodeError>
  readonly host: DeliveryHost
  readonly redelivery: Redelivery<string>
  readonly watch: Watch
  readonly finished: Finished
  readonly undecodable: Redelivery<string>
  /** what to do with a delivery that may go on: run it, or hand it to whoever takes it from the stream */
  readonly admit: (delivery: LiveDelivery<A>) => void
}

/**
 * From what a receive brought to handlers that run: decodes, keeps groups in order, starts what has a place, and knows
 * every delivery that is in hand.
 */
export class Dispatcher<A> {
  private readonly host: Host<LiveDelivery<any>>
  private readonly inHand = new Set<LiveDelivery<any>>()
  private readonly decoding = new Map<LiveDelivery<any>, Fiber.RuntimeFiber<A, DecodeError>>()
  private waiting: Array<{ readonly delivery: LiveDelivery<any>; readonly run: Run<any> }> = []
  private readonly groups: Groups<LiveDelivery<any>> | undefined
  private starting = false
  private stopping = false
  private releasable = true
  private held: Array<() => void> = []
  private readonly stops = new Set<() => void>()
  private readonly ended: Array<DrainedDelivery> = []
  private watchers: Array<() => void> = []

  constructor(private readonly options: DispatcherOptions<A>) {
    const { forker, settings, slots } = options.host
    // half of the places may be held behind failures: the rest is for the heads, and for the other groups
    const held = { mostHeld: Math.floor(slots.capacity / 2), beats: settings.heartbeatMs !== undefined }
    this.groups = options.queue.kind === "fifo" ? new Groups(forker, held) : undefined
    this.host = {
      ...options.host,
      redelivery: options.redelivery,
      run: (delivery, run) => {
        this.run(delivery, run)
        this.pump()
      },
      settled: (delivery, settled) => this.settled(delivery, settled),
      placeFree: () => this.placeFree(),
      whenReleasable: (f) => {
        if (this.releasable) f()
        else this.held.push(f)
      },
      whenStopping: (f) => {
        if (this.stopping) f()
        else this.stops.add(f)
        return () => this.stops.delete(f)
      }
    }
  }

  // ---- from the receive to the handler -------------------------------------------------------------------------

  accept(receipt: Receipt): void {
    const { clock, observer, settings } = this.host
    const lease = Lease.start(settings, receipt.callStart, receipt.arrival)
    const deadline = clock.epoch() + (lease.deadline - clock.now())
    const received: Array<LiveDelivery<any>> = []
    for (const message of receipt.messages) {
      const delivery = new LiveDelivery<any>(this.host, message, lease)
      this.inHand.add(delivery)
      received.push(delivery)
      observer.received(delivery, deadline, message.sentAt)
    }
    this.options.watch.add(received.map((d) => d.lease))
    // FIFO: in the order of the receive, behind its group, if that is busy. All enter before the first goes on: it may end at
    // once, and then what came with it must be known to be behind it.
    const { groups } = this
    const first = groups === undefined ? received : received.filter((delivery) => groups.enter(delivery))
    for (const delivery of first) this.proceed(delivery)
    this.pump()
    if (this.groups !== undefined) observer.blockedGroups(this.groups.blocked)
  }

  /** Nothing is before it. */
  private proceed(delivery: LiveDelivery<any>): void {
    const { finished, queue } = this.options
    if (finished.has(delivery.messageId)) {
      this.host.observer.duplicateDeleted(delivery)
      return delivery.deleteAgain()
    }
    const decoded = queue.decodeNow(delivery.message.body)
    if (decoded === undefined) this.decodeLater(delivery)
    else this.decoded(delivery, decoded)
  }

  private decodeLater(delivery: LiveDelivery<A>): void {
    const fiber = this.host.forker.fork(this.options.decode(delivery.message.body))
    this.decoding.set(delivery, fiber)
    fiber.addObserver((exit) => {
      this.decoding.delete(delivery)
      if (delivery.phase === "waiting") this.decoded(delivery, exit)
      this.pump()
      this.changed()
    })
  }

  private decoded(delivery: LiveDelivery<A>, exit: Exit.Exit<A, DecodeError>): void {
    if (Exit.isFailure(exit)) {
      const error = Cause.squash(exit.cause)
      this.host.observer.undecodable(delivery, inWords(error))
      return delivery.reject(error, this.options.undecodable)
    }
    delivery.body = exit.value
    this.options.admit(delivery)
  }

  /** The handler runs as soon as there is a place. */
  run(delivery: LiveDelivery<any>, run: Run<any>): void {
    this.waiting.push({ delivery, run })
  }

  /** Starts what has a place. A handler that ends at once comes back here, and finds this loop at work. */
  pump(): void {
    if (this.starting) return
    try {
      while (this.waiting.length > 0 && !this.stopping) {
        const next = this.waiting[0]!
        // one that waited too long gives its place back: whose turn that makes it, be it ours, starts what waits behind it
        const starts = next.delivery.mayStart()
        if (this.waiting[0] !== next) continue
        if (starts && !this.host.slots.start()) break
        // before it starts: when it ends at once, nothing of it may look as if it waited
        this.waiting.shift()
        this.starting = true
        if (starts) next.delivery.start(next.run)
        this.starting = false
      }
    } finally {
      this.starting = false
    }
    this.host.observer.places(this.host.slots.running, this.waiting.length)
  }

  /** Nothing runs or waits that could fill a batch of settlements. */
  get isIdle(): boolean {
    return this.host.slots.running === 0 && (this.waiting.length === 0 || this.stopping)
  }

  private placeFree(): void {
    this.pump()
    this.changed()
  }

  private settled(delivery: LiveDelivery<any>, settled: Settled): void {
    const { finished } = this.options
    this.inHand.delete(delivery)
    this.host.slots.settled()
    const decoding = this.decoding.get(delivery)
    // it ended before it was decoded, and a schema that hangs would do so for ever
    if (decoding !== undefined) interrupt(decoding)
    if (settled.asked._tag === "Delete" || delivery.done) {
      if (settled.confirmed) finished.forget(delivery.messageId)
      else finished.add(delivery.messageId)
    }
    if (this.stopping) this.ended.push(drained(delivery, settled))
    if (this.groups !== undefined) {
      const next = this.groups.settled(delivery, settled)
      this.host.observer.blockedGroups(this.groups.blocked)
      if (next !== undefined) {
        this.proceed(next)
        this.pump()
      }
    }
    this.changed()
  }

  // ---- the stop ------------------------------------------------------------------------------------------------

  get runningCount(): number {
    return this.host.slots.running
  }

  /** received and not settled */
  get inHandCount(): number {
    return this.inHand.size
  }

  get waitingCount(): number {
    return this.inHand.size - this.host.slots.running
  }

  /** Starts nothing more, and gives nothing back while an open receive of ours could take it. */
  stop(): void {
    this.stopping = true
    this.releasable = false
    for (const f of this.stops) f()
  }

  /** The open receives have answered: gives back what never started, and lets held releases go. */
  releaseWaiting(): void {
    this.releasable = true
    const held = this.held
    this.held = []
    for (const f of held) f()
    for (const delivery of [...this.inHand]) if (delivery.phase === "waiting") delivery.giveBack(0)
    this.waiting = []
    this.changed()
  }

  interruptHandlers(): void {
    for (const delivery of this.inHand) delivery.cutOff()
  }

  readonly handlersEnded: Effect.Effect<void> = this.until(
    () => this.host.slots.running === 0 && ![...this.inHand].some((d) => d.deciding !== undefined)
  )

  /** what was received has been handed out: none waits for its schema, or for one of its group that is in hand */
  readonly admitted: Effect.Effect<void> = this.until(
    () => this.decoding.size === 0 && (this.groups === undefined || this.groups.following === 0)
  )

  /** what is still in hand is a handler that does not end */
  readonly settlementsAnswered: Effect.Effect<void> = this.until(() => this.inHand.size <= this.host.slots.running)

  private until(condition: () => boolean): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const watcher = () => {
        if (!condition()) return
        this.watchers = this.watchers.filter((w) => w !== watcher)
        resume(Effect.void)
      }
      this.watchers.push(watcher)
      watcher()
      return Effect.sync(() => {
        this.watchers = this.watchers.filter((w) => w !== watcher)
      })
    })
  }

  private changed(): void {
    for (const watcher of this.watchers) watcher()
  }

  report(): ReadonlyArray<DrainedDelivery> {
    const left = [...this.inHand].map((d): DrainedDelivery => ({
      ...subject(d),
      became: d.phase === "running" ? "abandoned" : "not confirmed",
      settled: undefined
    }))
    return [...this.ended, ...left]
  }
}

const subject = (d: LiveDelivery<any>) => ({
  messageId: d.messageId,
  receiptHandle: d.receiptHandle,
  receiveCount: d.receiveCount
})

const drained = (d: LiveDelivery<any>, settled: Settled): DrainedDelivery => ({
  ...subject(d),
  settled,
  became:
    settled.problem?._tag === "LeaseLost"
      ? "lost"
      : !settled.confirmed
        ? "not confirmed"
        : d.cut && (settled.asked._tag === "Release" || settled.asked._tag === "Leave")
          ? "interrupted"
          : settled.asked._tag === "Release" && !d.started && !d.rejected
            ? "released"
            : "settled"
})
