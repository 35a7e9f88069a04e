/**
 * The worker's settings, from the environment. One table holds every key with its words, its default and its reading, so
 * that `--help` and the error messages cannot drift from the code.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { availableParallelism } from "node:os"
import path from "node:path"
import { isLoopback } from "./http/Listen.js"
import * as Tokens from "./http/Tokens.js"
import type { Token } from "./http/Tokens.js"
import { isSlipOf } from "./misspelt.js"
import {
  address,
  count,
  duration,
  hostNames,
  listen,
  type ListenAddress,
  postgresUrl,
  setting,
  type Setting,
  type StoreAddress,
  text,
  yesOrNo
} from "./Setting.js"

/**
 * The environment holds values that cannot be used: all of them at once.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidSettings extends Schema.TaggedError<InvalidSettings>()("InvalidSettings", {
  faults: Schema.Array(Schema.String)
}) {
  override get message() {
    return [
      this.faults.length === 1 ? "A setting cannot be used:" : `${this.faults.length} settings cannot be used:`,
      ...this.faults.map((fault) => `  ${fault}`),
      "Set them right in the environment, or leave them out for the default; --help tells all of them."
    ].join("\n")
  }
}

/**
 * Where the jobs' database is. A file is for one process at a time.
 *
 * @since 0.1.0
 * @category models
 */
export type DatabaseAddress =
  | { readonly _tag: "SqliteFile"; readonly filename: string }
  | { readonly _tag: "PostgreSQL"; readonly url: Redacted.Redacted }

const aDuration = `a duration such as 90s, 2m or "2 minutes"`
const queueName = /^(https?:\/\/\S+|[A-Za-z0-9_-]{1,80}(\.fifo)?)$/
const unset = (shown: string) => ({ value: undefined, shown })
const cores = availableParallelism()
const logLevels = { debug: LogLevel.Debug, info: LogLevel.Info, warning: LogLevel.Warning, error: LogLevel.Error }

/** The table. `undefined` leaves a value to the library's own default. */
const table = {
  queue: setting(
    "REPORT_QUEUE",
    "the queue of jobs",
    "a name or a URL",
    { value: "report-jobs", shown: "report-jobs" },
    text(queueName)
  ),
  deadLetterQueue: setting<string | undefined>(
    "REPORT_DLQ",
    "where jobs go that can never succeed",
    "a name or a URL",
    unset("that of the queue's redrive policy"),
    text(queueName)
  ),
  out: setting(
    "REPORT_OUT",
    "the folder for what is kept on this machine",
    "a path",
    { value: "out/reports", shown: "out/reports" },
    text(/./)
  ),
  store: setting<StoreAddress | undefined>(
    "REPORT_STORE",
    "where finished reports are kept",
    "a folder, or s3://bucket/prefix",
    unset("the folder artifacts in REPORT_OUT"),
    address
  ),
  databaseFile: setting<string | undefined>(
    "REPORT_DATABASE",
    "the file of the jobs' database; one process a file",
    "a path",
    unset("jobs.db in REPORT_OUT"),
    text(/^(?![a-z]+:\/\/)./)
  ),
  databaseUrl: setting<Redacted.Redacted | undefined>(
    "REPORT_DATABASE_URL",
    "a PostgreSQL database instead of the file, for several processes",
    "a URL such as postgres://user:password@host:5432/reports",
    unset("the file"),
    postgresUrl,
    () => "not a URL that can be used"
  ),
  claim: setting(
    "REPORT_CLAIM",
    "when a worker died: how long until another may go on with its job",
    aDuration,
    { value: Duration.minutes(1), shown: "1 minute" },
    duration
  ),
  resend: setting(
    "REPORT_RESEND",
    "a job that was sent and neither runs nor ends is sent again after so long; it doubles up to 2 hours",
    aDuration,
    { value: Duration.minutes(10), shown: "10 minutes" },
    duration
  ),
  webhookTimeout: setting(
    "REPORT_WEBHOOK_TIMEOUT",
    "how long the receiver of a report has to answer",
    aDuration,
    { value: Duration.seconds(10), shown: "10 seconds" },
    duration
  ),
  webhookPrivate: setting(
    "REPORT_WEBHOOK_PRIVATE",
    "whether receivers may have private addresses",
    "yes or no",
    { value: false, shown: "no" },
    yesOrNo
  ),
  threads: setting(
    "REPORT_THREADS",
    "threads that draw reports",
    "a whole number from 1 to 64",
    { value: Math.max(1, cores - 1), shown: `${Math.max(1, cores - 1)}: one less than this machine has cores` },
    count(64)
  ),
  concurrency: setting<number | undefined>(
    "REPORT_CONCURRENCY",
    "jobs at a time, at most one for each thread",
    "a whole number from 1 to 64",
    unset("as many as threads"),
    count(64)
  ),
  visibility: setting<Duration.Duration | undefined>(
    "REPORT_VISIBILITY",
    "how long a received job stays hidden from other workers",
    aDuration,
    unset("the queue's own"),
    duration
  ),
  heartbeat: setting<Duration.Duration | undefined>(
    "REPORT_HEARTBEAT",
    "how often a running job is kept hidden",
    aDuration,
    unset("half of the visibility"),
    duration
  ),
  extendBy: setting<Duration.Duration | undefined>(
    "REPORT_EXTEND_BY",
    "for how long each heartbeat hides it, counted from the heartbeat",
    aDuration,
    unset("the visibility"),
    duration
  ),
  limit: setting<Duration.Duration | undefined>(
    "REPORT_LEASE_LIMIT",
    "a job that runs longer is stopped and comes again",
    aDuration,
    unset("12 hours, SQS's own"),
    duration
  ),
  redeliveryFrom: setting(
    "REPORT_REDELIVERY_FROM",
    "the pause after a job's first failure; it doubles with each",
    aDuration,
    { value: Duration.seconds(10), shown: "10 seconds" },
    duration
  ),
  redeliveryTo: setting(
    "REPORT_REDELIVERY_TO",
    "the longest pause",
    aDuration,
    { value: Duration.minutes(15), shown: "15 minutes" },
    duration
  ),
  waitTime: setting<Duration.Duration | undefined>(
    "REPORT_WAIT_TIME",
    "how long a receive waits for a job; a stop waits for its answer",
    aDuration,
    unset("20 seconds, the longest possible"),
    duration
  ),
  drain: setting(
    "REPORT_DRAIN",
    "on SIGTERM or Ctrl-C running jobs may go on for so long",
    aDuration,
    { value: Duration.seconds(30), shown: "30 seconds" },
    duration
  ),
  health: setting<ListenAddress | undefined>(
    "REPORT_HEALTH",
    "where to ask whether the worker lives and is ready: /health/live and /health/ready",
    "an address such as 0.0.0.0:8080, or a port of this machine",
    unset("nowhere"),
    listen
  ),
  page: setting<ListenAddress | undefined>(
    "REPORT_PAGE",
    "where the operations page is: a port of this machine, or an address, which then needs REPORT_PAGE_TOKENS",
    "8321, or an address such as 0.0.0.0:8321",
    unset("nowhere"),
    listen
  ),
  pageTokens: setting<ReadonlyArray<Token>>(
    "REPORT_PAGE_TOKENS",
    "who may use the page, and with which token; with :read at its end it may only look",
    "name:token,name:token:read with tokens of 20 to 500 ASCII characters",
    { value: [], shown: "none: everybody on this machine" },
    Tokens.parse,
    () => "not what can be used"
  ),
  pageHosts: setting<ReadonlyArray<string>>(
    "REPORT_PAGE_HOSTS",
    "names under which the page is asked for, beside localhost and addresses",
    "names with commas between",
    { value: [], shown: "none" },
    hostNames
  ),
  pageReadOnly: setting(
    "REPORT_PAGE_READ_ONLY",
    "whether the page only shows, whoever asks",
    "yes or no",
    { value: false, shown: "no" },
    yesOrNo
  ),
  logLevel: setting(
    "REPORT_LOG_LEVEL",
    "what is logged",
    "debug, info, warning or error",
    { value: LogLevel.Info, shown: "info" },
    (s): LogLevel.LogLevel | undefined => logLevels[s.toLowerCase() as keyof typeof logLevels]
  )
} satisfies Record<string, Setting<any>>

type Read = {
  readonly [K in keyof typeof table]: (typeof table)[K] extends Setting<infer A> ? A : never
}

/**
 * The settings as they are used: `concurrency`, `store` and `database` are decided, `undefined` durations are the library's to
 * decide.
 *
 * @since 0.1.0
 * @category models
 */
export interface Settings extends Omit<Read, "concurrency" | "store" | "databaseFile" | "databaseUrl"> {
  readonly concurrency: number
  readonly store: StoreAddress
  readonly database: DatabaseAddress
}

const faultsOf: (error: ConfigError.ConfigError) => ReadonlyArray<string> = (error) => {
  switch (error._op) {
    case "And":
    case "Or":
      return [...faultsOf(error.left), ...faultsOf(error.right)]
    default:
      return [error.message]
  }
}

const configs = Config.all(
  Object.fromEntries(Object.entries(table).map(([name, { config }]) => [name, config])) as {
    readonly [K in keyof typeof table]: (typeof table)[K]["config"]
  }
)

const keys = Object.values(table).map(({ key }) => key)

/** Names that are none of ours, and nearly one: a slip would leave the setting to its default without a word. */
const slips = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.flatMap((name) => {
    const meant = keys.includes(name) ? undefined : keys.find((key) => isSlipOf(name, key))
    return meant === undefined ? [] : [`${name} is no setting: is ${meant} meant?`]
  })

/**
 * Reads the environment (or whichever `ConfigProvider` is in place). Fails with all faults at once. `names` are those of the
 * environment, searched for misspelt ones.
 *
 * @since 0.1.0
 * @category constructors
 */
export const settingsIn = (names: ReadonlyArray<string>): Effect.Effect<Settings, InvalidSettings> =>
  Effect.gen(function* () {
    const misspelt = slips(names)
    const read = yield* Effect.mapError(
      configs,
      (error) => new InvalidSettings({ faults: [...misspelt, ...faultsOf(error)] })
    )
    const concurrency = read.concurrency ?? read.threads
    const faults: Array<string> = [...misspelt]
    if (concurrency > read.threads) {
      faults.push(
        `${table.concurrency.key} is ${concurrency} and ${table.threads.key} ${read.threads}: a job that waits for a ` +
          `thread would be hidden from workers that could draw it; raise the threads or lower the jobs`
      )
    }
    if (Duration.greaterThan(read.redeliveryFrom, read.redeliveryTo)) {
      faults.push(`${table.redeliveryFrom.key} is longer than ${table.redeliveryTo.key}`)
    }
    const slot = Duration.min(read.visibility ?? Duration.infinity, read.extendBy ?? Duration.infinity)
    if (read.heartbeat !== undefined && Duration.greaterThanOrEqualTo(read.heartbeat, slot)) {
      const of = read.visibility === slot ? table.visibility : table.extendBy
      faults.push(
        `${table.heartbeat.key} is ${Duration.format(read.heartbeat)} and ${of.key} ${Duration.format(slot)}: it must beat before ` +
          `that is over; half of it leaves two tries`
      )
    }
    if (read.page !== undefined && !isLoopback(read.page.host) && read.pageTokens.length === 0) {
      faults.push(
        `${table.page.key} is ${read.page.host}:${read.page.port}, which others reach: give ${table.pageTokens.key} too`
      )
    }
    const { databaseFile, databaseUrl, ...rest } = read
    if (databaseFile !== undefined && databaseUrl !== undefined) {
      faults.push(`${table.databaseFile.key} and ${table.databaseUrl.key} are both given: there is one database`)
    }
    if (faults.length > 0) return yield* new InvalidSettings({ faults })
    return {
      ...rest,
      concurrency,
      store: read.store ?? { _tag: "Folder", path: path.join(read.out, "artifacts") },
      database:
        databaseUrl === undefined
          ? { _tag: "SqliteFile", filename: databaseFile ?? path.join(read.out, "jobs.db") }
          : { _tag: "PostgreSQL", url: databaseUrl }
    }
  })

/**
 * The settings of this process.
 *
 * @since 0.1.0
 * @category constructors
 */
export const settings: Effect.Effect<Settings, InvalidSettings> = Effect.suspend(() =>
  settingsIn(Object.keys(process.env))
)

/**
 * The table for people: key, meaning, default.
 *
 * @since 0.1.0
 * @category rendering
 */
export const describe: string = Object.values(table)
  .map((s) => `  ${s.key.padEnd(24)}${s.about}\n${" ".repeat(26)}${s.expected}; default: ${s.otherwise}`)
  .join("\n")
