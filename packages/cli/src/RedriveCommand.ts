/**
 * `dlq redrive`: a dry run that makes a plan, and the plan applied.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Prompt from "@effect/cli/Prompt"
import type { Ledger } from "@effect-sqs/ledger/LedgerService"
import { nameOf } from "@effect-sqs/core/SqsQueue"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { badInput, type CliError, notInOrder } from "./CliError.js"
import type { Connection } from "./Connection.js"
import type { LedgerUnavailable } from "./DeadLetterError.js"
import { isEmpty } from "./DeadLetterFilter.js"
import * as Flags from "./Flags.js"
import * as flags from "./internal/deadLetterFlags.js"
import { messages } from "./internal/deadLetterText.js"
import { NO_DESTINATION } from "./internal/redriveDecide.js"
import * as text from "./internal/redriveText.js"
import { apply, type RedriveProgress } from "./RedriveApply.js"
import { type DryRun, dryRun } from "./RedriveDryRun.js"
import * as RedriveLedger from "./RedriveLedger.js"
import * as RedriveMoveTasks from "./RedriveMoveTasks.js"
import * as RedrivePlan from "./RedrivePlan.js"
import { isInOrder } from "./RedriveReport.js"
import { Screen } from "./Screen.js"

const { defaultLimits } = RedrivePlan

const planning = {
  ...flags.filter,
  to: Flags.optional(Flags.queueNamed("to", "where all messages go; each back to its own source unless given")),
  unknownTo: Flags.optional(Flags.queueNamed("unknown-to", "where messages go whose source is not recorded")),
  key: Flags.optional(Options.text("key")).pipe(
    Options.withDescription("the business key, as '$.orderId' or attribute:order-id; of one key one message is sent")
  ),
  namespace: Flags.optional(Options.text("namespace")).pipe(
    Options.withDescription("of the keys in the ledger; the name of the target queue unless given")
  ),
  canary: Flags.optional(Flags.integer("canary", 0, 1000)).pipe(
    Options.withDescription(`messages that are sent first and waited for; ${defaultLimits.canary} unless given`)
  ),
  settle: Flags.optional(Flags.duration("settle")).pipe(
    Options.withDescription("how long these may take to be completed or to come back; 5m unless given")
  ),
  rate: Flags.optional(Flags.number("rate", (n) => n > 0 && n <= 3000, "expected messages a second")).pipe(
    Options.withDescription(`messages a second; ${defaultLimits.rate} unless given`)
  ),
  total: Flags.optional(Flags.integer("total", 1)).pipe(
    Options.withDescription("messages that are sent at most; those that the dry run saw unless given")
  ),
  maxRedrives: Flags.optional(Flags.integer("max-redrives", 1, 1000)).pipe(
    Options.withDescription(`redrives of one message, earlier ones counted; ${defaultLimits.maxRedrives} unless given`)
  ),
  stopPercent: Flags.optional(Flags.number("stop-percent", (n) => n >= 0 && n <= 100, "expected 0 to 100")).pipe(
    Options.withDescription(`stop when more than so many % fail again; ${defaultLimits.stopPercent} unless given`)
  ),
  stopInARow: Flags.optional(Flags.integer("stop-in-a-row", 1)).pipe(
    Options.withDescription(`stop when so many in a row fail again; ${defaultLimits.stopInARow} unless given`)
  ),
  maxBacklog: Flags.optional(Flags.integer("max-backlog", 1)).pipe(
    Options.withDescription("stop when a target queue holds more messages than this")
  ),
  ...flags.scan
} as const

const redriveFlags = {
  queue: Flags.queue,
  plan: Flags.optional(Flags.path("plan")).pipe(
    Options.withDescription(
      "the plan's file: written by the dry run, read with --confirm; redrive-QUEUE.json unless given"
    )
  ),
  confirm: Flags.optional(Options.text("confirm")).pipe(
    Options.withPseudoName("queue-name"),
    Options.withDescription("name of the dead-letter queue: applies the plan. Without it nothing is sent")
  ),
  ledger: Flags.optional(Options.text("ledger")).pipe(
    Options.withPseudoName("url"),
    Options.withDescription(
      "asked before each send: postgres://… or the path of an SQLite file; env:NAME reads it from the environment"
    )
  ),
  audit: Flags.optional(Flags.path("audit")).pipe(
    Options.withDescription("the audit log, with --confirm; beside the plan unless given")
  ),
  resendUnknown: Options.boolean("resend-unknown").pipe(
    Options.withDescription("with --confirm: send again what an earlier run may have sent; it can be there twice then")
  ),
  ...planning,
  anyQueue: flags.anyQueue,
  json: Flags.json,
  ...Flags.connection
} as const

type Asked = Command.Command.ParseConfig<typeof redriveFlags>

const ledgerUrl = (text: string): Effect.Effect<string, CliError> => {
  if (!text.startsWith("env:")) return Effect.succeed(text)
  const value = process.env[text.slice("env:".length)]
  return value === undefined || value === ""
    ? badInput(`--ledger ${text}: this variable is not set.`)
    : Effect.succeed(value)
}

/** Runs with the ledger, if one is named. */
const withLedger = <A, E, R>(
  asked: Asked,
  run: (ledger: RedriveLedger.LedgerLook | undefined) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | CliError | LedgerUnavailable, R | Exclude<R, Ledger>> =>
  Effect.gen(function* () {
    if (asked.ledger === undefined) return yield* run(undefined)
    const url = yield* ledgerUrl(asked.ledger)
    return yield* Effect.flatMap(RedriveLedger.look, run).pipe(Effect.provide(RedriveLedger.layer(url)))
  })

const planPathOf = (asked: Asked) => asked.plan ?? `redrive-${nameOf(asked.queue)}.json`
const auditPathOf = (asked: Asked) => asked.audit ?? `${planPathOf(asked).replace(/\.json$/, "")}.audit.jsonl`

const quoted = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

const applyLine = (asked: Asked, queue: string): string =>
  [
    "effect-sqs dlq redrive",
    `--queue ${quoted(asked.queue)}`,
    `--plan ${quoted(planPathOf(asked))}`,
    ...(asked.ledger === undefined ? [] : [`--ledger ${quoted(asked.ledger.replace(/\/\/[^@/]*@/, "//…@"))}`]),
    ...(asked.endpoint === undefined ? [] : [`--endpoint ${quoted(asked.endpoint)}`]),
    ...(asked.region === undefined ? [] : [`--region ${asked.region}`]),
    `--confirm ${queue}`
  ].join(" ")

const look = (asked: Asked, unknownTo: string | undefined) =>
  withLedger(asked, (ledger) =>
    Effect.gen(function* () {
      return yield* dryRun({
        queue: asked.queue,
        anyQueue: asked.anyQueue,
        filter: yield* flags.filterOf(asked),
        to: asked.to,
        unknownTo,
        key: asked.key,
        namespace: asked.namespace,
        ledger,
        scan: asked.scan,
        time: asked.scanTime,
        limits: {
          canary: asked.canary,
          settleMs: asked.settle === undefined ? undefined : Duration.toMillis(asked.settle),
          rate: asked.rate,
          total: asked.total,
          maxRedrives: asked.maxRedrives,
          stopPercent: asked.stopPercent,
          stopInARow: asked.stopInARow,
          maxBacklog: asked.maxBacklog
        }
      })
    })
  )

/** On a terminal: where those go whose source nobody recorded. The answer takes a second look. */
const askedWhere = (asked: Asked, result: DryRun) =>
  Effect.gen(function* () {
    const lost = result.plan.keep.find(({ why }) => why === NO_DESTINATION)?.count ?? 0
    const { isTerminal } = yield* Screen
    if (lost === 0 || asked.json || !isTerminal || process.stdin.isTTY !== true) return result
    const answer = yield* Prompt.text({
      message: `Nobody recorded where ${messages(lost)} came from. To which queue shall they go? (empty: they stay)`
    }).pipe(Effect.catchTag("QuitException", () => Effect.interrupt))
    return answer.trim() === "" ? result : yield* look(asked, answer.trim())
  })

const makePlan = (asked: Asked) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const result = yield* askedWhere(asked, yield* look(asked, asked.unknownTo))
    const { checks, plan } = result
    const isBlocked = checks.some((c) => c.state === "blocks")
    const hasWork = plan.send > 0 || plan.delete.length > 0
    const path = hasWork && !isBlocked ? planPathOf(asked) : undefined
    if (path !== undefined) yield* RedrivePlan.write(plan, path)
    yield* Console.log(
      asked.json
        ? JSON.stringify({ plan, hash: RedrivePlan.hash(plan), planFile: path ?? null, checks }, null, 2)
        : text.dryRun(result, path, applyLine(asked, plan.queue.name), screen)
    )
    if (isBlocked) {
      yield* Console.error("No plan was written: first mend what is marked with x, or leave it out with --source.")
      return yield* notInOrder
    }
  })

/** On a terminal one line that is drawn anew, elsewhere a line for each phase, on stderr. */
const progressOf = (screen: Screen["Type"]) => {
  const isDrawn = screen.isTerminal && process.stderr.isTTY === true
  let last = ""
  return {
    show: (progress: RedriveProgress) =>
      Effect.suspend(() => {
        if (isDrawn) return Effect.sync(() => process.stderr.write(`\r\u001b[K${text.bar(progress, screen)}`))
        if (last === progress.phase) return Effect.void
        last = progress.phase
        return Console.error(`${progress.phase} …`)
      }),
    clear: Effect.sync(() => {
      if (isDrawn) process.stderr.write("\r\u001b[K")
    })
  }
}

const isPlanning = (asked: Asked): boolean =>
  [
    asked.to,
    asked.unknownTo,
    asked.key,
    asked.namespace,
    asked.canary,
    asked.settle,
    asked.rate,
    asked.total,
    asked.maxRedrives,
    asked.stopPercent,
    asked.stopInARow,
    asked.maxBacklog,
    asked.scan,
    asked.scanTime
  ].some((value) => value !== undefined)

const applyPlan = (asked: Asked, confirm: string) =>
  Effect.gen(function* () {
    if (isPlanning(asked) || !isEmpty(yield* flags.filterOf(asked))) {
      return yield* badInput(
        "With --confirm the plan says what is sent and how: leave filters and limits out, or make a new plan without --confirm."
      )
    }
    const screen = yield* Screen
    const plan = yield* RedrivePlan.read(planPathOf(asked))
    if (plan.queue.name !== nameOf(asked.queue)) {
      return yield* badInput(
        `${planPathOf(asked)} is a plan for ${plan.queue.name}, but --queue says ${nameOf(asked.queue)}: nothing was sent.`
      )
    }
    const progress = progressOf(screen)
    const report = yield* withLedger(asked, (ledger) =>
      apply({
        plan,
        confirm,
        audit: auditPathOf(asked),
        actor: flags.actor(),
        ledger,
        resendUnknown: asked.resendUnknown,
        ...(asked.json ? {} : { onProgress: progress.show }),
        onReport: (r) =>
          Effect.zipRight(progress.clear, Console.log(asked.json ? JSON.stringify(r, null, 2) : text.report(r, screen)))
      })
    )
    if (!isInOrder(report)) return yield* notInOrder
  })

const moveTasks = ({ credentials, endpoint, region }: Connection) =>
  RedriveMoveTasks.layerWith({
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials })
  })

/**
 * @since 0.1.0
 * @category commands
 */
export const redrive = Command.make("redrive", redriveFlags, (asked) =>
  flags.connected(asked, (connection) =>
    (asked.confirm === undefined ? makePlan(asked) : applyPlan(asked, asked.confirm)).pipe(
      Effect.provide(moveTasks(connection))
    )
  )
).pipe(
  Command.withDescription(
    "Sends dead letters back. Without --confirm a dry run: it shows what would be done, and writes a plan. With it the plan is applied: a canary first, which is waited for, then the others at a rate."
  )
)
