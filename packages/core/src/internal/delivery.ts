import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Delivery, HandlerOptions } from "../Delivery.js"
import * as Lease from "../Lease.js"
import * as Policy from "../Policy.js"
import * as Redelivery from "../Redelivery.js"
import {
  AlreadySettled,
  Delete,
  EndWith,
  isSettlement,
  Leave,
  type LeaseLost,
  Release,
  type Settled,
  type Settlement,
  type SettlementProblem
} from "../Settlement.js"
import type { EntryResult, ReceivedMessage } from "../Sqs.js"
import { interrupt } from "./fork.js"
import { HeldLease, type LeaseOwner } from "./heldLease.js"
import type { Host, Run } from "./host.js"

/** How long a delete is tried when its lease is over or almost over. */
const LATE_DELETE_MS = 5_000

/**
 * The life of one delivery: waiting, running, ending, settled. Plain state and callbacks, since this is the hot path: a
 * short job costs one fiber, the handler's own. That fiber's exit is published after all its children are gone; then
 * the heartbeat is stopped, an extension on the wire is waited for, and the settlement that follows from the exit is
 * sent.
 */
export class LiveDelivery<A = unknown> implements Delivery<A>, LeaseOwner {
  phase: "waiting" | "running" | "ending" | "settled" = "waiting"
  /** its handler, or its policy, was interrupted by a stop */
  cut = false
  /** its handler succeeded, or its dead-letter copy was accepted: only the delete is left to do */
  done = false
  /** its body was none: a policy decides, and it keeps its place until it is settled */
  rejected = false
  readonly lease: HeldLease
  /** once it is decoded */
  body = undefined as A
  private claimed = false
  private startedAt = 0
  private run: Run<LiveDelivery<any>> | undefined
  private fiber: Fiber.RuntimeFiber<unknown, unknown> | undefined
  /** the redelivery policy at work */
  deciding: Fiber.RuntimeFiber<unknown, unknown> | undefined
  private outcome: Settled | undefined
  private waiters: Array<(settled: Settled) => void> | undefined

  constructor(
    private readonly host: Host<LiveDelivery<any>>,
    readonly message: ReceivedMessage,
    lease: Lease.Lease
  ) {
    this.lease = new HeldLease(host, this, lease)
  }

  // ---- facts ---------------------------------------------------------------------------------------------------

  get messageId(): string {
    return this.message.messageId
  }

  get receiptHandle(): string {
    return this.message.receiptHandle
  }

  get receiveCount(): number {
    return this.message.receiveCount
  }

  get isLastAttempt(): boolean | undefined {
    const max = this.host.maxReceiveCount
    return max === undefined ? undefined : this.message.receiveCount >= max
  }

  get leaseLost(): LeaseLost | undefined {
    return this.lease.lost
  }

  get remaining(): Effect.Effect<Duration.Duration> {
    return Effect.sync(() => Duration.millis(this.lease.remainingMs))
  }

  get started(): boolean {
    return this.run !== undefined
  }

  /** What waited while the process slept may not be ours any more, and then it does not run. */
  mayStart(): boolean {
    return this.phase === "waiting" && this.lease.over() === undefined
  }

  extend(duration: Duration.DurationInput): Effect.Effect<void, LeaseLost> {
    return this.lease.extend(() => Duration.toMillis(duration))
  }

  extendUntil(epochMs: number): Effect.Effect<void, LeaseLost> {
    // what is no time is none: SQS would be asked for it again and again
    return this.lease.extend(() => epochMs - this.host.clock.epoch() || 0)
  }

  /** Calls `f` when a stop begins: nothing more will be received. The answer takes that back. */
  whenStopping(f: () => void): () => void {
    return this.host.whenStopping(f)
  }

  // ---- the run -------------------------------------------------------------------------------------------------

  /** Its place is taken. */
  start(run: Run<LiveDelivery<any>>): void {
    const { clock, forker, observer } = this.host
    this.run = run
    this.claimed = true
    this.phase = "running"
    this.startedAt = clock.now()
    observer.runStarted(this)
    const fiber = forker.fork(Effect.suspend(() => run.handler(this)))
    this.fiber = fiber
    fiber.addObserver((exit) => this.ended(exit))
    // what it did before it first waited may have ended the lease
    if (this.lease.lost !== undefined) this.interruptLost()
  }

  /** Each try calls the handler anew. One whose pause outlived the lease, as that of a process that slept, does not begin. */
  tries<E, R, R2>(
    handler: (body: A, delivery: Delivery<A>) => Effect.Effect<void, E, R>,
    policy: Policy.Policy<any, R2> | undefined
  ): Effect.Effect<void, unknown, R | R2> {
    if (policy === undefined) return handler(this.body, this)
    const isOver = () => this.run!.onLeaseLost === "interrupt" && this.lease.over() !== undefined
    return Policy.apply(policy)(Effect.suspend(() => (isOver() ? Effect.interrupt : handler(this.body, this))))
  }

  private ended(exit: Exit.Exit<unknown, unknown>): void {
    const { clock, observer, slots } = this.host
    const ranMs = clock.now() - this.startedAt
    this.phase = "ending"
    this.fiber = undefined
    observer.runEnded(this, exit, ranMs)
    slots.end(ranMs)
    this.conclude(exit)
    this.host.placeFree()
  }

  /** From the exit to the settlement. */
  private conclude(exit: Exit.Exit<unknown, unknown>): void {
    const over = this.lease.over()
    const { lost } = this.lease
    const succeeded = Exit.isSuccess(exit)
    this.done = succeeded
    if (over !== undefined && !(succeeded && this.run!.onLeaseLost === "continue")) {
      return this.finish({ asked: Leave, confirmed: false, problem: over })
    }
    // without a lease the work is done, though perhaps not by us alone: a standard queue may still take the delete
    if (succeeded) return this.deleteFinished()
    const interrupted = Cause.isInterrupted(exit.cause)
    if (this.cut && interrupted) return this.settle(Release(0))
    this.decide(lost !== undefined && interrupted ? Cause.fail(lost) : exit.cause, this.run!.redelivery)
  }

  /** A body that is no body: the policy decides, without a run. */
  reject(error: unknown, policy: Redelivery.Redelivery<string>): void {
    this.phase = "ending"
    this.rejected = true
    this.decide(Cause.fail(error), policy)
  }

  private decide(cause: Cause.Cause<unknown>, policy: Redelivery.Redelivery<string>): void {
    const { clock, forker, queue } = this.host
    const failure = Redelivery.failureOf(cause, {
      receiveCount: this.receiveCount,
      isLastAttempt: this.isLastAttempt,
      now: clock.epoch(),
      maxDelay: Duration.seconds(Lease.askSeconds(this.lease.now, clock.now(), Infinity))
    })
    const { error } = failure
    if (error instanceof EndWith && isSettlement(error.settlement)) return this.settle(error.settlement, error)
    // when the user's policy dies the message is left to SQS, and that is said
    const decision = Effect.suspend(() => policy.decide(failure)).pipe(
      Effect.filterOrDieMessage(isSettlement, "it answered what is no settlement"),
      Effect.catchAllCause((died) =>
        Effect.as(Effect.logError(`The redelivery policy of ${queue} failed`, died), Leave)
      )
    )
    const before = this.lease.lost
    const fiber = forker.fork(decision)
    this.deciding = fiber
    fiber.addObserver((exit) => {
      this.deciding = undefined
      const { lost } = this.lease
      if (Exit.isSuccess(exit)) this.settle(exit.value, error)
      // it was still at work when the lease was lost, at its limit too
      else if (lost !== undefined) this.finish({ asked: Leave, confirmed: false, problem: lost })
      else this.settle(Leave, error)
      this.host.placeFree()
    })
    if (this.lease.lost !== before) this.interruptLost()
  }

  /** A stop's deadline: the handler, or the policy, is interrupted, and nobody waits here. */
  cutOff(): void {
    const fiber = this.fiber ?? this.deciding
    this.cut = fiber !== undefined
    if (fiber !== undefined) interrupt(fiber)
  }

  leaseWasLost(lost: LeaseLost): void {
    if (this.phase === "waiting") {
      // it never ran: somebody else will
      if (lost.reason === "limit") return this.giveBack(0)
      this.leavePlace()
      return this.finish({ asked: Leave, confirmed: false, problem: lost })
    }
    this.interruptLost()
  }

  private interruptLost(): void {
    if (this.fiber !== undefined && this.run!.onLeaseLost === "interrupt") interrupt(this.fiber)
    // nothing that it may still decide can be done; one that hangs would keep the delivery for ever
    if (this.deciding !== undefined) interrupt(this.deciding)
  }

  // ---- the end -------------------------------------------------------------------------------------------------

  private leavePlace(): void {
    this.phase = "ending"
    this.host.slots.giveBack(1)
  }

  /** Never started: back to the others. */
  giveBack(after: Duration.DurationInput): void {
    this.leavePlace()
    this.settle(Release(after))
  }

  /** Its work was done before, and only its delete was missing. */
  deleteAgain(): void {
    this.leavePlace()
    this.deleteFinished()
  }

  private deleteFinished(): void {
    this.lease.seal(() => this.sendDelete(Delete))
  }

  private settle(settlement: Settlement, error?: unknown): void {
    const problem = this.lease.over()
    if (problem !== undefined) return this.finish({ asked: settlement, confirmed: false, problem })
    switch (settlement._tag) {
      case "Delete":
        return this.whenSealed(settlement, () => this.sendDelete(settlement))
      case "Leave":
        return this.lease.seal(() => this.finish({ asked: settlement, confirmed: true, problem: undefined }))
      case "DeadLetter":
        return this.whenSealed(settlement, () => this.sendDeadLetter(settlement, settlement.reason, error))
      case "Release": {
        const decidedAt = this.host.clock.now()
        return this.host.whenReleasable(() => this.sendRelease(settlement, settlement.after, decidedAt))
      }
    }
  }

  /** The extension that was still on the wire may have been refused: then there is nothing of ours to settle. */
  private whenSealed(asked: Settlement, send: () => void): void {
    this.lease.seal(() => {
      const { lost } = this.lease
      if (lost?.reason === "refused") this.finish({ asked, confirmed: false, problem: lost })
      else send()
    })
  }

  private sendDelete(asked: Settlement): void {
    const now = this.host.clock.now()
    const { deadline } = this.lease.now
    const sendBy = deadline > now ? halfway(now, deadline) : Infinity
    const until = Math.max(deadline, now + LATE_DELETE_MS)
    this.host.deletes.add(this.receiptHandle, { sendBy, patient: false, until, retried: true }, (r) =>
      this.answered(asked, r)
    )
  }

  private sendRelease(asked: Settlement, after: Duration.Duration, decidedAt: number): void {
    // it may have had to wait, and the heartbeat went on meanwhile
    const problem = this.lease.over()
    if (problem !== undefined) return this.finish({ asked, confirmed: false, problem })
    this.whenSealed(asked, () => {
      const now = this.host.clock.now()
      const { deadline } = this.lease.now
      const wantedMs = Math.max(0, Duration.toMillis(after) - (now - decidedAt))
      const visibilityTimeoutSeconds = Lease.askSeconds(this.lease.now, now, wantedMs)
      const entry = { receiptHandle: this.receiptHandle, visibilityTimeoutSeconds }
      const timing = { sendBy: halfway(now, deadline), patient: false, until: deadline, retried: true }
      this.host.visibility.add(entry, timing, (result) => this.answered(asked, result))
    })
  }

  private sendDeadLetter(asked: Settlement, reason: string, error: unknown): void {
    const { deadLetter, forker } = this.host
    forker.fork(deadLetter(this.message, reason, error, this.lease.now.deadline)).addObserver((exit) => {
      const problem = Exit.isSuccess(exit) ? exit.value : undefined
      if (Exit.isSuccess(exit) && problem === undefined) {
        this.done = true
        return this.sendDelete(asked)
      }
      this.finish({ asked, confirmed: false, problem })
    })
  }

  private answered(asked: Settlement, result: EntryResult | undefined): void {
    const problem = result === undefined ? this.lease.over() : this.problemOf(result)
    this.finish({ asked, confirmed: problem === undefined, problem })
  }

  /** A handle that SQS no longer takes means that the lease was lost, whenever that was. */
  private problemOf(result: EntryResult): SettlementProblem | undefined {
    if (result._tag === "Done") return undefined
    const { error } = result
    return error._tag === "MessageGone" || error._tag === "HandleInvalid" ? this.lease.lose("refused", error) : error
  }

  private finish(settled: Settled): void {
    if (this.phase === "settled") return
    this.lease.seal(() => {})
    this.phase = "settled"
    this.outcome = settled
    if (this.rejected) this.host.slots.giveBack(1)
    this.host.observer.settled(this, settled)
    this.host.settled(this, settled)
    for (const waiter of this.waiters ?? []) waiter(settled)
    this.waiters = undefined
  }

  // ---- by hand, on the stream ----------------------------------------------------------------------------------

  process<E, R, R2 = never, R3 = never>(
    handler: (body: A, delivery: Delivery<A>) => Effect.Effect<void, E, R>,
    options?: HandlerOptions<E, R2, R3>
  ): Effect.Effect<Settled, never, any> {
    return Effect.flatMap(Effect.runtime<R | R2 | R3>(), (runtime) => {
      const taken = this.claim()
      if (taken !== undefined) return Effect.succeed(taken)
      const { redelivery } = options ?? {}
      const run: Run<LiveDelivery<A>> = {
        handler: () => Effect.provide(this.host.traced(this.tries(handler, options?.policy), this.message), runtime),
        redelivery: redelivery === undefined ? this.host.redelivery : Redelivery.provided(redelivery, runtime),
        onLeaseLost: options?.onLeaseLost ?? "interrupt"
      }
      this.host.run(this, run)
      return this.awaitSettled
    })
  }

  release(after: Duration.DurationInput = 0): Effect.Effect<Settled> {
    return Effect.suspend(() => {
      const taken = this.claim()
      if (taken !== undefined)
        return this.phase === "running" ? Effect.as(this.warnOfRelease, taken) : Effect.succeed(taken)
      this.giveBack(after)
      return this.awaitSettled
    })
  }

  /** Who overlooks the answer would lose the message: its handler ends with success, and it is deleted. */
  private get warnOfRelease(): Effect.Effect<void> {
    return Effect.logWarning(
      `release was called on message ${this.messageId} while its handler runs, and does nothing: a handler gives its message back with Settlement.endWith(Settlement.Release(after)).`
    )
  }

  /** `undefined`: it was nobody's, and is the caller's now. What ended before anybody took it tells how. */
  private claim(): Settled | undefined {
    if (!this.claimed && this.phase === "waiting") {
      this.claimed = true
      return undefined
    }
    if (!this.claimed && this.outcome !== undefined) return this.outcome
    const problem = new AlreadySettled({ messageId: this.messageId })
    return { asked: this.outcome?.asked ?? Leave, confirmed: false, problem }
  }

  private get awaitSettled(): Effect.Effect<Settled> {
    return Effect.async<Settled>((resume) => {
      if (this.outcome !== undefined) return resume(Effect.succeed(this.outcome))
      const waiter = (settled: Settled) => resume(Effect.succeed(settled))
      ;(this.waiters ??= []).push(waiter)
      return Effect.sync(() => {
        this.waiters = this.waiters?.filter((w) => w !== waiter)
      })
    })
  }
}

const halfway = (from: number, to: number) => (from + to) / 2
