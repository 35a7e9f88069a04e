/**
 * How a program ends that cannot go on: with a message that says what to do. A stack is for bugs only.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

/** Defects that are no bugs but a state of affairs: they have a tag and a message. */
const isTold = (defect: unknown): defect is Error & { readonly _tag: string } =>
  defect instanceof Error && "_tag" in defect

/**
 * Writes a failure's message to standard error, and fails on, for the exit code.
 *
 * @since 0.1.0
 * @category combinators
 */
export const reportingFailures = <A, E extends { readonly message: string }, R>(
  program: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  // As a finalizer: a stop that is not complete is an interruption with a defect, and is told too.
  Effect.onError(program, (cause) => {
    if (Cause.isInterruptedOnly(cause)) return Effect.void
    const told = [...Cause.failures(cause), ...Array.from(Cause.defects(cause)).filter(isTold)]
    const bugs = Array.from(Cause.defects(cause)).filter((defect) => !isTold(defect))
    return Console.error([...told.map((e) => e.message), ...(bugs.length > 0 ? [Cause.pretty(cause)] : [])].join("\n"))
  })
