import { Consumer, ConsumerLimit, Redelivery, SqsQueue } from "@effect-sqs/core"
import { SimClock, VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Random, Schema, Scope } from "effect"

const names = ["one", "two", "three"] as const
type Name = (typeof names)[number]
const weights: Record<Name, number> = { one: 1, two: 2, three: 3 }
const queues = {
  one: SqsQueue.make("one", { schema: Schema.Number }),
  two: SqsQueue.make("two", { schema: Schema.Number }),
  three: SqsQueue.make("three", { schema: Schema.Number })
}

/** What the runs of three consumers take of one limit. */
class Taken {
  now = 0
  most = 0
  readonly ends: Array<{ readonly name: Name; readonly at: number }> = []

  readonly run = (name: Name, work: Effect.Effect<void, string>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        this.now += weights[name]
        this.most = Math.max(this.most, this.now)
      }),
      () => work,
      () =>
        Effect.map(
          Effect.clockWith((clock) => clock.currentTimeMillis),
          (at) => {
            this.now -= weights[name]
            this.ends.push({ name, at })
          }
        )
    )

  /** how many runs of each ended in a span of time, in ms */
  between(from: number, to: number) {
    const ended = this.ends.filter((e) => e.at >= from && e.at < to)
    return names.map((name) => ended.filter((e) => e.name === name).length)
  }
}

type Services = Layer.Layer.Success<ReturnType<typeof VirtualSqs.layer>>

const simulate = <A, E>(seed: number, program: (sqs: VirtualSqs.VirtualSqs["Type"]) => Effect.Effect<A, E, Services>) =>
  SimClock.run(
    Effect.provide(Effect.flatMap(VirtualSqs.VirtualSqs, program), VirtualSqs.layer({ queues: [...names] })),
    { start: 0, seed, order: "random" }
  )

const sendMany = (sqs: VirtualSqs.VirtualSqs["Type"], name: Name, n: number, from = 0) =>
  Effect.forEach(
    Array.from({ length: n }, (_, i) => String(from + i)),
    (body) => Effect.orDie(sqs.send(name, body)),
    {
      discard: true
    }
  )

describe("consumers of weights 1, 2 and 3 under one limit", () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    it.effect(`of 6: never above it, and whatever becomes of the runs, no place leaks (seed ${seed})`, () =>
      simulate(seed, (sqs) =>
        Effect.gen(function* () {
          const taken = new Taken()
          const limit = yield* ConsumerLimit.make(6)
          for (const name of names) yield* sendMany(sqs, name, 60)
          const work = Effect.gen(function* () {
            yield* Effect.sleep(Math.round(50 + 950 * (yield* Random.next)))
            const p = yield* Random.next
            if (p < 0.15) return yield* Effect.fail("failed")
            if (p < 0.3) return yield* Effect.die(new Error("died"))
            if (p < 0.4) return yield* Effect.interrupt
          })
          const worker = yield* SimClock.spawn(
            "worker",
            Layer.launch(
              Layer.mergeAll(
                ...(names.map((name) =>
                  Consumer.layer(
                    queues[name],
                    {
                      concurrency: 4,
                      limit: { of: limit, weight: weights[name] },
                      redelivery: Redelivery.release("3 seconds")
                    },
                    () => taken.run(name, work)
                  )
                ) as [Layer.Layer<never, any, any>])
              )
            )
          )
          yield* Effect.sleep("10 minutes")
          assert.isAtMost(taken.most, 6)
          assert.strictEqual(taken.now, 0)
          for (const name of names) assert.deepStrictEqual(yield* sqs.messages(name), [])
          // all of it is free again: six of weight 1 at once, if only their own concurrency let them
          taken.most = 0
          yield* sendMany(sqs, "one", 4, 1_000)
          yield* sendMany(sqs, "two", 1, 1_000)
          yield* Effect.sleep("2 minutes")
          assert.strictEqual(taken.most, 6)
          yield* worker.terminate
          yield* worker.await
        })
      )
    )
  }

  for (const seed of [1, 2, 3, 4, 5]) {
    it.effect(`paused, resumed, stopped and started anew at random: all places come back (seed ${seed})`, () =>
      simulate(seed, (sqs) =>
        Effect.gen(function* () {
          const taken = new Taken()
          const limit = yield* ConsumerLimit.make(6)
          const work = Effect.flatMap(Random.nextIntBetween(0, 3_000), (ms) =>
            ms < 500 ? Effect.void : Effect.sleep(ms)
          )
          const start = (name: Name) =>
            Effect.gen(function* () {
              const scope = yield* Scope.make()
              const options = {
                concurrency: 3,
                prefetch: 2,
                limit: { of: limit, weight: weights[name] },
                drain: { timeout: "1 second", interruptTimeout: 0, openReceives: "abort" }
              } as const
              const consumer = yield* Consumer.make(queues[name], options, () => taken.run(name, work)).pipe(
                Scope.extend(scope)
              )
              return { consumer, stop: Effect.exit(Scope.close(scope, Exit.void)) }
            })
          const life = (name: Name) =>
            Effect.gen(function* () {
              let { consumer, stop } = yield* start(name)
              for (let i = 0; i < 60; i++) {
                yield* Effect.sleep(yield* Random.nextIntBetween(0, 2_000))
                const p = yield* Random.next
                if (p < 0.4) yield* consumer.pause
                else if (p < 0.8) yield* consumer.resume
                else {
                  yield* stop
                  ;({ consumer, stop } = yield* start(name))
                }
              }
              yield* consumer.resume
              return stop
            })
          for (const name of names) yield* sendMany(sqs, name, 150)
          const stops = yield* Effect.forEach(names, life, { concurrency: "unbounded" })
          assert.isAtMost(taken.most, 6)
          yield* Effect.sleep("15 minutes")
          for (const name of names) assert.deepStrictEqual(yield* sqs.messages(name), [])
          assert.deepStrictEqual([taken.now, limit[ConsumerLimit.TypeId].free], [0, 6])
          yield* Effect.all(stops)
        })
      )
    )
  }

  it.effect("with a backlog each, all go on at a like rate: none is starved, the heavy neither", () =>
    simulate(1, (sqs) =>
      Effect.gen(function* () {
        const taken = new Taken()
        const limit = yield* ConsumerLimit.make(6)
        for (const name of names) yield* sendMany(sqs, name, 400)
        const layer = (name: Name) =>
          Consumer.layer(queues[name], { concurrency: 6, limit: { of: limit, weight: weights[name] } }, () =>
            taken.run(name, Effect.sleep("1 second"))
          )
        const worker = yield* SimClock.spawn(
          "worker",
          Layer.launch(Layer.mergeAll(layer("one"), layer("two"), layer("three")))
        )
        yield* Effect.sleep("70 seconds")
        const counts = taken.between(10_000, 70_000)
        for (const count of counts) assert.isAtLeast(count, 25)
        // and hardly a place is idle
        const places = counts.reduce((sum, n, i) => sum + n * (i + 1), 0)
        assert.isAtLeast(places, 0.85 * 6 * 60)
        yield* worker.terminate
        yield* worker.await
      })
    )
  )

  it.effect("one that is paused, and one that is idle, leave their part to the third", () =>
    simulate(1, (sqs) =>
      Effect.scoped(
        Effect.gen(function* () {
          const taken = new Taken()
          const limit = yield* ConsumerLimit.make(3)
          const make = (name: Name) =>
            Consumer.make(queues[name], { concurrency: 6, limit: { of: limit, weight: weights[name] } }, () =>
              taken.run(name, Effect.sleep("1 second"))
            )
          yield* make("two")
          const paused = yield* make("three")
          yield* paused.pause
          yield* make("one")
          // what its open receive had been promised may still come
          yield* Effect.sleep("25 seconds")
          yield* sendMany(sqs, "three", 20)
          yield* sendMany(sqs, "one", 100)
          yield* Effect.sleep("21 seconds")
          const [ones, , threes] = taken.between(26_000, 46_000)
          assert.strictEqual(threes, 0)
          assert.isAtLeast(ones!, 3 * 17)
          yield* paused.resume
          yield* Effect.sleep("10 seconds")
          assert.isAtLeast(taken.between(46_000, 56_000)[2]!, 2)
        })
      )
    )
  )

  it.effect("handlers that are cut at the end of a drain give their places back", () =>
    simulate(1, (sqs) =>
      Effect.gen(function* () {
        const taken = new Taken()
        const limit = yield* ConsumerLimit.make(3)
        yield* sendMany(sqs, "three", 1)
        const cut = yield* SimClock.spawn(
          "cut",
          Consumer.run(queues.three, { limit: { of: limit, weight: 3 }, drain: "1 second" }, () =>
            taken.run("three", Effect.never)
          )
        )
        yield* Effect.sleep("1 second")
        const other = yield* SimClock.spawn(
          "other",
          Consumer.run(queues.one, { limit: { of: limit } }, () => taken.run("one", Effect.sleep("1 second")))
        )
        yield* sendMany(sqs, "one", 3)
        yield* Effect.sleep("5 seconds")
        assert.deepStrictEqual(taken.between(0, 10_000), [0, 0, 0])
        yield* cut.terminate
        yield* Effect.sleep("30 seconds")
        assert.deepStrictEqual(taken.between(0, 60_000), [3, 0, 1])
        yield* other.terminate
        yield* other.await
      })
    )
  )
})
