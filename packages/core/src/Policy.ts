/**
 * Timeouts and retries of one delivery as one value, that can be printed.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { EndWith } from "./Settlement.js"

/**
 * One try took longer than the policy's `attemptTimeout`; it was interrupted, and its cleanup has ended.
 *
 * @since 0.1.0
 * @category errors
 */
export class AttemptTimedOut extends Schema.TaggedError<AttemptTimedOut>()("AttemptTimedOut", {
  after: Schema.DurationFromSelf
}) {
  override get message() {
    return `One try took longer than ${Duration.format(this.after)}`
  }
}

/**
 * All tries of one delivery took longer than the policy's `totalTimeout`.
 *
 * @since 0.1.0
 * @category errors
 */
export class TotalTimedOut extends Schema.TaggedError<TotalTimedOut>()("TotalTimedOut", {
  after: Schema.DurationFromSelf
}) {
  override get message() {
    return `All tries of this delivery took longer than ${Duration.format(this.after)}`
  }
}

/**
 * A policy for handlers that fail with `E`; `R` is what its schedule needs.
 *
 * @since 0.1.0
 * @category models
 */
export interface Policy<in E = unknown, out R = never> {
  readonly attemptTimeout: Duration.Duration | undefined
  readonly totalTimeout: Duration.Duration | undefined
  readonly retry: Schedule.Schedule<unknown, E | AttemptTimedOut, R> | undefined
  /** one line per rule, aligned as a table */
  readonly toString: () => string
}

const render = (policy: Omit<Policy<never, unknown>, "toString">) => {
  const rows: ReadonlyArray<readonly [string, string]> = [
    ["attempt timeout", policy.attemptTimeout === undefined ? "none" : Duration.format(policy.attemptTimeout)],
    ["retry in process", policy.retry === undefined ? "none" : "by a schedule, on failures and attempt timeouts"],
    ["total timeout", policy.totalTimeout === undefined ? "none" : Duration.format(policy.totalTimeout)]
  ]
  return rows.map(([rule, value]) => `${rule.padEnd(16)}  ${value}`).join("\n")
}

/**
 * A policy from its parts. Retries happen in this process, inside the one lease of the delivery, and only after
 * failures: a defect, an interruption or an explicit end (`Settlement.endWith`) is not retried. What is left after them
 * goes to the redelivery policy.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import * as Policy from "@effect-sqs/core/Policy"
 * import { Schedule } from "effect"
 *
 * export const policy = Policy.make({
 *   attemptTimeout: "10 minutes",
 *   retry: Schedule.exponential("1 second").pipe(Schedule.intersect(Schedule.recurs(2))),
 *   totalTimeout: "30 minutes"
 * })
 */
export const make = <E = unknown, R = never>(options: {
  readonly attemptTimeout?: Duration.DurationInput | undefined
  readonly retry?: Schedule.Schedule<unknown, E | AttemptTimedOut, R> | undefined
  readonly totalTimeout?: Duration.DurationInput | undefined
}): Policy<E, R> => {
  const parts = {
    attemptTimeout: options.attemptTimeout === undefined ? undefined : Duration.decode(options.attemptTimeout),
    totalTimeout: options.totalTimeout === undefined ? undefined : Duration.decode(options.totalTimeout),
    retry: options.retry
  }
  return { ...parts, toString: () => render(parts as Omit<Policy<never, unknown>, "toString">) }
}

/**
 * A handler's run under a policy. Each timeout waits until what it interrupted has cleaned up.
 *
 * @since 0.1.0
 * @category combinators
 */
export const apply =
  <E, R2>(policy: Policy<E, R2>) =>
  <A, R>(run: Effect.Effect<A, E, R>): Effect.Effect<A, E | AttemptTimedOut | TotalTimedOut, R | R2> => {
    const { attemptTimeout, retry, totalTimeout } = policy
    return Effect.suspend(() => {
      let done: Done<A> | undefined
      const noted = Effect.tap(run, (value) => {
        done = { value }
      })
      const isDone = () => done
      const attempt: Effect.Effect<A, E | AttemptTimedOut, R> =
        attemptTimeout === undefined
          ? noted
          : within(noted, attemptTimeout, isDone, () => new AttemptTimedOut({ after: attemptTimeout }))
      const tries: Effect.Effect<A, E | AttemptTimedOut, R | R2> =
        retry === undefined
          ? attempt
          : // an explicit end looks like a failure, and is none
            Effect.retry(attempt, { schedule: retry, while: (e) => !(e instanceof EndWith) })
      return totalTimeout === undefined
        ? tries
        : within(tries, totalTimeout, isDone, () => new TotalTimedOut({ after: totalTimeout }))
    })
  }

interface Done<A> {
  readonly value: A
}

/** When a process wakes from a sleep, work and time limit may end at one instant: what is done then is done. */
const within = <A, E, R, T>(
  run: Effect.Effect<A, E, R>,
  duration: Duration.Duration,
  isDone: () => Done<A> | undefined,
  timedOut: () => T
): Effect.Effect<A, E | T, R> =>
  Effect.flatten(
    Effect.timeoutTo(run, {
      duration,
      onSuccess: (value): Effect.Effect<A, T> => Effect.succeed(value),
      onTimeout: () =>
        Effect.suspend(() => {
          const done = isDone()
          return done === undefined ? Effect.fail(timedOut()) : Effect.succeed(done.value)
        })
    })
  )
