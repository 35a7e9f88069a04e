/** What users do in handlers and policies, and what they report when it goes wrong. */
import { Consumer, type ConsumerEvent, Policy, Redelivery, Settlement, Sqs, SqsQueue } from "@effect-sqs/core"
import { Invariants, Tracking, type VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Fiber, Option, ParseResult, Schedule, Schema } from "effect"
import { Numbers } from "./batchStage.js"
import { beside, send, simulate, view } from "./sim.js"
import { eventsOf, play, seconds, settledOf } from "./stage.js"

const Texts = SqsQueue.make("jobs", { schema: Schema.String })

const endOf = (sqs: VirtualSqs.VirtualSqs["Type"], nth = 0) => {
  const ask = view(sqs)
    .deliveries.filter((d) => d.queue === "jobs")
    [nth]?.asks.at(-1)
  return ask === undefined ? "nothing" : ask.kind === "delete" ? "delete" : ask.timeoutSeconds
}

describe("an error that is hard to print", () => {
  class Sly extends Error {
    override get message(): string {
      throw new Error("no message for you")
    }
  }
  const bare: unknown = Object.create(null)
  const circular: { self?: unknown } = {}
  circular.self = circular
  const errors: ReadonlyArray<readonly [string, unknown]> = [
    ["null", null],
    ["undefined", undefined],
    ["a symbol", Symbol("s")],
    ["an object without a prototype", bare],
    ["an error whose message throws", new Sly()],
    ["an object that is its own member", circular],
    ["a message that is no text", { _tag: "Odd", message: { toString: () => assert.fail("asked") } }],
    ["a message of a megabyte", new Error("x".repeat(1_048_576))],
    ["a message of characters that SQS refuses", new Error("\u0000\uD800\u0007")]
  ]
  for (const [what, error] of errors) {
    for (const [how, fail] of [
      ["a failure", Effect.fail(error)],
      ["a defect", Effect.die(error)]
    ] as const) {
      it.effect(`${what}, as ${how}: the message is dead-lettered all the same`, () =>
        simulate({}, (sqs) =>
          Effect.gen(function* () {
            yield* send(sqs, Numbers, 1)
            yield* beside(Consumer.run(Numbers, { redelivery: Redelivery.deadLetter }, () => fail))
            yield* Effect.sleep("1 second")
            assert.strictEqual(endOf(sqs), "delete")
            assert.strictEqual((yield* sqs.messages("dead")).length, 1)
          })
        )
      )
    }
  }
})

describe("plain JavaScript", () => {
  const handlers: ReadonlyArray<readonly [string, unknown]> = [
    ["nothing", () => undefined],
    ["a promise", () => Promise.resolve()],
    ["a number", () => 3],
    ["a generator", function* () {}]
  ]
  for (const [what, handler] of handlers) {
    it.effect(`a handler that answers ${what} instead of an effect has failed, and is not run for ever`, () =>
      simulate({}, (sqs) =>
        Effect.gen(function* () {
          yield* send(sqs, Numbers, 1)
          yield* beside(
            Consumer.run(Numbers, { redelivery: Redelivery.release("1 hour") }, handler as () => Effect.Effect<void>)
          )
          yield* Effect.sleep("1 second")
          assert.strictEqual(endOf(sqs), 3_600)
        })
      )
    )
  }

  for (const [what, settlement] of [
    ["nothing", undefined],
    ["true", true],
    ["a word", "Delete"],
    ["an end that there is not", { _tag: "Retry" }]
  ] as const) {
    it.effect(`a redelivery policy that answers ${what}: left to SQS, and the place is free`, () =>
      simulate({}, (sqs) =>
        Effect.gen(function* () {
          yield* send(sqs, Numbers, 1)
          const told: Array<string> = []
          yield* beside(
            Consumer.run(
              Numbers,
              {
                concurrency: 1,
                redelivery: Redelivery.make(() => Effect.succeed(settlement as never)),
                onEvent: (e) =>
                  Effect.sync(() => {
                    if (e._tag === "DeliverySettled") told.push(e.settled.asked._tag)
                  })
              },
              (n) => (n === 1 ? Effect.fail("no") : Effect.void)
            )
          )
          yield* Effect.sleep("1 second")
          yield* send(sqs, Numbers, 2)
          yield* Effect.sleep("1 second")
          assert.deepStrictEqual(told, ["Leave", "Delete"])
        })
      )
    )
  }
})

describe("a handler", () => {
  it.effect("with children: its message is deleted when they have cleaned up", () =>
    play(
      {
        handler: () =>
          Effect.zipRight(
            Effect.fork(Effect.onInterrupt(Effect.never, () => Effect.sleep("3 seconds"))),
            Effect.sleep("1 second")
          )
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("10 seconds")
          assert.deepStrictEqual(
            stage.deliveries()[0]!.asks.map((a) => [a.kind, a.sent.at]),
            [["delete", 4_000]]
          )
        })
    )
  )

  it.effect("that leaves a daemon: its message is deleted, and a stop does not wait for the daemon", () => {
    let daemon: Fiber.RuntimeFiber<never> | undefined
    return play(
      {
        handler: () => Effect.map(Effect.forkDaemon(Effect.never), (fiber) => void (daemon = fiber)),
        worker: { receive: { waitTime: "1 second" } }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("2500 millis")
          assert.strictEqual(settledOf(stage).length, 1)
          yield* stage.stop
          assert.isBelow(eventsOf(stage, "Drained")[0]!.at, 4_000)
          assert.isTrue(Option.isNone(yield* Fiber.poll(daemon!)))
        })
    )
  })

  for (const [what, run, outcome] of [
    [
      "parallel work of which one part fails",
      Effect.all([Effect.fail("no"), Effect.never], { concurrency: 2 }),
      "failure"
    ],
    ["an interruption whose cleanup dies", Effect.ensuring(Effect.interrupt, Effect.die("cleanup")), "failure"],
    ["an interruption", Effect.interrupt, "interrupted"]
  ] as const) {
    it.effect(`${what}: its run ends as ${outcome}`, () =>
      play({ handler: () => Effect.asVoid(run), worker: { redelivery: Redelivery.release("1 hour") } }, (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 second")
          assert.deepStrictEqual(
            eventsOf(stage, "RunEnded").map((e) => e.outcome),
            [outcome]
          )
        })
      )
    )
  }

  it.effect("that says later inside a policy with retries is not tried again", () =>
    play(
      {
        handler: () => Settlement.endWith(Settlement.Release("5 minutes")),
        worker: {
          policy: Policy.make({ retry: Schedule.recurs(3), attemptTimeout: "1 minute", totalTimeout: "1 hour" })
        }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 second")
          assert.strictEqual(stage.deliveries()[0]!.runs.length, 1)
          assert.strictEqual(stage.deliveries()[0]!.asks.at(-1)!.timeoutSeconds, 300)
        })
    )
  )

  it.effect("whose own limit is shorter than a beat: cut there, released, and it comes again", () =>
    play(
      {
        handler: (_, d) => (d.receiveCount === 1 ? Effect.never : Effect.void),
        worker: { lease: { limit: "4 seconds" }, redelivery: Redelivery.release(0) }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("10 seconds")
          const [first, second] = stage.deliveries()
          assert.deepStrictEqual(
            first!.asks.map((a) => [a.kind, a.sent.at]),
            [["release", seconds(4)]]
          )
          assert.strictEqual(second!.asks.at(-1)!.kind, "delete")
        })
    )
  )

  it.effect("pauses its own consumer, and somebody resumes it", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        let runs = 0
        const self: Consumer.Consumer = yield* Consumer.make(Numbers, { concurrency: 1, prefetch: 0 }, () =>
          Effect.suspend(() => {
            runs++
            return runs === 1 ? self.pause : Effect.void
          })
        )
        for (const n of [1, 2, 3]) yield* send(sqs, Numbers, n)
        yield* Effect.sleep("30 seconds")
        assert.isAtMost(runs, 2)
        const before = runs
        yield* Effect.sleep("5 minutes")
        assert.strictEqual(runs, before)
        yield* self.resume
        yield* Effect.sleep("1 second")
        assert.strictEqual(runs, 3)
      })
    )
  )
})

describe("a redelivery policy that hangs", () => {
  it.effect("holds its delivery no longer than the lease may be held, and then leaves it", () =>
    play(
      {
        handler: () => Effect.fail("no"),
        worker: {
          concurrency: 1,
          lease: { limit: "2 minutes" },
          redelivery: Redelivery.make((f) => (f.receiveCount === 1 ? Effect.never : Effect.succeed(Settlement.Delete)))
        },
        expect: "off"
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("10 minutes")
          const settled = settledOf(stage)
          assert.deepStrictEqual(
            settled.map((s) => [s.asked._tag, s.confirmed, s.problem?._tag]),
            [
              ["Leave", false, "LeaseLost"],
              ["Delete", true, undefined]
            ]
          )
        })
    )
  )
})

describe("bodies", () => {
  it.effect("a schema that needs a service has it, and what it fails with is undecodable", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        class Keys extends Context.Tag("test/Keys")<Keys, ReadonlySet<string>>() {}
        const Sealed = Schema.transformOrFail(Schema.String, Schema.String, {
          strict: true,
          decode: (text, _, ast) =>
            Effect.flatMap(Keys, (keys) =>
              keys.has(text) ? ParseResult.succeed(`opened ${text}`) : ParseResult.fail(new ParseResult.Type(ast, text))
            ).pipe(Effect.delay("1 second")),
          encode: (text) => ParseResult.succeed(text)
        })
        const Jobs = SqsQueue.make("jobs", { schema: Sealed })
        yield* send(sqs, Texts, "a")
        yield* send(sqs, Texts, "b")
        const seen: Array<string> = []
        yield* beside(
          Consumer.run(Jobs, { undecodable: Redelivery.delete }, (text) =>
            Effect.sync(() => void seen.push(text))
          ).pipe(Effect.provideService(Keys, new Set(["a"])))
        )
        yield* Effect.sleep("3 seconds")
        assert.deepStrictEqual(seen, ["opened a"])
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("a schema opens the envelope of SNS, and one of EventBridge", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        const Job = Schema.Struct({ id: Schema.String })
        const Notice = Schema.pluck(Schema.Struct({ Message: Schema.parseJson(Job) }), "Message")
        const Event = Schema.pluck(Schema.Struct({ detail: Job }), "detail")
        const Jobs = SqsQueue.make("jobs", { schema: Schema.Union(Notice, Event, Job) })
        const Any = SqsQueue.make("jobs", { schema: Schema.Unknown })
        yield* send(sqs, Any, {
          Type: "Notification",
          TopicArn: "arn:aws:sns:…",
          Message: '{"id":"a"}',
          Signature: "…"
        })
        yield* send(sqs, Any, { version: "0", "detail-type": "made", source: "jobs", detail: { id: "b" } })
        yield* send(sqs, Any, { id: "c" })
        yield* send(sqs, Any, { Type: "Notification", Message: "no JSON" })
        const seen: Array<string> = []
        const undecodable = Redelivery.deadLetter
        yield* beside(Consumer.run(Jobs, { undecodable }, ({ id }) => Effect.sync(() => void seen.push(id))))
        yield* Effect.sleep("3 seconds")
        assert.deepStrictEqual(seen.sort(), ["a", "b", "c"])
        assert.strictEqual((yield* sqs.messages("dead")).length, 1)
      })
    )
  )

  it.effect("two consumers of one queue with different bodies hand each other's on, and nothing is lost", () =>
    simulate({ maxReceiveCount: 100 }, (sqs) =>
      Effect.gen(function* () {
        const A = SqsQueue.make("jobs", { schema: Schema.Struct({ a: Schema.Number }) })
        const B = SqsQueue.make("jobs", { schema: Schema.Struct({ b: Schema.Number }) })
        const seen: Array<string> = []
        for (let n = 0; n < 20; n++) yield* n % 2 === 0 ? send(sqs, A, { a: n }) : send(sqs, B, { b: n })
        const options = { concurrency: 2, undecodable: Redelivery.release(0) }
        const run = <T>(queue: SqsQueue.SqsQueue<T, T>) =>
          beside(Consumer.run(queue, options, (body) => Effect.sync(() => void seen.push(JSON.stringify(body)))))
        yield* run(A)
        yield* run(B)
        yield* Effect.sleep("2 minutes")
        assert.strictEqual(new Set(seen).size, 20)
        assert.strictEqual(seen.length, 20)
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("of no bytes is none; a text of no characters is one; attributes, times and a group may be missing", () =>
    simulate({}, () =>
      Effect.gen(function* () {
        const port = yield* Sqs.Sqs
        let given = false
        const empty = (body: string): Sqs.ReceivedMessage =>
          ({
            messageId: "m",
            receiptHandle: "h",
            body,
            receiveCount: 1,
            attributes: {}
          }) as unknown as Sqs.ReceivedMessage
        const bare: Sqs.Sqs["Type"] = {
          ...port,
          receive: () =>
            Effect.suspend(() => {
              if (given) return Effect.delay(Effect.succeed([]), "20 seconds")
              given = true
              return Effect.succeed([empty(""), empty('""')])
            })
        }
        const seen: Array<readonly [string, unknown]> = []
        const told: Array<ConsumerEvent.ConsumerEvent["_tag"]> = []
        yield* beside(
          Consumer.run(Texts, { onEvent: (e) => Effect.sync(() => void told.push(e._tag)) }, (body, d) =>
            Effect.sync(() => void seen.push([body, d.message.attributes]))
          ).pipe(Effect.provideService(Sqs.Sqs, bare))
        )
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(seen, [["", {}]])
        assert.strictEqual(told.filter((t) => t === "Undecodable").length, 1)
      })
    )
  )
})

it.effect("ten consumers in one process, on one queue: each message once, and a clean stop of all", () =>
  simulate({}, (sqs) =>
    Effect.gen(function* () {
      for (let n = 0; n < 200; n++) yield* send(sqs, Numbers, n)
      const seen: Array<number> = []
      const handler = Tracking.tracked({ journal: sqs.journal, queue: "jobs" }, (n: number) =>
        Effect.delay(
          Effect.sync(() => void seen.push(n)),
          Duration.millis(100 + n)
        )
      )
      for (let i = 0; i < 10; i++) yield* beside(Consumer.run(Numbers, { concurrency: 3, prefetch: 0 }, handler))
      yield* Effect.sleep("1 minute")
      assert.strictEqual(new Set(seen).size, 200)
      assert.strictEqual(seen.length, 200)
      Invariants.assertAll(sqs.journal.entries, { queue: "jobs", concurrency: 30 })
    })
  )
)
