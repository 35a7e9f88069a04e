/**
 * The orderly stop and its report.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Subject } from "./Delivery.js"
import type { Settled } from "./Settlement.js"

/**
 * What became of one delivery that was in hand when the stop began, or that the open receives still brought.
 *
 * - `settled`: its handler ended by itself, or its body was none, and SQS confirmed the settlement.
 * - `released`: it had not started and is visible to others again.
 * - `interrupted`: its handler was cut at the deadline and the message is visible to others again; or the policy of its
 *   failure was, and the message comes again when its visibility ends.
 * - `lost`: its lease was lost.
 * - `not confirmed`: SQS did not confirm the settlement: the message comes again when its visibility ends.
 * - `abandoned`: its handler could not be interrupted; it still ran when the drain ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface DrainedDelivery extends Subject {
  readonly became: "settled" | "released" | "interrupted" | "lost" | "not confirmed" | "abandoned"
  readonly settled: Settled | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface DrainReport {
  readonly queue: string
  /** every handler ended by itself, and SQS confirmed every settlement */
  readonly complete: boolean
  readonly took: Duration.Duration
  readonly deliveries: ReadonlyArray<DrainedDelivery>
}

/**
 * The stop was not clean: the consumer dies with this, so that the process ends with an exit code other than 0.
 *
 * @since 0.1.0
 * @category errors
 */
export class DrainIncomplete extends Schema.TaggedError<DrainIncomplete>()("DrainIncomplete", {
  queue: Schema.String,
  interrupted: Schema.Number,
  lost: Schema.Number,
  notConfirmed: Schema.Number,
  abandoned: Schema.Number
}) {
  override get message() {
    const parts = [
      [this.interrupted, "interrupted at the deadline"],
      [this.abandoned, "abandoned: could not be interrupted"],
      [this.lost, "with a lost lease"],
      [this.notConfirmed, "whose settlement SQS did not confirm"]
    ] as const
    const what = parts.flatMap(([n, text]) => (n > 0 ? [`${n} ${text}`] : []))
    return `The drain of ${this.queue} was not complete: ${what.join(", ")}. These messages come again.`
  }
}

/**
 * What the drain asks of the consumer that it stops.
 *
 * @internal
 */
export interface Drainable {
  readonly queue: string
  readonly now: () => number
  /** ask for no more */
  readonly stopAsking: Effect.Effect<void>
  /** completes when the open receives have answered */
  readonly receivesAnswered: Effect.Effect<void>
  /**
   * gives the open receives up, and completes when they have ended; a message that one of them was about to bring stays
   * hidden for its visibility
   */
  readonly abortReceives: Effect.Effect<void>
  /** gives back what has not started */
  readonly releaseWaiting: Effect.Effect<void>
  /** completes when no handler runs and no policy decides */
  readonly handlersEnded: Effect.Effect<void>
  /** interrupts the handlers and policies that run, all at once, and does not wait */
  readonly interruptHandlers: Effect.Effect<void>
  /** sends what waits and completes when every settlement has its answer */
  readonly settlementsAnswered: Effect.Effect<void>
  /** what became of every delivery since the stop began */
  readonly report: () => ReadonlyArray<DrainedDelivery>
}

/**
 * @internal
 */
export interface DrainSettings {
  /** handlers may run on for so long */
  readonly timeoutMs: number
  /** and after their interruption may clean up for so long */
  readonly interruptTimeoutMs: number
  readonly openReceives: "await" | "abort"
}

/** Whether `effect` completed within `ms`. */
const within = (effect: Effect.Effect<void>, ms: number): Effect.Effect<boolean> =>
  Effect.interruptible(effect).pipe(
    Effect.as(true),
    Effect.timeoutTo({ duration: Math.max(0, ms), onTimeout: () => false, onSuccess: (b) => b })
  )

/**
 * Stops a consumer: asks for no more, lets the open receives answer, gives back what has not started, lets handlers run
 * on until the deadline, interrupts the rest in parallel, flushes the settlements, and tells what became of each
 * delivery.
 *
 * @internal
 */
export const drain = (target: Drainable, settings: DrainSettings): Effect.Effect<DrainReport> =>
  Effect.gen(function* () {
    const startedAt = target.now()
    const deadline = startedAt + settings.timeoutMs
    const left = () => deadline - target.now()
    yield* target.stopAsking
    const answered = settings.openReceives === "await" && (yield* within(target.receivesAnswered, left()))
    // a port may hold on to a receive that was given up
    if (!answered) yield* within(target.abortReceives, settings.interruptTimeoutMs)
    // nothing is released before: our own receive could take it straight back
    yield* target.releaseWaiting
    if (!(yield* within(target.handlersEnded, left()))) {
      yield* target.interruptHandlers
      yield* within(target.handlersEnded, settings.interruptTimeoutMs)
    }
    // retries of settlements may go on for a lease's length: a stop may not
    yield* within(target.settlementsAnswered, Math.max(0, left()) + settings.interruptTimeoutMs)
    const deliveries = target.report()
    return {
      queue: target.queue,
      complete: deliveries.every((d) => d.became === "settled" || d.became === "released"),
      took: Duration.millis(Math.round(target.now() - startedAt)),
      deliveries
    }
  }).pipe(Effect.uninterruptible)

/**
 * The error for a report that is not complete.
 *
 * @since 0.1.0
 * @category constructors
 */
export const incomplete = (report: DrainReport): DrainIncomplete => {
  const count = (became: DrainedDelivery["became"]) => report.deliveries.filter((d) => d.became === became).length
  return new DrainIncomplete({
    queue: report.queue,
    interrupted: count("interrupted"),
    lost: count("lost"),
    notConfirmed: count("not confirmed"),
    abandoned: count("abandoned")
  })
}

/**
 * A report for people, one line per delivery.
 *
 * @since 0.1.0
 * @category rendering
 */
export const render = (report: DrainReport): string => {
  const n = report.deliveries.length
  const what = n === 0 ? "nothing was in hand" : n === 1 ? "1 delivery" : `${n} deliveries`
  return [
    `${report.queue}: ${report.complete ? "drained" : "drain not complete"} in ${Duration.format(report.took)}, ${what}`,
    ...report.deliveries.map(
      (d) =>
        `  ${d.messageId} (receive ${d.receiveCount}): ${d.became}${d.settled?.problem === undefined ? "" : ` — ${d.settled.problem.message}`}`
    )
  ].join("\n")
}
