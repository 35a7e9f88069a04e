/**
 * A table over as many pages as it needs, its head repeated on each. Rows have one height, so how many pages a table takes
 * is known before it is drawn, and "page n of m" needs no second pass.
 *
 * @since 0.1.0
 */
import { palette } from "../chart/Palette.js"
import { write } from "./PdfCanvas.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Column<in Row> {
  readonly head: string
  /** in points, with the gap to the next column */
  readonly width: number
  readonly align: "start" | "end"
  readonly cell: (row: Row) => string
  /** a short code before the cell, in a column of its own under the same head */
  readonly code?: (row: Row) => string
  readonly alert?: (row: Row) => boolean
}

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
export const drawTable = <Row>(
  doc: PDFKit.PDFDocument,
  columns: ReadonlyArray<Column<Row>>,
  rows: ReadonlyArray<Row>,
  area: Area
): void => {
  const cell = (text: string, c: Column<Row>, x: number, y: number, color: string, bold: boolean) =>
    write(doc, text, c.align === "end" ? x + c.width - padding : x + padding, y, {
      size: fontSize,
      font: bold ? "bold" : "regular",
      color,
      anchor: c.align,
      width: c.width - 2 * padding
    })
  const lefts = columns.map((_, i) => columns.slice(0, i).reduce((x, c) => x + c.width, area.left))

  doc.rect(area.left, area.top, area.width, headHeight).fill(palette.accent)
  columns.forEach((c, i) => cell(c.head, c, lefts[i]!, area.top + headHeight / 2 + baseline, "#ffffff", true))
  rows.forEach((row, r) => {
    const y = area.top + headHeight + r * rowHeight
    if (r % 2 === 1) doc.rect(area.left, y, area.width, rowHeight).fill(palette.stripe)
    columns.forEach((c, i) => {
      const alert = c.alert?.(row) === true
      const color = alert ? palette.alert : palette.ink
      const [x, at] = [lefts[i]!, y + rowHeight / 2 + baseline]
      if (c.code === undefined) return cell(c.cell(row), c, x, at, color, alert)
      cell(c.code(row), c, x, at, color, alert)
      cell(c.cell(row), { ...c, width: c.width - codeWidth }, x + codeWidth, at, color, alert)
    })
  })
  const end = area.top + headHeight + rows.length * rowHeight
  doc
    .moveTo(area.left, end)
    .lineTo(area.left + area.width, end)
    .lineWidth(0.5)
    .stroke(palette.hairline)
}
