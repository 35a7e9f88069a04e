import { Consumer, type ConsumerEvent, type Delivery, Policy, Redelivery, Settlement, SqsQueue } from "@effect-sqs/core"
import { Invariants, Tracking, type VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Context, Duration, Effect, Fiber, Schedule, Schema } from "effect"
import { beside, send, simulate, view } from "./sim.js"

class Busy extends Schema.TaggedError<Busy>()("Busy", { retryAfter: Schema.DurationFromMillis }) {}
class Unknown extends Schema.TaggedError<Unknown>()("Unknown", {}) {
  override get message() {
    return "no such dataset"
  }
}

const Jobs = SqsQueue.make("jobs", { schema: Schema.Number })

type Sqs = VirtualSqs.VirtualSqs["Type"]
type Handler<E> = (n: number, delivery: Delivery.Delivery<number>) => Effect.Effect<void, E>

/** so that the journal, and the invariants, know of the runs */
const tracked = <E>(sqs: Sqs, handler: Handler<E>): Handler<E> =>
  Tracking.tracked({ journal: sqs.journal, queue: "jobs" }, handler)

/** what was asked for each delivery of the queue: seconds of a release, "delete", or nothing */
const ends = (sqs: Sqs) =>
  view(sqs)
    .deliveries.filter((d) => d.queue === "jobs")
    .map((d) => d.asks.at(-1))
    .map((ask) => (ask === undefined ? "nothing" : ask.kind === "delete" ? "delete" : ask.timeoutSeconds))

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

describe("E3 a handler that fails again and again", () => {
  const tenDoubling = Redelivery.schedule(
    Schedule.exponential("10 seconds").pipe(Schedule.jitteredWith({ min: 0.5, max: 1 })),
    { whenOver: Redelivery.deadLetter }
  )

  it.effect("is delayed by the schedule over the receive count, jittered", () =>
    simulate({ maxReceiveCount: 6 }, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        yield* beside(
          Consumer.run(
            Jobs,
            { redelivery: tenDoubling },
            tracked(sqs, (_, d) => (d.receiveCount < 6 ? new Unknown() : Effect.void))
          )
        )
        yield* Effect.sleep("10 minutes")
        const asked = ends(sqs)
        assert.strictEqual(asked.length, 6)
        asked.slice(0, 5).forEach((seconds, i) => {
          const whole = 10 * 2 ** i
          assert.isAtLeast(Number(seconds), whole / 2)
          assert.isAtMost(Number(seconds), whole)
        })
        // jittered: not all of them whole
        assert.notDeepEqual(asked.slice(0, 5), [10, 20, 40, 80, 160])
        // and each receive came when the delay was over
        const { deliveries } = view(sqs)
        deliveries.slice(1).forEach((d, i) => {
          const last = deliveries[i]!.asks.at(-1)!
          assert.strictEqual(d.received.at - last.sent.at, last.timeoutSeconds! * 1_000)
        })
        Invariants.assertAll(sqs.journal.entries, { queue: "jobs" })
      })
    )
  )

  it.effect("asks no more than what is left of the 43,200 s since the receive", () =>
    simulate({ visibility: 600 }, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        yield* beside(
          Consumer.run(
            Jobs,
            { redelivery: Redelivery.release("2 hours"), concurrency: 1 },
            tracked(sqs, () => Effect.zipRight(Effect.sleep("11 hours"), new Unknown()))
          )
        )
        yield* Effect.sleep("11 hours")
        yield* Effect.sleep("1 second")
        const release = view(sqs).deliveries[0]!.asks.at(-1)!
        // 12 h less 11 h, less the margin
        assert.strictEqual(release.timeoutSeconds, 3_590)
        assert.strictEqual(release.outcome, "done")
        Invariants.assertAll(sqs.journal.entries, { queue: "jobs" })
      })
    )
  )

  it.effect("the end of the schedule is what it says, and no hot loop", () =>
    simulate({ maxReceiveCount: 10 }, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        const redelivery = Redelivery.schedule(
          Schedule.spaced("3 seconds").pipe(Schedule.intersect(Schedule.recurs(2))),
          { whenOver: Redelivery.deadLetter }
        )
        yield* beside(Consumer.run(Jobs, { redelivery }, () => new Unknown()))
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual(ends(sqs), [3, 3, "delete"])
        assert.strictEqual((yield* sqs.messages("dead")).length, 1)
      })
    )
  )
})

describe("E4 a message that always fails", () => {
  it.effect("does not reach the dead letters within seconds, without a policy of one's own", () =>
    simulate({ maxReceiveCount: 5 }, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        yield* beside(Consumer.run(Jobs, {}, () => new Unknown()))
        yield* Effect.sleep("20 minutes")
        const [moved] = sqs.journal.entries.filter((e) => e._tag === "DeadLettered")
        // 10 + 20 + 40 + 80 + 160 s, each cut to no less than its half
        assert.isAtLeast(moved!.at, 155_000)
        assert.isAtMost(moved!.at, 320_000)
        assert.strictEqual(view(sqs).deliveries.length, 5)
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

describe("a redelivery policy", () => {
  const settled = (told: Array<string>) => (e: ConsumerEvent.ConsumerEvent) =>
    Effect.sync(() => {
      if (e._tag === "DeliverySettled") told.push(`${e.settled.asked._tag} ${e.settled.confirmed}`)
    })

  const broken: ReadonlyArray<readonly [string, Redelivery.Redelivery]> = [
    ["dies", Redelivery.make(() => Effect.die(new Error("bug")))],
    [
      "throws",
      Redelivery.make(() => {
        throw new Error("bug")
      })
    ],
    ["interrupts itself", Redelivery.make(() => Effect.interrupt)]
  ]
  for (const [how, redelivery] of broken) {
    it.effect(`that ${how} leaves the message to SQS, and the consumer goes on`, () =>
      simulate({}, (sqs) =>
        Effect.gen(function* () {
          const told: Array<string> = []
          yield* send(sqs, Jobs, 1)
          yield* send(sqs, Jobs, 2)
          yield* beside(
            Consumer.run(Jobs, { redelivery, onEvent: settled(told) }, (n) => (n === 1 ? new Unknown() : Effect.void))
          )
          yield* Effect.sleep("40 seconds")
          assert.deepStrictEqual(told.sort(), ["Delete true", "Leave true", "Leave true"])
          assert.deepStrictEqual(ends(sqs).sort(), ["delete", "nothing", "nothing"])
        })
      )
    )
  }

  it.effect("may need services, and take its time: the lease goes on meanwhile", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        class Quota extends Context.Tag("test/Quota")<Quota, Duration.Duration>() {}
        yield* send(sqs, Jobs, 1)
        const redelivery = Redelivery.make(() =>
          Effect.delay(
            Effect.map(Quota, (quota) => Settlement.Release(quota)),
            "50 seconds"
          )
        )
        yield* beside(
          Consumer.run(Jobs, { redelivery }, () => new Unknown()).pipe(
            Effect.provideService(Quota, Duration.seconds(17))
          )
        )
        yield* Effect.sleep("55 seconds")
        const { deliveries } = view(sqs)
        assert.strictEqual(deliveries.length, 1)
        assert.strictEqual(deliveries[0]!.asks.at(-1)!.timeoutSeconds, 17)
      })
    )
  )

  it.effect("by tag and by class, with what the error asks for", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        for (const n of [1, 2, 3]) yield* send(sqs, Jobs, n)
        const redelivery = Redelivery.release("2 seconds").pipe(
          Redelivery.catchTag("Unknown", Redelivery.delete),
          Redelivery.catchError(Busy, (e) => Redelivery.release(e.retryAfter))
        )
        yield* beside(
          Consumer.run(Jobs, { redelivery, concurrency: 1 }, (n): Effect.Effect<void, Busy | Unknown | "other"> =>
            n === 1 ? new Busy({ retryAfter: Duration.seconds(40) }) : n === 2 ? new Unknown() : Effect.fail("other")
          )
        )
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(ends(sqs), [40, "delete", 2])
      })
    )
  )
})
