/** Order inside a group when its first message ends while the receive that brought it is still being taken apart. */
import { Redelivery } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { play } from "./stage.js"

describe("a FIFO group whose first message cannot be decoded", () => {
  it.effect("keeps its order: what came with it does not run before it is gone", () =>
    Effect.gen(function* () {
      const ran = yield* play(
        {
          fifo: true,
          messages: 0,
          worker: { undecodable: Redelivery.leave, lease: { visibility: "20 seconds" } },
          handler: () => Effect.void,
          expect: { neverRuns: () => true, leaves: true }
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("1 second")
            const entries = ["no job", JSON.stringify({ n: 2 })].map((body, i) => ({
              Id: String(i),
              MessageBody: body,
              MessageGroupId: "g",
              MessageDeduplicationId: String(i)
            }))
            yield* stage.sqs.api("SendMessageBatch", { QueueUrl: stage.sqs.queueUrl("jobs.fifo"), Entries: entries })
            yield* Effect.sleep("10 seconds")
            assert.strictEqual(stage.deliveries()[1]?.received.at, 1_000)
            return stage.view().runs.length
          })
      )
      assert.strictEqual(ran, 0)
    })
  )
})
