import { assert, describe, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { Distribution, Lab, LabPicture, LabSvg, OptionSet, RunTimes, Screen } from "../src/index.js"

const set = (text: string): OptionSet.OptionSet => Either.getOrThrow(OptionSet.fromText(text))
const refusal = (text: string): string => Either.getOrThrow(Either.flip(OptionSet.fromText(text))).sentence

const scenario: Lab.Scenario = {
  runTimes: Distribution.fixed("75 seconds"),
  duration: "10 minutes",
  workers: 12,
  // a place is always free, so that what is visible is taken at once
  ratePerSecond: 0.2,
  seed: 7
}

describe("lab", () => {
  it.live(
    "duplicates without a heartbeat are what the closed form says: a run more for each slot that it outlives",
    () =>
      Effect.gen(function* () {
        for (const [seconds, visibility] of [
          [75, 30],
          [45, 30],
          [29, 30],
          [90, 20]
        ] as const) {
          const report = yield* Lab.run({ ...scenario, runTimes: Distribution.fixed(seconds * 1000) }, [
            set(`careless:visibility=${visibility}s,heartbeat=off,onLeaseLost=continue,maxReceiveCount=20`)
          ])
          const { duplicates, messages, runs } = report.trials[0]!
          const again = Math.ceil(seconds / visibility) - 1
          assert.isAbove(messages.sent, 80)
          assert.deepStrictEqual(
            [messages.done, runs, duplicates.runs, duplicates.messages],
            [messages.sent, messages.sent * (again + 1), messages.sent * again, again === 0 ? 0 : messages.sent]
          )
        }
      })
  )

  it.live("interrupted instead of run twice, it never ends: after maxReceiveCount slots it is a dead letter", () =>
    Effect.gen(function* () {
      const report = yield* Lab.run(scenario, [set("plain:visibility=30s,heartbeat=off,maxReceiveCount=3")])
      const { cut, duplicates, messages } = report.trials[0]!
      assert.deepStrictEqual([messages.done, messages.dead, duplicates.runs], [0, messages.sent, 0])
      assert.strictEqual(cut, 3 * messages.sent)
    })
  )

  it.live("with a heartbeat every job is done once, in the time that it takes", () =>
    Effect.gen(function* () {
      const report = yield* Lab.run(scenario, [set("beats:visibility=30s")])
      const { duplicates, latency, messages, runs } = report.trials[0]!
      assert.deepStrictEqual([messages.done, runs, duplicates.runs], [messages.sent, messages.sent, 0])
      assert.strictEqual(latency.p50Seconds, 75)
    })
  )

  it.live("one seed gives the same numbers twice, another others; all sets get the same jobs", () =>
    Effect.gen(function* () {
      const rough: Lab.Scenario = {
        ...scenario,
        runTimes: Distribution.lognormal("20 seconds", "2 minutes"),
        crashesPerHour: 6,
        failing: 0.1
      }
      const sets = [set("beats:visibility=30s"), set("careless:visibility=30s,heartbeat=off,onLeaseLost=continue")]
      const first = yield* Lab.run(rough, sets)
      const second = yield* Lab.run(rough, sets)
      assert.deepStrictEqual(first, second)
      assert.notDeepEqual(yield* Lab.run({ ...rough, seed: 8 }, sets), first)
      const [beats, careless] = first.trials
      assert.strictEqual(beats!.messages.sent, careless!.messages.sent)
      assert.isAbove(beats!.recovery.crashes, 0)
      assert.isAbove(beats!.failures, 0)
      assert.isAbove(careless!.duplicates.runs, beats!.duplicates.runs)
    })
  )

  it.live("a job whose worker died is taken up again after its slot, at the latest", () =>
    Effect.gen(function* () {
      const { trials } = yield* Lab.run({ ...scenario, crashesPerHour: 20, duration: "30 minutes" }, [
        set("short:visibility=30s,maxReceiveCount=50"),
        set("long:visibility=10m,maxReceiveCount=50")
      ])
      const [short, long] = trials.map(({ recovery }) => recovery)
      assert.isAbove(short!.messages, 10)
      assert.isAtMost(short!.maxSeconds!, 30.1)
      // beats come every 15 s and every 5 minutes: a slot is at least half full when its worker dies
      assert.isAtLeast(short!.p50Seconds!, 15)
      assert.isAtLeast(long!.p50Seconds!, 300)
      assert.isAtMost(long!.maxSeconds!, 600.1)
      assert.isTrue(trials.every((t) => t.messages.done === t.messages.sent))
    })
  )

  it.live("options that a consumer refuses, and scenarios that cannot be, are refused in a sentence", () =>
    Effect.gen(function* () {
      const sentence = (s: Lab.Scenario, ...texts: ReadonlyArray<string>) =>
        Effect.map(Effect.flip(Lab.run(s, texts.map(set))), (e) => e.sentence)
      assert.match(
        yield* sentence(scenario, "odd:visibility=30s,heartbeat=40s"),
        /^odd: lease.heartbeat must be shorter than visibility/
      )
      assert.match(yield* sentence(scenario, "a", "a"), /Two sets are called a/)
      assert.match(yield* sentence(scenario), /no set of options/)
      assert.match(yield* sentence({ ...scenario, ratePerSecond: 1e6 }, "a"), /more than 2000000: lower --rate/)
      assert.match(yield* sentence({ ...scenario, ratePerSecond: 1e-6 }, "a"), /Not one job/)
    })
  )

  it.live("is drawn as a table and as a chart, a column and a bar for each set", () =>
    Effect.gen(function* () {
      const report = yield* Lab.run(scenario, [set("beats:visibility=30s"), set("long:visibility=2m,heartbeat=off")])
      const text = LabPicture.draw(report, Screen.make({}))
      assert.match(text, /12 workers, 10m of 0.2 jobs a second, each 1m 15s/)
      assert.match(text, /^ +beats +long$/m)
      assert.match(text, /^done twice, or by two at once +0 +0$/m)
      const svg = LabSvg.draw(report)
      assert.strictEqual(svg.split("<rect").length - 1, 1 + 2 + 6 * 2)
    })
  )
})

describe("sets of options", () => {
  it("are read from a line, of lease without the group, and described again", () => {
    const read = set(
      "long:visibility=2m,heartbeat=60,concurrency=16,redelivery.first=1s,redelivery.max=1m,onLeaseLost=continue"
    )
    assert.deepStrictEqual(read.worker.options, {
      lease: { visibility: "120000 millis", heartbeat: "60000 millis" },
      concurrency: 16
    })
    assert.deepStrictEqual(read.worker.redelivery, { firstSeconds: 1, maxSeconds: 60 })
    assert.strictEqual(
      OptionSet.describe(read),
      "visibility 2m, heartbeat 1m, concurrency 16, redelivery 1s to 1m, continues when its lease is lost"
    )
    assert.strictEqual(OptionSet.describe(set("bare")), "defaults")
  })

  it("are read from a file", () => {
    const text = '{"a": {"lease": {"visibility": "30 seconds"}, "maxReceiveCount": 9}, "b": {}}'
    const [a, b] = Either.getOrThrow(OptionSet.fromFile(text, "sets.json"))
    assert.deepStrictEqual([a?.name, a?.maxReceiveCount, b?.maxReceiveCount], ["a", 9, 5])
    const wrong = (json: string) => Either.getOrThrow(Either.flip(OptionSet.fromFile(json, "sets.json"))).sentence
    assert.match(wrong("{"), /sets.json: this is no JSON/)
    assert.match(wrong("{}"), /sets.json: Expected option sets by name/)
    assert.match(wrong('{"a": {"onLeaseLost": "pray"}}'), /sets.json, a: onLeaseLost must be/)
  })

  it("that are none are refused in a sentence", () => {
    assert.match(refusal(":x=1"), /expected NAME:KEY=VALUE/)
    assert.match(refusal("a:visibility"), /"visibility" is not of the form KEY=VALUE/)
    assert.match(refusal("a:visibilty=3"), /there is no option visibilty; there are concurrency, /)
    assert.match(refusal("a:maxReceiveCount=0"), /maxReceiveCount must be a whole number from 1 to 1000/)
    assert.match(refusal("a:redelivery.first=1s"), /redelivery must be as/)
  })
})

describe("distributions", () => {
  const drawn = (d: Distribution.Distribution) => {
    // a low-discrepancy sequence in two dimensions: the mean is near without chance
    let n = 0
    const golden = [0.7548776662466927, 0.5698402909980532]
    const random = () => ((Math.floor(n / 2) + 1) * golden[n++ % 2]!) % 1
    const values = Array.from({ length: 20_000 }, () => d.draw(random)).sort((a, b) => a - b)
    return {
      mean: values.reduce((a, b) => a + b, 0) / values.length,
      at: (q: number) => values[Math.floor(q * values.length)]!
    }
  }
  const read = (text: string) => Distribution.fromText(text) ?? assert.fail(`${text} was refused`)

  it("have the mean that they say, and lognormal its two quantiles", () => {
    assert.strictEqual(
      read("45s").draw(() => assert.fail("nothing to draw")),
      45_000
    )
    const uniform = read("20s..60s")
    assert.strictEqual(uniform.meanMs, 40_000)
    assert.approximately(drawn({ ...uniform, draw: (r) => (r(), uniform.draw(r)) }).mean, 40_000, 100)
    const lognormal = read("lognormal:30s,5m")
    const { at, mean } = drawn(lognormal)
    assert.approximately(at(0.5), 30_000, 300)
    assert.approximately(at(0.99), 300_000, 10_000)
    assert.approximately(mean, lognormal.meanMs, 0.02 * lognormal.meanMs)
  })

  it("measured run times are drawn as they are", () => {
    const runs = Either.getOrThrow(RunTimes.fromText("[1, 2, 3]", "runs"))
    const { draw, meanMs } = Distribution.measured(runs)
    assert.strictEqual(meanMs, 2000)
    assert.deepStrictEqual(
      [0, 0.34, 0.99].map((x) => draw(() => x)),
      [1000, 2000, 3000]
    )
  })

  it("what is none is refused", () => {
    for (const text of ["", "soon", "60s..20s", "lognormal:5m", "lognormal:5m,1m", "1s..2s..3s", "0s", "0s..5s"]) {
      assert.isUndefined(Distribution.fromText(text), text)
    }
  })
})
