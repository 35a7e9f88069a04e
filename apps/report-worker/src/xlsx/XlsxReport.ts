/**
 * A report as a workbook: a sheet with its figures, and one for each table.
 *
 * @since 0.1.0
 */
import { dataAsOf } from "../data/FlightData.js"
import { flatHeads, flatRow } from "../report/Flat.js"
import type { CellKind, Report, Table } from "../report/Report.js"
import type { Step } from "../report/Step.js"
import { type Sheet, writeWorkbook } from "./SheetWriter.js"

const formats: Partial<Record<CellKind, string>> = {
  whole: "#,##0",
  tenth: "#,##0.0",
  percent: "0.0%",
  dollars: "$#,##0"
}

/** Of a page's points a character of a sheet takes about so many. */
const pointsPerCharacter = 5.5
const codeCharacters = 8

/** Spreadsheets take no longer names, and none with these characters. */
const sheetName = (title: string, taken: ReadonlyArray<string>): string => {
  const plain = title.replaceAll(/[\\/?*[\]:]/g, " ").slice(0, 31)
  return taken.includes(plain) ? `${plain.slice(0, 27)} ${taken.length + 1}` : plain
}

const sheetOf = (table: Table, name: string, report: Report): Sheet => {
  const shares = table.columns.reduce((sum, c) => sum + c.share, 0)
  const heads = flatHeads(table.columns, report.locale)
  const columns = table.columns.flatMap((c) => {
    const width = Math.ceil((500 * c.share) / shares / pointsPerCharacter)
    const format = formats[c.kind]
    const column = { width, ...(format === undefined ? {} : { format }) }
    return c.kind === "coded" ? [{ width: codeCharacters }, column] : [column]
  })
  return {
    name,
    columns: columns.map((column, i) => ({ head: heads[i]!, ...column })),
    rows: table.rows.map((row) => flatRow(row, table.columns))
  }
}

const cover = (report: Report): Sheet => ({
  name: report.title.slice(0, 31),
  columns: [
    { head: report.title, width: 40 },
    { head: report.subject, width: 40 }
  ],
  rows: [
    [report.period, null],
    ...report.tiles.map((t) => [t.label, [t.value, t.unit].join(" ").trim()]),
    [null, null],
    [report.note, null],
    [report.source, null]
  ]
})

/**
 * The same report gives the same bytes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const xlsxReport = async function* (report: Report): AsyncGenerator<Step> {
  const sheets = [cover(report)]
  for (const table of report.tables) {
    const name = sheetName(
      table.title,
      sheets.map((s) => s.name)
    )
    sheets.push(sheetOf(table, name, report))
  }
  const title = [report.title, report.subject, report.period].join(" · ")
  const bytes = await writeWorkbook({ title, created: dataAsOf, sheets })
  yield { bytes: [bytes], pages: 1, of: 1 }
}
