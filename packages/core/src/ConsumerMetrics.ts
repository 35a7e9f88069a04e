/**
 * The metrics of a consumer. Durations are in seconds, as the conventions ask; every metric carries the queue's name.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricLabel from "effect/MetricLabel"
import { Attribute, MetricName, SYSTEM } from "./Telemetry.js"

/** The buckets that the conventions name for durations, and longer ones: jobs on SQS run for minutes and hours. */
const seconds = MetricBoundaries.fromIterable([
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120, 300, 900, 1800, 3600, 14_400,
  43_200
])

/** A metric that plain code updates, with its labels fixed once. */
interface Instrument {
  readonly add: (value: number) => void
}

/**
 * All of them, for one queue.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConsumerMetrics {
  readonly consumed: Instrument
  readonly processDuration: (outcome: "success" | "failure" | "interrupted") => Instrument
  readonly operationDuration: (operation: string, errorType: string | undefined) => Instrument
  readonly running: Instrument
  readonly waiting: Instrument
  readonly slots: Instrument
  readonly beats: Instrument
  readonly beatFailures: Instrument
  readonly leaseLost: (reason: string) => Instrument
  readonly leaseMargin: Instrument
  readonly settlementFailed: (settlement: string, code: string) => Instrument
  readonly redelivered: Instrument
  readonly receiveLag: Instrument
  readonly pollEmpty: Instrument
  readonly pollErrors: (error: string) => Instrument
  readonly blockedGroups: Instrument
  readonly duplicatesSuppressed: Instrument
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (queue: string): ConsumerMetrics => {
  const labels = [MetricLabel.make(Attribute.system, SYSTEM), MetricLabel.make(Attribute.destination, queue)]
  const instrument = <Type>(
    metric: Metric.Metric<Type, number, unknown>,
    more: ReadonlyArray<MetricLabel.MetricLabel> = []
  ): Instrument => {
    const labelled = Metric.taggedWithLabels(metric, [...labels, ...more])
    return { add: (value) => labelled.unsafeUpdate(value, []) }
  }
  /** one instrument per value of a label, made when it is first seen */
  const by = (make: (...values: Array<string | undefined>) => Instrument) => {
    const seen = new Map<string, Instrument>()
    return (...values: Array<string | undefined>) => {
      const key = values.join("\u0000")
      let found = seen.get(key)
      if (found === undefined) seen.set(key, (found = make(...values)))
      return found
    }
  }
  const counter = (name: string, description: string) => Metric.counter(name, { description, incremental: true })
  const label = MetricLabel.make
  return {
    consumed: instrument(counter(MetricName.consumedMessages, "messages received"), [
      label(Attribute.operationName, "receive")
    ]),
    processDuration: by((outcome) =>
      instrument(Metric.histogram(MetricName.processDuration, seconds, "run time of the handler, s"), [
        label("effect_sqs.outcome", outcome!)
      ])
    ),
    operationDuration: by((operation, errorType) =>
      instrument(Metric.histogram(MetricName.operationDuration, seconds, "duration of calls to SQS, s"), [
        label(Attribute.operationName, operation!),
        ...(errorType === undefined ? [] : [label(Attribute.errorType, errorType)])
      ])
    ),
    running: instrument(Metric.gauge(MetricName.running, { description: "handlers that run" })),
    waiting: instrument(Metric.gauge(MetricName.waiting, { description: "deliveries in hand that wait for a place" })),
    slots: instrument(Metric.gauge(MetricName.slots, { description: "handlers that may run" })),
    beats: instrument(counter(MetricName.beats, "extensions of leases")),
    beatFailures: instrument(counter(MetricName.beatFailures, "extensions without success")),
    leaseLost: by((reason) => instrument(counter(MetricName.leaseLost, "leases lost"), [label("reason", reason!)])),
    leaseMargin: instrument(
      Metric.histogram(MetricName.leaseMargin, seconds, "what was left of a lease when it was extended, s")
    ),
    settlementFailed: by((settlement, code) =>
      instrument(counter(MetricName.settlementFailed, "settlements that SQS did not confirm"), [
        label("settlement", settlement!),
        label("code", code!)
      ])
    ),
    redelivered: instrument(counter(MetricName.redelivered, "deliveries with a receive count above 1")),
    receiveLag: instrument(Metric.histogram(MetricName.receiveLag, seconds, "from the sending to the receive, s")),
    pollEmpty: instrument(counter(MetricName.pollEmpty, "receives without a message")),
    pollErrors: by((error) => instrument(counter(MetricName.pollErrors, "failed receives"), [label("error", error!)])),
    blockedGroups: instrument(
      Metric.gauge(MetricName.blockedGroups, { description: "FIFO groups that wait behind a failure" })
    ),
    duplicatesSuppressed: instrument(
      counter(MetricName.duplicatesSuppressed, "finished messages that came again and were not run")
    )
  }
}
