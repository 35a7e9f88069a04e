import { Consumer, Producer, Redelivery, Settlement, SqsQueue, Telemetry } from "@effect-sqs/core"
import { Fault } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Metric, MetricState, Option, Schema, Stream, Tracer } from "effect"
import { beside, send, simulate, view } from "./sim.js"

class Busy extends Schema.TaggedError<Busy>()("Busy", {}) {}

/** Metrics are global: each test has a queue of its own. */
const queueOf = (name: string) => SqsQueue.make(name, { schema: Schema.Number })

/** The metrics of a queue: the count, the gauge's value, or the number of values in a histogram. */
const metricsOf = (queue: string): Record<string, number> => {
  const found: Record<string, number> = {}
  for (const { metricKey, metricState } of Metric.unsafeSnapshot()) {
    const labels = metricKey.tags.filter((l) => l.key !== Telemetry.Attribute.destination)
    if (labels.length === metricKey.tags.length) continue
    if (!metricKey.tags.some((l) => l.value === queue)) continue
    const more = labels.flatMap((l) => (l.value === Telemetry.SYSTEM ? [] : [l.value]))
    const state: unknown = metricState
    found[[metricKey.name, ...more].join(" ")] = Number(
      MetricState.isGaugeState(state)
        ? state.value
        : MetricState.isCounterState(state) || MetricState.isHistogramState(state)
          ? state.count
          : NaN
    )
  }
  return found
}

const sumOf = (queue: string, name: string): number => {
  for (const { metricKey, metricState } of Metric.unsafeSnapshot()) {
    const mine = metricKey.name === name && metricKey.tags.some((l) => l.value === queue)
    if (mine && MetricState.isHistogramState(metricState)) return metricState.sum
  }
  return NaN
}

describe("metrics", () => {
  it("have the names of the design", () => {
    assert.deepStrictEqual(Object.values(Telemetry.MetricName), [
      "messaging.client.operation.duration",
      "messaging.client.consumed.messages",
      "messaging.client.sent.messages",
      "messaging.process.duration",
      "effect_sqs.running",
      "effect_sqs.waiting",
      "effect_sqs.slots",
      "effect_sqs.lease.beats",
      "effect_sqs.lease.beat_failures",
      "effect_sqs.lease.lost",
      "effect_sqs.lease.margin",
      "effect_sqs.settlement.failed",
      "effect_sqs.redelivered",
      "effect_sqs.receive_lag",
      "effect_sqs.poll.empty",
      "effect_sqs.poll.errors",
      "effect_sqs.fifo.blocked_groups",
      "effect_sqs.duplicates.suppressed",
      "effect_sqs.claims.taken_over",
      "effect_sqs.outcomes.unknown"
    ])
  })

  it.effect("count what happens: runs, a redelivery, calls, empty receives", () => {
    const queue = queueOf("metrics-runs")
    return simulate({ name: queue.name }, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, queue, 1)
        yield* send(sqs, queue, 2)
        yield* Effect.sleep("3 seconds")
        yield* beside(
          Consumer.run(queue, { concurrency: 7, redelivery: Redelivery.release("5 seconds") }, (n, d) =>
            Effect.sleep("2 seconds").pipe(Effect.zipRight(n === 2 && d.receiveCount === 1 ? new Busy() : Effect.void))
          )
        )
        yield* Effect.sleep("1 second")
        const early = metricsOf(queue.name)
        assert.deepStrictEqual(
          [early["effect_sqs.running"], early["effect_sqs.waiting"], early["effect_sqs.slots"]],
          [2, 0, 7]
        )
        yield* Effect.sleep("49 seconds")
        const receives = view(sqs).entries.filter((e) => e._tag === "CallEnded" && e.operation === "ReceiveMessage")
        assert.deepStrictEqual(metricsOf(queue.name), {
          "messaging.client.consumed.messages receive": 3,
          "messaging.process.duration success": 2,
          "messaging.process.duration failure": 1,
          "messaging.client.operation.duration receive": receives.length,
          "messaging.client.operation.duration ack": 2,
          "messaging.client.operation.duration nack": 1,
          "effect_sqs.running": 0,
          "effect_sqs.waiting": 0,
          "effect_sqs.slots": 7,
          "effect_sqs.redelivered": 1,
          "effect_sqs.receive_lag": 3,
          "effect_sqs.poll.empty": receives.length - 2
        })
        // two were 3 s old, one 10 s: 3 s, the run, and the delay
        assert.strictEqual(sumOf(queue.name, Telemetry.MetricName.receiveLag), 16)
        assert.strictEqual(sumOf(queue.name, Telemetry.MetricName.processDuration), 4)
      })
    )
  })

  it.effect("tell of the lease: beats, their margin and failures, losses by reason", () => {
    const queue = queueOf("metrics-lease")
    const faults = Fault.all(
      Fault.error("InternalFailure", { httpStatus: 500 }).pipe(
        Fault.on("ChangeMessageVisibilityBatch"),
        Fault.times(1)
      ),
      Fault.entries((_, index) => index === 0, "ReceiptHandleIsInvalid", { senderFault: true }).pipe(
        Fault.on("ChangeMessageVisibilityBatch"),
        Fault.during("50 seconds")
      )
    )
    return simulate({ name: queue.name, faults }, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, queue, 1)
        yield* beside(Consumer.run(queue, {}, () => Effect.never))
        yield* Effect.sleep("70 seconds")
        const m = metricsOf(queue.name)
        assert.strictEqual(m["effect_sqs.lease.beat_failures"], 1)
        assert.strictEqual(m["effect_sqs.lease.beats"], 3)
        assert.strictEqual(m["effect_sqs.lease.margin"], 3)
        assert.strictEqual(m["effect_sqs.lease.lost refused"], 1)
        assert.strictEqual(m["messaging.process.duration interrupted"], 1)
        assert.strictEqual(m["messaging.client.operation.duration nack ServiceError"], 1)
        // a lost lease is a settlement that nobody confirmed
        assert.strictEqual(m["effect_sqs.settlement.failed Leave LeaseLost"], 1)
      })
    )
  })

  it.effect("tell of refused settlements, failed polls and suppressed duplicates", () => {
    const queue = queueOf("metrics-trouble")
    const faults = Fault.all(
      Fault.error("AccessDenied").pipe(Fault.on("DeleteMessageBatch"), Fault.times(1)),
      Fault.error("RequestThrottled").pipe(Fault.on("ReceiveMessage"), Fault.during("2 seconds", "30 seconds"))
    )
    return simulate({ name: queue.name, faults, visibility: 60 }, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, queue, 1)
        let runs = 0
        yield* beside(Consumer.run(queue, {}, () => Effect.sync(() => void runs++)))
        yield* Effect.sleep("2 minutes")
        const m = metricsOf(queue.name)
        assert.strictEqual(runs, 1)
        assert.strictEqual(m["effect_sqs.settlement.failed Delete AccessDenied"], 1)
        assert.strictEqual(m["effect_sqs.duplicates.suppressed"], 1)
        assert.isAtLeast(m["effect_sqs.poll.errors Throttled"] ?? 0, 1)
        assert.strictEqual(
          m["messaging.client.operation.duration receive Throttled"],
          m["effect_sqs.poll.errors Throttled"]
        )
      })
    )
  })

  it.effect("cost nothing when they are off", () => {
    const queue = queueOf("metrics-off")
    return simulate({ name: queue.name }, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, queue, 1)
        yield* beside(Consumer.run(queue, { metrics: false }, () => Effect.void))
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual(yield* sqs.messages(queue.name), [])
        assert.deepStrictEqual(metricsOf(queue.name), {})
      })
    )
  })

  it.effect("a queue given by its URL is named by its name", () => {
    const name = "metrics-url"
    return simulate({ name }, (sqs) =>
      Effect.gen(function* () {
        const queue = queueOf(sqs.queueUrl(name))
        yield* sqs.send(name, "1")
        yield* beside(Consumer.run(queue, {}, () => Effect.void))
        yield* Effect.sleep("1 second")
        assert.strictEqual(metricsOf(name)["messaging.client.consumed.messages receive"], 1)
      })
    )
  })
})

/** A tracer that keeps its spans. */
const recorder = () => {
  const spans: Array<Tracer.Span & { readonly exit: () => Exit.Exit<unknown, unknown> | undefined }> = []
  let ids = 0
  const tracer = Tracer.make({
    context: (f) => f(),
    span: (name, parent, context, links, startTime, kind) => {
      const attributes = new Map<string, unknown>()
      let status: Tracer.SpanStatus = { _tag: "Started", startTime }
      const id = String(++ids)
      const span: (typeof spans)[number] = {
        _tag: "Span",
        name,
        spanId: id.padStart(16, "0"),
        traceId: Option.isSome(parent) ? parent.value.traceId : id.padStart(32, "0"),
        parent,
        context,
        links,
        kind,
        sampled: true,
        attributes,
        get status() {
          return status
        },
        exit: () => (status._tag === "Ended" ? status.exit : undefined),
        end: (endTime, exit) => {
          status = { _tag: "Ended", startTime, endTime, exit }
        },
        attribute: (key, value) => void attributes.set(key, value),
        event: () => {},
        addLinks: () => {}
      }
      spans.push(span)
      return span
    }
  })
  return { spans, tracer, named: (name: string) => spans.filter((span) => span.name === name) }
}

describe("spans", () => {
  const jobs = queueOf("jobs")

  it.effect("are off without a tracer of the user's own", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, jobs, 1)
        const seen: Array<Option.Option<Tracer.AnySpan>> = []
        yield* beside(
          Consumer.run(jobs, {}, () => Effect.map(Effect.option(Effect.currentParentSpan), (s) => void seen.push(s)))
        )
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(seen, [Option.none()])
      })
    )
  )

  it.effect("follow a message from its producer to its run and its settlement, linked", () => {
    const { named, spans, tracer } = recorder()
    return simulate({}, (sqs) =>
      Effect.gen(function* () {
        const producer = yield* Producer.make(jobs)
        const { messageId } = yield* producer.send(1).pipe(Effect.withSpan("request"))
        yield* beside(Consumer.run(jobs, {}, () => Effect.withSpan(Effect.void, "work")).pipe(Effect.withSpan("app")))
        yield* Effect.sleep("1 second")
        yield* sqs.messages("jobs")
        const [send] = named("send jobs")
        const [process] = named("process jobs")
        assert.strictEqual(process!.kind, "consumer")
        assert.isTrue(Option.isNone(process!.parent))
        assert.deepStrictEqual(
          process!.links.map((link) => [link.span.traceId, link.span.spanId]),
          [[send!.traceId, send!.spanId]]
        )
        assert.deepStrictEqual(Object.fromEntries(process!.attributes), {
          "messaging.system": "aws_sqs",
          "messaging.destination.name": "jobs",
          "messaging.operation.name": "process",
          "messaging.operation.type": "process",
          "messaging.message.id": messageId,
          "effect_sqs.receive_count": 1
        })
        assert.isTrue(Exit.isSuccess(process!.exit()!))
        const [work] = named("work")
        assert.strictEqual(Option.getOrThrow(work!.parent).spanId, process!.spanId)
        const [ack] = named("ack jobs")
        assert.deepStrictEqual(Object.fromEntries(ack!.attributes), {
          "messaging.system": "aws_sqs",
          "messaging.destination.name": "jobs",
          "messaging.operation.name": "ack",
          "messaging.operation.type": "settle",
          "messaging.batch.message_count": 1
        })
        assert.isAtLeast(named("receive jobs").length, 1)
        // whoever started the consumer would never see its trace end
        for (const span of spans) if (span.kind === "client") assert.isTrue(Option.isNone(span.parent), span.name)
      }).pipe(Effect.withTracer(tracer))
    )
  })

  it.effect("have the producer's span as parent, by option", () => {
    const { named, tracer } = recorder()
    return simulate({}, () =>
      Effect.gen(function* () {
        const producer = yield* Producer.make(jobs)
        yield* producer.send(1).pipe(Effect.withSpan("request"))
        yield* beside(Consumer.run(jobs, { spans: "parent" }, () => Effect.void))
        yield* Effect.sleep("1 second")
        const [send] = named("send jobs")
        const [process] = named("process jobs")
        assert.strictEqual(Option.getOrThrow(process!.parent).spanId, send!.spanId)
        assert.strictEqual(process!.traceId, send!.traceId)
        assert.deepStrictEqual(process!.links, [])
      }).pipe(Effect.withTracer(tracer))
    )
  })

  it.effect("are off by option, and stand alone where the producer's context is none", () => {
    const { named, spans, tracer } = recorder()
    return simulate({}, (sqs) =>
      Effect.gen(function* () {
        yield* sqs.send("jobs", "1", { attributes: { traceparent: "garbage" } })
        yield* Effect.scoped(
          Effect.zipRight(
            beside(Consumer.run(jobs, { spans: "off" }, () => Effect.fail("no"))),
            Effect.sleep("1 second")
          )
        )
        assert.deepStrictEqual(spans, [])
        yield* beside(Consumer.run(jobs, { spans: "parent" }, () => Effect.void))
        yield* Effect.sleep("1 minute")
        const [process] = named("process jobs")
        assert.isTrue(Option.isNone(process!.parent))
        assert.deepStrictEqual(process!.links, [])
      }).pipe(Effect.withTracer(tracer))
    )
  })

  it.effect("name the type of an error, of a run and of a call", () => {
    const { named, tracer } = recorder()
    const faults = Fault.error("RequestThrottled").pipe(Fault.on("ChangeMessageVisibilityBatch"), Fault.times(1))
    return simulate({ faults }, (sqs) =>
      Effect.gen(function* () {
        for (const n of [1, 2, 3]) yield* send(sqs, jobs, n)
        const ends = [new Busy(), Effect.die(new TypeError("bug")), Effect.fail("plain")]
        yield* beside(Consumer.run(jobs, { concurrency: 1 }, (n): Effect.Effect<void, unknown> => ends[n - 1]!))
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(
          named("process jobs").map((span) => span.attributes.get("error.type")),
          ["Busy", "TypeError", "_OTHER"]
        )
        assert.strictEqual(named("nack jobs")[0]!.attributes.get("error.type"), "Throttled")
      }).pipe(Effect.withTracer(tracer))
    )
  })

  it.effect("surround the runs of a stream, beside the context of whoever processes", () => {
    const { named, tracer } = recorder()
    class Zone extends Context.Tag("test/Zone")<Zone, string>() {}
    return simulate({}, () =>
      Effect.gen(function* () {
        const producer = yield* Producer.make(jobs)
        yield* producer.send(1).pipe(Effect.withSpan("request"))
        const work = Effect.flatMap(Zone, (zone) => Effect.withSpan(Effect.void, zone))
        yield* beside(
          Consumer.stream(jobs).pipe(
            Stream.mapEffect((d) =>
              d.process(() => work).pipe(Effect.provideService(Zone, "work"), Effect.withSpan("stream"))
            ),
            Stream.runDrain
          )
        )
        yield* Effect.sleep("1 second")
        const [process] = named("process jobs")
        assert.strictEqual(process!.links[0]!.span.spanId, named("send jobs")[0]!.spanId)
        assert.isTrue(Option.isNone(process!.parent))
        assert.strictEqual(Option.getOrThrow(named("work")[0]!.parent).spanId, process!.spanId)
      }).pipe(Effect.withTracer(tracer))
    )
  })

  it.effect("of a FIFO queue name the group", () => {
    const { named, tracer } = recorder()
    const fifo = queueOf("jobs.fifo")
    return simulate({ name: fifo.name }, (sqs) =>
      Effect.gen(function* () {
        yield* send(sqs, fifo, 1, { groupId: "g-1", deduplicationId: "1" })
        yield* beside(Consumer.run(fifo, {}, () => Settlement.endWith(Settlement.Leave)))
        yield* Effect.sleep("1 second")
        assert.strictEqual(named("process jobs.fifo")[0]!.attributes.get("aws.sqs.message_group_id"), "g-1")
      }).pipe(Effect.withTracer(tracer))
    )
  })
})
