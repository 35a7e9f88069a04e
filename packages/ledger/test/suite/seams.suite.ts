/** Two things at one moment, and one thing said twice: races at the seams of the ledger's writes. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Exit, Fiber, Option, Schema, TestClock } from "effect"
import { type Backend, ledgerOn, Rows } from "../support/backend.js"
import { Faults } from "../support/faults.js"
import { exitOf, failureOf, gated, idOf, newKey, record, run, tagOf, unknownKey } from "../support/jobs.js"

const policy = Ledger.ambiguous({ timeout: "10 seconds", result: Schema.String })

const again = (
  holder: { readonly namespace: string; readonly key: string },
  call: Effect.Effect<string> = Effect.die("called")
) =>
  Ledger.once({ namespace: holder.namespace, key: holder.key, result: Schema.String }, () =>
    Ledger.outside("charge", policy, () => call)
  )

/** both at once, and which of them is begun first changes from one to the next */
const together = <A, B, E, R, E2, R2>(n: number, a: Effect.Effect<A, E, R>, b: Effect.Effect<B, E2, R2>) =>
  n % 2 === 0
    ? Effect.all([a, b], { concurrency: "unbounded" })
    : Effect.map(Effect.all([b, a], { concurrency: "unbounded" }), ([second, first]) => [first, second] as const)

const rounds = Array.from({ length: 6 }, (_, n) => n)

export const seams = (backend: Backend) => {
  const test = <A, E>(name: string, body: () => Effect.Effect<A, E, Ledger.Ledger | LedgerStore | Faults | Rows>) =>
    it.effect(name, () => Effect.provide(body(), ledgerOn(backend)))

  describe(`races on ${backend.name}`, () => {
    test("a renewal and a takeover in the last millisecond of a claim, and in the first after: one has the key", () =>
      Effect.gen(function* () {
        const store = yield* LedgerStore
        for (const n of rounds) {
          for (const [at, who] of [
            [59_999, "old"],
            [60_000, "new"]
          ] as const) {
            const key = newKey()
            yield* Ledger.claim({ ...idOf(key), owner: "old" })
            yield* TestClock.adjust(at)
            const renew = store.renew(
              { ...idOf(key), attempt: 1, owner: "old" },
              { claimMs: 60_000, retentionMs: 1000 }
            )
            const take = Ledger.claim({ ...idOf(key), owner: "new" })
            const [renewed, taken] = yield* together(n, renew, take)
            assert.strictEqual(Option.isSome(renewed), who === "old")
            assert.strictEqual(taken._tag, who === "new" ? "Claimed" : "Busy")
            assert.strictEqual((yield* record(key)).owner, who)
          }
        }
      }))

    test("a cancel and a completion: completed with its row, or cancelled without", () =>
      Effect.gen(function* () {
        const rows = yield* Rows
        for (const n of rounds) {
          const key = newKey()
          const job = yield* gated
          const owner = yield* Effect.fork(
            run(key, (claim) => Effect.flatMap(job.job(claim), (v) => claim.commit(Effect.as(rows.insert(key, v), v))))
          )
          yield* job.started
          const [, cancelled] = yield* together(n, job.end("done"), Ledger.cancel(idOf(key)))
          const exit = yield* Fiber.await(owner)
          const won = cancelled.state === "completed"
          assert.deepStrictEqual(yield* rows.of(key), won ? ["done"] : [])
          assert.strictEqual((yield* record(key)).state, won ? "completed" : "cancelled")
          assert.deepStrictEqual(won ? exit : tagOf(exit), won ? Exit.succeed("done") : "LedgerCancelled")
        }
      }))

    test("a verdict and the late owner's completion: one of the two is accepted, and stays", () =>
      Effect.gen(function* () {
        const store = yield* LedgerStore
        for (const n of rounds) {
          const holder = yield* unknownKey("charge")
          assert.strictEqual(yield* failureOf(again(holder)), "LedgerUnknown")
          const [decided, completed] = yield* together(
            n,
            Effect.either(Ledger.decide(holder, Verdict.Rejected({ reason: "refunded" }))),
            store.complete(holder, { result: '{"value":"late"}', retentionMs: 1000 })
          )
          assert.notStrictEqual(Either.isRight(decided), Option.isSome(completed))
          const found = yield* Effect.either(again(holder))
          assert.deepStrictEqual(
            Either.isRight(found) ? found.right : found.left._tag,
            Either.isRight(decided) ? "LedgerRejected" : "late"
          )
        }
      }))

    test("the process died in a call; two reconcilers and five redeliveries at once: one question, no second call", () =>
      Effect.gen(function* () {
        for (const n of rounds) {
          const holder = yield* unknownKey("charge")
          let asked = 0
          const pass = Ledger.reconcile({
            namespace: holder.namespace,
            ask: () => Effect.sync(() => (asked++, Verdict.Happened({ result: "charged" })))
          })
          const redeliveries = Effect.all(
            Array.from({ length: 5 }, () => Effect.either(again(holder))),
            { concurrency: "unbounded" }
          )
          const [, found] = yield* together(n, Effect.all([pass, pass], { concurrency: "unbounded" }), redeliveries)
          for (const one of found) {
            const what = Either.isRight(one) ? one.right : one.left._tag
            assert.include(["charged", "LedgerUnknown", "LedgerBusy"], what)
          }
          yield* pass
          assert.strictEqual(asked, 1)
          assert.strictEqual(yield* again(holder), "charged")
        }
      }))

    test("a sweep and two messages of a key past its retention: the old result, or one new run that forgot all", () =>
      Effect.gen(function* () {
        for (const n of rounds) {
          const key = newKey()
          let life = 1
          let runs = 0
          const job = () =>
            Ledger.step(
              "s",
              Schema.String,
              Effect.sync(() => (runs++, `life ${life}`))
            )
          yield* run(key, job)
          yield* TestClock.adjust("46 days")
          life = 2
          const message = Effect.either(run(key, job))
          const [, found] = yield* together(
            n,
            Ledger.sweep,
            Effect.all([message, message], { concurrency: "unbounded" })
          )
          for (const one of found) {
            assert.include(["life 1", "life 2", "LedgerBusy"], Either.isRight(one) ? one.right : one.left._tag)
          }
          assert.isAtMost(runs, 2)
          yield* Ledger.sweep
          assert.strictEqual(yield* run(key, job), "life 2")
        }
      }))

    test("the claim is lost while the answer to COMMIT travels: completed, and others are given its result", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const rows = yield* Rows
        yield* faults.lose("renew", "request", 1000)
        const held = yield* faults.hold("transaction", "after")
        const owner = yield* Effect.fork(
          run(key, (claim) => claim.commit(Effect.as(rows.insert(key, "row"), "committed")))
        )
        yield* held.reached
        yield* TestClock.adjust("2 minutes")
        assert.strictEqual(yield* run(key, () => Effect.die("ran")), "committed")
        yield* held.release
        assert.strictEqual(yield* Fiber.join(owner), "committed")
        assert.deepStrictEqual(yield* rows.of(key), ["row"])
      }))

    test("a key under itself is busy, under another it is a job of its own, in a transaction a defect", () =>
      Effect.gen(function* () {
        const key = newKey()
        const inner = newKey()
        const nested = run(key, () => run(inner, () => Effect.succeed("inner")))
        assert.strictEqual(yield* nested, "inner")
        assert.deepStrictEqual([(yield* record(key)).state, (yield* record(inner)).state], ["completed", "completed"])
        const self = newKey()
        assert.strictEqual(yield* failureOf(run(self, () => run(self, () => Effect.die("ran")))), "LedgerBusy")
        const exit = yield* Effect.exit(run(newKey(), (c) => c.commit(run(newKey(), () => Effect.succeed("no")))))
        assert.include(Exit.isFailure(exit) ? String(exit.cause) : "", "inside a database transaction")
      }))
  })

  describe(`said twice on ${backend.name}`, () => {
    test("the answer to COMMIT is lost and the job commits again: its rows are there once", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const rows = yield* Rows
        yield* faults.lose("transaction", "answer")
        let tries = 0
        const job = (claim: Ledger.Claim<string>) =>
          Effect.retry(claim.commit(Effect.suspend(() => Effect.as(rows.insert(key, "row"), `try ${++tries}`))), {
            times: 2
          })
        assert.deepStrictEqual(yield* exitOf(run(key, job)), Exit.succeed("try 1"))
        assert.deepStrictEqual(yield* rows.of(key), ["row"])
      }))

    test("a job that completes, and then wants to call: not called, told why, completed all the same", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const told: Array<unknown> = []
        const result = yield* run(key, (claim) =>
          claim
            .commit(Effect.as(rows.insert(key, "row"), "committed"))
            .pipe(
              Effect.zipRight(
                Ledger.outside("charge", policy, () => Effect.die("called")).pipe(
                  Effect.tapError((e) => Effect.sync(() => told.push(e._tag === "LedgerClaimLost" ? e.reason : e._tag)))
                )
              )
            )
        )
        assert.deepStrictEqual([result, told], ["committed", ["decided"]])
      }))

    test("a job that completes, and then commits more: the second transaction is refused as a whole", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const second = yield* Effect.fork(
          run(key, (claim) =>
            Effect.zipRight(
              claim.commit(Effect.as(rows.insert(key, "first"), "first")),
              claim.commit(Effect.as(rows.insert(key, "second"), "second"))
            )
          )
        )
        assert.strictEqual(yield* Fiber.join(second), "first")
        assert.deepStrictEqual(yield* rows.of(key), ["first"])
      }))

    for (const [ref, verdict] of [
      ["charge", Verdict.Happened({ result: "charged" })],
      ["refund", Verdict.Happened({ result: "charged" })],
      ["refund", Verdict.StillUnknown()]
    ] as const) {
      test(`${verdict._tag} is said of a call when the same attempt has begun the next (${ref}): not taken for it`, () =>
        Effect.gen(function* () {
          const store = yield* LedgerStore
          const holder = yield* unknownKey("charge")
          /** while the outside is asked: the owner reports late, begins another call, and dies */
          const meanwhile = Effect.gen(function* () {
            const end = { claimMs: 60_000, retentionMs: 1000 }
            yield* store.end(holder, { ref: "charge", result: undefined, seq: 2, ...end })
            yield* store.begin(holder, { ref, policy: "ambiguous", timeoutMs: 1000, seq: 3 })
            yield* TestClock.adjust("61 seconds")
            yield* store.expire({ namespace: holder.namespace, limit: 10 })
          })
          const done = yield* Ledger.reconcile({
            namespace: holder.namespace,
            ask: () => Effect.as(Effect.orDie(meanwhile), verdict),
            timeout: "1 hour"
          })
          assert.deepStrictEqual(
            done.map((d) => d.record),
            [undefined]
          )
          const row = Option.getOrThrow(yield* Ledger.get(holder))
          assert.deepStrictEqual([row.state, row.attempt, row.call?.ref], ["unknown", 1, ref])
          assert.isTrue(Option.isNone(yield* store.recall(holder, ref)))
          // the question about the next call is due at once, and its verdict counts
          const next = yield* Ledger.reconcile({
            namespace: holder.namespace,
            ask: (call) => Effect.succeed(Verdict.Happened({ result: `${call.ref} seen` }))
          })
          assert.deepStrictEqual(
            next.map((d) => d.record?.state),
            ["retryable"]
          )
          assert.deepStrictEqual(yield* store.recall(holder, ref), Option.some(`{"value":"${ref} seen"}`))
        }))
    }

    test("two people, two verdicts on one attempt: the first counts, the second is told so", () =>
      Effect.gen(function* () {
        const holder = yield* unknownKey("charge")
        assert.strictEqual(yield* failureOf(again(holder)), "LedgerUnknown")
        yield* Ledger.decide(holder, Verdict.Happened({ result: "charged" }))
        const second = yield* Effect.flip(Ledger.decide(holder, Verdict.DidNotHappen()))
        assert.deepInclude(second, { _tag: "LedgerVerdictRefused", found: "retryable at attempt 2" })
        assert.strictEqual(yield* again(holder), "charged")
      }))

    test("the answer to a begin comes when the claim is shorter than the call: the call is not made", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        yield* faults.lose("renew", "request", 1000)
        const held = yield* faults.hold("begin", "after")
        const owner = yield* Effect.fork(run(key, () => Ledger.outside("charge", policy, () => Effect.die("called"))))
        yield* held.reached
        yield* TestClock.adjust("55 seconds")
        yield* held.release
        assert.strictEqual(tagOf(yield* Fiber.await(owner)), "LedgerClaimTooShort")
        const row = yield* record(key)
        assert.deepStrictEqual([row.state, row.call], ["retryable", undefined])
      }))
  })
}
