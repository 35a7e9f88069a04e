/** What a listener hears of the stop, whatever goes on first. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
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

  const hangs = {
    "on its first event": () => Effect.never,
    "on its last": (tag: string) => (tag === "Drained" ? Effect.never : Effect.void),
    "and cannot be interrupted": () => Effect.uninterruptible(Effect.never),
    "in a fiber that it waits for": () => Effect.asVoid(Effect.all([Effect.never, Effect.never], { concurrency: 2 }))
  }
  for (const [what, listener] of Object.entries(hangs)) {
    it.effect(`a listener that hangs ${what} holds a stop up for a second, and no longer`, () =>
      play(
        {
          worker: { drain: { openReceives: "abort" } },
          handler: () => Effect.sleep(100),
          listener: ({ _tag }) => listener(_tag)
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("1 second")
            assert.strictEqual((yield* stage.sqs.messages("jobs")).length, 0)
            const [took] = yield* Effect.timed(stage.stop)
            assert.strictEqual(Duration.toMillis(took), 1_000)
          })
      )
    )
  }
})
