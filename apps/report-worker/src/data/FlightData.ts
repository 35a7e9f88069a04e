/**
 * The flight data, read once per thread. `data/DATA.md` tells what they are and where they come from.
 *
 * @since 0.1.0
 */
import { linesOf, once } from "./DataFile.js"

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

/**
 * The airports by code, of flights and of routes.
 *
 * @since 0.1.0
 * @category readers
 */
export const readAirports = (): ReadonlyMap<string, Airport> =>
  new Map(
    linesOf("airports.csv").map((line) => {
      // The name comes last because it may hold commas.
      const [iata = "", city = "", state = "", ...name] = line.split(",")
      return [iata, { iata, city, state, name: name.join(",") }]
    })
  )

const readFlights = (): ReadonlyArray<Flight> =>
  linesOf("flights.csv.gz").map((line) => {
    const [departed = "", delay, distance, origin = "", destination = ""] = line.split(",")
    return { departed, delay: Number(delay), distance: Number(distance), origin, destination }
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const load = once("the flight data", (): FlightData => ({ flights: readFlights(), airports: readAirports() }))
