import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { ConsumerEvent } from "../ConsumerEvent.js"
import type { ConsumerMetrics } from "../ConsumerMetrics.js"
import type { Subject } from "../Delivery.js"
import { type DrainReport, render } from "../Drain.js"
import type { LeaseLost, Settled } from "../Settlement.js"
import type { SqsError } from "../SqsError.js"
import type { LeaseClock } from "./time.js"

/** A listener that is slower than the consumer loses its oldest events, so many at a time: one by one would cost more. */
const LISTENER_CAPACITY = 4_096
const DROPPED_AT_ONCE = 256

/** Where one part of parallel work fails the others are interrupted: that is a failure. */
const outcomeOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isSuccess(exit) ? "success" : Cause.isInterruptedOnly(exit.cause) ? "interrupted" : "failure"

/**
 * Where a consumer says what happens. Costs nothing where nobody listens; what a listener does cannot reach back.
 */
export class Observer {
  private readonly listeners = new Set<Queue.Queue<ConsumerEvent>>()
  private ended = false

  constructor(
    readonly queue: string,
    private readonly clock: LeaseClock,
    readonly metrics: ConsumerMetrics | undefined,
    private readonly run: (effect: Effect.Effect<void>) => void
  ) {}

  /** What somebody should know, though nobody listens. */
  private warn(message: string): void {
    this.run(Effect.annotateLogs(Effect.logWarning(message), "queue", this.queue))
  }

  /** From the moment of subscription on, until the consumer has drained. */
  readonly events: Stream.Stream<ConsumerEvent> = Stream.unwrapScoped(
    Effect.suspend(() =>
      this.ended
        ? Effect.succeed(Stream.empty)
        : Effect.map(this.subscribe, (queue) =>
            Stream.takeUntil(Stream.fromQueue(queue), (event) => event._tag === "Drained")
          )
    )
  )

  readonly subscribe: Effect.Effect<Queue.Dequeue<ConsumerEvent>, never, Scope.Scope> = Effect.acquireRelease(
    Effect.tap(Queue.bounded<ConsumerEvent>(LISTENER_CAPACITY), (queue) =>
      Effect.sync(() => this.listeners.add(queue))
    ),
    (queue) =>
      Effect.suspend(() => {
        this.listeners.delete(queue)
        return Queue.shutdown(queue)
      })
  )

  get listening(): boolean {
    return this.listeners.size > 0
  }

  private publish(event: ConsumerEvent): void {
    for (const queue of this.listeners) {
      if (queue.unsafeOffer(event)) continue
      Effect.runSync(queue.takeUpTo(DROPPED_AT_ONCE))
      queue.unsafeOffer(event)
    }
  }

  private about(subject: Subject) {
    const { messageId, receiptHandle, receiveCount } = subject
    return { queue: this.queue, at: this.clock.epoch(), messageId, receiptHandle, receiveCount }
  }

  private get here() {
    return { queue: this.queue, at: this.clock.epoch() }
  }

  started(notes: ReadonlyArray<string>, slots: number): void {
    this.metrics?.slots.add(slots)
    for (const note of notes) this.warn(note)
    if (this.listening) this.publish(ConsumerEvent.Started({ ...this.here, notes }))
  }

  received(subject: Subject, deadline: number, sentAt: number | undefined): void {
    if (this.metrics !== undefined) {
      if (subject.receiveCount > 1) this.metrics.redelivered.add(1)
      if (sentAt !== undefined) this.metrics.receiveLag.add(Math.max(0, this.clock.epoch() - sentAt) / 1000)
    }
    if (this.listening) this.publish(ConsumerEvent.Received({ ...this.about(subject), deadline, sentAt }))
  }

  places(running: number, waiting: number): void {
    this.metrics?.running.add(running)
    this.metrics?.waiting.add(waiting)
  }

  runStarted(subject: Subject): void {
    if (this.listening) this.publish(ConsumerEvent.RunStarted(this.about(subject)))
  }

  runEnded(subject: Subject, exit: Exit.Exit<unknown, unknown>, ranMs: number): void {
    const outcome = outcomeOf(exit)
    this.metrics?.processDuration(outcome).add(ranMs / 1000)
    if (this.listening) this.publish(ConsumerEvent.RunEnded({ ...this.about(subject), outcome, ranMs }))
  }

  extended(subject: Subject, deadline: number, marginMs: number): void {
    this.metrics?.beats.add(1)
    this.metrics?.leaseMargin.add(marginMs / 1000)
    if (this.listening) this.publish(ConsumerEvent.LeaseExtended({ ...this.about(subject), deadline, marginMs }))
  }

  beatFailed(subject: Subject, error: SqsError): void {
    this.metrics?.beatFailures.add(1)
    if (this.listening) this.publish(ConsumerEvent.BeatFailed({ ...this.about(subject), error }))
  }

  leaseLost(subject: Subject, lost: LeaseLost): void {
    this.metrics?.leaseLost(lost.reason).add(1)
    this.warn(lost.message)
    if (this.listening) this.publish(ConsumerEvent.LeaseWasLost({ ...this.about(subject), lost }))
  }

  undecodable(subject: Subject, reason: string): void {
    this.warn(`Message ${subject.messageId} (receive ${subject.receiveCount}) was not run. ${reason}`)
    if (this.listening) this.publish(ConsumerEvent.Undecodable({ ...this.about(subject), reason }))
  }

  settled(subject: Subject, settled: Settled): void {
    if (!settled.confirmed && this.metrics !== undefined) {
      const code = settled.problem === undefined ? "none" : settled.problem._tag
      this.metrics.settlementFailed(settled.asked._tag, code).add(1)
    }
    // a lost lease has been told already
    if (settled.problem !== undefined && settled.problem._tag !== "LeaseLost") {
      this.warn(`${settled.asked._tag} of message ${subject.messageId} is not confirmed. ${settled.problem.message}`)
    }
    if (this.listening) this.publish(ConsumerEvent.DeliverySettled({ ...this.about(subject), settled }))
  }

  duplicateDeleted(subject: Subject): void {
    this.metrics?.duplicatesSuppressed.add(1)
    if (this.listening) this.publish(ConsumerEvent.DuplicateDeleted(this.about(subject)))
  }

  polled(messages: number): void {
    if (messages === 0) this.metrics?.pollEmpty.add(1)
    else this.metrics?.consumed.add(messages)
  }

  /** each failed receive */
  pollFailed(error: SqsError): void {
    this.metrics?.pollErrors(error._tag).add(1)
  }

  /** no receive is open any more, and the next one waits */
  pollPaused(error: SqsError, retryInMs: number): void {
    this.warn(`${error.message} Next try in ${Duration.format(Math.round(retryInMs))}.`)
    if (this.listening) this.publish(ConsumerEvent.PollFailed({ ...this.here, error, retryInMs }))
  }

  pollRecovered(): void {
    if (this.listening) this.publish(ConsumerEvent.PollRecovered(this.here))
  }

  /** for good */
  pollEnded(error: SqsError): void {
    if (this.listening) this.publish(ConsumerEvent.PollEnded({ ...this.here, error }))
  }

  blockedGroups(n: number): void {
    this.metrics?.blockedGroups.add(n)
  }

  paused(): void {
    if (this.listening) this.publish(ConsumerEvent.Paused(this.here))
  }

  resumed(): void {
    if (this.listening) this.publish(ConsumerEvent.Resumed(this.here))
  }

  draining(running: number, waiting: number): void {
    if (this.listening) this.publish(ConsumerEvent.Draining({ ...this.here, running, waiting }))
  }

  drained(report: DrainReport): void {
    const log = report.complete ? Effect.logInfo(render(report)) : Effect.logWarning(render(report))
    this.run(Effect.annotateLogs(log, "queue", this.queue))
    if (this.listening) this.publish(ConsumerEvent.Drained({ ...this.here, report }))
    this.ended = true
  }
}
