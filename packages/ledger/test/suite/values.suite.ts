/** Keys, names, results, reasons: what fits and what does not, and that nothing is half written. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Schema, TestClock } from "effect"
import { type Backend, ledgerOn, Rows } from "../support/backend.js"
import { type Faults } from "../support/faults.js"
import { failureOf, idOf, newKey, record, run, unknownKey } from "../support/jobs.js"

const large = "x".repeat(70_000)

export const values = (backend: Backend) => {
  const test = <A, E>(name: string, body: () => Effect.Effect<A, E, Ledger.Ledger | LedgerStore | Faults | Rows>) =>
    it.effect(name, () => Effect.provide(body(), ledgerOn(backend)))

  describe(`values on ${backend.name}`, () => {
    test("a result that is too large, a payload that is no JSON: typed, and nothing is stored", () =>
      Effect.gen(function* () {
        const key = newKey()
        const error = yield* Effect.flip(run(key, () => Effect.succeed(large)))
        assert.deepInclude(error, { _tag: "LedgerValueInvalid", what: "result" })
        assert.strictEqual((yield* record(key)).state, "retryable")
        assert.strictEqual(
          yield* failureOf(run(newKey(), () => Effect.die("ran"), { payload: 1n })),
          "LedgerValueInvalid"
        )
      }))

    test("results go through their schema, undefined and null are told apart", () =>
      Effect.gen(function* () {
        const at = new Date(86_400_000)
        const key = newKey()
        const result = Schema.Struct({ at: Schema.Date, none: Schema.NullOr(Schema.String) })
        const job = Effect.succeed({ at, none: null })
        const of = (e: typeof job) => Ledger.once({ namespace: "tests", key, result }, () => e)
        assert.deepStrictEqual(yield* of(job), { at, none: null })
        assert.deepStrictEqual(yield* of(Effect.die("ran")), { at, none: null })
        const nothing = { namespace: "tests", key: newKey(), result: Schema.Void }
        yield* Ledger.once(nothing, () => Effect.void)
        assert.deepStrictEqual(
          yield* Effect.exit(Ledger.once(nothing, () => Effect.die("ran"))),
          Exit.succeed(undefined)
        )
      }))

    test("a stored result that the schema no longer fits is typed, and does not run the job", () =>
      Effect.gen(function* () {
        const key = newKey()
        yield* run(key, () => Effect.succeed("text"))
        const numbers = Ledger.once({ namespace: "tests", key, result: Schema.Number }, () => Effect.die("ran"))
        assert.strictEqual(yield* failureOf(numbers), "LedgerValueInvalid")
      }))

    test("a result that is too large at the completion: neither it nor the rows of its transaction are there", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const job = (claim: Ledger.Claim<string>) => claim.commit(Effect.as(rows.insert(key, "row"), large))
        assert.strictEqual(yield* failureOf(run(key, job)), "LedgerValueInvalid")
        assert.deepStrictEqual(yield* rows.of(key), [])
        const row = yield* record(key)
        assert.deepStrictEqual([row.state, row.result, row.completedAt], ["retryable", undefined, undefined])
      }))

    test("a result that is too large of a call or a step: not remembered; an ambiguous call was made, so it is unknown", () =>
      Effect.gen(function* () {
        const store = yield* LedgerStore
        const limits = { timeout: "1 second", result: Schema.String } as const
        for (const [job, name, state] of [
          [Ledger.outside("n", Ledger.replayable(limits), () => Effect.succeed(large)), "n", "retryable"],
          [Ledger.outside("n", Ledger.ambiguous(limits), () => Effect.succeed(large)), "n", "unknown"],
          [Ledger.step("n", Schema.String, Effect.succeed(large)), "step:n", "retryable"]
        ] as const) {
          const key = newKey()
          assert.strictEqual(yield* failureOf(run(key, () => job)), "LedgerValueInvalid")
          assert.strictEqual((yield* record(key)).state, state)
          assert.isTrue(Option.isNone(yield* store.recall(idOf(key), name)))
        }
      }))

    for (const [what, name] of [
      ["empty", ""],
      ["too long", "n".repeat(501)],
      ["with a NUL", "a\0b"],
      ["with half a surrogate pair", "a\ud800"]
    ] as const) {
      test(`the name of a call or a step, or a key, that is ${what}: typed, before anything is done`, () =>
        Effect.gen(function* () {
          const limits = { timeout: "1 second", result: Schema.String } as const
          for (const job of [
            Ledger.outside(name, Ledger.replayable(limits), () => Effect.die("called")),
            Ledger.outside(name, Ledger.ambiguous(limits), () => Effect.die("called")),
            Ledger.step(name, Schema.String, Effect.die("ran"))
          ]) {
            const key = newKey()
            assert.strictEqual(yield* failureOf(run(key, () => job)), "LedgerValueInvalid")
            const row = yield* record(key)
            assert.deepStrictEqual([row.state, row.call], ["retryable", undefined])
          }
          const key = what === "too long" ? "k".repeat(513) : name
          assert.strictEqual(yield* failureOf(run(key, () => Effect.die("ran"))), "LedgerValueInvalid")
          assert.strictEqual(yield* failureOf(Ledger.cancel(idOf(key))), "LedgerValueInvalid")
        }))
    }

    test("the longest names fit", () =>
      Effect.gen(function* () {
        const name = "n".repeat(500)
        const job = () =>
          Ledger.step(
            name,
            Schema.String,
            Ledger.outside(name, Ledger.replayable({ timeout: "1 second", result: Schema.String }), () =>
              Effect.succeed("done")
            )
          )
        assert.strictEqual(yield* run(`${newKey()}${"k".repeat(512)}`.slice(0, 512), job), "done")
      }))

    test("a reason that no database can store is stored without what it cannot", () =>
      Effect.gen(function* () {
        const key = newKey()
        const job = run(key, () => Effect.fail(new Error("half\0a file")), { failure: () => Ledger.reject })
        assert.instanceOf(yield* Effect.flip(job), Error)
        const row = yield* record(key)
        assert.deepStrictEqual([row.state, row.error], ["rejected", "halfa file"])
        const holder = yield* unknownKey("charge")
        yield* (yield* LedgerStore).expire({ namespace: holder.namespace, limit: 1 })
        const decided = yield* Ledger.decide(holder, Verdict.Rejected({ reason: "no\0" }))
        assert.deepStrictEqual([decided.state, decided.error], ["rejected", "no"])
      }))

    test("a clock that gives fractions of a millisecond, for which TestClock has no nanoseconds", () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(113.12814900000001)
        const policy = Ledger.ambiguous({ timeout: "1 second", result: Schema.String })
        const job = () => Ledger.outside("charge", policy, () => Effect.succeed("charged"))
        assert.strictEqual(yield* run(newKey(), job), "charged")
      }))

    test("results and payloads of any text", () =>
      Effect.gen(function* () {
        const key = newKey()
        const text = "\0 \ud800 \u{1f600} \\u0000 ' \" ; --"
        assert.strictEqual(yield* run(key, () => Effect.succeed(text), { payload: text }), text)
        assert.strictEqual(yield* run(key, () => Effect.die("ran"), { payload: text }), text)
      }))
  })
}
