/** Outside calls, and steps: what a later run may do, and what it must not. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Option, Schema, TestClock } from "effect"
import { type Backend, ledgerOn, type Rows } from "../support/backend.js"
import { Faults } from "../support/faults.js"
import { deadCaller, failureOf, idOf, newKey, record, run, tagOf } from "../support/jobs.js"

class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}
class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}

/** an outside that knows no idempotency keys: each call counts */
const provider = () => {
  const calls: Array<Ledger.OutsideCall> = []
  return {
    calls,
    charge: (call: Ledger.OutsideCall) => Effect.sync(() => `charge ${calls.push(call)}`)
  }
}

const ambiguous = Ledger.ambiguous({
  timeout: "10 seconds",
  result: Schema.String,
  didNotHappen: (e: Refused | Broken) => e._tag === "Refused"
})
const replayable = Ledger.replayable({ timeout: "10 seconds", result: Schema.String })

export const calls = (backend: Backend) => {
  const test = <A, E>(name: string, body: () => Effect.Effect<A, E, Ledger.Ledger | LedgerStore | Faults | Rows>) =>
    it.effect(name, () => Effect.provide(body(), ledgerOn(backend)))

  describe(`outside calls on ${backend.name}`, () => {
    test("T3 G3: the owner died in a call that may not be repeated: unknown, not run again", () =>
      Effect.gen(function* () {
        const key = newKey()
        yield* deadCaller(key, "charge", "ambiguous")
        yield* TestClock.adjust("1 minute")
        for (const _ of [1, 2]) {
          const found = yield* Effect.flip(run(key, () => Effect.die("ran")))
          assert.strictEqual(found._tag === "LedgerUnknown" ? found.ref : found, "charge")
        }
        const row = yield* record(key)
        assert.deepStrictEqual([row.state, row.attempt], ["unknown", 1])
        const store = yield* LedgerStore
        const due = yield* store.takeDue({ namespace: "tests", limit: 1000, holdMs: 1000 })
        assert.include(
          due.map((s) => s.record.key),
          key
        )
      }))

    test("T4 G4: the same with an idempotency key: the taker makes the call with the same reference", () =>
      Effect.gen(function* () {
        const key = newKey()
        const outside = provider()
        yield* deadCaller(key, `charge:${key}`, "replayable")
        yield* TestClock.adjust("1 minute")
        const result = yield* run(key, () => Ledger.outside(`charge:${key}`, replayable, outside.charge))
        assert.strictEqual(result, "charge 1")
        assert.deepStrictEqual(outside.calls, [{ ref: `charge:${key}`, attempt: 2 }])
      }))

    test("a call that answered is remembered: a later run is given its result, and does not call", () =>
      Effect.gen(function* () {
        const key = newKey()
        const outside = provider()
        const job = (ends: Effect.Effect<void, Broken>) => () =>
          Effect.tap(Ledger.outside("charge", ambiguous, outside.charge), ends)
        assert.strictEqual(yield* failureOf(run(key, job(new Broken()))), "Broken")
        assert.strictEqual((yield* record(key)).state, "retryable")
        assert.strictEqual(yield* run(key, job(Effect.void)), "charge 1")
        assert.strictEqual(outside.calls.length, 1)
      }))

    test("T17 G11: interrupted in the middle of the call: unknown, not retryable", () =>
      Effect.gen(function* () {
        const key = newKey()
        const calling = yield* Deferred.make<void>()
        const owner = yield* Effect.fork(
          run(key, () =>
            Ledger.outside("charge", ambiguous, () =>
              Effect.zipRight(Deferred.succeed(calling, undefined), Effect.never)
            )
          )
        )
        yield* Deferred.await(calling)
        yield* Fiber.interrupt(owner)
        assert.strictEqual((yield* record(key)).state, "unknown")
        assert.strictEqual(yield* failureOf(run(key, () => Effect.die("ran"))), "LedgerUnknown")
      }))

    test("T17: the same when it is replayable: to be tried again", () =>
      Effect.gen(function* () {
        const key = newKey()
        const calling = yield* Deferred.make<void>()
        const owner = yield* Effect.fork(
          run(key, () =>
            Ledger.outside("charge", replayable, () =>
              Effect.zipRight(Deferred.succeed(calling, undefined), Effect.never)
            )
          )
        )
        yield* Deferred.await(calling)
        yield* Fiber.interrupt(owner)
        assert.strictEqual((yield* record(key)).state, "retryable")
      }))

    test("T17: interrupted after the begin is written, before the call: to be tried again, nothing is unknown", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        const outside = provider()
        const held = yield* faults.hold("begin", "after")
        const owner = yield* Effect.fork(run(key, () => Ledger.outside("charge", ambiguous, outside.charge)))
        yield* held.reached
        const interrupting = yield* Effect.fork(Fiber.interrupt(owner))
        yield* held.release
        yield* Fiber.join(interrupting)
        const row = yield* record(key)
        assert.deepStrictEqual([row.state, row.call, outside.calls.length], ["retryable", undefined, 0])
      }))

    test("a call that fails is unknown; its error is kept", () =>
      Effect.gen(function* () {
        const key = newKey()
        const found = yield* Effect.flip(run(key, () => Ledger.outside("charge", ambiguous, () => new Broken())))
        assert.strictEqual(found._tag === "LedgerUnknown" ? (found.cause as Broken)._tag : found, "Broken")
        assert.strictEqual((yield* record(key)).state, "unknown")
      }))

    test("T18: a failure that says it surely did not happen: to be tried again, from notBefore", () =>
      Effect.gen(function* () {
        const key = newKey()
        const outside = provider()
        const refused = run(key, () => Ledger.outside("charge", ambiguous, () => new Refused()), {
          failure: () => Ledger.retry("30 seconds")
        })
        assert.strictEqual(yield* failureOf(refused), "Refused")
        const row = yield* record(key)
        assert.deepStrictEqual([row.state, row.call], ["retryable", undefined])
        assert.strictEqual(yield* failureOf(run(key, () => Effect.die("ran"))), "LedgerNotBefore")
        yield* TestClock.adjust("30 seconds")
        const result = yield* run(key, () => Ledger.outside("charge", ambiguous, outside.charge))
        assert.strictEqual(result, "charge 1")
      }))

    test("a call that takes too long is cut off, and unknown; replayable, it is a failure to be tried again", () =>
      Effect.gen(function* () {
        const late = (key: string, policy: typeof ambiguous | typeof replayable) =>
          Effect.gen(function* () {
            const calling = yield* Deferred.make<void>()
            const owner = yield* Effect.fork(
              failureOf(
                run(key, () =>
                  Ledger.outside("charge", policy, () =>
                    Effect.zipRight(Deferred.succeed(calling, undefined), Effect.never)
                  )
                )
              )
            )
            yield* Deferred.await(calling)
            yield* TestClock.adjust("10 seconds")
            return [yield* Fiber.join(owner), (yield* record(key)).state]
          })
        assert.deepStrictEqual(yield* late(newKey(), ambiguous), ["LedgerUnknown", "unknown"])
        assert.deepStrictEqual(yield* late(newKey(), replayable), ["LedgerCallTimeout", "retryable"])
      }))

    test("a timeout cuts a call off also where the job is uninterruptible", () =>
      Effect.gen(function* () {
        const key = newKey()
        const calling = yield* Deferred.make<void>()
        const owner = yield* Effect.fork(
          failureOf(
            run(key, () =>
              Effect.uninterruptible(
                Ledger.outside("charge", ambiguous, () =>
                  Effect.zipRight(Deferred.succeed(calling, undefined), Effect.never)
                )
              )
            )
          )
        )
        yield* Deferred.await(calling)
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(yield* Fiber.join(owner), "LedgerUnknown")
      }))

    test("T25: refused when the claim, renewed, is shorter than the call's timeout; renewed when that is enough", () =>
      Effect.gen(function* () {
        const outside = provider()
        const call = (timeout: Duration.DurationInput) =>
          Ledger.outside("charge", Ledger.ambiguous({ timeout, result: Schema.String }), outside.charge)
        const key = newKey()
        assert.strictEqual(yield* failureOf(run(key, () => call(Duration.infinity))), "LedgerClaimTooShort")
        assert.strictEqual(yield* failureOf(run(key, () => call("61 seconds"))), "LedgerClaimTooShort")
        assert.deepStrictEqual([(yield* record(key)).state, outside.calls.length], ["retryable", 0])

        const waited = newKey()
        const started = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        const owner = yield* Effect.fork(
          run(waited, () =>
            Effect.zipRight(
              Deferred.succeed(started, undefined),
              Effect.zipRight(Deferred.await(go), call("55 seconds"))
            )
          )
        )
        yield* Deferred.await(started)
        yield* TestClock.adjust("15 seconds")
        yield* Deferred.succeed(go, undefined)
        assert.strictEqual(yield* Fiber.join(owner), "charge 1")
      }))

    test("an ambiguous call is not made again by the job that does not know how it ended", () =>
      Effect.gen(function* () {
        const key = newKey()
        const outside = provider()
        const broken = Ledger.outside("charge", ambiguous, (call) =>
          Effect.zipRight(outside.charge(call), new Broken())
        )
        assert.strictEqual(yield* failureOf(run(key, () => Effect.retry(broken, { times: 5 }))), "LedgerUnknown")
        assert.strictEqual(outside.calls.length, 1)
      }))

    test("nor may it make another: but one that succeeds all the same is believed", () =>
      Effect.gen(function* () {
        const key = newKey()
        const outside = provider()
        const broken = Ledger.outside("charge", ambiguous, () => new Broken())
        const other = Ledger.outside("mail", replayable, outside.charge)
        const found = yield* Effect.flip(run(key, () => Effect.zipRight(Effect.ignore(broken), other)))
        assert.deepInclude(found, { _tag: "LedgerUnknown", ref: "charge" })
        assert.strictEqual(outside.calls.length, 0)

        const believed = newKey()
        yield* run(believed, () => Effect.zipRight(Effect.ignore(broken), Effect.succeed("looked it up")))
        assert.strictEqual(yield* run(believed, () => Effect.die("ran")), "looked it up")
      }))

    test("an owner that reports late, before a verdict, is believed: the call is remembered and the job can go on", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        yield* faults.lose("renew", "request", 1000)
        const held = yield* faults.hold("end", "before")
        const owner = yield* Effect.fork(
          run(key, () => Ledger.outside("charge", ambiguous, () => Effect.succeed("charged")))
        )
        yield* held.reached
        yield* TestClock.adjust("61 seconds")
        assert.strictEqual(yield* failureOf(run(key, () => Effect.die("ran"))), "LedgerUnknown")
        assert.strictEqual((yield* record(key)).state, "unknown")
        yield* held.release
        assert.strictEqual(tagOf(yield* Fiber.await(owner)), "LedgerClaimLost")
        assert.strictEqual((yield* record(key)).state, "retryable")
        const result = yield* run(key, () => Ledger.outside("charge", ambiguous, () => Effect.die("called again")))
        assert.strictEqual(result, "charged")
      }))

    test("an owner that reports after a verdict is refused", () =>
      Effect.gen(function* () {
        const key = newKey()
        const faults = yield* Faults
        yield* faults.lose("renew", "request", 1000)
        const held = yield* faults.hold("end", "before")
        const owner = yield* Effect.fork(
          run(key, () => Ledger.outside("charge", ambiguous, () => Effect.succeed("charged")))
        )
        yield* held.reached
        yield* TestClock.adjust("61 seconds")
        yield* failureOf(run(key, () => Effect.die("ran")))
        yield* Ledger.decide({ ...idOf(key), attempt: 1 }, Verdict.Completed({ result: "seen by a person" }))
        yield* held.release
        assert.strictEqual(tagOf(yield* Fiber.await(owner)), "LedgerClaimLost")
        assert.strictEqual(yield* run(key, () => Effect.die("ran")), "seen by a person")
      }))

    test("an uninterruptible call is let finish when the job is interrupted, and is remembered", () =>
      Effect.gen(function* () {
        const key = newKey()
        const calling = yield* Deferred.make<void>()
        const answer = yield* Deferred.make<string>()
        const owner = yield* Effect.fork(
          run(key, () =>
            Effect.uninterruptible(
              Ledger.outside("charge", ambiguous, () =>
                Effect.zipRight(Deferred.succeed(calling, undefined), Deferred.await(answer))
              )
            )
          )
        )
        yield* Deferred.await(calling)
        const interrupting = yield* Effect.fork(Fiber.interrupt(owner))
        yield* Effect.yieldNow()
        yield* Deferred.succeed(answer, "charged")
        yield* Fiber.join(interrupting)
        assert.strictEqual((yield* record(key)).state, "retryable")
        assert.strictEqual(
          yield* run(key, () => Ledger.outside("charge", ambiguous, () => Effect.die("again"))),
          "charged"
        )
      }))

    test("calls of one job are made one after another; one inside another, or in a transaction, is a defect", () =>
      Effect.gen(function* () {
        const store = yield* LedgerStore
        let open = 0
        let most = 0
        const call = (ref: string) =>
          Ledger.outside(ref, replayable, () =>
            Effect.gen(function* () {
              most = Math.max(most, ++open)
              yield* Effect.yieldNow()
              open--
              return ref
            })
          )
        yield* run(newKey(), () =>
          Effect.as(Effect.forEach(["a", "b", "c"], call, { concurrency: "unbounded" }), "done")
        )
        assert.strictEqual(most, 1)
        const dies = (job: Effect.Effect<string, any, any>) =>
          Effect.map(
            Effect.exit(run(newKey(), () => job as Effect.Effect<string, never, Ledger.CurrentClaim>)),
            (exit) => (Exit.isFailure(exit) && exit.cause._tag === "Die" ? String(exit.cause.defect) : "lived")
          )
        assert.include(yield* dies(Ledger.outside("a", replayable, () => call("b"))), "inside another outside call")
        assert.include(yield* dies(store.transaction(call("a"))), "inside a database transaction")
        assert.include(
          String(yield* Effect.flip(Effect.sandbox(store.transaction(run(newKey(), () => Effect.succeed("no")))))),
          "inside a database transaction"
        )
      }))

    test("a late copy of an old begin or end changes nothing", () =>
      Effect.gen(function* () {
        const key = newKey()
        const store = yield* LedgerStore
        const holder = yield* deadCaller(key, "a", "ambiguous")
        const end = { claimMs: 60_000, retentionMs: 1000 }
        yield* store.end(holder, { ref: "a", result: undefined, seq: 2, ...end })
        yield* store.begin(holder, { ref: "a", policy: "ambiguous", timeoutMs: 1000, seq: 3 })
        assert.isTrue(Option.isNone(yield* store.end(holder, { ref: "a", result: undefined, seq: 2, ...end })))
        assert.strictEqual((yield* record(key)).call?.ref, "a")
        yield* store.end(holder, { ref: "a", result: '{"value":1}', seq: 4, ...end })
        assert.isTrue(
          Option.isNone(yield* store.begin(holder, { ref: "a", policy: "ambiguous", timeoutMs: 1000, seq: 3 }))
        )
        assert.strictEqual((yield* record(key)).call, undefined)
      }))
  })
}
