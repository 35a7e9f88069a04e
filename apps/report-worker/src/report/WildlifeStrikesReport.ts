/**
 * The wildlife-strikes report: a cover with the figures and two charts, phases of flight, species, and the strikes.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { rankedBars } from "../chart/RankedBars.js"
import { yearColumns } from "../chart/YearColumns.js"
import * as Wildlife from "../data/Wildlife.js"
import * as WildlifeData from "../data/WildlifeData.js"
import type { NoStrikes, SourceUnavailable, UnknownState } from "../ReportError.js"
import type { WildlifeStrikesJob } from "../ReportJob.js"
import { percent, tenth, whole } from "../ReportText.js"
import type { Chart, Report, Table } from "./Report.js"
import { textOf, type WildlifeText } from "./WildlifeText.js"

/** From here on a cost is to be noticed, in dollars. */
const alertFrom = 100_000

const width = 499.28
/** A scale that ends below this would have broken numbers as its ticks. */
const leastStrikes = 5
const mostPhases = 10

const wordOf = (t: WildlifeText) => (name: string) => t.words[name] ?? name

/** Large sums in millions: they have room on the cover. */
const dollars = (n: number, t: WildlifeText) =>
  n >= 1_000_000 ? { value: `$${tenth(n / 1_000_000)}`, unit: t.millions } : { value: `$${whole(n)}`, unit: "" }

const charts = (report: Wildlife.Wildlife, t: WildlifeText): ReadonlyArray<Chart> => {
  const word = wordOf(t)
  const years = { width, height: 210 }
  const phases = { width, height: 242 }
  return [
    {
      title: t.years,
      note: "",
      description: report.years.map((y) => `${y.year}: ${whole(y.value)}`).join("; "),
      ...years,
      marks: yearColumns(report.years, years)
    },
    {
      title: t.phases.title,
      note: "",
      description: report.phases.map((p) => `${word(p.name)}: ${whole(p.strikes)}`).join("; "),
      ...phases,
      marks: rankedBars(
        report.phases.map((p) => ({ code: "", name: word(p.name), value: p.strikes, shown: whole(p.strikes) })),
        phases,
        { least: leastStrikes, most: mostPhases }
      )
    }
  ]
}

const groups = (title: string, head: string, rows: ReadonlyArray<Wildlife.Named>, t: WildlifeText): Table => ({
  title,
  none: "",
  columns: [
    { head, kind: "text", share: 190 },
    { head: t.columns.strikes, kind: "whole", share: 70 },
    { head: t.columns.damaged, kind: "percent", share: 80 },
    { head: t.columns.cost, kind: "dollars", share: 80 },
    { head: t.columns.highest, kind: "dollars", share: 80 }
  ],
  rows: rows.map((r) => [wordOf(t)(r.name), r.strikes, r.damagedShare, r.cost, r.highestCost])
})

const strikes = (report: Wildlife.Wildlife, t: WildlifeText): Table => {
  const c = t.listing.columns
  const word = wordOf(t)
  return {
    title: t.listing.title(report.minCost),
    none: t.listing.none,
    columns: [
      { head: c.date, kind: "text", share: 58 },
      { head: c.airport, kind: "text", share: 106 },
      { head: c.state, kind: "text", share: 66 },
      { head: c.aircraft, kind: "text", share: 60 },
      { head: c.species, kind: "text", share: 106 },
      { head: c.phase, kind: "text", share: 58 },
      { head: c.damage, kind: "text", share: 56 },
      { head: c.cost, kind: "dollars", share: 56, alertFrom }
    ],
    rows: report.listed.map((s) => [
      s.date,
      s.airport,
      s.state,
      s.aircraft,
      s.species,
      word(s.phase),
      word(s.damage),
      s.cost
    ])
  }
}

/**
 * Works the report of the job out.
 *
 * @since 0.1.0
 * @category constructors
 */
export const wildlifeStrikesReport = (
  job: WildlifeStrikesJob
): Effect.Effect<Report, SourceUnavailable | UnknownState | NoStrikes> =>
  Effect.gen(function* () {
    const report = yield* Wildlife.make(job, yield* WildlifeData.load)
    const t = textOf(job.locale)
    const f = report.figures
    return {
      locale: job.locale,
      title: t.title,
      subject: report.state ?? t.allStates,
      period: t.period(report.from, report.to),
      tiles: [
        { value: whole(f.strikes), unit: "", label: t.tiles.strikes },
        { value: percent(f.damagedShare), unit: "", label: t.tiles.damaged },
        { ...dollars(f.cost, t), label: t.tiles.cost },
        { ...dollars(f.highestCost, t), label: t.tiles.highest }
      ],
      charts: charts(report, t),
      note: t.note,
      source: t.source,
      tables: [
        groups(t.phases.table, t.phases.phase, report.phases, t),
        groups(t.species.table, t.species.species, report.species, t),
        strikes(report, t)
      ]
    }
  })
