/**
 * A report as one HTML file that needs nothing else: the form that everybody can read, also by ear. Headings, captions and
 * heads of rows and columns are marked as what they are, and charts have a description; there is no script in it.
 *
 * @since 0.1.0
 */
import { palette } from "../chart/Palette.js"
import { svgOf } from "../chart/Svg.js"
import { codeOf, isAlert, isNumeric, shown } from "../report/Cells.js"
import type { Cell, Column, Report, Table } from "../report/Report.js"
import { rowsPerStep, type Step } from "../report/Step.js"
import { escape } from "./Escape.js"

const style = `
:root { color-scheme: light; --ink: ${palette.ink}; --muted: ${palette.muted}; --accent: ${palette.accent}; --alert: ${palette.alert};
  --stripe: ${palette.stripe}; --hairline: ${palette.hairline} }
body { margin: 0 auto; max-width: 62rem; padding: 0 1rem 3rem; color: var(--ink); background: #fff;
  font: 1rem/1.5 "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic", system-ui, sans-serif }
header { border-top: .5rem solid var(--accent); padding-top: 1.5rem }
h1 { margin: 0; font-size: 2rem; line-height: 1.2 }
header p { margin: .25rem 0 } .subject { color: var(--accent); font-weight: 700; font-size: 1.2rem } .muted { color: var(--muted) }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 1rem; margin: 1.5rem 0 }
dl div { border-top: 2px solid var(--accent); padding-top: .5rem; display: flex; flex-direction: column-reverse }
dt { color: var(--muted); font-size: .9rem } dd { margin: 0; font-size: 1.6rem; font-weight: 700 } dd small { font-size: .9rem; font-weight: 400 }
figure { margin: 2rem 0 } figure svg { width: 100%; height: auto } figcaption { font-weight: 700 } figcaption span { font-weight: 400; float: right }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .9rem }
caption { text-align: left; font-weight: 700; font-size: 1.2rem; padding: 2rem 0 .5rem }
thead th { background: var(--accent); color: #fff; position: sticky; top: 0 } th, td { padding: .3rem .5rem; text-align: left; vertical-align: top }
tbody th { font-weight: 400 } tbody tr:nth-child(even) { background: var(--stripe) } .number { text-align: right; white-space: nowrap }
.alert { color: var(--alert); font-weight: 700 } .code { display: inline-block; min-width: 2.6rem } footer { margin-top: 2rem; font-size: .85rem }
`

const cellOf = (cell: Cell, column: Column, isFirst: boolean): string => {
  const classes = [isNumeric(column.kind) ? "number" : "", isAlert(cell, column) ? "alert" : ""].filter((c) => c !== "")
  const attributes = (isFirst ? ` scope="row"` : "") + (classes.length === 0 ? "" : ` class="${classes.join(" ")}"`)
  const text = escape(shown(cell, column.kind))
  const code = codeOf(cell)
  const inner = code === "" ? text : `<span class="code">${escape(code)}</span> ${text}`
  return isFirst ? `<th${attributes}>${inner}</th>` : `<td${attributes}>${inner}</td>`
}

const rowOf = (row: ReadonlyArray<Cell>, columns: ReadonlyArray<Column>): string =>
  `<tr>${columns.map((c, i) => cellOf(row[i] ?? null, c, i === 0)).join("")}</tr>\n`

const headOf = (table: Table): string =>
  `<div class="scroll" tabindex="0" role="region" aria-label="${escape(table.title)}"><table><caption>${escape(table.title)}</caption>\n<thead><tr>` +
  table.columns
    .map((c) => `<th scope="col"${isNumeric(c.kind) ? ` class="number"` : ""}>${escape(c.head)}</th>`)
    .join("") +
  "</tr></thead>\n<tbody>\n"

const coverOf = (report: Report): string => {
  const title = [report.title, report.subject, report.period].join(" · ")
  const tiles = report.tiles.map(
    (t) =>
      `<div><dt>${escape(t.label)}</dt><dd>${escape(t.value)}${t.unit === "" ? "" : ` <small>${escape(t.unit)}</small>`}</dd></div>`
  )
  const charts = report.charts.map(
    (chart, i) =>
      `<figure><figcaption>${escape(chart.title)}${chart.note === "" ? "" : ` <span class="muted">${escape(chart.note)}</span>`}</figcaption>\n${svgOf(chart, `chart-${i + 1}`)}</figure>\n`
  )
  return `<!doctype html>
<html lang="${report.locale}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escape(title)}</title>
<style>${style}</style></head>
<body>
<header><h1>${escape(report.title)}</h1><p class="subject">${escape(report.subject)}</p><p class="muted">${escape(report.period)}</p></header>
<main>
<dl>${tiles.join("")}</dl>
${charts.join("")}`
}

const footerOf = (report: Report): string =>
  `</main>\n<footer class="muted"><p>${escape(report.note)}</p><p>${escape(report.source)}</p></footer>\n</body>\n</html>\n`

/**
 * The same report gives the same bytes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const htmlReport = function* (report: Report): Generator<Step> {
  const steps = report.tables.reduce((n, table) => n + Math.ceil(table.rows.length / rowsPerStep), 1)
  let pages = 0
  const step = (text: string): Step => ({ bytes: [Buffer.from(text)], pages: ++pages, of: steps })
  let before = coverOf(report)
  for (const table of report.tables) {
    if (table.rows.length === 0) {
      before += `<h2>${escape(table.title)}</h2>\n<p>${escape(table.none)}</p>\n`
      continue
    }
    before += headOf(table)
    for (let from = 0; from < table.rows.length; from += rowsPerStep) {
      const rows = table.rows.slice(from, from + rowsPerStep).map((row) => rowOf(row, table.columns))
      yield step(before + rows.join(""))
      before = ""
    }
    before = "</tbody></table></div>\n"
  }
  yield step(before + footerOf(report))
}
