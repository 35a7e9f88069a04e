/**
 * The long table of a report as CSV (RFC 4180) for programs and spreadsheets: UTF-8 with a byte order mark, raw numbers, and
 * nothing that a spreadsheet would take for a formula.
 *
 * @since 0.1.0
 */
import type { Cell, Column, Report } from "../report/Report.js"
import { flatHeads, flatRow } from "../report/Flat.js"
import { rowsPerStep, type Step } from "../report/Step.js"

/** Spreadsheets run what begins so, also in a text. */
const isFormula = /^[=+\-@\t\r]/

const field = (cell: Cell): string => {
  if (cell === null) return ""
  if (typeof cell === "number") return String(cell)
  const text = isFormula.test(String(cell)) ? `'${String(cell)}` : String(cell)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const line = (cells: ReadonlyArray<Cell>): string => cells.map(field).join(",") + "\r\n"

const rowLine = (row: ReadonlyArray<Cell>, columns: ReadonlyArray<Column>) => line(flatRow(row, columns))

/**
 * The same report gives the same bytes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const csvReport = function* (report: Report): Generator<Step> {
  const { columns, rows } = report.tables[report.tables.length - 1]!
  const of = Math.max(1, Math.ceil(rows.length / rowsPerStep))
  const head = "\uFEFF" + line(flatHeads(columns, report.locale))
  if (rows.length === 0) yield { bytes: [Buffer.from(head)], pages: 1, of }
  for (let n = 0; n * rowsPerStep < rows.length; n++) {
    const part = rows.slice(n * rowsPerStep, (n + 1) * rowsPerStep).map((row) => rowLine(row, columns))
    yield { bytes: [Buffer.from((n === 0 ? head : "") + part.join(""))], pages: n + 1, of }
  }
}
