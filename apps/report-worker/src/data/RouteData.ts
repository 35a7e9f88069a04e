/**
 * How many flights went between two airports in 2008, read once per thread. `data/DATA.md` tells what they are and where they
 * come from.
 *
 * @since 0.1.0
 */
import { linesOf, once } from "./DataFile.js"
import { type Airport, readAirports } from "./FlightData.js"

/**
 * The flights of the year from one airport to another.
 *
 * @since 0.1.0
 * @category models
 */
export interface Leg {
  readonly origin: string
  readonly destination: string
  readonly flights: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface RouteData {
  readonly legs: ReadonlyArray<Leg>
  readonly airports: ReadonlyMap<string, Airport>
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const load = once("the route data", (): RouteData => ({
  legs: linesOf("routes.csv.gz").map((line) => {
    const [origin = "", destination = "", flights] = line.split(",")
    return { origin, destination, flights: Number(flights) }
  }),
  airports: readAirports()
}))
