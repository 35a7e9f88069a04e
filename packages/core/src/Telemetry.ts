/**
 * The names that spans and metrics carry: those of OpenTelemetry's semantic conventions for messaging, version 1.44,
 * and what these do not know under `effect_sqs.`.
 *
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 * @category constants
 */
export const SEMANTIC_CONVENTIONS_VERSION = "1.44"

/**
 * Attributes of spans and metrics.
 *
 * @since 0.1.0
 * @category constants
 */
export const Attribute = {
  system: "messaging.system",
  destination: "messaging.destination.name",
  operationName: "messaging.operation.name",
  operationType: "messaging.operation.type",
  messageId: "messaging.message.id",
  batchCount: "messaging.batch.message_count",
  errorType: "error.type",
  groupId: "aws.sqs.message_group_id",
  receiveCount: "effect_sqs.receive_count",
  settlement: "effect_sqs.settlement",
  leaseLost: "effect_sqs.lease_lost"
} as const

/**
 * @since 0.1.0
 * @category constants
 */
export const SYSTEM = "aws_sqs"

/**
 * What `error.type` says of an error without a name.
 *
 * @since 0.1.0
 * @category constants
 */
export const OTHER_ERROR = "_OTHER"

/**
 * Names of the metrics.
 *
 * @since 0.1.0
 * @category constants
 */
export const MetricName = {
  operationDuration: "messaging.client.operation.duration",
  consumedMessages: "messaging.client.consumed.messages",
  sentMessages: "messaging.client.sent.messages",
  processDuration: "messaging.process.duration",
  running: "effect_sqs.running",
  waiting: "effect_sqs.waiting",
  slots: "effect_sqs.slots",
  beats: "effect_sqs.lease.beats",
  beatFailures: "effect_sqs.lease.beat_failures",
  leaseLost: "effect_sqs.lease.lost",
  leaseMargin: "effect_sqs.lease.margin",
  settlementFailed: "effect_sqs.settlement.failed",
  redelivered: "effect_sqs.redelivered",
  receiveLag: "effect_sqs.receive_lag",
  pollEmpty: "effect_sqs.poll.empty",
  pollErrors: "effect_sqs.poll.errors",
  blockedGroups: "effect_sqs.fifo.blocked_groups",
  duplicatesSuppressed: "effect_sqs.duplicates.suppressed",
  claimsTakenOver: "effect_sqs.claims.taken_over",
  outcomesUnknown: "effect_sqs.outcomes.unknown"
} as const
