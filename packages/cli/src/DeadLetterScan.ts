/**
 * Looking into a dead-letter queue without losing anything: what was taken is put back at the end, also when the look fails
 * or is interrupted.
 *
 * SQS shows a message only by handing it out, so each look adds one to the receive count of each message. It has no cursor
 * either: what was seen stays hidden until the end of the look, so that it is not seen twice, and the look has a bound.
 *
 * @since 0.1.0
 */
import { Sqs } from "@effect-sqs/core/Sqs"
import type { SqsError } from "@effect-sqs/core/SqsError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type DeadLetter, fromMessage } from "./DeadLetter.js"
import * as Hands from "./internal/deadLetterHand.js"
import { BATCH } from "./internal/deadLetterCalls.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ScanOptions {
  /** messages at most; default 1,000 */
  readonly max?: number | undefined
  /** default 1 minute */
  readonly time?: Duration.DurationInput | undefined
  /** stop as soon as this holds for a message */
  readonly until?: ((letter: DeadLetter) => boolean) | undefined
}

/**
 * Why a look ended.
 *
 * @since 0.1.0
 * @category models
 */
export type ScanEnd = "all seen" | "max" | "time" | "found"

/**
 * @since 0.1.0
 * @category models
 */
export interface Scan<A> {
  readonly seen: ReadonlyArray<A>
  readonly end: ScanEnd
  /** of those seen, how many SQS did not confirm to have put back: they come back by their visibility timeout */
  readonly notPutBack: number
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaultMax = 1000

const visibilitySeconds = 120
/** a long poll asks all servers of the queue; one that is empty can still miss a message, two hardly */
const waitSeconds = 1
const emptyReceives = 2

/**
 * Looks through a queue and keeps what `keep` makes of each message, so that bodies need not stay in memory.
 *
 * @since 0.1.0
 * @category looking
 */
export const scan = <A, E = never, R = never>(
  queueUrl: string,
  keep: (letter: DeadLetter) => Effect.Effect<A, E, R>,
  options: ScanOptions = {}
): Effect.Effect<Scan<A>, SqsError | E, Sqs | R> =>
  Effect.scoped(
    Effect.gen(function* () {
      const hand = yield* Hands.make(yield* Sqs, queueUrl, visibilitySeconds)
      const max = options.max ?? defaultMax
      const until = (yield* Clock.currentTimeMillis) + Duration.toMillis(options.time ?? "1 minute")
      const seen: Array<A> = []
      let empty = 0
      let end: ScanEnd | undefined
      while (end === undefined) {
        if (seen.length >= max) end = "max"
        else if (empty >= emptyReceives) end = "all seen"
        else if ((yield* Clock.currentTimeMillis) >= until) end = "time"
        else {
          const messages = yield* hand.receive(Math.min(BATCH, max - seen.length), waitSeconds)
          empty = messages.length === 0 ? empty + 1 : 0
          for (const message of messages) {
            const letter = fromMessage(message)
            seen.push(yield* keep(letter))
            if (options.until?.(letter) === true) end = "found"
          }
        }
      }
      return { seen, end, notPutBack: yield* Effect.uninterruptible(hand.releaseAll) }
    })
  )
