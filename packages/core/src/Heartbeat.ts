/**
 * The scheduled fiber of one lease, and how a lease is lost.
 *
 * It starts at the first beat, so a short job never has one; the end of the delivery interrupts it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Lease from "./Lease.js"
import type { LeaseLossReason } from "./Settlement.js"
import type { EntryResult } from "./Sqs.js"
import type { SqsError } from "./SqsError.js"

/**
 * What a heartbeat needs to know and to do. Times are ms of one clock.
 *
 * @since 0.1.0
 * @category models
 */
export interface Heart {
  readonly settings: Lease.LeaseSettings
  readonly now: () => number
  /** as it is at this moment: a handler may have extended it by hand */
  readonly lease: () => Lease.Lease
  /**
   * Asks SQS for so many seconds from now; a success moves the lease on. `undefined`: there was no answer within
   * `patienceMs`, or it was not asked, since another extension was on the wire, or the lease had ended before the call
   * could leave: look at the lease again.
   */
  readonly ask: (seconds: number, patienceMs: number) => Effect.Effect<EntryResult | undefined>
  /** one beat had no success; it will be tried again */
  readonly failed: (error: SqsError) => void
  /** the lease is lost: the last thing a heartbeat says */
  readonly lost: (reason: LeaseLossReason, cause: SqsError | undefined) => void
}

const FIRST_RETRY_MS = 200

/** A sleep of less than the clock's grain would end at once, and the loop would spin. */
const wholeMs = Math.ceil

/**
 * SQS says that the delivery is not ours: trying again cannot help.
 *
 * @internal
 */
export const isRefusal = (error: SqsError): boolean =>
  error._tag === "MessageGone" || error._tag === "HandleInvalid" || error._tag === "QueueMissing"

/** Why a lease whose time is over was lost. */
const reasonAt = (heart: Heart, now: number): LeaseLossReason => {
  const { settings } = heart
  const lease = heart.lease()
  if (now >= lease.deadline) return "stalled"
  if (now >= lease.limitAt) return "limit"
  const atCap = settings.heartbeatMs !== undefined && Lease.beatSeconds(lease, settings, now) === 0
  return atCap ? "limit" : "ran out"
}

/**
 * Beats until it is interrupted or the lease is lost. A failed beat is tried again inside the lease, ever more slowly,
 * never two at a time. When nothing can be asked any more, at the user's limit or at SQS's 12 hours, no more beats are
 * sent and the lease is lost at its end.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (heart: Heart): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { settings } = heart
    let failures = 0
    let retryAt = 0
    let lastError: SqsError | undefined
    while (true) {
      const now = heart.now()
      const lease = heart.lease()
      const end = Lease.interruptAt(lease)
      if (now >= end) return heart.lost(reasonAt(heart, now), lastError)
      const next = Math.min(Math.max(Lease.beatDueAt(lease, settings), retryAt), end)
      if (now < next) {
        yield* Effect.sleep(wholeMs(next - now))
        continue
      }
      const seconds = Lease.beatSeconds(lease, settings, now)
      if (seconds === 0) {
        yield* Effect.sleep(wholeMs(end - now))
        continue
      }
      // An answer that comes after the end is of no use; the beat itself goes on, and whoever settles waits for it.
      const answer = yield* heart.ask(seconds, wholeMs(end - now))
      if (answer === undefined) continue
      if (answer._tag === "Done") {
        failures = 0
        retryAt = 0
        lastError = undefined
        continue
      }
      const { error } = answer
      if (isRefusal(error)) return heart.lost("refused", error)
      if (error._tag === "VisibilityLimit") return heart.lost("limit", error)
      lastError = error
      heart.failed(error)
      const lead = lease.deadline - lease.nextBeatAt
      const pause = Math.min(lead / 4, FIRST_RETRY_MS * 2 ** failures++)
      retryAt = heart.now() + pause * (0.5 + (yield* Random.next) / 2)
    }
  })
