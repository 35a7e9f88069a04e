/** What the tests have in common: jobs under keys, and ways to let time pass. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import { Cause, Deferred, Effect, Exit, Fiber, Option, Schema, TestClock } from "effect"
import { hasProperty } from "effect/Predicate"

/** databases are shared by tests: each key is new */
let keys = 0
export const newKey = (): string => `${process.pid}-${Math.random().toString(36).slice(2)}-${++keys}`

export const namespace = "tests"

export const idOf = (key: string) => ({ namespace, key })

/** a job with a text as its result */
export const run = <E, R>(
  key: string,
  job: (claim: Ledger.Claim<string>) => Effect.Effect<string, E, R>,
  options: { readonly payload?: unknown; readonly failure?: (e: any) => Ledger.Failing } = {}
) => Ledger.once({ namespace, key, result: Schema.String, ...options }, job)

/** a job that says when it runs, and ends when it is told to */
export const gated = Effect.gen(function* () {
  const started = yield* Deferred.make<number>()
  const ended = yield* Deferred.make<string>()
  return {
    job: (claim: Ledger.Claim<string>) =>
      Effect.zipRight(Deferred.succeed(started, claim.attempt), Deferred.await(ended)),
    /** gives the attempt */
    started: Deferred.await(started),
    end: (result: string) => Deferred.succeed(ended, result)
  }
})

export const record = (key: string) =>
  Effect.flatMap(
    Ledger.get(idOf(key)),
    Option.match({ onNone: () => Effect.dieMessage("no row"), onSome: Effect.succeed })
  )

/** somebody who claimed the key and died: the row is all that is left */
export const deadOwner = (key: string, payload?: unknown) =>
  Effect.map(Ledger.claim({ namespace, key, payload, owner: `dead ${newKey()}` }), (outcome) => {
    if (outcome._tag !== "Claimed") throw new Error(`expected a claim, found ${outcome._tag}`)
    return outcome
  })

/** as `deadOwner`, with an outside call begun */
export const deadCaller = (key: string, ref: string, policy: "replayable" | "ambiguous") =>
  Effect.gen(function* () {
    const store = yield* LedgerStore
    const owner = `dead ${newKey()}`
    const outcome = yield* Ledger.claim({ namespace, key, owner })
    if (outcome._tag !== "Claimed") throw new Error(`expected a claim, found ${outcome._tag}`)
    const holder = { namespace, key, attempt: outcome.attempt, owner }
    const begun = yield* store.begin(holder, { ref, policy, timeoutMs: 1000, seq: 1 })
    if (Option.isNone(begun)) throw new Error("the call was refused")
    return holder
  })

/** somebody who died in an ambiguous call: its claim has ended, in a namespace of its own, since a pass looks at all of one */
export const unknownKey = (ref: string) =>
  Effect.gen(function* () {
    const store = yield* LedgerStore
    const holder = { namespace: newKey(), key: newKey(), attempt: 1, owner: `dead ${newKey()}` }
    yield* Ledger.claim(holder)
    yield* store.begin(holder, { ref, policy: "ambiguous", timeoutMs: 1000, seq: 1 })
    yield* TestClock.adjust("1 minute")
    return holder
  })

/**
 * Waits for a fiber while time passes in small steps, so that pauses between tries end. Each step lets the database answer.
 */
export const passing = <A, E>(fiber: Fiber.RuntimeFiber<A, E>): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.gen(function* () {
    for (;;) {
      const exit = yield* Fiber.poll(fiber)
      if (Option.isSome(exit)) return exit.value
      yield* TestClock.adjust("250 millis")
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    }
  })

/** the exit of an effect, while time passes */
export const exitOf = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.flatMap(Effect.fork(effect), passing)

/** the tag of the failure that an effect ends with; its defects stay defects */
export const failureOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (e) => (hasProperty(e, "_tag") ? e._tag : e))

/** the tag of the failure of an exit, or what else became of it */
export const tagOf = <A, E>(exit: Exit.Exit<A, E>): unknown => {
  if (Exit.isSuccess(exit)) return exit
  const error = Cause.squash(exit.cause)
  return hasProperty(error, "_tag") ? error._tag : error
}
