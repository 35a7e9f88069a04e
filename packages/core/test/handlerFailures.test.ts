import { Consumer, type ConsumerEvent, Redelivery, Settlement } from "@effect-sqs/core"
import { Invariants } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Schedule, Schema } from "effect"
import { beside, send, simulate, view } from "./sim.js"
import { Unknown, Jobs, tracked, ends } from "./handlersSupport.js"

class Busy extends Schema.TaggedError<Busy>()("Busy", { retryAfter: Schema.DurationFromMillis }) {}

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
