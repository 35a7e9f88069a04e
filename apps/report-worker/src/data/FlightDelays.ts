/**
 * The figures of the flight-delays report, worked out from the data; nothing here knows how they are shown.
 *
 * @since 0.1.0
 */
import { group } from "d3-array"
import * as Effect from "effect/Effect"
import { NoFlights, UnknownAirport } from "../ReportError.js"
import type { FlightDelaysJob, Period } from "../ReportJob.js"
import type { Airport, Flight, FlightData } from "./FlightData.js"

/**
 * A flight counts as late from this arrival delay on, as the U.S. Department of Transportation counts.
 *
 * @since 0.1.0
 * @category constants
 */
export const lateFromMinutes = 15

/**
 * @since 0.1.0
 * @category models
 */
export interface Figures {
  readonly flights: number
  /** mean arrival delay in minutes */
  readonly meanDelay: number
  /** part of the flights that were late, 0 to 1 */
  readonly lateShare: number
  /** the longest arrival delay in minutes */
  readonly longestDelay: number
}

/**
 * One day of the period; `meanDelay` is `undefined` on a day without flights.
 *
 * @since 0.1.0
 * @category models
 */
export interface Day {
  /** `YYYY-MM-DD` */
  readonly date: string
  /** 0 is Sunday */
  readonly weekday: number
  readonly meanDelay: number | undefined
  /** of all flights of this day and the six before it, as far as they are in the period */
  readonly meanOfSevenDays: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface AirportFigures extends Figures {
  readonly airport: Airport
}

/**
 * Everything that the report shows.
 *
 * @since 0.1.0
 * @category models
 */
export interface FlightDelays {
  readonly period: Period
  /** the airport that the report is about; `undefined`: all */
  readonly airport: Airport | undefined
  readonly figures: Figures
  readonly days: ReadonlyArray<Day>
  /** by airport of departure; in a report on one airport by the other end. Most flights first. */
  readonly airports: ReadonlyArray<AirportFigures>
  /** fewer flights than this make no mean worth ranking */
  readonly rankedFromFlights: number
  readonly minDelay: number
  /** those that arrived at least `minDelay` minutes late, in the order of departure */
  readonly listed: ReadonlyArray<Flight>
  readonly airportOf: (iata: string) => Airport
}

const figuresOf = (flights: ReadonlyArray<Flight>): Figures => {
  let sum = 0
  let late = 0
  let longest = -Infinity
  for (const f of flights) {
    sum += f.delay
    if (f.delay >= lateFromMinutes) late++
    if (f.delay > longest) longest = f.delay
  }
  const n = flights.length
  return { flights: n, meanDelay: sum / n, lateShare: late / n, longestDelay: longest }
}

/** The months of a period, as the dates begin. */
const monthsOf = (period: Period): ReadonlyArray<string> =>
  period === "2001-Q1" ? ["2001-01", "2001-02", "2001-03"] : [period]

const oneDayMs = 86_400_000

const datesOf = (period: Period): ReadonlyArray<Date> =>
  monthsOf(period).flatMap((month) => {
    const first = Date.parse(`${month}-01T00:00:00Z`)
    const days = new Date(first)
    days.setUTCMonth(days.getUTCMonth() + 1)
    return Array.from({ length: (days.getTime() - first) / oneDayMs }, (_, i) => new Date(first + i * oneDayMs))
  })

const daysOf = (period: Period, flights: ReadonlyArray<Flight>): ReadonlyArray<Day> => {
  const byDate = group(flights, (f) => f.departed.slice(0, 10))
  const mean = (fs: ReadonlyArray<Flight>) => (fs.length === 0 ? undefined : figuresOf(fs).meanDelay)
  const dates = datesOf(period)
  const on = dates.map((date) => byDate.get(date.toISOString().slice(0, 10)) ?? [])
  return dates.map((date, i) => ({
    date: date.toISOString().slice(0, 10),
    weekday: date.getUTCDay(),
    meanDelay: mean(on[i]!),
    meanOfSevenDays: mean(on.slice(Math.max(0, i - 6), i + 1).flat())
  }))
}

/**
 * Works the report out. Fails when the airport is not in the data, or has no flight in the period.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  job: FlightDelaysJob,
  data: FlightData
): Effect.Effect<FlightDelays, UnknownAirport | NoFlights> => {
  const iata = job.airport
  const airport = iata === undefined ? undefined : data.airports.get(iata)
  if (iata !== undefined && airport === undefined) return Effect.fail(new UnknownAirport({ airport: iata }))
  const months = monthsOf(job.period)
  const flights = data.flights.filter(
    (f) =>
      months.some((month) => f.departed.startsWith(month)) &&
      (iata === undefined || f.origin === iata || f.destination === iata)
  )
  if (flights.length === 0) return Effect.fail(new NoFlights({ airport: iata ?? "any airport", period: job.period }))
  const airportOf = (code: string): Airport => data.airports.get(code) ?? { iata: code, city: "", state: "", name: "" }
  const otherEnd = (f: Flight) => (iata !== undefined && f.origin === iata ? f.destination : f.origin)
  const airports = Array.from(group(flights, otherEnd), ([code, fs]) => ({
    airport: airportOf(code),
    ...figuresOf(fs)
  })).sort((a, b) => b.flights - a.flights || (a.airport.iata < b.airport.iata ? -1 : 1))
  return Effect.succeed({
    period: job.period,
    airport,
    figures: figuresOf(flights),
    days: daysOf(job.period, flights),
    airports,
    rankedFromFlights: Math.min(Math.max(3, Math.round(flights.length / 400)), airports[0]!.flights),
    minDelay: job.minDelay,
    listed: flights.filter((f) => f.delay >= job.minDelay),
    airportOf
  })
}
