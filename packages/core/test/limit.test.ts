import { Consumer, ConsumerLimit, SqsQueue } from "@effect-sqs/core"
import { VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, TestClock } from "effect"
import { worker } from "./support.js"

const Light = SqsQueue.make("light", { schema: Schema.Number })
const Heavy = SqsQueue.make("heavy", { schema: Schema.Number })
const queues = VirtualSqs.layer({ queues: ["light", "heavy"] })

/** Runs of both queues, and the most places that were taken at once. */
class Places {
  used = 0
  most = 0
  readonly runs = { light: 0, heavy: 0 }

  readonly handler = (queue: "light" | "heavy", weight: number, ms: number) => () =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        this.used += weight
        this.most = Math.max(this.most, this.used)
      }),
      () => Effect.sleep(ms),
      () =>
        Effect.sync(() => {
          this.used -= weight
          this.runs[queue]++
        })
    )
}

const sendMany = (queue: string, n: number, from = 0) =>
  Effect.gen(function* () {
    const virtual = yield* VirtualSqs.VirtualSqs
    for (let i = from; i < from + n; i++) yield* virtual.send(queue, String(i))
  })

describe("ConsumerLimit", () => {
  it.scoped(
    "several consumers under one launch stay below the limit, and the heavy one is not starved by light ones",
    () =>
      Effect.gen(function* () {
        yield* sendMany("light", 400)
        yield* sendMany("heavy", 20)
        const limit = yield* ConsumerLimit.make(4)
        const places = new Places()
        yield* worker(
          Layer.launch(
            Layer.mergeAll(
              Consumer.layer(Light, { concurrency: 4, limit: { of: limit } }, places.handler("light", 1, 1_000)),
              Consumer.layer(
                Heavy,
                { concurrency: 2, limit: { of: limit, weight: 3 } },
                places.handler("heavy", 3, 1_500)
              )
            )
          )
        )
        yield* TestClock.adjust("30 seconds")
        assert.isAtMost(places.most, 4)
        assert.isAtLeast(places.runs.heavy, 5)
        assert.isAtLeast(places.runs.light, 10)
      }).pipe(Effect.provide(queues))
  )

  it.scoped("a consumer does not take messages in hand that the shared limit cannot run soon", () =>
    Effect.gen(function* () {
      yield* sendMany("light", 100)
      const limit = yield* ConsumerLimit.make(2)
      const places = new Places()
      yield* worker(
        Consumer.run(Light, { concurrency: 20, prefetch: 0, limit: { of: limit } }, places.handler("light", 1, 10_000))
      )
      yield* TestClock.adjust("5 seconds")
      const virtual = yield* VirtualSqs.VirtualSqs
      assert.strictEqual(places.used, 2)
      assert.strictEqual((yield* virtual.counters("light")).inFlight, 2)
    }).pipe(Effect.provide(queues))
  )

  it.scoped("a delivery that weighs more than the limit runs alone", () =>
    Effect.gen(function* () {
      yield* sendMany("light", 50)
      yield* sendMany("heavy", 3)
      const limit = yield* ConsumerLimit.make(2)
      const places = new Places()
      yield* worker(
        Layer.launch(
          Layer.mergeAll(
            Consumer.layer(Light, { limit: { of: limit } }, places.handler("light", 1, 1_000)),
            Consumer.layer(Heavy, { limit: { of: limit, weight: 5 } }, places.handler("heavy", 5, 1_000))
          )
        )
      )
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual(places.most, 5)
      assert.deepStrictEqual(places.runs, { light: 50, heavy: 3 })
    }).pipe(Effect.provide(queues))
  )

  it.scoped("a consumer that stops while it waits for its turn does not block the others", () =>
    Effect.gen(function* () {
      yield* sendMany("light", 3)
      yield* sendMany("heavy", 1)
      const limit = yield* ConsumerLimit.make(4)
      const places = new Places()
      yield* worker(
        Consumer.run(
          Light,
          { concurrency: 4, limit: { of: limit } },
          // the first runs long, the others wait behind the heavy one
          (n) => places.handler("light", 1, n === 0 ? 600_000 : 1_000)()
        )
      )
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(places.runs.light, 2)
      const heavy = yield* worker(
        Consumer.run(
          Heavy,
          { limit: { of: limit, weight: 4 }, drain: "1 second", receive: { waitTime: "1 second" } },
          places.handler("heavy", 4, 1_000)
        )
      )
      yield* TestClock.adjust("1 second")
      yield* sendMany("light", 4, 10)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(places.runs.light, 2)
      yield* heavy.stop
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(places.runs.light, 6)
      assert.strictEqual(places.runs.heavy, 0)
    }).pipe(Effect.provide(queues))
  )
})
