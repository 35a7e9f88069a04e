/** What is asked of SQS after it has refused: nothing, whoever was waiting for the wire. */
import { Redelivery } from "@effect-sqs/core"
import { Fault } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { calls, lossesOf, play, seconds } from "./stage.js"

const refused = Fault.all(
  Fault.latency("1 second"),
  Fault.entries(() => true, "MessageNotInflight", { senderFault: true })
).pipe(Fault.on("ChangeMessageVisibilityBatch"), Fault.times(1))

const worker = { lease: { visibility: "20 seconds", heartbeat: "10 seconds" }, settlement: { linger: 0 } } as const

/** how many extensions were sent at most, in whatever order fibers go on */
const mostAsked = (at: number) => Effect.map(Effect.forEach([...Array(20).keys()], asked(at)), (ns) => Math.max(...ns))

const asked = (at: number) => (seed: number) =>
  play(
    {
      seed,
      order: "random",
      queue: { faults: refused },
      worker,
      handler: (_, delivery) =>
        Effect.zipRight(
          Effect.delay(Effect.uninterruptible(Effect.ignore(delivery.extend("30 seconds"))), at),
          Effect.sleep("50 seconds")
        )
    },
    (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep(seconds(15))
        return stage.deliveries()[0]!.asks.length
      })
  )

describe("a refused extension", () => {
  it.effect("by a beat: an extension by hand that waited for it is not sent", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* mostAsked(seconds(10.5)), 1)
    })
  )

  it.effect("by hand: a beat that waited for it is not sent", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* mostAsked(seconds(8.5)), 1)
    })
  )

  it.effect("by hand, while the handler takes long to clean up: no beat is sent meanwhile", () =>
    Effect.gen(function* () {
      const sent = yield* play(
        {
          queue: { faults: refused },
          worker,
          handler: (_, delivery) =>
            Effect.zipRight(Effect.delay(delivery.extend("30 seconds"), seconds(8.5)), Effect.never).pipe(
              Effect.onExit(() => Effect.sleep(seconds(5)))
            )
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep(seconds(18))
            return stage.deliveries()[0]!.asks.length
          })
      )
      assert.strictEqual(sent, 1)
    })
  )

  it.effect("by hand, at once, in the call that it filled: the handler is interrupted all the same", () =>
    Effect.gen(function* () {
      const ends = yield* play(
        {
          messages: 10,
          queue: {
            faults: Fault.entries((_, index) => index === 9, "MessageNotInflight", { senderFault: true }).pipe(
              Fault.on("ChangeMessageVisibilityBatch"),
              Fault.times(1)
            )
          },
          worker: { ...worker, concurrency: 10 },
          handler: (_, delivery) =>
            Effect.zipRight(Effect.ignore(delivery.extend("30 seconds")), Effect.sleep("5 seconds"))
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep(seconds(3))
            return stage.deliveries().flatMap((d) => d.runs.flatMap((run) => run.outcome ?? []))
          })
      )
      assert.deepStrictEqual(ends, ["interrupted"])
    })
  )

  it.effect("by a beat, while a handler failed: nothing is given back that is not ours", () =>
    Effect.gen(function* () {
      for (const redelivery of [Redelivery.release("3 seconds"), Redelivery.deadLetter]) {
        const sent = yield* play(
          {
            queue: { faults: refused },
            worker: { ...worker, redelivery },
            handler: () => Effect.delay(Effect.fail("no"), "10500 millis")
          },
          (stage) =>
            Effect.gen(function* () {
              yield* Effect.sleep(seconds(15))
              assert.deepStrictEqual(lossesOf(stage), [{ at: seconds(11), reason: "refused" }])
              return calls(stage.sqs.journal.entries, "SendMessageBatch").length + stage.deliveries()[0]!.asks.length
            })
        )
        assert.strictEqual(sent, 1)
      }
    })
  )
})
