/** Calls without an answer, on a queue whose visibility is shorter than anybody's patience. */
import { Redelivery } from "@effect-sqs/core"
import { Fault, type FaultPlan, JournalQuery } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { play, type Scene, settledOf, type Stage } from "./stage.js"

const hangs = (operation: FaultPlan.FaultOperation): Scene["queue"] => ({
  visibility: 6,
  faults: Fault.times(1)(Fault.on(operation)(Fault.hang))
})

const callsOf = (stage: Stage, operation: string) =>
  stage.sqs.journal.entries.flatMap((e) => (e._tag === "CallStarted" && e.operation === operation ? [e.at] : []))

describe("a call that hangs is cut early enough for another one inside the lease", () => {
  for (const [what, operation, handler] of [
    ["a delete", "DeleteMessageBatch", Effect.void],
    ["a release", "ChangeMessageVisibilityBatch", Effect.fail("later")]
  ] as const) {
    it.effect(what, () =>
      play(
        {
          queue: hangs(operation),
          worker: { redelivery: Redelivery.release("1 hour") },
          handler: () => handler
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("20 seconds")
            const calls = callsOf(stage, operation)
            assert.strictEqual(calls.length, 2)
            assert.isBelow(calls[1]!, 5_000)
            assert.deepStrictEqual(
              settledOf(stage).map((s) => s.confirmed),
              [true]
            )
            assert.strictEqual(stage.deliveries().length, 1)
          })
      )
    )
  }

  it.effect("the copy of a dead letter", () =>
    play(
      {
        queue: hangs("SendMessageBatch"),
        worker: { redelivery: Redelivery.deadLetter },
        handler: () => Effect.fail("no"),
        expect: { deadLetterQueue: "dead" }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("20 seconds")
          assert.strictEqual(callsOf(stage, "SendMessageBatch").length, 2)
          const [delivery, ...more] = stage.deliveries()
          assert.deepStrictEqual(more, [])
          assert.strictEqual(JournalQuery.settlementOf(delivery!)?.kind, "delete")
          assert.strictEqual((yield* Effect.orDie(stage.sqs.messages("dead"))).length, 1)
        })
    )
  )

  it.effect("but on a slow line with time enough it is given that time", () =>
    play(
      {
        queue: {
          visibility: 60,
          faults: Fault.on("DeleteMessageBatch", "SendMessageBatch")(Fault.latency("8 seconds"))
        },
        handler: () => Effect.void
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("20 seconds")
          assert.deepStrictEqual(callsOf(stage, "DeleteMessageBatch").length, 1)
          assert.deepStrictEqual(
            settledOf(stage).map((s) => s.confirmed),
            [true]
          )
        })
    )
  )
})
