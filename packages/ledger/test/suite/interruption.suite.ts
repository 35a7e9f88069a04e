/** A run interrupted at each of its calls, before or after the store has done it: what is left behind is always right. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { type LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { type Backend, ledgerOn, type Rows } from "../support/backend.js"
import { Faults, type Operation } from "../support/faults.js"
import { newKey, record, run } from "../support/jobs.js"

const policy = Ledger.ambiguous({ timeout: "1 second", result: Schema.String })

interface Case {
  readonly operation: Operation
  readonly at: "before" | "after"
  /** the state of the key afterwards, and how often the outside was called */
  readonly state: string
  readonly called: number
}

/** the interruption waits for the call's answer, and what the call wrote counts */
const cases: ReadonlyArray<Case> = [
  { operation: "claim", at: "before", state: "retryable", called: 0 },
  { operation: "claim", at: "after", state: "retryable", called: 0 },
  { operation: "recall", at: "before", state: "retryable", called: 0 },
  { operation: "recall", at: "after", state: "retryable", called: 0 },
  { operation: "begin", at: "before", state: "retryable", called: 0 },
  { operation: "begin", at: "after", state: "retryable", called: 0 },
  { operation: "end", at: "before", state: "retryable", called: 1 },
  { operation: "end", at: "after", state: "retryable", called: 1 },
  { operation: "remember", at: "before", state: "retryable", called: 1 },
  { operation: "remember", at: "after", state: "retryable", called: 1 },
  { operation: "complete", at: "before", state: "completed", called: 1 },
  { operation: "complete", at: "after", state: "completed", called: 1 }
]

export const interruption = (backend: Backend) => {
  const test = <A, E>(name: string, body: () => Effect.Effect<A, E, Ledger.Ledger | LedgerStore | Faults | Rows>) =>
    it.effect(name, () => Effect.provide(body(), ledgerOn(backend)))

  describe(`interruption on ${backend.name}`, () => {
    for (const c of cases) {
      test(`${c.at} ${c.operation} is done: ${c.state}, and the next run makes no call twice`, () =>
        Effect.gen(function* () {
          const key = newKey()
          const faults = yield* Faults
          let called = 0
          const job = () =>
            Effect.gen(function* () {
              const charge = yield* Ledger.outside("charge", policy, () => Effect.sync(() => `charge ${++called}`))
              return yield* Ledger.step("note", Schema.String, Effect.succeed(`${charge}, noted`))
            })
          const held = yield* faults.hold(c.operation, c.at)
          const owner = yield* Effect.fork(run(key, job))
          yield* held.reached
          const interrupting = yield* Effect.fork(Fiber.interrupt(owner))
          yield* Effect.yieldNow()
          yield* held.release
          yield* Fiber.join(interrupting)
          assert.deepStrictEqual([(yield* record(key)).state, called], [c.state, c.called])
          assert.strictEqual(yield* run(key, job), "charge 1, noted")
          assert.strictEqual(called, 1)
        }))
    }

    test("before the claim's fail is written: it is written all the same", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const held = yield* faults.hold("fail", "before")
        const owner = yield* Effect.fork(run(key, () => Effect.fail({ _tag: "Bad" })))
        yield* held.reached
        const interrupting = yield* Effect.fork(Fiber.interrupt(owner))
        yield* Effect.yieldNow()
        yield* held.release
        yield* Fiber.join(interrupting)
        assert.strictEqual((yield* record(key)).state, "retryable")
      }))
  })
}
