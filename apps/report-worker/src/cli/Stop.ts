/**
 * What Ctrl-C and SIGTERM mean for a command: where it leaves something going on, it says so.
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { ExitCode } from "./CliError.js"

/**
 * The exit code of a stop; a command sets its own before it goes on.
 *
 * @since 0.1.0
 * @category services
 */
export class Stop extends Context.Tag("@effect-sqs/report-worker/cli/Stop")<Stop, { exitCode: number }>() {}

/**
 * Stopping is how it ends: exit code 0.
 *
 * @since 0.1.0
 * @category combinators
 */
export const endsByStop = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Stop> =>
  Effect.zipRight(
    Effect.map(Stop, (stop) => void (stop.exitCode = ExitCode.ok)),
    self
  )

/**
 * Says what a stop leaves.
 *
 * @since 0.1.0
 * @category combinators
 */
export const saysWhenStopped =
  (sentence: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.onInterrupt(self, () => Console.error(sentence))
