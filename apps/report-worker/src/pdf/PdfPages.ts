/**
 * A report on A4: a cover with the figures and the charts, then the tables. The pages are a generator: whoever draws them
 * decides after each page when to go on.
 *
 * @since 0.1.0
 */
import { palette } from "../chart/Palette.js"
import type { Chart, Report, Table } from "../report/Report.js"
import { pageText, whole } from "../ReportText.js"
import { paint, write } from "./PdfCanvas.js"
import { type Area, drawTable, rowsPerPage } from "./PdfTable.js"

/** A4 in points, and the margins. */
const page = { width: 595.28, height: 841.89, left: 48, right: 547.28, bottom: 800 } as const
const width = page.right - page.left
const tableArea: Area = { left: page.left, top: 100, width, bottom: 782 }
const perPage = rowsPerPage(tableArea)

const onPaper = (table: Table): number => Math.min(table.rows.length, table.paperRows ?? Infinity)

const pagesOf = (table: Table): number => Math.max(1, Math.ceil(onPaper(table) / perPage))

/**
 * How many pages the report has.
 *
 * @since 0.1.0
 * @category measuring
 */
export const pageCount = (report: Report): number => report.tables.reduce((n, table) => n + pagesOf(table), 1)

const footer = (doc: PDFKit.PDFDocument, report: Report, n: number, of: number) => {
  doc.moveTo(page.left, page.bottom).lineTo(page.right, page.bottom).lineWidth(0.5).stroke(palette.hairline)
  const style = { size: 7, color: palette.muted }
  write(doc, report.source, page.left, page.bottom + 13, { ...style, width: width - 80 })
  write(doc, pageText(report.locale, n, of), page.right, page.bottom + 13, { ...style, anchor: "end" })
}

const runningHead = (doc: PDFKit.PDFDocument, report: Report, title: string, note: string) => {
  const style = { size: 8, color: palette.muted }
  write(doc, [report.title, report.subject, report.period].join("  ·  "), page.left, 48, { ...style, width })
  write(doc, title, page.left, 84, { size: 14, color: palette.ink, font: "bold", width })
  write(doc, note, page.right, 84, { ...style, anchor: "end" })
}

const tiles = (doc: PDFKit.PDFDocument, report: Report, y: number) => {
  const gap = 16
  const step = (width + gap) / report.tiles.length
  report.tiles.forEach(({ label, unit, value }, i) => {
    const x = page.left + i * step
    doc
      .moveTo(x, y)
      .lineTo(x + step - gap, y)
      .lineWidth(1.5)
      .stroke(palette.accent)
    write(doc, value, x, y + 31, { size: 22, color: palette.ink, font: "bold", width: step - gap })
    const after = x + doc.widthOfString(value) + 5
    if (unit !== "") write(doc, unit, after, y + 31, { size: 10, color: palette.muted })
    write(doc, label, x, y + 48, { size: 8.5, color: palette.muted, width: step - gap })
  })
}

/** Draws the chart under its title; answers where the next one begins. */
const drawChart = (doc: PDFKit.PDFDocument, chart: Chart, y: number): number => {
  write(doc, chart.title, page.left, y, { size: 11, color: palette.ink, font: "bold" })
  write(doc, chart.note, page.right, y, { size: 8, color: palette.muted, anchor: "end" })
  paint(doc, chart.marks, page.left, y + 10)
  return y + 10 + chart.height + 38
}

const cover = (doc: PDFKit.PDFDocument, report: Report) => {
  doc.rect(0, 0, page.width, 8).fill(palette.accent)
  write(doc, report.title, page.left, 78, { size: 28, color: palette.ink, font: "bold", width })
  write(doc, report.subject, page.left, 106, { size: 15, color: palette.accent, font: "bold", width })
  write(doc, report.period, page.left, 126, { size: 11, color: palette.muted })
  tiles(doc, report, 156)
  report.charts.reduce((y, chart) => drawChart(doc, chart, y), 248)
  write(doc, report.note, page.left, 786, { size: 7.5, color: palette.muted, width })
}

/**
 * Draws the report page by page onto a document without pages.
 *
 * @since 0.1.0
 * @category drawing
 */
export const drawPages = function* (doc: PDFKit.PDFDocument, report: Report): Generator<void> {
  const of = pageCount(report)
  const { outline } = doc
  let n = 1
  doc.addPage()
  outline.addItem(report.title)
  cover(doc, report)
  footer(doc, report, n, of)
  yield
  for (const table of report.tables) {
    for (let p = 0; p < pagesOf(table); p++) {
      const from = p * perPage
      const rows = table.rows.slice(from, Math.min(from + perPage, onPaper(table)))
      doc.addPage()
      if (p === 0) outline.addItem(table.title)
      const range = `${whole(from + 1)}–${whole(from + rows.length)} / ${whole(table.rows.length)}`
      runningHead(doc, report, table.title, table.paperNote ?? (pagesOf(table) > 1 ? range : ""))
      if (rows.length === 0) write(doc, table.none, page.left, 112, { size: 10, color: palette.ink })
      else drawTable(doc, table.columns, rows, tableArea)
      footer(doc, report, ++n, of)
      yield
    }
  }
}
