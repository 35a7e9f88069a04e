import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import { Alarms } from "./alarms.js"

/**
 * The one place where plain code starts fibers. They are roots: nobody's interruption reaches them but ours.
 */
export interface Forker<R> {
  readonly fork: <A, E>(effect: Effect.Effect<A, E, R>) => Fiber.RuntimeFiber<A, E>
  /** calls `f` after `ms`, rounded up to whole ones; the answer cancels */
  readonly after: (ms: number, f: () => void) => () => void
}

export const make = <R>(runtime: Runtime.Runtime<R>, clock: Clock.Clock): Forker<R> => {
  // a consumer that was made in an uninterruptible region, as in an acquire, must be able to interrupt its handlers
  const fork = Runtime.runFork(Runtime.enableRuntimeFlag(runtime, RuntimeFlags.Interruption))
  const origin = clock.unsafeCurrentTimeNanos()
  const alarms = new Alarms(
    () => Number(clock.unsafeCurrentTimeNanos() - origin) / 1_000_000,
    (ms, then) => {
      const fiber = fork(Effect.map(clock.sleep(Duration.millis(ms)), then))
      return () => interrupt(fiber)
    }
  )
  return { fork: (effect) => fork(effect), after: (ms, f) => alarms.after(ms, f) }
}

export const interrupt = (fiber: Fiber.RuntimeFiber<any, any>): void => fiber.unsafeInterruptAsFork(FiberId.none)

/** When a process wakes from a sleep its time limits are over, and answers that came meanwhile are not read yet. */
const LAST_LOOK_MS = 1

/**
 * A call in a fiber of its own, cut when it takes longer than `ms`. One fiber and no race, since a busy consumer makes a
 * thousand of these a second. `done` gets its exit, a failure with `onTimeout` when it was cut.
 */
export const within = <A, E>(
  forker: Forker<never>,
  ms: number,
  call: Effect.Effect<A, E>,
  onTimeout: () => E,
  done: (exit: Exit.Exit<A, E>) => void
): Fiber.RuntimeFiber<A, E> => {
  let late = false
  const fiber = forker.fork(call)
  const cut = () => {
    late = true
    interrupt(fiber)
  }
  let cancel = forker.after(ms, () => {
    cancel = forker.after(LAST_LOOK_MS, cut)
  })
  fiber.addObserver((exit) => {
    cancel()
    done(late && Exit.isInterrupted(exit) ? Exit.fail(onTimeout()) : exit)
  })
  return fiber
}
