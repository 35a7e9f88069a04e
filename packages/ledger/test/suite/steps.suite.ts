/** Durable steps: long jobs in short pieces. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Schema, TestClock } from "effect"
import { type Backend, ledgerOn, Rows } from "../support/backend.js"
import type { Faults } from "../support/faults.js"
import { failureOf, idOf, newKey, run } from "../support/jobs.js"

class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}

const replayable = Ledger.replayable({ timeout: "10 seconds", result: Schema.String })

export const steps = (backend: Backend) => {
  const test = <A, E>(name: string, body: () => Effect.Effect<A, E, Ledger.Ledger | LedgerStore | Faults | Rows>) =>
    it.effect(name, () => Effect.provide(body(), ledgerOn(backend)))

  describe(`steps on ${backend.name}`, () => {
    test("a redelivery goes on after the last finished step", () =>
      Effect.gen(function* () {
        const key = newKey()
        const ran: Array<string> = []
        const step = (name: string, effect: Effect.Effect<string, Broken>) =>
          Ledger.step(
            name,
            Schema.String,
            Effect.zipRight(
              Effect.sync(() => void ran.push(name)),
              effect
            )
          )
        const job = (second: Effect.Effect<string, Broken>) => () =>
          Effect.gen(function* () {
            const a = yield* step("render", Effect.succeed("rendered"))
            const b = yield* step("upload", second)
            return `${a}, ${b}`
          })
        assert.strictEqual(yield* failureOf(run(key, job(new Broken()))), "Broken")
        assert.strictEqual(yield* run(key, job(Effect.succeed("uploaded"))), "rendered, uploaded")
        assert.deepStrictEqual(ran, ["render", "upload", "upload"])
      }))

    test("a step and an outside call of one name are two things", () =>
      Effect.gen(function* () {
        const both = yield* run(newKey(), () =>
          Effect.gen(function* () {
            const a = yield* Ledger.step("charge", Schema.String, Effect.succeed("a step"))
            const b = yield* Ledger.outside("charge", replayable, () => Effect.succeed("a call"))
            return `${a}, ${b}`
          })
        )
        assert.strictEqual(both, "a step, a call")
      }))

    test("an owner that was taken over cannot remember a step any more", () =>
      Effect.gen(function* () {
        const key = newKey()
        const store = yield* LedgerStore
        yield* Ledger.claim({ ...idOf(key), owner: "old" })
        yield* TestClock.adjust("1 minute")
        yield* Ledger.claim({ ...idOf(key), owner: "new" })
        const old = { ...idOf(key), attempt: 1, owner: "old" }
        assert.isFalse(yield* store.remember(old, { name: "render", result: '{"value":"old"}' }))
        assert.isTrue(Option.isNone(yield* store.recall(idOf(key), "render")))
        assert.isTrue(yield* store.remember({ ...old, attempt: 2, owner: "new" }, { name: "render", result: "{}" }))
      }))

    test("a step in a transaction of the job's own is forgotten when that rolls back", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const store = yield* LedgerStore
        const exit = yield* Effect.exit(
          run(key, () =>
            Ledger.transaction(
              Effect.gen(function* () {
                yield* rows.insert(key, "row")
                yield* Ledger.step("save", Schema.String, Effect.succeed("saved"))
                return yield* new Broken()
              })
            )
          )
        )
        assert.isTrue(Exit.isFailure(exit))
        assert.deepStrictEqual(yield* rows.of(key), [])
        assert.isTrue(Option.isNone(yield* store.recall(idOf(key), "step:save")))
      }))
  })
}
