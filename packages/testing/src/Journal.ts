/**
 * What happened in the virtual SQS, in order: every call, every effect on a message, and what a test harness adds of
 * the handlers' runs. Entries are plain data, so that two runs of one seed compare with `deepEqual`. Times are
 * epoch milliseconds by the clock of the virtual SQS; entries of one millisecond keep the order in which they happened.
 *
 * @since 0.1.0
 */

/**
 * One entry of a batch as the caller asked for it; a single call is a batch of one. `messageId` is what the receipt
 * handle stands for, `undefined` where it is none of ours.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallEntry {
  readonly receiptHandle?: string
  readonly messageId?: string
  readonly visibilityTimeoutSeconds?: number
  readonly delaySeconds?: number
  readonly groupId?: string
  readonly deduplicationId?: string
}

/**
 * What a call asked for, without bodies.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallInput {
  readonly maxMessages?: number
  readonly waitTimeSeconds?: number
  readonly visibilityTimeoutSeconds?: number
  readonly receiveRequestAttemptId?: string
  readonly entries?: ReadonlyArray<CallEntry>
}

/**
 * An entry of a batch that SQS refused; `index` counts from 0 in the caller's order.
 *
 * @since 0.1.0
 * @category models
 */
export interface RefusedEntry {
  readonly index: number
  readonly code: string
  readonly message: string
  readonly senderFault: boolean
}

/**
 * How a call ended. `Lost`: it took effect, and the answer never reached the caller. `Interrupted`: the caller went
 * away before it took effect.
 *
 * @since 0.1.0
 * @category models
 */
export type CallOutcome =
  | {
      readonly _tag: "Answered"
      readonly messageIds: ReadonlyArray<string>
      readonly refused: ReadonlyArray<RefusedEntry>
    }
  | { readonly _tag: "Failed"; readonly code: string; readonly message: string; readonly status: number }
  | { readonly _tag: "Lost" }
  | { readonly _tag: "Interrupted" }

/**
 * A call reached the virtual SQS. `call` numbers the calls from 1; the effects of a call and its end carry the same
 * number. `process` is who called, where that is a process of a simulation.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallStarted {
  readonly _tag: "CallStarted"
  readonly at: number
  readonly call: number
  readonly operation: string
  /** name of the queue, `undefined` where the call names none */
  readonly queue: string | undefined
  readonly input: CallInput
  readonly process?: string
}

/**
 * A call was answered, or will never be.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallEnded {
  readonly _tag: "CallEnded"
  readonly at: number
  readonly startedAt: number
  readonly call: number
  readonly operation: string
  readonly queue: string | undefined
  readonly outcome: CallOutcome
}

/**
 * A fault of a plan struck a call. `fault` says which, in a few words.
 *
 * @since 0.1.0
 * @category models
 */
export interface FaultInjected {
  readonly _tag: "FaultInjected"
  readonly at: number
  readonly call: number
  readonly operation: string
  readonly queue: string | undefined
  readonly fault: string
}

/** What all effects on a message say. `call` is `undefined` for what no call did: expiry, move tasks. */
interface MessageEffect {
  readonly at: number
  readonly call: number | undefined
  readonly queue: string
  readonly messageId: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Sent extends MessageEffect {
  readonly _tag: "Sent"
  readonly visibleAt: number
  readonly bodyBytes: number
  readonly groupId: string | undefined
  readonly sequenceNumber: string | undefined
}

/**
 * A send that succeeded and stored nothing: the deduplication id was used within five minutes. `messageId` is the first
 * message's.
 *
 * @since 0.1.0
 * @category models
 */
export interface Deduplicated extends MessageEffect {
  readonly _tag: "Deduplicated"
  readonly deduplicationId: string
}

/**
 * Handed out. Hidden until `visibleAt` unless changed.
 *
 * @since 0.1.0
 * @category models
 */
export interface Received extends MessageEffect {
  readonly _tag: "Received"
  readonly receiptHandle: string
  readonly receiveCount: number
  readonly visibleAt: number
  readonly groupId: string | undefined
}

/**
 * The message is hidden until `visibleAt` from now on. `handle` tells the state of the handle that did it: `current`,
 * `expired` (the timeout had run out), `old` (received again since).
 *
 * @since 0.1.0
 * @category models
 */
export interface VisibilityChanged extends MessageEffect {
  readonly _tag: "VisibilityChanged"
  readonly receiptHandle: string
  readonly timeoutSeconds: number
  readonly visibleAt: number
  readonly handle: HandleState
}

/**
 * @since 0.1.0
 * @category models
 */
export type HandleState = "current" | "expired" | "old"

/**
 * @since 0.1.0
 * @category models
 */
export interface Deleted extends MessageEffect {
  readonly _tag: "Deleted"
  readonly receiptHandle: string
  readonly handle: HandleState
}

/**
 * A redrive policy moved the message from `queue` to `target`; it keeps its id.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLettered extends MessageEffect {
  readonly _tag: "DeadLettered"
  readonly target: string
  /** receives so far */
  readonly receiveCount: number
}

/**
 * A move task took the message from `queue` and sent it to `target` as a new message.
 *
 * @since 0.1.0
 * @category models
 */
export interface Redriven extends MessageEffect {
  readonly _tag: "Redriven"
  readonly target: string
  readonly newMessageId: string
}

/**
 * The retention period ran out. Written when the virtual SQS noticed: `at` is the time at which it ran out.
 *
 * @since 0.1.0
 * @category models
 */
export interface Expired extends MessageEffect {
  readonly _tag: "Expired"
}

/**
 * Removed with the whole content of its queue, by PurgeQueue or DeleteQueue.
 *
 * @since 0.1.0
 * @category models
 */
export interface Purged extends MessageEffect {
  readonly _tag: "Purged"
}

/**
 * Added by a harness: a handler began to work on a delivery.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunStarted {
  readonly _tag: "RunStarted"
  readonly at: number
  readonly queue: string
  readonly messageId: string
  readonly receiptHandle: string
}

/**
 * Added by a harness: the handler of a delivery ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunEnded {
  readonly _tag: "RunEnded"
  readonly at: number
  readonly queue: string
  readonly messageId: string
  readonly receiptHandle: string
  readonly outcome: "success" | "failure" | "defect" | "interrupted"
  /** a word on the failure */
  readonly reason?: string
}

/**
 * @since 0.1.0
 * @category models
 */
export type JournalEntry =
  | CallStarted
  | CallEnded
  | FaultInjected
  | Sent
  | Deduplicated
  | Received
  | VisibilityChanged
  | Deleted
  | DeadLettered
  | Redriven
  | Expired
  | Purged
  | RunStarted
  | RunEnded

/**
 * How much a journal keeps: everything, the last `n` entries, or nothing.
 *
 * @since 0.1.0
 * @category models
 */
export type JournalBound = "all" | "off" | number

/**
 * @since 0.1.0
 * @category models
 */
export interface Journal {
  /** `false`: nothing is kept, do not bother to build an entry */
  readonly enabled: boolean
  /** what is kept, oldest first; a copy, later entries do not show in it */
  readonly entries: ReadonlyArray<JournalEntry>
  /** how many were appended, those no longer kept included */
  readonly appended: number
  readonly append: (entry: JournalEntry) => void
  readonly clear: () => void
}

/**
 * A journal that keeps what `bound` says.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import { make } from "@effect-sqs/testing/Journal"
 *
 * const journal = make(1000)
 * journal.append({ _tag: "Expired", at: 0, call: undefined, queue: "jobs", messageId: "m-1" })
 * console.log(journal.entries.length) // 1
 */
export const make = (bound: JournalBound = "all"): Journal => {
  const limit = bound === "off" ? 0 : bound === "all" ? Infinity : Math.max(0, Math.floor(bound))
  let kept: Array<JournalEntry> = []
  /** where the oldest is, once the ring is full */
  let first = 0
  let appended = 0
  return {
    enabled: limit > 0,
    get entries() {
      return first === 0 ? kept.slice() : [...kept.slice(first), ...kept.slice(0, first)]
    },
    get appended() {
      return appended
    },
    append(entry) {
      if (limit === 0) return
      appended++
      if (kept.length < limit) {
        kept.push(entry)
      } else {
        kept[first] = entry
        first = (first + 1) % limit
      }
    },
    clear() {
      kept = []
      first = 0
      appended = 0
    }
  }
}
