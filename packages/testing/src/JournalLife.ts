/**
 * What a journal tells of messages, their deliveries, leases and runs, once it is read: see `JournalQuery`.
 *
 * @since 0.1.0
 */
import type { DeadLettered, Deleted, Expired, JournalEntry, Purged, Sent } from "./Journal.js"

/**
 * A time, and the place in the journal, which orders what happened in the same millisecond.
 *
 * @since 0.1.0
 * @category models
 */
export interface Moment {
  /** epoch ms */
  readonly at: number
  readonly index: number
}

/**
 * One thing that was asked of SQS for one delivery: an entry of a batch, or a single call. `beat`: the lease is extended;
 * `release`: the message is given back; `delete`.
 *
 * A change of visibility to more than 0 is taken for a beat while a handler runs. Else it is a release if it is the last
 * that was asked for a delivery that is not deleted, or asks for what no beat asks; of a delivery that never ran, only if it
 * shortens the lease or asks for what no beat asks. So releases with a delay need runs in the journal (`Tracking`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Ask {
  readonly kind: "beat" | "release" | "delete"
  readonly call: number
  readonly sent: Moment
  /** when the answer, or the news that none will come, reached the caller; `undefined`: not yet */
  readonly ended: Moment | undefined
  readonly timeoutSeconds: number | undefined
  readonly outcome: "done" | "refused" | "failed" | "lost" | "interrupted" | "open"
  /** of `refused` and `failed` */
  readonly code: string | undefined
  readonly detail: string | undefined
  /** of `failed`: the HTTP status; 0 when the connection broke */
  readonly status: number | undefined
  /** of `refused` */
  readonly senderFault: boolean | undefined
  /** SQS did it, whether or not the caller knows */
  readonly tookEffect: boolean
}

/**
 * A span of the lease: from `from` on the message is hidden until `until`, unless the next one says otherwise.
 *
 * @since 0.1.0
 * @category models
 */
export interface Deadline {
  readonly from: Moment
  /** epoch ms */
  readonly until: number
}

/**
 * One execution of the handler. `ended` is `undefined` while it goes on.
 *
 * @since 0.1.0
 * @category models
 */
export interface Run {
  readonly messageId: string
  readonly receiptHandle: string
  readonly started: Moment
  readonly ended: Moment | undefined
  readonly outcome: "success" | "failure" | "defect" | "interrupted" | undefined
  readonly reason: string | undefined
}

/**
 * One receive of a message and what became of it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Delivery {
  readonly messageId: string
  readonly queue: string
  readonly groupId: string | undefined
  readonly receiptHandle: string
  readonly receiveCount: number
  readonly received: Moment
  /** who received it, where that is a process of a simulation */
  readonly process: string | undefined
  /** when the answer of the receive reached the caller; `undefined`: it never did, or has not yet */
  readonly arrived: Moment | undefined
  /** the receive's own first, then what beats and releases made of it */
  readonly deadlines: ReadonlyArray<Deadline>
  readonly asks: ReadonlyArray<Ask>
  readonly runs: ReadonlyArray<Run>
}

/**
 * One message from its sending to its end, under one id; a redrive policy takes the id along to the dead-letter queue.
 *
 * @since 0.1.0
 * @category models
 */
export interface MessageLife {
  readonly messageId: string
  readonly sent: (Sent & { readonly index: number }) | undefined
  readonly deliveries: ReadonlyArray<Delivery>
  readonly deadLettered: ReadonlyArray<DeadLettered & { readonly index: number }>
  /** deleted, expired or purged; `undefined`: still there */
  readonly end: ((Deleted | Expired | Purged) & { readonly index: number }) | undefined
}

/**
 * A journal, read once.
 *
 * @since 0.1.0
 * @category models
 */
export interface JournalView {
  readonly entries: ReadonlyArray<JournalEntry>
  /** by message id, in the order of their first appearance */
  readonly messages: ReadonlyMap<string, MessageLife>
  /** of all messages, in the order of their receives */
  readonly deliveries: ReadonlyArray<Delivery>
  readonly runs: ReadonlyArray<Run>
  /** receipt handles that were handed out */
  readonly handles: ReadonlySet<string>
}
