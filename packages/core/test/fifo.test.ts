import { Consumer, Policy, Redelivery, SqsQueue } from "@effect-sqs/core"
import { Fault, Invariants, SimClock, Tracking, type VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random, Schedule, Schema } from "effect"
import { beside, send, simulate, view } from "./sim.js"

const Jobs = SqsQueue.make("jobs.fifo", { schema: Schema.String })

type Sqs = VirtualSqs.VirtualSqs["Type"]
type Options = Parameters<typeof Consumer.run<string, string, never, string, never>>[1]
type Simulated = Parameters<typeof simulate>[0]

/** Bodies are `<group><number>`, as `a1`. */
const put = (sqs: Sqs, ...bodies: ReadonlyArray<string>) =>
  Effect.forEach(bodies, (body) => send(sqs, Jobs, body, { groupId: body[0]!, deduplicationId: body }))

interface Scene {
  readonly sqs: Sqs
  /** a worker; what it runs is written into `runs` and into the journal */
  readonly work: (
    options: Options,
    run: (body: string, nth: number) => Effect.Effect<void, string>
  ) => Effect.Effect<void, never, any>
  /** in the order of their starts, as `a1` */
  readonly runs: Array<string>
  /** how often each message was received, the dead ones included */
  readonly receives: () => Record<string, number>
}

/** Every scene ends with a look at what must always hold. */
const play = <A, E>(
  options: Simulated,
  script: (scene: Scene) => Effect.Effect<A, E, any>,
  expect: Invariants.Expectations | "off" = {}
) =>
  simulate({ ...options, name: Jobs.name }, (sqs) =>
    Effect.gen(function* () {
      const runs: Array<string> = []
      const bodies = new Map<string, string>()
      const answer = yield* Effect.scoped(
        script({
          sqs,
          runs,
          work: (consumer, run) =>
            beside(
              Consumer.run(
                Jobs,
                consumer,
                Tracking.tracked(
                  { journal: sqs.journal, queue: Jobs.name },
                  (body: string, d: { messageId: string; receiptHandle: string }) => {
                    runs.push(body)
                    bodies.set(d.messageId, body)
                    return run(body, runs.filter((r) => r === body).length)
                  }
                )
              )
            ),
          receives: () => {
            const counts: Record<string, number> = {}
            for (const [id, life] of view(sqs).messages) {
              counts[bodies.get(id) ?? id] = life.deliveries.filter((d) => d.queue === Jobs.name).length
            }
            return counts
          }
        })
      )
      if (expect === "off") return answer
      Invariants.assertAll(sqs.journal.entries, {
        queue: Jobs.name,
        kind: "fifo",
        deadLetterQueue: "dead.fifo",
        leaves: true,
        ...expect
      })
      return answer
    })
  ) as Effect.Effect<A, E | SimClock.SimStuck>

const failsFirst = (body: string) => (b: string, nth: number) =>
  b === body && nth === 1 ? Effect.fail("first") : Effect.void
const quick = { redelivery: Redelivery.release("1 second") }

describe("order in a group", () => {
  it.effect("F1 five groups of five, runs of random length: in order inside a group, groups side by side", () =>
    play({}, ({ runs, sqs, work }) =>
      Effect.gen(function* () {
        const groups = ["a", "b", "c", "d", "e"]
        for (const n of [1, 2, 3, 4, 5]) yield* put(sqs, ...groups.map((g) => `${g}${n}`))
        let running = 0
        let most = 0
        yield* work({ concurrency: 5 }, () =>
          Effect.acquireUseRelease(
            Effect.sync(() => (most = Math.max(most, ++running))),
            () => Effect.flatMap(Random.nextIntBetween(10, 2_000), (ms) => Effect.sleep(ms)),
            () => Effect.sync(() => running--)
          )
        )
        yield* Effect.sleep("30 seconds")
        assert.strictEqual(most, 5)
        for (const g of groups) {
          assert.deepStrictEqual(
            runs.filter((r) => r.startsWith(g)),
            [1, 2, 3, 4, 5].map((n) => `${g}${n}`)
          )
        }
        assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [])
      })
    )
  )

  it.effect("F3 a slow group in a receive of ten does not hold the others up", () =>
    play({}, ({ runs, sqs, work }) =>
      Effect.gen(function* () {
        const groups = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
        yield* put(sqs, ...groups.map((g) => `${g}1`), ...groups.map((g) => `${g}2`))
        const at: Record<string, number> = {}
        yield* work({ concurrency: 4 }, (body) =>
          Effect.zipRight(
            Effect.map(SimClock.trueTimeMillis, (ms) => void (at[body] = ms)),
            Effect.sleep(body === "a1" ? "20 seconds" : "100 millis")
          )
        )
        yield* Effect.sleep("5 seconds")
        assert.strictEqual(runs.length, 19)
        assert.isBelow(Math.max(...Object.values(at)), 2_000)
        yield* Effect.sleep("20 seconds")
        assert.deepStrictEqual(runs.at(-1), "a2")
      })
    )
  )

  it.effect("F4 the next waits until SQS has confirmed the delete of the one before", () => {
    const faults = Fault.all(
      Fault.latency("300 millis").pipe(Fault.on("DeleteMessageBatch")),
      Fault.entries((_, i) => i === 0, "InternalError").pipe(Fault.on("DeleteMessageBatch"), Fault.times(2))
    )
    return play({ faults }, ({ runs, sqs, work }) =>
      Effect.gen(function* () {
        yield* put(sqs, "a1", "a2")
        const at: Array<number> = []
        yield* work({}, () => Effect.map(SimClock.trueTimeMillis, (ms) => void at.push(ms)))
        yield* Effect.sleep("10 seconds")
        assert.deepStrictEqual(runs, ["a1", "a2"])
        const deleted = sqs.journal.entries.find((e) => e._tag === "Deleted")!
        assert.isAtLeast(at[1]!, deleted.at)
        assert.isAtLeast(at[1]!, 900)
      })
    )
  })

  it.effect("F4 a delete that is refused: the next waits until the one before has come again and is gone", () => {
    const faults = Fault.error("AccessDenied").pipe(Fault.on("DeleteMessageBatch"), Fault.times(1))
    return play({ faults }, ({ receives, runs, sqs, work }) =>
      Effect.gen(function* () {
        yield* put(sqs, "a1", "a2", "a3")
        const at: Array<number> = []
        yield* work({}, () => Effect.map(SimClock.trueTimeMillis, (ms) => void at.push(ms)))
        yield* Effect.sleep("25 seconds")
        assert.deepStrictEqual(runs, ["a1"])
        yield* Effect.sleep("15 seconds")
        // it is not run again, its work was done
        assert.deepStrictEqual(runs, ["a1", "a2", "a3"])
        assert.isAtLeast(at[1]!, 30_000)
        assert.deepStrictEqual(receives(), { a1: 2, a2: 1, a3: 2 })
        assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [])
      })
    )
  })

  it.effect("F5 received again while its run cannot be interrupted: still one at a time, and then in order", () => {
    const faults = Fault.error("InternalFailure", { httpStatus: 500 }).pipe(
      Fault.on("ChangeMessageVisibilityBatch"),
      Fault.during("0 seconds", "35 seconds")
    )
    return play(
      { faults },
      ({ receives, runs, sqs, work }) =>
        Effect.gen(function* () {
          yield* put(sqs, "a1", "a2")
          yield* work({ receive: { waitTime: "1 second" } }, (body, nth) =>
            body === "a1" && nth === 1 ? Effect.uninterruptible(Effect.sleep("40 seconds")) : Effect.sleep("1 second")
          )
          yield* Effect.sleep("39 seconds")
          assert.deepStrictEqual(runs, ["a1"])
          yield* Effect.sleep("10 seconds")
          assert.deepStrictEqual(runs, ["a1", "a1", "a2"])
          // what came in the second receive was in order, and needed no third
          assert.deepStrictEqual(receives(), { a1: 2, a2: 2 })
          assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [])
        }),
      { graceMs: 15_000 }
    )
  })

  it.effect("a schema that takes its time keeps the order of the receive", () =>
    simulate({ name: Jobs.name }, (sqs) =>
      Effect.gen(function* () {
        const slow = SqsQueue.make(Jobs.name, {
          schema: Schema.transformOrFail(Schema.String, Schema.String, {
            strict: true,
            decode: (text) => Effect.as(Effect.sleep(text === "a1" ? "2 seconds" : "10 millis"), text),
            encode: Effect.succeed
          })
        })
        yield* put(sqs, "a1", "a2", "b1")
        const runs: Array<string> = []
        yield* beside(Consumer.run(slow, {}, (body) => Effect.sync(() => void runs.push(body))))
        yield* Effect.sleep("5 seconds")
        assert.deepStrictEqual(runs, ["b1", "a1", "a2"])
        assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [])
      })
    )
  )
})

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
            // hidden, so that the first comes alone; what is behind it cannot be received anyway
            ['"a2"', "inFlight"],
            ['"a3"', "visible"],
            ['"a4"', "visible"]
          ]
        )
        yield* Effect.sleep("2 seconds")
        assert.deepStrictEqual(runs, ["a1", "b1", "a1", "a2", "a3", "a4"])
        assert.deepStrictEqual(receives(), { a1: 2, a2: 1, a3: 2, a4: 2, b1: 1 })
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

  const poisoned = (options: Options, simulated: Simulated = { maxReceiveCount: 5 }, workers = 1) =>
    play(simulated, ({ receives, runs, sqs, work }) =>
      Effect.gen(function* () {
        yield* put(sqs, "a1", "a2", "a3", "a4")
        for (let i = 0; i < workers; i++) {
          yield* work(options, (body) => (body === "a1" ? Effect.fail("always") : Effect.void))
        }
        yield* Effect.sleep("10 minutes")
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
      // the last two receives: behind the failure, and after it had gone
      assert.deepStrictEqual(yield* poisoned(quick), { a1: 5, a2: 2, a3: 2, a4: 2 })
      assert.deepStrictEqual(yield* poisoned({}), { a1: 5, a2: 2, a3: 2, a4: 2 })
      assert.deepStrictEqual(yield* poisoned({ redelivery: Redelivery.release(0) }), { a1: 5, a2: 2, a3: 2, a4: 2 })
      assert.deepStrictEqual(yield* poisoned({ redelivery: Redelivery.leave }), { a1: 5, a2: 2, a3: 2, a4: 2 })
    })
  )

  it.effect("F6 where nothing may be held, they spend a receive on every second failure", () =>
    Effect.gen(function* () {
      const delay = { redelivery: Redelivery.release("5 seconds") }
      assert.deepStrictEqual(yield* poisoned({ ...delay, prefetch: 1 }), { a1: 5, a2: 4, a3: 4, a4: 4 })
      // too long to hold
      const long = { redelivery: Redelivery.release("70 seconds") }
      assert.deepStrictEqual(yield* poisoned(long), { a1: 5, a2: 4, a3: 4, a4: 4 })
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
        assert.deepStrictEqual(receives(), { a1: 5, a2: 5, a3: 5, a4: 4 })
        assert.strictEqual((yield* sqs.messages("dead.fifo")).length, 3)
      })
    )
  )

  it.effect("groups that fail hold no more than half of what is fetched ahead: others go on", () =>
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

describe("the stop", () => {
  it.effect("gives back what waits, and a next worker goes on in order", () =>
    play({}, ({ runs, sqs, work }) =>
      Effect.gen(function* () {
        yield* put(sqs, "a1", "a2", "a3", "b1", "b2")
        yield* Effect.scoped(
          Effect.zipRight(
            work(quick, (body) =>
              Effect.sleep(body === "b1" ? "3 seconds" : "1 second").pipe(
                Effect.zipRight(body === "a1" ? Effect.fail("no") : Effect.void)
              )
            ),
            Effect.sleep("1500 millis")
          )
        )
        assert.deepStrictEqual(runs, ["a1", "b1"])
        const left = yield* sqs.messages(Jobs.name)
        assert.deepStrictEqual(
          left.map((m) => [m.body, m.state]),
          [
            ['"a1"', "visible"],
            ['"a2"', "visible"],
            ['"a3"', "visible"],
            ['"b2"', "visible"]
          ]
        )
        yield* work(quick, () => Effect.void)
        yield* Effect.sleep("5 seconds")
        assert.deepStrictEqual(
          runs.slice(2).filter((r) => r.startsWith("a")),
          ["a1", "a2", "a3"]
        )
      })
    )
  )
})

describe("whatever happens", () => {
  const chaos = (seed: number) => {
    const faults = Fault.all(
      Fault.latencyBetween(seed, 0, "300 millis"),
      Fault.randomEntries(seed, 0.1, "InternalError").pipe(
        Fault.on("DeleteMessageBatch", "ChangeMessageVisibilityBatch")
      ),
      Fault.loseReply.pipe(Fault.on("DeleteMessageBatch", "ChangeMessageVisibilityBatch"), Fault.random(seed, 0.05))
    )
    return play(
      { faults, maxReceiveCount: 1_000, seed, visibility: 5 },
      ({ sqs, work }) =>
        Effect.gen(function* () {
          const groups = ["a", "b", "c", "d"]
          for (const n of [1, 2, 3, 4, 5]) yield* put(sqs, ...groups.map((g) => `${g}${n}`))
          const run = () =>
            Effect.gen(function* () {
              yield* Effect.sleep(yield* Random.nextIntBetween(0, 4_000))
              if ((yield* Random.next) < 0.3) return yield* Effect.fail("no")
            })
          for (let i = 0; i < 2; i++) yield* work({ concurrency: 3, ...quick }, run)
          yield* Effect.sleep("4 minutes")
          assert.deepStrictEqual(yield* sqs.messages(Jobs.name), [], `seed ${seed}`)
        }),
      { context: `seed ${seed}` }
    )
  }

  it.effect("groups stay in order and every message ends", () =>
    Effect.forEach(
      Array.from({ length: 8 }, (_, i) => i),
      chaos
    )
  )
})
