/** The job's own rows and the completion: together or not at all. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { LedgerStoreError } from "@effect-sqs/ledger/LedgerError"
import { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import * as LedgerMetrics from "@effect-sqs/ledger/LedgerMetrics"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Metric, TestClock } from "effect"
import { type Backend, ledgerOn, Rows } from "../support/backend.js"
import { Faults } from "../support/faults.js"
import { exitOf, failureOf, gated, newKey, record, run, tagOf } from "../support/jobs.js"

export const transactions = (backend: Backend) => {
  const test = <A, E>(name: string, body: () => Effect.Effect<A, E, Ledger.Ledger | LedgerStore | Faults | Rows>) =>
    it.effect(name, () => Effect.provide(body(), ledgerOn(backend)))

  /** a transaction of the user's own, in which the job completes */
  const own = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.flatMap(LedgerStore, (store) => store.transaction(self))

  describe(`transactions on ${backend.name}`, () => {
    test("commit: rows and completion together; the result is what the rows gave", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const job = (claim: Ledger.Claim<string>) => claim.commit(Effect.as(rows.insert(key, "row"), "committed"))
        assert.strictEqual(yield* run(key, job), "committed")
        assert.deepStrictEqual(yield* rows.of(key), ["row"])
        assert.strictEqual(yield* run(key, job), "committed")
        assert.deepStrictEqual(yield* rows.of(key), ["row"])
      }))

    test("the user's own transaction fails after the completion: neither is there", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const job = (claim: Ledger.Claim<string>) =>
          own(
            Effect.all([rows.insert(key, "row"), claim.complete("done"), Effect.fail({ _tag: "Bad" as const })])
          ).pipe(Effect.as("done"))
        assert.strictEqual(yield* failureOf(run(key, job)), "Bad")
        assert.deepStrictEqual(yield* rows.of(key), [])
        assert.strictEqual((yield* record(key)).state, "retryable")
      }))

    test("a job that fails after its transaction committed is completed all the same", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const job = (claim: Ledger.Claim<string>) =>
          Effect.zipRight(claim.commit(Effect.as(rows.insert(key, "row"), "done")), Effect.fail("afterwards"))
        assert.strictEqual(yield* run(key, job), "done")
        assert.strictEqual((yield* record(key)).state, "completed")
      }))

    test("a job that goes on after its transaction rolled back is completed with what it returns", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const job = (claim: Ledger.Claim<string>) =>
          own(Effect.all([rows.insert(key, "row"), claim.complete("in the transaction"), Effect.fail("bad")])).pipe(
            Effect.ignore,
            Effect.as("after it")
          )
        assert.strictEqual(yield* run(key, job), "after it")
        assert.strictEqual(yield* run(key, () => Effect.die("ran")), "after it")
        assert.deepStrictEqual(yield* rows.of(key), [])
      }))

    test("interrupted inside the transaction: rolled back, to be tried again", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const inside = yield* Deferred.make<void>()
        const owner = yield* Effect.fork(
          run(key, (claim) =>
            own(
              Effect.all([
                rows.insert(key, "row"),
                claim.complete("done"),
                Deferred.succeed(inside, undefined),
                Effect.never
              ])
            ).pipe(Effect.as("done"))
          )
        )
        yield* Deferred.await(inside)
        yield* Fiber.interrupt(owner)
        assert.deepStrictEqual(yield* rows.of(key), [])
        assert.strictEqual((yield* record(key)).state, "retryable")
      }))

    test("complete outside a transaction is a defect that says what to do", () =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(run(newKey(), (claim) => Effect.as(claim.complete("x"), "x")))
        assert.include(Exit.isFailure(exit) ? String(exit.cause) : "", "claim.commit")
      }))

    test("T11: the claim ends while the completing transaction is open: the completion wins", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const inside = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        const owner = yield* Effect.fork(
          run(key, (claim) =>
            own(
              Effect.all([
                rows.insert(key, "row"),
                claim.complete("the owner"),
                Deferred.succeed(inside, undefined),
                Deferred.await(go)
              ])
            ).pipe(Effect.as("the owner"))
          )
        )
        yield* Deferred.await(inside)
        yield* TestClock.adjust("3 minutes")
        const waiting = yield* Effect.fork(run(key, () => Effect.succeed("the taker")))
        yield* TestClock.adjust("1 second")
        yield* Deferred.succeed(go, undefined)
        assert.strictEqual(yield* Fiber.join(owner), "the owner")
        assert.strictEqual(yield* Fiber.join(waiting), "the owner")
        assert.deepStrictEqual(yield* rows.of(key), ["row"])
      }))

    it.effect("T11: nor does a renewal that finds the claim ended cut the open transaction off", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const faults = yield* Faults
        const inside = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        const owner = yield* Effect.fork(
          run(key, (claim) =>
            own(
              Effect.all([
                rows.insert(key, "row"),
                claim.complete("the owner"),
                Deferred.succeed(inside, undefined),
                Deferred.await(go)
              ])
            ).pipe(Effect.as("the owner"))
          )
        )
        yield* Deferred.await(inside)
        // renewals that wait for the transaction are given up after 5 s and sent again after 5 more; at 60 s the claim ends
        yield* TestClock.adjust("20 seconds")
        for (let n = 1; n <= 5; n++) {
          yield* TestClock.adjust("5 seconds")
          yield* faults.answered("renew", n)
          yield* TestClock.adjust("5 seconds")
        }
        yield* Deferred.succeed(go, undefined)
        assert.strictEqual(yield* Fiber.join(owner), "the owner")
        assert.deepStrictEqual(yield* rows.of(key), ["row"])
      }).pipe(Effect.provide(ledgerOn(backend, { storeTimeout: "5 seconds" })))
    )

    test("T11: and when it rolls back, who waited takes over", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const inside = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void, string>()
        const owner = yield* Effect.fork(
          run(key, (claim) =>
            own(
              Effect.all([
                rows.insert(key, "row"),
                claim.complete("the owner"),
                Deferred.succeed(inside, undefined),
                Deferred.await(go)
              ])
            ).pipe(Effect.as("the owner"))
          )
        )
        yield* Deferred.await(inside)
        yield* TestClock.adjust("3 minutes")
        const waiting = yield* Effect.fork(run(key, () => Effect.succeed("the taker")))
        yield* TestClock.adjust("1 second")
        yield* Deferred.fail(go, "rolled back")
        assert.isTrue(Exit.isFailure(yield* Fiber.await(owner)))
        assert.strictEqual(yield* Fiber.join(waiting), "the taker")
        assert.deepStrictEqual(yield* rows.of(key), [])
        assert.strictEqual((yield* record(key)).attempt, 2)
      }))

    test("a conflict is tried again as a whole, wherever it comes up, and counted; anything else surfaces", () =>
      Effect.gen(function* () {
        const rows = yield* Rows
        const conflict = new LedgerStoreError({ operation: "insert", reason: "conflict", detail: "40001" })
        class Wrapped {
          readonly _tag = "Wrapped"
          readonly cause = Object.assign(new Error("deadlock detected"), { code: "40P01" })
        }
        const counter = LedgerMetrics.retries.pipe(
          (m) => Metric.tagged(m, "operation", "transaction"),
          (m) => Metric.tagged(m, "reason", "conflict")
        )
        const before = (yield* Metric.value(counter)).count
        for (const fails of [Effect.fail(conflict), Effect.fail(new Wrapped()), Effect.die(new Wrapped())]) {
          const key = newKey()
          let tries = 0
          const exit = yield* exitOf(
            run(key, (claim) =>
              claim.commit(
                Effect.gen(function* () {
                  yield* rows.insert(key, `try ${++tries}`)
                  if (tries < 3) yield* fails
                  return "done"
                })
              )
            )
          )
          assert.deepStrictEqual(exit, Exit.succeed("done"))
          assert.deepStrictEqual(yield* rows.of(key), ["try 3"])
        }
        assert.strictEqual((yield* Metric.value(counter)).count - before, 6)

        let tries = 0
        const other = Object.assign(new Error("unique_violation"), { code: "23505" })
        const exit = yield* exitOf(
          run(newKey(), (claim) =>
            claim.commit(Effect.suspend(() => (tries++, Effect.fail({ _tag: "Sql", cause: other }))))
          )
        )
        assert.deepStrictEqual([tagOf(exit), tries], ["Sql", 1])
      }))

    test("a transaction inside another is a part of it", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const outer = Ledger.transaction(
          Effect.zipRight(Ledger.transaction(rows.insert(key, "inner")), Effect.fail("outer"))
        )
        assert.isTrue(Exit.isFailure(yield* Effect.exit(outer)))
        assert.deepStrictEqual(yield* rows.of(key), [])
      }))

    test("the claim is renewed, and the job interrupted as usual, after its transaction rolled back", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const job = yield* gated
        const owner = yield* Effect.fork(
          run(key, (claim) =>
            Effect.zipRight(
              Effect.ignore(own(Effect.zipRight(claim.complete("no"), Effect.fail("back")))),
              job.job(claim)
            )
          )
        )
        yield* job.started
        yield* TestClock.adjust("20 seconds")
        yield* faults.answered("renew", 1)
        yield* faults.lose("renew", "request", 1000)
        yield* TestClock.adjust("61 seconds")
        assert.strictEqual(tagOf(yield* Fiber.await(owner)), "LedgerClaimLost")
      }))
  })
}
