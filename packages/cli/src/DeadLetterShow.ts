/**
 * `dlq show`: one message in full.
 *
 * @since 0.1.0
 */
import type { Sqs } from "@effect-sqs/core/Sqs"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { AttributeName, type DeadLetter, textOf } from "./DeadLetter.js"
import { type DeadLetterError, Refused } from "./DeadLetterError.js"
import { type DeadLetterFilter, matches } from "./DeadLetterFilter.js"
import * as Queue from "./DeadLetterQueue.js"
import { scan, type ScanOptions } from "./DeadLetterScan.js"
import type { SqsInspector } from "./SqsInspector.js"

/**
 * Something that happened to a message, as far as it is recorded; epoch milliseconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface HistoryEntry {
  readonly at: number | undefined
  readonly what: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface DeadLetterDetail {
  readonly queue: string
  readonly letter: DeadLetter
  readonly history: ReadonlyArray<HistoryEntry>
  /** messages that this look received, each of which now counts one receive more */
  readonly looked: number
}

/**
 * What is recorded of a message, in the order of time.
 *
 * @since 0.1.0
 * @category getters
 */
export const historyOf = (letter: DeadLetter, now: number): ReadonlyArray<HistoryEntry> => {
  const { message } = letter
  const recorded = message.attributes[AttributeName.receiveCount]
  const entries: Array<HistoryEntry> = []
  if (letter.firstSentAt !== undefined && letter.firstSentAt !== message.sentAt) {
    entries.push({ at: letter.firstSentAt, what: `first sent, as ${letter.originalMessageId}` })
  }
  entries.push({ at: message.sentAt, what: `sent, as ${letter.messageId}` })
  if (letter.redrives > 0) {
    const times = letter.redrives === 1 ? "once" : `${letter.redrives} times`
    entries.push({ at: undefined, what: `redriven ${times}, last by plan ${letter.redriveId ?? "?"}` })
  }
  if (message.firstReceivedAt !== undefined) entries.push({ at: message.firstReceivedAt, what: "received first" })
  if (letter.reason !== undefined) {
    const receives = recorded === undefined ? undefined : textOf(recorded)
    const after = receives === undefined ? "" : ` after ${receives} ${receives === "1" ? "receive" : "receives"}`
    entries.push({ at: undefined, what: `dead-lettered by a consumer${after}: ${letter.reason}` })
  } else if (message.deadLetterSourceArn !== undefined) {
    entries.push({ at: undefined, what: `moved by the redrive policy of ${letter.source}` })
  }
  entries.push({ at: now, what: `received by this look, receive number ${message.receiveCount}` })
  return entries
}

const notFound = (which: string, looked: number) =>
  new Refused({
    sentence:
      `No such message among the ${looked} that this look was shown: ${which}. ` +
      "It may be in somebody else's hands, or beyond --scan; dlq ls --messages lists what there is."
  })

/**
 * Finds one message by its id, or by its place in `ls` (from 1, by the time of sending, with the same filter), and puts back
 * all that it had to take for that.
 *
 * @since 0.1.0
 * @category commands
 */
export const show = (
  nameOrUrl: string,
  which: string | number,
  options: ScanOptions & {
    readonly filter?: DeadLetterFilter | undefined
    readonly anyQueue?: boolean | undefined
  } = {}
): Effect.Effect<DeadLetterDetail, DeadLetterError, Sqs | SqsInspector> =>
  Effect.gen(function* () {
    const queue = yield* Queue.open(nameOrUrl, options)
    const filter = options.filter ?? {}
    const isMeant = (letter: DeadLetter) => letter.messageId === which
    const { seen } = yield* scan(queue.url, Effect.succeed, {
      ...options,
      ...(typeof which === "string" ? { until: isMeant } : {})
    })
    const found =
      typeof which === "string"
        ? seen.find(isMeant)
        : seen
            .filter((letter) => matches(filter, letter))
            .sort((a, b) => (a.message.sentAt ?? 0) - (b.message.sentAt ?? 0) || (a.messageId < b.messageId ? -1 : 1))[
            which - 1
          ]
    if (found === undefined) return yield* notFound(String(which), seen.length)
    const now = yield* Clock.currentTimeMillis
    return { queue: queue.name, letter: found, history: historyOf(found, now), looked: seen.length }
  })
