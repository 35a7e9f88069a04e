import { Consumer, type ConsumerEvent, Redelivery } from "@effect-sqs/core"
import { Fault } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Clock, Deferred, Effect, Fiber, Stream } from "effect"
import { Numbers } from "./batchStage.js"
import { send, simulate, view } from "./sim.js"
import { eventsOf, play, type Scene, type Stage } from "./stage.js"

type Tag = ConsumerEvent.ConsumerEvent["_tag"]

/** The events of a scene, as their fields without what names the delivery. */
const told = <T extends Tag>(stage: Stage, tag: T) =>
  eventsOf(stage, tag).map((event) => {
    const {
      _tag: _,
      messageId: __,
      receiptHandle: ___,
      ...rest
    } = event as ConsumerEvent.ConsumerEvent & {
      readonly messageId?: string
      readonly receiptHandle?: string
    }
    return rest
  })

const after = (seconds: number, scene: Scene, look: (stage: Stage) => void) =>
  play(scene, (stage) =>
    Effect.gen(function* () {
      yield* Effect.sleep(seconds * 1_000)
      look(stage)
    })
  )

describe("what an event says", () => {
  it.effect("Started, Received, RunStarted, RunEnded, DeliverySettled: the life of a delivery", () =>
    after(5, { handler: () => Effect.sleep("2 seconds") }, (stage) => {
      const [delivery] = stage.deliveries()
      const life = stage.events.filter((e) => "messageId" in e)
      assert.deepStrictEqual(
        life.map((e) => [e._tag, e.at]),
        [
          ["Received", 0],
          ["RunStarted", 0],
          ["RunEnded", 2_000],
          ["DeliverySettled", 2_000]
        ]
      )
      for (const event of life) {
        assert.strictEqual(event.queue, "jobs")
        assert.strictEqual(event.messageId, delivery!.messageId)
        assert.strictEqual(event.receiptHandle, delivery!.receiptHandle)
        assert.strictEqual(event.receiveCount, 1)
      }
      assert.strictEqual(stage.events[0]!._tag, "Started")
      assert.deepStrictEqual(told(stage, "Received"), [
        { queue: "jobs", at: 0, deadline: 30_000, sentAt: 0, receiveCount: 1 }
      ])
      assert.deepStrictEqual(told(stage, "RunEnded"), [
        { queue: "jobs", at: 2_000, outcome: "success", ranMs: 2_000, receiveCount: 1 }
      ])
      const { settled } = eventsOf(stage, "DeliverySettled")[0]!
      assert.deepStrictEqual([settled.asked._tag, settled.confirmed, settled.problem], ["Delete", true, undefined])
    })
  )

  it.effect("Started: what start found risky", () =>
    after(1, { queue: { maxReceiveCount: 1 }, messages: 0, handler: () => Effect.void }, (stage) => {
      const [started] = eventsOf(stage, "Started")
      assert.match(started!.notes.join("\n"), /maxReceiveCount of jobs is 1/)
    })
  )

  for (const [outcome, handler] of [
    ["failure", Effect.fail("no")],
    ["failure", Effect.die("no")],
    ["interrupted", Effect.interrupt]
  ] as const) {
    it.effect(`RunEnded: ${outcome}, and the settlement that the policy asked`, () =>
      after(1, { worker: { redelivery: Redelivery.release("1 hour") }, handler: () => handler }, (stage) => {
        assert.deepStrictEqual(
          eventsOf(stage, "RunEnded").map((e) => e.outcome),
          [outcome]
        )
        const [event] = eventsOf(stage, "DeliverySettled")
        assert.strictEqual(event!.settled.asked._tag, "Release")
        assert.isTrue(event!.settled.confirmed)
      })
    )
  }

  it.effect("LeaseExtended: the new deadline, and what was left of the old one when it was asked", () =>
    after(20, { handler: () => Effect.sleep("18 seconds") }, (stage) => {
      assert.deepStrictEqual(told(stage, "LeaseExtended"), [
        { queue: "jobs", at: 15_000, deadline: 45_000, marginMs: 15_000, receiveCount: 1 }
      ])
      const [ask] = stage.deliveries()[0]!.asks
      assert.strictEqual(ask!.sent.at, 15_000)
    })
  )

  it.effect("BeatFailed, and LeaseWasLost with reason and cause", () =>
    after(
      40,
      {
        queue: { faults: Fault.error("InternalError").pipe(Fault.on("ChangeMessageVisibilityBatch"), Fault.times(2)) },
        handler: (_, d) => (d.receiveCount === 1 ? Effect.sleep("20 seconds") : Effect.void)
      },
      (stage) => {
        const failed = eventsOf(stage, "BeatFailed")
        assert.deepStrictEqual(
          failed.map((e) => [e.error._tag, e.error.operation, e.receiveCount]),
          [
            ["ServiceError", "ChangeMessageVisibilityBatch", 1],
            ["ServiceError", "ChangeMessageVisibilityBatch", 1]
          ]
        )
        assert.strictEqual(eventsOf(stage, "LeaseExtended").length, 1)
        assert.deepStrictEqual(eventsOf(stage, "LeaseWasLost"), [])
      }
    )
  )

  it.effect("LeaseWasLost, when SQS refuses a beat", () =>
    after(
      20,
      {
        queue: {
          faults: Fault.entries(() => true, "ReceiptHandleIsInvalid", { senderFault: true }).pipe(
            Fault.on("ChangeMessageVisibilityBatch"),
            Fault.times(1)
          )
        },
        handler: () => Effect.sleep("18 seconds"),
        expect: "off"
      },
      (stage) => {
        const [event] = eventsOf(stage, "LeaseWasLost")
        assert.strictEqual(event!.at, 15_000)
        assert.strictEqual(event!.lost.reason, "refused")
        assert.strictEqual(event!.lost.heldMs, 15_000)
        assert.strictEqual((event!.lost.cause as { readonly _tag: string })._tag, "HandleInvalid")
        const [settled] = eventsOf(stage, "DeliverySettled")
        assert.strictEqual(settled!.settled.problem, event!.lost)
      }
    )
  )

  it.effect("Undecodable: why, and no body", () =>
    play({ messages: 0, handler: () => Effect.void, expect: "off" }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.orDie(stage.sqs.send("jobs", '{"n":"secret"}'))
        yield* Effect.sleep("1 second")
        const [event] = eventsOf(stage, "Undecodable")
        assert.match(event!.reason, /number/)
        assert.notMatch(JSON.stringify(stage.events), /secret/)
        assert.deepStrictEqual(eventsOf(stage, "RunStarted"), [])
      })
    )
  )

  it.effect("DuplicateDeleted: a finished message that came again", () =>
    after(
      80,
      {
        queue: {
          faults: Fault.error("InternalError").pipe(Fault.on("DeleteMessageBatch"), Fault.during(0, "40 seconds"))
        },
        handler: () => Effect.void,
        expect: "off"
      },
      (stage) => {
        const [event] = eventsOf(stage, "DuplicateDeleted")
        assert.strictEqual(event!.receiveCount, 2)
        assert.strictEqual(eventsOf(stage, "RunStarted").length, 1)
        assert.deepStrictEqual(
          eventsOf(stage, "DeliverySettled").map((e) => [e.settled.asked._tag, e.settled.confirmed, e.receiveCount]),
          [
            ["Delete", false, 1],
            ["Delete", true, 2]
          ]
        )
      }
    )
  )

  it.effect("PollFailed with the pause that follows, and PollRecovered", () =>
    after(
      25,
      {
        messages: 0,
        queue: { faults: Fault.error("RequestThrottled").pipe(Fault.on("ReceiveMessage"), Fault.times(2)) },
        handler: () => Effect.void
      },
      (stage) => {
        // it takes a long poll to know that receiving works again
        const receives = stage.sqs.journal.entries.flatMap((e) =>
          e._tag === "CallStarted" && e.operation === "ReceiveMessage" ? [e.at] : []
        )
        const failed = eventsOf(stage, "PollFailed")
        assert.deepStrictEqual(
          failed.map((e) => [e.error._tag, e.at]),
          [
            ["Throttled", receives[0]],
            ["Throttled", receives[1]]
          ]
        )
        failed.forEach((e, i) => assert.strictEqual(receives[i + 1], Math.ceil(e.at + e.retryInMs)))
        assert.strictEqual(eventsOf(stage, "PollRecovered").length, 1)
      }
    )
  )

  it.effect("Draining and Drained, the last of all", () =>
    play(
      {
        messages: 2,
        worker: { concurrency: 1, prefetch: 1 },
        expect: { prefetch: 1 },
        handler: () => Effect.sleep("25 seconds")
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("5 seconds")
          yield* stage.stop
          assert.deepStrictEqual(told(stage, "Draining"), [{ queue: "jobs", at: 5_000, running: 1, waiting: 1 }])
          const last = stage.events.at(-1)!
          assert.strictEqual(last._tag, "Drained")
          if (last._tag !== "Drained") return
          assert.strictEqual(last.at, 25_000)
          assert.deepStrictEqual(last.report.deliveries.map((d) => d.became).sort(), ["released", "settled"])
        })
    )
  )
})

/** A consumer in the test's own process. */
const consumer = (handler: () => Effect.Effect<void> = () => Effect.void) => Consumer.make(Numbers, {}, handler)

describe("Consumer.events", () => {
  it.effect("pause and resume say so once, and what is paused is not asked for", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        const c = yield* consumer()
        const tags: Array<string> = []
        yield* Effect.forkScoped(Stream.runForEach(c.events, (e) => Effect.sync(() => void tags.push(e._tag))))
        yield* Effect.sleep("1 second")
        yield* c.pause
        yield* c.pause
        assert.isTrue((yield* c.state).paused)
        // the open receive may still bring something; after it nothing is asked
        yield* Effect.sleep("25 seconds")
        yield* send(sqs, Numbers, 1)
        yield* Effect.sleep("1 minute")
        assert.strictEqual(view(sqs).deliveries.length, 0)
        yield* c.resume
        yield* c.resume
        yield* Effect.sleep("1 second")
        assert.isFalse((yield* c.state).paused)
        assert.strictEqual(view(sqs).deliveries.length, 1)
        assert.deepStrictEqual(
          tags.filter((t) => t === "Paused" || t === "Resumed"),
          ["Paused", "Resumed"]
        )
      })
    )
  )

  it.effect("ends with Drained, also for whoever comes later", () =>
    simulate({}, () =>
      Effect.gen(function* () {
        const ready = yield* Deferred.make<Consumer.Consumer>()
        const worker = yield* Effect.fork(
          Effect.scoped(Effect.flatMap(consumer(), (c) => Effect.zipRight(Deferred.succeed(ready, c), Effect.never)))
        )
        const c = yield* Deferred.await(ready)
        const all = yield* Effect.fork(Stream.runCollect(c.events))
        yield* Effect.sleep("1 second")
        yield* Fiber.interrupt(worker)
        const tags = Chunk.toReadonlyArray(yield* Fiber.join(all)).map((e) => e._tag)
        assert.deepStrictEqual(tags, ["Draining", "Drained"])
        assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(c.events)), [])
      })
    )
  )

  /** How long 2,000 messages take, with a subscriber. */
  const took = (subscribe: (c: Consumer.Consumer) => Effect.Effect<unknown>) =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        let done = 0
        const finished = yield* Deferred.make<void>()
        const c = yield* consumer(() =>
          Effect.delay(
            Effect.suspend(() => (++done === 2_000 ? Deferred.succeed(finished, undefined) : Effect.void)),
            "20 millis"
          )
        )
        yield* Effect.forkScoped(subscribe(c))
        yield* Effect.sleep("1 second")
        for (let n = 0; n < 2_000; n++) yield* send(sqs, Numbers, n)
        const start = yield* Clock.currentTimeMillis
        yield* Deferred.await(finished)
        return (yield* Clock.currentTimeMillis) - start
      })
    )

  it.effect("a subscriber that hangs does not slow the consumer", () =>
    Effect.gen(function* () {
      const alone = yield* took(() => Effect.void)
      // subscribed, and asleep ever after
      const withSlow = yield* took((c) => Stream.runForEach(c.events, () => Effect.never))
      assert.strictEqual(withSlow, alone)
    })
  )

  it.effect("one that looks again after 8,000 events finds the newest, about 4,000, in order", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        const c = yield* consumer()
        const woken = yield* Deferred.make<void>()
        const seen: Array<ConsumerEvent.ConsumerEvent> = []
        yield* Effect.forkScoped(
          Stream.runForEachChunk(c.events, (chunk) =>
            Effect.zipRight(
              Effect.sync(() => void seen.push(...chunk)),
              seen.length === 0 ? Deferred.await(woken) : Effect.void
            )
          )
        )
        yield* Effect.sleep("1 second")
        for (let n = 0; n < 2_000; n++) yield* send(sqs, Numbers, n)
        yield* Effect.sleep("5 minutes")
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
        const before = seen.length
        yield* Deferred.succeed(woken, undefined)
        yield* Effect.sleep("1 second")
        const late = seen.slice(before)
        assert.isAtMost(late.length, 4_096)
        assert.isAtLeast(late.length, 3_840)
        assert.strictEqual(late.at(-1)!._tag, "DeliverySettled")
        for (let i = 1; i < late.length; i++) assert.isAtLeast(late[i]!.at, late[i - 1]!.at)
      })
    )
  )

  it.effect("several subscribers each have all of it; one that leaves is forgotten", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        const c = yield* consumer()
        const first = yield* Effect.fork(Stream.runCollect(Stream.take(c.events, 4)))
        const second = yield* Effect.fork(Stream.runCollect(Stream.take(c.events, 8)))
        yield* Effect.sleep("1 second")
        yield* send(sqs, Numbers, 1)
        const four = Chunk.toReadonlyArray(yield* Fiber.join(first))
        yield* send(sqs, Numbers, 2)
        const eight = Chunk.toReadonlyArray(yield* Fiber.join(second))
        assert.deepStrictEqual(four, eight.slice(0, 4))
        assert.deepStrictEqual(
          four.map((e) => e._tag),
          ["Received", "RunStarted", "RunEnded", "DeliverySettled"]
        )
      })
    )
  )
})
