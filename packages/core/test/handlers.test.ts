import { Consumer, Policy, Redelivery, Settlement } from "@effect-sqs/core"
import { Invariants } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Fiber } from "effect"
import { beside, send, simulate, view } from "./sim.js"
import { Unknown, Jobs, type Handler, tracked, ends } from "./handlersSupport.js"

describe("E1 a handler that takes too long", () => {
  for (const [by, options, limit] of [
    ["its own timeout", {}, (e: Effect.Effect<void>) => Effect.timeout(e, "5 seconds")],
    ["the policy's", { policy: Policy.make({ attemptTimeout: "5 seconds" }) }, (e: Effect.Effect<void>) => e]
  ] as const) {
    it.effect(`by ${by}: its cleanup has ended before the release, and no two runs overlap`, () =>
      simulate({}, (sqs) =>
        Effect.gen(function* () {
          yield* send(sqs, Jobs, 1)
          const cleaned: Array<number> = []
          const work = Effect.onInterrupt(Effect.never, () =>
            Effect.zipRight(
              Effect.sleep("3 seconds"),
              Effect.map(Clock.currentTimeMillis, (at) => void cleaned.push(at))
            )
          )
          yield* beside(
            Consumer.run(
              Jobs,
              { ...options, redelivery: Redelivery.release(0) },
              tracked(sqs, (_, d) => (d.receiveCount < 3 ? limit(work) : Effect.void))
            )
          )
          yield* Effect.sleep("30 seconds")
          const { deliveries } = view(sqs)
          assert.deepStrictEqual(cleaned, [8_000, 16_000])
          assert.deepStrictEqual(
            deliveries.slice(0, 2).map((d) => d.asks.map((a) => a.sent.at)),
            [[8_000], [16_000]]
          )
          assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
          Invariants.assertAll(sqs.journal.entries, { queue: "jobs" })
        })
      )
    )
  }
})

describe("E2 a handler that dies", () => {
  it.effect("has failed, under the policy; the consumer lives, and so do the runs beside it", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        for (const n of [1, 2, 3, 4]) yield* send(sqs, Jobs, n)
        const done: Array<number> = []
        const seen: Array<string> = []
        const redelivery = Redelivery.make((f) =>
          Effect.sync(() => {
            seen.push(`${String(f.error)} ${Cause.isDie(f.cause)}`)
            return Settlement.Release("7 seconds")
          })
        )
        yield* beside(
          Consumer.run(
            Jobs,
            { redelivery },
            tracked(sqs, (n, d) => {
              if (d.receiveCount > 1) return Effect.void
              if (n === 1) throw new Error("thrown")
              if (n === 2) return Effect.die(new Error("died"))
              if (n === 3) return Effect.sync(() => JSON.parse("{"))
              return Effect.zipRight(
                Effect.sleep("1 second"),
                Effect.sync(() => void done.push(n))
              )
            })
          )
        )
        yield* Effect.sleep("3 seconds")
        assert.deepStrictEqual(done, [4])
        assert.deepStrictEqual(seen.slice(0, 2), ["Error: thrown true", "Error: died true"])
        assert.match(seen[2]!, /^SyntaxError.* true$/)
        assert.deepStrictEqual(ends(sqs), [7, 7, 7, "delete"])
        yield* Effect.sleep("10 seconds")
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
      })
    )
  )
})

describe("E5 a handler that declines", () => {
  const endings: ReadonlyArray<readonly [Settlement.Settlement, string | number | undefined]> = [
    [Settlement.Release("5 minutes"), 300],
    [Settlement.Release(), 0],
    [Settlement.Leave, "nothing"],
    [Settlement.Delete, "delete"],
    [Settlement.DeadLetter("not for us"), "delete"]
  ]

  for (const [settlement, end] of endings) {
    it.effect(`${settlement._tag} ${end}: the policy is not asked`, () =>
      simulate({}, (sqs) =>
        Effect.gen(function* () {
          yield* send(sqs, Jobs, 1)
          let asked = 0
          const redelivery = Redelivery.make(() => Effect.sync(() => (asked++, Settlement.Leave)))
          yield* beside(
            Consumer.run(Jobs, { redelivery }, (_, d) =>
              d.receiveCount === 1 ? Settlement.endWith(settlement) : Effect.never
            )
          )
          yield* Effect.sleep("1 second")
          assert.deepStrictEqual(ends(sqs)[0], end)
          assert.strictEqual(asked, 0)
          const [copy] = yield* sqs.messages("dead")
          assert.strictEqual(
            copy?.attributes["effect_sqs.reason"]?.StringValue,
            settlement._tag === "DeadLetter" ? "not for us" : undefined
          )
        })
      )
    )
  }

  it.effect("what a handler answers settles nothing: only success does", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        // a handler from plain JavaScript
        const falsy = (() => Effect.succeed(false)) as unknown as Handler<never>
        yield* beside(Consumer.run(Jobs, {}, falsy))
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(ends(sqs), ["delete"])
      })
    )
  )
})

describe("E7 the last attempt", () => {
  const attempts = (options: { readonly maxReceiveCount: number }) =>
    simulate(options, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        const seen: Array<readonly [number, boolean | undefined]> = []
        yield* beside(
          Consumer.run(
            Jobs,
            { redelivery: Redelivery.release("1 second").pipe(Redelivery.lastAttempt(Redelivery.deadLetter)) },
            (_, d) => {
              seen.push([d.receiveCount, d.isLastAttempt])
              return new Unknown()
            }
          )
        )
        yield* Effect.sleep("20 seconds")
        const dead = yield* sqs.messages("dead")
        return { seen, dead: dead.map((m) => [m.attributes["effect_sqs.reason"]?.StringValue, m.deadLetterSourceArn]) }
      })
    )

  it.effect("is known to handler and policy, so that the dead-letter copy carries the reason", () =>
    Effect.gen(function* () {
      const { dead, seen } = yield* attempts({ maxReceiveCount: 3 })
      assert.deepStrictEqual(seen, [
        [1, false],
        [2, false],
        [3, true]
      ])
      assert.deepStrictEqual(dead, [["Unknown: no such dataset", undefined]])
    })
  )

  it.effect("is not known where the queue's redrive policy is not", () =>
    simulate({ deny: ["sqs:GetQueueAttributes"] }, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        const seen: Array<boolean | undefined> = []
        yield* beside(
          Consumer.run(Jobs, { lease: { visibility: "30 seconds" } }, (_, d) =>
            Effect.sync(() => void seen.push(d.isLastAttempt))
          )
        )
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(seen, [undefined])
      })
    )
  )
})

describe("E8 an interruption", () => {
  const nothing = Effect.void

  const cases: ReadonlyArray<readonly [string, Effect.Effect<void>]> = [
    ["of the handler by itself", Effect.interrupt],
    ["of a fiber that the handler waits for", Effect.flatMap(Effect.fork(Effect.interrupt), Fiber.join)],
    ["after a part of the work", Effect.zipRight(nothing, Effect.interrupt)],
    ["inside of parallel work", Effect.all([nothing, Effect.interrupt], { concurrency: 2, discard: true })],
    ["whose cleanup succeeds", Effect.ensuring(Effect.interrupt, nothing)]
  ]

  for (const [what, run] of cases) {
    it.effect(`${what} is never success: the policy decides`, () =>
      simulate({}, (sqs) =>
        Effect.gen(function* () {
          yield* send(sqs, Jobs, 1)
          yield* beside(
            Consumer.run(
              Jobs,
              { redelivery: Redelivery.release("9 seconds") },
              tracked(sqs, (_, d) => (d.receiveCount === 1 ? run : Effect.void))
            )
          )
          yield* Effect.sleep("1 second")
          assert.deepStrictEqual(ends(sqs), [9])
          yield* Effect.sleep("10 seconds")
          assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
          Invariants.assertAll(sqs.journal.entries, { queue: "jobs" })
        })
      )
    )
  }
})
