/**
 * The four ends of a delivery, and what SQS answered to each.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqsError } from "./SqsError.js"

/**
 * How a delivery ends.
 *
 * - `Delete`: the work is done, the message goes.
 * - `Release`: it becomes visible again after a delay (0: at once).
 * - `DeadLetter`: a copy with the reason goes to the dead-letter queue, then the message is deleted.
 * - `Leave`: nothing is sent; SQS's own visibility timeout and redrive policy decide.
 *
 * @since 0.1.0
 * @category models
 */
export type Settlement = Data.TaggedEnum<{
  Delete: {}
  Release: { readonly after: Duration.Duration }
  DeadLetter: { readonly reason: string }
  Leave: {}
}>

const ends = Data.taggedEnum<Settlement>()

/**
 * @since 0.1.0
 * @category constructors
 */
export const Delete: Settlement = ends.Delete()

/**
 * @since 0.1.0
 * @category constructors
 */
export const Leave: Settlement = ends.Leave()

const { $is } = ends
const isEnd = [$is("Delete"), $is("Release"), $is("DeadLetter"), $is("Leave")]

/**
 * Whether a value is one of the four, and no other thing that plain JavaScript may answer.
 *
 * @since 0.1.0
 * @category guards
 */
export const isSettlement = (u: unknown): u is Settlement => isEnd.some((is) => is(u))

/**
 * Visible again after `after`; sent in whole seconds, rounded up.
 *
 * @since 0.1.0
 * @category constructors
 */
export const Release = (after: Duration.DurationInput = 0): Settlement =>
  ends.Release({ after: Duration.decode(after) })

/**
 * `reason` travels with the copy as an attribute: keep it short, and free of what must not be read there.
 *
 * @since 0.1.0
 * @category constructors
 */
export const DeadLetter = (reason: string): Settlement => ends.DeadLetter({ reason })

/**
 * The ways a lease is lost.
 *
 * - `refused`: SQS says that this delivery is no longer ours.
 * - `ran out`: no extension came through before the deadline.
 * - `limit`: the lease's limit is reached, or the 12 hours of SQS.
 * - `stalled`: this process slept past the deadline (blocked event loop, suspended machine).
 *
 * @since 0.1.0
 * @category models
 */
export type LeaseLossReason = "refused" | "ran out" | "limit" | "stalled"

/**
 * The lease of a delivery is lost: SQS may hand the message to somebody else.
 *
 * @since 0.1.0
 * @category errors
 */
export class LeaseLost extends Schema.TaggedError<LeaseLost>()("LeaseLost", {
  reason: Schema.Literal("refused", "ran out", "limit", "stalled"),
  messageId: Schema.String,
  receiveCount: Schema.Number,
  /** how long the lease was held, in ms */
  heldMs: Schema.Number,
  /** what SQS answered last, when that led to the loss */
  cause: Schema.optional(Schema.Defect)
}) {
  override get message() {
    const seconds = Math.round(this.heldMs / 100) / 10
    const what = {
      refused: "SQS answers that this delivery is no longer ours",
      "ran out": "no extension came through before its deadline",
      limit: "its limit is reached",
      stalled: "this process slept past its deadline"
    }[this.reason]
    return `The lease of message ${this.messageId} (receive ${this.receiveCount}) is lost after ${seconds} s: ${what}.`
  }
}

/**
 * This delivery was settled before, or its handler has started already: a delivery ends once.
 *
 * @since 0.1.0
 * @category errors
 */
export class AlreadySettled extends Schema.TaggedError<AlreadySettled>()("AlreadySettled", {
  messageId: Schema.String
}) {
  override get message() {
    return `The delivery of message ${this.messageId} is already being processed or settled; a delivery ends once.`
  }
}

/**
 * A dead-letter copy could not be sent because no dead-letter queue is known.
 *
 * @since 0.1.0
 * @category errors
 */
export class NoDeadLetterQueue extends Schema.TaggedError<NoDeadLetterQueue>()("NoDeadLetterQueue", {
  queue: Schema.String
}) {
  override get message() {
    return `${this.queue} has no dead-letter queue that is known here: give it a redrive policy, or name one with the option deadLetterQueue. The message was left to SQS.`
  }
}

/**
 * Why a settlement is not confirmed.
 *
 * @since 0.1.0
 * @category models
 */
export type SettlementProblem = SqsError | LeaseLost | AlreadySettled | NoDeadLetterQueue

/**
 * How a delivery ended: what was asked, whether SQS confirmed it, and if not, why.
 *
 * `Leave` asks nothing of SQS. It is confirmed when it was meant, and not when a lost lease, or a dead-letter copy
 * that could not be sent, forced it: then `problem` tells.
 *
 * @since 0.1.0
 * @category models
 */
export interface Settled {
  readonly asked: Settlement
  readonly confirmed: boolean
  readonly problem: SettlementProblem | undefined
}

/**
 * A handler's explicit end: not a failure, and not a success, but this settlement.
 *
 * @since 0.1.0
 * @category errors
 */
export class EndWith extends Data.TaggedError("EndWith")<{ readonly settlement: Settlement }> {}

/**
 * Ends the handler with a settlement of its own choice; the redelivery policy is not asked.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import * as Settlement from "@effect-sqs/core/Settlement"
 * import { Effect } from "effect"
 *
 * const handler = (job: { readonly notBefore: number; readonly now: number }) =>
 *   job.now < job.notBefore ? Settlement.endWith(Settlement.Release("5 minutes")) : Effect.void
 */
export const endWith = (settlement: Settlement): Effect.Effect<never, EndWith> =>
  Effect.fail(new EndWith({ settlement }))
