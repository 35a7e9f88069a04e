/**
 * Why a command on dead letters refuses; each says in its message what to do.
 *
 * @since 0.1.0
 */
import type { SqsError } from "@effect-sqs/core/SqsError"
import * as Schema from "effect/Schema"

/**
 * The queue is not known to be a dead-letter queue: taking messages out of it would take them from its workers.
 *
 * @since 0.1.0
 * @category errors
 */
export class NotADeadLetterQueue extends Schema.TaggedError<NotADeadLetterQueue>()("NotADeadLetterQueue", {
  queue: Schema.String,
  /** name of its own dead-letter queue */
  deadLetters: Schema.optional(Schema.String)
}) {
  override get message() {
    return (
      `No queue has ${this.queue} as its dead-letter queue: looking into it would hide its messages from its workers. ` +
      (this.deadLetters === undefined
        ? "Check the name; if it does hold dead letters, say --any-queue."
        : `Its dead-letter queue is ${this.deadLetters}: say --queue ${this.deadLetters}.`)
    )
  }
}

/**
 * What was asked cannot be done like this.
 *
 * @since 0.1.0
 * @category errors
 */
export class Refused extends Schema.TaggedError<Refused>()("Refused", { sentence: Schema.String }) {
  override get message() {
    return this.sentence
  }
}

/**
 * A file cannot be read or written, or is not what it should be.
 *
 * @since 0.1.0
 * @category errors
 */
export class FileUnusable extends Schema.TaggedError<FileUnusable>()("FileUnusable", {
  path: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.path}: ${this.detail}`
  }
}

/**
 * The ledger cannot be asked. Nothing is sent without its answer.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerUnavailable extends Schema.TaggedError<LedgerUnavailable>()("LedgerUnavailable", {
  detail: Schema.String
}) {
  override get message() {
    return `The ledger cannot be asked: ${this.detail}. Check --ledger; nothing is sent without its answer.`
  }
}

/**
 * @since 0.1.0
 * @category errors
 */
export type DeadLetterError = SqsError | NotADeadLetterQueue | Refused | FileUnusable | LedgerUnavailable
