import { assert, describe, it } from "@effect/vitest"
import { Journal, SimClock, Tracking } from "@effect-sqs/testing"
import { Effect, Exit } from "effect"

const delivery = { messageId: "m-1", receiptHandle: "r-1" }
const START = 1000

/** what a handler leaves in the journal, and how it ends for the consumer */
const track = (handler: Effect.Effect<void, string>, cut?: number) =>
  SimClock.run(
    Effect.gen(function* () {
      const journal = Journal.make()
      const run = Tracking.tracked({ journal, queue: "jobs" }, (_body: string, _d: typeof delivery) => handler)
      const process = yield* SimClock.spawn("worker", run("body", delivery))
      if (cut !== undefined) yield* Effect.andThen(Effect.sleep(cut), process.terminate)
      const exit = yield* process.await
      return { exit, entries: journal.entries }
    }),
    { start: START }
  )

const started: Journal.JournalEntry = { _tag: "RunStarted", at: START, queue: "jobs", ...delivery }

describe("Tracking", () => {
  it.effect("a success", () =>
    Effect.gen(function* () {
      const { entries, exit } = yield* track(Effect.sleep(50))
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(entries, [
        started,
        { _tag: "RunEnded", at: START + 50, queue: "jobs", ...delivery, outcome: "success" }
      ])
    })
  )

  it.effect("failures and defects, with a word on them, pass on unchanged", () =>
    Effect.gen(function* () {
      const failed = yield* track(Effect.fail("no data"))
      assert.deepStrictEqual(failed.exit, Exit.fail("no data"))
      assert.deepInclude(failed.entries[1], { outcome: "failure", reason: "no data" })
      const died = yield* track(Effect.die(new Error("broken")))
      assert.deepInclude(died.entries[1], { outcome: "defect", reason: "Error: broken" })
      const thrown = yield* track(
        Effect.suspend(() => {
          throw new Error("at once")
        })
      )
      assert.deepInclude(thrown.entries[1], { outcome: "defect", reason: "Error: at once" })
    })
  )

  it.effect("a failure among interrupted siblings is a failure", () =>
    Effect.gen(function* () {
      const { entries } = yield* track(
        Effect.all([Effect.never, Effect.fail("no data")], { concurrency: "unbounded", discard: true })
      )
      assert.deepInclude(entries[1], { outcome: "failure", reason: "no data" })
    })
  )

  it.effect("an interruption ends the run when the finalizers have ended", () =>
    Effect.gen(function* () {
      const { entries, exit } = yield* track(
        Effect.onInterrupt(Effect.never, () => Effect.sleep(500)),
        100
      )
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(entries[1], {
        _tag: "RunEnded",
        at: START + 600,
        queue: "jobs",
        ...delivery,
        outcome: "interrupted"
      })
    })
  )

  it.effect("times are the server's, whatever the worker's clock says", () =>
    Effect.gen(function* () {
      const { entries } = yield* track(Effect.andThen(SimClock.jumpMillis(3_600_000), Effect.sleep(50)))
      assert.strictEqual(entries[1]?.at, START + 50)
    })
  )
})
