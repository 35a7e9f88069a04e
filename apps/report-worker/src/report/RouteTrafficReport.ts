/**
 * The route-traffic report: a cover with the figures and two charts, the states at the other end, and the routes.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { placeOf } from "../chart/AirportRanking.js"
import { rankedBars } from "../chart/RankedBars.js"
import type { Airport } from "../data/FlightData.js"
import * as RouteData from "../data/RouteData.js"
import * as Routes from "../data/Routes.js"
import type { NoRoutes, SourceUnavailable, UnknownAirport, UnknownState } from "../ReportError.js"
import type { RouteTrafficJob } from "../ReportJob.js"
import { whole } from "../ReportText.js"
import type { Chart, Report, Table } from "./Report.js"
import { type RouteText, textOf } from "./RouteText.js"

const width = 499.28
/** A scale that ends below this would have broken numbers as its ticks. */
const leastFlights = 5
const mostRoutes = 10
const mostStates = 12

const subjectOf = ({ subject }: Routes.Routes): string =>
  typeof subject === "string" ? subject : [subject.name || subject.city, `(${subject.iata})`].join(" ")

const pair = (r: Routes.Route) => `${r.here.iata}–${r.there.iata}`

const charts = (report: Routes.Routes, t: RouteText): ReadonlyArray<Chart> => {
  const one = typeof report.subject !== "string"
  const routes = report.routes.slice(0, mostRoutes)
  const states = report.states.slice(0, mostStates)
  const first = { width, height: 210 }
  const second = { width, height: 242 }
  const nameOf = (r: Routes.Route) => (one ? placeOf(r.there) : `${r.here.city}, ${placeOf(r.there)}`)
  return [
    {
      title: t.busiest,
      note: "",
      description: routes.map((r) => `${pair(r)}: ${whole(r.both)}`).join("; "),
      ...first,
      marks: rankedBars(
        routes.map((r) => ({
          code: one ? r.there.iata : "",
          name: one ? nameOf(r) : `${pair(r)}  ${nameOf(r)}`,
          value: r.both,
          shown: whole(r.both)
        })),
        first,
        { least: leastFlights, most: mostRoutes }
      )
    },
    {
      title: t.byState,
      note: "",
      description: states.map((s) => `${s.name || t.noState}: ${whole(s.flights)}`).join("; "),
      ...second,
      marks: rankedBars(
        states.map((s) => ({ code: s.code, name: s.name || t.noState, value: s.flights, shown: whole(s.flights) })),
        second,
        { least: leastFlights, most: mostStates }
      )
    }
  ]
}

const states = (report: Routes.Routes, t: RouteText): Table => ({
  title: t.states.table,
  none: "",
  columns: [
    { head: t.states.state, kind: "coded", share: 200 },
    { head: t.states.airports, kind: "whole", share: 90 },
    { head: t.states.flights, kind: "whole", share: 100 },
    { head: t.states.share, kind: "percent", share: 110 }
  ],
  rows: report.states.map((s) => [[s.code, s.name || t.noState], s.airports, s.flights, s.share])
})

const routes = (report: Routes.Routes, t: RouteText): Table => {
  const place = (a: Airport) => [a.iata, placeOf(a)] as const
  return {
    title: t.routes.table,
    none: "",
    columns: [
      { head: t.routes.here, kind: "coded", share: 150 },
      { head: t.routes.there, kind: "coded", share: 170 },
      { head: t.routes.outbound, kind: "whole", share: 60 },
      { head: t.routes.inbound, kind: "whole", share: 60 },
      { head: t.routes.both, kind: "whole", share: 60 }
    ],
    rows: report.routes.map((r) => [place(r.here), place(r.there), r.outbound, r.inbound, r.both])
  }
}

/**
 * Works the report of the job out.
 *
 * @since 0.1.0
 * @category constructors
 */
export const routeTrafficReport = (
  job: RouteTrafficJob
): Effect.Effect<Report, SourceUnavailable | UnknownAirport | UnknownState | NoRoutes> =>
  Effect.gen(function* () {
    const report = yield* Routes.make(job, yield* RouteData.load)
    const t = textOf(job.locale)
    const busiest = report.routes[0]!
    return {
      locale: job.locale,
      title: t.title,
      subject: subjectOf(report),
      period: t.period,
      tiles: [
        { value: whole(report.flights), unit: "", label: t.tiles.flights },
        { value: whole(report.routes.length), unit: "", label: t.tiles.routes },
        { value: whole(report.reached), unit: "", label: t.tiles.reached },
        { value: whole(busiest.both), unit: "", label: t.tiles.busiest(pair(busiest)) }
      ],
      charts: charts(report, t),
      note: t.note,
      source: t.source,
      tables: [states(report, t), routes(report, t)]
    }
  })
