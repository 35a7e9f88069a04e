/**
 * The flight-delays report: its figures, charts and tables in the words of a language.
 *
 * @since 0.1.0
 */
import { airportRanking, placeOf, ranked } from "../chart/AirportRanking.js"
import { dailyDelays } from "../chart/DailyDelays.js"
import type * as FlightData from "../data/FlightData.js"
import * as FlightDelays from "../data/FlightDelays.js"
import type { Locale } from "../ReportJob.js"
import { percent, type ReportText, tenth, textOf, whole } from "../ReportText.js"
import type { Chart, Report, Table } from "./Report.js"

/** From here on a delay is to be noticed, in minutes. */
const alertFromMinutes = 60

const width = 499.28

const coded = (a: FlightData.Airport) => [a.iata, placeOf(a)] as const

const subject = (report: FlightDelays.FlightDelays, t: ReportText): string =>
  report.airport === undefined
    ? t.allAirports
    : [report.airport.name || report.airport.city, `(${report.airport.iata})`].join(" ")

const charts = (report: FlightDelays.FlightDelays, t: ReportText): ReadonlyArray<Chart> => {
  const note = report.rankedFromFlights > 1 ? t.ranking.note(whole(report.rankedFromFlights)) : ""
  return [
    {
      title: t.daily.title,
      note: "",
      description: report.days
        .flatMap((d) => (d.meanDelay === undefined ? [] : [`${t.date(d.date)}: ${tenth(d.meanDelay)}`]))
        .join("; "),
      width,
      height: 210,
      marks: dailyDelays(report.days, t, { width, height: 210 })
    },
    {
      title: t.ranking.title(report.airport !== undefined),
      note,
      description: ranked(report)
        .map((r) => `${coded(r.airport).join(" ")}: ${tenth(r.meanDelay)}`)
        .join("; "),
      width,
      height: 242,
      marks: airportRanking(report, { width, height: 242 })
    }
  ]
}

const airports = (report: FlightDelays.FlightDelays, t: ReportText): Table => {
  const c = t.airports.columns
  const paperRows = 44
  return {
    title: t.airports.title(report.airport !== undefined),
    none: "",
    columns: [
      { head: c.airport, kind: "coded", share: 173 },
      { head: c.flights, kind: "whole", share: 60 },
      { head: c.meanDelay, kind: "tenth", share: 84 },
      { head: c.lateShare, kind: "percent", share: 92 },
      { head: c.longestDelay, kind: "whole", share: 90 }
    ],
    rows: report.airports.map((r) => [coded(r.airport), r.flights, r.meanDelay, r.lateShare, r.longestDelay]),
    ...(report.airports.length > paperRows
      ? { paperRows, paperNote: t.airports.more(whole(paperRows), whole(report.airports.length)) }
      : {})
  }
}

const flights = (report: FlightDelays.FlightDelays, t: ReportText): Table => {
  const c = t.listing.columns
  return {
    title: t.listing.title(report.minDelay <= -1000 ? undefined : report.minDelay),
    none: t.listing.none,
    columns: [
      { head: c.departed, kind: "text", share: 112 },
      { head: c.from, kind: "coded", share: 139.5 },
      { head: c.to, kind: "coded", share: 139.5 },
      { head: c.distance, kind: "whole", share: 52 },
      { head: c.delay, kind: "whole", share: 56, alertFrom: alertFromMinutes }
    ],
    rows: report.listed.map((f) => [
      f.departed,
      coded(report.airportOf(f.origin)),
      coded(report.airportOf(f.destination)),
      f.distance,
      f.delay
    ])
  }
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const flightDelaysReport = (report: FlightDelays.FlightDelays, locale: Locale): Report => {
  const t = textOf(locale)
  const f = report.figures
  return {
    locale,
    title: t.title,
    subject: subject(report, t),
    period: t.period(report.period),
    tiles: [
      { value: whole(f.flights), unit: "", label: t.figures.flights },
      { value: tenth(f.meanDelay), unit: t.minutes, label: t.figures.meanDelay },
      { value: percent(f.lateShare), unit: "", label: t.figures.lateShare(FlightDelays.lateFromMinutes) },
      { value: whole(f.longestDelay), unit: t.minutes, label: t.figures.longestDelay }
    ],
    charts: charts(report, t),
    note: t.note,
    source: t.source,
    tables: [airports(report, t), flights(report, t)]
  }
}
