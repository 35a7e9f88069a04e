/** Unknown outcomes and verdicts, cancelling, retention. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import type { UnknownCall } from "@effect-sqs/ledger/Reconciler"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Schema, TestClock } from "effect"
import { type Backend, ledgerOn, Rows } from "../support/backend.js"
import { Faults } from "../support/faults.js"
import {
  deadCaller,
  deadOwner,
  failureOf,
  gated,
  idOf,
  newKey,
  record,
  run,
  tagOf,
  unknownKey
} from "../support/jobs.js"

const policy = Ledger.ambiguous({ timeout: "10 seconds", result: Schema.String })

const unknown = unknownKey("charge")

const again = (
  holder: { readonly namespace: string; readonly key: string },
  call: Effect.Effect<string, never> = Effect.die("called")
) =>
  Ledger.once({ namespace: holder.namespace, key: holder.key, result: Schema.String }, () =>
    Ledger.outside("charge", policy, () => call)
  )

const stateOf = (id: { readonly namespace: string; readonly key: string }) =>
  Effect.map(Ledger.get(id), (row) => Option.getOrThrow(row).state)

export const operators = (backend: Backend) => {
  const test = <A, E>(name: string, body: () => Effect.Effect<A, E, Ledger.Ledger | LedgerStore | Faults | Rows>) =>
    it.effect(name, () => Effect.provide(body(), ledgerOn(backend)))

  describe(`unknown outcomes on ${backend.name}`, () => {
    test("G3: a pass finds who died in a call although no message came, and asks about it", () =>
      Effect.gen(function* () {
        const holder = yield* unknown
        const asked: Array<UnknownCall> = []
        const pass = Ledger.reconcile({
          namespace: holder.namespace,
          ask: (call) => Effect.sync(() => (asked.push(call), Verdict.Happened({ result: "charged" })))
        })
        const done = yield* pass
        assert.deepInclude(asked[0], { key: holder.key, attempt: 1, ref: "charge", tries: 1 })
        assert.strictEqual(done[0]?.record?.state, "retryable")
        assert.deepStrictEqual(yield* pass, [])
        assert.strictEqual(yield* again(holder), "charged")
      }))

    test("did not happen: run again, called again", () =>
      Effect.gen(function* () {
        const holder = yield* unknown
        yield* Ledger.reconcile({ namespace: holder.namespace, ask: () => Effect.succeed(Verdict.DidNotHappen()) })
        assert.strictEqual(yield* again(holder, Effect.succeed("charged now")), "charged now")
      }))

    test("completed and rejected end the key", () =>
      Effect.gen(function* () {
        const done = yield* unknown
        yield* Ledger.reconcile({
          namespace: done.namespace,
          ask: () => Effect.succeed(Verdict.Completed({ result: "all of it" }))
        })
        assert.strictEqual(yield* again(done), "all of it")
        const rejected = yield* unknown
        yield* Ledger.reconcile({
          namespace: rejected.namespace,
          ask: () => Effect.succeed(Verdict.Rejected({ reason: "fraud" }))
        })
        assert.deepInclude(yield* Effect.flip(again(rejected)), { _tag: "LedgerRejected", reason: "fraud" })
      }))

    test("no answer, a failure, a defect: asked again with growing pauses, then it is put before people", () =>
      Effect.gen(function* () {
        const holder = yield* unknown
        let asked = 0
        const answers = [Effect.succeed(Verdict.StillUnknown()), Effect.fail("down"), Effect.die("bug")]
        const pass = Ledger.reconcile({
          namespace: holder.namespace,
          ask: () => answers[asked++ % answers.length]!,
          tries: 4,
          delay: "10 seconds",
          maxDelay: "15 seconds"
        })
        yield* pass
        yield* pass
        assert.strictEqual(asked, 1)
        // pauses of 5 to 10 s, then of 7.5 to 15 s
        for (const [seconds, expected] of [
          [10, 2],
          [15, 3],
          [15, 4]
        ] as const) {
          yield* TestClock.adjust(`${seconds} seconds`)
          yield* pass
          assert.strictEqual(asked, expected)
        }
        assert.strictEqual(yield* failureOf(again(holder)), "LedgerReview")
        const waiting = yield* Ledger.reviews({ namespace: holder.namespace })
        assert.deepStrictEqual(
          waiting.map((r) => [r.key, r.attempt]),
          [[holder.key, 2]]
        )
        yield* TestClock.adjust("1 day")
        yield* pass
        assert.strictEqual(asked, 4)
        const decided = yield* Ledger.decide(waiting[0]!, Verdict.Happened({ result: "a person looked" }))
        assert.deepStrictEqual([decided.state, decided.attempt], ["retryable", 3])
        assert.strictEqual(yield* again(holder), "a person looked")
      }))

    test("an ask that never answers is cut off", () =>
      Effect.gen(function* () {
        const holder = yield* unknown
        const asking = yield* Deferred.make<void>()
        const pass = yield* Effect.fork(
          Ledger.reconcile({
            namespace: holder.namespace,
            ask: () => Effect.zipRight(Deferred.succeed(asking, undefined), Effect.never),
            timeout: "3 seconds"
          })
        )
        yield* Deferred.await(asking)
        yield* TestClock.adjust("3 seconds")
        assert.deepStrictEqual(
          (yield* Fiber.join(pass)).map((r) => r.verdict._tag),
          ["StillUnknown"]
        )
      }))

    test("T20: of two reconcilers one asks; a verdict on an attempt that is gone is refused", () =>
      Effect.gen(function* () {
        const holder = yield* unknown
        let asked = 0
        const pass = Ledger.reconcile({
          namespace: holder.namespace,
          ask: () => Effect.sync(() => (asked++, Verdict.Completed({ result: "once" })))
        })
        yield* Effect.all([pass, pass, pass], { concurrency: "unbounded" })
        assert.strictEqual(asked, 1)
        const late = yield* Effect.flip(Ledger.decide(holder, Verdict.Rejected({ reason: "late" })))
        assert.deepInclude(late, { _tag: "LedgerVerdictRefused", found: "completed at attempt 2" })
        assert.strictEqual(yield* again(holder), "once")
      }))

    test("a verdict closes the door to the owner that began the call", () =>
      Effect.gen(function* () {
        const holder = yield* unknown
        const store = yield* LedgerStore
        yield* Ledger.reconcile({ namespace: holder.namespace, ask: () => Effect.succeed(Verdict.DidNotHappen()) })
        const late = { result: '{"value":"late"}', retentionMs: 1000 }
        assert.isTrue(Option.isNone(yield* store.complete(holder, late)))
        assert.isTrue(Option.isNone(yield* store.end(holder, { ref: "charge", seq: 9, claimMs: 1000, ...late })))
      }))

    test("an owner that completes while it is asked about is believed", () =>
      Effect.gen(function* () {
        const holder = yield* unknown
        const store = yield* LedgerStore
        const pass = yield* Ledger.reconcile({
          namespace: holder.namespace,
          ask: () =>
            Effect.as(
              Effect.orDie(store.complete(holder, { result: '{"value":"the owner"}', retentionMs: 1000 })),
              Verdict.DidNotHappen()
            )
        })
        assert.strictEqual(pass[0]?.record, undefined)
        assert.strictEqual(yield* again(holder), "the owner")
      }))

    test("T21 G9: a redriven message, a new one with the same key, sees the unknown outcome and the result", () =>
      Effect.gen(function* () {
        const holder = yield* unknown
        assert.strictEqual(yield* failureOf(again(holder)), "LedgerUnknown")
        yield* Ledger.decide(holder, Verdict.Happened({ result: "charged" }))
        assert.strictEqual(yield* again(holder), "charged")
        assert.strictEqual(yield* again(holder), "charged")
      }))
  })

  describe(`cancelling on ${backend.name}`, () => {
    test("before the first message, while waiting, and while it runs", () =>
      Effect.gen(function* () {
        const early = newKey()
        assert.strictEqual((yield* Ledger.cancel(idOf(early))).state, "cancelled")
        assert.strictEqual(yield* failureOf(run(early, () => Effect.die("ran"), { payload: 1 })), "LedgerCancelled")

        const waiting = newKey()
        yield* failureOf(run(waiting, () => Effect.fail("bad")))
        assert.strictEqual((yield* Ledger.cancel(idOf(waiting))).state, "cancelled")
        assert.strictEqual(yield* failureOf(run(waiting, () => Effect.die("ran"))), "LedgerCancelled")

        const running = newKey()
        const job = yield* gated
        let cleaned = false
        const owner = yield* Effect.fork(
          run(running, (claim) =>
            Effect.ensuring(
              job.job(claim),
              Effect.sync(() => void (cleaned = true))
            )
          )
        )
        yield* job.started
        assert.strictEqual((yield* Ledger.cancel(idOf(running))).state, "cancelled")
        yield* TestClock.adjust("20 seconds")
        assert.strictEqual(tagOf(yield* Fiber.await(owner)), "LedgerCancelled")
        assert.isTrue(cleaned)
        assert.strictEqual((yield* Ledger.cancel(idOf(running))).state, "cancelled")
      }))

    test("a completion after the cancel is refused, and its rows rolled back", () =>
      Effect.gen(function* () {
        const key = newKey()
        const rows = yield* Rows
        const job = yield* gated
        const owner = yield* Effect.fork(
          run(key, (claim) => Effect.flatMap(job.job(claim), (v) => claim.commit(Effect.as(rows.insert(key, v), v))))
        )
        yield* job.started
        yield* Ledger.cancel(idOf(key))
        yield* job.end("too late")
        assert.strictEqual(tagOf(yield* Fiber.await(owner)), "LedgerCancelled")
        assert.deepStrictEqual(yield* rows.of(key), [])
      }))

    test("too late for what has ended", () =>
      Effect.gen(function* () {
        const key = newKey()
        yield* run(key, () => Effect.succeed("done"))
        assert.strictEqual((yield* Ledger.cancel(idOf(key))).state, "completed")
        assert.strictEqual(yield* run(key, () => Effect.die("ran")), "done")
      }))

    test("in the middle of an ambiguous call: how it ended is kept, and then it is cancelled", () =>
      Effect.gen(function* () {
        const key = newKey()
        const calling = yield* Deferred.make<void>()
        const answer = yield* Deferred.make<string>()
        const owner = yield* Effect.fork(
          run(key, () =>
            Ledger.outside("charge", policy, () =>
              Effect.zipRight(Deferred.succeed(calling, undefined), Deferred.await(answer))
            )
          )
        )
        yield* Deferred.await(calling)
        const asked = yield* Ledger.cancel(idOf(key))
        assert.deepStrictEqual([asked.state, asked.cancelRequestedAt !== undefined], ["in_progress", true])
        yield* Deferred.succeed(answer, "charged")
        assert.strictEqual(tagOf(yield* Fiber.await(owner)), "LedgerCancelled")
        assert.strictEqual((yield* record(key)).state, "cancelled")
        const store = yield* LedgerStore
        assert.deepStrictEqual(yield* store.recall(idOf(key), "charge"), Option.some('{"value":"charged"}'))
      }))

    test("in the middle of an ambiguous call that does not end: unknown, and cancelled by the verdict", () =>
      Effect.gen(function* () {
        const key = newKey()
        const calling = yield* Deferred.make<void>()
        const owner = yield* Effect.fork(
          run(key, () =>
            Ledger.outside("charge", Ledger.ambiguous({ timeout: "30 seconds", result: Schema.String }), () =>
              Effect.zipRight(Deferred.succeed(calling, undefined), Effect.never)
            )
          )
        )
        yield* Deferred.await(calling)
        yield* Ledger.cancel(idOf(key))
        yield* TestClock.adjust("20 seconds")
        assert.strictEqual(tagOf(yield* Fiber.await(owner)), "LedgerCancelled")
        assert.strictEqual(yield* stateOf(idOf(key)), "unknown")
        const decided = yield* Ledger.decide({ ...idOf(key), attempt: 1 }, Verdict.DidNotHappen())
        assert.strictEqual(decided.state, "cancelled")
      }))
  })

  describe(`retention on ${backend.name}`, () => {
    test("T22: past its retention a key is forgotten, with its steps, and runs again; unknown ones never are", () =>
      Effect.gen(function* () {
        const key = newKey()
        const store = yield* LedgerStore
        const job = () => Ledger.step("s", Schema.String, Effect.succeed("done"))
        yield* run(key, job)
        const dead = newKey()
        yield* deadOwner(dead)
        const open = yield* deadCaller(newKey(), "charge", "ambiguous")
        yield* TestClock.adjust("44 days")
        yield* Ledger.sweep
        assert.isTrue(Option.isSome(yield* Ledger.get(idOf(key))))
        yield* TestClock.adjust("2 days")
        assert.isAtLeast(yield* Ledger.sweep, 2)
        assert.isTrue(Option.isNone(yield* Ledger.get(idOf(key))))
        assert.isTrue(Option.isNone(yield* Ledger.get(idOf(dead))))
        assert.isTrue(Option.isNone(yield* store.recall(idOf(key), "step:s")))
        assert.isTrue(Option.isSome(yield* Ledger.get(open)))
        assert.strictEqual(yield* run(key, () => Effect.succeed("again")), "again")
        yield* failureOf(run(open.key, () => Effect.die("ran")))
        yield* TestClock.adjust("1000 days")
        yield* Ledger.sweep
        assert.strictEqual(yield* stateOf(open), "unknown")
      }))

    test("a sweep removes more than one statement's worth", () =>
      Effect.gen(function* () {
        const store = yield* LedgerStore
        const namespace = newKey()
        yield* store.transaction(
          Effect.forEach(
            Array.from({ length: 1001 }, (_, n) => n),
            (n) => store.cancel({ namespace, key: String(n) }, { retentionMs: 1000 })
          )
        )
        yield* TestClock.adjust("1 second")
        assert.isAtLeast(yield* Ledger.sweep, 1001)
        // each is short: on SQLite nothing else goes on in the process meanwhile
        assert.isAtLeast((yield* Faults).count("sweep"), 11)
        assert.deepStrictEqual(yield* Ledger.list({ namespace, states: ["cancelled"] }), [])
      }))
  })
}
