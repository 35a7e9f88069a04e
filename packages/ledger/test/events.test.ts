/** What can be watched, and the options. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import type { LedgerEvent } from "@effect-sqs/ledger/LedgerEvent"
import * as LedgerMetrics from "@effect-sqs/ledger/LedgerMetrics"
import * as MemoryStore from "@effect-sqs/ledger/MemoryStore"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, Schema, TestClock } from "effect"
import { deadCaller, deadOwner, idOf, newKey, run } from "./support/jobs.js"

const watched = () => {
  const events: Array<LedgerEvent> = []
  const onEvent = (event: LedgerEvent) => Effect.sync(() => void events.push(event))
  const layer = Ledger.layerWith({ onEvent }).pipe(Layer.provideMerge(MemoryStore.layer))
  return { events, layer, tags: () => events.map((e) => e._tag) }
}

const policy = Ledger.ambiguous({ timeout: "1 second", result: Schema.String })

describe("events", () => {
  it.effect("tell the life of a key, and count it", () => {
    const { events, layer, tags } = watched()
    return Effect.gen(function* () {
      const counted = (metric: Metric.Metric.Counter<number>) =>
        Effect.map(Metric.value(Metric.tagged(metric, "namespace", "tests")), (state) => state.count)
      const all = Effect.all(
        [
          LedgerMetrics.claims,
          LedgerMetrics.claimsTakenOver,
          LedgerMetrics.duplicatesSuppressed,
          LedgerMetrics.outcomesUnknown
        ].map(counted)
      )
      const times = Metric.tagged(LedgerMetrics.timeToComplete, "namespace", "tests")
      const before = yield* all
      const timed = (yield* Metric.value(times)).count

      const key = newKey()
      yield* deadOwner(key)
      yield* TestClock.adjust("1 minute")
      const job = () => Ledger.outside("charge", policy, () => Effect.succeed("charged"))
      yield* run(key, job)
      yield* run(key, job)
      assert.deepStrictEqual(tags(), ["Claimed", "Claimed", "CallBegun", "CallEnded", "Completed", "NotRun"])
      assert.deepInclude(events[1], { takenOver: true, attempt: 2 })
      assert.deepInclude(events[4], { sinceCreatedMs: 60_000 })
      assert.deepInclude(events[5], { found: "Completed" })
      events.length = 0

      const dead = yield* deadCaller(newKey(), "charge", "ambiguous")
      yield* TestClock.adjust("1 minute")
      yield* Effect.ignore(run(dead.key, job))
      yield* Ledger.decide(dead, Verdict.Rejected({ reason: "no" }))
      yield* Ledger.cancel(idOf(newKey()))
      yield* Effect.ignore(run(newKey(), () => Effect.fail("bad")))
      assert.deepStrictEqual(tags(), [
        "Claimed",
        "NotRun",
        "OutcomeUnknown",
        "Decided",
        "Cancelled",
        "Claimed",
        "Failed"
      ])
      yield* TestClock.adjust("100 days")
      yield* Ledger.sweep
      assert.deepInclude(events.at(-1), { _tag: "Swept" })

      const after = yield* all
      assert.deepStrictEqual(
        after.map((n, i) => n - before[i]!),
        [4, 1, 1, 1]
      )
      assert.strictEqual((yield* Metric.value(times)).count - timed, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("a listener that throws, fails or dies changes nothing", () => {
    let told = 0
    const onEvent = (): Effect.Effect<void> => {
      if (++told === 1) throw new Error("thrown")
      return Effect.die("died")
    }
    return Effect.gen(function* () {
      assert.strictEqual(yield* run(newKey(), () => Effect.succeed("done")), "done")
      assert.isAtLeast(told, 2)
    }).pipe(Effect.provide(Ledger.layerWith({ onEvent }).pipe(Layer.provideMerge(MemoryStore.layer))))
  })

  it.effect("a failure function that throws means: try again", () =>
    Effect.gen(function* () {
      const key = newKey()
      const failure = () => {
        throw new Error("thrown")
      }
      assert.strictEqual(yield* Effect.flip(run(key, () => Effect.fail("bad"), { failure })), "bad")
      assert.strictEqual(yield* run(key, () => Effect.succeed("done")), "done")
    }).pipe(Effect.provide(Ledger.layer.pipe(Layer.provideMerge(MemoryStore.layer))))
  )
})

describe("options", () => {
  it.effect("all faults are told at once", () =>
    Effect.gen(function* () {
      const options = { claim: "10 seconds", renewEvery: "10 seconds", maxResultBytes: 0, retention: 0 } as const
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Ledger.layerWith(options))))
      assert.strictEqual(error._tag === "LedgerOptionsInvalid" ? error.faults.length : error, 3)
    }).pipe(Effect.provide(MemoryStore.layer))
  )
})
