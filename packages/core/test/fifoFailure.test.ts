import { Consumer, Policy, Redelivery } from "@effect-sqs/core"
import { Fault, SimClock } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { Jobs, type Options, type Simulated, put, play, quick } from "./fifoStage.js"

const failsFirst = (body: string) => (b: string, nth: number) =>
  b === body && nth === 1 ? Effect.fail("first") : Effect.void

describe("behind a failure", () => {
  it.effect("F2 what is behind is neither run nor deleted; the failed one comes first, and then they follow", () =>
    play({}, ({ receives, runs, sqs, work }) =>
      Effect.gen(function* () {
        yield* put(sqs, "a1", "a2", "a3", "a4", "b1")
        yield* work({ redelivery: Redelivery.release("5 seconds") }, failsFirst("a1"))
        yield* Effect.sleep("4 seconds")
        assert.deepStrictEqual(runs, ["a1", "b1"])
        assert.deepStrictEqual(
          (yield* sqs.messages(Jobs.name)).map((m) => [m.body, m.state]),
          [
            ['"a1"', "inFlight"],
            // in hand, so that the first comes alone
            ['"a2"', "inFlight"],
            ['"a3"', "inFlight"],
            ['"a4"', "inFlight"]
          ]
        )
        yield* Effect.sleep("2 seconds")
        assert.deepStrictEqual(runs, ["a1", "b1", "a1", "a2", "a3", "a4"])
        assert.deepStrictEqual(receives(), { a1: 2, a2: 1, a3: 1, a4: 1, b1: 1 })
      })
    )
  )

  it.effect("the follower starts as soon as the one that had failed is done, without another receive", () =>
    play({}, ({ sqs, work }) =>
      Effect.gen(function* () {
        yield* put(sqs, "a1", "a2")
        const at: Array<number> = []
        yield* work(quick, (body, nth) =>
          Effect.zipRight(
            Effect.map(SimClock.trueTimeMillis, (ms) => void at.push(ms)),
            failsFirst("a1")(body, nth)
          )
        )
        yield* Effect.sleep("5 seconds")
        assert.deepStrictEqual(at, [0, 1_000, 1_000])
      })
    )
  )

  it.effect(
    "a lease that is lost by the call that the last beat has filled: what is behind is given back, and beats no more",
    () =>
      play(
        {
          faults: Fault.entries((_, index) => index === 8, "MessageNotInflight", { senderFault: true }).pipe(
            Fault.on("ChangeMessageVisibilityBatch"),
            Fault.times(1)
          )
        },
        ({ receives, runs, sqs, work }) =>
          Effect.gen(function* () {
            // ten: the last beat that is asked for fills the call, and sends it
            const bodies = Array.from({ length: 10 }, (_, i) => `a${i}`)
            yield* put(sqs, ...bodies)
            yield* work({ ...quick, lease: { visibility: "20 seconds" } }, (_, nth) =>
              nth === 1 && runs.length === 1 ? Effect.sleep("1 minute") : Effect.void
            )
            yield* Effect.sleep("2 minutes")
            assert.deepStrictEqual(runs, bodies)
            assert.deepStrictEqual(receives(), Object.fromEntries(bodies.map((body, i) => [body, i < 8 ? 1 : 2])))
          })
      )
  )

  const poisoned = (options: Options, simulated: Simulated = { maxReceiveCount: 5 }, workers = 1) =>
    play(simulated, ({ receives, runs, sqs, work }) =>
      Effect.gen(function* () {
        yield* put(sqs, "a1", "a2", "a3", "a4")
        for (let i = 0; i < workers; i++) {
          yield* work(options, (body) => (body === "a1" ? Effect.fail("always") : Effect.void))
        }
        yield* Effect.sleep("2 hours")
        assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [])
        assert.deepStrictEqual(
          (yield* sqs.messages("dead.fifo")).map((m) => m.body),
          ['"a1"']
        )
        assert.deepStrictEqual(runs.slice(-3), ["a2", "a3", "a4"])
        return receives()
      })
    )

  it.effect("F6 one that always fails goes to the dead letters; what is behind it spends no receive counts on it", () =>
    Effect.gen(function* () {
      // the first of them comes again when the failed one has gone: that tells so
      const counts = { a1: 5, a2: 2, a3: 1, a4: 1 }
      assert.deepStrictEqual(yield* poisoned(quick), counts)
      assert.deepStrictEqual(yield* poisoned({}), counts)
      assert.deepStrictEqual(yield* poisoned({ redelivery: Redelivery.release(0) }), counts)
      assert.deepStrictEqual(yield* poisoned({ redelivery: Redelivery.leave }), counts)
      assert.deepStrictEqual(yield* poisoned({ prefetch: 0 }), counts)
    })
  )

  it.effect("F6 where nothing may be held, they spend a receive on every second failure", () =>
    Effect.gen(function* () {
      const counts = { a1: 5, a2: 4, a3: 4, a4: 4 }
      // too long to hold
      assert.deepStrictEqual(yield* poisoned({ redelivery: Redelivery.release("901 seconds") }), counts)
      assert.deepStrictEqual(yield* poisoned({ redelivery: Redelivery.release("15 minutes") }), {
        ...counts,
        a2: 2,
        a3: 1,
        a4: 1
      })
      // and longer than a lease that no beat extends
      const unbeaten = { lease: { heartbeat: "off" } } as const
      assert.deepStrictEqual(yield* poisoned({ ...unbeaten, redelivery: Redelivery.release("40 seconds") }), counts)
      assert.deepStrictEqual(yield* poisoned({ ...unbeaten, ...quick }), { a1: 5, a2: 2, a3: 1, a4: 1 })
    })
  )

  it.effect("F6 with two workers nothing is lost to the dead letters either", () =>
    Effect.gen(function* () {
      const counts = yield* poisoned(quick, { maxReceiveCount: 5 }, 2)
      assert.strictEqual(counts["a1"], 5)
      for (const name of ["a2", "a3", "a4"]) assert.isAtMost(counts[name]!, 5, name)
    })
  )

  it.effect("F6 three in a row that always fail: the fourth still runs", () =>
    play({ maxReceiveCount: 5 }, ({ receives, sqs, work }) =>
      Effect.gen(function* () {
        yield* put(sqs, "a1", "a2", "a3", "a4")
        yield* work(quick, (body) => (body === "a4" ? Effect.void : Effect.fail("always")))
        yield* Effect.sleep("10 minutes")
        assert.deepStrictEqual(receives(), { a1: 5, a2: 5, a3: 5, a4: 2 })
        assert.strictEqual((yield* sqs.messages("dead.fifo")).length, 3)
      })
    )
  )

  it.effect("groups that fail hold no more than half of the places: others go on", () =>
    play({}, ({ runs, sqs, work }) =>
      Effect.gen(function* () {
        const failing = Array.from("abcdefghijklmnopqrst")
        yield* put(sqs, ...failing.flatMap((g) => [`${g}1`, `${g}2`]))
        yield* work({ concurrency: 2, prefetch: 10, redelivery: Redelivery.release("50 seconds") }, (body) =>
          body.startsWith("z") ? Effect.void : Effect.fail("always")
        )
        yield* Effect.sleep("5 seconds")
        assert.strictEqual(runs.length, 20)
        yield* put(sqs, "z1", "z2", "z3")
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(runs.slice(20), ["z1", "z2", "z3"])
      })
    )
  )

  it.effect("the room that a failed group held is free again when it goes on", () =>
    play({}, ({ receives, sqs, work }) =>
      Effect.gen(function* () {
        // room for one
        yield* work({ concurrency: 2, prefetch: 2, ...quick }, (body, nth) =>
          body.endsWith("1") && nth === 1 ? Effect.fail("first") : Effect.void
        )
        for (const g of ["a", "b", "c"]) {
          yield* put(sqs, `${g}1`, `${g}2`)
          yield* Effect.sleep("10 seconds")
        }
        assert.deepStrictEqual(receives(), { a1: 2, a2: 1, b1: 2, b2: 1, c1: 2, c2: 1 })
      })
    )
  )

  it.effect("a failed one that another worker gets and settles: the follower is given back soon after", () =>
    play(
      {},
      ({ sqs }) =>
        Effect.gen(function* () {
          yield* put(sqs, "a1", "a2")
          const options = { redelivery: Redelivery.release("5 seconds"), receive: { waitTime: "1 second" } } as const
          const consumer = yield* Consumer.make(Jobs, options, () => Effect.fail("no"))
          yield* Effect.sleep("100 millis")
          // from here on it is somebody else's turn
          yield* consumer.pause
          yield* Effect.sleep("4 seconds")
          const queue = { QueueUrl: sqs.queueUrl(Jobs.name) }
          const answer = yield* sqs.api("ReceiveMessage", { ...queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 5 })
          const messages = answer["Messages"] as ReadonlyArray<{
            readonly Body: string
            readonly ReceiptHandle: string
          }>
          assert.deepStrictEqual(
            messages.map((m) => m.Body),
            ['"a1"']
          )
          yield* sqs.api("DeleteMessage", { ...queue, ReceiptHandle: messages[0]!.ReceiptHandle })
          const left = Effect.map(sqs.messages(Jobs.name), (all) => all.map((m) => [m.body, m.state, m.receiveCount]))
          assert.deepStrictEqual(yield* left, [['"a2"', "inFlight", 1]])
          assert.strictEqual((yield* consumer.state).waiting, 1)
          yield* Effect.sleep("2500 millis")
          assert.deepStrictEqual(yield* left, [['"a2"', "visible", 1]])
          assert.strictEqual((yield* consumer.state).waiting, 0)
        }),
      "off"
    )
  )

  it.effect("an in-place retry keeps the group in hand, leased", () =>
    play({}, ({ receives, runs, sqs, work }) =>
      Effect.gen(function* () {
        yield* put(sqs, "a1", "a2", "a3")
        const policy = Policy.make({
          retry: Schedule.spaced("50 seconds").pipe(Schedule.intersect(Schedule.recurs(3)))
        })
        let tries = 0
        yield* work({ policy }, (body) =>
          body === "a1" ? Effect.suspend(() => (++tries < 3 ? Effect.fail("not yet") : Effect.void)) : Effect.void
        )
        yield* Effect.sleep("2 minutes")
        assert.deepStrictEqual(receives(), { a1: 1, a2: 1, a3: 1 })
        assert.deepStrictEqual(runs.slice(-2), ["a2", "a3"])
        assert.strictEqual(tries, 3)
      })
    )
  )

  it.effect("one that waits and loses its lease takes those behind it along, not those before it", () => {
    let lose = ""
    const faults = Fault.entries((e) => e.messageId === lose, "ReceiptHandleIsInvalid", { senderFault: true }).pipe(
      Fault.on("ChangeMessageVisibilityBatch"),
      Fault.during("0 seconds", "16 seconds")
    )
    return play({ faults }, ({ receives, runs, sqs, work }) =>
      Effect.gen(function* () {
        const ids = yield* put(sqs, "a1", "a2", "a3", "a4")
        lose = ids[2]!
        yield* work({}, () => Effect.sleep("20 seconds"))
        yield* Effect.sleep("30 seconds")
        assert.deepStrictEqual(runs, ["a1", "a2"])
        yield* Effect.sleep("60 seconds")
        assert.deepStrictEqual(runs, ["a1", "a2", "a3", "a4"])
        assert.deepStrictEqual(receives(), { a1: 1, a2: 1, a3: 2, a4: 2 })
      })
    )
  })

  it.effect("a body that cannot be decoded has its turn in the group too", () =>
    play(
      { faults: Fault.latency("3 seconds").pipe(Fault.on("SendMessageBatch")) },
      ({ runs, sqs, work }) =>
        Effect.gen(function* () {
          yield* put(sqs, "a1")
          yield* sqs.send(Jobs.name, "{", { groupId: "a", deduplicationId: "bad" })
          yield* put(sqs, "a2", "b1")
          const at: Record<string, number> = {}
          yield* work({}, (body) =>
            Effect.zipRight(
              Effect.map(SimClock.trueTimeMillis, (ms) => void (at[body] = ms)),
              Effect.sleep("1 second")
            )
          )
          yield* Effect.sleep("20 seconds")
          assert.deepStrictEqual(runs, ["a1", "b1", "a2"])
          assert.isAtLeast(at["a2"]!, 4_000)
          assert.strictEqual((yield* sqs.messages("dead.fifo")).length, 1)
        }),
      { neverRuns: () => false }
    )
  )
})
