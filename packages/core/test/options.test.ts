import {
  Consumer,
  ConsumerLimit,
  ConsumerOptions,
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
import {
  Cause,
  Config,
  ConfigProvider,
  Duration,
  Effect,
  Exit,
  Layer,
  Option,
  Schedule,
  Schema,
  TestClock
} from "effect"
import { calls, receives, sendMany } from "./calls.js"
import { jobs, passUntilDone, worker } from "./support.js"
import { decode, leaseSettings } from "../src/internal/options.js"

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

const faultsOf = (options: unknown) => decode(options as ConsumerOptions.ConsumerOptions).faults

describe("options, decoded", () => {
  it("everything has a default", () => {
    assert.deepStrictEqual(decode({}), {
      faults: [],
      options: {
        concurrency: 10,
        prefetch: undefined,
        visibilityMs: undefined,
        heartbeatMs: undefined,
        extendByMs: undefined,
        limitMs: 43_190_000,
        waitTimeSeconds: 20,
        receiveLingerMs: 10,
        parallel: 2,
        settlementLingerMs: 50,
        drain: { timeoutMs: 30_000, interruptTimeoutMs: 5_000, openReceives: "await" },
        deadLetterQueue: undefined,
        metrics: true,
        spans: undefined
      }
    })
  })

  it("receives in parallel: enough for the concurrency and one more, at most ten", () => {
    const parallel = (concurrency: number) => decode({ concurrency }).options.parallel
    assert.deepStrictEqual([1, 10, 11, 50, 100, 1_000].map(parallel), [2, 2, 3, 6, 10, 10])
    assert.strictEqual(decode({ concurrency: 1_000, receive: { parallel: 25 } }).options.parallel, 25)
  })

  it("durations in every form, and the drain alone as its timeout", () => {
    const forms: ReadonlyArray<Duration.DurationInput> = [
      "90 seconds",
      "1.5 minutes",
      90_000,
      90_000_000_000n,
      [90, 0],
      Duration.seconds(90)
    ]
    for (const d of forms) {
      const { faults, options } = decode({ lease: { visibility: d, heartbeat: d, extendBy: d, limit: d }, drain: d })
      assert.deepStrictEqual(faults, [])
      const { extendByMs, heartbeatMs, limitMs, visibilityMs } = options
      assert.deepStrictEqual([visibilityMs, heartbeatMs, extendByMs, limitMs], [90_000, 90_000, 90_000, 90_000])
      assert.strictEqual(options.drain.timeoutMs, 90_000)
      assert.strictEqual(decode({ drain: { timeout: d } }).options.drain.timeoutMs, 90_000)
    }
  })

  it("what is less than nothing, or no duration, is refused in every form", () => {
    const bad = ["-5 seconds", -1, NaN, -1n, [-1, 0], "soon", "5 fortnights", "", null, true, {}, [1]]
    for (const d of bad) {
      const faults = faultsOf({ drain: { timeout: d } })
      assert.strictEqual(faults.length, 1, String(d))
      assert.strictEqual(faults[0]!.option, "drain.timeout")
      assert.strictEqual(faults[0]!.rule, 'must be a duration, as "30 seconds" or ms as a number')
    }
  })

  it("every option out of its range is told, all at once, each with option, rule and value", () => {
    assert.deepStrictEqual(
      faultsOf({
        concurrency: 0,
        prefetch: 1.5,
        lease: { visibility: "13 hours", heartbeat: "100 millis", extendBy: 0, limit: "1 day" },
        receive: { waitTime: "21 seconds", linger: "2 seconds", parallel: 51 },
        settlement: { linger: "6 seconds" },
        drain: { timeout: "13 hours", interruptTimeout: "2 hours", openReceives: "maybe" },
        deadLetterQueue: "",
        metrics: "yes",
        spans: "on"
      }),
      [
        { option: "concurrency", rule: "must be a whole number from 1 to 100000", value: "0" },
        { option: "prefetch", rule: "must be a whole number from 0 to 1000", value: "1.5" },
        { option: "lease.visibility", rule: "must be 1s to 12h", value: '"13 hours"' },
        { option: "lease.heartbeat", rule: 'must be "off" or 500ms to 11h', value: '"100 millis"' },
        { option: "lease.extendBy", rule: "must be 1s to 12h", value: "0" },
        { option: "lease.limit", rule: "must be 1s to 11h 59m 50s", value: '"1 day"' },
        { option: "receive.waitTime", rule: "must be 0 to 20s", value: '"21 seconds"' },
        { option: "receive.linger", rule: "must be 0 to 1s", value: '"2 seconds"' },
        { option: "receive.parallel", rule: "must be a whole number from 1 to 50", value: "51" },
        { option: "settlement.linger", rule: "must be 0 to 5s", value: '"6 seconds"' },
        { option: "drain.timeout", rule: "must be 0 to 12h", value: '"13 hours"' },
        { option: "drain.interruptTimeout", rule: "must be 0 to 1h", value: '"2 hours"' },
        { option: "drain.openReceives", rule: 'must be "await" or "abort"', value: '"maybe"' },
        { option: "deadLetterQueue", rule: "must be a text that is not empty", value: '""' },
        { option: "metrics", rule: "must be true or false", value: '"yes"' },
        { option: "spans", rule: 'must be "off" or "link" or "parent"', value: '"on"' }
      ]
    )
  })

  it("values of another type are told by the same rules", () => {
    assert.deepStrictEqual(faultsOf({ concurrency: "10", lease: { heartbeat: "of" }, spans: 1, deadLetterQueue: 7 }), [
      { option: "concurrency", rule: "must be a whole number from 1 to 100000", value: '"10"' },
      {
        option: "lease.heartbeat",
        rule: 'must be "off" or a duration, as "30 seconds" or ms as a number',
        value: '"of"'
      },
      { option: "deadLetterQueue", rule: "must be a text that is not empty", value: "7" },
      { option: "spans", rule: 'must be "off" or "link" or "parent"', value: "1" }
    ])
    assert.deepStrictEqual(faultsOf({ lease: "2 minutes" }), [
      { option: "lease", rule: "must be an object with visibility, heartbeat, extendBy, limit", value: '"2 minutes"' }
    ])
  })

  it("an option that there is not is told with those that there are", () => {
    assert.deepStrictEqual(faultsOf({ concurency: 5, lease: { visibilty: "30 seconds" } }), [
      {
        option: "concurency",
        rule: "is no option; there are concurrency, prefetch, lease, receive, settlement, drain, deadLetterQueue, metrics, spans",
        value: "5"
      },
      {
        option: "lease.visibilty",
        rule: "is no option; there are visibility, heartbeat, extendBy, limit",
        value: '"30 seconds"'
      }
    ])
  })

  it("what is faulty counts as not given, and the rest stands", () => {
    const { options } = decode({
      concurrency: 0,
      prefetch: 7,
      lease: { visibility: "13 hours", limit: "1 hour" },
      drain: "4 seconds",
      ...({ foo: 1 } as object)
    })
    assert.deepInclude(options, { concurrency: 10, prefetch: 7, visibilityMs: undefined, limitMs: 3_600_000 })
    assert.strictEqual(options.drain.timeoutMs, 4_000)
  })

  it("undefined is not given", () => {
    assert.deepStrictEqual(
      decode({ concurrency: undefined, lease: { visibility: undefined }, drain: undefined, spans: undefined }),
      decode({})
    )
  })
})

describe("the lease's settings", () => {
  const settings = (lease: NonNullable<ConsumerOptions.ConsumerOptions["lease"]>, visibilityMs = 30_000) =>
    leaseSettings(decode({ lease }).options, visibilityMs)

  it("heartbeat half of visibility, extension by the visibility", () => {
    assert.deepInclude(settings({}).settings, { visibilityMs: 30_000, heartbeatMs: 15_000, extendByMs: 30_000 })
    assert.deepInclude(settings({ heartbeat: "off" }).settings, { heartbeatMs: undefined })
    // half of the extension, when that is shorter: nothing was asked that is at fault
    assert.deepInclude(settings({ extendBy: "10 seconds" }).settings, { heartbeatMs: 5_000, extendByMs: 10_000 })
    assert.deepStrictEqual(settings({ extendBy: "10 seconds" }).faults, [])
  })

  it("a heartbeat as long as what it extends is a fault", () => {
    assert.deepStrictEqual(settings({ heartbeat: "30 seconds", extendBy: "1 minute" }).faults, [
      {
        option: "lease.heartbeat",
        rule: "must be shorter than visibility (30s): half of it leaves two tries",
        value: "30s"
      }
    ])
    assert.deepStrictEqual(settings({ heartbeat: "20 seconds", extendBy: "20 seconds" }).faults, [
      { option: "lease.heartbeat", rule: "must be shorter than extendBy (20s)", value: "20s" }
    ])
  })
})

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

  it.scoped("the queue's own visibility is read, and not asked with each receive", () =>
    Effect.gen(function* () {
      yield* startNotes({})
      assert.isUndefined((yield* receives())[0]?.input.visibilityTimeoutSeconds)
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

describe("ConsumerOptions.config", () => {
  const load = (env: Record<string, string>) =>
    Effect.withConfigProvider(ConsumerOptions.config("WORKER"), ConfigProvider.fromMap(new Map(Object.entries(env))))

  it.effect("nothing set: nothing given", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(decode(yield* load({})), decode({}))
    })
  )

  it.effect("every option of the table has its key", () =>
    Effect.gen(function* () {
      const options = yield* load({
        WORKER_CONCURRENCY: "16",
        WORKER_PREFETCH: "3",
        WORKER_LEASE_VISIBILITY: "2 minutes",
        WORKER_LEASE_HEARTBEAT: "1 minute",
        WORKER_LEASE_EXTEND_BY: "90 seconds",
        WORKER_LEASE_LIMIT: "2 hours",
        WORKER_RECEIVE_WAIT_TIME: "10 seconds",
        WORKER_RECEIVE_LINGER: "5 millis",
        WORKER_RECEIVE_PARALLEL: "4",
        WORKER_SETTLEMENT_LINGER: "100 millis",
        WORKER_DRAIN_TIMEOUT: "20 seconds",
        WORKER_DRAIN_INTERRUPT_TIMEOUT: "2 seconds",
        WORKER_DRAIN_OPEN_RECEIVES: "abort",
        WORKER_DEAD_LETTER_QUEUE: "dead",
        WORKER_METRICS: "false",
        WORKER_SPANS: "parent"
      })
      assert.deepStrictEqual(decode(options), {
        faults: [],
        options: {
          concurrency: 16,
          prefetch: 3,
          visibilityMs: 120_000,
          heartbeatMs: 60_000,
          extendByMs: 90_000,
          limitMs: 7_200_000,
          waitTimeSeconds: 10,
          receiveLingerMs: 5,
          parallel: 4,
          settlementLingerMs: 100,
          drain: { timeoutMs: 20_000, interruptTimeoutMs: 2_000, openReceives: "abort" },
          deadLetterQueue: "dead",
          metrics: false,
          spans: "parent"
        }
      })
      assert.strictEqual((yield* load({ WORKER_LEASE_HEARTBEAT: "off" })).lease?.heartbeat, "off")
    })
  )

  it.effect("no option of the table is forgotten", () =>
    Effect.gen(function* () {
      // a value that no key takes: each key that is read fails by its name
      for (const { option } of ConsumerOptions.table) {
        if (option === "deadLetterQueue") continue
        const name = `WORKER_${ConsumerOptions.envName(option)}`
        const error = yield* Effect.flip(load({ [name]: "?" }))
        assert.include(String(error), name)
      }
    })
  )

  it.effect("other prefixes are other keys", () =>
    Effect.gen(function* () {
      const both = Config.all([ConsumerOptions.config("A"), ConsumerOptions.config("B")])
      const provider = ConfigProvider.fromMap(
        new Map([
          ["A_CONCURRENCY", "1"],
          ["B_CONCURRENCY", "2"]
        ])
      )
      const [a, b] = yield* Effect.withConfigProvider(both, provider)
      assert.deepStrictEqual([a.concurrency, b.concurrency], [1, 2])
    })
  )
})

describe("ConsumerOptions.table", () => {
  it("one row for each option, generated from the schema, none without a meaning or a default", () => {
    assert.deepStrictEqual(
      ConsumerOptions.table.map((row) => row.option),
      [
        "concurrency",
        "prefetch",
        "lease.visibility",
        "lease.heartbeat",
        "lease.extendBy",
        "lease.limit",
        "receive.waitTime",
        "receive.linger",
        "receive.parallel",
        "settlement.linger",
        "drain.timeout",
        "drain.interruptTimeout",
        "drain.openReceives",
        "deadLetterQueue",
        "metrics",
        "spans"
      ]
    )
    for (const row of ConsumerOptions.table) {
      assert.isAbove(row.description.length, 10, row.option)
      assert.isAbove(row.default.length, 1, row.option)
    }
  })

  it("the names in the environment", () => {
    assert.deepStrictEqual(
      ["concurrency", "lease.extendBy", "drain.interruptTimeout", "deadLetterQueue"].map(ConsumerOptions.envName),
      ["CONCURRENCY", "LEASE_EXTEND_BY", "DRAIN_INTERRUPT_TIMEOUT", "DEAD_LETTER_QUEUE"]
    )
  })
})
