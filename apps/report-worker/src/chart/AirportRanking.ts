/**
 * The airports with the longest mean delay as bars, longest first.
 *
 * @since 0.1.0
 */
import type { AirportFigures, FlightDelays } from "../data/FlightDelays.js"
import type { Airport } from "../data/FlightData.js"
import { tenth } from "../ReportText.js"
import type { Mark, Size } from "./Mark.js"
import { rankedBars } from "./RankedBars.js"

const bars = 12
/** A scale that ends below this would have broken minutes as its ticks. */
const leastMinutes = 5

/**
 * Where an airport is: its city, or its name where no city is known.
 *
 * @since 0.1.0
 * @category formatting
 */
export const placeOf = (a: Airport): string => (a.city === "" ? a.name : `${a.city}, ${a.state}`)

/**
 * @since 0.1.0
 * @category charts
 */
export const ranked = (report: FlightDelays): ReadonlyArray<AirportFigures> =>
  report.airports
    .filter((a) => a.flights >= report.rankedFromFlights)
    .sort((a, b) => b.meanDelay - a.meanDelay || (a.airport.iata < b.airport.iata ? -1 : 1))
    .slice(0, bars)

/**
 * @since 0.1.0
 * @category charts
 */
export const airportRanking = (report: FlightDelays, size: Size): ReadonlyArray<Mark> =>
  rankedBars(
    ranked(report).map((r) => ({
      code: r.airport.iata,
      name: placeOf(r.airport),
      value: r.meanDelay,
      shown: tenth(r.meanDelay)
    })),
    size,
    { least: leastMinutes, most: bars }
  )
