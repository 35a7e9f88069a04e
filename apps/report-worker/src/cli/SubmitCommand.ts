/**
 * `submit`: one job by flags, or jobs as JSON.
 *
 * @since 0.1.0
 */
import * as Checked from "@effect-sqs/cli/Flags"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { type Acceptance, JobStore } from "../jobs/JobStore.js"
import type { ReportJob } from "../ReportJob.js"
import { JobConflict } from "../jobs/JobError.js"
import { badInput, type CliError, refused } from "./CliError.js"
import * as Contract from "./Contract.js"
import * as files from "./files.js"
import * as Flags from "./Flags.js"
import * as Follow from "./Follow.js"
import { withDatabase } from "./Jobs.js"
import * as JobFile from "./JobFile.js"
import * as JobText from "./JobText.js"
import * as NotBefore from "./NotBefore.js"
import { instant, relative } from "./text.js"

/** What each report is about, for the help. */
const about: Record<Contract.ReportName, string> = {
  "flight-delays": "Delays of flights in a period, of one airport or of all: charts, rankings and the late flights.",
  "wildlife-strikes":
    "Strikes of birds and other animals in some years, in one state or in all: by phase of flight, species and cost.",
  "route-traffic": "Flights between airports: the routes of one airport, or of all airports of one state."
}

const submission = {
  notBefore: Checked.optional(Options.text("not-before")).pipe(
    Options.withPseudoName("time"),
    Options.withDescription('when it may run at the earliest: 2026-12-24T08:00Z, "in 20 minutes", 2h')
  ),
  wait: Options.boolean("wait").pipe(
    Options.withDescription("waits until it has ended, telling how far it is; Ctrl-C stops only the waiting")
  ),
  json: Flags.json
}

type Submission = Command.Command.ParseConfig<typeof submission>

const notBeforeOf = (typed: string | undefined): Effect.Effect<number | undefined, CliError> =>
  typed === undefined
    ? Effect.succeed(undefined)
    : Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const parsed = NotBefore.parse(typed, now)
        return parsed._tag === "Right"
          ? Effect.succeed(parsed.right)
          : badInput(`--not-before ${Flags.shown(typed)}: ${parsed.left}.`)
      })

const sentenceOf = ({ _tag, row }: Acceptance, now: number): string => {
  const time =
    row.notBefore === undefined ? "" : `, not before ${instant(row.notBefore)} (${relative(row.notBefore, now)})`
  return _tag === "Accepted"
    ? `${row.id}: accepted${time}`
    : `${row.id}: known already, nothing was changed; it is ${JobText.stateOf(row)}${row.state === "scheduled" ? time : ""}`
}

/** All jobs or none: they are accepted in one transaction. */
const submit = (jobs: ReadonlyArray<ReportJob>, asked: Submission) =>
  Effect.gen(function* () {
    const notBefore = yield* notBeforeOf(asked.notBefore)
    yield* Effect.gen(function* () {
      const store = yield* JobStore
      const accepted = yield* Ledger.transaction(Effect.forEach(jobs, (job) => store.accept(job, { notBefore }))).pipe(
        Effect.mapError((e) =>
          e instanceof JobConflict && jobs.length > 1 ? refused(`${e.message}; nothing was accepted`) : e
        )
      )
      const now = yield* Clock.currentTimeMillis
      const say = asked.json || asked.wait ? Console.error : Console.log
      if (asked.json && !asked.wait) {
        yield* Effect.forEach(accepted, ({ _tag, row }) => Console.log(JobText.toJson(row, { acceptance: _tag })), {
          discard: true
        })
      } else yield* Effect.forEach(accepted, (one) => say(sentenceOf(one, now)), { discard: true })
      if (!asked.wait) return
      const ended = yield* Follow.untilEnded(accepted.map(({ row }) => row.id))
      yield* Effect.forEach(ended, (row) => Console.log(asked.json ? JobText.toJson(row) : endOf(row, now)), {
        discard: true
      })
      yield* Follow.mustBeDone(ended)
    }).pipe(withDatabase({ make: true }))
  })

const endOf = (row: Acceptance["row"], now: number): string =>
  [
    `${row.id}: ${JobText.stateOf(row)}`,
    JobText.note(row, now),
    ...(row.result === undefined ? [] : [row.result.location])
  ].join("  ")

const kebab = (name: string) => name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)

/** flags whose names are not those of the contract */
const flagOf = (path: string): string =>
  ({ jobId: "--id", webhook: "--webhook", "webhook.url": "--webhook", "webhook.statusUrl": "--webhook-status" })[
    path
  ] ?? `--${kebab(path)}`

/** a text, as the contract will judge it; what is no number stays a text, and is told as such */
const valueOf = (field: Contract.Field, text: string): unknown =>
  field.isNumber && text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text

const optionOf = (field: Contract.Field): Options.Options<unknown> => {
  const option = Options.text(kebab(field.name)).pipe(
    Options.withPseudoName("value"),
    Options.withDescription(field.expected),
    Options.map((text) => valueOf(field, text))
  )
  return field.isRequired ? option : Checked.optional(option)
}

const field = (name: string) => optionOf(Contract.commonField(name))

const webhookFlags = {
  url: Checked.optional(Options.text("webhook")).pipe(
    Options.withPseudoName("url"),
    Options.withDescription("who is told, by a POST, when the report is there")
  ),
  idempotent: Options.boolean("webhook-idempotent").pipe(
    Options.withDescription("the receiver promises to do nothing for an Idempotency-Key that it has seen")
  ),
  statusUrl: Checked.optional(Options.text("webhook-status")).pipe(
    Options.withPseudoName("url"),
    Options.withDescription("where the receiver can be asked about a key")
  )
}

const webhookOf = ({
  idempotent,
  statusUrl,
  url
}: Command.Command.ParseConfig<typeof webhookFlags>): Effect.Effect<object, CliError> => {
  if (url !== undefined) {
    return Effect.succeed({ webhook: { url, idempotent, ...(statusUrl === undefined ? {} : { statusUrl }) } })
  }
  if (idempotent) return badInput("--webhook-idempotent says something of a receiver: name it by --webhook URL.")
  return statusUrl === undefined
    ? Effect.succeed({})
    : badInput("--webhook-status is of a receiver: name it by --webhook URL.")
}

/** without an id of one's own: it cannot be submitted twice by mistake and be known, so the id is told */
const newId = (report: string) =>
  Effect.gen(function* () {
    const day = instant(yield* Clock.currentTimeMillis)
      .slice(0, 10)
      .replaceAll("-", "")
    const random = (yield* Random.nextIntBetween(0, 36 ** 6)).toString(36).padStart(6, "0")
    return `${report}-${day}-${random}`
  })

const ofReport = (report: Contract.ReportName) =>
  Command.make(
    report,
    {
      id: Checked.optional(Options.text("id")).pipe(
        Options.withDescription(
          `the job's name, ${Contract.commonField("jobId").expected}; submitted again it is known. Made up unless given`
        )
      ),
      parameters: Object.fromEntries(Contract.parametersOf(report).map((p) => [p.name, optionOf(p)])),
      common: {
        locale: Options.withDefault(field("locale"), "en").pipe(Options.withDescription("en unless given")),
        format: field("format"),
        pagesPerSecond: field("pagesPerSecond")
      },
      webhook: webhookFlags,
      ...submission
    },
    (asked) =>
      Effect.gen(function* () {
        const webhook = yield* webhookOf(asked.webhook)
        const given = Object.entries({ ...asked.common, ...asked.parameters }).filter(
          ([, value]) => value !== undefined
        )
        const jobId = asked.id ?? (yield* newId(report))
        const decoded = Contract.decode({ report, jobId, ...Object.fromEntries(given), ...webhook })
        if (decoded._tag === "Left") {
          return yield* badInput(decoded.left.map(({ fault, path }) => `${flagOf(path)}: ${fault}`).join("\n"))
        }
        yield* submit([decoded.right], asked)
      })
  ).pipe(Command.withDescription(about[report]))

const file = Command.make(
  "file",
  { ...submission, given: Flags.args("file", "the file; stdin unless given") },
  (asked) =>
    Effect.gen(function* () {
      const path = asked.given.length === 0 ? "-" : (yield* Flags.exactly(asked.given, ["FILE"], "submit file"))[0]!
      const text = yield* files.read(path)
      yield* submit(yield* JobFile.jobsOf(text, path === "-" ? "stdin" : path), asked)
    })
).pipe(
  Command.withDescription(
    HelpDoc.blocks([
      HelpDoc.p(
        "Jobs as JSON, from a file or stdin: one object, an array, or one object in each line. Either all of them are accepted or none."
      ),
      HelpDoc.p(
        `{"report": "flight-delays", "jobId": "den-feb", "locale": "en", "period": "2001-02", "airport": "DEN"}`
      )
    ])
  )
)

/**
 * @since 0.1.0
 * @category commands
 */
export const command = Command.make("submit").pipe(
  Command.withDescription(
    "Puts jobs into the database; a worker that runs now or later does them. The same job again is known, and changes nothing."
  ),
  Command.withSubcommands([file, ...Contract.reports.map(ofReport)])
)
