/**
 * A plan as SVG: what is left of the lease as a curve that falls as time passes and leaps at each extension, the run below it,
 * the time that two workers share in red, and the other settings as a table.
 *
 * @since 0.1.0
 */
import { show } from "./Durations.js"
import { count, percent, usd, usdRange } from "./internal/numbers.js"
import { line, n, picture, rect, say } from "./internal/svg.js"
import { niceStep } from "./internal/ticks.js"
import type { Plan, Setting, Timeline } from "./Plan.js"
import { title } from "./PlanPicture.js"

const WIDTH = 960
const LEFT = 116
const RIGHT = 40
const TOP = 84
const LEASE = 96
const RUN = 20
const ROW = 24

const seconds = (s: number) => show(s * 1000)

/** Points of what is left of the lease: seconds, seconds. */
const remaining = ({ extensions, hiddenUntilSeconds }: Timeline, visibility: number, to: number) => {
  const points: Array<readonly [at: number, left: number]> = [[0, visibility]]
  let deadline = visibility
  for (const { atSeconds, hiddenUntilSeconds: until } of extensions) {
    if (until === undefined) continue
    points.push([atSeconds, deadline - atSeconds], [atSeconds, until - atSeconds])
    deadline = until
  }
  const end = Math.min(hiddenUntilSeconds, to)
  points.push([end, hiddenUntilSeconds - end])
  return points
}

/** More dots than this are a line. */
const MAX_DOTS = 150

const timeline = (plan: Plan): { readonly parts: ReadonlyArray<string>; readonly bottom: number } => {
  const t = plan.timeline
  const to = Math.max(t.runSeconds, Math.min(t.hiddenUntilSeconds, t.runSeconds * 1.5), 1)
  const x = (at: number) => LEFT + (at / to) * (WIDTH - LEFT - RIGHT)
  const base = TOP + LEASE
  const points = remaining(t, plan.visibilitySeconds, to)
  const tallest = Math.max(...points.map(([, left]) => left), 1)
  const y = (left: number) => base - (left / tallest) * (LEASE - 12)
  const curve = points.map(([at, left]) => `${n(x(at))},${n(y(left))}`).join("L")
  const runTop = base + 18
  const bottom = runTop + RUN + (t.riskWindowSeconds > 0 ? RUN + 40 : 14)
  const step = niceStep(to, 9)
  const ticks: Array<string> = []
  for (let at = 0; at <= to; at += step) {
    ticks.push(
      line(x(at), TOP - 8, x(at), runTop + RUN + 8, "grid-edge"),
      say(x(at), TOP - 16, seconds(at), "muted", { anchor: "middle" })
    )
  }
  const dots = t.extensions.length > MAX_DOTS ? [] : t.extensions
  const parts = [
    ...ticks,
    say(16, base - LEASE / 2, "what is left"),
    say(16, base - LEASE / 2 + 16, "of the lease"),
    `<path d="M${n(x(0))},${n(base)}L${curve}L${n(x(Math.min(t.hiddenUntilSeconds, to)))},${n(base)}z" class="area"/>`,
    `<path d="M${curve}" class="lease-edge" fill="none" stroke-width="1.8" stroke-linejoin="round"/>`,
    line(LEFT, base, WIDTH - RIGHT, base, "muted-edge"),
    ...dots.map((e) =>
      e.hiddenUntilSeconds === undefined
        ? `<path d="M${n(x(e.atSeconds) - 4)},${n(base - 4)}l8,8m0,-8l-8,8" class="bad-edge" stroke-width="2"><title>at ${seconds(e.atSeconds)}: without effect</title></path>`
        : `<circle cx="${n(x(e.atSeconds))}" cy="${n(y(e.hiddenUntilSeconds - e.atSeconds))}" r="4" class="lease"><title>at ${seconds(e.atSeconds)}: hidden until ${seconds(e.hiddenUntilSeconds)}</title></circle>`
    ),
    say(16, runTop + 15, "run"),
    rect(x(0), runTop, x(t.runSeconds) - x(0), RUN, "good", { radius: 3, title: `runs ${seconds(t.runSeconds)}` }),
    say(x(t.runSeconds) - 8, runTop + 14, seconds(t.runSeconds), "ground", { anchor: "end" })
  ]
  if (t.riskWindowSeconds > 0) {
    const top = runTop + RUN + 8
    const from = x(t.hiddenUntilSeconds)
    const width = x(t.runSeconds) - from
    const words = `two workers or more at once: ${seconds(t.riskWindowSeconds)}`
    const isRoomy = width > words.length * 7
    parts.push(
      say(16, top + 15, "again"),
      rect(from, top, width, RUN, "badarea", { radius: 3, title: words }),
      ...t.handedOutAgainSeconds.slice(0, MAX_DOTS).map((at) => {
        const text = `handed out again at ${seconds(at)}`
        return `<path d="M${n(x(at))},${n(top + 2)}l8,8l-8,8l-8,-8z" class="bad"><title>${text}</title></path>`
      }),
      say(isRoomy ? from : x(t.runSeconds), top + RUN + 18, words, "bad", {
        bold: true,
        ...(isRoomy ? {} : { anchor: "end" })
      })
    )
  }
  return { parts, bottom }
}

const COLUMNS = [
  ["visibility", 190],
  ["heartbeat", 300],
  ["duplicates", 410],
  ["recovery", 520],
  ["beats a message", 660],
  ["cost per million", WIDTH - RIGHT]
] as const

const cellsOf = (s: Setting, isByHand: boolean) => [
  seconds(s.visibilitySeconds),
  isByHand ? "by hand" : s.heartbeatSeconds === undefined ? "off" : seconds(s.heartbeatSeconds),
  percent(s.atRisk),
  seconds(s.recoverySeconds),
  count(s.beatsPerMessage),
  usdRange(s.cost.usdPerMillionMessages.fewest, s.cost.usdPerMillionMessages.most)
]

const choices = (plan: Plan, top: number): ReadonlyArray<string> => {
  const rows = [plan.setting, ...plan.others]
  return [
    say(16, top, "What other settings would give", "ink", { bold: true }),
    ...COLUMNS.map(([name, x]) => say(x, top + ROW, name, "muted", { anchor: "end" })),
    line(16, top + ROW + 8, WIDTH - RIGHT, top + ROW + 8, "grid-edge"),
    ...rows.flatMap((s, i) => {
      const y = top + ROW * (i + 2) + 4
      const cells = cellsOf(s, plan.changes.length > 0 && i === 0)
      return [
        say(16, y, s.label === "other" ? "" : s.label, "ink", { bold: true }),
        ...COLUMNS.map(([, x], c) =>
          say(x, y, cells[c]!, c === 2 ? (s.atRisk === 0 ? "good" : "bad") : "ink", { anchor: "end" })
        )
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
export const draw = (plan: Plan): string => {
  const { bottom, parts } = timeline(plan)
  const price = plan.setting.cost.priceUsdPerMillionRequests
  const top = bottom + 28
  const rows = plan.others.length + 1
  const foot = top + ROW * (rows + 2) + 12
  return picture(title(plan), WIDTH, foot + 16, [
    say(16, 30, title(plan), "ink", { bold: true, size: 15 }),
    ...parts,
    ...choices(plan, top),
    say(16, foot, `Cost: as calls carry ten entries or one, at ${usd(price)} per million requests.`, "muted", {
      size: 11
    })
  ])
}
