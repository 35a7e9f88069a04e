import { assert, describe, it } from "@effect/vitest"
import { SimClock } from "@effect-sqs/testing"
import {
  Cause,
  Chunk,
  Clock,
  Deferred,
  Duration,
  Effect,
  Exit,
  Fiber,
  FiberSet,
  Mailbox,
  Option,
  Queue,
  Random,
  Runtime,
  Schedule,
  Stream
} from "effect"
import * as FastCheck from "effect/FastCheck"
import { readFile } from "node:fs/promises"

const START = Date.UTC(2026, 0, 1)

/** virtual ms since the start */
const elapsed = Effect.map(SimClock.progress, (p) => p.elapsedMs)

/** what was said, and when */
const makeTrace = () => {
  const lines: Array<string> = []
  return { lines, say: (what: string) => Effect.map(elapsed, (ms) => void lines.push(`${ms} ${what}`)) }
}

describe("SimClock: time", () => {
  it.effect("moves by itself to the next timer, and by nothing else", () =>
    Effect.gen(function* () {
      const { lines, say } = makeTrace()
      yield* SimClock.run(
        Effect.gen(function* () {
          yield* Effect.fork(say("b").pipe(Effect.delay("2 seconds")))
          yield* Effect.fork(say("a").pipe(Effect.delay("1 second")))
          yield* Effect.sleep("1 hour")
          yield* say("end")
          assert.strictEqual(yield* Clock.currentTimeMillis, START + 3_600_000)
          assert.strictEqual(yield* Clock.currentTimeNanos, BigInt(START + 3_600_000) * 1_000_000n)
        })
      )
      assert.deepStrictEqual(lines, ["1000 a", "2000 b", "3600000 end"])
    })
  )

  it.effect("keeps the order of registration among timers of one instant", () =>
    Effect.gen(function* () {
      const { lines, say } = makeTrace()
      yield* SimClock.run(
        Effect.forEach(["a", "b", "c", "d"], (name) => say(name).pipe(Effect.delay("1 second")), {
          concurrency: "unbounded"
        })
      )
      assert.deepStrictEqual(lines, ["1000 a", "1000 b", "1000 c", "1000 d"])
    })
  )

  it.effect("runs everything that follows from a timer before the next one, however long the chain", () =>
    Effect.gen(function* () {
      const order = yield* SimClock.run(
        Effect.gen(function* () {
          const seen: Array<string> = []
          const queue = yield* Queue.unbounded<string>()
          const mailbox = yield* Mailbox.make<string>()
          yield* Effect.fork(
            Effect.forever(
              Effect.flatMap(Queue.take(queue), (x) => Effect.andThen(Effect.yieldNow(), mailbox.offer(x)))
            )
          )
          yield* Effect.fork(Effect.forever(Effect.map(mailbox.take, (x) => seen.push(`${x} arrived`))))
          yield* Effect.fork(
            Effect.forEach(["1", "2", "3"], (x) =>
              Effect.sleep("1 second").pipe(
                Effect.andThen(Effect.sync(() => seen.push(`${x} sent`))),
                Effect.andThen(Queue.offer(queue, x)),
                Effect.andThen(Effect.forEach(Array.from({ length: 5000 }), () => Effect.yieldNow(), { discard: true }))
              )
            )
          )
          yield* Effect.sleep("3500 millis")
          return seen
        })
      )
      assert.deepStrictEqual(order, ["1 sent", "1 arrived", "2 sent", "2 arrived", "3 sent", "3 arrived"])
    })
  )

  it.effect("lets promises settle before time goes on", () =>
    Effect.gen(function* () {
      const { lines, say } = makeTrace()
      yield* SimClock.run(
        Effect.gen(function* () {
          yield* Effect.fork(say("timer").pipe(Effect.delay("1 milli")))
          yield* Effect.promise(async () => {
            for (let i = 0; i < 500; i++) await Promise.resolve()
          })
          yield* say("promise")
          yield* Effect.sleep("2 millis")
        })
      )
      assert.deepStrictEqual(lines, ["0 promise", "1 timer"])
    })
  )

  it.effect("stands still while something waits for the real world", () =>
    Effect.gen(function* () {
      const { lines, say } = makeTrace()
      yield* SimClock.run(
        Effect.gen(function* () {
          yield* Effect.fork(say("timer").pipe(Effect.delay("1 milli")))
          const text = yield* SimClock.external(Effect.promise(() => readFile(import.meta.filename, "utf8")))
          assert.include(text, "stands still")
          yield* say("file")
          yield* Effect.sleep("2 millis")
        })
      )
      assert.deepStrictEqual(lines, ["0 file", "1 timer"])
    })
  )

  it.effect("drives schedules, timeouts, streams and fiber sets", () =>
    Effect.gen(function* () {
      const result = yield* SimClock.run(
        Effect.scoped(
          Effect.gen(function* () {
            const attempts: Array<number> = []
            yield* Effect.flatMap(elapsed, (ms) => (attempts.push(ms) < 4 ? Effect.fail("again") : Effect.void)).pipe(
              Effect.retry(Schedule.exponential("100 millis"))
            )
            const late = yield* Effect.timeoutOption(Effect.never, "1 minute")
            const ticks = yield* Stream.fromSchedule(Schedule.spaced("1 second")).pipe(
              Stream.take(7),
              Stream.groupedWithin(100, "3500 millis"),
              Stream.runCollect
            )
            const set = yield* FiberSet.make<number>()
            const runFork = yield* FiberSet.runtime(set)<never>()
            const fiber = runFork(Effect.as(Effect.sleep("5 seconds"), 5))
            return {
              attempts,
              late: Option.isNone(late),
              ticks: Chunk.toReadonlyArray(ticks).map(Chunk.size),
              five: yield* Fiber.join(fiber),
              at: yield* elapsed
            }
          })
        )
      )
      assert.deepStrictEqual(result, {
        attempts: [0, 100, 300, 700],
        late: true,
        ticks: [3, 3, 1],
        five: 5,
        at: 72_700
      })
    })
  )

  it.effect.prop(
    "wakes any set of sleepers in the order of their deadlines, then of their registration",
    [FastCheck.array(FastCheck.array(FastCheck.integer({ min: 0, max: 20 }), { maxLength: 6 }), { maxLength: 12 })],
    ([naps]) =>
      Effect.gen(function* () {
        const seen: Array<[number, number]> = []
        yield* SimClock.run(
          Effect.forEach(
            naps,
            (durations, fiber) =>
              Effect.forEach(durations, (ms) =>
                Effect.andThen(
                  Effect.sleep(ms),
                  Effect.map(elapsed, (at) => void seen.push([at, fiber]))
                )
              ),
            { concurrency: "unbounded", discard: true }
          )
        )
        // the same by hand: always the sleeper with the earliest deadline, of those the one that lay down first
        const expected: Array<[number, number]> = []
        let tie = 0
        const beds = naps.map((d, fiber) => ({ fiber, next: 0, at: d[0] ?? Infinity, tie: tie++ }))
        for (;;) {
          const up = beds.filter((b) => b.at < Infinity).sort((a, b) => a.at - b.at || a.tie - b.tie)[0]
          if (up === undefined) break
          expected.push([up.at, up.fiber])
          up.next++
          const ms = naps[up.fiber]![up.next]
          up.at = ms === undefined ? Infinity : up.at + ms
          up.tie = tie++
        }
        assert.deepStrictEqual(seen, expected)
      }),
    { fastCheck: { numRuns: 200 } }
  )
})

/** Fibers that sleep, yield, talk over queues, are interrupted and time out, all by chance. */
const turmoil = Effect.scoped(
  Effect.gen(function* () {
    const { lines, say } = makeTrace()
    const queue = yield* Queue.bounded<number>(3)
    const semaphore = yield* Effect.makeSemaphore(2)
    const set = yield* FiberSet.make<unknown, unknown>()
    const runFork = yield* FiberSet.runtime(set)<never>()
    for (let i = 0; i < 30; i++) {
      const ms = yield* Random.nextIntBetween(0, 50)
      const job = semaphore.withPermits(1)(
        Effect.gen(function* () {
          yield* say(`${i} starts`)
          yield* Effect.sleep(yield* Random.nextIntBetween(0, 20))
          yield* Effect.promise(() => Promise.resolve())
          yield* Queue.offer(queue, i)
          yield* say(`${i} offered`)
        })
      )
      const fiber = runFork(
        job.pipe(
          Effect.delay(ms),
          Effect.timeout(ms + 200),
          Effect.onInterrupt(() => say(`${i} cut`))
        )
      )
      if (ms % 5 === 0) yield* Effect.fork(Effect.andThen(Effect.sleep(ms + 10), Fiber.interrupt(fiber)))
    }
    yield* Effect.fork(
      Effect.forever(Effect.flatMap(Queue.take(queue), (i) => Effect.andThen(say(`${i} taken`), Effect.sleep(i % 3))))
    )
    yield* Effect.sleep("1 second")
    return lines
  })
)

describe("SimClock: determinism", () => {
  for (const order of ["fifo", "random"] as const) {
    it.effect(`${order}: one seed, one course of events; other seeds, others`, () =>
      Effect.gen(function* () {
        const courses = new Set<string>()
        for (let seed = 0; seed < 20; seed++) {
          const first = yield* SimClock.run(turmoil, { seed, order })
          const second = yield* SimClock.run(turmoil, { seed, order })
          assert.deepStrictEqual(first, second)
          courses.add(first.join("\n"))
        }
        assert.strictEqual(courses.size, 20)
      })
    )
  }

  it.effect("random order tries other interleavings of the same program", () =>
    Effect.gen(function* () {
      const program = Effect.gen(function* () {
        const seen: Array<string> = []
        yield* Effect.forEach(
          ["a", "b", "c"],
          (name) =>
            Effect.andThen(
              Effect.sleep("1 second"),
              Effect.sync(() => seen.push(name))
            ),
          { concurrency: "unbounded" }
        )
        return seen.join("")
      })
      const orders = new Set<string>()
      for (let seed = 0; seed < 60; seed++) orders.add(yield* SimClock.run(program, { seed, order: "random" }))
      assert.deepStrictEqual([...orders].sort(), ["abc", "acb", "bac", "bca", "cab", "cba"])
    })
  )

  it.effect("runs side by side do not disturb one another", () =>
    Effect.gen(function* () {
      const alone = yield* SimClock.run(turmoil, { seed: 7 })
      const together = yield* Effect.forEach([7, 8, 7], (seed) => SimClock.run(turmoil, { seed }), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(together[0], alone)
      assert.deepStrictEqual(together[2], alone)
      assert.notDeepEqual(together[1], alone)
    })
  )
})

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
