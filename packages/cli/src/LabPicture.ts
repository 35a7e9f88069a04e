/**
 * A lab's report as a table, the sets side by side.
 *
 * @since 0.1.0
 */
import { show } from "./Durations.js"
import { count, percent, usd } from "./internal/numbers.js"
import { table, wrap } from "./internal/table.js"
import type { LabReport } from "./Lab.js"
import type { Screen } from "./Screen.js"
import type { Trial } from "./Trial.js"

const seconds = (s: number | null) => (s === null ? "–" : show(s * 1000))

/**
 * The scenario in a line.
 *
 * @since 0.1.0
 * @category rendering
 */
export const title = ({ scenario: s }: LabReport): string =>
  `${count(s.workers)} ${s.workers === 1 ? "worker" : "workers"}, ${seconds(s.durationSeconds)} of ${count(s.ratePerSecond)} jobs a second, each ${s.runTimes}`

/**
 * What else was supposed, and the seed that gives the same numbers again.
 *
 * @since 0.1.0
 * @category rendering
 */
export const conditions = ({ scenario: s }: LabReport): string =>
  [
    s.crashesPerHour === 0
      ? "no worker dies"
      : `each worker dies ${s.crashesPerHour === 1 ? "once" : `${count(s.crashesPerHour)} times`} an hour and is back after ${seconds(s.restartSeconds)}`,
    s.failing === 0 ? "no run fails" : `${percent(s.failing)} of the runs fail`,
    `seed ${s.seed}`
  ].join(", ")

const share = (n: number, of: number) => (n === 0 ? "0" : `${count(n)} (${percent(n / of)})`)

const rowsOf = (trials: ReadonlyArray<Trial>, { paint }: Screen["Type"]): ReadonlyArray<ReadonlyArray<string>> => {
  const bad = (isBad: boolean, text: string) => paint(isBad ? "red" : "green", text)
  const row = (name: string, cell: (t: Trial) => string) => [name, ...trials.map(cell)]
  const anyCrash = trials.some((t) => t.recovery.crashes > 0)
  const anyFailure = trials.some((t) => t.failures > 0)
  return [
    ["", ...trials.map((t) => paint("bold", t.name))],
    row("jobs sent", (t) => count(t.messages.sent)),
    row("done", (t) => share(t.messages.done, t.messages.sent)),
    row("done twice, or by two at once", (t) =>
      bad(t.duplicates.messages > 0, share(t.duplicates.messages, t.messages.sent))
    ),
    row("runs too many", (t) => bad(t.duplicates.runs > 0, count(t.duplicates.runs))),
    row("runs cut, their lease was lost", (t) => bad(t.cut > 0, count(t.cut))),
    ...(anyFailure ? [row("runs that failed", (t) => count(t.failures))] : []),
    row("dead letters", (t) => bad(t.messages.dead > 0, share(t.messages.dead, t.messages.sent))),
    row("not done when the time was over", (t) => bad(t.messages.left > 0, share(t.messages.left, t.messages.sent))),
    ...(anyCrash
      ? [
          row("jobs whose worker died", (t) => count(t.recovery.messages)),
          row("  taken up again after, p50", (t) => seconds(t.recovery.p50Seconds)),
          row("  at the latest", (t) => seconds(t.recovery.maxSeconds))
        ]
      : []),
    row("from send to done, p50", (t) => seconds(t.latency.p50Seconds)),
    row("from send to done, p99", (t) => seconds(t.latency.p99Seconds)),
    row("requests a job", (t) => count(t.requestsPerMessage)),
    row("cost per million jobs", (t) => usd(t.usdPerMillionMessages)),
    row("places busy", (t) => percent(t.busy))
  ]
}

/**
 * @since 0.1.0
 * @category rendering
 */
export const draw = (report: LabReport, screen: Screen["Type"]): string => {
  const { trials } = report
  const width = Math.max(...trials.map((t) => t.name.length))
  return [
    screen.paint("bold", title(report)),
    screen.paint("dim", conditions(report)),
    "",
    ...trials.flatMap((t) => wrap(`${t.name.padEnd(width)}  ${t.options}`, screen.columns, " ".repeat(width + 2))),
    "",
    ...table(
      rowsOf(trials, screen),
      trials.map((_, i) => i + 1)
    )
  ].join("\n")
}
