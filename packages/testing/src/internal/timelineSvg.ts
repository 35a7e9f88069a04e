/**
 * The SVG of `Timeline`: for each delivery the lease as a curve of what is left of it, which falls as time passes and leaps
 * at each beat, and below it the runs as bars. Colour never says it alone: each kind has its glyph.
 */
import type { Ask, Delivery, MessageLife, Run } from "../JournalQuery.js"
import { endOf, ranOutAt, startOf } from "./timelineEvents.js"
import { niceStep, showStep } from "./timeScale.js"
import { receives } from "./words.js"

type Theme = "auto" | "light" | "dark"

const LEFT = 124
const RIGHT = 32
const TOP = 84
const LEASE_HEIGHT = 40
const RUN_HEIGHT = 16
const RUN_GAP = 12
const ROW = LEASE_HEIGHT + RUN_GAP + RUN_HEIGHT + 26
const GLYPH_RADIUS = 8

const palettes = {
  light: {
    ground: "#ffffff",
    ink: "#1b1f24",
    muted: "#57606a",
    grid: "#d8dee4",
    area: "#bcdcf7",
    lease: "#0860c4",
    good: "#1a7f37",
    bad: "#c0202c",
    cut: "#8a5a00",
    defect: "#7a43cf",
    on: "#ffffff"
  },
  dark: {
    ground: "#12161c",
    ink: "#e6edf3",
    muted: "#9aa4af",
    grid: "#2f3740",
    area: "#1c4570",
    lease: "#6cb6ff",
    good: "#57c46b",
    bad: "#ff7b72",
    cut: "#e0ac3b",
    defect: "#c6a0ff",
    on: "#12161c"
  }
}

const rules = (p: typeof palettes.light): string =>
  [
    `.ground{fill:${p.ground}}.ink{fill:${p.ink}}.muted{fill:${p.muted}}.on{fill:${p.on}}`,
    `.grid{stroke:${p.grid}}.area{fill:${p.area}}.leaseline{stroke:${p.lease}}.hidden{stroke:${p.muted}}`,
    ...(["lease", "good", "bad", "cut", "defect"] as const).map((c) => `.${c}{fill:${p[c]}}.${c}-edge{stroke:${p[c]}}`),
    `.glyph{stroke:${p.on}}.hollow{fill:${p.ground}}`
  ].join("")

const style = (theme: Theme): string => {
  const base =
    "text{font-family:ui-sans-serif,system-ui,'Segoe UI',Helvetica,Arial,sans-serif;font-size:12px}" +
    ".glyph{fill:none;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}"
  if (theme !== "auto") return base + rules(palettes[theme])
  return `${base}${rules(palettes.light)}@media(prefers-color-scheme:dark){${rules(palettes.dark)}}`
}

const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!)

const n = (x: number): string => String(Math.round(x * 10) / 10)

const say = (x: number, y: number, text: string, className: string, more = ""): string =>
  `<text x="${n(x)}" y="${n(y)}" class="${className}"${more}>${escape(text)}</text>`

const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms % 1000 === 0 ? 0 : 1)} s`

/** Strokes of the glyphs, around 0,0. */
const strokes = {
  check: "M-3.6,.3l2.6,2.8l4.6,-5.6",
  cross: "M-3,-3L3,3M3,-3L-3,3",
  stop: "M-2.6,-2.6h5.2v5.2h-5.2z",
  bang: "M0,-4v4.6M0,3.6v.2",
  back: "M3.6,2.6v-1.6q0,-2.6 -2.6,-2.6h-4.4M-1,-4.2l-2.6,2.6l2.6,2.6",
  down: "M0,-4v6.6M-2.8,0l2.8,2.8l2.8,-2.8"
}

type Glyph = keyof typeof strokes
type Shape = "circle" | "square" | "diamond"

/** A glyph on a ground of its own shape and colour. */
const badge = (x: number, y: number, glyph: Glyph, shape: Shape, colour: string, title: string): string => {
  const r = GLYPH_RADIUS
  const ground =
    shape === "circle"
      ? `<circle r="${r}" class="${colour}"/>`
      : shape === "square"
        ? `<rect x="${-r + 1}" y="${-r + 1}" width="${2 * r - 2}" height="${2 * r - 2}" rx="2.5" class="${colour}"/>`
        : `<path d="M0,${-r - 2}L${r + 2},0L0,${r + 2}L${-r - 2},0z" class="${colour}"/>`
  return `<g transform="translate(${n(x)},${n(y)})"><title>${escape(title)}</title>${ground}<path d="${strokes[glyph]}" class="glyph"/></g>`
}

const outcomes: Record<NonNullable<Run["outcome"]>, { readonly glyph: Glyph; readonly colour: string }> = {
  success: { glyph: "check", colour: "good" },
  failure: { glyph: "cross", colour: "bad" },
  defect: { glyph: "bang", colour: "defect" },
  interrupted: { glyph: "stop", colour: "cut" }
}

interface Scale {
  readonly x: (at: number) => number
  readonly from: number
  readonly to: number
}

/** What is left of the lease over time, from the receive to its end: points in ms and ms. */
const remaining = (delivery: Delivery, end: number): ReadonlyArray<readonly [at: number, left: number]> => {
  const points: Array<readonly [number, number]> = []
  delivery.deadlines.forEach((deadline, i) => {
    const next = Math.min(delivery.deadlines[i + 1]?.from.at ?? Infinity, end)
    if (deadline.from.at > end || (deadline.from.at === end && i > 0)) return
    points.push([deadline.from.at, deadline.until - deadline.from.at])
    const until = Math.min(next, deadline.until)
    points.push([until, deadline.until - until])
    if (next > until) points.push([next, 0])
  })
  return points
}

const isSettled = (ask: Ask): boolean => ask.kind !== "beat" && ask.tookEffect

const leaseOf = (delivery: Delivery, base: number, scale: Scale): string => {
  const { to, x } = scale
  const settled = delivery.asks.find(isSettled)
  const last = delivery.deadlines.at(-1)!
  const end = Math.min(settled?.sent.at ?? last.until, to)
  const points = remaining(delivery, end)
  const tallest = Math.max(...points.map(([, left]) => left), 1)
  const y = (left: number) => base - (left / tallest) * LEASE_HEIGHT
  const line = points.map(([at, left]) => `${n(x(at))},${n(y(left))}`).join("L")
  const out = [
    `<path d="M${n(x(delivery.received.at))},${n(base)}L${line}L${n(x(end))},${n(base)}z" class="area"/>`,
    `<path d="M${n(x(delivery.received.at))},${n(base)}L${line}" class="leaseline" fill="none" stroke-width="1.6" stroke-linejoin="round"/>`
  ]
  if (settled?.kind === "release" && last.until > end) {
    out.push(
      `<path d="M${n(x(end))},${n(base)}H${n(x(Math.min(last.until, to)))}" class="hidden" stroke-width="2" stroke-dasharray="3 4"/>`
    )
  }
  for (const ask of delivery.asks.filter((a) => a.kind === "beat")) out.push(beatOf(ask, delivery, y, scale))
  const ranOut = ranOutAt(delivery, to)
  if (ranOut !== undefined) out.push(badge(x(ranOut), base, "bang", "diamond", "bad", "the lease ran out"))
  for (const ask of delivery.asks.filter((a) => a.kind !== "beat")) {
    const glyph = !ask.tookEffect ? "cross" : ask.kind === "delete" ? "check" : "back"
    const colour = !ask.tookEffect ? "bad" : ask.kind === "delete" ? "good" : "cut"
    const title = `${ask.kind} ${ask.outcome} at ${seconds(ask.sent.at - scale.from)}`
    out.push(badge(x(ask.sent.at), base, glyph, "circle", colour, title))
  }
  return out.join("")
}

/** A dot where the curve leaps; hollow and crossed where it did not. */
const beatOf = (ask: Ask, delivery: Delivery, y: (left: number) => number, scale: Scale): string => {
  const at = ask.sent.at
  const title = `<title>${escape(`beat ${ask.timeoutSeconds} s at ${seconds(at - scale.from)}: ${ask.outcome}`)}</title>`
  const moved = delivery.deadlines.find((d) => d.from.index > ask.sent.index)
  if (ask.tookEffect && moved !== undefined) {
    const height = y(moved.until - moved.from.at)
    return `<circle cx="${n(scale.x(moved.from.at))}" cy="${n(height)}" r="4" class="lease">${title}</circle>`
  }
  const current = delivery.deadlines.findLast((d) => d.from.index < ask.sent.index) ?? delivery.deadlines[0]!
  const height = y(Math.max(0, current.until - at))
  return `<g transform="translate(${n(scale.x(at))},${n(height)})">${title}<circle r="5" class="hollow bad-edge" stroke-width="1.6"/><path d="M-2.2,-2.2L2.2,2.2M2.2,-2.2L-2.2,2.2" class="bad-edge" stroke-width="1.6"/></g>`
}

const runOf = (run: Run, top: number, scale: Scale): string => {
  const { from, to, x } = scale
  const start = x(run.started.at)
  const end = x(run.ended?.at ?? to)
  const width = Math.max(2, end - start)
  const middle = top + RUN_HEIGHT / 2
  const word = `run ${seconds((run.ended?.at ?? to) - run.started.at)}`
  const label = width > 90 ? say(start + 7, middle + 4, word, "on", ' style="font-size:11px"') : ""
  const title = `run from ${seconds(run.started.at - from)}, ${run.outcome ?? "goes on"}${run.reason === undefined ? "" : `: ${run.reason}`}`
  const look = run.outcome === undefined ? undefined : outcomes[run.outcome]
  const bar = `<rect x="${n(start)}" y="${top}" width="${n(width)}" height="${RUN_HEIGHT}" rx="3" class="${look?.colour ?? "lease"}"><title>${escape(title)}</title></rect>`
  return (
    bar +
    label +
    (look === undefined
      ? ""
      : badge(width > 24 ? end - GLYPH_RADIUS + 1 : end, middle, look.glyph, "square", look.colour, title))
  )
}

const legendItems = (life: MessageLife, to: number): ReadonlyArray<readonly [icon: string, word: string]> => {
  const asks = life.deliveries.flatMap((d) => d.asks)
  const runs = life.deliveries.flatMap((d) => d.runs)
  const beat = `<circle r="4" class="lease"/>`
  const failed = `<circle r="5" class="hollow bad-edge" stroke-width="1.6"/><path d="M-2.2,-2.2L2.2,2.2M2.2,-2.2L-2.2,2.2" class="bad-edge" stroke-width="1.6"/>`
  const area = `<path d="M-8,6L-8,-6L8,2L8,6z" class="area"/><path d="M-8,-6L8,2" class="leaseline" stroke-width="1.6"/>`
  const badges: ReadonlyArray<readonly [boolean, Glyph, Shape, string, string]> = [
    [asks.some((a) => a.kind === "delete" && a.tookEffect), "check", "circle", "good", "deleted"],
    [asks.some((a) => a.kind === "release" && a.tookEffect), "back", "circle", "cut", "released"],
    [asks.some((a) => a.kind !== "beat" && !a.tookEffect), "cross", "circle", "bad", "settlement without effect"],
    [life.deliveries.some((d) => ranOutAt(d, to) !== undefined), "bang", "diamond", "bad", "lease ran out"],
    [life.deadLettered.length > 0, "down", "diamond", "bad", "dead-lettered by SQS"],
    ...(["success", "failure", "interrupted", "defect"] as const).map(
      (o) => [runs.some((r) => r.outcome === o), outcomes[o].glyph, "square", outcomes[o].colour, `run: ${o}`] as const
    )
  ]
  return [
    [area, "what is left of the lease"],
    ...(asks.some((a) => a.kind === "beat" && a.tookEffect) ? [[beat, "beat"] as const] : []),
    ...(asks.some((a) => a.kind === "beat" && !a.tookEffect) ? [[failed, "beat without effect"] as const] : []),
    ...badges
      .filter(([used]) => used)
      .map(([, glyph, shape, colour, word]) => [badge(0, 0, glyph, shape, colour, word), word] as const)
  ]
}

const legend = (life: MessageLife, to: number, top: number, width: number) => {
  let x = LEFT
  let y = top
  const out: Array<string> = []
  for (const [icon, word] of legendItems(life, to)) {
    const size = 24 + word.length * 6.3 + 18
    if (x + size > width - RIGHT / 2 && x > LEFT) {
      x = LEFT
      y += 24
    }
    out.push(`<g transform="translate(${n(x + 8)},${n(y)})">${icon}</g>`, say(x + 24, y + 4, word, "muted"))
    x += size
  }
  return { svg: out.join(""), height: y - top + 24 }
}

const gridOf = (scale: Scale, width: number, bottom: number): string => {
  const { from, to, x } = scale
  const step = niceStep(to - from, Math.max(1, Math.floor((width - LEFT - RIGHT) / 80)))
  const out: Array<string> = []
  for (let at = from; at <= to; at += step) {
    out.push(
      `<path d="M${n(x(at))},${TOP - 16}V${bottom}" class="grid" stroke-width="1"/>`,
      say(x(at), TOP - 22, showStep(at - from, step), "muted", ' text-anchor="middle"')
    )
  }
  return out.join("")
}

export const draw = (life: MessageLife, width: number, theme: Theme): string => {
  const from = startOf(life)
  const to = Math.max(endOf(life), from + 1)
  const scale: Scale = { from, to, x: (at) => LEFT + ((at - from) / (to - from)) * (width - LEFT - RIGHT) }
  const bottom = TOP + life.deliveries.length * ROW
  const below = legend(life, to, bottom + 18, width)
  const queue = life.sent?.queue ?? life.deliveries[0]?.queue ?? "?"
  const title = `Message ${life.messageId} in ${queue}`
  const rows = life.deliveries.map((delivery, i) => {
    const base = TOP + i * ROW + LEASE_HEIGHT + 6
    return [
      say(16, base - 18, `delivery ${i + 1}`, "ink", ' font-weight="600"'),
      say(16, base - 2, `receive count ${delivery.receiveCount}`, "muted", ' style="font-size:11px"'),
      leaseOf(delivery, base, scale),
      ...delivery.runs.map((run) => runOf(run, base + RUN_GAP, scale))
    ].join("")
  })
  const moved = life.deadLettered.map((d) =>
    badge(
      scale.x(d.at),
      bottom - 12,
      "down",
      "diamond",
      "bad",
      `moved to ${d.target} after ${receives(d.receiveCount)}`
    )
  )
  const height = bottom + 18 + below.height
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${n(height)}" width="${width}" height="${n(height)}" role="img">`,
    `<title>${escape(title)}</title><style>${style(theme)}</style>`,
    `<rect width="${width}" height="${n(height)}" rx="8" class="ground"/>`,
    say(16, 28, title, "ink", ' font-weight="600" style="font-size:15px"'),
    say(width - 16, 28, `from ${new Date(from).toISOString()}`, "muted", ' text-anchor="end"'),
    gridOf(scale, width, bottom - 6),
    ...rows,
    ...moved,
    below.svg,
    "</svg>"
  ].join("\n")
}
