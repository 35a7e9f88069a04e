/**
 * The flight data, read once per thread. `data/DATA.md` tells what they are and where they come from.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { SourceUnavailable } from "../ReportError.js"

/**
 * The last day of the data.
 *
 * @since 0.1.0
 * @category constants
 */
export const dataAsOf: Date = new Date("2001-03-31T00:00:00Z")

/**
 * `city` and `state` are empty where the source does not know them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Airport {
  readonly iata: string
  readonly city: string
  readonly state: string
  readonly name: string
}

/**
 * One flight. `departed` is local time, `YYYY-MM-DD hh:mm`; `delay` the arrival delay in minutes, negative when early;
 * `distance` in miles.
 *
 * @since 0.1.0
 * @category models
 */
export interface Flight {
  readonly departed: string
  readonly delay: number
  readonly distance: number
  readonly origin: string
  readonly destination: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface FlightData {
  /** in the order of departure */
  readonly flights: ReadonlyArray<Flight>
  readonly airports: ReadonlyMap<string, Airport>
}

/** Both `src/data` and `dist/data` lie two steps below the app's folder. */
const file = (name: string) => new URL(`../../data/${name}`, import.meta.url)

const rows = (text: string) => text.trimEnd().split("\n").slice(1)

const readAirports = (): ReadonlyMap<string, Airport> =>
  new Map(
    rows(readFileSync(file("airports.csv"), "utf8")).map((line) => {
      // The name comes last because it may hold commas.
      const [iata = "", city = "", state = "", ...name] = line.split(",")
      return [iata, { iata, city, state, name: name.join(",") }]
    })
  )

const readFlights = (): ReadonlyArray<Flight> =>
  rows(gunzipSync(readFileSync(file("flights.csv.gz"))).toString("utf8")).map((line) => {
    const [departed = "", delay, distance, origin = "", destination = ""] = line.split(",")
    return { departed, delay: Number(delay), distance: Number(distance), origin, destination }
  })

let loaded: FlightData | undefined

/**
 * The data; the first call of a thread reads the files (some 40 ms).
 *
 * @since 0.1.0
 * @category constructors
 */
export const load: Effect.Effect<FlightData, SourceUnavailable> = Effect.try({
  try: () => (loaded ??= { flights: readFlights(), airports: readAirports() }),
  catch: (cause) => new SourceUnavailable({ source: "the flight data", detail: String(cause) })
})
