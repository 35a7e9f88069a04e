import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { airportsCsv, dataFile, flightsCsv } from "../scripts/seed-data.js"
import * as FlightData from "../src/data/FlightData.js"
import * as FlightDelays from "../src/data/FlightDelays.js"
import { FlightDelaysJob } from "../src/ReportJob.js"

const report = (o: Partial<FlightDelaysJob>) =>
  Effect.flatMap(FlightData.load, (data) =>
    FlightDelays.make(new FlightDelaysJob({ jobId: "t", locale: "en", period: "2001-Q1", ...o }), data)
  )

describe("the data", () => {
  it("are those of the package that they are said to come from", () => {
    assert.strictEqual(gunzipSync(readFileSync(dataFile("flights.csv.gz"))).toString("utf8"), flightsCsv())
    assert.strictEqual(readFileSync(dataFile("airports.csv"), "utf8"), airportsCsv())
  })

  it.effect("are 20,000 flights between airports that are known, names with commas included", () =>
    Effect.gen(function* () {
      const { airports, flights } = yield* FlightData.load
      assert.strictEqual(flights.length, 20_000)
      assert.strictEqual(airports.size, 309)
      assert.strictEqual(airports.get("BTR")?.name, "Baton Rouge Metropolitan, Ryan")
      assert.isTrue(flights.every((f) => airports.has(f.origin) && airports.has(f.destination)))
      assert.isTrue(flights.every((f) => Number.isInteger(f.delay) && f.distance > 0))
    })
  )
})

describe("FlightDelays", () => {
  it.effect("counts every flight of the period once", () =>
    Effect.gen(function* () {
      const q1 = yield* report({})
      const months = yield* Effect.forEach(["2001-01", "2001-02", "2001-03"] as const, (period) => report({ period }))
      const total = (rs: ReadonlyArray<FlightDelays.FlightDelays>) => rs.reduce((n, r) => n + r.figures.flights, 0)
      assert.strictEqual(q1.figures.flights, 20_000)
      assert.strictEqual(total(months), 20_000)
      assert.strictEqual(
        q1.airports.reduce((n, a) => n + a.flights, 0),
        20_000
      )
      assert.deepStrictEqual(
        months.map((m) => m.days.length),
        [31, 28, 31]
      )
      assert.strictEqual(q1.days.length, 90)
    })
  )

  it.effect("has the figures that a plain count over the file has", () =>
    Effect.gen(function* () {
      const lines = flightsCsv()
        .split("\n")
        .filter((line) => line.startsWith("2001-02") && /,DEN(,|$)/.test(line))
      const delays = lines.map((line) => Number(line.split(",")[1]))
      const r = yield* report({ period: "2001-02", airport: "DEN", minDelay: 60 })
      assert.deepStrictEqual(r.figures, {
        flights: lines.length,
        meanDelay: delays.reduce((a, b) => a + b, 0) / lines.length,
        lateShare: delays.filter((d) => d >= 15).length / lines.length,
        longestDelay: Math.max(...delays)
      })
      assert.deepStrictEqual(
        r.listed.map((f) => f.delay),
        delays.filter((d) => d >= 60)
      )
      assert.strictEqual(r.airport?.city, "Denver")
      assert.isFalse(r.airports.some((a) => a.airport.iata === "DEN"))
      const thursday = r.days.find((d) => d.date === "2001-02-01")
      assert.strictEqual(thursday?.weekday, 4)
    })
  )

  it.effect("smooths over seven days, fewer at the beginning", () =>
    Effect.gen(function* () {
      const { flights } = yield* FlightData.load
      const r = yield* report({ period: "2001-01" })
      const mean = (from: string, to: string) => {
        const ds = flights.filter((f) => f.departed >= from && f.departed < to).map((f) => f.delay)
        return ds.reduce((a, b) => a + b, 0) / ds.length
      }
      assert.strictEqual(r.days[0]!.meanOfSevenDays, mean("2001-01-01", "2001-01-02"))
      assert.strictEqual(r.days[9]!.meanOfSevenDays, mean("2001-01-04", "2001-01-11"))
    })
  )

  it.effect("ranks some airport even where there are few flights", () =>
    Effect.gen(function* () {
      const r = yield* report({ airport: "MQT" })
      assert.strictEqual(r.figures.flights, 1)
      assert.strictEqual(r.rankedFromFlights, 1)
    })
  )

  it.effect("fails with what is wrong: no such airport, or none of its flights in the period", () =>
    Effect.gen(function* () {
      const unknown = yield* Effect.flip(report({ airport: "ZZZ" }))
      assert.strictEqual(unknown._tag, "UnknownAirport")
      assert.match(unknown.message, /no airport ZZZ in the flight data/)
      const none = yield* Effect.flip(report({ airport: "MQT", period: "2001-01" }))
      assert.strictEqual(none._tag, "NoFlights")
      assert.match(none.message, /MQT in 2001-01/)
    })
  )
})
