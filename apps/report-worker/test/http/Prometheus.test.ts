import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import { text } from "../../src/http/Prometheus.js"

/** the lines of one family */
const family = (name: string) =>
  Effect.map(text, (all) => all.split("\n").filter((line) => new RegExp(`(^|# \\w+ )${name}(_|\\{| )`).test(line)))

describe("Prometheus' text", () => {
  it.effect("a counter ends in _total, its labels in order and escaped", () =>
    Effect.gen(function* () {
      const counter = Metric.counter("test.seen-things", { description: "seen\nso far \\ here", incremental: true })
      yield* Metric.incrementBy(Metric.tagged(Metric.tagged(counter, "z", "1"), "a.b", 'x"\\\n'), 3)
      yield* Metric.increment(Metric.tagged(counter, "z", "2"))
      assert.deepStrictEqual((yield* family("test_seen_things_total")).sort(), [
        "# HELP test_seen_things_total seen\\nso far \\\\ here",
        "# TYPE test_seen_things_total counter",
        'test_seen_things_total{a_b="x\\"\\\\\\n",z="1"} 3',
        'test_seen_things_total{z="2"} 1'
      ])
    })
  )

  it.effect("a histogram has cumulative buckets up to +Inf, sum and count", () =>
    Effect.gen(function* () {
      const histogram = Metric.histogram("test.took", MetricBoundaries.fromIterable([0.1, 1]), "it took, s")
      for (const value of [0.05, 0.1, 0.5, 7]) yield* Metric.update(histogram, value)
      assert.deepStrictEqual(yield* family("test_took"), [
        "# HELP test_took it took, s",
        "# TYPE test_took histogram",
        'test_took_bucket{le="0.1"} 2',
        'test_took_bucket{le="1"} 3',
        'test_took_bucket{le="+Inf"} 4',
        "test_took_sum 7.65",
        "test_took_count 4"
      ])
    })
  )

  it.effect("gauges, summaries and frequencies have their own forms", () =>
    Effect.gen(function* () {
      yield* Metric.set(Metric.gauge("test.level"), -1.5)
      yield* Metric.update(Metric.frequency("test.kinds"), "one")
      const summary = Metric.summary({ name: "test.spread", maxAge: "1 day", maxSize: 10, error: 0, quantiles: [0.5] })
      yield* Metric.update(summary, 2)
      const all = yield* text
      for (const line of [
        "# TYPE test_level gauge\ntest_level -1.5\n",
        '# TYPE test_kinds_total counter\ntest_kinds_total{value="one"} 1\n',
        '# TYPE test_spread summary\ntest_spread{quantile="0.5"} 2\ntest_spread_sum 2\ntest_spread_count 1\n'
      ]) {
        assert.include(all, line)
      }
      assert.isTrue(all.endsWith("\n"))
    })
  )
})
