import { assert, describe, it } from "@effect/vitest"
import { SimClock } from "@effect-sqs/testing"
import { Cause, Chunk, Deferred, Duration, Effect, Exit, Fiber } from "effect"
import { elapsed, makeTrace } from "./simTrace.js"

describe("SimClock: ends", () => {
  it.effect("results, failures, defects and interruption come out as they are", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* SimClock.run(Effect.succeed(1)), 1)
      assert.strictEqual(yield* Effect.flip(SimClock.run(Effect.delay(Effect.fail("no"), "1 day"))), "no")
      const die = yield* Effect.exit(SimClock.run(Effect.delay(Effect.die("broken"), "1 day")))
      assert.deepStrictEqual(Exit.isFailure(die) ? Chunk.toReadonlyArray(Cause.defects(die.cause)) : [], ["broken"])
      assert.isTrue(Exit.isInterrupted(yield* Effect.exit(SimClock.run(Effect.delay(Effect.interrupt, "1 day")))))
    })
  )

  it.effect("a deadlock is told, with the time and the seed", () =>
    Effect.gen(function* () {
      const stuck = Effect.andThen(Effect.sleep("5 seconds"), Effect.flatMap(Deferred.make<void>(), Deferred.await))
      const error = yield* Effect.flip(SimClock.run(stuck, { seed: "s-1" }))
      assert.strictEqual(error.reason, "deadlock")
      assert.strictEqual(error.elapsedMs, 5000)
      assert.match(error.message, /^5s after the start \(seed "s-1"\): deadlock/)
    })
  )

  it.effect("a deadlock at once, with nothing ever scheduled, is told too", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(SimClock.run(Effect.never))
      assert.strictEqual(error.reason, "deadlock")
    })
  )

  it.effect("fibers that go on for ever at one instant are told", () =>
    Effect.gen(function* () {
      const loops = [
        Effect.forever(Effect.yieldNow()),
        Effect.forever(Effect.sleep(0)),
        Effect.forever(Effect.void),
        Effect.forever(Effect.promise(() => Promise.resolve()))
      ]
      for (const loop of loops) {
        const error = yield* Effect.flip(SimClock.run(Effect.delay(loop, "1 second"), { tasksPerInstant: 1000 }))
        assert.strictEqual(error.reason, "livelock")
        assert.strictEqual(error.elapsedMs, 1000)
      }
    })
  )

  it.effect("fibers that go on for ever while the time creeps are told, with what they wait for", () =>
    Effect.gen(function* () {
      const loop = Effect.forever(Effect.sleep(Duration.nanos(1n)).pipe(Effect.withSpan("beat")))
      const world = Effect.gen(function* () {
        yield* Effect.fork(Effect.forever(Effect.sleep("1 hour")))
        const worker = yield* SimClock.spawn("worker", Effect.delay(loop, "90 seconds"))
        yield* worker.await
      })
      const error = yield* Effect.flip(SimClock.run(world, { tasksPerInstant: 10_000 }))
      assert.strictEqual(error.reason, "livelock")
      assert.approximately(error.elapsedMs, 90_000, 1)
      assert.match(error.message, /worker.*0\.000001 ms in beat/)
    })
  )

  it.effect("a millisecond in which much is done, and that ends, is none of these", () =>
    Effect.gen(function* () {
      const steps = Effect.repeatN(Effect.sleep(Duration.nanos(100n)), 900)
      const [elapsedMs] = yield* SimClock.run(
        Effect.zip(elapsed, Effect.repeatN(Effect.zipRight(steps, Effect.sleep(1)), 2), { concurrent: false }),
        { tasksPerInstant: 3_000 }
      )
      assert.strictEqual(elapsedMs, 0)
    })
  )

  it.effect("what is still waited for is told by a deadlock and at the limit", () =>
    Effect.gen(function* () {
      const worker = SimClock.spawn("worker", Effect.forever(Effect.sleep("1 hour")))
      const limit = yield* Effect.flip(SimClock.run(Effect.zipRight(worker, Effect.never), { limit: "1 day" }))
      assert.deepStrictEqual(limit.waitingFor, ["main: no timer", "worker: a timer, in 3600000 ms"])
      const deadlock = yield* Effect.flip(SimClock.run(Effect.never))
      assert.deepStrictEqual(deadlock.waitingFor, ["main: no timer"])
    })
  )

  it.effect("what runs for ever ends at the limit", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(SimClock.run(Effect.forever(Effect.sleep("1 hour")), { limit: "1 day" }))
      assert.strictEqual(error.reason, "timeLimit")
      assert.strictEqual(error.elapsedMs, Duration.toMillis("1 day"))
    })
  )

  it.effect("an interruption from outside runs the finalizers in virtual time", () =>
    Effect.gen(function* () {
      const { lines, say } = makeTrace()
      const started = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        SimClock.run(
          Effect.andThen(Deferred.succeed(started, undefined), SimClock.external(Effect.never)).pipe(
            Effect.onInterrupt(() => Effect.andThen(Effect.sleep("3 seconds"), say("cleaned up")))
          )
        )
      )
      yield* Deferred.await(started)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      assert.deepStrictEqual(lines, ["3000 cleaned up"])
    })
  )

  it.effect("an interruption that cannot get through does not hang", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        SimClock.run(
          Effect.uninterruptible(
            Effect.andThen(
              Deferred.succeed(started, undefined),
              Effect.async<never>(() => {})
            )
          )
        )
      )
      yield* Deferred.await(started)
      assert.isTrue(Exit.isFailure(yield* Fiber.interrupt(fiber)))
    })
  )

  it.effect("daemons that are left are interrupted, the oldest first", () =>
    Effect.gen(function* () {
      const { lines, say } = makeTrace()
      const daemon = (name: string, cleanup: Duration.DurationInput) =>
        Effect.forkDaemon(
          Effect.onInterrupt(Effect.never, () => Effect.andThen(Effect.sleep(cleanup), say(`${name} stopped`)))
        )
      yield* SimClock.run(
        Effect.gen(function* () {
          yield* daemon("first", "2 seconds")
          yield* daemon("second", "1 second")
          yield* Effect.sleep("1 second")
          yield* say("main ends")
        })
      )
      assert.deepStrictEqual(lines, ["1000 main ends", "3000 first stopped", "4000 second stopped"])
    })
  )

  it.effect("a daemon that cannot end is given up, and the result stays", () =>
    Effect.gen(function* () {
      const result = yield* SimClock.run(
        Effect.as(Effect.forkDaemon(Effect.uninterruptible(Effect.async<never>(() => {}))), "done")
      )
      assert.strictEqual(result, "done")
    })
  )
})
