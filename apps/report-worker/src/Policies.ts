/**
 * How long each step of a job may take, what is tried again on the spot, and what becomes of a job by the way it failed.
 * This file is the table; `report-worker worker --policies` prints it.
 *
 * @since 0.1.0
 */
import * as Redelivery from "@effect-sqs/core/Redelivery"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { hasProperty } from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import type { StepName } from "./jobs/JobRow.js"
import { StepTimedOut } from "./ReportError.js"

/**
 * One step: what one try may take, and which failures are tried again on the spot, how often and after what pause, which
 * doubles.
 *
 * @since 0.1.0
 * @category models
 */
export interface StepPolicy {
  readonly timeout: Duration.DurationInput
  readonly retries: number
  readonly pause: Duration.DurationInput
  readonly on: ReadonlyArray<string>
}

/**
 * The steps in their order; a pause doubles with each retry. The timeout of `deliver` is REPORT_WEBHOOK_TIMEOUT, and what is tried again there the ledger decides.
 *
 * @since 0.1.0
 * @category policies
 */
export const steps = {
  query: { timeout: "5 minutes", retries: 2, pause: "1 second", on: ["SourceUnavailable", "StoreFailed"] },
  render: { timeout: "2 hours", retries: 1, pause: "1 second", on: ["RenderThreadLost"] },
  store: { timeout: "10 minutes", retries: 3, pause: "1 second", on: ["StoreFailed"] },
  complete: { timeout: "1 minute", retries: 2, pause: "1 second", on: ["JobStoreFailed", "LedgerStoreError"] }
} as const satisfies Record<Exclude<StepName, "deliver">, StepPolicy>

/**
 * The database of jobs, wherever a job needs it: a restart of it is over in seconds, and each receive that fails is one less.
 *
 * @since 0.1.0
 * @category policies
 */
export const database = { retries: 4, pause: "200 millis", on: ["JobStoreFailed"] } as const satisfies Omit<
  StepPolicy,
  "timeout"
>

/**
 * One kind of failure.
 *
 * - `ledger`: whether the job may be run again (`retry`) or never (`reject`)
 * - `message`: it comes `again` after a pause that doubles, and at its last receive goes to the dead-letter queue with the
 *   reason; it goes there at once (`dead-letter`); it comes again when another run's claim ends (`later`); or it is deleted
 *
 * @since 0.1.0
 * @category models
 */
export interface FailurePolicy {
  readonly ledger: "retry" | "reject"
  readonly message: "again" | "dead-letter" | "later" | "delete"
  readonly why: string
}

const passing = (why: string): FailurePolicy => ({ ledger: "retry", message: "again", why })
const forGood = (why: string): FailurePolicy => ({ ledger: "reject", message: "dead-letter", why })
const elsewhere = (why: string): FailurePolicy => ({ ledger: "retry", message: "later", why })

/**
 * The failures by their tags. What is not here, a bug, comes again too.
 *
 * @since 0.1.0
 * @category policies
 */
export const failures = {
  UnknownAirport: forGood("no second try can help: the job asks for what is not there"),
  NoFlights: forGood("no second try can help: the job asks for what is not there"),
  UnknownState: forGood("no second try can help: the job asks for what is not there"),
  NoStrikes: forGood("no second try can help: the job asks for what is not there"),
  NoRoutes: forGood("no second try can help: the job asks for what is not there"),
  JobConflict: forGood("its id names another job, which is not touched"),
  WebhookRefused: forGood("the receiver does not want it"),

  SourceUnavailable: passing("the data may be back later"),
  StoreFailed: passing("somebody makes room, or the store is back"),
  ArtifactNotFound: passing("the store may not show it yet"),
  RenderThreadLost: passing("another thread may have more luck; one that always dies ends with the reason"),
  StepTimedOut: passing("the machine may be less busy later"),
  JobStoreFailed: passing("the database may be back later"),
  WebhookUnreachable: passing("the receiver may be back later"),
  WebhookFailed: passing("the receiver knows the key: telling it again does no harm"),
  LedgerStoreError: passing("the database may be back later"),
  LedgerValueInvalid: passing("a newer version may know what to do"),
  LedgerClaimTooShort: passing("the settings can be set right"),
  LedgerCallTimeout: passing("the receiver may answer faster later"),

  LedgerBusy: elsewhere("another run has it"),
  LedgerClaimLost: elsewhere("another run may have it"),
  LedgerNotBefore: elsewhere("it is not time yet"),
  LedgerUnknown: elsewhere("a verdict is waited for"),
  LedgerReview: elsewhere("a person's verdict is waited for"),
  LedgerMismatch: forGood("its id names another job, which is not touched"),
  LedgerRejected: forGood("an earlier run has found that it can never succeed"),

  LedgerCancelled: { ledger: "retry", message: "delete", why: "nobody wants it any more" },
  JobCancelled: { ledger: "retry", message: "delete", why: "nobody wants it any more" }
} as const satisfies Record<string, FailurePolicy>

/**
 * What is sent by the outbox. `REPORT_RESEND` is the first pause.
 *
 * @since 0.1.0
 * @category policies
 */
export const outbox = {
  /** how often due jobs are looked for */
  every: Duration.seconds(1),
  /** the pause after the database or SQS failed */
  afterFailure: Duration.seconds(5),
  /** how long one process has to send what it took */
  hold: Duration.seconds(30),
  /** jobs at a time, one call of SQS: what was sent when a worker dies, and not yet marked, is sent again */
  batch: 10,
  /** so often a job is sent without coming to an end; then it is given up */
  maxSends: 10,
  longestPause: Duration.hours(2)
} as const

/**
 * How receivers are asked about deliveries that nobody saw end.
 *
 * @since 0.1.0
 * @category policies
 */
export const reconciling = {
  every: Duration.seconds(10),
  /** rows looked at at a time */
  rows: 1000
} as const

/**
 * The names under which the ledger keeps reports and deliveries.
 *
 * @since 0.1.0
 * @category constants
 */
export const namespaces = { reports: "reports", deliveries: "deliveries" } as const

/** of the failure in the cause, which a defect never is */
const policyOf = (cause: Cause.Cause<unknown>): FailurePolicy => {
  const error = Option.getOrUndefined(Cause.failureOption(cause))
  const tag = hasProperty(error, "_tag") && typeof error._tag === "string" ? error._tag : ""
  return Object.hasOwn(failures, tag)
    ? failures[tag as keyof typeof failures]
    : passing("a bug, perhaps mended by then")
}

/**
 * What a failure means for the ledger.
 *
 * @since 0.1.0
 * @category policies
 */
export const failing = (error: unknown): Ledger.Failing =>
  policyOf(Cause.fail(error)).ledger === "reject" ? Ledger.reject : Ledger.retry()

/**
 * Whether a failure says something of the job that its row stands for: not when another run has it, and not when the id
 * names another job.
 *
 * @since 0.1.0
 * @category policies
 */
export const concernsRow = (cause: Cause.Cause<unknown>): boolean => {
  const error = Option.getOrUndefined(Cause.failureOption(cause))
  const another = hasProperty(error, "_tag") && (error._tag === "JobConflict" || error._tag === "LedgerMismatch")
  return !another && policyOf(cause).message !== "later"
}

/**
 * What a failure means for the message, as the table says.
 *
 * @since 0.1.0
 * @category policies
 */
export const redelivery = (from: Duration.DurationInput, to: Duration.DurationInput): Redelivery.Redelivery => {
  const again = Redelivery.schedule(
    Schedule.exponential(from).pipe(
      Schedule.union(Schedule.spaced(to)),
      // Jobs that failed together do not come back together.
      Schedule.jitteredWith({ min: 0.5, max: 1 })
    ),
    { whenOver: Redelivery.deadLetter }
  ).pipe(Redelivery.lastAttempt(Redelivery.deadLetter))
  const policies: Record<FailurePolicy["message"], Redelivery.Redelivery> = {
    again,
    "dead-letter": Redelivery.deadLetter,
    later: again.pipe(Ledger.redelivery) as Redelivery.Redelivery,
    delete: Redelivery.delete
  }
  return Redelivery.make((failure) => policies[policyOf(failure.cause).message].decide(failure))
}

const repeated =
  (policy: Omit<StepPolicy, "timeout">) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.retry(self, {
      schedule: Schedule.exponential(policy.pause).pipe(
        Schedule.jitteredWith({ min: 0.5, max: 1 }),
        Schedule.intersect(Schedule.recurs(policy.retries))
      ),
      while: (e) => hasProperty(e, "_tag") && policy.on.some((tag) => tag === e._tag)
    })

/**
 * A step under its policy.
 *
 * @since 0.1.0
 * @category combinators
 */
export const bounded =
  (name: keyof typeof steps) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | StepTimedOut, R> => {
    const policy: StepPolicy = steps[name]
    const seconds = Duration.toSeconds(policy.timeout)
    return self.pipe(
      Effect.timeoutFail({ duration: policy.timeout, onTimeout: () => new StepTimedOut({ step: name, seconds }) }),
      repeated(policy)
    )
  }

/**
 * What a job asks of the database of jobs, under its policy.
 *
 * @since 0.1.0
 * @category combinators
 */
export const patiently: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = repeated(database)

const rows = (all: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = all[0]!.map((_, c) => Math.max(...all.map((row) => row[c]!.length)))
  return all
    .map(
      (row) =>
        `  ${row
          .map((cell, c) => cell.padEnd(widths[c]!))
          .join("  ")
          .trimEnd()}`
    )
    .join("\n")
}

/**
 * The tables for people.
 *
 * @since 0.1.0
 * @category rendering
 */
export const describe: string = [
  "Steps: a try may take so long, and is repeated on the spot after these failures",
  "",
  rows([
    ["step", "timeout", "retries", "pause", "on"],
    ...Object.entries<StepPolicy>(steps).map(([name, s]) => [
      name,
      Duration.format(s.timeout),
      String(s.retries),
      Duration.format(s.pause),
      s.on.join(", ")
    ]),
    ["deliver", "REPORT_WEBHOOK_TIMEOUT", "0", "", ""],
    ["(database)", "", String(database.retries), Duration.format(database.pause), database.on.join(", ")]
  ]),
  "",
  "Failures: what they mean for the job in the ledger, and for its message",
  "",
  rows([
    ["failure", "ledger", "message", "why"],
    ...Object.entries<FailurePolicy>(failures).map(([tag, f]) => [tag, f.ledger, f.message, f.why])
  ]),
  "",
  "  again: after REPORT_REDELIVERY_FROM, doubling up to REPORT_REDELIVERY_TO; at its last receive to the dead-letter",
  "  queue, with the reason. later: when the claim of the other run ends. A bug comes again too.",
  "",
  "Outbox: what was sent and neither runs nor ends is sent again",
  "",
  rows([
    ["first pause", "longest pause", "sends at most"],
    ["REPORT_RESEND", Duration.format(outbox.longestPause), String(outbox.maxSends)]
  ])
].join("\n")
