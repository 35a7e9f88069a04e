import { VirtualSqs } from "@effect-sqs/testing"
import { Effect, type Exit, Fiber, Option, type Scope, TestClock } from "effect"

/** A worker under test: it runs beside the test and is drained at its end, with virtual time passing meanwhile. */
export interface Worker<E> {
  readonly fiber: Fiber.RuntimeFiber<never, E>
  /** interrupts it, lets virtual time pass until the drain is over, and answers the exit; once or more often */
  readonly stop: Effect.Effect<Exit.Exit<never, E>>
}

/** Virtual time passes by the second until the fiber has ended. */
export const passUntilDone = <A, E>(
  fiber: Fiber.RuntimeFiber<A, E>,
  mostSeconds = 600
): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.gen(function* () {
    for (let s = 0; s < mostSeconds; s++) {
      const exit = yield* Fiber.poll(fiber)
      if (Option.isSome(exit)) return exit.value
      yield* TestClock.adjust("1 second")
    }
    return yield* Effect.dieMessage(`still running after ${mostSeconds} virtual seconds`)
  })

export const worker = <E, R>(run: Effect.Effect<never, E, R>): Effect.Effect<Worker<E>, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkDaemon(Effect.interruptible(run))
    const stop = Effect.gen(function* () {
      yield* Fiber.interruptFork(fiber)
      return yield* passUntilDone(fiber)
    })
    yield* Effect.addFinalizer(() => stop)
    return { fiber, stop }
  })

/** A queue `jobs` with a dead-letter queue `dead`, and what a test changes of it. */
export const jobs = (
  options: {
    readonly visibility?: number
    readonly maxReceiveCount?: number
    readonly name?: string
  } & Omit<VirtualSqs.VirtualSqsOptions, "queues"> = {}
) => {
  const { maxReceiveCount = 5, name = "jobs", visibility = 30, ...rest } = options
  const dead = name.endsWith(".fifo") ? "dead.fifo" : "dead"
  return VirtualSqs.layer({
    ...rest,
    queues: [
      dead,
      { name, attributes: { VisibilityTimeout: visibility }, deadLetters: { queue: dead, maxReceiveCount } }
    ]
  })
}
