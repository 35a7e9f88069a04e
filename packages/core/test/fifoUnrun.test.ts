/** Where few receives are allowed: what waits behind failures does not spend them without having run. */
import { Consumer, Redelivery } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Jobs, type Options, put, play, quick } from "./fifoStage.js"

type Fails = (body: string, nth: number) => boolean

const members = ["1", "2", "3", "4", "5", "6"]

/** Groups of a head and five followers, three receives each; the answer is how often each was received. */
const groups = (
  names: string,
  options: Options,
  fails: Fails,
  dies: ReadonlyArray<string> = [],
  workers = 1
): Effect.Effect<Record<string, number>, unknown> =>
  play({ maxReceiveCount: 3 }, ({ receives, runs, sqs, work }) =>
    Effect.gen(function* () {
      yield* put(sqs, ...[...names].flatMap((g) => members.map((n) => `${g}${n}`)))
      for (let i = 0; i < workers; i++)
        yield* work(options, (body, nth) => (fails(body, nth) ? Effect.fail("no") : Effect.void))
      yield* Effect.sleep("3 hours")
      assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [])
      const dead = (yield* sqs.messages("dead.fifo")).map((m) => String(JSON.parse(m.body)))
      assert.deepStrictEqual(
        dead.filter((body) => !runs.includes(body)),
        [],
        "dead, and never ran"
      )
      assert.deepStrictEqual(dead.sort(), dies)
      return receives()
    })
  )

const headTwice: Fails = (body, nth) => body.endsWith("1") && nth <= 2
const eachOnce: Fails = (_, nth) => nth === 1
const eachTwice: Fails = (_, nth) => nth <= 2
const firstTwoAlways: Fails = (body) => body.endsWith("1") || body.endsWith("2")

const counts = (...ns: ReadonlyArray<number>) => Object.fromEntries(ns.map((n, i) => [`a${i + 1}`, n]))

const settings: Record<string, Options> = {
  "the default options": {},
  "a short delay": quick,
  "a delay of 5 minutes": { redelivery: Redelivery.release("5 minutes") },
  "a failure that leaves the message": { redelivery: Redelivery.leave },
  "no prefetch": { prefetch: 0 },
  "two places": { concurrency: 2, prefetch: 0 }
}

describe("with three receives", () => {
  for (const [name, options] of Object.entries(settings)) {
    it.effect(`F6 ${name}: no failure costs a follower a receive`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* groups("a", options, headTwice), counts(3, 1, 1, 1, 1, 1))
        assert.deepStrictEqual(yield* groups("a", options, eachOnce), counts(2, 2, 2, 2, 2, 2))
        assert.deepStrictEqual(yield* groups("a", options, eachTwice), counts(3, 3, 3, 3, 3, 3))
      })
    )

    it.effect(`F6 ${name}: one that dies costs the next a receive, and not the others`, () =>
      Effect.map(groups("a", options, firstTwoAlways, ["a1", "a2"]), (received) =>
        assert.deepStrictEqual(received, counts(3, 3, 2, 1, 1, 1))
      )
    )
  }

  it.effect("F6 two workers, which take the failed one from each other", () =>
    Effect.gen(function* () {
      for (const options of [{}, quick, { prefetch: 0 }]) {
        yield* groups("a", options, headTwice, [], 2)
        yield* groups("a", options, eachOnce, [], 2)
        yield* groups("a", options, firstTwoAlways, ["a1", "a2"], 2)
      }
    })
  )

  it.effect("F6 more groups that fail than there is room for: each keeps its first follower", () =>
    Effect.gen(function* () {
      const received = yield* groups("abcdefgh", { prefetch: 0 }, headTwice)
      for (const [body, n] of Object.entries(received)) assert.isAtMost(n, body.endsWith("1") ? 3 : 2, body)
      yield* groups("abcdefgh", {}, eachOnce)
    })
  )

  it.effect("one that comes again only after its follower was given back is first all the same", () =>
    play(
      {},
      ({ runs, sqs }) =>
        Effect.gen(function* () {
          yield* put(sqs, "a1", "a2", "a3", "a4")
          let tries = 0
          const consumer = yield* Consumer.make(Jobs, { ...quick, receive: { waitTime: 0 } }, (body) =>
            Effect.suspend(() => {
              runs.push(body)
              return body === "a1" && ++tries === 1 ? Effect.fail("first") : Effect.void
            })
          )
          yield* Effect.sleep("100 millis")
          // nothing is received while the first is visible, and then the second
          yield* consumer.pause
          yield* Effect.sleep("4 seconds")
          assert.deepStrictEqual(
            (yield* sqs.messages(Jobs.name)).map((m) => m.state),
            ["visible", "visible", "inFlight", "inFlight"]
          )
          yield* consumer.resume
          yield* Effect.sleep("20 seconds")
          assert.deepStrictEqual(runs, ["a1", "a1", "a2", "a3", "a4"])
          assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [])
          assert.strictEqual((yield* consumer.state).waiting, 0)
        }),
      "off"
    )
  )
})
