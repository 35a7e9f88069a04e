import { Consumer, SqsQueue } from "@effect-sqs/core"
import { VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema, TestClock } from "effect"
import { jobs, worker } from "./support.js"

const Jobs = SqsQueue.make("jobs", { schema: Schema.Struct({ n: Schema.Number }) })

describe("Consumer", () => {
  it.scoped("runs a job, deletes its message, and ends by interruption", () =>
    Effect.gen(function* () {
      const sqs = yield* VirtualSqs.VirtualSqs
      yield* sqs.send("jobs", JSON.stringify({ n: 1 }))
      const ran: Array<number> = []
      const { stop } = yield* worker(Consumer.run(Jobs, {}, (job) => Effect.sync(() => void ran.push(job.n))))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(ran, [1])
      assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
      assert.isTrue(Exit.isInterrupted(yield* stop))
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("keeps the lease of a 90 s job on a 30 s slot with a heartbeat", () =>
    Effect.gen(function* () {
      const sqs = yield* VirtualSqs.VirtualSqs
      yield* sqs.send("jobs", JSON.stringify({ n: 1 }))
      let runs = 0
      yield* worker(
        Consumer.run(Jobs, {}, () =>
          Effect.zipRight(
            Effect.sync(() => runs++),
            Effect.sleep("90 seconds")
          )
        )
      )
      yield* TestClock.adjust("200 seconds")
      assert.strictEqual(runs, 1)
      assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
    }).pipe(Effect.provide(jobs()))
  )
})
