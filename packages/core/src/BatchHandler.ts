/**
 * A handler that works on several deliveries at once.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import type { Delivery } from "./Delivery.js"
import type { SqsQueue } from "./SqsQueue.js"

/**
 * How a batch is filled.
 *
 * @since 0.1.0
 * @category models
 */
export interface BatchOptions {
  /** deliveries in a full batch; no more than the consumer's concurrency, or it never gets full */
  readonly size: number
  /** how long the first delivery of a batch waits for the others */
  readonly window: Duration.DurationInput
}

/**
 * The answer for a whole batch: nothing, when all of it succeeded, or one result per delivery, in order.
 *
 * @since 0.1.0
 * @category models
 */
export type BatchResult<E> = void | ReadonlyArray<Either.Either<void, E>>

interface Member<A, E> {
  readonly delivery: Delivery<A>
  readonly resume: (exit: Exit.Exit<void, E>) => void
}

interface Batch<A, E> {
  readonly members: Array<Member<A, E>>
  /** whose caller still waits */
  waiting: number
  fiber: Fiber.RuntimeFiber<void> | undefined
}

/** The batch handler answered with another number of results than it was given deliveries. */
const mismatch = (expected: number, got: number) =>
  new Error(`The batch handler answered ${got} results for ${expected} deliveries: answer one per delivery, in order.`)

/**
 * Makes a handler for `Consumer.run` on this queue that collects deliveries, up to `size` or for `window`, and gives them to `f`
 * together. Each delivery keeps its own lease and is settled by its own result; when `f` fails as a whole, each of its
 * deliveries fails with that. When one of them loses its lease it leaves the batch; when all have left, `f` is
 * interrupted.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import { BatchHandler, Consumer, SqsQueue } from "@effect-sqs/core"
 * import { Effect, Schema } from "effect"
 *
 * const Rows = SqsQueue.make("rows", { schema: Schema.Struct({ id: Schema.String }) })
 *
 * export const worker = Effect.flatMap(
 *   BatchHandler.make(Rows, { size: 50, window: "200 millis" }, (deliveries) =>
 *     Effect.log(`insert ${deliveries.map((d) => d.body.id).join(", ")}`)
 *   ),
 *   (handler) => Consumer.run(Rows, { concurrency: 100 }, handler)
 * )
 */
export const make = <A, I, RS, E, R>(
  _queue: SqsQueue<A, I, RS>,
  options: BatchOptions,
  f: (deliveries: ReadonlyArray<Delivery<A>>) => Effect.Effect<BatchResult<E>, E, R>
): Effect.Effect<(body: A, delivery: Delivery<A>) => Effect.Effect<void, E>, never, R> =>
  Effect.map(Effect.runtime<R>(), (runtime) => {
    const fork = Runtime.runFork(runtime)
    const windowMs = Duration.toMillis(options.window)
    let open: Batch<A, E> | undefined
    let timer: Fiber.RuntimeFiber<void> | undefined

    const start = () => {
      const batch = open
      if (batch === undefined) return
      open = undefined
      timer = undefined
      const { members } = batch
      // all of them have left again
      if (members.length === 0) return
      batch.fiber = fork(
        Effect.suspend(() => f(members.map((m) => m.delivery))).pipe(
          Effect.exit,
          Effect.map((exit) => {
            members.forEach((member, i) => member.resume(resultOf(exit, i, members.length)))
          })
        )
      )
    }

    const join = (delivery: Delivery<A>, resume: Member<A, E>["resume"]) => {
      const member: Member<A, E> = { delivery, resume }
      const batch = (open ??= { members: [], waiting: 0, fiber: undefined })
      batch.members.push(member)
      batch.waiting++
      if (batch.members.length >= options.size) {
        const early = timer
        start()
        if (early !== undefined) fork(Fiber.interrupt(early))
      } else timer ??= fork(Effect.map(Effect.sleep(windowMs), start))
      return () => leave(batch, member)
    }

    const leave = (batch: Batch<A, E>, member: Member<A, E>): Effect.Effect<void> =>
      Effect.suspend(() => {
        batch.waiting--
        if (batch.fiber === undefined) {
          batch.members.splice(batch.members.indexOf(member), 1)
          return Effect.void
        }
        return batch.waiting > 0 ? Effect.void : Effect.asVoid(Fiber.interrupt(batch.fiber))
      })

    return (_, delivery) =>
      Effect.async<void, E>((resume) => {
        const leaving = join(delivery, (exit) => resume(exit))
        return leaving()
      })
  })

const resultOf = <E>(exit: Exit.Exit<BatchResult<E>, E>, i: number, n: number): Exit.Exit<void, E> => {
  if (Exit.isFailure(exit)) return Exit.failCause(exit.cause)
  const results = exit.value
  if (results === undefined) return Exit.void
  if (results.length !== n) return Exit.die(mismatch(n, results.length))
  return Either.match(results[i]!, { onLeft: (e) => Exit.fail(e), onRight: () => Exit.void })
}
