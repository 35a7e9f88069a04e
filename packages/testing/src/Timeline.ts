/**
 * The life of one message as a picture: in characters, for a failed assertion or a terminal, and as SVG.
 *
 * @since 0.1.0
 */
import { endOf, eventsOf, ranOutAt, relative, startOf } from "./internal/timelineEvents.js"
import { draw } from "./internal/timelineSvg.js"
import { niceStep, showStep } from "./internal/timeScale.js"
import type { Delivery, MessageLife } from "./JournalQuery.js"

const LABEL = 14

/**
 * The life in characters: a lane for each delivery's lease, one for each of its runs, and what happened line by line.
 * `width` is that of the lanes, in characters; 72 unless given.
 *
 * @since 0.1.0
 * @category rendering
 */
export const text = (life: MessageLife, options?: { readonly width?: number }): string => {
  const width = Math.max(20, options?.width ?? 72)
  const from = startOf(life)
  const to = Math.max(endOf(life), from + 1)
  const column = (at: number) => Math.round(((Math.min(at, to) - from) / (to - from)) * (width - 1))
  const queue = life.sent?.queue ?? life.deliveries[0]?.queue ?? "?"
  const lanes = life.deliveries.flatMap((delivery, i) => [
    lane(`delivery ${i + 1}`, leaseLane(delivery, column, to, width)),
    ...delivery.runs.map((run) => {
      const cells = blank(width)
      const end = run.ended === undefined ? width - 1 : column(run.ended.at)
      fill(cells, column(run.started.at), end, "═")
      cells[end] = run.outcome === undefined ? "→" : endMarks[run.outcome]
      return lane("  run", cells)
    })
  ])
  const events = eventsOf(life)
  const stamp = (at: number) => relative(at - from)
  const wide = Math.max(...events.map((e) => stamp(e.at).length))
  return [
    `message ${life.messageId} · queue ${queue} · ${new Date(from).toISOString()}`,
    lane("", axis(from, to, column, width)),
    ...lanes,
    LEGEND,
    ...events.map((e) => {
      const who = e.delivery === undefined ? "" : `delivery ${e.delivery}: `
      return `  ${stamp(e.at).padStart(wide)}  ${who}${e.text}`
    })
  ].join("\n")
}

const LEGEND =
  "  R received  b beat  x beat without effect  D deleted  r released  d delete without effect  ! lease ran out\n" +
  "  run: ✓ success  ✗ failure  ‼ defect  ■ interrupted  → goes on"

const endMarks = { success: "✓", failure: "✗", defect: "‼", interrupted: "■" }

const blank = (width: number): Array<string> => Array.from({ length: width }, () => " ")

const fill = (cells: Array<string>, from: number, to: number, mark: string) => {
  for (let i = from; i <= to; i++) cells[i] = mark
}

const lane = (label: string, cells: ReadonlyArray<string>): string =>
  `${label.padEnd(LABEL)}${cells.join("")}`.trimEnd()

const leaseLane = (delivery: Delivery, column: (at: number) => number, to: number, width: number): Array<string> => {
  const cells = blank(width)
  const settled = delivery.asks.find((ask) => ask.kind !== "beat" && ask.tookEffect)
  const last = delivery.deadlines.at(-1)!
  const end = settled === undefined ? last.until : settled.sent.at
  fill(cells, column(delivery.received.at), column(end), "─")
  if (settled?.kind === "release") fill(cells, column(end), column(last.until), "·")
  const put = (at: number, mark: string) => {
    let i = column(at)
    while (i + 1 < width && /[A-Za-z]/.test(cells[i]!)) i++
    cells[i] = mark
  }
  put(delivery.received.at, "R")
  for (const ask of delivery.asks) {
    const mark = ask.kind === "beat" ? "bx" : ask.kind === "delete" ? "Dd" : "rr"
    put(ask.sent.at, mark[ask.tookEffect ? 0 : 1]!)
  }
  const ranOut = ranOutAt(delivery, to)
  if (ranOut !== undefined) put(ranOut, "!")
  return cells
}

const axis = (from: number, to: number, column: (at: number) => number, width: number): ReadonlyArray<string> => {
  const step = niceStep(to - from, Math.floor(width / 12))
  const cells = blank(width + 8)
  for (let at = from; at <= to; at += step) {
    const label = showStep(at - from, step)
    const start = column(at)
    for (let i = 0; i < label.length; i++) cells[start + i] = label[i]!
  }
  return cells
}

/**
 * The life as a self-contained SVG, readable on a light and on a dark ground. `width` in px, 960 unless given; `theme`
 * fixes the colours where the viewer's preference cannot be asked.
 *
 * @since 0.1.0
 * @category rendering
 */
export const svg = (
  life: MessageLife,
  options?: { readonly width?: number; readonly theme?: "auto" | "light" | "dark" }
): string => draw(life, options?.width ?? 960, options?.theme ?? "auto")
