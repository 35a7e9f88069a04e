/** What waits behind its group is held too: that time counts to the limit of its lease. */
import type { ConsumerEvent } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { put, play, quick } from "./fifoStage.js"

/** A group of three is received at once, each runs so long, under a limit of a minute. */
const group = (runSeconds: number) =>
  play(
    {},
    ({ receives, runs, sqs, work }) =>
      Effect.gen(function* () {
        const told: Array<string> = []
        const onEvent = (e: ConsumerEvent.ConsumerEvent) =>
          Effect.sync(() => {
            if (e._tag === "LeaseWasLost") told.push(`${e.lost.reason} after ${e.lost.heldMs / 1000} s`)
            if (e._tag === "RunEnded") told.push(e.outcome)
          })
        yield* put(sqs, "a1", "a2", "a3")
        yield* work({ ...quick, lease: { limit: "1 minute" }, onEvent }, () => Effect.sleep(runSeconds * 1_000))
        yield* Effect.sleep("10 minutes")
        assert.deepStrictEqual(yield* sqs.messages("jobs.fifo"), [])
        return { told, runs, receives: receives() }
      }),
    { limitMs: 60_000, mayRunOut: true }
  )

describe("a limit of one minute, in a FIFO group", () => {
  it.effect("cuts a run that began late, and says so; it has its whole time when it comes again", () =>
    Effect.gen(function* () {
      const { receives, runs, told } = yield* group(40)
      assert.deepStrictEqual(told.slice(0, 3), ["success", "limit after 60 s", "limit after 60 s"])
      assert.deepStrictEqual(runs, ["a1", "a2", "a2", "a3", "a3"])
      assert.deepStrictEqual(receives, { a1: 1, a2: 2, a3: 3 })
    })
  )

  it.effect("is no matter where all of the group fits into it", () =>
    Effect.gen(function* () {
      const { receives, told } = yield* group(15)
      assert.deepStrictEqual(told, ["success", "success", "success"])
      assert.deepStrictEqual(receives, { a1: 1, a2: 1, a3: 1 })
    })
  )
})
