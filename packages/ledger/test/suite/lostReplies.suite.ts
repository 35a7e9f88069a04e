/** Each call of the store, with its request or its answer lost once: nothing runs twice, nothing is forgotten. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { type LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Option, Schema, TestClock } from "effect"
import { type Backend, ledgerOn, Rows } from "../support/backend.js"
import { Faults, type Lost, type Operation } from "../support/faults.js"
import { deadCaller, exitOf, gated, idOf, newKey, record, run, tagOf } from "../support/jobs.js"

const policy = Ledger.ambiguous({ timeout: "1 second", result: Schema.String })

export const lostReplies = (backend: Backend) => {
  const test = <A, E>(name: string, body: () => Effect.Effect<A, E, Ledger.Ledger | LedgerStore | Faults | Rows>) =>
    it.effect(name, () => Effect.provide(body(), ledgerOn(backend)))

  const operations: ReadonlyArray<Operation> = ["claim", "recall", "begin", "end", "remember", "complete"]

  describe(`lost requests and answers on ${backend.name}`, () => {
    for (const operation of operations) {
      for (const lost of ["request", "answer"] as ReadonlyArray<Lost>) {
        for (const times of [1, 3]) {
          test(`${operation}: the ${lost} is lost, ${times} times`, () =>
            Effect.gen(function* () {
              const key = newKey()
              const faults = yield* Faults
              let called = 0
              let ran = 0
              yield* faults.lose(operation, lost, times)
              const exit = yield* exitOf(
                run(key, () =>
                  Effect.gen(function* () {
                    ran++
                    const charge = yield* Ledger.outside("charge", policy, () =>
                      Effect.sync(() => `charge ${++called}`)
                    )
                    return yield* Ledger.step("note", Schema.String, Effect.succeed(`${charge}, noted`))
                  })
                )
              )
              assert.deepStrictEqual(exit, Exit.succeed("charge 1, noted"))
              assert.deepStrictEqual([ran, called], [1, 1])
              const row = yield* record(key)
              assert.deepStrictEqual([row.state, row.attempt], ["completed", 1])
            }))
        }
      }
    }

    test("complete: no answer ever comes: the run fails, and the next one finds the result", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        yield* faults.lose("complete", "answer", 1)
        yield* faults.lose("complete", "request", 8)
        const exit = yield* exitOf(run(key, () => Effect.succeed("done")))
        assert.strictEqual(tagOf(exit), "LedgerStoreError")
        yield* faults.lose("claim", "answer")
        assert.deepStrictEqual(yield* exitOf(run(key, () => Effect.die("ran again"))), Exit.succeed("done"))
      }))

    test("complete: what the database refuses is not tried again", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        yield* faults.refuse("complete")
        const exit = yield* exitOf(run(key, () => Effect.succeed("done")))
        assert.strictEqual(tagOf(exit), "LedgerStoreError")
        assert.strictEqual(faults.count("complete"), 1)
      }))

    for (const lost of ["request", "answer"] as ReadonlyArray<Lost>) {
      test(`fail: the ${lost} is lost`, () =>
        Effect.gen(function* () {
          const key = newKey()
          const faults = yield* Faults
          yield* faults.lose("fail", lost)
          const exit = yield* exitOf(
            run(key, () => Effect.fail({ _tag: "Bad" }), { failure: () => Ledger.retry("1 hour") })
          )
          assert.deepStrictEqual(exit, Exit.fail({ _tag: "Bad" }))
          const row = yield* record(key)
          assert.deepStrictEqual([row.state, row.attempt, row.notBefore !== undefined], ["retryable", 1, true])
        }))

      test(`renew: the ${lost} is lost: the run goes on`, () =>
        Effect.gen(function* () {
          const key = newKey()
          const faults = yield* Faults
          const job = yield* gated
          const owner = yield* Effect.fork(run(key, job.job))
          yield* job.started
          yield* faults.lose("renew", lost, 2)
          yield* TestClock.adjust("20 seconds")
          yield* faults.answered("renew", 1)
          yield* TestClock.adjust("5 seconds")
          yield* faults.answered("renew", 2)
          yield* TestClock.adjust("5 seconds")
          yield* faults.answered("renew", 3)
          yield* TestClock.adjust("35 seconds")
          yield* job.end("done")
          assert.strictEqual(yield* Fiber.join(owner), "done")
        }))

      test(`decide: the ${lost} is lost: given once`, () =>
        Effect.gen(function* () {
          const key = newKey()
          const faults = yield* Faults
          const holder = yield* deadCaller(key, "charge", "ambiguous")
          yield* TestClock.adjust("1 minute")
          yield* Effect.flip(run(key, () => Effect.die("ran")))
          yield* faults.lose("decide", lost)
          const exit = yield* exitOf(Ledger.decide(holder, Verdict.Completed({ result: "seen" })))
          assert.strictEqual(Exit.isSuccess(exit) && exit.value.attempt, 2)
          assert.strictEqual(yield* run(key, () => Effect.die("ran")), "seen")
        }))

      test(`cancel: the ${lost} is lost`, () =>
        Effect.gen(function* () {
          const key = newKey()
          const faults = yield* Faults
          yield* faults.lose("cancel", lost)
          const exit = yield* exitOf(Ledger.cancel(idOf(key)))
          assert.strictEqual(Exit.isSuccess(exit) && exit.value.state, "cancelled")
        }))
    }

    test("the answer to the job's own COMMIT is lost: it is completed, and its rows are there once", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const rows = yield* Rows
        yield* faults.lose("transaction", "answer")
        const job = (claim: Ledger.Claim<string>) => claim.commit(Effect.as(rows.insert(key, "row"), "committed"))
        assert.deepStrictEqual(yield* exitOf(run(key, job)), Exit.succeed("committed"))
        assert.deepStrictEqual(yield* rows.of(key), ["row"])
      }))

    test("the job's own BEGIN is lost: to be tried again, no rows", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const rows = yield* Rows
        yield* faults.lose("transaction", "request")
        const job = (claim: Ledger.Claim<string>) => claim.commit(Effect.as(rows.insert(key, "row"), "committed"))
        assert.strictEqual(tagOf(yield* exitOf(run(key, job))), "LedgerStoreError")
        assert.deepStrictEqual([(yield* record(key)).state, yield* rows.of(key)], ["retryable", []])
        assert.deepStrictEqual(yield* exitOf(run(key, job)), Exit.succeed("committed"))
      }))

    test("claim: the answer to a takeover is lost, while a replayable call of the dead owner is open", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        yield* deadCaller(key, "charge", "replayable")
        yield* TestClock.adjust("1 minute")
        yield* faults.lose("claim", "answer")
        const job = () =>
          Ledger.outside("charge", Ledger.replayable({ timeout: "1 second", result: Schema.String }), (call) =>
            Effect.succeed(`charged at attempt ${call.attempt}`)
          )
        assert.deepStrictEqual(yield* exitOf(run(key, job)), Exit.succeed("charged at attempt 2"))
      }))

    test("claim: no answer ever comes, but it was done: others wait for the claim to end, then one takes over", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        yield* faults.lose("claim", "answer", 9)
        const exit = yield* exitOf(run(key, () => Effect.die("ran")))
        assert.strictEqual(tagOf(exit), "LedgerStoreError")
        assert.strictEqual((yield* Effect.flip(run(key, () => Effect.die("ran"))))._tag, "LedgerBusy")
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* run(key, () => Effect.succeed("done")), "done")
      }))

    test("begin: no answer ever comes, but it was done: the call is not made, and nothing is unknown", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        yield* faults.lose("begin", "answer", 9)
        const exit = yield* exitOf(run(key, () => Ledger.outside("charge", policy, () => Effect.die("called"))))
        assert.strictEqual(tagOf(exit), "LedgerStoreError")
        const row = yield* record(key)
        assert.deepStrictEqual([row.state, row.call], ["retryable", undefined])
      }))

    test("end: no answer ever comes, and it was not done: unknown, not run again", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        yield* faults.lose("end", "request", 9)
        const exit = yield* exitOf(run(key, () => Ledger.outside("charge", policy, () => Effect.succeed("charged"))))
        assert.strictEqual(tagOf(exit), "LedgerStoreError")
        assert.strictEqual((yield* record(key)).state, "unknown")
      }))

    test("end: no answer ever comes, but it was done: tried again, and not called again", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        yield* faults.lose("end", "answer", 9)
        const job = (call: Effect.Effect<string>) => () => Ledger.outside("charge", policy, () => call)
        yield* exitOf(run(key, job(Effect.succeed("charged"))))
        assert.strictEqual((yield* record(key)).state, "retryable")
        assert.strictEqual(yield* run(key, job(Effect.die("called again"))), "charged")
      }))

    test("the answer to a claim comes after the claim has ended: it does not run on it", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const held = yield* faults.hold("claim", "after")
        let called = false
        const slow = yield* Effect.fork(
          run(key, () =>
            Effect.zipRight(
              Effect.never,
              Ledger.outside("charge", policy, () => Effect.sync(() => ((called = true), "charged")))
            )
          )
        )
        yield* held.reached
        yield* TestClock.adjust("61 seconds")
        yield* held.release
        const exit = yield* exitOf(Fiber.join(slow))
        assert.strictEqual(tagOf(exit), "LedgerClaimLost")
        assert.isFalse(called)
        assert.isTrue(Option.isSome(yield* Ledger.get(idOf(key))))
      }))

    test("a completion that travels while another takes over is refused", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const held = yield* faults.hold("complete", "before")
        yield* faults.lose("renew", "request", 1000)
        const old = yield* Effect.fork(run(key, () => Effect.succeed("the old one")))
        yield* held.reached
        yield* TestClock.adjust("61 seconds")
        const job = yield* gated
        const taker = yield* Effect.fork(run(key, job.job))
        assert.strictEqual(yield* job.started, 2)
        yield* held.release
        const exit = yield* exitOf(Fiber.join(old))
        assert.strictEqual(tagOf(exit), "LedgerClaimLost")
        yield* job.end("the taker")
        assert.strictEqual(yield* Fiber.join(taker), "the taker")
      }))

    test("a completion whose claim ended is accepted when nobody took over", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const held = yield* faults.hold("complete", "before")
        const owner = yield* Effect.fork(run(key, () => Effect.succeed("late, and right")))
        yield* held.reached
        yield* TestClock.adjust("61 seconds")
        yield* held.release
        assert.strictEqual(yield* Fiber.join(owner), "late, and right")
      }))
  })
}
