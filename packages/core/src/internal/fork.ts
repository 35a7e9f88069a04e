import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"

/**
 * The one place where plain code starts fibers. They are roots: nobody's interruption reaches them but ours.
 */
export interface Forker<R> {
  readonly fork: <A, E>(effect: Effect.Effect<A, E, R>) => Fiber.RuntimeFiber<A, E>
  /** calls `f` after `ms`, rounded up to whole ones; the answer cancels */
  readonly after: (ms: number, f: () => void) => () => void
}

export const make = <R>(runtime: Runtime.Runtime<R>): Forker<R> => {
  // a consumer that was made in an uninterruptible region, as in an acquire, must be able to interrupt its handlers
  const fork = Runtime.runFork(Runtime.enableRuntimeFlag(runtime, RuntimeFlags.Interruption))
  return {
    fork: (effect) => fork(effect),
    after: (ms, f) => {
      // a timer of less than the clock's grain fires too early: who looks at the time would set it again and again
      const fiber = fork(Effect.map(Effect.sleep(Math.max(0, Math.ceil(ms))), f))
      return () => fiber.unsafeInterruptAsFork(FiberId.none)
    }
  }
}

export const interrupt = (fiber: Fiber.RuntimeFiber<any, any>): void => fiber.unsafeInterruptAsFork(FiberId.none)
