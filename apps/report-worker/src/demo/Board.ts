/**
 * What a person sees of the demo: while it runs a board (or, where no terminal is, a line for each event), at its end a
 * table. Text only; nothing here prints.
 *
 * @since 0.1.0
 */
import type * as Journal from "@effect-sqs/testing/Journal"
import * as JournalQuery from "@effect-sqs/testing/JournalQuery"
import type { Progress } from "../render/RenderProtocol.js"
import { beatsOf, deliveriesOf, type Told } from "./Facts.js"
import { nameOf, type Scene, scenes } from "./Story.js"

const kindWidth = 10
const nameWidth = 16

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

const times = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`

/**
 * How a job stands, in words, by the server's journal.
 *
 * @since 0.1.0
 * @category formatting
 */
export const standing = (life: JournalQuery.MessageLife | undefined, now: number): string => {
  const delivery = deliveriesOf(life).at(-1)
  if (life !== undefined && life.deadLettered.length > 0) return "in the dead-letter queue"
  if (delivery === undefined) return "in the queue"
  const run = delivery.runs.at(-1)
  if (life?.end?._tag === "Deleted") return run?.outcome === "success" ? "done" : "in the dead-letter queue"
  if (run !== undefined && run.ended === undefined) return "drawing"
  const visibleAt = delivery.deadlines.at(-1)!.until
  const why = run?.outcome === "interrupted" ? "stopped, " : run?.outcome === "failure" ? "failed, " : ""
  return visibleAt > now ? `${why}comes again in ${seconds(visibleAt - now)}` : `${why}in the queue again`
}

const bar = (progress: Progress | undefined, done: boolean): string => {
  const cells = 14
  const full = done ? cells : progress === undefined ? 0 : Math.floor((progress.pages / progress.of) * cells)
  return "█".repeat(full) + "░".repeat(cells - full)
}

/**
 * The board: a line for each job.
 *
 * @since 0.1.0
 * @category rendering
 */
export const board = (
  view: JournalQuery.JournalView,
  messageIds: ReadonlyArray<string>,
  progress: ReadonlyMap<string, Progress>,
  now: number
): ReadonlyArray<string> =>
  scenes.map((scene, i) => {
    const id = messageIds[i] ?? ""
    const life = view.messages.get(id)
    const state = standing(life, now)
    const pages = scene.job === undefined ? undefined : progress.get(scene.job.jobId)
    const deliveries = deliveriesOf(life)
    const beats = beatsOf(deliveries)
    return [
      " ",
      scene.kind.padEnd(kindWidth),
      nameOf(scene).padEnd(nameWidth),
      bar(pages, state === "done"),
      (pages === undefined ? "" : `${pages.pages}/${pages.of}`).padStart(8),
      times(deliveries.length, "receive").padStart(11),
      (beats === 0 ? "" : times(beats, "beat")).padStart(8),
      `  ${state}`
    ].join(" ")
  })

/**
 * The line for one entry of the journal, for a person without a board; `undefined` where there is nothing to say.
 * `before` is what had happened to the message until then.
 *
 * @since 0.1.0
 * @category rendering
 */
export const eventLine = (
  entry: Journal.JournalEntry,
  before: JournalQuery.MessageLife | undefined,
  scene: Scene,
  startedAt: number
): string | undefined => {
  const says = (text: string) =>
    `${seconds(entry.at - startedAt).padStart(7)}  ${nameOf(scene).padEnd(nameWidth)} ${text}`
  const run = before?.deliveries.at(-1)?.runs.at(-1)
  switch (entry._tag) {
    case "Received":
      return says(
        `received, ${entry.receiveCount === 1 ? "hidden" : `time ${entry.receiveCount}, hidden`} for ${seconds(entry.visibleAt - entry.at)}`
      )
    case "VisibilityChanged":
      return says(
        run?.ended === undefined
          ? `beat: hidden for ${entry.timeoutSeconds} s from now`
          : `given back: comes again in ${entry.timeoutSeconds} s`
      )
    case "RunEnded":
      return entry.outcome === "success"
        ? undefined
        : says(entry.outcome + (entry.reason === undefined ? "" : `: ${entry.reason}`))
    case "Deleted":
      return says(run?.outcome === "success" ? "done" : "moved to the dead-letter queue")
    default:
      return undefined
  }
}

/** How the deliveries of a job were settled, one word each. */
const settlements = (told: Told): string => {
  const words = deliveriesOf(told.life).map((delivery) => {
    const settled = JournalQuery.settlementOf(delivery)
    return settled === undefined
      ? "none"
      : settled.kind === "release"
        ? `released (${settled.timeoutSeconds ?? 0} s)`
        : told.reason === undefined
          ? "deleted"
          : "dead-lettered"
  })
  return words.join(", ") || "none"
}

/**
 * The table at the end.
 *
 * @since 0.1.0
 * @category rendering
 */
export const table = (told: ReadonlyArray<Told>): ReadonlyArray<string> => {
  const rows = [
    ["kind", "job", "receives", "beats", "runs", "settlement", "file"],
    ...told.map((t) => [
      t.fact.kind,
      nameOf(t.scene),
      String(t.fact.receives),
      String(t.fact.heartbeats),
      String(t.fact.runs),
      settlements(t),
      t.fact.artifact ?? "—"
    ])
  ]
  const widths = rows[0]!.map((_, c) => Math.max(...rows.map((row) => row[c]!.length)))
  const isNumber = (c: number) => c >= 2 && c <= 4
  const lines = rows.map((row) =>
    row
      .map((cell, c) => (isNumber(c) ? cell.padStart(widths[c]!) : cell.padEnd(widths[c]!)))
      .join("  ")
      .trimEnd()
  )
  return [lines[0]!, widths.map((w) => "─".repeat(w)).join("  "), ...lines.slice(1)].map((line) => `  ${line}`)
}
