/**
 * The messages that are in hand: received, hidden from others, their leases kept, and put back at the end unless they were
 * deleted. At the end means also: on failure and on interruption.
 */
import type { ReceivedMessage, Sqs } from "@effect-sqs/core/Sqs"
import type { SqsError } from "@effect-sqs/core/SqsError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { BATCH, batch, inTens, patiently } from "./deadLetterCalls.js"

interface Held {
  handle: string
  /** epoch ms; counted from before the call */
  deadline: number
}

export interface Hand {
  /** Up to ten messages; those that are in hand already only get their new receipt handle. */
  readonly receive: (max: number, waitSeconds: number) => Effect.Effect<ReadonlyArray<ReceivedMessage>, SqsError>
  /** how many are in hand */
  readonly size: () => number
  /** ms until others may get it; 0 when it is not in hand, or no longer ours */
  readonly remainingMs: (messageId: string) => Effect.Effect<number>
  /** Deletes; answers the ids whose delete SQS confirmed. The others stay in hand. */
  readonly remove: (messageIds: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>>
  /** Puts back: visible at once. Answers how many SQS did not confirm: those come back by their timeout. */
  readonly release: (messageIds: ReadonlyArray<string>) => Effect.Effect<number>
  /** Puts everything back that is in hand. */
  readonly releaseAll: Effect.Effect<number>
}

/** batches that are put back at once */
const atOnce = 4

export const make = (
  sqs: Sqs["Type"],
  queueUrl: string,
  visibilitySeconds: number
): Effect.Effect<Hand, never, Scope.Scope> =>
  Effect.gen(function* () {
    const held = new Map<string, Held>()
    // a beat that overtakes a release would hide the message again
    const turn = Effect.unsafeMakeSemaphore(1).withPermits(1)
    const visibilityMs = visibilitySeconds * 1000

    const receive: Hand["receive"] = (max, waitTimeSeconds) =>
      // SQS hides what it hands out, whether or not somebody still waits for the answer
      Effect.uninterruptible(
        Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
          Effect.map(
            patiently(
              sqs.receive({ queueUrl, maxMessages: max, waitTimeSeconds, visibilityTimeoutSeconds: visibilitySeconds })
            ),
            (messages) => {
              const fresh: Array<ReceivedMessage> = []
              for (const message of messages) {
                if (!held.has(message.messageId)) fresh.push(message)
                held.set(message.messageId, { handle: message.receiptHandle, deadline: startedAt + visibilityMs })
              }
              return fresh
            }
          )
        )
      )

    const extend = (messageIds: ReadonlyArray<string>) =>
      turn(
        Effect.gen(function* () {
          const ours = messageIds.filter((id) => held.has(id))
          if (ours.length === 0) return
          const startedAt = yield* Clock.currentTimeMillis
          const entries = ours.map((id) => ({
            receiptHandle: held.get(id)!.handle,
            visibilityTimeoutSeconds: visibilitySeconds
          }))
          const results = yield* batch(
            entries,
            (some) => sqs.changeVisibilityBatch(queueUrl, some),
            () => false
          )
          ours.forEach((id, i) => {
            const result = results[i]!
            if (result._tag === "Done") held.get(id)!.deadline = startedAt + visibilityMs
            else if (!result.error.retryable && result.whole !== true) held.delete(id)
          })
        })
      )

    const release: Hand["release"] = (messageIds) =>
      turn(
        Effect.suspend(() => {
          const handles = messageIds.flatMap((id) => held.get(id)?.handle ?? [])
          for (const id of messageIds) held.delete(id)
          let unconfirmed = 0
          return Effect.map(
            Effect.forEach(
              inTens(handles),
              (some) =>
                Effect.map(
                  batch(
                    some.map((receiptHandle) => ({ receiptHandle, visibilityTimeoutSeconds: 0 })),
                    (entries) => sqs.changeVisibilityBatch(queueUrl, entries),
                    // where SQS cannot be reached, the first batches find that out for all
                    (error) => error.retryable && unconfirmed < BATCH
                  ),
                  (results) => {
                    for (const result of results) if (result._tag === "Failed") unconfirmed++
                  }
                ),
              { concurrency: atOnce, discard: true }
            ),
            () => unconfirmed
          )
        })
      )

    const remove: Hand["remove"] = (messageIds) =>
      turn(
        Effect.suspend(() => {
          const removed = new Set<string>()
          const ours = messageIds.filter((id) => held.has(id))
          return Effect.as(
            Effect.forEach(
              inTens(ours),
              (ids) =>
                Effect.map(
                  batch(
                    ids.map((id) => held.get(id)!.handle),
                    (handles) => sqs.deleteBatch(queueUrl, handles),
                    (error) => error.retryable
                  ),
                  (results) =>
                    results.forEach((result, i) => {
                      if (result._tag === "Failed") return
                      removed.add(ids[i]!)
                      held.delete(ids[i]!)
                    })
                ),
              { discard: true }
            ),
            removed
          )
        })
      )

    const releaseAll = Effect.suspend(() => release([...held.keys()]))

    yield* Effect.addFinalizer(() => releaseAll)
    yield* Effect.forkScoped(
      Effect.interruptible(
        Effect.forever(
          Effect.delay(
            Effect.suspend(() => Effect.forEach(inTens([...held.keys()]), extend, { discard: true })),
            visibilityMs / 3
          )
        )
      )
    )

    return {
      receive,
      size: () => held.size,
      remainingMs: (id) =>
        Effect.map(Clock.currentTimeMillis, (now) => Math.max(0, (held.get(id)?.deadline ?? now) - now)),
      remove,
      release,
      releaseAll
    }
  })
