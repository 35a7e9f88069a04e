/**
 * Jobs in words.
 *
 * @since 0.1.0
 */
import type { Screen } from "@effect-sqs/cli/Screen"
import * as Schema from "effect/Schema"
import type { JobEvent } from "../jobs/JobEvent.js"
import { JobRow } from "../jobs/JobRow.js"
import type { ReportJob } from "../ReportJob.js"
import * as Contract from "./Contract.js"
import { instant, plain, relative, size } from "./text.js"

type Painter = Screen["Type"]["paint"]

const colours = {
  scheduled: "blue",
  accepted: "blue",
  queued: "blue",
  running: "cyan",
  completed: "green",
  failed: "red",
  cancelled: "dim"
} as const

/**
 * The state in its colour.
 *
 * @since 0.1.0
 * @category formatting
 */
export const painted = (row: JobRow, text: string, paint: Painter): string =>
  paint(
    row.delivery === "unknown" || row.delivery === "review" || row.delivery === "refused"
      ? "yellow"
      : colours[row.state],
    text
  )

/**
 * `completed, delivered`
 *
 * @since 0.1.0
 * @category formatting
 */
export const stateOf = (row: JobRow): string => {
  if (row.state !== "completed" || row.delivery === "none") return row.state
  return row.delivery === "delivered" ? "completed, delivered" : `completed, delivery ${row.delivery}`
}

const parameters = (job: ReportJob): ReadonlyArray<readonly [string, string]> =>
  Contract.parametersOf(job.report).flatMap(({ name }) => {
    const value = (job as unknown as Record<string, unknown>)[name]
    return value === undefined
      ? []
      : [[name, typeof value === "object" ? JSON.stringify(value) : String(value)] as const]
  })

/**
 * What is asked for, in a few words.
 *
 * @since 0.1.0
 * @category formatting
 */
export const short = (job: ReportJob): string => [job.report, ...parameters(job).map(([, value]) => value)].join(" ")

/**
 * `render 12 of 49`
 *
 * @since 0.1.0
 * @category formatting
 */
export const progressOf = (row: JobRow): string | undefined => {
  const { progress } = row
  if (progress === undefined) return undefined
  return progress.done === undefined ? progress.step : `${progress.step} ${progress.done} of ${progress.of ?? "?"}`
}

const resultOf = ({ result }: JobRow): string | undefined =>
  result === undefined
    ? undefined
    : [...(result.pages === undefined ? [] : [`${result.pages} pages`]), size(result.bytes)].join(", ")

/**
 * What is to be known of a job in a line: how far it is, what came out, or why nothing did.
 *
 * @since 0.1.0
 * @category formatting
 */
export const note = (row: JobRow, now: number): string => {
  if (row.state === "scheduled" && row.notBefore !== undefined) return relative(row.notBefore, now)
  const told = row.state === "running" ? progressOf(row) : (row.reason ?? resultOf(row) ?? "")
  return plain(told ?? "")
}

const eventDetail = ({ detail, kind }: JobEvent): string => {
  const text = (name: string) => (detail[name] === undefined ? undefined : plain(String(detail[name])))
  switch (kind) {
    case "accepted":
      return typeof detail.notBefore === "number" ? `not before ${instant(detail.notBefore)}` : ""
    case "started":
      return [text("run") && `run ${text("run")}`, text("receive") && `receive ${text("receive")}`]
        .filter(Boolean)
        .join(", ")
    case "sent":
      return [text("messageId") && `message ${text("messageId")}`, Number(detail.sends) > 1 && `the ${text("sends")}th`]
        .filter(Boolean)
        .join(", ")
    case "duplicate":
      return `not run, receive ${text("receive")}, message ${text("messageId")}`
    case "step":
      return text("step") ?? ""
    case "delivery":
      return [text("state"), text("reason")].filter((t) => t !== undefined).join(": ")
    default:
      return text("reason") ?? text("artifact") ?? ""
  }
}

/**
 * A line of the history.
 *
 * @since 0.1.0
 * @category formatting
 */
export const event = (one: JobEvent): string =>
  `${instant(one.at)}  ${one.kind.padEnd(9)}  ${eventDetail(one)}`.trimEnd()

/**
 * All that is known of a job.
 *
 * @since 0.1.0
 * @category formatting
 */
export const whole = (
  row: JobRow,
  history: ReadonlyArray<JobEvent>,
  now: number,
  paint: Painter
): ReadonlyArray<string> => {
  const { job, result } = row
  const time = (at: number | undefined) => (at === undefined ? undefined : `${instant(at)} (${relative(at, now)})`)
  const webhook = job.webhook
  const facts: ReadonlyArray<readonly [string, string | undefined]> = [
    ["report", [job.report, ...parameters(job).map(([name, value]) => `${name} ${value}`)].join(", ")],
    ["format", `${job.format}, ${job.locale}`],
    ["not before", time(row.notBefore)],
    ["accepted", time(row.acceptedAt)],
    ["started", row.startedAt === undefined ? undefined : `${time(row.startedAt)}, run ${row.runs}`],
    ["ended", time(row.endedAt)],
    [
      "progress",
      row.state === "running" || (row.state === "completed" && row.delivery === "pending") ? progressOf(row) : undefined
    ],
    ["reason", row.reason],
    ["result", result?.location],
    ["", resultOf(row)],
    ["sha256", result?.sha256],
    [
      "webhook",
      webhook === undefined ? undefined : `${webhook.url}, ${webhook.idempotent ? "idempotent" : "not idempotent"}`
    ],
    ["status URL", webhook?.statusUrl]
  ]
  return [
    `${paint("bold", row.id)}  ${painted(row, stateOf(row), paint)}`,
    ...facts.flatMap(([name, value]) =>
      value === undefined ? [] : [`  ${paint("dim", name.padEnd(10))}  ${plain(value)}`]
    ),
    "",
    ...history.map((one) => `  ${event(one)}`)
  ]
}

const encode = Schema.encodeSync(JobRow)

/**
 * The row as programs read it: the fields of the database's row, and the id first. Times are epoch ms.
 *
 * @since 0.1.0
 * @category formatting
 */
export const toJson = (row: JobRow, more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({ id: row.id, ...encode(row), ...more })
