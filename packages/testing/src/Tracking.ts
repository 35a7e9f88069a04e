/**
 * Writes the runs of a handler into the journal of the virtual SQS, so that queries, timelines and invariants know of them.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Journal, RunEnded } from "./Journal.js"
import { trueTimeMillis } from "./SimClock.js"

/**
 * What `tracked` must know of a delivery; the consumer's own deliveries have it.
 *
 * @since 0.1.0
 * @category models
 */
export interface TrackedDelivery {
  readonly messageId: string
  readonly receiptHandle: string
}

/**
 * The same handler, with the beginning and the end of each of its runs written into a journal. A run has ended when its
 * finalizers have.
 *
 * @since 0.1.0
 * @category combinators
 * @example
 * import { Journal, Tracking } from "@effect-sqs/testing"
 * import { Effect } from "effect"
 *
 * const journal = Journal.make()
 * export const handler = Tracking.tracked({ journal, queue: "jobs" }, (body: string) => Effect.log(body))
 */
export const tracked =
  <A, D extends TrackedDelivery, E, R>(
    where: { readonly journal: Journal; readonly queue: string },
    handler: (body: A, delivery: D) => Effect.Effect<void, E, R>
  ) =>
  (body: A, delivery: D): Effect.Effect<void, E, R> => {
    const { journal, queue } = where
    const { messageId, receiptHandle } = delivery
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        journal.append({ _tag: "RunStarted", at: yield* trueTimeMillis, queue, messageId, receiptHandle })
        const exit = yield* Effect.exit(restore(Effect.suspend(() => handler(body, delivery))))
        journal.append({ _tag: "RunEnded", at: yield* trueTimeMillis, queue, messageId, receiptHandle, ...endOf(exit) })
        return yield* exit
      })
    )
  }

const endOf = (exit: Exit.Exit<void, unknown>): Pick<RunEnded, "outcome" | "reason"> => {
  if (Exit.isSuccess(exit)) return { outcome: "success" }
  const reason = String(Cause.squash(exit.cause))
  if (Cause.isFailure(exit.cause)) return { outcome: "failure", reason }
  return Cause.isInterrupted(exit.cause) ? { outcome: "interrupted" } : { outcome: "defect", reason }
}
