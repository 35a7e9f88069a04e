import { assert, describe, it } from "@effect/vitest"
import { SimClock } from "@effect-sqs/testing"
import { Chunk, Clock, Effect, Fiber, FiberSet, Mailbox, Option, Queue, Random, Schedule, Stream } from "effect"
import * as FastCheck from "effect/FastCheck"
import { readFile } from "node:fs/promises"
import { START, elapsed, makeTrace } from "./simTrace.js"

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
