/**
 * The flight-delays report on A4: a cover with the figures and two charts, the airports, and the flights. The pages
 * are a generator: whoever draws them decides after each page when to go on.
 *
 * @since 0.1.0
 */
import { airportRanking, placeOf } from "../chart/AirportRanking.js"
import { dailyDelays } from "../chart/DailyDelays.js"
import { palette } from "../chart/Palette.js"
import type { Airport, Flight } from "../data/FlightData.js"
import { type AirportFigures, type FlightDelays, lateFromMinutes } from "../data/FlightDelays.js"
import { percent, type ReportText, tenth, whole } from "../ReportText.js"
import { paint, write } from "./PdfCanvas.js"
import { type Area, type Column, drawTable, rowsPerPage } from "./PdfTable.js"

/** A4 in points, and the margins. */
const page = { width: 595.28, height: 841.89, left: 48, right: 547.28, bottom: 800 } as const
const width = page.right - page.left
const tableArea: Area = { left: page.left, top: 100, width, bottom: 782 }

/** From here on a delay is printed in red. */
const alertFromMinutes = 60

const maxAirports = rowsPerPage(tableArea)

/**
 * How many pages the report has.
 *
 * @since 0.1.0
 * @category measuring
 */
export const pageCount = (report: FlightDelays): number =>
  2 + Math.max(1, Math.ceil(report.listed.length / rowsPerPage(tableArea)))

/**
 * What the report is on, in one line.
 *
 * @since 0.1.0
 * @category formatting
 */
export const subject = (report: FlightDelays, t: ReportText): string =>
  report.airport === undefined
    ? t.allAirports
    : [report.airport.name || report.airport.city, `(${report.airport.iata})`].join(" ")

const footer = (doc: PDFKit.PDFDocument, t: ReportText, n: number, of: number) => {
  doc.moveTo(page.left, page.bottom).lineTo(page.right, page.bottom).lineWidth(0.5).stroke(palette.hairline)
  const style = { size: 7, color: palette.muted }
  write(doc, t.source, page.left, page.bottom + 13, style)
  write(doc, t.page(n, of), page.right, page.bottom + 13, { ...style, anchor: "end" })
}

const runningHead = (doc: PDFKit.PDFDocument, report: FlightDelays, t: ReportText, title: string, note: string) => {
  const style = { size: 8, color: palette.muted }
  write(doc, `${t.title}  ·  ${subject(report, t)}  ·  ${t.period(report.period)}`, page.left, 48, style)
  write(doc, title, page.left, 84, { size: 14, color: palette.ink, font: "bold" })
  write(doc, note, page.right, 84, { ...style, anchor: "end" })
}

const coverFigures = (doc: PDFKit.PDFDocument, report: FlightDelays, t: ReportText, y: number) => {
  const f = report.figures
  const tiles = [
    [whole(f.flights), "", t.figures.flights],
    [tenth(f.meanDelay), t.minutes, t.figures.meanDelay],
    [percent(f.lateShare), "", t.figures.lateShare(lateFromMinutes)],
    [whole(f.longestDelay), t.minutes, t.figures.longestDelay]
  ] as const
  const gap = 16
  const step = (width + gap) / tiles.length
  tiles.forEach(([value, unit, label], i) => {
    const x = page.left + i * step
    doc
      .moveTo(x, y)
      .lineTo(x + step - gap, y)
      .lineWidth(1.5)
      .stroke(palette.accent)
    write(doc, value, x, y + 31, { size: 22, color: palette.ink, font: "bold" })
    const after = x + doc.widthOfString(value) + 5
    if (unit !== "") write(doc, unit, after, y + 31, { size: 10, color: palette.muted })
    write(doc, label, x, y + 48, { size: 8.5, color: palette.muted, width: step - gap })
  })
}

const chartTitle = (doc: PDFKit.PDFDocument, title: string, note: string, y: number) => {
  write(doc, title, page.left, y, { size: 11, color: palette.ink, font: "bold" })
  write(doc, note, page.right, y, { size: 8, color: palette.muted, anchor: "end" })
}

const cover = (doc: PDFKit.PDFDocument, report: FlightDelays, t: ReportText) => {
  const one = report.airport !== undefined
  doc.rect(0, 0, page.width, 8).fill(palette.accent)
  write(doc, t.title, page.left, 78, { size: 28, color: palette.ink, font: "bold" })
  write(doc, subject(report, t), page.left, 106, { size: 15, color: palette.accent, font: "bold", width })
  write(doc, t.period(report.period), page.left, 126, { size: 11, color: palette.muted })
  coverFigures(doc, report, t, 156)
  chartTitle(doc, t.daily.title, "", 248)
  paint(doc, dailyDelays(report.days, t, { width, height: 210 }), page.left, 258)
  const note = report.rankedFromFlights > 1 ? t.ranking.note(whole(report.rankedFromFlights)) : ""
  chartTitle(doc, t.ranking.title(one), note, 506)
  paint(doc, airportRanking(report, { width, height: 242 }), page.left, 516)
  write(doc, t.note, page.left, 786, { size: 7.5, color: palette.muted })
}

const airportColumns = (t: ReportText): ReadonlyArray<Column<AirportFigures>> => {
  const c = t.airports.columns
  const widths = { flights: 60, meanDelay: 84, lateShare: 92, longestDelay: 90 }
  const rest = Object.values(widths).reduce((left, w) => left - w, width)
  return [
    { head: c.airport, width: rest, align: "start", code: (r) => r.airport.iata, cell: (r) => placeOf(r.airport) },
    { head: c.flights, width: widths.flights, align: "end", cell: (r) => whole(r.flights) },
    { head: c.meanDelay, width: widths.meanDelay, align: "end", cell: (r) => tenth(r.meanDelay) },
    { head: c.lateShare, width: widths.lateShare, align: "end", cell: (r) => percent(r.lateShare) },
    { head: c.longestDelay, width: widths.longestDelay, align: "end", cell: (r) => whole(r.longestDelay) }
  ]
}

const departed = (t: ReportText) => (f: Flight) => {
  const weekday = new Date(`${f.departed.slice(0, 10)}T00:00:00Z`).getUTCDay()
  return `${f.departed.slice(0, 10)}  ${t.weekdays[weekday]}  ${f.departed.slice(11)}`
}

const flightColumns = (report: FlightDelays, t: ReportText): ReadonlyArray<Column<Flight>> => {
  const c = t.listing.columns
  const widths = { departed: 112, distance: 52, delay: 56 }
  const rest = (width - widths.departed - widths.distance - widths.delay) / 2
  const place = (head: string, of: (f: Flight) => Airport): Column<Flight> => ({
    head,
    width: rest,
    align: "start",
    code: (f) => of(f).iata,
    cell: (f) => placeOf(of(f))
  })
  return [
    { head: c.departed, width: widths.departed, align: "start", cell: departed(t) },
    place(c.from, (f) => report.airportOf(f.origin)),
    place(c.to, (f) => report.airportOf(f.destination)),
    { head: c.distance, width: widths.distance, align: "end", cell: (f) => whole(f.distance) },
    {
      head: c.delay,
      width: widths.delay,
      align: "end",
      cell: (f) => whole(f.delay),
      alert: (f) => f.delay >= alertFromMinutes
    }
  ]
}

/**
 * Draws the report page by page onto a document without pages.
 *
 * @since 0.1.0
 * @category drawing
 */
export const drawFlightDelays = function* (
  doc: PDFKit.PDFDocument,
  report: FlightDelays,
  t: ReportText
): Generator<void> {
  const of = pageCount(report)
  const { outline } = doc
  doc.addPage()
  outline.addItem(t.title)
  cover(doc, report, t)
  footer(doc, t, 1, of)
  yield

  const one = report.airport !== undefined
  const airports = report.airports.slice(0, maxAirports)
  const cutNote =
    airports.length < report.airports.length
      ? t.airports.more(whole(airports.length), whole(report.airports.length))
      : ""
  doc.addPage()
  outline.addItem(t.airports.title(one))
  runningHead(doc, report, t, t.airports.title(one), cutNote)
  drawTable(doc, airportColumns(t), airports, tableArea)
  footer(doc, t, 2, of)
  yield

  const perPage = rowsPerPage(tableArea)
  const columns = flightColumns(report, t)
  const title = t.listing.title(report.minDelay <= -1000 ? undefined : report.minDelay)
  for (let n = 3; n <= of; n++) {
    const from = (n - 3) * perPage
    const rows = report.listed.slice(from, from + perPage)
    doc.addPage()
    if (n === 3) outline.addItem(title)
    const note =
      rows.length === 0 ? "" : `${whole(from + 1)}–${whole(from + rows.length)} / ${whole(report.listed.length)}`
    runningHead(doc, report, t, title, note)
    if (rows.length === 0) write(doc, t.listing.none, page.left, 112, { size: 10, color: palette.ink })
    else drawTable(doc, columns, rows, tableArea)
    footer(doc, t, n, of)
    yield
  }
}
