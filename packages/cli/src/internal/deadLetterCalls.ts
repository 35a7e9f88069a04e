/** How an operator's tool calls SQS: what can pass is tried again for some seconds, in batches of ten. */
import type { EntryResult } from "@effect-sqs/core/Sqs"
import type { SqsError } from "@effect-sqs/core/SqsError"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

export const BATCH = 10

/** 0.2, 0.4, 0.8, 1.6 s, jittered */
export const backoff = Schedule.exponential("200 millis").pipe(
  Schedule.jitteredWith({ min: 0.8, max: 1.2 }),
  Schedule.intersect(Schedule.recurs(4))
)

/** For calls that may be repeated: receive, delete, change of visibility, attributes. */
export const patiently = <A, R>(call: Effect.Effect<A, SqsError, R>): Effect.Effect<A, SqsError, R> =>
  Effect.retry(call, { schedule: backoff, while: (e) => e.retryable && e._tag !== "CredentialsExpired" })

export const inTens = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> => {
  const batches: Array<ReadonlyArray<A>> = []
  for (let at = 0; at < all.length; at += BATCH) batches.push(all.slice(at, at + BATCH))
  return batches
}

/**
 * One batch of at most ten until nothing is left that another try could help; the n-th answer is that of the n-th entry. A
 * call that fails as a whole is the answer of all its entries.
 */
export const batch = <A, B>(
  entries: ReadonlyArray<A>,
  call: (entries: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<EntryResult<B>>, SqsError>,
  mayRepeat: (error: SqsError, whole: boolean) => boolean
): Effect.Effect<ReadonlyArray<EntryResult<B> & { readonly whole?: boolean }>> =>
  Effect.suspend(() => {
    const results: Array<EntryResult<B> & { readonly whole?: boolean }> = []
    let pending = entries.map((entry, index) => ({ entry, index }))
    const attempt = Effect.suspend(() => call(pending.map(({ entry }) => entry))).pipe(
      Effect.matchEffect({
        onFailure: (error) => {
          for (const { index } of pending) results[index] = { _tag: "Failed", error, whole: true }
          return mayRepeat(error, true) ? Effect.fail("again" as const) : Effect.void
        },
        onSuccess: (answers) => {
          pending.forEach(({ index }, i) => (results[index] = answers[i]!))
          pending = pending.filter((_, i) => {
            const answer = answers[i]!
            return answer._tag === "Failed" && mayRepeat(answer.error, false)
          })
          return pending.length > 0 ? Effect.fail("again" as const) : Effect.void
        }
      })
    )
    return Effect.as(Effect.ignore(Effect.retry(attempt, backoff)), results)
  })
