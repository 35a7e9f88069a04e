import { Consumer, ConsumerLimit, Sqs, SqsQueue } from "@effect-sqs/core"
import { SimClock, VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { remote } from "./stage.js"

const names = ["long", "heavy", "light"] as const
type Name = (typeof names)[number]
const weights: Record<Name, number> = { long: 1, heavy: 2, light: 1 }

/** Three consumers under a limit of 2; the answer tells what began. */
const start = Effect.gen(function* () {
  const began: Array<string> = []
  const limit = yield* ConsumerLimit.make(2)
  const port = yield* remote(yield* Sqs.Sqs)
  const layer = (name: Name) =>
    Consumer.layer(
      SqsQueue.make(name, { schema: Schema.String }),
      {
        concurrency: 1,
        prefetch: 3,
        limit: { of: limit, weight: weights[name] },
        lease: name === "heavy" ? { visibility: "10 seconds", heartbeat: "off" } : {}
      },
      (body) =>
        Effect.zipRight(
          Effect.sync(() => began.push(body)),
          Effect.sleep(name === "long" ? "20 seconds" : 10)
        )
    )
  const run = Layer.launch(Layer.mergeAll(layer("long"), layer("heavy"), layer("light")))
  const worker = yield* SimClock.spawn("worker", Effect.provideService(run, Sqs.Sqs, port))
  return { began, worker }
})

describe("a limit that several consumers share, in a process that stalls", () => {
  it.effect("what waited too long is dropped, and its consumer keeps its turn for what came later", () =>
    SimClock.run(
      Effect.gen(function* () {
        const sqs = yield* VirtualSqs.VirtualSqs
        const { began, worker } = yield* start
        const send = (name: Name, body: string) =>
          Effect.zipRight(sqs.send(name, JSON.stringify(body)), Effect.sleep("1 second"))
        yield* send("long", "long")
        // its lease ends at 11 s
        yield* send("heavy", "too long")
        yield* send("light", "light")
        yield* Effect.sleep("5 seconds")
        yield* send("heavy", "heavy")
        yield* Effect.fork(worker.stall("4 seconds"))
        // its answer is what the process finds first when it wakes
        yield* send("heavy", "heavy, too")
        yield* Effect.sleep("5 seconds")
        assert.deepStrictEqual(began, ["long"])
        yield* Effect.sleep("10 seconds")
        assert.strictEqual(began.indexOf("light"), 2)
        yield* worker.terminate
        yield* worker.await
      }).pipe(Effect.provide(VirtualSqs.layer({ queues: [...names] }))),
      { start: 0 }
    )
  )
})
