/**
 * The airports with the longest mean delay as bars, longest first.
 *
 * @since 0.1.0
 */
import { scaleBand, scaleLinear } from "d3-scale"
import type { AirportFigures, FlightDelays } from "../data/FlightDelays.js"
import type { Airport } from "../data/FlightData.js"
import { tenth, whole } from "../ReportText.js"
import { type Mark, rect, rule, type Size, text } from "./Mark.js"
import { palette } from "./Palette.js"

const bars = 12
/** A scale that ends below this would have broken minutes as its ticks. */
const leastMinutes = 5
const margin = { top: 4, right: 10, bottom: 20, left: 200 }
const valueWidth = 34
const gap = 8

/** Where the place begins after the code, so that places stand in line. */
const codeWidth = 24

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
export const airportRanking = (report: FlightDelays, size: Size): ReadonlyArray<Mark> => {
  const rows = ranked(report)
  const right = size.width - margin.right
  // Few bars keep their height, and the axis stays below the last.
  const bottom = margin.top + ((size.height - margin.top - margin.bottom) * rows.length) / bars
  const delays = rows.map((r) => r.meanDelay)
  const x = scaleLinear([Math.min(0, ...delays), Math.max(leastMinutes, ...delays)], [margin.left, right]).nice(5)
  const y = scaleBand(
    rows.map((_, i) => i),
    [margin.top, bottom]
  ).padding(0.28)
  const ticks = x.ticks(5)
  return [
    ...ticks.flatMap((v) => [
      rule(x(v), margin.top, x(v), bottom, v === 0 ? palette.muted : palette.hairline, v === 0 ? 0.8 : 0.5),
      text(whole(v), x(v), bottom + 13, { anchor: "middle", color: palette.muted })
    ]),
    ...rows.flatMap((r, i) => {
      const [from, to] = r.meanDelay >= 0 ? [x(0), x(r.meanDelay)] : [x(r.meanDelay), x(0)]
      const base = y(i)! + y.bandwidth() / 2 + 2.8
      return [
        rect(from, y(i)!, to - from, y.bandwidth(), palette.bar),
        text(r.airport.iata, 0, base, { color: palette.ink }),
        text(placeOf(r.airport), codeWidth, base, {
          color: palette.ink,
          width: margin.left - gap - valueWidth - codeWidth
        }),
        text(tenth(r.meanDelay), margin.left - gap, base, { anchor: "end", bold: true, color: palette.ink })
      ]
    })
  ]
}
