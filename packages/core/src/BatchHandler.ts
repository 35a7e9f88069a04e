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
import type { Delivery, HandlerNeeds } from "./Delivery.js"
import { LiveDelivery } from "./internal/delivery.js"
import * as Fork from "./internal/fork.js"
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
  /** it is no longer told of a stop */
  unwatch: () => void
}

interface Batch<A, E> {
  readonly members: Array<Member<A, E>>
  /** members whose caller still wants the result */
  wanted: number
  readonly cancelWindow: () => void
  /** once it has started */
  fiber: Fiber.RuntimeFiber<void> | undefined
}

/**
 * Makes a handler for `Consumer.run` on this queue that collects deliveries, up to `size` or for `window`, and gives them to `f`
 * together. Each delivery keeps its own lease and is settled by its own result; when `f` fails as a whole, each of its
 * deliveries fails with that.
 *
 * A delivery that loses its lease, or whose own timeout is over, leaves the batch. Before the start it is gone at once. While
 * `f` runs it is no more than not waited for: `f` works on it as on the others, and its run has ended when `f` has. When
 * all have left, `f` is interrupted. When the consumer stops, a batch that is not full starts at once, since nothing more
 * will come.
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
): Effect.Effect<(body: A, delivery: Delivery<A>) => Effect.Effect<void, E>, never, HandlerNeeds<R>> =>
  Effect.map(Effect.all([Effect.runtime<any>(), Effect.clock]), ([runtime, clock]) => {
    const forker = Fork.make(runtime, clock)
    const windowMs = Duration.toMillis(options.window)
    let open: Batch<A, E> | undefined

    const openBatch = (): Batch<A, E> => {
      const batch: Batch<A, E> = {
        members: [],
        wanted: 0,
        cancelWindow: forker.after(windowMs, () => start(batch)),
        fiber: undefined
      }
      return (open = batch)
    }

    /** the batch takes no more members */
    const close = (batch: Batch<A, E>) => {
      batch.cancelWindow()
      if (open === batch) open = undefined
    }

    const start = (batch: Batch<A, E>) => {
      // its size, its window and a stop may meet
      if (open !== batch) return
      close(batch)
      const { members } = batch
      for (const member of members) member.unwatch()
      const work = Effect.suspend(() => f(members.map((m) => m.delivery)))
      batch.fiber = forker.fork(
        Effect.flatMap(work, (answer) => Effect.sync(() => resultsOf(answer, members.length))).pipe(
          Effect.exit,
          Effect.map((exit) => {
            members.forEach((member, i) => member.resume(Exit.isSuccess(exit) ? exit.value[i]! : exit))
          })
        )
      )
    }

    const join = (delivery: Delivery<A>, resume: Member<A, E>["resume"]) => {
      const member: Member<A, E> = { delivery, resume, unwatch: () => {} }
      const batch = open ?? openBatch()
      batch.members.push(member)
      batch.wanted++
      if (delivery instanceof LiveDelivery) member.unwatch = delivery.whenStopping(() => start(batch))
      if (batch.members.length >= options.size) start(batch)
      return Effect.suspend(() => leave(batch, member))
    }

    const leave = (batch: Batch<A, E>, member: Member<A, E>): Effect.Effect<unknown> => {
      batch.wanted--
      if (batch.fiber === undefined) {
        member.unwatch()
        batch.members.splice(batch.members.indexOf(member), 1)
        if (batch.members.length === 0) close(batch)
        return Effect.void
      }
      // as long as the work goes on it is a run of this delivery too, which must not be given back
      return batch.wanted > 0 ? Fiber.await(batch.fiber) : Fiber.interrupt(batch.fiber)
    }

    return (_, delivery) => Effect.async<void, E>((resume) => join(delivery, (exit) => resume(exit)))
  })

/** One for each delivery. What plain JavaScript answers instead of a list is success, as with any handler. */
const resultsOf = <E>(answer: BatchResult<E>, n: number): ReadonlyArray<Exit.Exit<void, E>> => {
  if (!Array.isArray(answer)) return Array.from({ length: n }, () => Exit.void)
  if (answer.length !== n) {
    throw new Error(`The batch handler answered ${answer.length} results for ${n} deliveries: answer one per delivery.`)
  }
  return answer.map((result: Either.Either<void, E>, i) => {
    if (!Either.isEither(result)) throw new Error(`The batch handler's answer ${i} is no result: answer an Either.`)
    return Either.match(result, { onLeft: (e) => Exit.fail(e), onRight: () => Exit.void })
  })
}
