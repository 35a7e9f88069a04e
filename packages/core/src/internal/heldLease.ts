import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Subject } from "../Delivery.js"
import * as Heartbeat from "../Heartbeat.js"
import * as Lease from "../Lease.js"
import { LeaseLost, type LeaseLossReason } from "../Settlement.js"
import type { EntryResult } from "../Sqs.js"
import type { SqsError } from "../SqsError.js"
import { interrupt } from "./fork.js"
import type { LeaseHost } from "./host.js"
import type { Watched } from "./watch.js"

const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 4_000

/** No answer, or a fault of the service: SQS may have done what was asked. */
const mayHaveHappened = (error: SqsError) => error._tag === "NetworkError" || error._tag === "ServiceError"

/** Whose lease it is. */
export interface LeaseOwner extends Subject {
  readonly leaseWasLost: (lost: LeaseLost) => void
}

/**
 * The lease of one delivery while it is held: extended by the heartbeat and by hand, never two extensions at a time;
 * lost once; sealed when the settlement is on its way, and then no extension is sent any more.
 */
export class HeldLease implements Watched {
  lost: LeaseLost | undefined
  private heartbeat: Fiber.RuntimeFiber<void> | undefined
  private sealed = false
  private onWire = false
  private quiet: Array<() => void> | undefined
  /** takes back an extension that has not left yet */
  private unsend: (() => void) | undefined
  private unwatch: (() => void) | undefined

  constructor(
    private readonly host: LeaseHost,
    private readonly owner: LeaseOwner,
    /** as it is at this moment */
    public now: Lease.Lease
  ) {}

  /** Why it is not ours any more. At its limit a lease is still ours to give back, until its deadline. */
  over(): LeaseLost | undefined {
    const ended = this.host.clock.now() >= this.now.deadline
    // the heartbeat ends before: when it could not say so, the process slept
    if (ended && this.lost === undefined) return this.lose(this.sealed ? "ran out" : "stalled", undefined)
    return ended || this.lost?.reason !== "limit" ? this.lost : undefined
  }

  get remainingMs(): number {
    return this.lost === undefined ? Lease.remainingMs(this.now, this.host.clock.now()) : 0
  }

  /** when a heartbeat has something to do */
  get watchAt(): number {
    const { settings } = this.host
    return Math.min(Lease.beatDueAt(this.now, settings), Lease.interruptAt(this.now))
  }

  watchedBy(unwatch: () => void): void {
    this.unwatch = unwatch
  }

  /** The first beat is due, or the lease ends, or it was changed by hand. */
  startHeartbeat(): void {
    if (this.sealed || this.lost !== undefined) return
    this.stopHeartbeat()
    this.heartbeat = this.host.forker.fork(
      Heartbeat.make({
        settings: this.host.settings,
        now: this.host.clock.now,
        lease: () => this.now,
        ask: (seconds, patienceMs) => this.ask(seconds, false, patienceMs),
        failed: (error) => this.host.observer.beatFailed(this.owner, error),
        lost: (reason, cause) => this.lose(reason, cause)
      })
    )
    // its first beat may have filled a call whose answer ended this lease
    if (this.sealed || this.lost !== undefined) this.stopHeartbeat()
  }

  private stopHeartbeat(): void {
    this.unwatch?.()
    this.unwatch = undefined
    if (this.heartbeat !== undefined) interrupt(this.heartbeat)
    this.heartbeat = undefined
  }

  /** What was to be asked is out of date when another extension was on the wire: who asks must look again. */
  private ask(seconds: number, byHand: boolean, patienceMs: number): Effect.Effect<EntryResult | undefined> {
    return Effect.async<EntryResult | undefined>((resume) => {
      let giveUp = () => done(undefined)
      const patient = patienceMs === Infinity ? undefined : this.host.forker.after(patienceMs, () => giveUp())
      const done = (result: EntryResult | undefined) => {
        patient?.()
        resume(Effect.succeed(result))
      }
      if (this.onWire) return void (this.quiet ??= []).push(() => done(undefined))
      const { clock, observer, settings, visibility } = this.host
      const before = this.now
      const become = (lease: Lease.Lease) => {
        if (lease === this.now) return
        this.now = lease
        if (byHand) this.startHeartbeat()
      }
      const entry = { receiptHandle: this.owner.receiptHandle, visibilityTimeoutSeconds: seconds }
      const timing = { sendBy: before.nextBeatAt, patient: !byHand, until: before.deadline, retried: false }
      this.onWire = true
      const answered = (result: EntryResult | undefined, sentAt: number) => {
        this.unsend = undefined
        if (result?._tag === "Done") {
          become(Lease.extended(before, settings, sentAt, seconds))
          observer.extended(this.owner, clock.epoch() + (this.now.deadline - clock.now()), before.deadline - sentAt)
        } else if (result === undefined || !mayHaveHappened(result.error)) become(before)
        // before anybody who waited for the wire can ask once more
        if (result?._tag === "Failed" && Heartbeat.isRefusal(result.error)) this.lose("refused", result.error)
        this.becameQuiet()
        done(result)
      }
      // a slot cut short by hand may be so from then on, though no answer ever says it
      const leaves = (at: number) => {
        const asked = Lease.extended(before, settings, at, seconds)
        if (asked.deadline < before.deadline) become(asked)
      }
      const takeBack = visibility.add(entry, timing, answered, leaves)
      this.unsend = () => {
        if (!takeBack()) return
        this.unsend = undefined
        this.becameQuiet()
        done(undefined)
      }
      giveUp = () => {
        this.unsend?.()
        done(undefined)
      }
      return Effect.sync(giveUp)
    })
  }

  private becameQuiet(): void {
    this.onWire = false
    const present = this.quiet
    this.quiet = undefined
    for (const f of present ?? []) f()
  }

  /** By hand: cut to the 12 hours, tried again inside the lease. */
  extend(wantedMs: () => number): Effect.Effect<void, LeaseLost> {
    return Effect.gen(this, function* () {
      let failures = 0
      while (true) {
        this.over()
        if (this.lost !== undefined) return yield* this.lost
        // its end is on the way: SQS would refuse
        if (this.sealed) return yield* this.lossOf("refused", undefined)
        const seconds = Lease.askSeconds(this.now, this.host.clock.now(), Math.max(1_000, wantedMs()))
        // nothing is left of the 12 hours: asking for 0 would give the message away
        if (seconds < 1) return yield* this.lossOf("limit", undefined)
        const answer = yield* this.ask(seconds, true, Infinity)
        if (answer === undefined) continue
        if (answer._tag === "Done") return
        const error = answer.error
        if (Heartbeat.isRefusal(error)) this.lose("refused", error)
        else if (error._tag === "VisibilityLimit") return yield* this.lossOf("limit", error)
        else {
          this.host.observer.beatFailed(this.owner, error)
          yield* Effect.sleep(Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures++))
        }
      }
    })
  }

  /** `reason` from here on; the first reason stands. */
  lose(reason: LeaseLossReason, cause: SqsError | undefined): LeaseLost {
    if (this.lost !== undefined) {
      // at its limit a lease is still ours to give back, until SQS says that it is not
      if (reason === "refused" && this.lost.reason === "limit") this.lost = this.lossOf(reason, cause)
      return this.lost
    }
    const lost = this.lossOf(reason, cause)
    this.lost = lost
    // a handler may take its time to end: what is lost is not extended meanwhile
    this.stopHeartbeat()
    this.host.observer.leaseLost(this.owner, lost)
    this.owner.leaseWasLost(lost)
    return lost
  }

  private lossOf(reason: LeaseLossReason, cause: SqsError | undefined): LeaseLost {
    return new LeaseLost({
      reason,
      messageId: this.owner.messageId,
      receiveCount: this.owner.receiveCount,
      heldMs: this.host.clock.now() - this.now.receivedAt,
      ...(cause === undefined ? {} : { cause })
    })
  }

  /** No more extensions; `send` follows when none is on the wire. */
  seal(send: () => void): void {
    this.sealed = true
    this.stopHeartbeat()
    this.unsend?.()
    if (this.onWire) (this.quiet ??= []).push(send)
    else send()
  }
}
