/**
 * From a failure and the receive count to a settlement: when a message comes again, and when it does not.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import { hasProperty } from "effect/Predicate"
import type * as Runtime from "effect/Runtime"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleIntervals from "effect/ScheduleIntervals"
import { cut, saying } from "./internal/text.js"
import { MAX_VISIBILITY_SECONDS } from "./Lease.js"
import * as Settlement from "./Settlement.js"

/**
 * What a policy looks at. It sees the present error only: SQS keeps no history but the receive count.
 *
 * @since 0.1.0
 * @category models
 */
export interface Failure {
  readonly cause: Cause.Cause<unknown>
  /** the failure, defect or interruption of the cause */
  readonly error: unknown
  /** this receive included; 1 at first */
  readonly receiveCount: number
  /** whether the queue's redrive policy takes the message at its next receive; `undefined`: not known */
  readonly isLastAttempt: boolean | undefined
  /** epoch ms */
  readonly now: number
  /** the most that a release may ask: what is left of SQS's 12 hours since the receive */
  readonly maxDelay: Duration.Duration
}

/**
 * A policy. `Named` are the error tags that it mentions: a consumer accepts only tags that its handler can fail with.
 * `R` is what its schedules need.
 *
 * @since 0.1.0
 * @category models
 */
export interface Redelivery<out Named extends string = never, out R = never> extends Pipeable {
  readonly Named?: Named
  readonly decide: (failure: Failure) => Effect.Effect<Settlement.Settlement, never, R>
  /**
   * The delays of the first `n` receives for an error that no tag names, if they can be told beforehand: shorter than
   * `n` where the policy stops releasing.
   */
  readonly delays: ((n: number, now: number) => Effect.Effect<ReadonlyArray<Duration.Duration>, never, R>) | undefined
}

/**
 * The tags of an error channel. While the handler's type is still unknown, every tag is let through.
 *
 * @since 0.1.0
 * @category models
 */
export type TagsOf<E> = unknown extends E ? string : E extends { readonly _tag: infer T extends string } ? T : never

const Proto = {
  pipe() {
    return pipeArguments(this, arguments)
  }
}

const of = <N extends string, R>(
  decide: Redelivery<N, R>["decide"],
  delays: Redelivery<N, R>["delays"] = undefined
): Redelivery<N, R> => Object.assign(Object.create(Proto), { decide, delays })

/**
 * A policy with what it needs.
 *
 * @internal
 */
export const provided = <N extends string, R>(
  policy: Redelivery<N, R>,
  runtime: Runtime.Runtime<R>
): Redelivery<string> => of((failure) => Effect.provide(policy.decide(failure), runtime))

const MAX_REASON_CHARS = 256

/** A short text for a failure: its tag and the first words of its message. */
const reasonOf = (error: unknown): string =>
  cut(
    saying(() => tagAndMessage(error)),
    MAX_REASON_CHARS
  )

const tagAndMessage = (error: unknown): string => {
  const text = (e: { readonly message: unknown }) => String(e.message).split("\n", 1)[0]!.trim()
  const tag = hasProperty(error, "_tag") ? String(error._tag) : error instanceof Error ? error.name : undefined
  const message = hasProperty(error, "message") ? text(error) : tag === undefined ? String(error) : ""
  return tag === undefined ? message : message === "" || message === tag ? tag : `${tag}: ${message}`
}

/**
 * A policy from a function.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <R = never>(
  decide: (failure: Failure) => Effect.Effect<Settlement.Settlement, never, R>
): Redelivery<never, R> => of(decide)

/**
 * Dead-letter the message; the reason is the error's tag and the first line of its message, at most 256 characters.
 *
 * @since 0.1.0
 * @category constructors
 */
export const deadLetter: Redelivery = of(
  (f) => Effect.succeed(Settlement.DeadLetter(reasonOf(f.error))),
  () => Effect.succeed([])
)

/**
 * Dead-letter the message with a reason of your own, for errors whose text must not be seen.
 *
 * @since 0.1.0
 * @category constructors
 */
export const deadLetterAs = (reason: (failure: Failure) => string): Redelivery =>
  of(
    (f) => Effect.succeed(Settlement.DeadLetter(reason(f))),
    () => Effect.succeed([])
  )

/**
 * Nothing is sent: the message comes again when its visibility ends, as the queue's redrive policy allows.
 *
 * @since 0.1.0
 * @category constructors
 */
export const leave: Redelivery = of(() => Effect.succeed(Settlement.Leave))

const delete_: Redelivery = of(
  () => Effect.succeed(Settlement.Delete),
  () => Effect.succeed([])
)

export {
  /**
   * Drop the message: the failure means that nobody needs it any more.
   *
   * @since 0.1.0
   * @category constructors
   */
  delete_ as delete
}

const atMost = (delay: Duration.Duration, f: Failure) => Settlement.Release(Duration.min(delay, f.maxDelay))

/**
 * Release after a fixed delay, at most what is left of the 12 hours.
 *
 * @since 0.1.0
 * @category constructors
 */
export const release = (after: Duration.DurationInput): Redelivery => {
  const delay = Duration.decode(after)
  return of(
    (f) => Effect.succeed(atMost(delay, f)),
    (n) => Effect.succeed(Array.from({ length: n }, () => delay))
  )
}

/** A fold of more steps costs ms and changes nothing: SQS moves a message after 1,000 receives at the latest. */
const MAX_STEPS = 1000
const MAX_DELAY_MS = MAX_VISIBILITY_SECONDS * 1000

/** The delays of steps 1 to n; shorter when the schedule ends. A last step is an end, not a delay of 0. */
const fold = <Out, R>(
  schedule: Schedule.Schedule<Out, unknown, R>,
  n: number,
  start: number,
  error: unknown
): Effect.Effect<ReadonlyArray<Duration.Duration>, never, R> =>
  Effect.gen(function* () {
    const delays: Array<Duration.Duration> = []
    let state = schedule.initial
    let now = start
    while (delays.length < Math.min(n, MAX_STEPS)) {
      const [next, , decision] = yield* schedule.step(now, error, state)
      if (ScheduleDecision.isDone(decision)) break
      // no more is ever waited, and times beyond all bounds have no difference
      const delayMs = Math.min(Math.max(0, ScheduleIntervals.start(decision.intervals) - now), MAX_DELAY_MS)
      delays.push(Duration.millis(delayMs))
      state = next
      now += delayMs
    }
    return delays
  })

/**
 * Reads a `Schedule` over the receive count: the n-th receive takes the n-th delay, at most what is left of the 12
 * hours. `whenOver` says what a schedule that has ended means. Past 1,000 receives the 1,000th delay is taken.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import * as Redelivery from "@effect-sqs/core/Redelivery"
 * import { Schedule } from "effect"
 *
 * // 10 s, 20 s, 40 s, then the dead-letter queue
 * export const backoff = Redelivery.schedule(
 *   Schedule.exponential("10 seconds").pipe(Schedule.intersect(Schedule.recurs(3))),
 *   { whenOver: Redelivery.deadLetter }
 * )
 */
export const schedule = <Out, R = never, N extends string = never, R2 = never>(
  schedule: Schedule.Schedule<Out, unknown, R>,
  options: { readonly whenOver: Redelivery<N, R2> }
): Redelivery<N, R | R2> =>
  of<N, R | R2>(
    (f) => {
      const n = Math.min(f.receiveCount, MAX_STEPS)
      return Effect.flatMap(fold(schedule, n, f.now, f.error), (delays) =>
        delays.length < n ? options.whenOver.decide(f) : Effect.succeed(atMost(delays[n - 1]!, f))
      )
    },
    // there is no error yet: a schedule that looks into it cannot tell
    (n, now) => Effect.catchAllCause(fold(schedule, n, now, undefined), () => Effect.succeed([]))
  )

/** The error of the handler's error channel, if it failed with one. Defects have tags too, but nobody expected them. */
const failureIn = (f: Failure): unknown => Option.getOrUndefined(Cause.failureOption(f.cause))

/**
 * For failures with this tag take another policy. Of several for one tag the last in the pipe is asked. A defect is never
 * meant, whatever its tag.
 *
 * @since 0.1.0
 * @category combinators
 */
export const catchTag =
  <const K extends string, N2 extends string, R2>(tag: K, policy: Redelivery<N2, R2>) =>
  <N extends string, R>(self: Redelivery<N, R>): Redelivery<N | N2 | K, R | R2> =>
    of<N | N2 | K, R | R2>((f) => {
      const error = failureIn(f)
      return hasProperty(error, "_tag") && error._tag === tag ? policy.decide(f) : self.decide(f)
    }, self.delays)

/**
 * For errors of this class take the policy that the error itself gives. A defect is never meant.
 *
 * @since 0.1.0
 * @category combinators
 * @example
 * import * as Redelivery from "@effect-sqs/core/Redelivery"
 * import { Schema } from "effect"
 *
 * class Busy extends Schema.TaggedError<Busy>()("Busy", { retryAfter: Schema.DurationFromMillis }) {}
 *
 * export const policy = Redelivery.standard.pipe(Redelivery.catchError(Busy, (e) => Redelivery.release(e.retryAfter)))
 */
export const catchError =
  <E extends { readonly _tag: string }, N2 extends string, R2>(
    error: new (...args: any) => E,
    policy: (error: E) => Redelivery<N2, R2>
  ) =>
  <N extends string, R>(self: Redelivery<N, R>): Redelivery<N | N2 | E["_tag"], R | R2> =>
    of<N | N2 | E["_tag"], R | R2>((f) => {
      const failure = failureIn(f)
      return failure instanceof error ? policy(failure).decide(f) : self.decide(f)
    }, self.delays)

/**
 * On the last receive before the queue's redrive policy takes the message, another policy: for instance `deadLetter`,
 * so that the copy carries the reason. Does nothing where maxReceiveCount is not known.
 *
 * @since 0.1.0
 * @category combinators
 */
export const lastAttempt =
  <N2 extends string, R2>(policy: Redelivery<N2, R2>) =>
  <N extends string, R>(self: Redelivery<N, R>): Redelivery<N | N2, R | R2> =>
    of<N | N2, R | R2>((f) => (f.isLastAttempt === true ? policy.decide(f) : self.decide(f)), self.delays)

const backoff = (from: Duration.DurationInput, to: Duration.DurationInput) =>
  schedule(
    Schedule.exponential(from).pipe(Schedule.union(Schedule.spaced(to)), Schedule.jitteredWith({ min: 0.5, max: 1 })),
    { whenOver: leave }
  )

/**
 * The default on standard queues: exponential from 10 s to 15 minutes, each delay cut by a random factor of 0.5 to 1.
 *
 * @since 0.1.0
 * @category constructors
 */
export const standard: Redelivery = backoff("10 seconds", "15 minutes")

/**
 * The default on FIFO queues, where the whole group waits: exponential from 1 s to 1 minute, jittered alike.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fifo: Redelivery = backoff("1 second", "1 minute")

/**
 * What a policy is told of a cause: the failure if there is one, else the defect, else the interruption.
 *
 * @since 0.1.0
 * @category constructors
 */
export const failureOf = (cause: Cause.Cause<unknown>, facts: Omit<Failure, "cause" | "error">): Failure => ({
  ...facts,
  cause,
  error: Cause.squash(cause)
})
