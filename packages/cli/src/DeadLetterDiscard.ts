/**
 * `dlq discard`: dead letters that nobody needs any more go into a file, with a reason, and then out of the queue.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import { Sqs } from "@effect-sqs/core/Sqs"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { type DeadLetter, fromMessage, toJson } from "./DeadLetter.js"
import { type DeadLetterError, FileUnusable, Refused } from "./DeadLetterError.js"
import { type DeadLetterFilter, matches } from "./DeadLetterFilter.js"
import * as Queue from "./DeadLetterQueue.js"
import { defaultMax } from "./DeadLetterScan.js"
import { BATCH } from "./internal/deadLetterCalls.js"
import * as Hands from "./internal/deadLetterHand.js"
import type { SqsInspector } from "./SqsInspector.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface DiscardOptions {
  readonly queue: string
  readonly anyQueue?: boolean | undefined
  readonly filter?: DeadLetterFilter | undefined
  /** why they are not needed; goes into the file */
  readonly reason: string
  /** the file that keeps them, JSON lines; appended to when it is there */
  readonly keepIn: string
  /** name of the dead-letter queue, as typed by who knows what this does */
  readonly confirm: string
  /** for the file */
  readonly actor: string
  /** messages received at most; default 1,000 */
  readonly max?: number | undefined
  /** told at the end, also when it is interrupted; all is put back by then */
  readonly onReport?: ((report: DiscardReport) => Effect.Effect<void>) | undefined
}

/**
 * The sums match: received = discarded + kept + failed.
 *
 * @since 0.1.0
 * @category models
 */
export interface DiscardReport {
  readonly queue: string
  readonly received: number
  /** in the file, and deleted */
  readonly discarded: number
  /** put back: not meant by the filter, or not reached */
  readonly kept: number
  /** in the file, but their delete was not confirmed: put back */
  readonly failed: number
  readonly keepIn: string
  /** why it ended early; `undefined`: it came to its end */
  readonly stopped: string | undefined
  readonly isInterrupted: boolean
  readonly notPutBack: number
}

const visibilitySeconds = 120
const emptyReceives = 2

const keeper = (
  path: string
): Effect.Effect<
  (lines: ReadonlyArray<unknown>) => Effect.Effect<void, FileUnusable>,
  FileUnusable,
  FileSystem.FileSystem | Scope.Scope
> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const cannot = (e: { readonly message: string }) =>
      new FileUnusable({
        path,
        detail: `it cannot be written (${e.message}). Nothing is deleted that is not kept: give another --keep-in.`
      })
    const file = yield* Effect.mapError(fs.open(path, { flag: "a" }), cannot)
    return (lines) =>
      file
        .writeAll(new TextEncoder().encode(lines.map((line) => `${JSON.stringify(line)}\n`).join("")))
        .pipe(Effect.zipRight(file.sync), Effect.mapError(cannot))
  })

/**
 * Writes each message that is meant into the file, has it on the disk, and deletes it then. On interruption the batch in hand is
 * finished, and the rest put back. Fails when nothing was begun; later faults are in the report as `stopped`.
 *
 * @since 0.1.0
 * @category commands
 */
export const discard = (
  options: DiscardOptions
): Effect.Effect<DiscardReport, DeadLetterError, Sqs | SqsInspector | FileSystem.FileSystem> =>
  Effect.scoped(
    Effect.gen(function* () {
      if (options.reason.trim() === "") {
        return yield* new Refused({ sentence: "--because is empty: say why these messages are not needed." })
      }
      const sqs = yield* Sqs
      const queue = yield* Queue.open(options.queue, options)
      if (options.confirm !== queue.name) {
        return yield* new Refused({
          sentence: `The queue is ${queue.name}, but --confirm says ${options.confirm}: nothing was discarded. Say --confirm ${queue.name} if you mean it.`
        })
      }
      const filter = options.filter ?? {}
      const keep = yield* keeper(options.keepIn)
      const max = options.max ?? defaultMax
      const received = new Set<string>()
      const discarded = new Set<string>()
      const failed = new Set<string>()
      let notPutBack = 0

      const remove = (hand: Hands.Hand, letters: ReadonlyArray<DeadLetter>) =>
        Effect.gen(function* () {
          if (letters.length === 0) return
          const at = yield* Clock.currentTimeMillis
          const { actor, reason } = options
          yield* keep(
            letters.map((letter) => ({
              at,
              queue: queue.name,
              discardedBecause: reason,
              actor,
              message: toJson(letter)
            }))
          )
          const removed = yield* hand.remove(letters.map((l) => l.messageId))
          for (const { messageId } of letters) {
            if (removed.has(messageId)) {
              discarded.add(messageId)
              failed.delete(messageId)
            } else if (!discarded.has(messageId)) failed.add(messageId)
          }
        })

      const run = Effect.scoped(
        Effect.gen(function* () {
          const hand = yield* Hands.make(sqs, queue.url, visibilitySeconds)
          yield* Effect.addFinalizer(() => Effect.map(hand.releaseAll, (n) => (notPutBack = n)))
          for (let empty = 0; empty < emptyReceives && received.size < max;) {
            const got = yield* Effect.uninterruptible(
              Effect.gen(function* () {
                const messages = yield* hand.receive(Math.min(BATCH, max - received.size), 1)
                for (const { messageId } of messages) received.add(messageId)
                yield* remove(
                  hand,
                  messages.map(fromMessage).filter((letter) => matches(filter, letter))
                )
                return messages.length
              })
            )
            empty = got === 0 ? empty + 1 : 0
          }
        })
      )

      return yield* Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const exit = yield* Effect.exit(restore(run))
          const isInterrupted = Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)
          if (Exit.isFailure(exit) && received.size === 0 && !isInterrupted) return yield* Effect.failCause(exit.cause)
          const report: DiscardReport = {
            queue: queue.name,
            received: received.size,
            discarded: discarded.size,
            kept: received.size - discarded.size - failed.size,
            failed: failed.size,
            keepIn: options.keepIn,
            stopped: Exit.isSuccess(exit)
              ? undefined
              : isInterrupted
                ? "interrupted"
                : (Cause.squash(exit.cause) as Error).message,
            isInterrupted,
            notPutBack
          }
          if (options.onReport !== undefined) yield* options.onReport(report)
          return report
        })
      )
    })
  )
