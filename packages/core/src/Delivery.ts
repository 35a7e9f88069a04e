/**
 * One delivery: one receive of a message, with its own receipt handle, receive count and lease.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { AttemptTimedOut, Policy, TotalTimedOut } from "./Policy.js"
import type { Redelivery, TagsOf } from "./Redelivery.js"
import type { LeaseLost, Settled } from "./Settlement.js"
import type { ReceivedMessage } from "./Sqs.js"

/**
 * What a handler's failures mean, typed by its error channel: a policy that names an error tag which cannot occur does
 * not compile. `R` is what the redelivery needs, `RPolicy` what the policy's retries need.
 *
 * @since 0.1.0
 * @category models
 */
export interface HandlerOptions<E, R = never, RPolicy = R> {
  /** timeouts and in-process retries; default: none */
  readonly policy?: Policy<E, RPolicy> | undefined
  /** from a failure to a settlement; default: `Redelivery.standard`, on FIFO queues `Redelivery.fifo` */
  readonly redelivery?: Redelivery<TagsOf<E | AttemptTimedOut | TotalTimedOut | LeaseLost>, R> | undefined
  /** whether a handler whose lease is lost is interrupted (the default) or may go on */
  readonly onLeaseLost?: "interrupt" | "continue" | undefined
}

/**
 * What nobody can provide: it stands for the `Scope` that a handler needs.
 *
 * @since 0.1.0
 * @category models
 */
export interface HandlerIsNotScoped {
  readonly HandlerIsNotScoped: "wrap what the handler does in Effect.scoped"
}

/**
 * What a handler needs. A `Scope` would be that of the consumer, and what each run acquires in it would pile up until the consumer
 * ends: a handler that acquires resources scopes them itself, with `Effect.scoped`, and one that does not cannot be run.
 *
 * @since 0.1.0
 * @category models
 */
export type HandlerNeeds<R> = R extends Scope.Scope ? HandlerIsNotScoped : R

/**
 * Which delivery something is about: an event, a line of a report.
 *
 * @since 0.1.0
 * @category models
 */
export interface Subject {
  readonly messageId: string
  readonly receiptHandle: string
  /** this receive included; 1 at first */
  readonly receiveCount: number
}

/**
 * A delivery. `process` settles it by its handler's exit; `release` gives it back unrun. It ends exactly once: a second
 * call answers with `AlreadySettled` as the problem. The first call on one that has ended by itself, since its lease was lost
 * or the consumer drained, is told how.
 *
 * @since 0.1.0
 * @category models
 */
export interface Delivery<out A> {
  readonly body: A
  /** as SQS handed it out */
  readonly message: ReceivedMessage
  readonly messageId: string
  /** of this delivery; every receive has its own */
  readonly receiptHandle: string
  /** how often SQS has handed the message out, this time included; 1 at first */
  readonly receiveCount: number
  /** whether the queue's redrive policy takes the message at its next receive; `undefined`: not known */
  readonly isLastAttempt: boolean | undefined
  /** what is left until the lease's present deadline; a heartbeat moves it on */
  readonly remaining: Effect.Effect<Duration.Duration>
  /** set when the lease is lost: a handler that may go on can look, and a finalizer can tell why it runs */
  readonly leaseLost: LeaseLost | undefined
  /**
   * Hides the message for so long from now (whole seconds, at least 1), at most to SQS's 12 hours. The heartbeat knows it
   * and does not cut it. Tried again inside the lease; fails when the lease is lost, or nothing is left of the 12 hours.
   */
  readonly extend: (duration: Duration.DurationInput) => Effect.Effect<void, LeaseLost>
  /** the same, until a point of time in epoch ms */
  readonly extendUntil: (epochMs: number) => Effect.Effect<void, LeaseLost>
  /**
   * Runs the handler in a fiber of the consumer, under its lease and within its concurrency, and settles the delivery by
   * the exit. Interrupting `process` stops the waiting only: the handler goes on until it ends, or until the consumer is
   * drained.
   */
  readonly process: <E, R, RRedelivery = never, RPolicy = never>(
    handler: (body: A, delivery: Delivery<A>) => Effect.Effect<void, E, R>,
    options?: HandlerOptions<E, RRedelivery, RPolicy>
  ) => Effect.Effect<Settled, never, HandlerNeeds<R> | RRedelivery | RPolicy>
  /** gives it back, unrun, visible to others after `after` (default: at once) */
  readonly release: (after?: Duration.DurationInput) => Effect.Effect<Settled>
}
