import { Redelivery, Settlement } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Chunk, Context, Duration, Effect, FiberId, Random, Schedule, Schema } from "effect"

class Busy extends Schema.TaggedError<Busy>()("Busy", { retryAfter: Schema.DurationFromMillis }) {}
class Unknown extends Schema.TaggedError<Unknown>()("Unknown", { name: Schema.String }) {}
class Zone extends Context.Tag("test/Zone")<Zone, string>() {}

const TWELVE_HOURS = Duration.hours(12)

const failed = (cause: unknown, facts: Partial<Omit<Redelivery.Failure, "cause" | "error">> = {}): Redelivery.Failure =>
  Redelivery.failureOf(Cause.isCause(cause) ? cause : Cause.fail(cause), {
    receiveCount: 1,
    isLastAttempt: undefined,
    now: 1_700_000_000_000,
    maxDelay: TWELVE_HOURS,
    ...facts
  })

const at = (receiveCount: number) => failed("down", { receiveCount })

/** What a policy says, as a word: the seconds of a release, or the name of the settlement. */
const told = (settlement: Settlement.Settlement): string | number =>
  settlement._tag === "Release"
    ? Duration.toSeconds(settlement.after)
    : settlement._tag === "DeadLetter"
      ? `DeadLetter ${settlement.reason}`
      : settlement._tag

const decide = <N extends string, R>(policy: Redelivery.Redelivery<N, R>, failure: Redelivery.Failure) =>
  Effect.map(policy.decide(failure), told)

const overReceives = <N extends string, R>(policy: Redelivery.Redelivery<N, R>, n: number) =>
  Effect.forEach(
    Array.from({ length: n }, (_, i) => i + 1),
    (receiveCount) => decide(policy, at(receiveCount))
  )

describe("Redelivery.schedule", () => {
  const three = Redelivery.schedule(Schedule.exponential("10 seconds").pipe(Schedule.intersect(Schedule.recurs(3))), {
    whenOver: Redelivery.deadLetterAs(() => "over")
  })

  it.effect("the n-th receive takes the n-th delay, and an ended schedule is an end, not a delay of 0", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* overReceives(three, 6), [10, 20, 40, ...Array(3).fill("DeadLetter over")])
    })
  )

  it.effect("an end after one step, and one before any", () =>
    Effect.gen(function* () {
      const whenOver = Redelivery.leave
      const once = Redelivery.schedule(Schedule.recurs(1).pipe(Schedule.addDelay(() => "7 seconds")), { whenOver })
      assert.deepStrictEqual(yield* overReceives(once, 3), [7, "Leave", "Leave"])
      assert.deepStrictEqual(yield* overReceives(Redelivery.schedule(Schedule.stop, { whenOver }), 2), [
        "Leave",
        "Leave"
      ])
    })
  )

  it.effect("sees the present error at every step", () =>
    Effect.gen(function* () {
      const policy = Redelivery.schedule(
        Schedule.spaced("3 seconds").pipe(Schedule.whileInput((e: unknown) => e instanceof Busy)),
        { whenOver: Redelivery.delete }
      )
      const busy = new Busy({ retryAfter: Duration.zero })
      assert.strictEqual(yield* decide(policy, failed(busy, { receiveCount: 4 })), 3)
      assert.strictEqual(yield* decide(policy, failed(new Unknown({ name: "x" }), { receiveCount: 4 })), "Delete")
    })
  )

  it.effect("asks at most what is left of the 12 hours, 0 when nothing is", () =>
    Effect.gen(function* () {
      const hours = Redelivery.schedule(Schedule.spaced("5 hours"), { whenOver: Redelivery.leave })
      assert.strictEqual(yield* decide(hours, failed("x", { maxDelay: Duration.minutes(90) })), 5_400)
      assert.strictEqual(yield* decide(hours, failed("x", { maxDelay: Duration.zero })), 0)
      assert.strictEqual(
        yield* decide(Redelivery.release("5 hours"), failed("x", { maxDelay: Duration.minutes(90) })),
        5_400
      )
    })
  )

  it.effect("delays that grow beyond all bounds stay at the bound", () =>
    Effect.gen(function* () {
      const whenOver = Redelivery.deadLetter
      const steep = Redelivery.schedule(Schedule.exponential("12 hours", 10), { whenOver })
      for (const n of [1, 2, 400, 1_000, 5_000]) assert.strictEqual(yield* decide(steep, at(n)), 43_200)
      const never = Redelivery.schedule(
        Schedule.addDelay(Schedule.forever, () => Duration.infinity),
        { whenOver }
      )
      assert.deepStrictEqual(yield* overReceives(never, 3), [43_200, 43_200, 43_200])
    })
  )

  it.effect("a receive count of 5,000 costs no more than 1,000 steps, and takes the 1,000th delay", () =>
    Effect.gen(function* () {
      let steps = 0
      const counted = Schedule.forever.pipe(
        Schedule.tapOutput(() => Effect.sync(() => void steps++)),
        Schedule.addDelay((n) => Duration.seconds(n + 1))
      )
      const policy = Redelivery.schedule(counted, { whenOver: Redelivery.deadLetter })
      assert.strictEqual(yield* decide(policy, at(999)), 999)
      assert.strictEqual(steps, 999)
      assert.strictEqual(yield* decide(policy, at(5_000)), 1_000)
      assert.strictEqual(steps, 1_999)
    })
  )

  it.effect("needs the services of its schedule and of what comes after it", () =>
    Effect.gen(function* () {
      const inZone = Schedule.spaced("1 second").pipe(
        Schedule.whileOutputEffect(() => Effect.map(Zone, (zone) => zone === "day"))
      )
      const policy: Redelivery.Redelivery<never, Zone> = Redelivery.schedule(inZone, {
        whenOver: Redelivery.make(() => Effect.map(Zone, (zone) => Settlement.DeadLetter(zone)))
      })
      assert.strictEqual(yield* Effect.provideService(decide(policy, at(1)), Zone, "day"), 1)
      assert.strictEqual(yield* Effect.provideService(decide(policy, at(1)), Zone, "night"), "DeadLetter night")
    })
  )
})

describe("jitter", () => {
  const draws = (seed: string) => overReceives(Redelivery.standard, 8).pipe(Effect.withRandom(Random.make(seed)))

  it.effect("the same seed gives the same delays, another seed others", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* draws("a"), yield* draws("a"))
      assert.notDeepEqual(yield* draws("a"), yield* draws("b"))
    })
  )

  it.effect("the defaults lie between half of the backoff and the whole of it", () =>
    Effect.gen(function* () {
      const inside = (delays: ReadonlyArray<string | number>, whole: ReadonlyArray<number>) =>
        delays.forEach((delay, i) => {
          assert.isAtLeast(Number(delay), whole[i]! / 2, `receive ${i + 1}`)
          assert.isAtMost(Number(delay), whole[i]!, `receive ${i + 1}`)
        })
      for (const seed of ["a", "b", "c", "d"]) {
        inside(yield* draws(seed), [10, 20, 40, 80, 160, 320, 640, 900])
        const fifo = yield* overReceives(Redelivery.fifo, 8).pipe(Effect.withRandom(Random.make(seed)))
        inside(fifo, [1, 2, 4, 8, 16, 32, 60, 60])
      }
    })
  )
})

describe("by error", () => {
  const base = Redelivery.release("1 second")

  it.effect("the outer of two policies for one tag is asked", () =>
    Effect.gen(function* () {
      const policy = base.pipe(
        Redelivery.catchTag("Unknown", Redelivery.release("2 seconds")),
        Redelivery.catchTag("Unknown", Redelivery.release("3 seconds"))
      )
      assert.strictEqual(yield* decide(policy, failed(new Unknown({ name: "x" }))), 3)
      assert.strictEqual(yield* decide(policy, failed("x")), 1)
    })
  )

  it.effect("a policy inside a policy goes by the same error", () =>
    Effect.gen(function* () {
      const inner = Redelivery.release("9 seconds").pipe(
        Redelivery.catchError(Busy, (e) => Redelivery.release(e.retryAfter))
      )
      const policy = base.pipe(Redelivery.catchTag("Busy", inner), Redelivery.catchTag("Unknown", inner))
      assert.strictEqual(yield* decide(policy, failed(new Busy({ retryAfter: Duration.seconds(4) }))), 4)
      assert.strictEqual(yield* decide(policy, failed(new Unknown({ name: "x" }))), 9)
      assert.strictEqual(yield* decide(policy, failed("x")), 1)
    })
  )

  it.effect("catchError goes by class: an error of another class with the same tag is not meant", () =>
    Effect.gen(function* () {
      const policy = base.pipe(Redelivery.catchError(Busy, (e) => Redelivery.release(e.retryAfter)))
      assert.strictEqual(yield* decide(policy, failed({ _tag: "Busy", retryAfter: Duration.seconds(4) })), 1)
      const byTag = base.pipe(Redelivery.catchTag("Busy", Redelivery.delete))
      assert.strictEqual(yield* decide(byTag, failed({ _tag: "Busy" })), "Delete")
    })
  )

  it.effect("a delay that the error asks for is cut to what is left of the 12 hours", () =>
    Effect.gen(function* () {
      const policy = base.pipe(Redelivery.catchError(Busy, (e) => Redelivery.release(e.retryAfter)))
      const busy = new Busy({ retryAfter: Duration.days(2) })
      assert.strictEqual(yield* decide(policy, failed(busy, { maxDelay: Duration.seconds(43_100) })), 43_100)
    })
  )

  it.effect("defects and interruptions are nobody's tag, even when they carry one", () =>
    Effect.gen(function* () {
      const policy = base.pipe(
        Redelivery.catchTag("Unknown", Redelivery.delete),
        Redelivery.catchError(Unknown, () => Redelivery.delete)
      )
      const unknown = new Unknown({ name: "x" })
      assert.strictEqual(yield* decide(policy, failed(unknown)), "Delete")
      assert.strictEqual(yield* decide(policy, failed(Cause.die(unknown))), 1)
      const interrupted = policy.pipe(Redelivery.catchTag("InterruptedException", Redelivery.delete))
      assert.strictEqual(yield* decide(interrupted, failed(Cause.interrupt(FiberId.none))), 1)
    })
  )

  it.effect("of a failure and the defect of its cleanup the failure counts", () =>
    Effect.gen(function* () {
      const policy = base.pipe(Redelivery.catchTag("Unknown", Redelivery.delete))
      const cause = Cause.sequential(Cause.fail(new Unknown({ name: "x" })), Cause.die(new Error("cleanup")))
      assert.strictEqual(yield* decide(policy, failed(cause)), "Delete")
      assert.strictEqual(Chunk.size(Cause.defects(cause)), 1)
    })
  )

  it.effect("lastAttempt: only where the queue's redrive policy takes the message next", () =>
    Effect.gen(function* () {
      const policy = base.pipe(Redelivery.lastAttempt(Redelivery.deadLetter))
      const told = (isLastAttempt: boolean | undefined) => decide(policy, failed(new Error("no"), { isLastAttempt }))
      assert.strictEqual(yield* told(true), "DeadLetter Error: no")
      assert.strictEqual(yield* told(false), 1)
      assert.strictEqual(yield* told(undefined), 1)
    })
  )
})

describe("reasons", () => {
  const reason = (u: unknown) => decide(Redelivery.deadLetter, failed(u))

  it.effect("tag and first line of the message, at most 256 characters", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reason(new Error("first\nsecond")), "DeadLetter Error: first")
      assert.strictEqual(yield* reason(new TypeError("")), "DeadLetter TypeError")
      assert.strictEqual(yield* reason({ _tag: "Gone" }), "DeadLetter Gone")
      assert.strictEqual(yield* reason({ _tag: "Gone", message: " away " }), "DeadLetter Gone: away")
      assert.strictEqual(yield* reason({ _tag: "Gone", message: "Gone" }), "DeadLetter Gone")
      assert.strictEqual(yield* reason("plain"), "DeadLetter plain")
      assert.strictEqual(yield* reason(undefined), "DeadLetter undefined")
      assert.strictEqual(yield* reason("x".repeat(999)), `DeadLetter ${"x".repeat(256)}`)
      assert.strictEqual(yield* reason(Cause.die(new Error("bug"))), "DeadLetter Error: bug")
    })
  )

  it.effect("a character of two code units is not cut in half", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reason(`${"x".repeat(255)}😀`), `DeadLetter ${"x".repeat(255)}`)
    })
  )
})

describe("delays told beforehand", () => {
  const told = <N extends string, R>(policy: Redelivery.Redelivery<N, R>, n: number) =>
    Effect.map(policy.delays!(n, 0), (delays) => delays.map(Duration.toSeconds))

  it.effect("one per receive, fewer where the policy stops releasing", () =>
    Effect.gen(function* () {
      const spaced = Schedule.spaced("5 seconds")
      const whenOver = Redelivery.deadLetter
      assert.deepStrictEqual(yield* told(Redelivery.schedule(spaced, { whenOver }), 3), [5, 5, 5])
      const two = Redelivery.schedule(spaced.pipe(Schedule.intersect(Schedule.recurs(2))), { whenOver })
      assert.deepStrictEqual(yield* told(two, 9), [5, 5])
      assert.deepStrictEqual(yield* told(Redelivery.release("2 seconds"), 2), [2, 2])
      for (const end of [Redelivery.deadLetter, Redelivery.deadLetterAs(() => "x"), Redelivery.delete]) {
        assert.deepStrictEqual(yield* told(end, 5), [])
      }
      assert.deepStrictEqual(yield* told(two.pipe(Redelivery.catchTag("Gone", Redelivery.delete)), 9), [5, 5])
      assert.isUndefined(Redelivery.leave.delays)
    })
  )

  it.effect("a schedule that looks into the error, and finds none, tells nothing and does not die", () =>
    Effect.gen(function* () {
      const looks = Schedule.spaced("1 second").pipe(Schedule.whileInput((e: any) => e.code !== 4))
      assert.deepStrictEqual(yield* told(Redelivery.schedule(looks, { whenOver: Redelivery.leave }), 3), [])
    })
  )
})
