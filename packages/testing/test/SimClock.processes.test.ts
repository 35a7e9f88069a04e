import { assert, describe, it } from "@effect/vitest"
import { SimClock } from "@effect-sqs/testing"
import { Cause, Clock, Deferred, Effect, Exit, Fiber, Runtime, Schedule } from "effect"
import { START, elapsed, makeTrace } from "./simTrace.js"

describe("SimClock: what befalls a process", () => {
  it.effect("a jump of the wall clock shows in milliseconds, not in nanoseconds, and moves no timer", () =>
    SimClock.run(
      Effect.gen(function* () {
        const nanos = yield* Clock.currentTimeNanos
        const sleeper = yield* Effect.fork(Effect.andThen(Effect.sleep("10 seconds"), elapsed))
        yield* Effect.sleep("1 second")
        yield* SimClock.jumpMillis(3_600_000)
        assert.strictEqual(yield* Clock.currentTimeMillis, START + 3_601_000)
        yield* SimClock.jumpMillis(-7_200_000)
        assert.strictEqual(yield* Clock.currentTimeMillis, START + 1000 - 3_600_000)
        assert.strictEqual((yield* Clock.currentTimeNanos) - nanos, 1_000_000_000n)
        assert.strictEqual(yield* Fiber.join(sleeper), 10_000)
      })
    )
  )

  it.effect("a stall holds all timers back; then the stalled fiber goes on first, the others late", () =>
    Effect.gen(function* () {
      const { lines, say } = makeTrace()
      yield* SimClock.run(
        Effect.gen(function* () {
          yield* Effect.fork(say("beat").pipe(Effect.schedule(Schedule.spaced("10 seconds"))))
          yield* Effect.fork(say("deadline").pipe(Effect.delay("25 seconds")))
          yield* Effect.sleep("15 seconds")
          yield* say("blocks")
          yield* SimClock.stall("1 minute")
          yield* say("wakes")
          yield* Effect.sleep("1 second")
        })
      )
      assert.deepStrictEqual(lines, ["10000 beat", "15000 blocks", "75000 wakes", "75000 beat", "75000 deadline"])
    })
  )

  it.effect("stalls of one process that overlap end with the last", () =>
    Effect.gen(function* () {
      const { lines, say } = makeTrace()
      yield* SimClock.run(
        Effect.gen(function* () {
          const p = yield* SimClock.spawn("worker", Effect.schedule(say("beat"), Schedule.spaced("10 seconds")))
          yield* Effect.sleep("15 seconds")
          yield* Effect.fork(p.stall("30 seconds"))
          yield* Effect.sleep("5 seconds")
          yield* p.stall("5 seconds")
          yield* say("both over")
          yield* Effect.sleep("1 second")
          yield* p.kill
        })
      )
      assert.deepStrictEqual(lines, ["10000 beat", "45000 both over", "45000 beat"])
    })
  )

  it.effect("processes have clocks and stalls of their own", () =>
    Effect.gen(function* () {
      const { lines, say } = makeTrace()
      yield* SimClock.run(
        Effect.gen(function* () {
          const wall = Effect.map(Clock.currentTimeMillis, (ms) => ms - START)
          const beat = (name: string) =>
            Effect.flatMap(wall, (ms) => say(`${name} ${ms}`)).pipe(Effect.schedule(Schedule.spaced("10 seconds")))
          const a = yield* SimClock.spawn("a", beat("a"))
          yield* SimClock.spawn("b", beat("b"))
          yield* a.jumpMillis(500)
          yield* Effect.fork(a.stall("15 seconds"))
          yield* Effect.sleep("20500 millis")
          assert.strictEqual(yield* wall, 20_500)
          yield* a.kill
        })
      )
      assert.deepStrictEqual(lines, ["10000 b 10000", "15000 a 15500", "20000 b 20000"])
    })
  )

  it.effect("a killed process is gone on the spot: no finalizer, no timer, no answer", () =>
    Effect.gen(function* () {
      const { lines, say } = makeTrace()
      yield* SimClock.run(
        Effect.gen(function* () {
          const answer = yield* Deferred.make<string>()
          const p = yield* SimClock.spawn(
            "worker",
            Effect.gen(function* () {
              yield* Effect.fork(say("beat").pipe(Effect.schedule(Schedule.spaced("10 seconds"))))
              yield* say(yield* Deferred.await(answer))
            }).pipe(Effect.ensuring(say("finalizer")))
          )
          yield* Effect.sleep("15 seconds")
          yield* p.kill
          yield* Deferred.succeed(answer, "answer")
          assert.isTrue(Exit.isInterrupted(yield* p.await))
          yield* Effect.sleep("1 minute")
        })
      )
      assert.deepStrictEqual(lines, ["10000 beat"])
    })
  )

  it.effect("killing a process that stalls, or waits for the real world, leaves nobody waiting", () =>
    Effect.gen(function* () {
      const at = yield* SimClock.run(
        Effect.gen(function* () {
          const p = yield* SimClock.spawn("stalls", Effect.never)
          const q = yield* SimClock.spawn("waits", SimClock.external(Effect.never))
          const staller = yield* Effect.fork(p.stall("1 hour"))
          yield* Effect.yieldNow()
          yield* p.kill
          yield* q.kill
          yield* Fiber.join(staller)
          yield* Effect.sleep("1 second")
          return yield* elapsed
        })
      )
      assert.strictEqual(at, 1000)
    })
  )

  it.effect("a terminated process runs its finalizers, and its end is told", () =>
    Effect.gen(function* () {
      const exit = yield* SimClock.run(
        Effect.gen(function* () {
          const p = yield* SimClock.spawn(
            "worker",
            Effect.onInterrupt(Effect.never, () => Effect.sleep("5 seconds"))
          )
          yield* Effect.sleep("1 second")
          yield* p.terminate
          assert.isTrue(Exit.isInterrupted(yield* p.await))
          assert.strictEqual(yield* elapsed, 6000)
          const ok = yield* SimClock.spawn("short", Effect.as(Effect.sleep("1 second"), 7))
          return yield* ok.await
        })
      )
      assert.deepStrictEqual(exit, Exit.succeed(7))
    })
  )

  it.effect("an ended simulation leaves no fiber behind", () =>
    Effect.gen(function* () {
      const before = Array.from(yield* Fiber.roots).length
      yield* SimClock.run(
        Effect.gen(function* () {
          const p = yield* SimClock.spawn("worker", Effect.andThen(Effect.forkDaemon(Effect.never), Effect.never))
          yield* Effect.forkDaemon(Effect.never)
          yield* Effect.forkDaemon(Effect.uninterruptible(Effect.async<never>(() => {})))
          yield* Effect.sleep("1 second")
          yield* p.kill
        })
      )
      assert.isAtMost(Array.from(yield* Fiber.roots).length, before)
    })
  )

  it.effect("nobody runs in the name of a dead process, not even when the simulation ends", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      yield* SimClock.run(
        Effect.gen(function* () {
          const p = yield* SimClock.spawn(
            "worker",
            Effect.flatMap(Effect.runtime<never>(), (runtime) => {
              Runtime.runFork(runtime)(Effect.never).addObserver(() => told.push("observer"))
              return Effect.onExit(Effect.never, () => Effect.sync(() => told.push("finalizer")))
            })
          )
          yield* Effect.sleep("1 second")
          yield* p.kill
          yield* Effect.sleep("1 second")
        })
      )
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("the controls outside of a simulation say so", () =>
    Effect.gen(function* () {
      for (const control of [SimClock.jumpMillis(1), SimClock.stall("1 second"), SimClock.external(Effect.void)]) {
        const exit = yield* Effect.exit(control)
        assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /Wrap the whole test in SimClock.run/)
      }
    })
  )
})
