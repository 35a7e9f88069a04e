/**
 * `dlq ls`: what lies in a dead-letter queue, by reason, type and source.
 *
 * @since 0.1.0
 */
import type { Sqs } from "@effect-sqs/core/Sqs"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { ageMs, type DeadLetter, type Kind, kindKey, kindOf } from "./DeadLetter.js"
import type { DeadLetterError } from "./DeadLetterError.js"
import { type DeadLetterFilter, matches } from "./DeadLetterFilter.js"
import * as Queue from "./DeadLetterQueue.js"
import { scan, type ScanEnd, type ScanOptions } from "./DeadLetterScan.js"
import type { SqsInspector } from "./SqsInspector.js"

/**
 * One message in a line. `index` counts by the time of sending, from 1.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLetterLine extends Kind {
  readonly index: number
  readonly messageId: string
  /** as it is written on the message, not cut to its kind */
  readonly reasonText: string | undefined
  readonly ageMs: number | undefined
  readonly receiveCount: number
  readonly redrives: number
  readonly groupId: string | undefined
  readonly bodyBytes: number
}

/**
 * The messages of one kind.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeadLetterGroup extends Kind {
  readonly count: number
  readonly oldestMs: number | undefined
  readonly youngestMs: number | undefined
  readonly receiveCount: { readonly min: number; readonly max: number }
  /** how many have been redriven before */
  readonly redriven: number
  /** an id, to look at with `show` */
  readonly example: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface DeadLetterList {
  readonly queue: Queue.DeadLetterQueue
  /** received in this look: each of them counts one receive more than before */
  readonly looked: number
  /** of these, how many the filter holds for */
  readonly matching: number
  readonly groups: ReadonlyArray<DeadLetterGroup>
  readonly messages: ReadonlyArray<DeadLetterLine>
  readonly end: ScanEnd
  readonly notPutBack: number
  /** what an operator should know before the next step */
  readonly notes: ReadonlyArray<string>
}

/** A line as the scan keeps it: without the body. */
interface Seen extends Omit<DeadLetterLine, "index"> {
  readonly sentAt: number
  readonly isMatching: boolean
}

const seenOf = (letter: DeadLetter, filter: DeadLetterFilter, now: number): Seen => ({
  ...kindOf(letter),
  messageId: letter.messageId,
  reasonText: letter.reason,
  ageMs: ageMs(letter, now),
  receiveCount: letter.message.receiveCount,
  redrives: letter.redrives,
  groupId: letter.message.groupId,
  bodyBytes: Buffer.byteLength(letter.message.body),
  sentAt: letter.message.sentAt ?? 0,
  isMatching: matches(filter, letter)
})

const extreme = (values: ReadonlyArray<number | undefined>, pick: (a: number, b: number) => number) =>
  values.reduce((a, b) => (a === undefined ? b : b === undefined ? a : pick(a, b)), undefined)

const groupOf = (lines: ReadonlyArray<Seen>): DeadLetterGroup => {
  const { reason, source, type } = lines[0]!
  const ages = lines.map((l) => l.ageMs)
  const counts = lines.map((l) => l.receiveCount)
  return {
    reason,
    type,
    source,
    count: lines.length,
    oldestMs: extreme(ages, Math.max),
    youngestMs: extreme(ages, Math.min),
    receiveCount: { min: Math.min(...counts), max: Math.max(...counts) },
    redriven: lines.filter((l) => l.redrives > 0).length,
    example: lines[0]!.messageId
  }
}

/** the largest first */
const groupsOf = (lines: ReadonlyArray<Seen>): ReadonlyArray<DeadLetterGroup> => {
  const kinds = new Map<string, Array<Seen>>()
  for (const line of lines) {
    const kind = kinds.get(kindKey(line))
    if (kind === undefined) kinds.set(kindKey(line), [line])
    else kind.push(line)
  }
  return [...kinds.values()].map(groupOf).sort((a, b) => b.count - a.count)
}

const notesOf = (queue: Queue.DeadLetterQueue, seen: ReadonlyArray<Seen>, end: ScanEnd): Array<string> => {
  const notes: Array<string> = []
  const { attributes } = queue
  const { redrivePolicy } = attributes
  if (redrivePolicy !== undefined) {
    const next = redrivePolicy.deadLetterTargetArn.slice(redrivePolicy.deadLetterTargetArn.lastIndexOf(":") + 1)
    const near = seen.filter((l) => l.receiveCount >= redrivePolicy.maxReceiveCount).length
    notes.push(
      `${queue.name} has a redrive policy of its own: after ${redrivePolicy.maxReceiveCount} receives a message moves on to ` +
        `${next}, and looks count as receives${near > 0 ? ` (${near} of these are at that count)` : ""}.`
    )
  }
  const oldest = extreme(
    seen.map((l) => l.ageMs),
    Math.max
  )
  const retentionMs = attributes.retentionSeconds * 1000
  if (oldest !== undefined && oldest > retentionMs * 0.8) {
    notes.push(
      `The oldest message has used up ${Math.min(100, Math.round((100 * oldest) / retentionMs))} % of the queue's retention: ` +
        "SQS deletes it when that ends. Raise MessageRetentionPeriod (at most 14 days), or act now."
    )
  }
  if (attributes.kind === "fifo") {
    notes.push("This is a FIFO queue: SQS shows at most the first ten messages of a group, until these are gone.")
  }
  if (end === "max" || end === "time") {
    notes.push(
      `The look ended after ${seen.length} messages, there may be more (SQS counts about ${attributes.messages}): ` +
        (end === "max" ? "raise --scan." : "raise --scan-time.")
    )
  }
  return notes
}

/**
 * Looks, groups, puts back.
 *
 * @since 0.1.0
 * @category commands
 */
export const list = (
  nameOrUrl: string,
  options: ScanOptions & {
    readonly filter?: DeadLetterFilter | undefined
    readonly anyQueue?: boolean | undefined
  } = {}
): Effect.Effect<DeadLetterList, DeadLetterError, Sqs | SqsInspector> =>
  Effect.gen(function* () {
    const queue = yield* Queue.open(nameOrUrl, options)
    const filter = options.filter ?? {}
    const { end, notPutBack, seen } = yield* scan(
      queue.url,
      (letter) => Effect.map(Clock.currentTimeMillis, (now) => seenOf(letter, filter, now)),
      options
    )
    const matching = seen
      .filter((l) => l.isMatching)
      .sort((a, b) => a.sentAt - b.sentAt || (a.messageId < b.messageId ? -1 : 1))
    return {
      queue,
      looked: seen.length,
      matching: matching.length,
      groups: groupsOf(matching),
      messages: matching.map(({ isMatching: _, sentAt: __, ...line }, i) => ({ index: i + 1, ...line })),
      end,
      notPutBack,
      notes: notesOf(queue, seen, end)
    }
  })
