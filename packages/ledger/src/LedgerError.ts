/**
 * How a job under a key can end other than with its result, told apart by what is to be done with the message.
 *
 * Everything a consumer may want to name in a redelivery policy has a tag of its own that begins with `Ledger`, so
 * that it cannot be taken for an error of the job.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"

const id = { namespace: Schema.String, key: Schema.String }

const name = (e: { readonly namespace: string; readonly key: string }) => `${e.namespace}/${e.key}`

const span = (ms: number) => Duration.format(Duration.millis(ms))

/**
 * Another run holds the claim: do not run, do not delete; look again when the claim ends.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerBusy extends Schema.TaggedError<LedgerBusy>()("LedgerBusy", {
  ...id,
  /** end of the other's claim, epoch ms by the clock of the store */
  until: Schema.Number,
  /** the time left until then, in ms, reckoned by the store: right although clocks differ */
  remainingMs: Schema.Number
}) {
  override get message() {
    return `${name(this)} is being worked on; its claim ends in ${span(this.remainingMs)}`
  }
}

/**
 * The last run asked to be tried again later than now.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerNotBefore extends Schema.TaggedError<LedgerNotBefore>()("LedgerNotBefore", {
  ...id,
  /** epoch ms by the clock of the store */
  notBefore: Schema.Number,
  /** the time left until then, in ms */
  remainingMs: Schema.Number
}) {
  override get message() {
    return `${name(this)} is to be tried again in ${span(this.remainingMs)}, not before`
  }
}

/**
 * The key is known with another payload: two different jobs claim to be the same. Nothing was changed.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerMismatch extends Schema.TaggedError<LedgerMismatch>()("LedgerMismatch", {
  ...id,
  storedHash: Schema.String,
  givenHash: Schema.String
}) {
  override get message() {
    return `${name(this)} came with another payload before: the key does not name one job`
  }
}

/**
 * An outside call that must not be repeated began, and its outcome is unknown: never run again until a verdict.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerUnknown extends Schema.TaggedError<LedgerUnknown>()("LedgerUnknown", {
  ...id,
  /** the reference of the call in question */
  ref: Schema.String,
  cause: Schema.optional(Schema.Defect)
}) {
  override get message() {
    return `${name(this)}: the outcome of the outside call ${this.ref} is unknown; a reconciler or a person decides`
  }
}

/**
 * Unknown, and handed to a person.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerReview extends Schema.TaggedError<LedgerReview>()("LedgerReview", {
  ...id,
  ref: Schema.String
}) {
  override get message() {
    return `${name(this)} waits for a person's verdict on the outside call ${this.ref}`
  }
}

/**
 * The job was rejected for good.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerRejected extends Schema.TaggedError<LedgerRejected>()("LedgerRejected", {
  ...id,
  reason: Schema.String
}) {
  override get message() {
    return `${name(this)} was rejected: ${this.reason}`
  }
}

/**
 * The key was cancelled: the message can be deleted.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerCancelled extends Schema.TaggedError<LedgerCancelled>()("LedgerCancelled", id) {
  override get message() {
    return `${name(this)} was cancelled`
  }
}

/**
 * This run no longer holds the claim: it was interrupted, and what it wrote under the claim was refused.
 *
 * - `taken over`: another run has claimed the key since
 * - `decided`: a verdict closed the door, or a completion, also one of this run itself
 * - `ended`: the claim ended before it was renewed
 * - `unconfirmed`: no renewal could be confirmed in time
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerClaimLost extends Schema.TaggedError<LedgerClaimLost>()("LedgerClaimLost", {
  ...id,
  /** the attempt that lost */
  attempt: Schema.Number,
  reason: Schema.Literal("taken over", "decided", "ended", "unconfirmed"),
  /** how long the new owner's claim runs, in ms; 0 when nobody is known to hold it */
  remainingMs: Schema.Number
}) {
  override get message() {
    return `${name(this)}: attempt ${this.attempt} lost its claim (${this.reason})`
  }
}

/**
 * An outside call was refused: its own timeout is longer than a claim lasts, so it could end after the claim.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerClaimTooShort extends Schema.TaggedError<LedgerClaimTooShort>()("LedgerClaimTooShort", {
  ...id,
  ref: Schema.String,
  /** what the call may take */
  timeoutMs: Schema.Number,
  /** what was left of the claim, after a renewal */
  remainingMs: Schema.Number
}) {
  override get message() {
    return (
      `${name(this)}: the outside call ${this.ref} may take ${span(this.timeoutMs)}, but the claim has only ` +
      `${span(this.remainingMs)} left. Make the claim longer than the call's timeout.`
    )
  }
}

/**
 * A replayable outside call did not answer within its timeout; the next attempt makes it again with the same reference.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerCallTimeout extends Schema.TaggedError<LedgerCallTimeout>()("LedgerCallTimeout", {
  ...id,
  ref: Schema.String,
  timeoutMs: Schema.Number
}) {
  override get message() {
    return `${name(this)}: the outside call ${this.ref} did not answer within ${span(this.timeoutMs)}`
  }
}

/**
 * A value does not fit: a result that cannot be encoded, or is too large; a stored one that cannot be decoded; a key, or the
 * name of a step or call, that is empty, too long or cannot be stored; a payload that is no JSON.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerValueInvalid extends Schema.TaggedError<LedgerValueInvalid>()("LedgerValueInvalid", {
  ...id,
  /** which value, as `result` or `step render` */
  what: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${name(this)}: ${this.what} ${this.detail}`
  }
}

/**
 * The database could not do what was asked.
 *
 * - `conflict`: SQLSTATE 40001 or 40P01, or SQLITE_BUSY: nothing was changed, the whole step may be tried again
 * - `lost`: no answer; whether it was done is not known. Every write of the ledger may be repeated safely
 * - `refused`: the database answered with another error: trying again cannot help
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerStoreError extends Schema.TaggedError<LedgerStoreError>()("LedgerStoreError", {
  operation: Schema.String,
  reason: Schema.Literal("conflict", "lost", "refused"),
  detail: Schema.String,
  cause: Schema.optional(Schema.Defect)
}) {
  /** whether trying the same again can help */
  get retryable() {
    return this.reason !== "refused"
  }
  override get message() {
    return `the ledger's store failed in ${this.operation} (${this.reason}): ${this.detail}`
  }
}

/**
 * A verdict came too late, or names a key that waits for none: nothing was changed.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerVerdictRefused extends Schema.TaggedError<LedgerVerdictRefused>()("LedgerVerdictRefused", {
  ...id,
  attempt: Schema.Number,
  /** what the ledger knows of the key now */
  found: Schema.String
}) {
  override get message() {
    return `${name(this)}: the verdict on attempt ${this.attempt} was refused; the key is ${this.found}`
  }
}

/**
 * Options that contradict themselves; all faults at once.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerOptionsInvalid extends Schema.TaggedError<LedgerOptionsInvalid>()("LedgerOptionsInvalid", {
  faults: Schema.Array(Schema.String)
}) {
  override get message() {
    return `options of the ledger: ${this.faults.join("; ")}`
  }
}

/**
 * A fault in the program that uses the ledger, as an outside call inside a database transaction; always a defect.
 *
 * @since 0.1.0
 * @category errors
 */
export class LedgerMisuse extends Schema.TaggedError<LedgerMisuse>()("LedgerMisuse", { detail: Schema.String }) {
  override get message() {
    return this.detail
  }
}
