import { Consumer, type ConsumerEvent, Redelivery, SqsQueue } from "@effect-sqs/core"
import { Fault, Invariants, Tracking } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, ParseResult, Schema } from "effect"
import { beside, simulate, view } from "./sim.js"

const Jobs = SqsQueue.make("jobs", { schema: Schema.Struct({ n: Schema.Number }) })

const bad = '{"n":"secret"}'
const good = (n: number) => JSON.stringify({ n })

const bodiesOf = (messages: ReadonlyArray<{ readonly body: string }>) => messages.map((m) => m.body)

describe("E6 a body that is not what the schema says", () => {
  it.effect("goes to the dead letters with the reason, but not with its values; the good ones flow", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        for (const body of [good(1), bad, good(2), "no json", good(3)]) yield* sqs.send("jobs", body)
        const ran: Array<number> = []
        const reasons: Array<string> = []
        const handler = Tracking.tracked({ journal: sqs.journal, queue: "jobs" }, ({ n }: { readonly n: number }) =>
          Effect.sync(() => void ran.push(n))
        )
        const onEvent = (e: ConsumerEvent.ConsumerEvent) =>
          Effect.sync(() => void (e._tag === "Undecodable" && reasons.push(e.reason)))
        yield* beside(Consumer.run(Jobs, { concurrency: 1, prefetch: 0, onEvent }, handler))
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(ran, [1, 2, 3])
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
        const dead = yield* sqs.messages("dead")
        assert.deepStrictEqual(bodiesOf(dead), [bad, "no json"])
        const told = dead.map((m) => m.attributes["effect_sqs.reason"]?.StringValue)
        assert.deepStrictEqual(told, [
          "DecodeError: A message of jobs is not what its schema says: n: expected number, got string",
          "DecodeError: A message of jobs is not what its schema says: it is not JSON"
        ])
        assert.strictEqual(reasons.length, 2)
        for (const text of [...told, ...reasons]) assert.notInclude(text!, "secret")
        Invariants.assertAll(sqs.journal.entries, { queue: "jobs", concurrency: 1, deadLetterQueue: "dead" })
      })
    )
  )

  it.effect("without a dead-letter queue is delayed as any failure is, and never deleted", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* sqs.createQueue("lonely")
        yield* sqs.send("lonely", bad)
        const lonely = SqsQueue.make("lonely", { schema: Jobs.schema })
        yield* beside(Consumer.run(lonely, { redelivery: Redelivery.release("20 seconds") }, () => Effect.die("never")))
        yield* Effect.sleep("50 seconds")
        const { deliveries } = view(sqs)
        assert.deepStrictEqual(
          deliveries.map((d) => d.received.at),
          [0, 20_000, 40_000]
        )
        assert.deepStrictEqual(bodiesOf(yield* sqs.messages("lonely")), [bad])
      })
    )
  )

  it.effect("goes where a policy of its own says, by its error", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* sqs.send("jobs", bad)
        const undecodable = Redelivery.leave.pipe(
          Redelivery.catchTag("DecodeError", Redelivery.release("7 seconds")),
          Redelivery.lastAttempt(Redelivery.delete)
        )
        yield* beside(Consumer.run(Jobs, { undecodable }, () => Effect.die("never")))
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual(
          view(sqs).deliveries.map((d) => [d.received.at, d.asks.map((a) => a.kind)]),
          [
            [0, ["release"]],
            [7_000, ["release"]],
            [14_000, ["release"]],
            [21_000, ["release"]],
            [28_000, ["delete"]]
          ]
        )
      })
    )
  )

  it.effect("takes no place for good: hundred of them, and the places are free again", () =>
    simulate({ faults: Fault.latency("500 millis").pipe(Fault.on("SendMessageBatch")) }, (sqs) =>
      Effect.gen(function* () {
        for (let n = 0; n < 100; n++) yield* sqs.send("jobs", "{}")
        const consumer = yield* Consumer.make(Jobs, { concurrency: 4 }, () => Effect.die("never"))
        yield* Effect.sleep("1 second")
        // no more at a time than handlers may run: the copies are rate-limited by that
        const { waiting } = yield* consumer.state
        assert.isAtLeast(waiting, 1)
        assert.isAtMost(waiting, 4)
        yield* Effect.sleep("1 minute")
        assert.strictEqual((yield* sqs.messages("dead")).length, 100)
        assert.deepStrictEqual(yield* consumer.state, { paused: false, running: 0, waiting: 0, free: 4 })
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
      })
    )
  )
})

describe("a schema that needs effects", () => {
  class Tenants extends Context.Tag("test/Tenants")<Tenants, ReadonlySet<string>>() {}

  const known = Schema.transformOrFail(Schema.String, Schema.String, {
    strict: true,
    decode: (tenant, _, ast) =>
      Effect.delay(
        Effect.flatMap(Tenants, (tenants) =>
          tenant === "bug"
            ? Effect.die(new Error("bug"))
            : tenants.has(tenant)
              ? Effect.succeed(tenant)
              : Effect.fail(new ParseResult.Type(ast, tenant, "a known tenant"))
        ),
        "2 seconds"
      ),
    encode: ParseResult.succeed
  })
  const Calls = SqsQueue.make("jobs", { schema: Schema.Struct({ tenant: known }) })
  const body = (tenant: string) => JSON.stringify({ tenant })

  it.effect("decodes with its services; what fails or dies in it is undecodable", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        for (const tenant of ["north", "nobody", "bug", "south"]) yield* sqs.send("jobs", body(tenant))
        const ran: Array<string> = []
        yield* beside(
          Consumer.run(Calls, {}, ({ tenant }) => Effect.sync(() => void ran.push(tenant))).pipe(
            Effect.provideService(Tenants, new Set(["north", "south"]))
          )
        )
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(ran, [])
        yield* Effect.sleep("2 seconds")
        assert.deepStrictEqual(ran, ["north", "south"])
        assert.deepStrictEqual(bodiesOf(yield* sqs.messages("dead")), [body("nobody"), body("bug")])
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("is decoded under the lease, and given back at a stop", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* sqs.send("jobs", body("north"))
        const slow = SqsQueue.make("jobs", {
          schema: Schema.transformOrFail(Schema.Unknown, Schema.Unknown, {
            strict: true,
            decode: (u) => Effect.delay(Effect.succeed(u), "70 seconds"),
            encode: ParseResult.succeed
          })
        })
        let runs = 0
        const run = Consumer.run(slow, {}, () => Effect.sync(() => void runs++))
        yield* Effect.scoped(Effect.zipRight(beside(run), Effect.sleep("60 seconds")))
        assert.strictEqual(runs, 0)
        assert.deepStrictEqual(yield* sqs.counters("jobs"), { visible: 1, inFlight: 0, delayed: 0 })
        yield* beside(run)
        yield* Effect.sleep("80 seconds")
        assert.strictEqual(runs, 1)
        assert.deepStrictEqual(yield* sqs.messages("jobs"), [])
        assert.strictEqual(view(sqs).deliveries.length, 2)
      })
    )
  )

  const hangs = (decoding: { open: number; started: number }) =>
    SqsQueue.make("jobs", {
      schema: Schema.transformOrFail(Schema.Unknown, Schema.Unknown, {
        strict: true,
        decode: () =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              decoding.open++
              decoding.started++
            }),
            () => Effect.never,
            () => Effect.sync(() => decoding.open--)
          ),
        encode: ParseResult.succeed
      })
    })

  const ends = {
    "its lease runs out": { heartbeat: "off" },
    "its lease reaches its limit": { limit: "29 seconds" }
  } as const
  for (const [what, lease] of Object.entries(ends)) {
    it.effect(`that hangs is interrupted when ${what}`, () =>
      simulate({ maxReceiveCount: 10 }, (sqs) =>
        Effect.gen(function* () {
          yield* sqs.send("jobs", body("north"))
          const decoding = { open: 0, started: 0 }
          const tags: Array<string> = []
          const onEvent = (e: ConsumerEvent.ConsumerEvent) => Effect.sync(() => void tags.push(e._tag))
          const options = { concurrency: 2, lease, receive: { waitTime: "1 second" }, onEvent } as const
          const consumer = yield* Consumer.make(hangs(decoding), options, () => Effect.void)
          yield* Effect.sleep("27 seconds")
          assert.deepStrictEqual(decoding, { open: 1, started: 1 })
          yield* consumer.pause
          yield* Effect.sleep("10 seconds")
          assert.strictEqual(decoding.open, 0)
          assert.deepStrictEqual(yield* consumer.state, { paused: true, running: 0, waiting: 0, free: 2 })
          // it is nobody's fault that it was not decoded
          assert.notInclude(tags, "Undecodable")
          yield* consumer.resume
          yield* Effect.sleep("70 seconds")
          assert.isAtMost(decoding.open, 1)
          assert.isAtLeast(decoding.started, 3)
        })
      )
    )
  }

  it.effect("that hangs is interrupted by a stop", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* sqs.send("jobs", body("north"))
        const decoding = { open: 0, started: 0 }
        const run = Consumer.run(hangs(decoding), {}, () => Effect.void)
        yield* Effect.scoped(Effect.zipRight(beside(run), Effect.sleep("10 seconds")))
        assert.deepStrictEqual(decoding, { open: 0, started: 1 })
        assert.deepStrictEqual(yield* sqs.counters("jobs"), { visible: 1, inFlight: 0, delayed: 0 })
      })
    )
  )
})
