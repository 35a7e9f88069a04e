/**
 * Work in a fiber of its own whose own exit counts.
 *
 * An interruption is sent to the children of a fiber although the fiber itself is in an uninterruptible region, and a
 * timeout runs its effect in a child: so a write that must be waited for would be cut off, and a result that came in spite
 * of an interruption would be thrown away. A daemon fiber gets only what is sent to it here.
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

export type Restore = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * To be used in an uninterruptible region, with its `restore`: where the caller may be interrupted the work is, and is
 * waited for. What goes on `beside` it is given the fiber, and ends with it.
 */
export const apart = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  restore: Restore,
  beside: (fiber: Fiber.RuntimeFiber<A, E>) => ReadonlyArray<Effect.Effect<unknown>> = () => []
): Effect.Effect<Exit.Exit<A, E>, never, R> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkDaemon(Effect.interruptible(self))
    const others = yield* Effect.forEach(beside(fiber), (other) => Effect.forkDaemon(Effect.interruptible(other)))
    yield* restore(Fiber.await(fiber)).pipe(
      Effect.onInterrupt(() => Fiber.interrupt(fiber)),
      Effect.exit
    )
    const exit = yield* Fiber.await(fiber)
    yield* Fiber.interruptAll(others)
    return exit
  })
