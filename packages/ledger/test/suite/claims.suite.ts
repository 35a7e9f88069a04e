/** Who may run a job, and what becomes of those who may not. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Option, TestClock } from "effect"
import { type Backend, ledgerOn, Rows } from "../support/backend.js"
import { Faults } from "../support/faults.js"
import { deadOwner, exitOf, failureOf, gated, idOf, newKey, record, run } from "../support/jobs.js"

export const claims = (backend: Backend) => {
  const test = <A, E>(name: string, body: () => Effect.Effect<A, E, Ledger.Ledger | LedgerStore | Faults | Rows>) =>
    it.effect(name, () => Effect.provide(body(), ledgerOn(backend)))

  describe(`claims on ${backend.name}`, () => {
    test("T1 G1: of two at the same instant one runs, the other is busy", () =>
      Effect.gen(function* () {
        const key = newKey()
        const job = yield* gated
        const first = yield* Effect.fork(run(key, job.job))
        const second = yield* Effect.fork(run(key, job.job))
        yield* job.started
        const loser = yield* exitOf(Effect.raceAll([Fiber.join(first), Fiber.join(second)].map(Effect.flip)))
        assert.strictEqual(Exit.isSuccess(loser) ? loser.value._tag : "ran", "LedgerBusy")
        yield* job.end("done")
        const exits = yield* Effect.all([Fiber.await(first), Fiber.await(second)])
        assert.deepStrictEqual(
          exits.filter(Exit.isSuccess).map((e) => e.value),
          ["done"]
        )
        assert.strictEqual((yield* record(key)).attempt, 1)
      }))

    test("T1: a busy one is told how long the claim still runs", () =>
      Effect.gen(function* () {
        const key = newKey()
        yield* deadOwner(key)
        yield* TestClock.adjust("20 seconds")
        const busy = yield* Effect.flip(run(key, () => Effect.succeed("no")))
        assert.strictEqual(busy._tag === "LedgerBusy" ? busy.remainingMs : busy, 40_000)
      }))

    test("T2 G2: the owner died before any call: one taker, attempt 2, runs once more", () =>
      Effect.gen(function* () {
        const key = newKey()
        yield* deadOwner(key)
        yield* TestClock.adjust("1 minute")
        const job = yield* gated
        let runs = 0
        const counted = (claim: Ledger.Claim<string>) => Effect.suspend(() => (runs++, job.job(claim)))
        const takers = yield* Effect.forEach([1, 2, 3], () => Effect.fork(run(key, counted)))
        assert.strictEqual(yield* job.started, 2)
        yield* job.end("done")
        const exits = yield* Effect.forEach(takers, Fiber.await)
        assert.include(
          exits.filter(Exit.isSuccess).map((e) => e.value),
          "done"
        )
        assert.strictEqual(runs, 1)
        const row = yield* record(key)
        assert.deepStrictEqual([row.state, row.attempt, row.claimedFrom], ["completed", 2, "expired"])
      }))

    test("T5 G5: an owner that wakes after a takeover is refused, its rows are rolled back, the result stays", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const store = yield* LedgerStore
        const zombie = yield* deadOwner(key)
        const holder = { ...idOf(key), attempt: zombie.attempt, owner: (yield* record(key)).owner! }
        yield* TestClock.adjust("1 minute")
        const late = (value: string) =>
          store.transaction(
            Effect.zipRight(
              rows.insert(key, value),
              Effect.filterOrFail(
                store.complete(holder, { result: `{"value":"${value}"}`, retentionMs: 1000 }),
                Option.isSome,
                () => "refused" as const
              )
            )
          )

        const job = yield* gated
        const taker = yield* Effect.fork(
          run(key, (claim) =>
            Effect.flatMap(job.job(claim), (value) => claim.commit(Effect.as(rows.insert(key, value), value)))
          )
        )
        yield* job.started
        assert.strictEqual(yield* Effect.flip(late("before the taker")), "refused")
        yield* job.end("the taker")
        assert.strictEqual(yield* Fiber.join(taker), "the taker")
        assert.strictEqual(yield* Effect.flip(late("after the taker")), "refused")
        assert.deepStrictEqual(yield* rows.of(key), ["the taker"])
        assert.strictEqual(yield* run(key, () => Effect.succeed("no")), "the taker")
      }))

    test("G5: a run that lost its claim fails as lost, also when it would not be interrupted", () =>
      Effect.gen(function* () {
        const key = newKey()
        const store = yield* LedgerStore
        const faults = yield* Faults
        const job = yield* gated
        yield* faults.lose("renew", "request", 1000)
        const old = yield* Effect.fork(run(key, (claim) => Effect.uninterruptible(job.job(claim))))
        yield* job.started
        // past the end of the claim, no renewal came through: it is interrupted, but will not stop
        yield* TestClock.adjust("61 seconds")
        const taken = yield* store.claim({
          ...idOf(key),
          payloadHash: (yield* record(key)).payloadHash!,
          owner: "taker",
          claimMs: 60_000,
          retentionMs: 1000
        })
        assert.strictEqual(Option.isSome(taken) && taken.value.record.attempt, 2)
        yield* job.end("too late")
        const exit = yield* Fiber.await(old)
        const error = Exit.isFailure(exit) ? yield* Effect.flip(exit) : undefined
        assert.deepStrictEqual(error?._tag === "LedgerClaimLost" ? [error.reason, error.attempt] : error, [
          "unconfirmed",
          1
        ])
        assert.strictEqual((yield* record(key)).owner, "taker")
      }))

    test("T6 G6: an owner that fails late changes nothing", () =>
      Effect.gen(function* () {
        const key = newKey()
        const store = yield* LedgerStore
        yield* deadOwner(key)
        const holder = { ...idOf(key), attempt: 1, owner: (yield* record(key)).owner! }
        yield* TestClock.adjust("1 minute")
        const job = yield* gated
        const taker = yield* Effect.fork(run(key, job.job))
        yield* job.started
        const before = yield* record(key)
        const failing = {
          state: "retryable",
          error: "late",
          delayMs: 0,
          notMade: undefined,
          retentionMs: 1000
        } as const
        assert.isTrue(Option.isNone(yield* store.fail(holder, failing)))
        assert.deepStrictEqual(yield* record(key), before)
        yield* job.end("done")
        yield* Fiber.join(taker)
        assert.isTrue(Option.isNone(yield* store.fail(holder, failing)))
        assert.strictEqual((yield* record(key)).state, "completed")
      }))

    test("T7 G7: a message that comes again after completion gets the stored result, and does not run", () =>
      Effect.gen(function* () {
        const key = newKey()
        assert.strictEqual(yield* run(key, () => Effect.succeed("first")), "first")
        assert.strictEqual(yield* run(key, () => Effect.die("it ran again")), "first")
      }))

    test("T10 G8: another payload under the key is a mismatch, in every state, and changes nothing", () =>
      Effect.gen(function* () {
        const key = newKey()
        const other = () => failureOf(run(key, () => Effect.die("ran"), { payload: { amount: 2 } }))
        const job = yield* gated
        const first = yield* Effect.fork(run(key, job.job, { payload: { amount: 1 } }))
        yield* job.started
        const running = yield* record(key)
        assert.strictEqual(yield* other(), "LedgerMismatch")
        assert.deepStrictEqual(yield* record(key), running)
        yield* Fiber.interrupt(first)
        assert.strictEqual((yield* record(key)).state, "retryable")
        assert.strictEqual(yield* other(), "LedgerMismatch")

        yield* deadOwner(key, { amount: 1 })
        yield* TestClock.adjust("1 minute")
        const ended = yield* record(key)
        assert.strictEqual(yield* other(), "LedgerMismatch")
        assert.deepStrictEqual(yield* record(key), ended)

        yield* run(key, () => Effect.succeed("done"), { payload: { amount: 1 } })
        const completed = yield* record(key)
        assert.strictEqual(yield* other(), "LedgerMismatch")
        assert.deepStrictEqual(yield* record(key), completed)
      }))

    test("G8: the order of properties is no difference", () =>
      Effect.gen(function* () {
        const key = newKey()
        yield* run(key, () => Effect.succeed("done"), { payload: { a: 1, b: { c: 2, d: 3 } } })
        assert.strictEqual(yield* run(key, () => Effect.die("ran"), { payload: { b: { d: 3, c: 2 }, a: 1 } }), "done")
      }))

    test("T14 T15 G10: busy as long as the claim is renewed, taken over when it is not", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const job = yield* gated
        const owner = yield* Effect.fork(run(key, job.job))
        yield* job.started
        for (let n = 1; n <= 9; n++) {
          yield* TestClock.adjust("20 seconds")
          yield* faults.answered("renew", n)
        }
        // three minutes on: three claims would have ended
        assert.strictEqual(yield* failureOf(run(key, () => Effect.succeed("no"))), "LedgerBusy")
        yield* Fiber.interrupt(owner)
        assert.strictEqual(yield* run(key, () => Effect.succeed("second")), "second")
        assert.strictEqual((yield* record(key)).attempt, 2)
      }))

    test("T16: a renewal that fails once does no harm", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const job = yield* gated
        const owner = yield* Effect.fork(run(key, job.job))
        yield* job.started
        yield* faults.lose("renew", "request")
        yield* TestClock.adjust("20 seconds")
        yield* faults.answered("renew", 1)
        yield* TestClock.adjust("5 seconds")
        yield* faults.answered("renew", 2)
        yield* TestClock.adjust("50 seconds")
        yield* faults.answered("renew", 4)
        yield* job.end("done")
        assert.strictEqual(yield* Fiber.join(owner), "done")
      }))

    test("T16: no renewal comes through: interrupted at the end of the claim, finalizers run, and not before", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const job = yield* gated
        let cleaned = false
        yield* faults.lose("renew", "request", 1000)
        const owner = yield* Effect.fork(
          run(key, (claim) =>
            Effect.ensuring(
              job.job(claim),
              Effect.sync(() => void (cleaned = true))
            )
          )
        )
        yield* job.started
        yield* TestClock.adjust("59 seconds")
        assert.isFalse(cleaned)
        yield* TestClock.adjust("2 seconds")
        const exit = yield* Fiber.await(owner)
        const error = Exit.isFailure(exit) ? yield* Effect.flip(exit) : undefined
        assert.strictEqual(error?._tag === "LedgerClaimLost" ? error.reason : error, "unconfirmed")
        assert.isTrue(cleaned)
      }))

    test("losing the claim to another interrupts the job at the next renewal", () =>
      Effect.gen(function* () {
        const key = newKey()
        const store = yield* LedgerStore
        const job = yield* gated
        const owner = yield* Effect.fork(run(key, job.job))
        yield* job.started
        const { payloadHash } = yield* record(key)
        // stands for a takeover that our clock does not see coming, as after a pause of this process
        yield* store.cancel(idOf(key), { retentionMs: 1 })
        yield* TestClock.adjust("1 second")
        yield* store.sweep({ limit: 1000 })
        yield* store.claim({ ...idOf(key), payloadHash: payloadHash!, owner: "o", claimMs: 60_000, retentionMs: 1 })
        yield* TestClock.adjust("19 seconds")
        const exit = yield* Fiber.await(owner)
        assert.strictEqual(Exit.isFailure(exit) ? (yield* Effect.flip(exit))._tag : "ran", "LedgerClaimLost")
      }))

    test("a failure may be tried again at once, later, or never", () =>
      Effect.gen(function* () {
        const key = newKey()
        const fails = (how: Ledger.Failing) =>
          failureOf(run(key, () => Effect.fail({ _tag: "Bad" }), { failure: () => how }))
        assert.strictEqual(yield* fails(Ledger.retry()), "Bad")
        assert.strictEqual(yield* fails(Ledger.retry("30 seconds")), "Bad")
        const early = yield* Effect.flip(run(key, () => Effect.die("ran")))
        assert.strictEqual(early._tag === "LedgerNotBefore" ? early.remainingMs : early, 30_000)
        yield* TestClock.adjust("30 seconds")
        assert.strictEqual(yield* fails(Ledger.reject), "Bad")
        const rejected = yield* Effect.flip(run(key, () => Effect.die("ran")))
        assert.strictEqual(rejected._tag === "LedgerRejected" ? rejected.reason : rejected, "Bad")
        assert.strictEqual((yield* record(key)).attempt, 3)
      }))

    test("a defect and an interruption of the job itself leave the key to be tried again", () =>
      Effect.gen(function* () {
        const key = newKey()
        assert.isTrue(Exit.isFailure(yield* Effect.exit(run(key, () => Effect.die("defect")))))
        assert.strictEqual((yield* record(key)).state, "retryable")
        assert.isTrue(Exit.isFailure(yield* Effect.exit(run(key, () => Effect.interrupt))))
        assert.strictEqual((yield* record(key)).state, "retryable")
        assert.strictEqual(yield* run(key, () => Effect.succeed("third")), "third")
      }))

    test("T28 G12: 40 claims on one key at once: one winner", () =>
      Effect.gen(function* () {
        const key = newKey()
        const race = (attempt: number) =>
          Effect.gen(function* () {
            const outcomes = yield* Effect.forEach(
              Array.from({ length: 40 }, (_, n) => n),
              (n) => Ledger.claim({ ...idOf(key), owner: `${attempt} ${n}` }),
              { concurrency: "unbounded" }
            )
            assert.strictEqual(outcomes.filter((o) => o._tag === "Claimed" && o.attempt === attempt).length, 1)
            assert.strictEqual(outcomes.filter((o) => o._tag === "Busy").length, 39)
          })
        yield* race(1)
        yield* TestClock.adjust("1 minute")
        yield* race(2)
      }))
  })
}
