import { Consumer, SqsQueue } from "@effect-sqs/core"
import { Fault, SimClock } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random, Schema } from "effect"
import { beside, simulate } from "./sim.js"
import { Jobs, put, play, quick } from "./fifoStage.js"

describe("order in a group", () => {
  it.effect("F1 five groups of five, runs of random length: in order inside a group, groups side by side", () =>
    play({}, ({ runs, sqs, work }) =>
      Effect.gen(function* () {
        const groups = ["a", "b", "c", "d", "e"]
        for (const n of [1, 2, 3, 4, 5]) yield* put(sqs, ...groups.map((g) => `${g}${n}`))
        let running = 0
        let most = 0
        yield* work({ concurrency: 5 }, () =>
          Effect.acquireUseRelease(
            Effect.sync(() => (most = Math.max(most, ++running))),
            () => Effect.flatMap(Random.nextIntBetween(10, 2_000), (ms) => Effect.sleep(ms)),
            () => Effect.sync(() => running--)
          )
        )
        yield* Effect.sleep("30 seconds")
        assert.strictEqual(most, 5)
        for (const g of groups) {
          assert.deepStrictEqual(
            runs.filter((r) => r.startsWith(g)),
            [1, 2, 3, 4, 5].map((n) => `${g}${n}`)
          )
        }
        assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [])
      })
    )
  )

  it.effect("F3 a slow group in a receive of ten does not hold the others up", () =>
    play({}, ({ runs, sqs, work }) =>
      Effect.gen(function* () {
        const groups = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
        yield* put(sqs, ...groups.map((g) => `${g}1`), ...groups.map((g) => `${g}2`))
        const at: Record<string, number> = {}
        yield* work({ concurrency: 4 }, (body) =>
          Effect.zipRight(
            Effect.map(SimClock.trueTimeMillis, (ms) => void (at[body] = ms)),
            Effect.sleep(body === "a1" ? "20 seconds" : "100 millis")
          )
        )
        yield* Effect.sleep("5 seconds")
        assert.strictEqual(runs.length, 19)
        assert.isBelow(Math.max(...Object.values(at)), 2_000)
        yield* Effect.sleep("20 seconds")
        assert.deepStrictEqual(runs.at(-1), "a2")
      })
    )
  )

  it.effect("F4 the next waits until SQS has confirmed the delete of the one before", () => {
    const faults = Fault.all(
      Fault.latency("300 millis").pipe(Fault.on("DeleteMessageBatch")),
      Fault.entries((_, i) => i === 0, "InternalError").pipe(Fault.on("DeleteMessageBatch"), Fault.times(2))
    )
    return play({ faults }, ({ runs, sqs, work }) =>
      Effect.gen(function* () {
        yield* put(sqs, "a1", "a2")
        const at: Array<number> = []
        yield* work({}, () => Effect.map(SimClock.trueTimeMillis, (ms) => void at.push(ms)))
        yield* Effect.sleep("10 seconds")
        assert.deepStrictEqual(runs, ["a1", "a2"])
        const deleted = sqs.journal.entries.find((e) => e._tag === "Deleted")!
        assert.isAtLeast(at[1]!, deleted.at)
        assert.isAtLeast(at[1]!, 900)
      })
    )
  })

  it.effect("F4 a delete that is refused: the next waits until the one before has come again and is gone", () => {
    const faults = Fault.error("AccessDenied").pipe(Fault.on("DeleteMessageBatch"), Fault.times(1))
    return play({ faults }, ({ receives, runs, sqs, work }) =>
      Effect.gen(function* () {
        yield* put(sqs, "a1", "a2", "a3")
        const at: Array<number> = []
        yield* work({}, () => Effect.map(SimClock.trueTimeMillis, (ms) => void at.push(ms)))
        yield* Effect.sleep("25 seconds")
        assert.deepStrictEqual(runs, ["a1"])
        yield* Effect.sleep("15 seconds")
        // it is not run again, its work was done
        assert.deepStrictEqual(runs, ["a1", "a2", "a3"])
        assert.isAtLeast(at[1]!, 30_000)
        assert.deepStrictEqual(receives(), { a1: 2, a2: 1, a3: 1 })
        assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [])
      })
    )
  })

  it.effect("F5 received again while its run cannot be interrupted: still one at a time, and then in order", () => {
    const faults = Fault.error("InternalFailure", { httpStatus: 500 }).pipe(
      Fault.on("ChangeMessageVisibilityBatch"),
      Fault.during("0 seconds", "35 seconds")
    )
    return play(
      { faults },
      ({ receives, runs, sqs, work }) =>
        Effect.gen(function* () {
          yield* put(sqs, "a1", "a2")
          yield* work({ receive: { waitTime: "1 second" } }, (body, nth) =>
            body === "a1" && nth === 1 ? Effect.uninterruptible(Effect.sleep("40 seconds")) : Effect.sleep("1 second")
          )
          yield* Effect.sleep("39 seconds")
          assert.deepStrictEqual(runs, ["a1"])
          yield* Effect.sleep("10 seconds")
          assert.deepStrictEqual(runs, ["a1", "a1", "a2"])
          // what came in the second receive was in order, and needed no third
          assert.deepStrictEqual(receives(), { a1: 2, a2: 2 })
          assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [])
        }),
      { graceMs: 15_000 }
    )
  })

  it.effect("a schema that takes its time keeps the order of the receive", () =>
    simulate({ name: Jobs.name }, (sqs) =>
      Effect.gen(function* () {
        const slow = SqsQueue.make(Jobs.name, {
          schema: Schema.transformOrFail(Schema.String, Schema.String, {
            strict: true,
            decode: (text) => Effect.as(Effect.sleep(text === "a1" ? "2 seconds" : "10 millis"), text),
            encode: Effect.succeed
          })
        })
        yield* put(sqs, "a1", "a2", "b1")
        const runs: Array<string> = []
        yield* beside(Consumer.run(slow, {}, (body) => Effect.sync(() => void runs.push(body))))
        yield* Effect.sleep("5 seconds")
        assert.deepStrictEqual(runs, ["b1", "a1", "a2"])
        assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [])
      })
    )
  )
})

describe("the stop", () => {
  it.effect("gives back what waits, and a next worker goes on in order", () =>
    play({}, ({ runs, sqs, work }) =>
      Effect.gen(function* () {
        yield* put(sqs, "a1", "a2", "a3", "b1", "b2")
        yield* Effect.scoped(
          Effect.zipRight(
            work(quick, (body) =>
              Effect.sleep(body === "b1" ? "3 seconds" : "1 second").pipe(
                Effect.zipRight(body === "a1" ? Effect.fail("no") : Effect.void)
              )
            ),
            Effect.sleep("1500 millis")
          )
        )
        assert.deepStrictEqual(runs, ["a1", "b1"])
        const left = yield* sqs.messages(Jobs.name)
        assert.deepStrictEqual(
          left.map((m) => [m.body, m.state]),
          [
            ['"a1"', "visible"],
            ['"a2"', "visible"],
            ['"a3"', "visible"],
            ['"b2"', "visible"]
          ]
        )
        yield* work(quick, () => Effect.void)
        yield* Effect.sleep("5 seconds")
        assert.deepStrictEqual(
          runs.slice(2).filter((r) => r.startsWith("a")),
          ["a1", "a2", "a3"]
        )
      })
    )
  )
})

describe("whatever happens", () => {
  const chaos = (seed: number) => {
    const faults = Fault.all(
      Fault.latencyBetween(seed, 0, "300 millis"),
      Fault.randomEntries(seed, 0.1, "InternalError").pipe(
        Fault.on("DeleteMessageBatch", "ChangeMessageVisibilityBatch")
      ),
      Fault.loseReply.pipe(Fault.on("DeleteMessageBatch", "ChangeMessageVisibilityBatch"), Fault.random(seed, 0.05))
    )
    return play(
      { faults, maxReceiveCount: 1_000, seed, visibility: 5 },
      ({ sqs, work }) =>
        Effect.gen(function* () {
          const groups = ["a", "b", "c", "d"]
          for (const n of [1, 2, 3, 4, 5]) yield* put(sqs, ...groups.map((g) => `${g}${n}`))
          const run = () =>
            Effect.gen(function* () {
              yield* Effect.sleep(yield* Random.nextIntBetween(0, 4_000))
              if ((yield* Random.next) < 0.3) return yield* Effect.fail("no")
            })
          for (let i = 0; i < 2; i++) yield* work({ concurrency: 3, ...quick }, run)
          yield* Effect.sleep("4 minutes")
          assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [], `seed ${seed}`)
        }),
      { context: `seed ${seed}` }
    )
  }

  it.effect("groups stay in order and every message ends", () =>
    Effect.forEach(
      Array.from({ length: 8 }, (_, i) => i),
      chaos
    )
  )
})
