/**
 * The consumer, the producer, and the port to SQS. `AwsSqs`, the port on the AWS SDK, is imported by its own path:
 * `@effect-sqs/core/AwsSqs`.
 *
 * @since 0.1.0
 */
export * as BatchHandler from "./BatchHandler.js"
export * as Consumer from "./Consumer.js"
export * as ConsumerEvent from "./ConsumerEvent.js"
export * as ConsumerLimit from "./ConsumerLimit.js"
export * as ConsumerMetrics from "./ConsumerMetrics.js"
export * as ConsumerOptions from "./ConsumerOptions.js"
export * as Delivery from "./Delivery.js"
export * as Drain from "./Drain.js"
export * as Heartbeat from "./Heartbeat.js"
export * as Lease from "./Lease.js"
export * as Policy from "./Policy.js"
export * as Poller from "./Poller.js"
export * as Producer from "./Producer.js"
export * as Redelivery from "./Redelivery.js"
export * as Settlement from "./Settlement.js"
export * as Sqs from "./Sqs.js"
export * as SqsError from "./SqsError.js"
export * as SqsQueue from "./SqsQueue.js"
export * as StartError from "./StartError.js"
export * as Telemetry from "./Telemetry.js"
