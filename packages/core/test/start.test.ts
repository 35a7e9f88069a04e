import {
  Consumer,
  ConsumerLimit,
  type ConsumerEvent,
  Policy,
  Redelivery,
  Sqs,
  SqsError,
  SqsQueue,
  StartError
} from "@effect-sqs/core"
import { Fault, VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option, Schedule, Schema, TestClock } from "effect"
import { calls, receives, sendMany } from "./calls.js"
import { jobs, passUntilDone, worker } from "./support.js"

const queueOf = (name: string) => SqsQueue.make(name, { schema: Schema.Number })

const url = "http://virtual-sqs/000000000000/jobs"

type Options = Parameters<typeof Consumer.run<number, number, never, never, never>>[1]

/** How a consumer with these options fails to start. */
const startError = (options: Options, queue: string = "jobs") =>
  Effect.gen(function* () {
    const exit = yield* passUntilDone(yield* Effect.fork(Consumer.run(queueOf(queue), options, () => Effect.void)), 10)
    const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
    assert.instanceOf(error, StartError.StartError)
    assert.strictEqual((yield* receives()).length, 0)
    return error as StartError.StartError
  })

/** What a consumer notes at its start. */
const startNotes = (options: Options, queue: string = "jobs") =>
  Effect.gen(function* () {
    const started: Array<ConsumerEvent.ConsumerEvent> = []
    yield* worker(
      Consumer.run(
        queueOf(queue),
        { ...options, onEvent: (e) => Effect.sync(() => void (e._tag === "Started" && started.push(e))) },
        () => Effect.void
      )
    )
    yield* TestClock.adjust("1 second")
    assert.strictEqual(started.length, 1)
    // the dead-letter queue of most tests keeps messages as long as its source, as new queues do
    return started[0]!._tag === "Started" ? started[0].notes.filter((n) => !n.includes("for 4d, counted from")) : []
  })

const denied = Effect.fail(
  new SqsError.AccessDenied({ operation: "GetQueueAttributes", queue: "dead", code: "AccessDenied", detail: "no" })
)

describe("start", () => {
  it.scoped(
    "all faults at once: those of the options, of their combination, of the shared limit and of the queue",
    () =>
      Effect.gen(function* () {
        const limit = yield* ConsumerLimit.make(0.5)
        const error = yield* startError(
          {
            concurrency: -1,
            lease: { heartbeat: "40 seconds", limit: "10 minutes" },
            receive: { waitTime: "15 seconds" },
            policy: Policy.make({ attemptTimeout: "11 minutes", totalTimeout: "20 minutes" }),
            limit: { of: limit, weight: 0 },
            deadLetterQueue: "nobody"
          },
          "jobs"
        )
        assert.deepStrictEqual(
          error.faults.map((f) => `${f.option} ${f.value}`),
          [
            "concurrency -1",
            "limit.of 0.5",
            "limit.weight 0",
            "lease.heartbeat 40s",
            "lease.heartbeat 40s",
            "receive.waitTime 15s",
            "policy.attemptTimeout 11m",
            "policy.totalTimeout 20m",
            'deadLetterQueue "nobody"'
          ]
        )
        assert.include(
          error.message,
          "The consumer of jobs cannot start:\n  - concurrency must be a whole number from 1"
        )
        assert.include(error.message, "client's own timeout of 10s, or every idle receive fails (it is 15s)")
        assert.include(error.message, "the queue does not exist")
      }).pipe(
        Effect.provide(
          Layer.effect(
            Sqs.Sqs,
            Effect.map(Sqs.Sqs, (sqs) => ({ ...sqs, requestTimeoutMs: 10_000 }))
          )
        ),
        Effect.provide(jobs())
      )
  )

  it.scoped("faulty options are told though the queue cannot be reached, and the other way round", () =>
    Effect.gen(function* () {
      const error = yield* startError({ concurrency: 0 }, "nobody")
      assert.strictEqual(error.faults.length, 1)
      assert.include(error.message, "concurrency must be")
      assert.include(error.message, "the queue does not exist")
      // trying again does not create a queue
      assert.strictEqual((yield* calls("GetQueueUrl")).length, 1)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a heartbeat that leaves no time for a beat of the queue's own visibility", () =>
    Effect.gen(function* () {
      const error = yield* startError({ lease: { heartbeat: "29 seconds" } })
      assert.deepStrictEqual(error.faults, [
        {
          option: "lease.heartbeat",
          rule: "must be more than 1s shorter than visibility (30s): so long before its end a lease counts as run out, and a beat would come too late. Half of it leaves two tries",
          value: "29s"
        }
      ])
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a faulty visibility leads to no further faults of the lease, by the queue's own", () =>
    Effect.gen(function* () {
      const error = yield* startError({ lease: { visibility: "2 mintues" as never, heartbeat: "1 minute" } })
      assert.deepStrictEqual(
        error.faults.map((f) => f.option),
        ["lease.visibility"]
      )
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a faulty visibility is not told to be missing", () =>
    Effect.gen(function* () {
      const error = yield* startError({ lease: { visibility: "2 mintues" as never, heartbeat: "1 minute" } }, url)
      assert.deepStrictEqual(
        error.faults.map((f) => f.option),
        ["lease.visibility"]
      )
    }).pipe(Effect.provide(jobs({ deny: ["sqs:GetQueueAttributes"] })))
  )

  it.scoped("the client's timeout of a port that knows none is not checked", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* startNotes({}), [])
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a queue of another kind than its contract", () =>
    Effect.gen(function* () {
      const error = yield* startError({})
      assert.strictEqual(
        error.message,
        "The consumer of jobs cannot start: queue must be of kind fifo, as the queue is (it is standard)"
      )
    }).pipe(
      Effect.provide(
        Layer.effect(
          Sqs.Sqs,
          Effect.map(Sqs.Sqs, (sqs) => ({
            ...sqs,
            attributes: (u: string) => Effect.map(sqs.attributes(u), (a) => ({ ...a, kind: "fifo" as const }))
          }))
        )
      ),
      Effect.provide(jobs())
    )
  )

  it.scoped("a queue whose own visibility is 0 needs one in the options", () =>
    Effect.gen(function* () {
      const error = yield* startError({})
      assert.include(error.message, "lease.visibility must be given, since the queue's own visibility timeout is 0")
      assert.deepStrictEqual(yield* startNotes({ lease: { visibility: "30 seconds" } }), [])
    }).pipe(Effect.provide(jobs({ visibility: 0 })))
  )

  it.scoped("the queue's own visibility is read, and asked with each receive: it may be changed meanwhile", () =>
    Effect.gen(function* () {
      yield* startNotes({})
      assert.strictEqual((yield* receives())[0]?.input.visibilityTimeoutSeconds, 600)
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 1)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* virtual.messages("jobs"), [])
    }).pipe(Effect.provide(jobs({ visibility: 600 })))
  )

  it.scoped("a visibility in the options is asked with each receive, in whole seconds", () =>
    Effect.gen(function* () {
      yield* startNotes({ lease: { visibility: "90500 millis" } })
      assert.strictEqual((yield* receives())[0]?.input.visibilityTimeoutSeconds, 91)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("maxReceiveCount below 3 is noted", () =>
    Effect.gen(function* () {
      const notes = yield* startNotes({})
      assert.strictEqual(notes.length, 1)
      assert.include(notes[0], "maxReceiveCount of jobs is 2")
    }).pipe(Effect.provide(jobs({ maxReceiveCount: 2 })))
  )

  it.scoped("a queue without a dead-letter queue is noted", () =>
    Effect.gen(function* () {
      const notes = yield* startNotes({}, "alone")
      assert.strictEqual(notes.length, 1)
      assert.include(notes[0], "alone has no dead-letter queue")
      assert.deepStrictEqual(yield* startNotes({ deadLetterQueue: "dead" }, "alone"), [])
    }).pipe(
      Effect.provide(
        VirtualSqs.layer({ queues: ["alone", { name: "dead", attributes: { MessageRetentionPeriod: 1_209_600 } }] })
      )
    )
  )

  const kept = (seconds: number, deadSeconds: number, suffix = "") =>
    VirtualSqs.layer({
      queues: [
        { name: `dead${suffix}`, attributes: { MessageRetentionPeriod: deadSeconds } },
        {
          name: `jobs${suffix}`,
          attributes: { VisibilityTimeout: 30, MessageRetentionPeriod: seconds },
          deadLetters: { queue: `dead${suffix}`, maxReceiveCount: 5 }
        }
      ]
    })

  it.scoped("redeliveries that take longer than the queue keeps a message are noted", () =>
    Effect.gen(function* () {
      const redelivery = Redelivery.schedule(Schedule.spaced("20 minutes"), { whenOver: Redelivery.leave })
      const notes = yield* startNotes({ redelivery })
      assert.strictEqual(notes.length, 1)
      assert.include(notes[0], "jobs keeps a message for 1h, but its redeliveries take 1h 20m")
      assert.deepStrictEqual(yield* startNotes({ redelivery: Redelivery.release("15 minutes") }), [])
    }).pipe(Effect.provide(kept(3_600, 7_200)))
  )

  it.scoped("a dead-letter queue that keeps messages as long as its source, as both do by default, is not noted", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* startNotes({}), [])
    }).pipe(Effect.provide(kept(345_600, 345_600)))
  )

  it.scoped("one that keeps them shorter than its source is noted", () =>
    Effect.gen(function* () {
      const notes = yield* startNotes({})
      assert.strictEqual(notes.length, 1)
      assert.include(
        notes[0],
        "The dead-letter queue keeps messages for 1d, counted from their first send, and jobs for 4d"
      )
    }).pipe(Effect.provide(kept(345_600, 86_400)))
  )

  it.scoped("not on FIFO queues, where the time begins anew with the move", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* startNotes({}, "jobs.fifo"), [])
    }).pipe(Effect.provide(kept(86_400, 86_400, ".fifo")))
  )

  it.scoped("a dead-letter queue whose retention may not be read is noted", () =>
    Effect.gen(function* () {
      const notes = yield* startNotes({})
      assert.deepStrictEqual(notes, ["Not checked: the retention of the dead-letter queue (AccessDenied)."])
    }).pipe(
      Effect.provide(
        Layer.effect(
          Sqs.Sqs,
          Effect.map(Sqs.Sqs, (sqs) => ({
            ...sqs,
            attributes: (u: string) => (u.endsWith("dead") ? denied : sqs.attributes(u))
          }))
        )
      ),
      Effect.provide(jobs())
    )
  )

  it.scoped("a dead-letter queue that is the queue itself, or of another kind, is a fault", () =>
    Effect.gen(function* () {
      assert.include((yield* startError({ deadLetterQueue: "jobs" })).message, "must be another queue")
      assert.include((yield* startError({ deadLetterQueue: "other.fifo" })).message, "must be of kind standard")
    }).pipe(Effect.provide(VirtualSqs.layer({ queues: ["jobs", "other.fifo"] })))
  )

  it.scoped("three actions, URL and visibility are enough: it starts, and says once what was not checked", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const notes = yield* startNotes({ lease: { visibility: "1 minute" } }, url)
      assert.deepStrictEqual(notes, [
        `Not checked, since sqs:GetQueueAttributes is not allowed: kind, visibility, redrive policy and retention of ${url}.`
      ])
      yield* sendMany("jobs", 3)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* virtual.messages("jobs"), [])
    }).pipe(Effect.provide(jobs({ deny: ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"] })))
  )

  it.scoped("without visibility and without the right to read it, start fails and names the action", () =>
    Effect.gen(function* () {
      const error = yield* startError({}, url)
      assert.deepStrictEqual(error.faults, [
        {
          option: "lease.visibility",
          rule: "must be given, or sqs:GetQueueAttributes allowed: the queue's own visibility timeout cannot be read",
          value: "not given"
        }
      ])
      assert.include(error.message, "Allow sqs:GetQueueAttributes")
    }).pipe(Effect.provide(jobs({ deny: ["sqs:GetQueueAttributes"] })))
  )

  it.scoped("a hiccup at the start is tried again, an outage is told after some seconds", () =>
    Effect.gen(function* () {
      yield* startNotes({})
      assert.strictEqual((yield* receives()).length, 1)
    }).pipe(
      Effect.provide(jobs({ faults: Fault.reset.pipe(Fault.on("GetQueueUrl", "GetQueueAttributes"), Fault.times(2)) }))
    )
  )

  it.scoped("an outage at the start is told after four tries", () =>
    Effect.gen(function* () {
      const error = yield* startError({})
      assert.include(error.message, "GetQueueUrl on jobs")
      assert.strictEqual((yield* calls("GetQueueUrl")).length, 4)
    }).pipe(Effect.provide(jobs({ faults: Fault.reset })))
  )
})
