import { Consumer, Policy, Redelivery, Settlement, SqsQueue } from "@effect-sqs/core"
import { SimClock } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Context, Duration, Effect, Exit, Fiber, Schedule, Schema, TestClock } from "effect"
import { beside, send, simulate, view } from "./sim.js"

class Busy extends Schema.TaggedError<Busy>()("Busy", {}) {}
class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}

const Jobs = SqsQueue.make("jobs", { schema: Schema.Number })

/** Runs it while virtual time passes, and tells how it ended and after how many seconds. */
const timed = <A, E>(effect: Effect.Effect<A, E>, pass: Duration.DurationInput = "1 hour") =>
  Effect.gen(function* () {
    const from = yield* Clock.currentTimeMillis
    const fiber = yield* Effect.fork(
      Effect.flatMap(Effect.exit(effect), (exit) =>
        Effect.map(Clock.currentTimeMillis, (now) => ({ exit, after: (now - from) / 1000 }))
      )
    )
    yield* TestClock.adjust(pass)
    return yield* Fiber.join(fiber)
  })

/** A try that says when it began, ends and has cleaned up. */
const tries = (log: Array<string>, runs: Effect.Effect<void, Busy>, cleanup: Duration.DurationInput = 0) =>
  Effect.gen(function* () {
    const say = (word: string) =>
      Effect.map(Clock.currentTimeMillis, (now) => void log.push(`${word} ${Math.round(now / 1000)}`))
    yield* say("start")
    yield* Effect.onExit(runs, () => Effect.zipRight(Effect.sleep(cleanup), say("end")))
  })

const endOf = <A, E>(exit: Exit.Exit<A, E>) => {
  if (Exit.isSuccess(exit)) return "success"
  const error: unknown = Cause.squash(exit.cause)
  return typeof error === "object" && error !== null && "_tag" in error ? error._tag : String(error)
}

describe("attemptTimeout", () => {
  it.effect("E1 a try that is too long is interrupted, and is over when its cleanup is", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const policy = Policy.make({ attemptTimeout: "10 seconds" })
      const { after, exit } = yield* timed(Policy.apply(policy)(tries(log, Effect.never, "4 seconds")))
      assert.deepStrictEqual(log, ["start 0", "end 14"])
      assert.strictEqual(after, 14)
      assert.deepStrictEqual(exit, Exit.fail(new Policy.AttemptTimedOut({ after: Duration.seconds(10) })))
      assert.strictEqual(String(endOf(exit)), "AttemptTimedOut")
    })
  )

  it.effect("a try in time is left alone", () =>
    Effect.gen(function* () {
      const policy = Policy.make({ attemptTimeout: "10 seconds", totalTimeout: "20 seconds" })
      const { after, exit } = yield* timed(Policy.apply(policy)(Effect.as(Effect.sleep("9 seconds"), 7)))
      assert.deepStrictEqual([exit, after], [Exit.succeed(7), 9])
    })
  )

  it.effect("a try that is done when its process wakes, though its time is over too, is done", () =>
    Effect.gen(function* () {
      const ends = new Set<string>()
      for (let seed = 0; seed < 12; seed++) {
        let done = false
        const run = Effect.zipRight(
          Effect.sleep("9 seconds"),
          Effect.sync(() => void (done = true))
        )
        const { exit } = yield* SimClock.run(
          Effect.gen(function* () {
            const worker = yield* SimClock.spawn(
              "worker",
              Effect.exit(Policy.apply(Policy.make({ attemptTimeout: "10 seconds", totalTimeout: "11 seconds" }))(run))
            )
            yield* Effect.delay(worker.stall("1 minute"), "1 second")
            return { exit: yield* Effect.flatten(worker.await) }
          }),
          { seed, order: "random" }
        )
        assert.strictEqual(Exit.isSuccess(exit), done)
        ends.add(String(endOf(exit)))
      }
      assert.include([...ends], "success")
    })
  )

  it.effect("with a retry the next try begins after the cleanup of the one before", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const policy = Policy.make({ attemptTimeout: "10 seconds", retry: Schedule.recurs(1) })
      const { after, exit } = yield* timed(Policy.apply(policy)(tries(log, Effect.never, "4 seconds")))
      assert.deepStrictEqual(log, ["start 0", "end 14", "start 14", "end 28"])
      assert.deepStrictEqual([endOf(exit), after], ["AttemptTimedOut", 28])
    })
  )
})

describe("retry", () => {
  const policy = Policy.make({ retry: Schedule.spaced("5 seconds").pipe(Schedule.intersect(Schedule.recurs(2))) })
  const count = (make: (n: number) => Effect.Effect<void, unknown>) => {
    let n = 0
    const effect = Effect.suspend(() => make(++n))
    return Effect.map(timed(Policy.apply(policy)(effect)), (r) => ({ ...r, n }))
  }

  it.effect("tries failures again by the schedule, until one succeeds or the schedule ends", () =>
    Effect.gen(function* () {
      const third = yield* count((n) => (n < 3 ? new Busy() : Effect.void))
      assert.deepStrictEqual([endOf(third.exit), third.n, third.after], ["success", 3, 10])
      const never = yield* count(() => new Busy())
      assert.deepStrictEqual([endOf(never.exit), never.n, never.after], ["Busy", 3, 10])
    })
  )

  it.effect("defects and interruptions are not tried again", () =>
    Effect.gen(function* () {
      const died = yield* count(() => Effect.die("bug"))
      assert.deepStrictEqual([endOf(died.exit), died.n], ["bug", 1])
      const interrupted = yield* count(() => Effect.interrupt)
      assert.isTrue(Exit.isInterrupted(interrupted.exit))
      assert.strictEqual(interrupted.n, 1)
    })
  )

  it.effect("an explicit end is an end, not a failure to try again", () =>
    Effect.gen(function* () {
      const ended = yield* count(() => Settlement.endWith(Settlement.Release("1 minute")))
      assert.deepStrictEqual([endOf(ended.exit), ended.n], ["EndWith", 1])
    })
  )

  it.effect("the schedule sees the error", () =>
    Effect.gen(function* () {
      const onlyBusy = Policy.make({
        retry: Schedule.spaced("1 second").pipe(
          Schedule.whileInput((e: Busy | Broken | Policy.AttemptTimedOut) => e._tag === "Busy")
        )
      })
      let n = 0
      const run = Effect.suspend((): Effect.Effect<void, Busy | Broken> => (++n < 3 ? new Busy() : new Broken()))
      const { after, exit } = yield* timed(Policy.apply(onlyBusy)(run))
      assert.deepStrictEqual([endOf(exit), n, after], ["Broken", 3, 2])
    })
  )
})

describe("totalTimeout", () => {
  it.effect("cuts a try, and waits for its cleanup", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const policy = Policy.make({
        attemptTimeout: "10 seconds",
        retry: Schedule.spaced("1 second"),
        totalTimeout: "15 seconds"
      })
      const { after, exit } = yield* timed(Policy.apply(policy)(tries(log, Effect.never, "2 seconds")))
      assert.deepStrictEqual(log, ["start 0", "end 12", "start 13", "end 17"])
      assert.deepStrictEqual(exit, Exit.fail(new Policy.TotalTimedOut({ after: Duration.seconds(15) })))
      assert.strictEqual(after, 17)
    })
  )

  it.effect("cuts a pause between two tries", () =>
    Effect.gen(function* () {
      const policy = Policy.make({ retry: Schedule.spaced("1 minute"), totalTimeout: "15 seconds" })
      const { after, exit } = yield* timed(Policy.apply(policy)(new Busy()))
      assert.deepStrictEqual([endOf(exit), after], ["TotalTimedOut", 15])
    })
  )
})

describe("a policy as a value", () => {
  class Zone extends Context.Tag("test/Zone")<Zone, number>() {}

  it("is printed as a table", () => {
    const policy = Policy.make({
      attemptTimeout: "10 minutes",
      retry: Schedule.recurs(2),
      totalTimeout: "30 minutes"
    })
    assert.strictEqual(
      String(policy),
      [
        "attempt timeout   10m",
        "retry in process  by a schedule, on failures and attempt timeouts",
        "total timeout     30m"
      ].join("\n")
    )
    assert.strictEqual(
      String(Policy.make({})),
      ["attempt timeout   none", "retry in process  none", "total timeout     none"].join("\n")
    )
  })

  it.effect("says what its schedule needs, and when it timed out", () =>
    Effect.gen(function* () {
      const policy: Policy.Policy<unknown, Zone> = Policy.make({
        retry: Schedule.recurs(9).pipe(Schedule.whileOutputEffect((n) => Effect.map(Zone, (max) => n < max)))
      })
      let n = 0
      const run = Effect.suspend(() => {
        n++
        return new Busy()
      })
      yield* Policy.apply(policy)(run).pipe(Effect.provideService(Zone, 3), Effect.exit)
      assert.strictEqual(n, 4)
      assert.strictEqual(
        new Policy.AttemptTimedOut({ after: Duration.seconds(90) }).message,
        "One try took longer than 1m 30s"
      )
      assert.strictEqual(
        new Policy.TotalTimedOut({ after: Duration.hours(1) }).message,
        "All tries of this delivery took longer than 1h"
      )
    })
  )
})

describe("a policy in a consumer", () => {
  it.effect("retries stay inside one delivery, under its lease, and call the handler anew", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        const policy = Policy.make({
          retry: Schedule.spaced("40 seconds").pipe(Schedule.intersect(Schedule.recurs(2)))
        })
        const runs: Array<number> = []
        yield* beside(
          Consumer.run(Jobs, { policy }, (_, delivery): Effect.Effect<void, Busy> => {
            runs.push(delivery.receiveCount)
            return runs.length < 3 ? new Busy() : Effect.void
          })
        )
        yield* Effect.sleep("2 minutes")
        assert.deepStrictEqual(runs, [1, 1, 1])
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
        assert.strictEqual(view(sqs).deliveries.length, 1)
      })
    )
  )

  it.effect("what is left after the retries goes to the redelivery policy, timeouts by their tags", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, 1)
        yield* beside(
          Consumer.run(
            Jobs,
            {
              policy: Policy.make({ attemptTimeout: "5 seconds", retry: Schedule.recurs(1) }),
              redelivery: Redelivery.standard.pipe(Redelivery.catchTag("AttemptTimedOut", Redelivery.deadLetter))
            },
            () => Effect.never
          )
        )
        yield* Effect.sleep("9 seconds")
        assert.strictEqual((yield* sqs.messages("dead")).length, 0)
        yield* Effect.sleep("2 seconds")
        assert.strictEqual((yield* sqs.messages("dead")).length, 1)
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("start fails when the total timeout is longer than the lease may be held", () =>
    simulate({}, () =>
      Effect.gen(function* () {
        const options = { lease: { limit: "20 minutes" }, policy: Policy.make({ totalTimeout: "30 minutes" }) } as const
        const error = yield* Effect.flip(Consumer.run(Jobs, options, () => Effect.void))
        assert.strictEqual(error._tag, "StartError")
        if (error._tag !== "StartError") return
        assert.deepStrictEqual(error.faults, [
          { option: "policy.totalTimeout", rule: "must be at most the lease's limit of 20m", value: "30m" }
        ])
      })
    )
  )
})
