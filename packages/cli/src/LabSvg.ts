/**
 * A lab's report as SVG: a small chart for each thing that is compared, a bar for each set of options.
 *
 * @since 0.1.0
 */
import { show } from "./Durations.js"
import { count, percent, usd } from "./internal/numbers.js"
import { line, picture, rect, say, SERIES } from "./internal/svg.js"
import type { LabReport } from "./Lab.js"
import { conditions, title } from "./LabPicture.js"
import type { Trial } from "./Trial.js"

const WIDTH = 960
const MARGIN = 20
const COLUMNS = 3
const PANEL = (WIDTH - 2 * MARGIN) / COLUMNS
const BAR = 16
const ROW = 38
const HEAD = 34

interface Measure {
  readonly name: string
  readonly value: (t: Trial) => number | null
  readonly text: (value: number) => string
}

const seconds = (s: number) => show(s * 1000)

const measures: ReadonlyArray<Measure> = [
  { name: "Done twice, or by two at once", value: (t) => t.duplicates.messages / t.messages.sent, text: percent },
  { name: "Dead letters", value: (t) => t.messages.dead / t.messages.sent, text: percent },
  { name: "Taken up again after a death, at most", value: (t) => t.recovery.maxSeconds, text: seconds },
  { name: "From send to done, p50", value: (t) => t.latency.p50Seconds, text: seconds },
  { name: "From send to done, p99", value: (t) => t.latency.p99Seconds, text: seconds },
  { name: "Cost per million jobs", value: (t) => t.usdPerMillionMessages, text: usd }
]

const panel = ({ name, text, value }: Measure, trials: ReadonlyArray<Trial>, x: number, y: number) => {
  const values = trials.map(value)
  const largest = Math.max(...values.map((v) => v ?? 0))
  // the value stands behind the longest bar
  const width = PANEL - 110
  return [
    say(x, y + 14, name, "ink", { bold: true }),
    line(x, y + 22, x + PANEL - 24, y + 22, "grid-edge"),
    ...trials.flatMap((t, i) => {
      const v = values[i] ?? null
      const top = y + HEAD + i * ROW
      const length = v === null || largest === 0 ? 0 : (v / largest) * width
      const shown = v === null ? "–" : text(v)
      return [
        say(x, top + 8, t.name, "muted", { size: 11 }),
        rect(x, top + 12, Math.max(length, v === null ? 0 : 2), BAR, `s${i % SERIES}`, {
          radius: 2,
          title: `${t.name}: ${shown}`
        }),
        say(x + Math.max(length, 2) + 6, top + 24, shown)
      ]
    })
  ]
}

/**
 * The picture as a text, which a file takes as it is.
 *
 * @since 0.1.0
 * @category rendering
 */
export const draw = (report: LabReport): string => {
  const { trials } = report
  const legend = trials.map((t) => `${t.name}: ${t.options}`)
  const top = 66 + legend.length * 18 + 16
  const height = HEAD + trials.length * ROW + 16
  const rows = Math.ceil(measures.length / COLUMNS)
  const requests = trials.map((t) => `${t.name} ${count(t.requestsPerMessage)}`).join(", ")
  const bottom = top + rows * height
  return picture(title(report), WIDTH, bottom + 28, [
    say(MARGIN, 30, title(report), "ink", { bold: true, size: 15 }),
    say(MARGIN, 50, conditions(report), "muted"),
    ...legend.flatMap((text, i) => [
      rect(MARGIN, 64 + i * 18, 10, 10, `s${i % SERIES}`, { radius: 2 }),
      say(MARGIN + 16, 73 + i * 18, text)
    ]),
    ...measures.flatMap((measure, i) =>
      panel(measure, trials, MARGIN + (i % COLUMNS) * PANEL, top + Math.floor(i / COLUMNS) * height)
    ),
    say(
      MARGIN,
      bottom + 8,
      `Requests a job: ${requests}; ${usd(report.scenario.priceUsdPerMillionRequests)} per million requests.`,
      "muted",
      { size: 11 }
    )
  ])
}
