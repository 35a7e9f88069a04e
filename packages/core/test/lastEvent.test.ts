/** What a listener hears of the stop, whatever goes on first. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { play } from "./stage.js"

describe("the last event", () => {
  it.effect("is Drained, in whatever order fibers go on", () =>
    Effect.gen(function* () {
      for (let seed = 0; seed < 30; seed++) {
        const last = yield* play({ seed, order: "random", handler: () => Effect.sleep(100) }, (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep(1_000)
            yield* stage.stop
            return stage.events.at(-1)
          })
        )
        assert.strictEqual(last?._tag, "Drained", `seed ${seed}`)
      }
    })
  )

  it.effect("is Drained though a handler had to be cut off", () =>
    Effect.gen(function* () {
      for (let seed = 0; seed < 30; seed++) {
        const worker = { drain: { timeout: 0, interruptTimeout: 0 } }
        const last = yield* play(
          { seed, order: "random", worker, handler: () => Effect.never, expect: "off" },
          (stage) =>
            Effect.gen(function* () {
              yield* Effect.sleep(1_000)
              yield* stage.stop
              return stage.events.at(-1)
            })
        )
        assert.strictEqual(last?._tag, "Drained", `seed ${seed}`)
      }
    })
  )
})
