/**
 * Where the public evidence on SQS is split or silent, the virtual SQS does not choose for you: each such point is a
 * field of its policy, with every reading as a value and `"random"`, which draws a reading each time from the seed. A
 * worker that is right under every reading is right.
 *
 * @since 0.1.0
 */

/**
 * A reading, or a seeded draw of one at each decision.
 *
 * @since 0.1.0
 * @category models
 */
export type Reading<A extends string> = A | "random"

/**
 * @since 0.1.0
 * @category models
 */
export interface VirtualSqsPolicy {
  /**
   * ChangeMessageVisibility with a handle whose timeout ran out, the message not received again, on a standard queue.
   * AWS answers 200 (recorded); whether it hides the message again is not known. `refused` answers MessageNotInflight.
   */
  readonly expiredHandleChange: Reading<"applied" | "ignored" | "refused">
  /** ChangeMessageVisibility with an older handle of a message that was received again, on a standard queue. */
  readonly oldHandleChange: Reading<"applied" | "ignored">
  /** DeleteMessage with an older handle of a message that was received again, on a standard queue. */
  readonly oldHandleDelete: Reading<"deletes" | "ignored">
  /**
   * ChangeMessageVisibility with an expired or older handle on a FIFO queue: refused because the handle has expired,
   * refused because the message is not available for the change, or applied.
   */
  readonly fifoExpiredHandleChange: Reading<"expired" | "unavailable" | "applied">
  /** Whether the receive count of a message starts again when a move task moves it. */
  readonly receiveCountAfterMoveTask: Reading<"reset" | "kept">
  /** When a message that was received too often moves: at the next receive, or as soon as its visibility ends. */
  readonly deadLetterMove: Reading<"atReceive" | "atTimeout">
  /** Whose turn it is among the groups of a FIFO queue: who became available first, or drawn. */
  readonly groupOrder: Reading<"available">
  /** Whether a change of DeduplicationScope after creation changes what is deduplicated. */
  readonly deduplicationScopeChange: Reading<"ignored" | "applied">
  /** Whether a short poll sees all messages, or only those of some of the servers: fewer than asked, possibly none. */
  readonly shortPoll: Reading<"complete" | "sampled">
}

/**
 * The readings with the best evidence.
 *
 * @since 0.1.0
 * @category constructors
 */
export const defaults: VirtualSqsPolicy = {
  expiredHandleChange: "applied",
  oldHandleChange: "applied",
  oldHandleDelete: "deletes",
  fifoExpiredHandleChange: "expired",
  receiveCountAfterMoveTask: "reset",
  deadLetterMove: "atReceive",
  groupOrder: "available",
  deduplicationScopeChange: "ignored",
  shortPoll: "complete"
}

/**
 * Every point drawn at each decision, from the seed of the virtual SQS.
 *
 * @since 0.1.0
 * @category constructors
 */
export const random: VirtualSqsPolicy = {
  expiredHandleChange: "random",
  oldHandleChange: "random",
  oldHandleDelete: "random",
  fifoExpiredHandleChange: "random",
  receiveCountAfterMoveTask: "random",
  deadLetterMove: "random",
  groupOrder: "random",
  deduplicationScopeChange: "random",
  shortPoll: "random"
}

/**
 * All readings of each point, the default first.
 *
 * @since 0.1.0
 * @category constants
 */
export const readings: {
  readonly [K in keyof VirtualSqsPolicy]: ReadonlyArray<Exclude<VirtualSqsPolicy[K], "random">>
} = {
  expiredHandleChange: ["applied", "ignored", "refused"],
  oldHandleChange: ["applied", "ignored"],
  oldHandleDelete: ["deletes", "ignored"],
  fifoExpiredHandleChange: ["expired", "unavailable", "applied"],
  receiveCountAfterMoveTask: ["reset", "kept"],
  deadLetterMove: ["atReceive", "atTimeout"],
  groupOrder: ["available"],
  deduplicationScopeChange: ["ignored", "applied"],
  shortPoll: ["complete", "sampled"]
}

/**
 * The default readings, some of them replaced.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import { VirtualSqsPolicy } from "@effect-sqs/testing"
 *
 * // as the documentation has it: an old handle may not delete
 * export const policy = VirtualSqsPolicy.make({ oldHandleDelete: "ignored" })
 */
export const make = (changes: Partial<VirtualSqsPolicy> = {}): VirtualSqsPolicy => ({ ...defaults, ...changes })
