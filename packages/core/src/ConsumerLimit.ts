/**
 * One limit of concurrency for several consumers of a process.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { SharedLimit } from "./internal/sharedLimit.js"

/**
 * @since 0.1.0
 * @category type ids
 */
export const TypeId: unique symbol = Symbol.for("@effect-sqs/core/ConsumerLimit")

/**
 * A number of places that several consumers share. Each keeps its own `concurrency` too; a delivery takes its consumer's
 * weight of the shared places while its handler runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConsumerLimit {
  readonly [TypeId]: SharedLimit
  readonly size: number
}

/**
 * @since 0.1.0
 * @category constructors
 * @example
 * import { Consumer, ConsumerLimit, SqsQueue } from "@effect-sqs/core"
 * import { Effect, Layer, Schema } from "effect"
 *
 * const Jobs = SqsQueue.make("jobs", { schema: Schema.String })
 * const Reports = SqsQueue.make("reports", { schema: Schema.String })
 *
 * // at most 20 jobs, or 5 reports, or a mixture
 * export const workers = Layer.unwrapEffect(
 *   Effect.map(ConsumerLimit.make(20), (limit) =>
 *     Layer.mergeAll(
 *       Consumer.layer(Jobs, { concurrency: 20, limit: { of: limit } }, () => Effect.void),
 *       Consumer.layer(Reports, { concurrency: 5, limit: { of: limit, weight: 4 } }, () => Effect.void)
 *     )
 *   )
 * )
 */
export const make = (size: number): Effect.Effect<ConsumerLimit> =>
  Effect.sync(() => ({ [TypeId]: new SharedLimit(size), size }))
