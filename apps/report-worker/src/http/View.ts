/**
 * What the API tells, as types that the page shares. All times are epoch ms, all durations ms.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { type JobEvent } from "../jobs/JobEvent.js"
import { DeliveryState, JobState } from "../jobs/JobRow.js"

const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(schema)
const Counts = Schema.Record({ key: JobState, value: Schema.Number })

/**
 * One delivery of SQS in the hands of this worker, or just out of them.
 *
 * @since 0.1.0
 * @category models
 */
export class Lease extends Schema.Class<Lease>("Lease")({
  /** of the delivery, not of the message */
  id: Schema.String,
  messageId: Schema.String,
  /** known when its run has begun */
  jobId: maybe(Schema.String),
  receiveCount: Schema.Number,
  sentAt: maybe(Schema.Number),
  receivedAt: Schema.Number,
  /** when its run began */
  startedAt: maybe(Schema.Number),
  /** the last extensions, at most 20 */
  beats: Schema.Array(Schema.Number),
  /** all of them */
  beatCount: Schema.Number,
  /** since the last success */
  beatsFailed: Schema.Number,
  /** hidden from others until then */
  deadline: Schema.Number,
  /** then it is stopped, whatever it does: the limit of the settings, or SQS's 12 hours */
  limitAt: Schema.Number,
  /** pages, rows: how far it is */
  done: maybe(Schema.Number),
  of: maybe(Schema.Number),
  lost: maybe(Schema.String),
  ranMs: maybe(Schema.Number),
  run: maybe(Schema.Literal("success", "failure", "interrupted")),
  endedAt: maybe(Schema.Number),
  /** what became of the message */
  end: maybe(Schema.Literal("deleted", "comes again", "dead-lettered", "left", "duplicate")),
  /** whether SQS confirmed it */
  confirmed: maybe(Schema.Boolean),
  reason: maybe(Schema.String)
}) {}

/**
 * What the consumer of this worker is doing.
 *
 * @since 0.1.0
 * @category models
 */
export const Consuming = Schema.Struct({
  state: Schema.Literal("starting", "receiving", "paused", "receive fails", "stopping"),
  /** why receiving fails */
  detail: maybe(Schema.String),
  since: Schema.Number
})

/**
 * @since 0.1.0
 * @category models
 */
export type Consuming = typeof Consuming.Type

/**
 * What SQS tells of a queue; approximate, as all of SQS's counts.
 *
 * @since 0.1.0
 * @category models
 */
export const QueueCounts = Schema.Struct({
  name: Schema.String,
  visible: Schema.Number,
  inFlight: Schema.Number,
  delayed: Schema.Number
})

/**
 * @since 0.1.0
 * @category models
 */
export type QueueCounts = typeof QueueCounts.Type

/**
 * The numbers that are asked for every few seconds. What could not be asked is not there.
 *
 * @since 0.1.0
 * @category models
 */
export const Counters = Schema.Struct({
  at: Schema.Number,
  jobs: maybe(Counts),
  /** deliveries whose outcome is unknown or in review */
  undecided: maybe(Schema.Number),
  /** since when the job waits that waits longest */
  oldestAt: maybe(Schema.Number),
  queue: maybe(QueueCounts),
  deadLetters: maybe(QueueCounts)
})

/**
 * @since 0.1.0
 * @category models
 */
export type Counters = typeof Counters.Type

/**
 * A run that ended on this worker.
 *
 * @since 0.1.0
 * @category models
 */
export const Run = Schema.Struct({
  at: Schema.Number,
  ranMs: Schema.Number,
  run: Schema.Literal("success", "failure", "interrupted")
})

/**
 * @since 0.1.0
 * @category models
 */
export type Run = typeof Run.Type

/**
 * The lease as it is set, and what the run times that were seen ask for.
 *
 * @since 0.1.0
 * @category models
 */
export const Advice = Schema.Struct({
  visibilityMs: Schema.Number,
  /** none: no heartbeat */
  heartbeatMs: maybe(Schema.Number),
  runs: Schema.Number,
  p50Ms: maybe(Schema.Number),
  p99Ms: maybe(Schema.Number),
  maxMs: maybe(Schema.Number),
  /** there when the numbers ask for other settings */
  hint: maybe(
    Schema.Struct({
      why: Schema.Literal("runs outlive the slot", "beats nearly always", "a dead worker is waited for too long"),
      visibilityMs: Schema.Number,
      heartbeatMs: maybe(Schema.Number)
    })
  )
})

/**
 * @since 0.1.0
 * @category models
 */
export type Advice = typeof Advice.Type

/**
 * How the worker stands.
 *
 * @since 0.1.0
 * @category models
 */
export const Snapshot = Schema.Struct({
  at: Schema.Number,
  /** of this process: another one after a restart */
  boot: Schema.String,
  queue: Schema.String,
  concurrency: Schema.Number,
  consuming: Consuming,
  leases: Schema.Array(Lease),
  runs: Schema.Array(Run),
  duplicates: Schema.Number,
  advice: Advice,
  counters: maybe(Counters)
})

/**
 * @since 0.1.0
 * @category models
 */
export type Snapshot = typeof Snapshot.Type

/**
 * What changes, in the stream of events.
 *
 * @since 0.1.0
 * @category models
 */
export type Change =
  | { readonly kind: "lease"; readonly data: Lease }
  | { readonly kind: "state"; readonly data: { readonly consuming: Consuming; readonly duplicates: number } }
  | { readonly kind: "counters"; readonly data: { readonly counters: Counters; readonly advice: Advice } }
  | { readonly kind: "job"; readonly data: JobEvent }

/**
 * What the ledger remembers of a key.
 *
 * @since 0.1.0
 * @category models
 */
export const LedgerKey = Schema.Struct({
  state: Schema.String,
  attempt: Schema.Number,
  error: maybe(Schema.String),
  claimUntil: maybe(Schema.Number),
  updatedAt: Schema.Number
})

/**
 * A delivery that nobody saw end, and what is known of it.
 *
 * @since 0.1.0
 * @category models
 */
export const Review = Schema.Struct({
  jobId: Schema.String,
  state: Schema.Literal("unknown", "review"),
  /** a verdict is about this attempt and call */
  attempt: Schema.Number,
  callSeq: Schema.Number,
  /** the Idempotency-Key that the receiver was given */
  reference: maybe(Schema.String),
  calledAt: maybe(Schema.Number),
  /** where to; without what follows a question mark */
  receiver: maybe(Schema.String),
  asked: Schema.Number,
  askedAgainAt: maybe(Schema.Number),
  error: maybe(Schema.String),
  delivery: DeliveryState
})

/**
 * @since 0.1.0
 * @category models
 */
export type Review = typeof Review.Type

/**
 * The dead-letter queue at one look.
 *
 * @since 0.1.0
 * @category models
 */
export const DeadLetters = Schema.Struct({
  queue: Schema.String,
  looked: Schema.Number,
  /** whether there may be more */
  complete: Schema.Boolean,
  notes: Schema.Array(Schema.String),
  groups: Schema.Array(
    Schema.Struct({
      reason: Schema.String,
      source: maybe(Schema.String),
      count: Schema.Number,
      oldestMs: maybe(Schema.Number),
      youngestMs: maybe(Schema.Number),
      messageIds: Schema.Array(Schema.String)
    })
  ),
  messages: Schema.Array(
    Schema.Struct({
      messageId: Schema.String,
      reason: maybe(Schema.String),
      ageMs: maybe(Schema.Number),
      receiveCount: Schema.Number,
      redrives: Schema.Number,
      bytes: Schema.Number
    })
  )
})

/**
 * @since 0.1.0
 * @category models
 */
export type DeadLetters = typeof DeadLetters.Type

/**
 * One dead letter in full.
 *
 * @since 0.1.0
 * @category models
 */
export const DeadLetterDetail = Schema.Struct({
  messageId: Schema.String,
  body: Schema.String,
  jobId: maybe(Schema.String),
  reason: maybe(Schema.String),
  error: maybe(Schema.String),
  attributes: Schema.Record({ key: Schema.String, value: Schema.String }),
  history: Schema.Array(Schema.Struct({ at: maybe(Schema.Number), what: Schema.String }))
})

/**
 * @since 0.1.0
 * @category models
 */
export type DeadLetterDetail = typeof DeadLetterDetail.Type

const Reasons = Schema.Array(Schema.Struct({ outcome: Schema.String, why: Schema.String, count: Schema.Number }))

/**
 * What a redrive did.
 *
 * @since 0.1.0
 * @category models
 */
export const Redriven = Schema.Struct({
  sent: Schema.Number,
  /** the ledger has them as completed: they are not needed any more */
  deleted: Schema.Number,
  kept: Schema.Number,
  failed: Schema.Number,
  unknown: Schema.Number,
  reasons: Reasons,
  stopped: maybe(Schema.String)
})

/**
 * @since 0.1.0
 * @category models
 */
export type Redriven = typeof Redriven.Type

/**
 * What a discard did.
 *
 * @since 0.1.0
 * @category models
 */
export const Discarded = Schema.Struct({
  discarded: Schema.Number,
  failed: Schema.Number,
  /** the file that keeps them, on the worker's machine */
  keptIn: Schema.String,
  stopped: maybe(Schema.String)
})

/**
 * @since 0.1.0
 * @category models
 */
export type Discarded = typeof Discarded.Type

/**
 * Somebody did something.
 *
 * @since 0.1.0
 * @category models
 */
export const Action = Schema.Struct({
  seq: Schema.Number,
  at: Schema.Number,
  actor: Schema.String,
  action: Schema.String,
  /** a job, a message, a queue */
  subject: Schema.String,
  detail: Schema.Record({ key: Schema.String, value: Schema.Union(Schema.String, Schema.Number, Schema.Boolean) })
})

/**
 * @since 0.1.0
 * @category models
 */
export type Action = typeof Action.Type

/**
 * Who asks.
 *
 * @since 0.1.0
 * @category models
 */
export const Me = Schema.Struct({
  name: Schema.String,
  readOnly: Schema.Boolean,
  /** whether tokens are asked for at all */
  tokens: Schema.Boolean
})

/**
 * @since 0.1.0
 * @category models
 */
export type Me = typeof Me.Type
