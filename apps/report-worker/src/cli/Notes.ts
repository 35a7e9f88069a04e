/**
 * What is said while a command goes on: on stderr, so that stdout holds nothing but the result.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * @since 0.1.0
 * @category models
 */
export interface Notes {
  /** a line that stays */
  readonly say: (line: string) => Effect.Effect<void>
  /** how far it is: drawn anew in place on a terminal, else a line from time to time */
  readonly progress: (line: string) => Effect.Effect<void>
}

/** where lines stay, so many are enough */
const pauseMs = 10_000

/**
 * On the stderr of this process; the line in place is gone when the scope closes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<Notes, never, Scope.Scope> = Effect.gen(function* () {
  const isTerminal = process.stderr.isTTY === true
  const draw = (text: string) => Effect.sync(() => void process.stderr.write(`\r\u001b[K${text}`))
  const clear = isTerminal ? draw("") : Effect.void
  let shown = ""
  let at = -Infinity
  yield* Effect.addFinalizer(() => (shown === "" ? Effect.void : clear))
  return {
    say: (line) => Effect.zipRight(clear, Console.error(line)),
    progress: (line) =>
      Effect.gen(function* () {
        const width = process.stderr.columns ?? 80
        if (isTerminal) yield* draw(line.slice(0, width - 1))
        else if (line !== shown) {
          const now = yield* Clock.currentTimeMillis
          if (now - at < pauseMs) return
          at = now
          yield* Console.error(line)
        }
        shown = line
      })
  }
})
