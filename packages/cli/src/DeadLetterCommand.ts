/**
 * `dlq`: dead letters.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"

/**
 * @since 0.1.0
 * @category commands
 */
export const dlq = Command.make("dlq").pipe(
  Command.withDescription(
    "Dead letters: look without losing, send back a few, then the rest, or discard with a reason."
  )
)
