import { type Sqs, SqsQueue } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schedule, Schema, TestClock } from "effect"
import { error, failed, Fifo, Jobs, jobs, portOf, producerOf, sent, tagsOf, whole } from "./producerStub.js"

describe("sendAll", () => {
  it.effect("sends nothing when there is nothing to send", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Jobs)
      assert.deepStrictEqual(yield* producer.sendAll([]), [])
      assert.strictEqual(stub.calls.length, 0)
    })
  )

  it.effect("a port that answers too few told nothing of the rest: they are sent again", () =>
    Effect.gen(function* () {
      const stub = portOf((call, entries) => (call === 1 ? entries.slice(0, 1).map(sent) : entries.map(sent)))
      const producer = yield* producerOf(stub, Jobs)
      assert.deepStrictEqual(tagsOf(yield* whole(producer.sendAll(jobs(3)))), ["m-0", "m-1", "m-2"])
      assert.deepStrictEqual(stub.idsOf(), ["0 1 2", "1 2"])
    })
  )

  it.effect("sends ten to a call, and answers in the order of the bodies", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Jobs)
      const results = yield* producer.sendAll(new Set(jobs(25)))
      assert.deepStrictEqual(
        stub.calls.map((call) => call.entries.length),
        [10, 10, 5]
      )
      assert.deepStrictEqual(
        tagsOf(results),
        jobs(25).map(({ id }) => `m-${id}`)
      )
    })
  )

  it.effect("keeps a call within 1 MiB in all", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Jobs)
      const third = "x".repeat(349_000)
      const results = yield* producer.sendAll(["a", "b", "c", "d", "e", "f", "g"].map((id) => ({ id: id + third })))
      assert.deepStrictEqual(
        stub.calls.map((call) => call.entries.length),
        [3, 3, 1]
      )
      assert.isTrue(results.every((result) => result._tag === "Done"))
    })
  )

  it.effect("fills a call to the last byte", () =>
    Effect.gen(function* () {
      const Texts = SqsQueue.make("texts", { schema: Schema.String })
      const half = "x".repeat(524_288 - 2)
      const counts = (bodies: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const stub = portOf((_, entries) =>
            entries.map(() => ({ _tag: "Done", value: { messageId: "m", sequenceNumber: undefined } }))
          )
          yield* Effect.flatMap(producerOf(stub, Texts), (producer) => producer.sendAll(bodies))
          return stub.calls.map((call) => call.entries.length)
        })
      assert.deepStrictEqual(yield* counts([half, half]), [2])
      assert.deepStrictEqual(yield* counts([half, `${half}x`]), [1, 1])
    })
  )

  it.effect("gives each body its own options", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Jobs)
      yield* producer.sendAll(jobs(3), (job, index) => ({ delay: `${index} seconds`, groupId: `g-${job.id}` }))
      assert.deepStrictEqual(
        stub.calls[0]?.entries.map((entry) => [entry.delaySeconds, entry.groupId]),
        [
          [0, "g-0"],
          [1, "g-1"],
          [2, "g-2"]
        ]
      )
    })
  )

  it.effect("sends the rest when some cannot be sent, each with its own reason", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Jobs)
      const results = yield* producer.sendAll(jobs(3), (job) => (job.id === "1" ? { delay: "1 hour" } : {}))
      assert.deepStrictEqual(tagsOf(results), ["m-0", "InvalidMessage", "m-2"])
      assert.deepStrictEqual(stub.idsOf(), ["0 2"])
    })
  )

  it.effect("sends again only what failed for a reason that can pass", () =>
    Effect.gen(function* () {
      const stub = portOf((call, entries) =>
        call === 1
          ? entries.map((entry, i) =>
              i === 1 ? failed("InternalError") : i === 2 ? failed("InvalidMessageContents") : sent(entry)
            )
          : entries.map(sent)
      )
      const producer = yield* producerOf(stub, Jobs)
      const results = yield* whole(producer.sendAll(jobs(4)))
      assert.deepStrictEqual(tagsOf(results), ["m-0", "m-1", "RefusedInput", "m-3"])
      assert.deepStrictEqual(stub.idsOf(), ["0 1 2 3", "1"])
    })
  )

  it.effect("sends a whole call again that failed for a reason that can pass, and goes on", () =>
    Effect.gen(function* () {
      const stub = portOf((call, entries) => (call < 3 ? error("RequestThrottled") : entries.map(sent)))
      const producer = yield* producerOf(stub, Fifo)
      const results = yield* whole(producer.sendAll(jobs(12)))
      assert.deepStrictEqual(
        tagsOf(results),
        jobs(12).map(({ id }) => `m-${id}`)
      )
      const first = "0 1 2 3 4 5 6 7 8 9"
      assert.deepStrictEqual(stub.idsOf(), [first, first, first, "10 11"])
    })
  )

  it.effect("waits between tries, longer each time, and gives up after five more", () =>
    Effect.gen(function* () {
      const at: Array<number> = []
      const stub = portOf()
      const clock = yield* Effect.clock
      const failing = {
        port: {
          ...stub.port,
          sendBatch: () =>
            Effect.suspend(() => {
              at.push(clock.unsafeCurrentTimeMillis())
              return Effect.fail(error("InternalError"))
            })
        }
      }
      const producer = yield* producerOf(failing, Jobs)
      assert.deepStrictEqual(tagsOf(yield* whole(producer.sendAll(jobs(1)))), ["ServiceError"])
      assert.strictEqual(at.length, 6)
      const waits = at.slice(1).map((t, i) => t - at[i]!)
      waits.forEach((wait, i) => {
        assert.isAtLeast(wait, 50 * 2 ** i)
        assert.isAtMost(wait, 100 * 2 ** i)
      })
    })
  )

  it.effect("tries again by the schedule that was given", () =>
    Effect.gen(function* () {
      const stub = portOf(() => error("InternalError"))
      const producer = yield* producerOf(stub, Jobs, { retry: Schedule.recurs(1) })
      assert.deepStrictEqual(tagsOf(yield* producer.sendAll(jobs(1))), ["ServiceError"])
      assert.strictEqual(stub.calls.length, 2)
    })
  )

  it.effect("does not lose what was sent when a later try fails as a whole", () =>
    Effect.gen(function* () {
      const stub = portOf((call, entries) =>
        call === 1
          ? entries.map((entry, i) => (i === 0 ? sent(entry) : failed("InternalError")))
          : error("AccessDenied")
      )
      const producer = yield* producerOf(stub, Jobs)
      assert.deepStrictEqual(tagsOf(yield* whole(producer.sendAll(jobs(3)))), ["m-0", "AccessDenied", "AccessDenied"])
      assert.deepStrictEqual(stub.idsOf(), ["0 1 2", "1 2"])
    })
  )

  it.effect("stops after a call that failed as a whole, and says so of all that was not tried", () =>
    Effect.gen(function* () {
      const stub = portOf((call, entries) => (call === 2 ? error("QueueDoesNotExist") : entries.map(sent)))
      const producer = yield* producerOf(stub, Fifo)
      const results = yield* producer.sendAll(jobs(35))
      assert.strictEqual(stub.calls.length, 2)
      assert.deepStrictEqual(
        tagsOf(results),
        jobs(35).map(({ id }, i) => (i < 10 ? `m-${id}` : "QueueMissing"))
      )
    })
  )

  it.effect("goes on after a call that SQS refused for its content", () =>
    Effect.gen(function* () {
      const stub = portOf((call, entries) => (call === 1 ? error("InvalidParameterValue") : entries.map(sent)))
      const producer = yield* producerOf(stub, Fifo)
      const results = yield* producer.sendAll(jobs(20))
      assert.deepStrictEqual(
        tagsOf(results),
        jobs(20).map(({ id }, i) => (i < 10 ? "RefusedInput" : `m-${id}`))
      )
    })
  )

  /** How many calls are open at once when the first answer is yet to come. */
  const openCalls = <A, I>(queue: SqsQueue.SqsQueue<A, I>, bodies: ReadonlyArray<A>) =>
    Effect.gen(function* () {
      const stub = portOf()
      const gate = yield* Deferred.make<void>()
      const port = {
        ...stub.port,
        sendBatch: (url: string, entries: ReadonlyArray<Sqs.SendEntry>) =>
          Effect.zipLeft(stub.port.sendBatch(url, entries), Deferred.await(gate))
      }
      const producer = yield* producerOf({ port }, queue)
      const fiber = yield* Effect.fork(producer.sendAll(bodies))
      // the test clock waits until all fibers are idle
      yield* TestClock.adjust(0)
      const open = stub.calls.length
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(fiber)
      return { open, ids: stub.idsOf() }
    })

  it.effect("sends to a FIFO queue one call after the other, in order", () =>
    Effect.gen(function* () {
      const { ids, open } = yield* openCalls(Fifo, jobs(30))
      assert.strictEqual(open, 1)
      assert.strictEqual(
        ids.join(" "),
        jobs(30)
          .map(({ id }) => id)
          .join(" ")
      )
    })
  )

  it.effect("sends to a standard queue four calls at a time", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* openCalls(Jobs, jobs(100))).open, 4)
    })
  )
})
