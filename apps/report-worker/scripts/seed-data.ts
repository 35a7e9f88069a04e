/**
 * Copies what the reports need out of the `vega-datasets` package, in a compact form, into `data/`. The result is
 * committed: a worker needs neither the package nor the network. Run it again after a new version of the package:
 *
 *   node --import tsx apps/report-worker/scripts/seed-data.ts
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { gzipSync } from "node:zlib"

interface Flight {
  readonly date: string
  readonly delay: number
  readonly distance: number
  readonly origin: string
  readonly destination: string
}

/** The package exports its entry only; the data lie beside it. */
const source = (file: string) =>
  readFileSync(
    path.join(path.dirname(createRequire(import.meta.url).resolve("vega-datasets")), "..", "data", file),
    "utf8"
  )

/** One flight a line, in the order of departure. */
export const flightsCsv = (): string => {
  const flights = JSON.parse(source("flights-20k.json")) as ReadonlyArray<Flight>
  return (
    "departed,delay,distance,origin,destination\n" +
    flights
      .map((f) => `${f.date.replaceAll("/", "-")},${f.delay},${f.distance},${f.origin},${f.destination}\n`)
      .join("")
  )
}

/** The fields of a line of CSV; quotes stand around a field that has commas. */
const fields = (line: string): Array<string> =>
  [...line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,"]*))/g)].map((m) => m[1] ?? m[2] ?? "")

/** The rows of a CSV of the package without its head; what the source does not know (`NA`) is empty. */
const table = (file: string): ReadonlyArray<ReadonlyArray<string>> =>
  source(file)
    .trim()
    .split(/\r?\n/)
    .slice(1)
    .map((line) => fields(line).map((field) => (field === "NA" ? "" : field)))

/** The flights of a year from one airport to another. */
export const routesCsv = (): string =>
  "origin,destination,flights\n" +
  table("flights-airport.csv")
    .map((row) => row + "\n")
    .join("")

/** One strike a line, in the order of their days. */
export const strikesCsv = (): string =>
  "date,airport,state,aircraft,damage,phase,species,cost\n" +
  table("birdstrikes.csv")
    .map(([airport, aircraft, damage, date, , state, phase, , species, , , , cost]) => [
      date!,
      airport!,
      state!,
      aircraft!,
      damage!,
      phase!,
      species!,
      cost!
    ])
    .sort((a, b) => (a[0]! < b[0]! ? -1 : a[0]! > b[0]! ? 1 : 0))
    .map((row) => row + "\n")
    .join("")

/**
 * The airports of those flights and routes. The name comes last because it may have commas; what the source does
 * not know (`NA`) is empty.
 */
export const airportsCsv = (): string => {
  const used = new Set(
    flightsCsv()
      .split("\n")
      .flatMap((line) => line.split(",").slice(3))
      .concat(table("flights-airport.csv").flatMap((row) => row.slice(0, 2)))
  )
  const rows = table("airports.csv").filter(([iata]) => used.has(iata!))
  return "iata,city,state,name\n" + rows.map(([iata, name, city, state]) => [iata, city, state, name] + "\n").join("")
}

export const dataFile = (name: string) => fileURLToPath(new URL(`../data/${name}`, import.meta.url))

const seed = Effect.gen(function* () {
  writeFileSync(dataFile("flights.csv.gz"), gzipSync(flightsCsv(), { level: 9 }))
  writeFileSync(dataFile("routes.csv.gz"), gzipSync(routesCsv(), { level: 9 }))
  writeFileSync(dataFile("strikes.csv.gz"), gzipSync(strikesCsv(), { level: 9 }))
  writeFileSync(dataFile("airports.csv"), airportsCsv())
  yield* Console.log("data/ written: flights, routes, strikes and airports")
})

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) Effect.runSync(seed)
