/**
 * The metrics of a ledger, made from its events. Durations are in seconds. Keys and texts are no labels.
 *
 * @since 0.1.0
 */
import { MetricName } from "@effect-sqs/core/Telemetry"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import type { LedgerEvent } from "./LedgerEvent.js"

const counter = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

/**
 * Runs that began. Label: `namespace`.
 *
 * @since 0.1.0
 * @category metrics
 */
export const claims = counter("effect_sqs.claims", "runs that began under a claim")

/**
 * Runs that took over from an owner whose claim had ended. Label: `namespace`.
 *
 * @since 0.1.0
 * @category metrics
 */
export const claimsTakenOver = counter(MetricName.claimsTakenOver, "claims taken over from an owner that went away")

/**
 * Runs that lost their claim. Labels: `namespace`, `reason`.
 *
 * @since 0.1.0
 * @category metrics
 */
export const claimsLost = counter("effect_sqs.claims.lost", "runs that lost their claim")

/**
 * Finished jobs that came again and were not run. Label: `namespace`.
 *
 * @since 0.1.0
 * @category metrics
 */
export const duplicatesSuppressed = counter(
  MetricName.duplicatesSuppressed,
  "finished messages that came again and were not run"
)

/**
 * Keys whose outside call ended nobody knows how. Label: `namespace`.
 *
 * @since 0.1.0
 * @category metrics
 */
export const outcomesUnknown = counter(MetricName.outcomesUnknown, "outside calls whose outcome is unknown")

/**
 * What the database could not do and was tried again. Labels: `operation`, `reason`.
 *
 * @since 0.1.0
 * @category metrics
 */
export const retries = counter("effect_sqs.ledger.retries", "statements and transactions tried again")

/**
 * From the first claim of a key to its completion, s. Label: `namespace`.
 *
 * @since 0.1.0
 * @category metrics
 */
export const timeToComplete = Metric.histogram(
  "effect_sqs.ledger.time_to_complete",
  MetricBoundaries.fromIterable([0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400, 604_800]),
  "from the first claim of a key to its completion, s"
)

/**
 * Counts what an event says. A job costs a few round trips to a database, beside which labelling on each update is
 * nothing.
 *
 * @since 0.1.0
 * @category combinators
 */
export const record = (event: LedgerEvent): Effect.Effect<void> => {
  switch (event._tag) {
    case "Claimed": {
      const begun = Metric.increment(Metric.tagged(claims, "namespace", event.namespace))
      return event.takenOver
        ? Effect.zipRight(begun, Metric.increment(Metric.tagged(claimsTakenOver, "namespace", event.namespace)))
        : begun
    }
    case "NotRun":
      return event.found === "Completed"
        ? Metric.increment(Metric.tagged(duplicatesSuppressed, "namespace", event.namespace))
        : Effect.void
    case "Completed":
      return Metric.update(Metric.tagged(timeToComplete, "namespace", event.namespace), event.sinceCreatedMs / 1000)
    case "ClaimLost":
      return Metric.increment(
        Metric.tagged(Metric.tagged(claimsLost, "namespace", event.namespace), "reason", event.reason)
      )
    case "OutcomeUnknown":
      return Metric.increment(Metric.tagged(outcomesUnknown, "namespace", event.namespace))
    case "Retried":
      return Metric.increment(
        Metric.tagged(Metric.tagged(retries, "operation", event.operation), "reason", event.reason)
      )
    default:
      return Effect.void
  }
}
