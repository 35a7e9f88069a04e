/**
 * What must always hold of a consumer, checked on the journal of any run of it: yours as well as ours. Wrap the handler with
 * `Tracking.tracked`, so that the journal knows of its runs.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { Expectations } from "./Expectations.js"
import type { Check, Finding } from "./internal/invariants/facts.js"
import { groupOrder } from "./internal/invariants/groups.js"
import * as lease from "./internal/invariants/lease.js"
import * as settlement from "./internal/invariants/settlement.js"
import * as slots from "./internal/invariants/slots.js"
import type { JournalEntry } from "./Journal.js"
import { type Delivery, type JournalView, read } from "./JournalQuery.js"
import * as Timeline from "./Timeline.js"

export type * from "./Expectations.js"

/**
 * One thing that must always hold. `section` is the item in the design's list of what must always hold.
 *
 * @since 0.1.0
 * @category models
 */
export interface Invariant {
  readonly name: string
  readonly section: number
  readonly says: string
  readonly check: (view: JournalView, expectations: Expectations) => ReadonlyArray<Violation>
}

/**
 * Where an invariant did not hold.
 *
 * @since 0.1.0
 * @category models
 */
export interface Violation extends Finding {
  readonly invariant: string
  readonly section: number
}

const invariant = (section: number, name: string, says: string, check: Check): Invariant => ({
  name,
  section,
  says,
  check: (view, expectations) => {
    const { process, queue } = expectations
    const isMeant = (d: Delivery) =>
      (queue === undefined || d.queue === queue) && (process === undefined || d.process === process)
    const deliveries = view.deliveries.filter(isMeant).map(asTold(expectations))
    const end = view.entries.at(-1)?.at ?? 0
    return check({ view, expectations, deliveries, end }).map((found) => ({ invariant: name, section, ...found }))
  }
})

/** Of what never ran, what was asked last settled it, if the consumer says that it is settled. */
const asTold =
  ({ isSettled }: Expectations) =>
  (delivery: Delivery): Delivery => {
    const { asks, receiptHandle, runs } = delivery
    const last = asks.at(-1)
    if (runs.length > 0 || last === undefined || asks.some((ask) => ask.kind !== "beat")) return delivery
    return isSettled?.(receiptHandle) === true
      ? { ...delivery, asks: [...asks.slice(0, -1), { ...last, kind: "release" }] }
      : delivery
  }

/**
 * All invariants that a journal can show.
 *
 * @since 0.1.0
 * @category invariants
 */
export const all: ReadonlyArray<Invariant> = [
  invariant(
    1,
    "deletedOnlyAfterSuccess",
    "a message is deleted only after a run of it succeeded, its dead-letter copy was accepted, or the policy said so",
    settlement.deletedOnlyAfterSuccess
  ),
  invariant(1, "settledAfterRun", "a delivery is settled when its handler has ended", settlement.settledAfterRun),
  invariant(
    2,
    "noBeatAfterSettlement",
    "no beat is on the wire, or sent, once the delivery's settlement is sent",
    lease.noBeatAfterSettlement
  ),
  invariant(2, "oneBeatAtATime", "never two beats of one delivery at a time", lease.oneBeatAtATime),
  invariant(3, "settledOnce", "a delivery is settled with its own handle, at most once", settlement.settledOnce),
  invariant(
    5,
    "withinTwelveHours",
    "beats and releases of a delivery stay inside 43,200 s from its receive",
    lease.withinTwelveHours
  ),
  invariant(6, "endsWithLease", "a run ends before or at the end of its lease", lease.endsWithLease),
  invariant(
    6,
    "oneRunAtATime",
    "runs of one message do not overlap, unless SQS handed it out while it was hidden",
    lease.oneRunAtATime
  ),
  invariant(
    6,
    "noBeatAfterLoss",
    "beating ends when SQS says that the lease is lost, and nothing is given back then",
    settlement.noBeatAfterLoss
  ),
  invariant(7, "runningWithinConcurrency", "handlers running ≤ concurrency", slots.runningWithinConcurrency),
  invariant(7, "inHandWithinBounds", "deliveries that wait or run ≤ concurrency + prefetch", slots.inHandWithinBounds),
  invariant(7, "startsUnderLease", "what waits is leased: no run starts without a lease", lease.startsUnderLease),
  invariant(
    9,
    "retriedByClass",
    "a settlement that failed is tried again if that can help, after a pause, and not given up early",
    settlement.retriedByClass
  ),
  invariant(
    10,
    "groupOrder",
    "inside a group one at a time, in order, each after the one before is confirmed",
    groupOrder
  ),
  invariant(
    12,
    "nothingStranded",
    "after a complete stop nothing that was received is left over",
    settlement.nothingStranded
  ),
  invariant(
    12,
    "stopRunsNothing",
    "after the stop no run starts, and what still arrives is given back at once",
    slots.stopRunsNothing
  ),
  invariant(
    13,
    "neverRanNeverDead",
    "no message that never ran burns its receives into the dead-letter queue",
    slots.neverRanNeverDead
  )
]

/**
 * All violations in a journal; none for a good consumer.
 *
 * @since 0.1.0
 * @category checking
 */
export const check = (
  journal: JournalView | ReadonlyArray<JournalEntry>,
  expectations: Expectations = {}
): ReadonlyArray<Violation> => {
  const view = viewOf(journal)
  return all.flatMap((i) => i.check(view, expectations))
}

const isEntries = (journal: JournalView | ReadonlyArray<JournalEntry>): journal is ReadonlyArray<JournalEntry> =>
  Array.isArray(journal)

const viewOf = (journal: JournalView | ReadonlyArray<JournalEntry>): JournalView =>
  isEntries(journal) ? read(journal) : journal

/** Timelines are long: a failure shows those of so many messages. */
const SHOWN = 3

/**
 * Violations as text: each in a line, then the lives of the first few messages that they concern.
 *
 * @since 0.1.0
 * @category rendering
 */
export const explain = (view: JournalView, violations: ReadonlyArray<Violation>): string => {
  const lines = violations
    .slice(0, 20)
    .map((v) => `${v.invariant} (§5.${v.section}) at ${new Date(v.at).toISOString()}: ${v.messageId ?? ""} ${v.text}`)
  const more = violations.length > 20 ? [`… and ${violations.length - 20} more`] : []
  const ids = [...new Set(violations.flatMap((v) => v.messageId ?? []))].slice(0, SHOWN)
  const lives = ids.flatMap((id) => view.messages.get(id) ?? []).map((life) => Timeline.text(life))
  return [...lines, ...more, ...lives].join("\n\n")
}

/**
 * Some invariant did not hold. The message has the violations and the timelines of the messages concerned.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvariantsBroken extends Schema.TaggedError<InvariantsBroken>()("InvariantsBroken", {
  invariants: Schema.Array(Schema.String),
  context: Schema.optional(Schema.String),
  explanation: Schema.String
}) {
  override get message() {
    const context = this.context === undefined ? "" : ` (${this.context})`
    return `${this.invariants.join(", ")} broken${context}\n\n${this.explanation}`
  }
}

/**
 * Throws `InvariantsBroken` if a journal shows any violation.
 *
 * @since 0.1.0
 * @category checking
 * @example
 * import { Invariants, VirtualSqs } from "@effect-sqs/testing"
 * import { Effect } from "effect"
 *
 * // at the end of a test, after the consumer has stopped
 * export const verify = Effect.map(VirtualSqs.VirtualSqs, ({ journal }) =>
 *   Invariants.assertAll(journal.entries, { queue: "jobs", concurrency: 10, drained: true })
 * )
 */
export const assertAll = (
  journal: JournalView | ReadonlyArray<JournalEntry>,
  expectations: Expectations = {}
): void => {
  const view = viewOf(journal)
  const violations = check(view, expectations)
  if (violations.length === 0) return
  throw new InvariantsBroken({
    invariants: [...new Set(violations.map((v) => v.invariant))],
    context: expectations.context,
    explanation: explain(view, violations)
  })
}
