/**
 * Bar charts of saved results, as SVG: `node apps/bench/dist/charts.js FILE.json OUT.svg`. The file has a title, a unit,
 * the bars, and a line that a figure must not cross.
 */
import { readFileSync, writeFileSync } from "node:fs"

interface Chart {
  readonly title: string
  readonly unit: string
  /** from where bars grow */
  readonly from: number
  readonly bars: ReadonlyArray<{ readonly label: string; readonly value: number; readonly must?: number }>
}

const WIDTH = 760
const LEFT = 250
const RIGHT = 150
const BAR = 20
const ROW = 34
const TOP = 56

const escape = (text: string) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;")

export const draw = ({ bars, from, title, unit }: Chart): string => {
  const most = Math.max(...bars.flatMap(({ must, value }) => [value, must ?? value]))
  const x = (value: number) => LEFT + ((value - from) / (most - from)) * (WIDTH - LEFT - RIGHT)
  const height = TOP + bars.length * ROW + 30
  const rows = bars.map(({ label, must, value }, i) => {
    const y = TOP + i * ROW
    const width = Math.max(1, x(value) - LEFT)
    const limit =
      must === undefined
        ? ""
        : `<line x1="${x(must).toFixed(1)}" x2="${x(must).toFixed(1)}" y1="${y - 5}" y2="${y + BAR + 5}" stroke="#b3261e" stroke-width="2"/>`
    const figures = must === undefined ? `${value}` : `${value} (≤ ${must})`
    return [
      `<text x="${LEFT - 10}" y="${y + 15}" text-anchor="end">${escape(label)}</text>`,
      `<rect x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" fill="#3b6ea5"/>`,
      limit,
      `<text x="${WIDTH - RIGHT + 14}" y="${y + 15}">${figures}</text>`
    ].join("")
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="14" fill="#1b1b1b">
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
<text x="16" y="28" font-size="16" font-weight="bold">${escape(title)}</text>
${rows.join("\n")}
<text x="${LEFT}" y="${height - 10}" font-size="12">${escape(unit)}</text>
</svg>
`
}

const [file, out] = process.argv.slice(2)
if (file === undefined || out === undefined) {
  process.stderr.write("charts FILE.json OUT.svg\n")
  process.exitCode = 2
} else writeFileSync(out, draw(JSON.parse(readFileSync(file, "utf8")) as Chart))
