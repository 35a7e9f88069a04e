/** What each answer of the ledger means for the message. */
import { Redelivery, type Settlement } from "@effect-sqs/core"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import {
  LedgerBusy,
  LedgerCancelled,
  LedgerClaimLost,
  LedgerMismatch,
  LedgerNotBefore,
  LedgerRejected,
  LedgerReview,
  LedgerStoreError,
  LedgerUnknown
} from "@effect-sqs/ledger/LedgerError"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect } from "effect"

const id = { namespace: "orders", key: "a" }

const settled = (
  policy: Redelivery.Redelivery<string>,
  error: unknown,
  maxDelay: Duration.DurationInput = "12 hours"
) =>
  policy.decide(
    Redelivery.failureOf(Cause.fail(error), {
      receiveCount: 1,
      isLastAttempt: undefined,
      now: 0,
      maxDelay: Duration.decode(maxDelay)
    })
  )

const secondsOf = (s: Settlement.Settlement) => (s._tag === "Release" ? Duration.toSeconds(s.after) : -1)

/** in front of a policy that would release at once */
const policy: Redelivery.Redelivery<string> = Redelivery.release(0).pipe(Ledger.redelivery)

describe("Ledger.redelivery", () => {
  for (const [error, least, most] of [
    [new LedgerBusy({ ...id, until: 1, remainingMs: 40_000 }), 40, 44],
    [new LedgerBusy({ ...id, until: 1, remainingMs: 0 }), 0, 1],
    [new LedgerNotBefore({ ...id, notBefore: 1, remainingMs: 600_000 }), 600, 660],
    [new LedgerClaimLost({ ...id, attempt: 1, reason: "taken over", remainingMs: 20_000 }), 20, 22],
    [new LedgerUnknown({ ...id, ref: "charge" }), 900, 990],
    [new LedgerReview({ ...id, ref: "charge" }), 900, 990]
  ] as const) {
    it.effect(`${error._tag}: released for ${least} to ${most} s, not all at one moment`, () =>
      Effect.gen(function* () {
        const drawn = yield* Effect.replicateEffect(Effect.map(settled(policy, error), secondsOf), 200)
        for (const seconds of drawn) assert.isTrue(seconds >= least && seconds <= most, `${seconds} s`)
        assert.isAbove(new Set(drawn).size, 100)
        assert.strictEqual(secondsOf(yield* settled(policy, error, "0 seconds")), 0)
      })
    )
  }

  it.effect(
    "mismatch and rejected: dead-lettered with the reason; cancelled: deleted; all else: the other policy",
    () =>
      Effect.gen(function* () {
        const reason = (error: unknown) =>
          Effect.map(settled(policy, error), (s) => (s._tag === "DeadLetter" ? s.reason : s._tag))
        assert.include(yield* reason(new LedgerMismatch({ ...id, storedHash: "1", givenHash: "2" })), "LedgerMismatch")
        assert.include(yield* reason(new LedgerRejected({ ...id, reason: "fraud" })), "fraud")
        assert.strictEqual(yield* reason(new LedgerCancelled(id)), "Delete")
        const down = new LedgerStoreError({ operation: "claim", reason: "lost", detail: "down" })
        assert.deepStrictEqual(secondsOf(yield* settled(policy, down)), 0)
        assert.deepStrictEqual(secondsOf(yield* settled(policy, "the job's own")), 0)
      })
  )

  it.effect("put after it, another word on unknown outcomes counts: a FIFO group goes on", () =>
    Effect.gen(function* () {
      const skipping: Redelivery.Redelivery<string> = Redelivery.fifo.pipe(
        Ledger.redelivery,
        Redelivery.catchTag("LedgerUnknown", Redelivery.deadLetter),
        Redelivery.catchTag("LedgerReview", Redelivery.deadLetter)
      )
      for (const error of [new LedgerUnknown({ ...id, ref: "r" }), new LedgerReview({ ...id, ref: "r" })]) {
        assert.strictEqual((yield* settled(skipping, error))._tag, "DeadLetter")
      }
    })
  )
})
