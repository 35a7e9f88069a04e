/** When a lease begins: SQS hands a message out before its answer arrives, and how long before nobody tells. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { eventsOf, lossesOf, play, seconds } from "./stage.js"

describe("a message that comes on an open receive", () => {
  for (const at of [0, 1, 7, 15, 19]) {
    it.effect(`after ${at} s: its lease is a second shorter at most`, () =>
      play({ messages: 0, handler: () => Effect.void }, (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep(seconds(at))
          yield* stage.send(1)
          yield* Effect.sleep("1 second")
          const [received] = eventsOf(stage, "Received")
          assert.strictEqual(received!.at, seconds(at))
          assert.strictEqual(received!.deadline, seconds(Math.max(0, at - 1) + 30))
        })
      )
    )
  }

  it.effect("the tenth idle receive as well", () =>
    play({ messages: 0, handler: () => Effect.void }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("195500 millis")
        yield* stage.send(1)
        yield* Effect.sleep("1 second")
        const [received] = eventsOf(stage, "Received")
        assert.strictEqual(received!.deadline, 195_500 + 29_000)
      })
    )
  )
})

describe("a process that stalls while a receive is open", () => {
  for (const seed of [1, 2, 3, 4]) {
    it.effect(`counts the lease from when it was last awake: the first beat is in time (seed ${seed})`, () =>
      play({ messages: 0, handler: () => Effect.sleep("20 seconds"), seed, order: "random", remote: true }, (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("5500 millis")
          yield* Effect.fork(stage.worker.stall("22 seconds"))
          yield* Effect.sleep("500 millis")
          yield* stage.send(1)
          yield* Effect.sleep("60 seconds")
          const deliveries = stage.deliveries()
          // handed out at 6 s, seen at 27.5 s, hidden until 36 s without a beat
          assert.strictEqual(deliveries.length, 1)
          const [received] = eventsOf(stage, "Received")
          assert.isAtMost(received!.deadline, seconds(36))
          assert.isAtLeast(received!.deadline, seconds(33))
          assert.deepStrictEqual(lossesOf(stage), [])
        })
      )
    )

    it.effect(`longer than the lease: what it was handed is not run (seed ${seed})`, () =>
      play({ messages: 0, handler: () => Effect.void, seed, order: "random", remote: true, expect: "off" }, (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("5500 millis")
          yield* Effect.fork(stage.worker.stall("40 seconds"))
          yield* Effect.sleep("500 millis")
          yield* stage.send(1)
          yield* Effect.sleep("60 seconds")
          assert.deepStrictEqual(
            stage.deliveries().map((d) => [d.received.at, d.runs.length]),
            [
              [6_000, 0],
              [45_500, 1]
            ]
          )
          assert.deepStrictEqual(
            lossesOf(stage).map((l) => l.reason),
            ["stalled"]
          )
        })
      )
    )
  }

  it.effect("and however long it sleeps, the first beat comes before the message is somebody else's", () =>
    Effect.forEach(
      [1, 2, 3, 4, 4.9, 5.1, 6, 8, 11, 15, 19, 24],
      (length) =>
        play({ messages: 0, handler: () => Effect.sleep("50 seconds"), remote: true }, (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("5050 millis")
            yield* Effect.fork(stage.worker.stall(seconds(length)))
            yield* Effect.sleep("10 millis")
            yield* stage.send(1)
            yield* Effect.sleep("80 seconds")
            assert.strictEqual(stage.deliveries().length, 1, `asleep for ${length} s`)
          })
        ),
      { discard: true }
    )
  )

  it.effect("and again, soon after it woke", () =>
    play({ messages: 0, handler: () => Effect.sleep("20 seconds"), remote: true }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("2200 millis")
        yield* Effect.fork(
          Effect.repeatN(Effect.zipRight(stage.worker.stall("4 seconds"), Effect.sleep("100 millis")), 4)
        )
        yield* Effect.sleep("4500 millis")
        yield* stage.send(1)
        yield* Effect.sleep("60 seconds")
        const [received] = eventsOf(stage, "Received")
        const [delivery] = stage.deliveries()
        assert.isAtMost(received!.deadline, delivery!.received.at + seconds(30))
        assert.strictEqual(stage.deliveries().length, 1)
      })
    )
  )
})
