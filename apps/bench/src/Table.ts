/**
 * Medians, ratios, and tables.
 */
import type { Row } from "./Processes.js"

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Rounds of a scenario: in each, every label once. */
export type Rounds = ReadonlyArray<ReadonlyArray<Row>>

/** Each figure's median over the rounds, label by label. */
export const medians = (rounds: Rounds): ReadonlyArray<Row> =>
  rounds[0]!.map((first) => {
    const rows = rounds.map((round) => round.find(({ label }) => label === first.label)!)
    const of = (key: keyof Row) => median(rows.map((row) => Number(row[key])))
    return {
      label: first.label,
      messages: first.messages,
      perSecond: of("perSecond"),
      cpuPer10k: of("cpuPer10k"),
      makespanMs: of("makespanMs"),
      meanInFlight: of("meanInFlight"),
      maxInFlight: of("maxInFlight"),
      peakMb: of("peakMb"),
      loopDelayMeanMs: of("loopDelayMeanMs"),
      loopDelayP99Ms: of("loopDelayP99Ms"),
      requestsPerMessage: of("requestsPerMessage"),
      overIdeal: first.overIdeal === undefined ? undefined : of("overIdeal")
    }
  })

/** The median of the ratios within each round: what loads the machine loads both sides of one. */
export const ratio = (rounds: Rounds, key: "perSecond" | "cpuPer10k", over: string, under: string): number =>
  median(
    rounds.map((round) => {
      const of = (label: string) => Number(round.find((row) => row.label === label)?.[key])
      return of(over) / of(under)
    })
  )

const columns: ReadonlyArray<readonly [string, (row: Row) => string]> = [
  ["", (r) => r.label],
  ["messages/s", (r) => Math.round(r.perSecond).toString()],
  ["CPU s / 10,000", (r) => r.cpuPer10k.toFixed(2)],
  ["requests a message", (r) => r.requestsPerMessage.toFixed(3)],
  ["over ideal", (r) => (r.overIdeal === undefined ? "" : r.overIdeal.toFixed(3))],
  ["in flight, mean", (r) => r.meanInFlight.toFixed(1)],
  ["max", (r) => r.maxInFlight.toString()],
  ["peak MB", (r) => r.peakMb.toFixed(0)],
  ["loop delay, mean ms", (r) => r.loopDelayMeanMs.toFixed(1)],
  ["p99 ms", (r) => r.loopDelayP99Ms.toFixed(1)]
]

/** As Markdown, which a terminal shows well enough too. */
export const markdown = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = rows[0]!.map((_, i) => Math.max(3, ...rows.map((row) => row[i]!.length)))
  const line = (row: ReadonlyArray<string>) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join(" | ")} |`
  const rule = `| ${widths.map((w, i) => (i === 0 ? "-".repeat(w) : `${"-".repeat(w - 1)}:`)).join(" | ")} |`
  return [line(rows[0]!), rule, ...rows.slice(1).map(line)].join("\n")
}

export const table = (rows: ReadonlyArray<Row>): string =>
  markdown([columns.map(([head]) => head), ...rows.map((row) => columns.map(([, cell]) => cell(row)))])
