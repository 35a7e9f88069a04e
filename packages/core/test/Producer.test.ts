import { Sqs, SqsError, SqsQueue } from "@effect-sqs/core"
import * as Producer from "@effect-sqs/core/Producer"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Metric, Schedule, Schema, TestClock, Tracer } from "effect"
import * as Traceparent from "../src/internal/traceparent.js"

const Job = Schema.Struct({ id: Schema.String })
const Jobs = SqsQueue.make("jobs", { schema: Job })
const Fifo = SqsQueue.make("jobs.fifo", {
  schema: Job,
  groupId: (job) => job.id,
  deduplicationId: (job) => `d-${job.id}`
})

const error = (code: string, detail = "text"): SqsError.SqsError =>
  SqsError.fromCode({ operation: "SendMessageBatch", queue: "jobs", code, detail })

type Answer = ReadonlyArray<Sqs.EntryResult<Sqs.Sent>> | SqsError.SqsError

const sent = (entry: Sqs.SendEntry): Sqs.EntryResult<Sqs.Sent> => ({
  _tag: "Done",
  value: { messageId: `m-${(JSON.parse(entry.body) as { id: string }).id}`, sequenceNumber: undefined }
})

const failed = (code: string): Sqs.EntryResult<Sqs.Sent> => ({ _tag: "Failed", error: error(code) })

/** A port that only sends: keeps what it got, and answers as told, everything accepted unless told otherwise. */
const portOf = (
  answer: (call: number, entries: ReadonlyArray<Sqs.SendEntry>) => Answer = (_, entries) => entries.map(sent)
) => {
  const calls: Array<{ readonly queueUrl: string; readonly entries: ReadonlyArray<Sqs.SendEntry> }> = []
  const lookups: Array<string> = []
  const unused = () => Effect.die("not used by a producer")
  const port: Sqs.Sqs["Type"] = {
    queueUrl: (name) =>
      Effect.sync(() => {
        lookups.push(name)
        return `http://localhost/0/${name}`
      }),
    sendBatch: (queueUrl, entries) =>
      Effect.suspend(() => {
        calls.push({ queueUrl, entries })
        const result = answer(calls.length, entries)
        return SqsError.isSqsError(result) ? Effect.fail(result) : Effect.succeed(result)
      }),
    attributes: unused,
    receive: unused,
    deleteBatch: unused,
    changeVisibilityBatch: unused,
    requestTimeoutMs: undefined
  }
  const idsOf = () =>
    calls.map((call) => call.entries.map((entry) => (JSON.parse(entry.body) as { id: string }).id).join(" "))
  return { port, calls, lookups, idsOf }
}

type Port = ReturnType<typeof portOf>

const producerOf = <A, I, R>(
  { port }: Pick<Port, "port">,
  queue: SqsQueue.SqsQueue<A, I, R>,
  options?: Producer.ProducerOptions
) => Producer.make(queue, options).pipe(Effect.provideService(Sqs.Sqs, port))

const jobs = (n: number) => Array.from({ length: n }, (_, i) => ({ id: String(i) }))

const tagsOf = (results: ReadonlyArray<Producer.SendResult>) =>
  results.map((result) => (result._tag === "Done" ? result.value.messageId : result.error._tag))

/** Runs to the end, whatever waits there are. */
const whole = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })

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

describe("sendAll", () => {
  it.effect("sends nothing when there is nothing to send", () =>
    Effect.gen(function* () {
      const stub = portOf()
      const producer = yield* producerOf(stub, Jobs)
      assert.deepStrictEqual(yield* producer.sendAll([]), [])
      assert.strictEqual(stub.calls.length, 0)
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
      const results = yield* producer.sendAll(["a", "b", "c", "d"].map((id) => ({ id: id + third })))
      assert.deepStrictEqual(
        stub.calls.map((call) => call.entries.length),
        [3, 1]
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

  it.effect("sends a whole call again that failed for a reason that can pass", () =>
    Effect.gen(function* () {
      const stub = portOf((call, entries) => (call < 3 ? error("RequestThrottled") : entries.map(sent)))
      const producer = yield* producerOf(stub, Jobs)
      assert.deepStrictEqual(tagsOf(yield* whole(producer.sendAll(jobs(2)))), ["m-0", "m-1"])
      assert.deepStrictEqual(stub.idsOf(), ["0 1", "0 1", "0 1"])
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
      const producer = yield* producerOf(portOf(), SqsQueue.make("http://localhost/0/jobs", { schema: Job }))
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

describe("traceparent", () => {
  const traceId = "0af7651916cd43dd8448eb211c80319c"
  const spanId = "b7ad6b7169203331"

  it("is the other way of its own writing", () => {
    for (const sampled of [true, false]) {
      const text = Traceparent.encode(Tracer.externalSpan({ traceId, spanId, sampled }))
      assert.strictEqual(text, `00-${traceId}-${spanId}-0${sampled ? 1 : 0}`)
      const span = Traceparent.decode(text ?? "")
      assert.deepStrictEqual([span?.traceId, span?.spanId, span?.sampled], [traceId, spanId, sampled])
    }
  })

  it("takes no text that W3C forbids", () => {
    for (const text of [
      "",
      "x",
      `ff-${traceId}-${spanId}-01`,
      `00-${"0".repeat(32)}-${spanId}-01`,
      `00-${traceId}-${"0".repeat(16)}-01`,
      `00-${traceId}-${spanId}`,
      `00-${traceId.toUpperCase()}-${spanId}-01`
    ]) {
      assert.isUndefined(Traceparent.decode(text))
    }
  })

  it("writes nothing for ids of another kind", () => {
    assert.isUndefined(Traceparent.encode(Tracer.externalSpan({ traceId: "abc", spanId: "1" })))
  })
})
