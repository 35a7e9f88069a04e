/** What `dlq redrive` prints. */
import type { DryRun } from "../RedriveDryRun.js"
import type { RedriveProgress } from "../RedriveApply.js"
import { hash, type RedrivePlan } from "../RedrivePlan.js"
import type { RedriveReport } from "../RedriveReport.js"
import type { Screen } from "../Screen.js"
import { looking, messages, notes, visible } from "./deadLetterText.js"
import * as durations from "../Durations.js"
import { count } from "./numbers.js"
import { table, wrap } from "./table.js"

type Look = Screen["Type"]

const cut = (text: string, width: number) => {
  const line = visible(text.replace(/\s+/g, " "))
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`
}

const targetOf = (plan: RedrivePlan, source: string | null) =>
  plan.destinations.find((d) => d.source === source)?.name ?? "?"

const kinds = (plan: RedrivePlan, look: Look) =>
  table(
    [
      ["send", "of", "reason", "type", "source", "to"],
      ...plan.kinds.map((k) => [
        count(k.send),
        count(k.count),
        cut(k.reason, Math.max(24, look.columns - 64)),
        cut(k.type ?? "-", 24),
        cut(k.source ?? "-", 24),
        k.send === 0 ? "-" : cut(targetOf(plan, k.source), 24)
      ])
    ],
    [0, 1]
  )

const listed = (title: string, list: RedrivePlan["keep"]): ReadonlyArray<string> =>
  list.length === 0 ? [] : [title, ...list.map(({ count: n, why }) => `  ${count(n)}  ${why}`)]

const how = ({ limits, ledger, send }: RedrivePlan): string => {
  const total = `${messages(limits.total)} at most${limits.total === send ? "" : ` (${count(send)} were seen)`}`
  const wait = `waits ${durations.show(limits.settleMs)} ${ledger ? "at most until the ledger has them completed" : "whether any comes back"}`
  const first =
    limits.canary === 0
      ? total
      : limits.total <= limits.canary
        ? `${total}, and ${wait}`
        : `${total}: first ${count(limits.canary)}, ${wait}, then the others`
  return (
    `Applied, it sends ${first}; ${count(limits.rate)} a second. It stops when more than ${limits.stopPercent} % of those sent, or ` +
    `${limits.stopInARow} in a row, fail again. No message is redriven more than ${limits.maxRedrives} times.`
  )
}

export const dryRun = (result: DryRun, planPath: string | undefined, apply: string | undefined, look: Look): string => {
  const { checks, plan } = result
  const told = checks.filter((c) => c.state !== "ok")
  return [
    look.paint("bold", `Dry run on ${plan.queue.name}: nothing was sent, nothing deleted.`),
    "",
    ...(plan.kinds.length === 0 ? ["No message that is meant was found."] : kinds(plan, look)),
    "",
    ...listed("Would be deleted without a send:", plan.delete),
    ...listed("Would stay:", plan.keep),
    ...(plan.delete.length + plan.keep.length === 0 ? [] : [""]),
    ...told.flatMap((c) =>
      wrap(
        `${c.state === "blocks" ? look.paint("red", "x") : c.state === "warns" ? look.paint("yellow", "!") : "?"} ${c.text}`,
        look.columns,
        "  "
      )
    ),
    ...notes(plan.notes, look),
    ...wrap(looking(result.looked, result.notPutBack), look.columns),
    ...(planPath === undefined || apply === undefined
      ? []
      : [
          "",
          ...wrap(how(plan), look.columns),
          "",
          `The plan is in ${planPath} (${hash(plan).slice(0, 12)}). To apply it:`,
          `  ${apply}`
        ])
  ].join("\n")
}

export const report = (r: RedriveReport, look: Look): string => {
  const { completed, failed, pending } = r.settled
  return [
    look.paint(
      r.stopped === undefined ? "bold" : "yellow",
      `${r.queue}: ${messages(r.sent)} sent${r.resumed ? " in this run, which continued an earlier one" : ""}.`
    ),
    `received ${count(r.received)} = sent ${count(r.sent)} + deleted ${count(r.deleted)} + kept ${count(r.kept)} + failed ${count(r.failed)} + unknown ${count(r.unknown)}`,
    "",
    ...table(
      r.reasons.map(({ count: n, outcome, why }) => [count(n), outcome, visible(why)]),
      [0]
    ),
    "",
    `Of all that this plan sent: ${count(completed)} known to be completed, ${count(failed)} failed again, ${count(pending)} not known.`,
    ...(r.notPutBack === 0
      ? []
      : [`${messages(r.notPutBack)} could not be put back at once: they come back by their visibility timeout.`]),
    ...(r.stopped === undefined
      ? []
      : wrap(look.paint("red", `Stopped: ${r.stopped}${/[.!?]$/.test(r.stopped) ? "" : "."}`), look.columns)),
    ...(r.unknown + r.kept + r.failed === 0 || r.isInterrupted === false
      ? []
      : wrap("What is not sent is in the queue; the same command goes on from here.", look.columns)),
    `The audit log is in ${r.audit}.`
  ].join("\n")
}

const BAR = 24

/** One line, to be drawn over the one before. */
export const bar = ({ counts, phase, settled, total, undecided }: RedriveProgress, look: Look): string => {
  const done = Math.min(total, settled.completed + settled.failed + settled.pending)
  const filled = total === 0 ? BAR : Math.round((BAR * done) / total)
  const told = `${look.paint("green", "█".repeat(filled))}${look.paint("dim", "░".repeat(BAR - filled))} ${count(done)}/${count(total)} ${phase}`
  const parts = [
    settled.completed > 0 ? `${count(settled.completed)} completed` : "",
    settled.failed > 0 ? `${count(settled.failed)} failed again` : "",
    counts.deleted > 0 ? `${count(counts.deleted)} deleted` : "",
    counts.kept > undecided ? `${count(counts.kept - undecided)} kept` : "",
    counts.failed > 0 ? `${count(counts.failed)} not taken` : "",
    counts.unknown > 0 ? `${count(counts.unknown)} unknown` : ""
  ].filter((text) => text !== "")
  return [told, ...parts].join(", ")
}
