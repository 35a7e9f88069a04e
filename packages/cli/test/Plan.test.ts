import { assert, describe, it } from "@effect/vitest"
import { Consumer, SqsQueue } from "@effect-sqs/core"
import { SimClock, VirtualSqs } from "@effect-sqs/testing"
import { Effect, Either, Logger, LogLevel, Metric, MetricBoundaries, Schema } from "effect"
import { type CliError, Plan, PlanPicture, PlanSvg, RunTimes, Screen } from "../src/index.js"

const planned = (options: Plan.PlanOptions): Plan.Plan => Either.getOrThrow(Plan.plan(options))
const refusal = (options: Plan.PlanOptions): string => {
  const made = Plan.plan(options)
  return Either.isLeft(made) ? made.left.sentence : assert.fail("the plan was made")
}
const text = (plan: Plan.Plan) => PlanPicture.draw(plan, Screen.make({ columns: 100 }))

describe("plan", () => {
  it("90 s on 30 s: 60 s of risk, handed out again at 30 s and at 60 s", () => {
    const { setting, timeline } = planned({ visibility: "30 seconds", runs: RunTimes.one("90 seconds") })
    assert.strictEqual(timeline.riskWindowSeconds, 60)
    assert.deepStrictEqual(timeline.handedOutAgainSeconds, [30, 60])
    assert.strictEqual(timeline.interruptedAtSeconds, 29)
    assert.strictEqual(setting.atRisk, 1)
    // three receives and a delete
    assert.deepStrictEqual(setting.cost.requestsPerMessage, { fewest: 0.4, most: 4 })
    assert.deepStrictEqual(setting.cost.usdPerMillionMessages, { fewest: 0.16, most: 1.6 })
  })

  it("45 s on 30 s: 15 s of risk", () => {
    const { timeline } = planned({ visibility: "30 seconds", runs: RunTimes.one("45 seconds") })
    assert.deepStrictEqual([timeline.riskWindowSeconds, timeline.handedOutAgainSeconds], [15, [30]])
  })

  it("20 s on 30 s, and 30 s on 30 s: no risk", () => {
    for (const run of ["20 seconds", "30 seconds"] as const) {
      const { setting, timeline } = planned({ visibility: "30 seconds", runs: RunTimes.one(run) })
      assert.deepStrictEqual([timeline.riskWindowSeconds, timeline.handedOutAgainSeconds, setting.atRisk], [0, [], 0])
    }
  })

  it("changes at 20 s and 70 s of 60 s each: hidden until 80 s and 130 s", () => {
    const changes = [
      { atSeconds: 20, forSeconds: 60 },
      { atSeconds: 70, forSeconds: 60 }
    ]
    const { timeline } = planned({ visibility: "60 seconds", changes, runs: RunTimes.one("140 seconds") })
    assert.deepStrictEqual(
      timeline.extensions.map((e) => e.hiddenUntilSeconds),
      [80, 130]
    )
    assert.deepStrictEqual([timeline.hiddenUntilSeconds, timeline.riskWindowSeconds], [130, 10])
  })

  it("a change that comes too late, or goes beyond the 12 hours, has no effect; a shorter one cuts", () => {
    const { timeline } = planned({
      visibility: "30 seconds",
      changes: [
        { atSeconds: 5, forSeconds: 10 },
        { atSeconds: 20, forSeconds: 60 }
      ],
      runs: RunTimes.one("60 seconds")
    })
    assert.deepStrictEqual(
      timeline.extensions.map((e) => e.hiddenUntilSeconds),
      [15, undefined]
    )
    assert.strictEqual(timeline.riskWindowSeconds, 45)
    const beyond = planned({
      visibility: "30 seconds",
      changes: [{ atSeconds: 20, forSeconds: 43_190 }],
      runs: RunTimes.one("60 seconds")
    })
    assert.strictEqual(beyond.timeline.hiddenUntilSeconds, 30)
  })

  it("with a heartbeat: five beats in 90 s, as the consumer sends them, and no risk", () => {
    const { setting, timeline } = planned({
      visibility: "30 seconds",
      heartbeat: "15 seconds",
      runs: RunTimes.one("90 seconds")
    })
    assert.deepStrictEqual(
      timeline.extensions.map((e) => [e.atSeconds, e.hiddenUntilSeconds]),
      [
        [15, 45],
        [30, 60],
        [45, 75],
        [60, 90],
        [75, 105]
      ]
    )
    assert.deepStrictEqual([timeline.riskWindowSeconds, setting.atRisk, setting.beatsPerMessage], [0, 0, 5])
    assert.strictEqual(timeline.interruptedAtSeconds, undefined)
  })

  it("of many runs: the share that outlives its slot, and what others would give", () => {
    const seconds = Array.from({ length: 100 }, (_, i) => i + 1)
    const runs = Either.getOrThrow(RunTimes.fromText(JSON.stringify(seconds), "runs.json"))
    const { others, setting } = planned({ visibility: "30 seconds", runs, priceUsd: 0.5 })
    assert.strictEqual(setting.atRisk, 0.7)
    // one receive each, and one more at 30, 60 and 90 s for those that run on: 70 + 40 + 10
    assert.strictEqual(setting.cost.requestsPerMessage.most, 3.2)
    assert.strictEqual(setting.cost.usdPerMillionMessages.most, 1.6)
    const advised = others.find((o) => o.label === "advised")
    assert.deepInclude(advised, { visibilitySeconds: 120, heartbeatSeconds: 60, atRisk: 0, beatsPerMessage: 0.4 })
  })

  it("without a visibility it is what is advised", () => {
    const { heartbeatSeconds, others, setting, visibilitySeconds } = planned({ runs: RunTimes.one("90 seconds") })
    assert.deepStrictEqual([visibilitySeconds, heartbeatSeconds, setting.label], [120, 60, "advised"])
    assert.isFalse(others.some((o) => o.label === "advised"))
  })

  it("settings that cannot be are refused in a sentence", () => {
    const runs = RunTimes.one("90 seconds")
    assert.match(refusal({ visibility: 500, runs }), /visibility of 500ms cannot be: whole seconds, from 1s to 12h/)
    assert.match(refusal({ visibility: "13 hours", runs }), /visibility of 13h cannot be/)
    assert.match(
      refusal({ visibility: "10 seconds", heartbeat: 9_700, runs }),
      /heartbeat of 9\.7s leaves no time for its beat: a slot of 10s counts as run out 500ms before its end/
    )
    assert.match(refusal({ visibility: 30_000, heartbeat: 30_000, runs }), /after the slot of 30s has ended/)
    assert.match(refusal({ visibility: 30_000, heartbeat: 20_000, extendBy: 20_000, runs }), /make it shorter/)
    const changes = [{ atSeconds: 20, forSeconds: 60 }]
    assert.match(refusal({ visibility: 30_000, heartbeat: 10_000, changes, runs }), /Either a heartbeat or changes/)
  })

  it("is drawn: the time in which two are at work begins under the end of the hidden time", () => {
    const drawn = text(planned({ visibility: "30 seconds", runs: RunTimes.one("90 seconds") })).split("\n")
    const of = (label: string) => drawn.find((line) => line.startsWith(label)) ?? assert.fail(`no row ${label}`)
    assert.strictEqual(of("hidden").length, of("two at work").indexOf("▒"))
    assert.strictEqual(of("run").length, of("two at work").length)
    assert.strictEqual(of("handed out").split("◆").length - 1, 3)
    assert.include(of("risk window"), "1m: from 30s to 1m 30s")
    assert.isTrue(drawn.every((line) => [...line].length <= 100))
  })

  it("is drawn as SVG, with the same words", () => {
    const svg = PlanSvg.draw(planned({ visibility: "30 seconds", runs: RunTimes.one("45 seconds") }))
    assert.match(svg, /^<svg /)
    assert.include(svg, "two workers or more at once: 15s")
    assert.include(svg, "handed out again at 30s")
  })
})

describe("run times", () => {
  const read = (content: string) => RunTimes.fromText(content, "runs")
  it("are read as a JSON array, as lines, and as JSON lines", () => {
    for (const content of ["[3, 1, 2.5]", "3\n1\n2.5\n", '# measured\n{"seconds": 3}\n\n1\r\n{"seconds":2.5}']) {
      assert.deepStrictEqual(Either.getOrThrow(read(content)).seconds, [1, 2.5, 3])
    }
  })

  it("that are none are refused with their place", () => {
    const wrong = (content: string) => Either.flip(read(content)).pipe(Either.getOrThrow).sentence
    assert.match(wrong("1\n2\nthree"), /^runs, line 3: three is no run time/)
    assert.match(wrong('[1, "2"]'), /^runs, element 2: "2" is no run time/)
    assert.match(wrong("1\n-2"), /^runs, line 2: -2 is no run time/)
    assert.match(wrong("[]"), /^runs: there is no run time in it/)
    assert.match(wrong("# nothing"), /there is no run time in it/)
  })

  const exported = (runs: ReadonlyArray<readonly [queue: string, outcome: string, seconds: number]>) =>
    Effect.gen(function* () {
      const histogram = Metric.histogram("messaging.process.duration", MetricBoundaries.fromIterable([1, 10, 60, 120]))
      for (const [queue, outcome, seconds] of runs) {
        yield* Metric.update(
          histogram.pipe(
            Metric.tagged("messaging.destination.name", queue),
            Metric.tagged("effect_sqs.outcome", outcome)
          ),
          seconds
        )
      }
      return JSON.stringify(yield* Metric.snapshot)
    })

  it.effect("are read from what a worker exported", () =>
    Effect.gen(function* () {
      const json = yield* exported([
        ["from-metrics", "success", 5],
        ["from-metrics", "success", 40],
        ["from-metrics", "success", 40],
        ["from-metrics", "failure", 300],
        ["from-metrics", "interrupted", 29],
        ["http://localhost:9324/000000000000/another", "success", 1000]
      ])
      const runs = yield* RunTimes.fromMetrics(json, "metrics.json", "from-metrics")
      assert.deepStrictEqual(
        [runs.count, runs.interrupted, runs.seconds],
        [4, 1, [10, 25, 40, 300]],
        "spread evenly inside each bucket, up to its bound or the longest of all"
      )
      const byUrl = yield* RunTimes.fromMetrics(json, "metrics.json", "another")
      assert.deepStrictEqual(byUrl.seconds, [1000])
      const several = yield* Effect.flip(RunTimes.fromMetrics(json, "metrics.json", undefined))
      assert.match(several.sentence, /several queues: choose with --queue one of .*another/)
      const other = yield* Effect.flip(RunTimes.fromMetrics(json, "metrics.json", "third"))
      assert.match(other.sentence, /no run times of third, but of /)
    })
  )

  it.live("are what a worker of this library exports of itself", () =>
    Effect.gen(function* () {
      const Jobs = SqsQueue.make("exported-jobs", { schema: Schema.Number })
      const worker = Effect.gen(function* () {
        const virtual = yield* VirtualSqs.VirtualSqs
        for (const seconds of [20, 45, 100]) yield* virtual.send("exported-jobs", String(seconds))
        const run = Consumer.run(Jobs, { lease: { visibility: "30 seconds" } }, (seconds) =>
          Effect.sleep(seconds * 1000)
        )
        yield* Effect.timeoutOption(run, "3 minutes")
        return JSON.stringify(yield* Metric.snapshot)
      })
      const json = yield* SimClock.run(
        worker.pipe(
          Effect.provide(VirtualSqs.layer({ queues: ["exported-jobs"] })),
          Logger.withMinimumLogLevel(LogLevel.None)
        )
      )
      const runs = yield* RunTimes.fromMetrics(json, "metrics.json", "exported-jobs")
      assert.deepStrictEqual([runs.count, runs.seconds], [3, [30, 60, 100]])
      const { setting } = planned({ visibility: "70 seconds", runs })
      assert.approximately(setting.atRisk, 1 / 3, 1e-9)
    })
  )

  it.effect("a file of metrics that is none is refused, with what is expected", () =>
    Effect.gen(function* () {
      const wrong = (json: string) =>
        Effect.map(Effect.flip(RunTimes.fromMetrics(json, "m.json", undefined)), (e: CliError.CliError) => e.sentence)
      assert.match(yield* wrong("nonsense"), /^m.json: this is no JSON. Expected what a worker exports/)
      assert.match(yield* wrong('{"a":1}'), /^m.json: Expected/)
      assert.match(yield* wrong("[]"), /no metric messaging.process.duration/)
      const key = { name: "messaging.process.duration", tags: [{ key: "messaging.destination.name", value: "q" }] }
      const broken = JSON.stringify([
        { metricKey: key, metricState: { buckets: [[1, "x"]], count: 1, min: 0, max: 1 } }
      ])
      assert.match(yield* wrong(broken), /the histogram of q: buckets.0.1: Expected number/)
      const empty = JSON.stringify([{ metricKey: key, metricState: { buckets: [[1, 0]], count: 0, min: 0, max: 0 } }])
      assert.match(yield* wrong(empty), /no run has ended yet/)
    })
  )
})
