/**
 * A doctor's report as text, worst first.
 *
 * @since 0.1.0
 */
import type { Report } from "./Doctor.js"
import type { Finding, Severity } from "./Finding.js"
import { show } from "./Durations.js"
import { count } from "./internal/numbers.js"
import { wrap } from "./internal/table.js"
import type { Colour, Screen } from "./Screen.js"

const looks: Record<Severity, readonly [mark: string, colour: Colour]> = {
  fault: ["✗", "red"],
  risk: ["!", "yellow"],
  unseen: ["?", "magenta"],
  advice: ["·", "cyan"]
}

const findingOf = (finding: Finding, screen: Screen["Type"]): ReadonlyArray<string> => {
  const [mark, colour] = looks[finding.severity]
  const [first, ...rest] = wrap(`${finding.severity}: ${finding.what}`, screen.columns - 2)
  return [
    `${screen.paint(colour, mark)} ${screen.paint("bold", first!)}`,
    ...rest.map((line) => `  ${screen.paint("bold", line)}`),
    ...wrap(finding.why, screen.columns - 2).map((line) => `  ${line}`),
    // not wrapped: they are to be copied
    ...finding.mend.map((command) => `    ${screen.paint("cyan", command)}`),
    ""
  ]
}

const factsOf = ({ attributes, deadLetterQueue, kind }: Report): string => {
  if (attributes === null) return `${kind} queue; its attributes may not be read`
  const seconds = (name: string) => show(Number(attributes[name]) * 1000)
  const messages = (name: string) => count(Number(attributes[name]))
  const policy = attributes.RedrivePolicy
  const receives = policy === undefined || policy === "" ? "" : ` after ${JSON.parse(policy).maxReceiveCount} receives`
  return (
    `${kind} queue; visibility ${seconds("VisibilityTimeout")}, retention ${seconds("MessageRetentionPeriod")}, ` +
    `dead letters ${deadLetterQueue === null ? "nowhere" : `to ${deadLetterQueue}${receives}`}; ` +
    `${messages("ApproximateNumberOfMessages")} waiting, ${messages("ApproximateNumberOfMessagesNotVisible")} in flight, ` +
    `${messages("ApproximateNumberOfMessagesDelayed")} delayed`
  )
}

/**
 * @since 0.1.0
 * @category rendering
 */
export const draw = (report: Report, screen: Screen["Type"]): string =>
  [
    screen.paint("bold", report.queue),
    ...wrap(factsOf(report), screen.columns),
    "",
    ...report.findings.flatMap((finding) => findingOf(finding, screen)),
    ...(report.inOrder
      ? [
          `${screen.paint("green", "✓")} ${screen.paint("bold", "In order:")} nothing is wrong with what was looked at.`,
          ""
        ]
      : []),
    screen.paint("dim", "Not looked at:"),
    ...report.notLookedAt.map((text) => screen.paint("dim", `- ${text}`))
  ].join("\n")
