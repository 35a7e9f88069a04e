/** Random writes: a store must do what the state machine says, row for row. The memory store is that machine. */
import { type LedgerRecord, LedgerState } from "@effect-sqs/ledger/LedgerRecord"
import { type Decision, LedgerStore, type Snapshot } from "@effect-sqs/ledger/LedgerStore"
import * as MemoryStore from "@effect-sqs/ledger/MemoryStore"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Option, TestClock } from "effect"
import type { Backend } from "../support/backend.js"
import { newKey } from "../support/jobs.js"

/** a small generator of its own, so that a seed tells the whole run */
const random = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

type Store = LedgerStore["Type"]
type Write = (store: Store) => Effect.Effect<unknown, unknown>

const retentionMs = 3000

/** the next write, or a pause in ms; mostly under the attempt and owner that the row has, sometimes under others */
const draw = (next: () => number, namespace: string, round: number, row: LedgerRecord | undefined): Write | number => {
  const pick = <A>(...of: ReadonlyArray<A>): A => of[Math.floor(next() * of.length)]!
  const id = { namespace, key: String(round) }
  const right = next() < 0.8
  const attempt = right ? (row?.attempt ?? 1) : pick(1, 2, 3)
  const holder = { ...id, attempt, owner: right ? (row?.owner ?? "x") : pick("x", "y") }
  const ref = pick("r", "r", "s")
  const seq = pick(1, 2, 3, 4)
  const request = {
    ...id,
    payloadHash: next() < 0.9 ? "h" : "i",
    owner: pick("x", "y"),
    claimMs: pick(300, 900),
    retentionMs
  }
  const claim: Write = (s) => s.claim(request)
  const claimMs = pick(100, 900)
  const policy = pick("ambiguous", "ambiguous", "replayable")
  const timeoutMs = pick(0, 100, 1000)
  const result = pick(undefined, '{"value":1}')
  const failing = {
    state: pick<"retryable" | "rejected">("retryable", "retryable", "rejected"),
    error: "e",
    delayMs: pick(0, 300),
    notMade: pick(undefined, ref),
    retentionMs
  }
  const decision = pick<Decision>(
    { state: "retryable", callResult: undefined },
    { state: "retryable", callResult: '"seen"' },
    { state: "completed", result: '"r"' },
    { state: "rejected", error: "no" },
    { state: "review" },
    { state: "review" }
  )
  const begin: Write = (s) => s.begin(holder, { ref, policy, timeoutMs, seq })
  const callSeq = pick(undefined, row?.callSeq, 2)
  const decide: Write = (s) => s.decide({ ...id, attempt, callSeq }, { decision, retentionMs })
  const fail: Write = (s) => s.fail(holder, failing)
  const anything: ReadonlyArray<Write | number> = [
    ...[100, 400, claim, begin, decide, fail],
    (s) => s.renew(holder, { claimMs, retentionMs }),
    (s) => s.end(holder, { ref, result, seq, claimMs: 500, retentionMs }),
    (s) => s.remember(holder, { name: ref, result: `"${attempt}"` }),
    (s) => s.recall(id, ref),
    (s) => s.complete(holder, { result: `"${attempt}"`, retentionMs }),
    (s) => s.postpone({ ...id, attempt, callSeq }, { delayMs: 200 }),
    (s) => s.cancel(id, { retentionMs }),
    (s) => s.read(id),
    (s) => s.expire({ namespace, limit: 100 }),
    (s) => s.takeDue({ namespace, limit: 100, holdMs: 100 }),
    (s) => s.list({ namespace, states: ["unknown", "review", "retryable"], limit: 100 })
  ]
  // what leads on from where the row is: else most rows end before they get to the rare states
  const leading: ReadonlyArray<Write | number> =
    row === undefined || row.state === "retryable"
      ? [claim, 400]
      : row.state === "in_progress"
        ? [begin, 400, fail, claim]
        : [decide]
  return next() < 0.5 ? pick(...leading) : pick(...anything)
}

const sorted = (answer: unknown) =>
  Array.isArray(answer)
    ? [...(answer as ReadonlyArray<Snapshot>)].sort((a, b) => a.record.key.localeCompare(b.record.key))
    : answer

export const model = (backend: Backend) =>
  describe(`the state machine on ${backend.name}`, () => {
    for (const seed of [2, 4, 5, 6]) {
      it.effect(`800 random writes, seed ${seed}`, () =>
        Effect.gen(function* () {
          const machine = Context.get(yield* Layer.build(MemoryStore.layer), LedgerStore)
          const store = Context.get(yield* Layer.build(backend.layer), LedgerStore)
          const namespace = newKey()
          const next = random(seed)
          const seen = new Set<LedgerState>()
          for (let n = 0; n < 800; n++) {
            const key = Math.floor(n / 20)
            const row = yield* machine.read({ namespace, key: String(key) })
            if (Option.isSome(row)) seen.add(row.value.record.state)
            const write = draw(next, namespace, key, Option.getOrUndefined(row)?.record)
            if (typeof write === "number") {
              yield* TestClock.adjust(write)
              continue
            }
            const expected = yield* write(machine)
            const found = yield* write(store)
            assert.deepStrictEqual(sorted(found), sorted(expected), `write ${n}`)
          }
          assert.deepStrictEqual([...seen].sort(), [...LedgerState.literals].sort())
        }).pipe(Effect.scoped)
      )
    }
  })
