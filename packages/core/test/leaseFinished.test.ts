/** Work that is done when the lease is lost already. */
import { Settlement } from "@effect-sqs/core"
import { JournalQuery, SimClock } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { asked, eventsOf, lossesOf, play, seconds, settledOf, type Stage } from "./stage.js"

/** as one that computes, and blocks the event loop */
const busy = () => SimClock.stall("45 seconds")

const runs = (stage: Stage) => stage.view().runs.map((r) => r.outcome)

describe("a handler that succeeds though its lease is lost", () => {
  for (const fifo of [false, true]) {
    it.effect(
      `on a ${fifo ? "FIFO" : "standard"} queue: nothing is settled; it comes again, is deleted and not run`,
      () =>
        play({ fifo, handler: busy, remote: true, expect: { graceMs: seconds(45) } }, (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("2 minutes")
            const [first, second, ...more] = stage.deliveries()
            assert.deepStrictEqual(more, [])
            assert.deepStrictEqual(lossesOf(stage), [{ at: seconds(45), reason: "stalled" }])
            assert.deepStrictEqual(first!.asks, [])
            assert.deepInclude(settledOf(stage)[0]!, { asked: Settlement.Leave, confirmed: false })
            assert.deepStrictEqual(second!.runs, [])
            assert.strictEqual(JournalQuery.settlementOf(second!)?.kind, "delete")
            assert.deepStrictEqual(runs(stage), ["success"])
            assert.strictEqual(eventsOf(stage, "DuplicateDeleted").length, 1)
            assert.deepStrictEqual(yield* stage.sqs.messages(fifo ? "jobs.fifo" : "jobs"), [])
          })
        )
    )
  }

  it.effect("another one may be at it meanwhile: it is left alone, and its delete is the only one", () =>
    play({ handler: busy, remote: true, expect: "off" }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("35 seconds")
        // handed out to somebody else at 35 s, for a minute
        const url = stage.sqs.queueUrl("jobs")
        const answer = yield* Effect.orDie(stage.sqs.api("ReceiveMessage", { QueueUrl: url, VisibilityTimeout: 60 }))
        const [taken] = answer.Messages as ReadonlyArray<{ readonly ReceiptHandle: string }>
        yield* Effect.sleep("50 seconds")
        assert.deepStrictEqual(
          stage.deliveries().flatMap((d) => asked(d, "delete")),
          []
        )
        const { ReceiptHandle } = taken!
        yield* Effect.orDie(stage.sqs.api("DeleteMessage", { QueueUrl: url, ReceiptHandle }))
        yield* Effect.sleep("2 minutes")
        assert.deepStrictEqual(runs(stage), ["success"])
        assert.deepStrictEqual(eventsOf(stage, "DuplicateDeleted"), [])
        assert.deepStrictEqual(yield* stage.sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("but not when it failed: it runs again", () =>
    play(
      {
        handler: (_, { receiveCount }) =>
          receiveCount === 1 ? Effect.zipRight(busy(), Effect.fail("failed")) : Effect.void,
        remote: true,
        expect: { graceMs: seconds(45) }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("2 minutes")
          assert.deepStrictEqual(runs(stage), ["failure", "success"])
          assert.deepStrictEqual(eventsOf(stage, "DuplicateDeleted"), [])
        })
    )
  )
})
