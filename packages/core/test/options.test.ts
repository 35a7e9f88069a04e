import { ConsumerOptions } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { Config, ConfigProvider, Duration, Effect } from "effect"
import { decode, leaseSettings } from "../src/internal/options.js"

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

  it("a heartbeat that leaves no time for its beat is a fault: a second, or a twentieth of a short slot", () => {
    const faults = (lease: Parameters<typeof settings>[0], visibilityMs?: number) =>
      settings(lease, visibilityMs).faults.map((f) => `${f.option} ${f.value} ${f.rule.split(":")[0]}`)
    assert.deepStrictEqual(faults({ heartbeat: "29 seconds" }), [
      "lease.heartbeat 29s must be more than 1s shorter than visibility (30s)"
    ])
    assert.deepStrictEqual(faults({ heartbeat: "29 seconds", extendBy: "1 minute" }), [
      "lease.heartbeat 29s must be more than 1s shorter than visibility (30s)"
    ])
    assert.deepStrictEqual(faults({ heartbeat: "19 seconds", extendBy: "20 seconds" }), [
      "lease.heartbeat 19s must be more than 1s shorter than extendBy (20s)"
    ])
    assert.deepStrictEqual(faults({ heartbeat: 1_900 }, 2_000), [
      "lease.heartbeat 1s 900ms must be more than 100ms shorter than visibility (2s)"
    ])
    assert.deepStrictEqual(faults({ heartbeat: "28999 millis" }), [])
    assert.deepStrictEqual(faults({ heartbeat: 18_999, extendBy: "20 seconds" }), [])
    assert.deepStrictEqual(faults({ heartbeat: 1_899 }, 2_000), [])
    assert.deepStrictEqual(faults({ heartbeat: "off" }, 1_000), [])
    assert.deepStrictEqual(faults({}, 1_000), [])
  })
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
