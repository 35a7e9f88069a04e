import { type Producer, type Sqs, type SqsError, SqsQueue } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric, Schema, Tracer } from "effect"
import * as Traceparent from "../src/internal/traceparent.js"
import { error, failed, Fifo, Job, Jobs, jobs, portOf, producerOf, sent, whole } from "./producerStub.js"

describe("make", () => {
  it.effect("looks the URL up once, by name", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Jobs)
      yield* producer.send({ id: "a" })
      yield* producer.send({ id: "b" })
      assert.deepStrictEqual(stub.lookups, ["jobs"])
      assert.strictEqual(producer.queueUrl, "http://localhost/0/jobs")
      assert.deepStrictEqual(
        stub.calls.map((call) => call.queueUrl),
        ["http://localhost/0/jobs", "http://localhost/0/jobs"]
      )
    })
  )

  it.effect("asks nobody where the contract has a URL", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const url = "http://localhost:9324/0/jobs"
      const producer = yield* producerOf(stub, SqsQueue.make(url, { schema: Job }))
      yield* producer.send({ id: "a" })
      assert.deepStrictEqual(stub.lookups, [])
      assert.strictEqual(stub.calls[0]?.queueUrl, url)
    })
  )

  it.effect("tries a lookup again that can succeed, and no other", () =>
    Effect.gen(function* () {
      let lookups = 0
      const lookup = (e: SqsError.SqsError, failures: number) => ({
        port: {
          ...portOf().port,
          queueUrl: () => Effect.suspend(() => (lookups++ < failures ? Effect.fail(e) : Effect.succeed("url")))
        }
      })
      assert.strictEqual((yield* whole(producerOf(lookup(error("InternalError"), 2), Jobs))).queueUrl, "url")
      assert.strictEqual(lookups, 3)
      lookups = 0
      const missing = yield* Effect.flip(whole(producerOf(lookup(error("QueueDoesNotExist"), 2), Jobs)))
      assert.strictEqual(missing._tag, "QueueMissing")
      assert.strictEqual(lookups, 1)
    })
  )
})

describe("send", () => {
  it.effect("answers what SQS gave the message", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Jobs)
      assert.deepStrictEqual(yield* producer.send({ id: "a" }), { messageId: "m-a", sequenceNumber: undefined })
      assert.deepStrictEqual(stub.calls[0]?.entries, [
        {
          body: `{"id":"a"}`,
          attributes: undefined,
          delaySeconds: undefined,
          groupId: undefined,
          deduplicationId: undefined
        }
      ])
    })
  )

  it.effect("writes attributes by the type of their values", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Jobs)
      const binaryValue = new Uint8Array([1, 2])
      yield* producer.send(
        { id: "a" },
        { attributes: { s: "x", n: 1.5, b: binaryValue, own: { dataType: "Number.cents", stringValue: "99" } } }
      )
      assert.deepStrictEqual(stub.calls[0]?.entries[0]?.attributes, {
        s: { dataType: "String", stringValue: "x" },
        n: { dataType: "Number", stringValue: "1.5" },
        b: { dataType: "Binary", binaryValue },
        own: { dataType: "Number.cents", stringValue: "99" }
      })
    })
  )

  it.effect("rounds a delay up to whole seconds, up to 900", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Jobs)
      yield* producer.send({ id: "a" }, { delay: "1500 millis" })
      yield* producer.send({ id: "a" }, { delay: "15 minutes" })
      assert.deepStrictEqual(
        stub.calls.map((call) => call.entries[0]?.delaySeconds),
        [2, 900]
      )
    })
  )

  it.effect("takes group and deduplication id from the contract, or from the options first", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Fifo)
      yield* producer.send({ id: "a" })
      yield* producer.send({ id: "a" }, { groupId: "g", deduplicationId: "d" })
      assert.deepStrictEqual(
        stub.calls.map(({ entries: [entry] }) => [entry?.groupId, entry?.deduplicationId]),
        [
          ["a", "d-a"],
          ["g", "d"]
        ]
      )
    })
  )

  it.effect("sends a group to a standard queue: shares are fair by it", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, SqsQueue.make("jobs", { schema: Job, groupId: () => "tenant-1" }))
      yield* producer.send({ id: "a" })
      assert.strictEqual(stub.calls[0]?.entries[0]?.groupId, "tenant-1")
    })
  )

  const refused = <A, I>(queue: SqsQueue.SqsQueue<A, I>, body: A, options?: Producer.SendOptions) =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, queue)
      const e = yield* Effect.flip(producer.send(body, options))
      assert.strictEqual(stub.calls.length, 0)
      return e
    })

  const faultsOf = (e: Producer.SendError) => (e._tag === "InvalidMessage" ? e.faults : [e._tag])

  it.effect("refuses what SQS would refuse, before it is sent, and says all of it", () =>
    Effect.gen(function* () {
      const a = { id: "a" }
      const bare = SqsQueue.make("jobs.fifo", { schema: Job })
      assert.match(faultsOf(yield* refused(bare, a)).join(), /needs a groupId/)
      assert.match(faultsOf(yield* refused(Fifo, a, { delay: "1 second" })).join(), /takes no delay/)
      assert.match(faultsOf(yield* refused(Jobs, a, { delay: "901 seconds" })).join(), /a delay of 901 s/)
      assert.match(faultsOf(yield* refused(Jobs, a, { delay: "forever" as never })).join(), /could not be read/)
      assert.match(faultsOf(yield* refused(Jobs, a, { deduplicationId: "d" })).join(), /takes no deduplicationId/)
      assert.match(faultsOf(yield* refused(Fifo, { id: "a b" })).join(), /^groupId: .*,deduplicationId: /)
      assert.match(faultsOf(yield* refused(Fifo, a, { groupId: "x".repeat(129) })).join(), /^groupId/)
      const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`a${i}`, "x"]))
      assert.match(faultsOf(yield* refused(Jobs, a, { attributes: eleven })).join(), /11 attributes/)
      const attributes = {
        "AWS.x": "x",
        "a..b": "x",
        ".a": "x",
        "a.": "x",
        "a b": "x",
        empty: "",
        none: new Uint8Array()
      }
      assert.strictEqual(faultsOf(yield* refused(Jobs, a, { attributes })).length, 7)
      assert.match(
        faultsOf(yield* refused(Jobs, a, { attributes: { x: { dataType: "Date", stringValue: "x" } } })).join(),
        /type is String, Number or Binary/
      )
    })
  )

  it.effect("takes a contract whose ids throw for a message that cannot be sent", () =>
    Effect.gen(function* () {
      const Throwing = SqsQueue.make("jobs.fifo", {
        schema: Job,
        groupId: () => {
          throw new Error("no customer")
        }
      })
      assert.match(faultsOf(yield* refused(Throwing, { id: "a" })).join(), /no customer/)
    })
  )

  it.effect("fails with EncodeError for a body that is not what the schema says", () =>
    Effect.gen(function* () {
      const Positive = SqsQueue.make("jobs", { schema: Schema.Positive })
      assert.strictEqual((yield* refused(Positive, -1))._tag, "EncodeError")
    })
  )

  it.effect("counts body and attributes in bytes of UTF-8, and tells size and limit of what is too large", () =>
    Effect.gen(function* () {
      const Texts = SqsQueue.make("texts", { schema: Schema.String })
      const limit = 1_048_576
      // quotes 2, name 1, type 6, value 2
      const attributes = { n: "é" }
      const room = limit - 2 - 1 - 6 - 2
      const stub = portOf((_, entries) =>
        entries.map(() => ({ _tag: "Done", value: { messageId: "m", sequenceNumber: undefined } }))
      )
      const producer = yield* producerOf(stub, Texts)
      yield* producer.send("x".repeat(room), { attributes })
      const e = yield* refused(Texts, `${"x".repeat(room - 1)}é`, { attributes })
      assert.isTrue(e._tag === "MessageTooLarge" && e.sizeBytes === limit + 1 && e.limitBytes === limit)
      assert.include(e.message, "has 1048577 bytes, 1048576 are possible")
    })
  )

  it.effect("fails with what SQS answered to the message", () =>
    Effect.gen(function* () {
      const producer = yield* producerOf(
        portOf((_, entries) => entries.map(() => failed("InvalidMessageContents"))),
        Jobs
      )
      assert.strictEqual((yield* Effect.flip(producer.send({ id: "a" })))._tag, "RefusedInput")
    })
  )
})

describe("what can be watched", () => {
  it.effect("sends the trace context of its own span, inside the caller's", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Jobs)
      const outer = yield* producer
        .send({ id: "a" })
        .pipe(Effect.zipRight(Effect.currentSpan), Effect.withSpan("outer"))
      const attribute = stub.calls[0]?.entries[0]?.attributes?.traceparent
      const span = Traceparent.decode(attribute?.stringValue ?? "")
      assert.strictEqual(span?.traceId, outer.traceId)
      assert.notStrictEqual(span?.spanId, outer.spanId)
      assert.isTrue(span?.sampled)
    })
  )

  it.effect("opens a span for a call of its own, by the conventions", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.Span> = []
      const native = yield* Effect.tracer
      const tracer = Tracer.make({
        span: (...args) => {
          const span = native.span(...args)
          spans.push(span)
          return span
        },
        context: native.context.bind(native)
      })
      const inside: Array<string> = []
      const stub = portOf()
      const port: Sqs.Sqs["Type"] = {
        ...stub.port,
        sendBatch: (url, entries) =>
          Effect.flatMap(Effect.orDie(Effect.currentSpan), (span) => {
            inside.push(span.name)
            return stub.port.sendBatch(url, entries)
          })
      }
      const producer = yield* producerOf({ port }, SqsQueue.make("http://localhost/0/jobs", { schema: Job }))
      yield* producer.sendAll(jobs(12)).pipe(Effect.withSpan("outer"), Effect.withTracer(tracer))
      const span = spans.find((s) => s.name === "send jobs")
      assert.strictEqual(span?.kind, "producer")
      assert.deepStrictEqual(Object.fromEntries(span?.attributes ?? []), {
        "messaging.system": "aws_sqs",
        "messaging.destination.name": "jobs",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send"
      })
      assert.strictEqual(spans.length, 2)
      assert.deepStrictEqual(inside, ["send jobs", "send jobs"])
    })
  )

  const attributesWith = (attributes: Producer.SendOptions["attributes"], options?: Producer.ProducerOptions) =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Jobs, options)
      yield* producer.send({ id: "a" }, { attributes }).pipe(Effect.withSpan("outer"))
      return stub.calls[0]?.entries[0]?.attributes ?? {}
    })

  it.effect("adds no context without a span, when told not to, or without room", () =>
    Effect.gen(function* () {
      const stub = portOf()
      yield* Effect.flatMap(producerOf(stub, Jobs), (producer) => producer.send({ id: "a" }))
      assert.isUndefined(stub.calls[0]?.entries[0]?.attributes)
      assert.deepStrictEqual(yield* attributesWith(undefined, { traceContext: false }), {})
      const ten = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`a${i}`, "x"]))
      assert.notProperty(yield* attributesWith(ten), "traceparent")
      assert.strictEqual((yield* attributesWith({ traceparent: "own" })).traceparent?.stringValue, "own")
    })
  )

  it.effect("counts what was sent, and what was not under its error", () =>
    Effect.gen(function* () {
      const Counted = SqsQueue.make("counted", { schema: Job })
      const stub = portOf((_, entries) =>
        entries.map((entry, i) => (i === 0 ? failed("InvalidMessageContents") : sent(entry)))
      )
      const producer = yield* producerOf(stub, Counted)
      yield* producer.sendAll(jobs(3))
      const snapshot = yield* Metric.snapshot
      const countOf = (type: string | undefined) =>
        snapshot.flatMap(({ metricKey, metricState }) => {
          const labels = new Map(metricKey.tags.map((tag) => [tag.key, tag.value]))
          return metricKey.name === "messaging.client.sent.messages" &&
            labels.get("messaging.destination.name") === "counted" &&
            labels.get("error.type") === type
            ? [(metricState as unknown as { count: number }).count]
            : []
        })
      assert.deepStrictEqual(countOf(undefined), [2])
      assert.deepStrictEqual(countOf("RefusedInput"), [1])
    })
  )
})
