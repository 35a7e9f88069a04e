import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import path from "node:path"
import { gunzipSync } from "node:zlib"
import { dataFile, routesCsv, strikesCsv } from "../scripts/seed-data.js"
import * as RouteData from "../src/data/RouteData.js"
import { codeOf } from "../src/report/Cells.js"
import { describe as describeReport } from "../src/report/Describe.js"
import { RouteTrafficJob, WildlifeStrikesJob } from "../src/ReportJob.js"

/** The rows as the package has them, read by nobody's code but this test's. */
const rowsOf = (file: string): ReadonlyArray<ReadonlyArray<string>> =>
  readFileSync(
    path.join(path.dirname(createRequire(import.meta.url).resolve("vega-datasets")), "..", "data", file),
    "utf8"
  )
    .trim()
    .split(/\r?\n/)
    .slice(1)
    .map((line) => line.split(","))

const wildlife = (o: Partial<ConstructorParameters<typeof WildlifeStrikesJob>[0]> = {}) =>
  describeReport(new WildlifeStrikesJob({ jobId: "t", locale: "en", ...o }))

const routes = (o: Partial<ConstructorParameters<typeof RouteTrafficJob>[0]> = {}) =>
  describeReport(new RouteTrafficJob({ jobId: "t", locale: "en", ...o }))

describe("the data", () => {
  it("are those of the package", () => {
    const unpacked = (name: string) => gunzipSync(readFileSync(dataFile(name))).toString("utf8")
    assert.strictEqual(unpacked("routes.csv.gz"), routesCsv())
    assert.strictEqual(unpacked("strikes.csv.gz"), strikesCsv())
  })
})

describe("the wildlife-strikes report", () => {
  it.effect("counts as a count by hand does", () =>
    Effect.gen(function* () {
      const all = rowsOf("birdstrikes.csv").filter((row) => row[5] === "Texas" && row[3]! >= "1995" && row[3]! < "2000")
      const report = yield* wildlife({ state: "TX", from: 1995, to: 1999, minCost: 0 })
      assert.strictEqual(report.subject, "Texas")
      assert.strictEqual(report.period, "1995 to 1999")
      assert.strictEqual(report.tiles[0]!.value, String(all.length))
      const [phases, species, listed] = report.tables
      assert.strictEqual(listed!.rows.length, all.length)
      const sum = (rows: ReadonlyArray<ReadonlyArray<unknown>>, i: number) =>
        rows.reduce((n, row) => n + Number(row[i]), 0)
      for (const table of [phases!, species!]) {
        assert.strictEqual(sum(table.rows, 1), all.length)
        assert.strictEqual(sum(table.rows, 3), sum(all, 12))
      }
      const approach = all.filter((row) => row[6] === "Approach")
      const damaged = approach.filter((row) => row[2] !== "None").length
      const row = phases!.rows.find((r) => r[0] === "Approach")!
      assert.deepStrictEqual([row[1], row[2]], [approach.length, damaged / approach.length])
    })
  )

  it.effect("lists the costly ones in the order of their days, in Korean words", () =>
    Effect.gen(function* () {
      const report = yield* wildlife({ locale: "ko", minCost: 1_000_000 })
      const costly = rowsOf("birdstrikes.csv").filter((row) => Number(row[12]) >= 1_000_000)
      const { columns, rows, title } = report.tables[2]!
      assert.strictEqual(title, "비용이 $1,000,000 이상인 충돌")
      assert.strictEqual(rows.length, costly.length)
      assert.deepStrictEqual(
        rows.map((r) => String(r[0])),
        costly.map((r) => r[3]!).sort()
      )
      assert.strictEqual(columns[0]!.head, "날짜")
      assert.include(
        report.tables[0]!.rows.map((r) => r[0]),
        "접근"
      )
    })
  )

  it.effect("says what there is not", () =>
    Effect.gen(function* () {
      const nowhere = yield* Effect.flip(routes({ state: "XX" }))
      assert.strictEqual(nowhere.message, "no state has the code XX: check the code")
      const unknown = yield* Effect.flip(wildlife({ state: "XX" }))
      assert.strictEqual(unknown.message, "no state has the code XX: check the code")
      const none = yield* Effect.flip(wildlife({ state: "WY" }))
      assert.strictEqual(
        none.message,
        "no wildlife strike in Wyoming from 1990 to 2002: ask for more years, or for all states"
      )
    })
  )
})

describe("the route-traffic report", () => {
  const legs = rowsOf("flights-airport.csv")

  it.effect("of an airport: every flight from it and to it, once", () =>
    Effect.gen(function* () {
      const report = yield* routes({ airport: "DEN" })
      const of = legs.filter(([from, to]) => (from === "DEN") !== (to === "DEN"))
      const flights = of.reduce((n, [, , count]) => n + Number(count), 0)
      assert.strictEqual(report.tiles[0]!.value.replaceAll(",", ""), String(flights))
      const [states, all] = report.tables
      const lax = all!.rows.find((r) => codeOf(r[1]!) === "LAX")!
      const count = (from: string, to: string) => Number(legs.find(([a, b]) => a === from && b === to)![2])
      assert.deepStrictEqual(lax.slice(2), [
        count("DEN", "LAX"),
        count("LAX", "DEN"),
        count("DEN", "LAX") + count("LAX", "DEN")
      ])
      assert.strictEqual(
        states!.rows.reduce((n, r) => n + Number(r[2]), 0),
        flights
      )
    })
  )

  it.effect("of a state: a route inside it stands there once, with both directions", () =>
    Effect.gen(function* () {
      const report = yield* routes({ state: "CA", locale: "ko" })
      const all = report.tables[1]!.rows
      const pairs = all.map((r) => [codeOf(r[0]!), codeOf(r[1]!)].sort().join())
      assert.strictEqual(new Set(pairs).size, pairs.length)
      const inside = all.find((r) => codeOf(r[0]!) === "LAX" && codeOf(r[1]!) === "SFO")!
      const count = (from: string, to: string) => Number(legs.find(([a, b]) => a === from && b === to)![2])
      assert.deepStrictEqual(inside.slice(2, 4), [count("LAX", "SFO"), count("SFO", "LAX")])
      assert.strictEqual(report.title, "노선 교통량 보고서")
      // both ends of a route inside the state are reached from it
      const { airports } = yield* RouteData.load
      const isHere = (iata: string) => airports.get(iata)?.state === "CA"
      const reached = new Set(
        legs.flatMap(([from, to]) => [...(isHere(from!) ? [to!] : []), ...(isHere(to!) ? [from!] : [])])
      )
      assert.strictEqual(report.tiles[2]!.value, String(reached.size))
      const own = report.tables[0]!.rows.find((r) => codeOf(r[0]!) === "CA")!
      assert.strictEqual(own[1], [...reached].filter(isHere).length)
    })
  )

  it.effect("says what there is not", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        (yield* Effect.flip(routes({ airport: "ZZZ" }))).message,
        "no airport ZZZ in the flight data: check the code"
      )
      assert.strictEqual(
        (yield* Effect.flip(routes({ state: "DE" }))).message,
        "no route from or to DE in the data: check the code"
      )
    })
  )
})
