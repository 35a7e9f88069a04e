/**
 * A plan as text: the timeline as a picture, what follows from it, and what other settings would give.
 *
 * @since 0.1.0
 */
import { show } from "./Durations.js"
import { count, percent, usd, usdRange } from "./internal/numbers.js"
import { padEnd, table, wrap } from "./internal/table.js"
import { niceStep } from "./internal/ticks.js"
import type { Plan, Setting } from "./Plan.js"
import type { Screen } from "./Screen.js"

const LABEL = 13

const seconds = (s: number) => show(s * 1000)

/** What a worker does to keep the message. */
const settingsOf = (plan: Plan): string => {
  const visibility = `visibility ${seconds(plan.visibilitySeconds)}`
  if (plan.changes.length > 0) {
    const changes = plan.changes.map((c) => `at ${seconds(c.atSeconds)} to ${seconds(c.forSeconds)}`)
    return `${visibility}, changed ${changes.join(", ")}`
  }
  if (plan.heartbeatSeconds === undefined) return `${visibility}, no heartbeat`
  const extendBy = plan.extendBySeconds === plan.visibilitySeconds ? "" : `, by ${seconds(plan.extendBySeconds!)}`
  return `${visibility}, heartbeat ${seconds(plan.heartbeatSeconds)}${extendBy}`
}

/**
 * The headline of a plan, in plain words.
 *
 * @since 0.1.0
 * @category rendering
 */
export const title = (plan: Plan): string =>
  `${plan.setting.label === "advised" ? "Advised: " : ""}${settingsOf(plan)}; ${plan.runs.count === 1 ? "a run" : "the longest run"} of ${seconds(plan.timeline.runSeconds)}`

const picture = (plan: Plan, screen: Screen["Type"]): ReadonlyArray<string> => {
  const { paint } = screen
  const { timeline } = plan
  const width = screen.columns - LABEL - 2
  const to = Math.max(timeline.runSeconds, Math.min(timeline.hiddenUntilSeconds, timeline.runSeconds * 1.5), 1)
  const column = (at: number) => Math.min(width, Math.round((at / to) * width))
  const bar = (from: number, until: number, cell: string) =>
    " ".repeat(column(from)) + cell.repeat(Math.max(1, column(Math.min(until, to)) - column(from)))
  const marks = (times: ReadonlyArray<number>, mark: string) => {
    const cells = Array<string>(width + 1).fill(" ")
    for (const at of times) if (at <= to) cells[column(at)] = mark
    return cells.join("").trimEnd()
  }
  const row = (label: string, content: string) => `${padEnd(label, LABEL)}${content}`

  const step = niceStep(to, Math.max(2, Math.floor(width / 10)))
  const axis = Array<string>(width + 1).fill(" ")
  for (let at = 0; at <= to; at += step) {
    const label = seconds(at)
    const from = Math.min(column(at), width + 1 - label.length)
    ;[...label].forEach((c, i) => (axis[from + i] = c))
  }

  const hidden = bar(0, timeline.hiddenUntilSeconds, "█")
  const beats = timeline.extensions.filter((e) => e.hiddenUntilSeconds !== undefined).map((e) => e.atSeconds)
  const late = timeline.extensions.filter((e) => e.hiddenUntilSeconds === undefined).map((e) => e.atSeconds)
  return [
    row("", paint("dim", axis.join("").trimEnd())),
    row("hidden", paint("blue", hidden)),
    ...(beats.length > 0 ? [row(plan.changes.length > 0 ? "changes" : "beats", paint("cyan", marks(beats, "▲")))] : []),
    ...(late.length > 0 ? [row("no effect", paint("red", marks(late, "×")))] : []),
    row("run", paint("green", bar(0, timeline.runSeconds, "━"))),
    ...(timeline.riskWindowSeconds === 0
      ? []
      : [
          row("handed out", paint("red", marks([0, ...timeline.handedOutAgainSeconds], "◆"))),
          row("two at work", paint("red", bar(timeline.hiddenUntilSeconds, timeline.runSeconds, "▒")))
        ])
  ]
}

const list = (times: ReadonlyArray<number>, max: number) =>
  times.length <= max
    ? times.map(seconds).join(", ")
    : `${times.slice(0, max).map(seconds).join(", ")} … (${count(times.length)} in all)`

const extensionsOf = (plan: Plan): string => {
  const { extensions } = plan.timeline
  if (extensions.length === 0)
    return plan.heartbeatSeconds === undefined ? "none" : "none: the run ends before the first"
  if (plan.changes.length > 0) {
    return extensions
      .map((e) => {
        const what = `at ${seconds(e.atSeconds)} to ${seconds(e.askedSeconds)}`
        return e.hiddenUntilSeconds === undefined
          ? `${what}: without effect, too late or beyond 12h`
          : `${what}: hidden until ${seconds(e.hiddenUntilSeconds)}`
      })
      .join("; ")
  }
  return `${count(extensions.length)}: at ${list(
    extensions.map((e) => e.atSeconds),
    5
  )}`
}

const facts = (plan: Plan, { paint }: Screen["Type"]): ReadonlyArray<readonly [string, string]> => {
  const { runs, setting, timeline } = plan
  const { requestsPerMessage: requests, usdPerMillionMessages: cost } = setting.cost
  const risk = timeline.riskWindowSeconds
  const again = timeline.handedOutAgainSeconds
  return [
    [
      "handed out again",
      again.length === 0
        ? `not while it runs: hidden until ${seconds(timeline.hiddenUntilSeconds)}`
        : `at ${list(again, 5)}: received ${count(again.length + 1)} times before the first run ends, if a worker is free. A maxReceiveCount below that moves it to the dead-letter queue`
    ],
    [
      "risk window",
      risk === 0
        ? paint("green", "0")
        : `${paint("red", seconds(risk))}: from ${seconds(timeline.hiddenUntilSeconds)} to ${seconds(timeline.runSeconds)} two workers or more are at the same job`
    ],
    ...(timeline.interruptedAtSeconds === undefined
      ? []
      : [
          [
            "in effect-sqs",
            `the handler is interrupted at ${seconds(timeline.interruptedAtSeconds)}, so that no two run at once; the job is not done`
          ] as const
        ]),
    [plan.changes.length > 0 ? "changes" : "beats", extensionsOf(plan)],
    [
      "duplicates",
      `${paint(setting.atRisk === 0 ? "green" : "red", percent(setting.atRisk))} of the runs outlive their slot` +
        (runs.count === 1
          ? ""
          : ` (${count(runs.count)} runs: p50 ${seconds(runs.p50Seconds)}, p99 ${seconds(runs.p99Seconds)}, longest ${seconds(runs.maxSeconds)})`)
    ],
    ["recovery", `a message whose worker died stays hidden for up to ${seconds(setting.recoverySeconds)}`],
    ["requests", `${count(requests.fewest)} to ${count(requests.most)} a message, as calls carry ten messages or one`],
    [
      "cost",
      `${usdRange(cost.fewest, cost.most)} per million messages, at ${usd(setting.cost.priceUsdPerMillionRequests)} per million requests (--price)`
    ],
    ...(runs.interrupted === 0
      ? []
      : [["left out", `${count(runs.interrupted)} runs that were interrupted: they would have taken longer`] as const])
  ]
}

const choices = (plan: Plan, { paint }: Screen["Type"]): ReadonlyArray<string> => {
  const cells = (s: Setting) => [
    s.label === "other" ? "" : s.label,
    seconds(s.visibilitySeconds),
    plan.changes.length > 0 && s === plan.setting
      ? "by hand"
      : s.heartbeatSeconds === undefined
        ? "off"
        : seconds(s.heartbeatSeconds),
    paint(s.atRisk === 0 ? "green" : "red", percent(s.atRisk)),
    seconds(s.recoverySeconds),
    count(s.beatsPerMessage),
    usdRange(s.cost.usdPerMillionMessages.fewest, s.cost.usdPerMillionMessages.most)
  ]
  const head = ["", "visibility", "heartbeat", "duplicates", "recovery", "beats a message", "cost per million"]
  const rows = table([head, ...[plan.setting, ...plan.others].map(cells)], [1, 2, 3, 4, 5, 6])
  return rows.map((row, i) => (i === 0 ? paint("dim", row) : row))
}

/**
 * All of it.
 *
 * @since 0.1.0
 * @category rendering
 */
export const draw = (plan: Plan, screen: Screen["Type"]): string =>
  [
    screen.paint("bold", title(plan)),
    "",
    ...picture(plan, screen),
    "",
    ...facts(plan, screen).flatMap(([name, text]) =>
      wrap(`${padEnd(name, 18)}${text}`, screen.columns, " ".repeat(18))
    ),
    "",
    screen.paint("bold", "What other settings would give"),
    ...choices(plan, screen)
  ].join("\n")
