/**
 * A table over as many pages as it needs, its head repeated on each. Rows have one height, so how many pages a table takes
 * is known before it is drawn, and "page n of m" needs no second pass.
 *
 * @since 0.1.0
 */
import { palette } from "../chart/Palette.js"
import { codeOf, isAlert, isNumeric, shown } from "../report/Cells.js"
import type { Cell, Column } from "../report/Report.js"
import { write } from "./PdfCanvas.js"

/**
 * The area of a page that a table may fill.
 *
 * @since 0.1.0
 * @category models
 */
export interface Area {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly bottom: number
}

const rowHeight = 15
const headHeight = 20
const padding = 4
const codeWidth = 24
const fontSize = 8
/** from the middle of a row down to the baseline of its text */
const baseline = 2.8

/**
 * How many rows fit into the area.
 *
 * @since 0.1.0
 * @category measuring
 */
export const rowsPerPage = (area: Area): number => Math.floor((area.bottom - area.top - headHeight) / rowHeight)

/**
 * Draws the head and as many rows as are given; they must fit.
 *
 * @since 0.1.0
 * @category drawing
 */
export const drawTable = (
  doc: PDFKit.PDFDocument,
  columns: ReadonlyArray<Column>,
  rows: ReadonlyArray<ReadonlyArray<Cell>>,
  area: Area
): void => {
  const shares = columns.reduce((sum, c) => sum + c.share, 0)
  const widths = columns.map((c) => (area.width * c.share) / shares)
  const lefts = widths.map((_, i) => widths.slice(0, i).reduce((x, w) => x + w, area.left))
  const put = (text: string, at: { x: number; width: number; end: boolean }, y: number, color: string, bold: boolean) =>
    write(doc, text, at.end ? at.x + at.width - padding : at.x + padding, y, {
      size: fontSize,
      font: bold ? "bold" : "regular",
      color,
      anchor: at.end ? "end" : "start",
      width: at.width - 2 * padding
    })

  doc.rect(area.left, area.top, area.width, headHeight).fill(palette.accent)
  columns.forEach((c, i) => {
    const at = { x: lefts[i]!, width: widths[i]!, end: isNumeric(c.kind) }
    put(c.head, at, area.top + headHeight / 2 + baseline, "#ffffff", true)
  })
  rows.forEach((row, r) => {
    const y = area.top + headHeight + r * rowHeight
    if (r % 2 === 1) doc.rect(area.left, y, area.width, rowHeight).fill(palette.stripe)
    columns.forEach((c, i) => {
      const cell = row[i] ?? null
      const alert = isAlert(cell, c)
      const color = alert ? palette.alert : palette.ink
      const at = { x: lefts[i]!, width: widths[i]!, end: isNumeric(c.kind) }
      const base = y + rowHeight / 2 + baseline
      if (c.kind !== "coded") return put(shown(cell, c.kind), at, base, color, alert)
      put(codeOf(cell), at, base, color, alert)
      put(shown(cell, c.kind), { ...at, x: at.x + codeWidth, width: at.width - codeWidth }, base, color, alert)
    })
  })
  const end = area.top + headHeight + rows.length * rowHeight
  doc
    .moveTo(area.left, end)
    .lineTo(area.left + area.width, end)
    .lineWidth(0.5)
    .stroke(palette.hairline)
}
