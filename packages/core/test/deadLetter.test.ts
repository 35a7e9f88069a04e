import { type ConsumerEvent, Consumer, Redelivery, SqsQueue } from "@effect-sqs/core"
import { Fault, Invariants, SimClock, type VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { beside, send, simulate, view } from "./sim.js"

class Unknown extends Schema.TaggedError<Unknown>()("Unknown", { name: Schema.String }) {
  override get message() {
    return `no dataset ${this.name}`
  }
}

const Jobs = SqsQueue.make("jobs", { schema: Schema.String })

const Fifo = SqsQueue.make("jobs.fifo", { schema: Schema.String })

describe("dead-lettering", () => {
  const deadLettered = { redelivery: Redelivery.deadLetter, concurrency: 1 } as const

  const fails = (n: string) => new Unknown({ name: n })

  /** the events of its settlements: what was asked, whether it was confirmed, and the problem */
  const settledBy = (told: Array<string>) => (e: ConsumerEvent.ConsumerEvent) =>
    Effect.sync(() => {
      if (e._tag !== "DeliverySettled") return
      const { asked, confirmed, problem } = e.settled
      told.push([asked._tag, confirmed ? "confirmed" : "not confirmed", problem?._tag ?? ""].join(" ").trim())
    })

  const texts = (message: VirtualSqs.MessageState | undefined) =>
    Object.fromEntries(Object.entries(message?.attributes ?? {}).map(([name, a]) => [name, a.StringValue]))

  it.effect("E7 sends the copy with its reason, then deletes the message", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        const told: Array<string> = []
        const id = yield* send(sqs, Jobs, "a", { attributes: { tenant: "north" } })
        yield* beside(Consumer.run(Jobs, { ...deadLettered, onEvent: settledBy(told) }, fails))
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
        const [copy] = yield* sqs.messages("dead")
        assert.strictEqual(copy?.body, JSON.stringify("a"))
        assert.deepStrictEqual(texts(copy), {
          tenant: "north",
          "effect_sqs.reason": "Unknown: no dataset a",
          "effect_sqs.error": "Unknown",
          "effect_sqs.receive_count": "1",
          "effect_sqs.origin": "jobs",
          "effect_sqs.message_id": id
        })
        assert.deepStrictEqual(told, ["DeadLetter confirmed"])
        Invariants.assertAll(sqs.journal.entries, { queue: "jobs", deadLetterQueue: "dead", neverRuns: () => true })
      })
    )
  )

  it.effect("goes to the queue that the option names, before that of the redrive policy", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* sqs.createQueue("graveyard")
        yield* send(sqs, Jobs, "a")
        yield* beside(Consumer.run(Jobs, { ...deadLettered, deadLetterQueue: "graveyard" }, fails))
        yield* Effect.sleep("1 second")
        assert.strictEqual((yield* sqs.messages("graveyard")).length, 1)
        assert.strictEqual((yield* sqs.messages("dead")).length, 0)
      })
    )
  )

  it.effect(
    "a delete that is refused after the copy is made up for when the message comes again, with no second copy",
    () =>
      simulate({ faults: Fault.error("AccessDenied").pipe(Fault.on("DeleteMessageBatch"), Fault.times(1)) }, (sqs) =>
        Effect.gen(function* () {
          const told: Array<string> = []
          let runs = 0
          yield* send(sqs, Jobs, "a")
          yield* beside(
            Consumer.run(Jobs, { ...deadLettered, onEvent: settledBy(told) }, (n) =>
              Effect.suspend(() => (runs++, fails(n)))
            )
          )
          yield* Effect.sleep("1 minute")
          assert.deepStrictEqual(told, ["DeadLetter not confirmed AccessDenied", "Delete confirmed"])
          assert.strictEqual(runs, 1)
          assert.strictEqual((yield* sqs.messages("dead")).length, 1)
          assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
        })
      )
  )

  it.effect("a process that dies between copy and delete leaves a duplicate, never a loss", () =>
    simulate({ faults: Fault.latency("1 second").pipe(Fault.on("DeleteMessageBatch"), Fault.times(1)) }, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, Jobs, "a")
        const first = yield* SimClock.spawn("first", Consumer.run(Jobs, deadLettered, fails))
        yield* Effect.sleep("500 millis")
        yield* first.kill
        assert.strictEqual((yield* sqs.messages("dead")).length, 1)
        assert.strictEqual((yield* sqs.messages("jobs")).length, 1)
        yield* beside(Consumer.run(Jobs, deadLettered, fails))
        yield* Effect.sleep("1 minute")
        const copies = yield* sqs.messages("dead")
        assert.deepStrictEqual(
          copies.map((m) => texts(m)["effect_sqs.receive_count"]),
          ["1", "2"]
        )
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("a copy whose answer was lost is sent again: twice in a standard queue, once in a FIFO queue", () => {
    const faults = Fault.loseReply.pipe(Fault.on("SendMessageBatch"), Fault.times(1))
    const copies = (queue: SqsQueue.SqsQueue<string, string>, dead: string, options?: VirtualSqs.SendOptions) =>
      simulate({ name: queue.name, faults }, (sqs) =>
        Effect.gen(function* () {
          yield* send(sqs, queue, "a", options)
          yield* beside(Consumer.run(queue, deadLettered, fails))
          yield* Effect.sleep("5 seconds")
          assert.deepStrictEqual(yield* sqs.messages(queue.name), [])
          return (yield* sqs.messages(dead)).length
        })
      )
    return Effect.gen(function* () {
      assert.strictEqual(yield* copies(Jobs, "dead"), 2)
      assert.strictEqual(yield* copies(Fifo, "dead.fifo", { groupId: "g", deduplicationId: "1" }), 1)
    })
  })

  it.effect("without a dead-letter queue the message is left to SQS, and that is said", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* sqs.createQueue("lonely")
        const lonely = SqsQueue.make("lonely", { schema: Schema.String })
        const told: Array<string> = []
        yield* send(sqs, lonely, "a")
        yield* beside(Consumer.run(lonely, { ...deadLettered, onEvent: settledBy(told) }, fails))
        yield* Effect.sleep("40 seconds")
        assert.deepStrictEqual(told, Array(2).fill("DeadLetter not confirmed NoDeadLetterQueue"))
        const { deliveries } = view(sqs)
        // it came again when its visibility had ended, and not before
        assert.deepStrictEqual(
          deliveries.map((d) => [d.received.at, d.asks.length]),
          [
            [0, 0],
            [30_000, 0]
          ]
        )
      })
    )
  )

  it.effect("without the permission to send it is left to SQS, whose redrive policy takes it in the end", () =>
    simulate({ deny: ["sqs:SendMessage"], maxReceiveCount: 3 }, (sqs) =>
      Effect.gen(function* () {
        const told: Array<string> = []
        yield* send(sqs, Jobs, "a")
        yield* beside(Consumer.run(Jobs, { ...deadLettered, onEvent: settledBy(told) }, fails))
        yield* Effect.sleep("3 minutes")
        assert.deepStrictEqual(told, Array(3).fill("DeadLetter not confirmed AccessDenied"))
        const dead = yield* sqs.messages("dead")
        assert.strictEqual(dead.length, 1)
        assert.deepStrictEqual(dead.map(texts), [{}])
        assert.strictEqual(view(sqs).messages.size, 1)
      })
    )
  )

  it.effect("a message that is full to the last byte goes without a reason", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        const body = "x".repeat(1_048_576 - 2)
        yield* send(sqs, Jobs, body)
        yield* beside(Consumer.run(Jobs, deadLettered, fails))
        yield* Effect.sleep("1 second")
        const dead = yield* sqs.messages("dead")
        assert.deepStrictEqual(dead.map(texts), [{}])
        assert.strictEqual(dead[0]?.body.length, 1_048_576)
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("on a FIFO queue the copy keeps its group, and the next of the group runs when it is confirmed", () =>
    simulate({ name: "jobs.fifo", faults: Fault.latency("2 seconds").pipe(Fault.on("SendMessageBatch")) }, (sqs) =>
      Effect.gen(function* () {
        for (const n of ["1", "2"]) yield* send(sqs, Fifo, n, { groupId: "g", deduplicationId: n })
        const started: Array<readonly [string, number]> = []
        const policy = Redelivery.fifo.pipe(Redelivery.catchTag("Unknown", Redelivery.deadLetter))
        yield* beside(
          Consumer.run(Fifo, { redelivery: policy }, (n) =>
            Effect.zipRight(
              Effect.map(SimClock.trueTimeMillis, (at) => void started.push([n, at])),
              n === "1" ? fails(n) : Effect.void
            )
          )
        )
        yield* Effect.sleep("10 seconds")
        assert.deepStrictEqual(
          started.map(([n]) => n),
          ["1", "2"]
        )
        assert.isAtLeast(started[1]![1], 2_000)
        const [copy] = yield* sqs.messages("dead.fifo")
        assert.strictEqual(copy?.groupId, "g")
        assert.deepStrictEqual(yield* sqs.messages("jobs.fifo"), [])
      })
    )
  )
})
