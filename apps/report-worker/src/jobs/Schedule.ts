/**
 * When a job's message is sent. All times in epoch ms.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"

/**
 * The longest that SQS keeps a message back.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxDelayMs = Duration.toMillis("15 minutes")

/**
 * When the message of a job that must not run before `notBefore` can be sent at the earliest: SQS keeps it back for the rest.
 *
 * @since 0.1.0
 * @category times
 */
export const sendAtOf = (notBefore: number, now: number): number => Math.max(now, notBefore - maxDelayMs)

/**
 * How long SQS is to keep a message back that is sent now.
 *
 * @since 0.1.0
 * @category times
 */
export const delayMsOf = (notBefore: number | undefined, now: number): number =>
  notBefore === undefined ? 0 : Math.min(maxDelayMs, Math.max(0, notBefore - now))

/**
 * How long after a send the next one comes, unless the job ends or runs: `first`, doubled with each send before, at most
 * `longest`.
 *
 * @since 0.1.0
 * @category times
 */
export const pauseMsOf = (sends: number, first: Duration.Duration, longest: Duration.Duration): number =>
  Math.min(Duration.toMillis(longest), Duration.toMillis(first) * 2 ** Math.min(Math.max(0, sends - 1), 40))
