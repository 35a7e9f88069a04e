/**
 * The figures of the route-traffic report, worked out from the data; nothing here knows how they are shown.
 *
 * @since 0.1.0
 */
import { group } from "d3-array"
import * as Effect from "effect/Effect"
import { NoRoutes, UnknownAirport, UnknownState } from "../ReportError.js"
import type { RouteTrafficJob } from "../ReportJob.js"
import type { Airport } from "./FlightData.js"
import type { RouteData } from "./RouteData.js"
import { stateNames } from "./States.js"

/**
 * The traffic between an airport that the report is about and another one, in flights a year.
 *
 * @since 0.1.0
 * @category models
 */
export interface Route {
  readonly here: Airport
  readonly there: Airport
  readonly outbound: number
  readonly inbound: number
  readonly both: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface StateTraffic {
  readonly code: string
  readonly name: string
  readonly airports: number
  readonly flights: number
  /** part of all flights of the report, 0 to 1 */
  readonly share: number
}

/**
 * Everything that the report shows.
 *
 * @since 0.1.0
 * @category models
 */
export interface Routes {
  /** what it is about: an airport, or a state by its name */
  readonly subject: Airport | string
  readonly flights: number
  /** airports at the other end */
  readonly reached: number
  /** most flights first; a route inside a state stands there once */
  readonly routes: ReadonlyArray<Route>
  /** by the state of the other end, most flights first */
  readonly states: ReadonlyArray<StateTraffic>
}

const unknown = (iata: string): Airport => ({ iata, city: "", state: "", name: "" })

/**
 * Works the report out. Fails when the airport is not in the data, there is no such state, or it has no flights.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  job: RouteTrafficJob,
  { airports, legs }: RouteData
): Effect.Effect<Routes, UnknownAirport | UnknownState | NoRoutes> => {
  const airportOf = (iata: string): Airport => airports.get(iata) ?? unknown(iata)
  const airport = job.airport === undefined ? undefined : airports.get(job.airport)
  if (job.airport !== undefined && airport === undefined) {
    return Effect.fail(new UnknownAirport({ airport: job.airport }))
  }
  if (job.state !== undefined && !stateNames.has(job.state)) {
    return Effect.fail(new UnknownState({ state: job.state }))
  }
  const subject = airport ?? stateNames.get(job.state!) ?? job.state!
  const isHere = (iata: string) => (airport === undefined ? airportOf(iata).state === job.state : iata === airport.iata)

  const routes = new Map<string, { here: string; there: string; outbound: number; inbound: number }>()
  for (const { destination, flights, origin } of legs) {
    if (origin === destination || !(isHere(origin) || isHere(destination))) continue
    // inside a state the first by its code is here
    const outbound = isHere(origin) && (!isHere(destination) || origin < destination)
    const [here, there] = outbound ? [origin, destination] : [destination, origin]
    const key = `${here} ${there}`
    const route = routes.get(key) ?? { here, there, outbound: 0, inbound: 0 }
    if (outbound) route.outbound += flights
    else route.inbound += flights
    routes.set(key, route)
  }
  if (routes.size === 0) {
    return Effect.fail(new NoRoutes({ place: airport?.iata ?? job.state! }))
  }
  const all = Array.from(routes.values(), (r): Route => ({
    here: airportOf(r.here),
    there: airportOf(r.there),
    outbound: r.outbound,
    inbound: r.inbound,
    both: r.outbound + r.inbound
  })).sort((a, b) => b.both - a.both || (a.here.iata + a.there.iata < b.here.iata + b.there.iata ? -1 : 1))
  /** the airports at the other end; of a route inside the state each end is the other's */
  const reachedBy = (routes: ReadonlyArray<Route>) =>
    new Set(routes.flatMap((r) => [r.there.iata, ...(isHere(r.there.iata) ? [r.here.iata] : [])])).size
  const flights = all.reduce((sum, r) => sum + r.both, 0)
  const states = Array.from(
    group(all, (r) => r.there.state),
    ([code, members]): StateTraffic => {
      const n = members.reduce((sum, r) => sum + r.both, 0)
      return {
        code,
        name: stateNames.get(code) ?? code,
        airports: reachedBy(members),
        flights: n,
        share: n / flights
      }
    }
  ).sort((a, b) => b.flights - a.flights || (a.code < b.code ? -1 : 1))
  return Effect.succeed({
    subject,
    flights,
    reached: reachedBy(all),
    routes: all,
    states
  })
}
