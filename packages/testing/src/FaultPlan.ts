/**
 * The narrow door through which faults come into a simulator: what a plan is told of a call, and what it decides. A
 * simulator calls `start` once and asks `decide` at each call. The plans themselves are made with `Fault`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Pipeable from "effect/Pipeable"

/**
 * The calls that a plan can meet, by their names in the API of SQS.
 *
 * @since 0.1.0
 * @category models
 */
export type FaultOperation =
  | "ReceiveMessage"
  | "DeleteMessage"
  | "DeleteMessageBatch"
  | "ChangeMessageVisibility"
  | "ChangeMessageVisibilityBatch"
  | "SendMessage"
  | "SendMessageBatch"
  | "GetQueueUrl"
  | "GetQueueAttributes"
  | (string & {})

/**
 * One entry of a batch; a single form has exactly one. What is not known, or not said by the operation, is `undefined`.
 *
 * @since 0.1.0
 * @category models
 */
export interface FaultEntry {
  readonly receiptHandle?: string | undefined
  /** the message that the handle belongs to, where the simulator knows it */
  readonly messageId?: string | undefined
  readonly body?: string | undefined
  readonly visibilityTimeoutSeconds?: number | undefined
}

/**
 * One call as it arrives, before anything is done.
 *
 * @since 0.1.0
 * @category models
 */
export interface FaultCall {
  readonly operation: FaultOperation
  readonly queueName: string
  /** the request as the door got it */
  readonly input: unknown
  readonly entries: ReadonlyArray<FaultEntry>
  /** epoch ms by the simulator's clock */
  readonly now: number
}

/**
 * A call as a plan sees it: counted, and with the time of the simulator's start.
 *
 * @since 0.1.0
 * @category models
 */
export interface CountedCall extends FaultCall {
  /** 1 for the first call of this operation on this queue since the simulator started */
  readonly n: number
  /** epoch ms */
  readonly startedAt: number
}

/**
 * An answer of SQS to a whole call.
 *
 * @since 0.1.0
 * @category models
 */
export interface FaultError {
  /** as `RequestThrottled` or `AWS.SimpleQueueService.NonExistentQueue` */
  readonly code: string
  readonly detail: string
  /** unset: what SQS answers with this code */
  readonly httpStatus?: number | undefined
}

/**
 * An answer of SQS to one entry.
 *
 * @since 0.1.0
 * @category models
 */
export interface FaultEntryError {
  readonly code: string
  readonly detail: string
  readonly senderFault: boolean
}

/**
 * What is done to one call; an empty decision does nothing. In this order: `perform`; wait `delayBeforeMs`; then one of
 * `reset`, `hang: "before"` and `error` ends the call with no effect; else the effect, except on the entries in
 * `entryErrors`; wait `delayAfterMs`; then `loseReply` or `hang: "after"` keep the answer from the caller. `around`
 * is this order as code.
 *
 * @since 0.1.0
 * @category models
 */
export interface FaultDecision {
  /** run first: moves a clock, stops a process, releases a latch */
  readonly perform?: Effect.Effect<void> | undefined
  readonly delayBeforeMs?: number | undefined
  /** the connection breaks and nothing has happened */
  readonly reset?: boolean | undefined
  /** no answer ever comes; the effect has happened (`after`) or not (`before`) */
  readonly hang?: "before" | "after" | undefined
  readonly error?: FaultError | undefined
  /** by position; these entries have no effect */
  readonly entryErrors?: ReadonlyMap<number, FaultEntryError> | undefined
  /** receive: so many of the messages that are hidden are handed out all the same, by a new receive each */
  readonly duplicate?: number | undefined
  /** receive: the order in which the messages of the answer are given */
  readonly reorder?: (<A>(messages: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined
  readonly delayAfterMs?: number | undefined
  /** the connection breaks after the effect */
  readonly loseReply?: boolean | undefined
}

/**
 * A plan that a simulator has started: `decide` is asked once for each call, in the order of arrival.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunningFaults {
  readonly decide: (call: FaultCall) => FaultDecision
}

/**
 * A description of faults. `toString` gives the code that makes it, seeds included.
 *
 * @since 0.1.0
 * @category models
 */
export interface FaultPlan extends Pipeable.Pipeable {
  /** the counters of one simulator; two starts share nothing */
  readonly begin: () => (call: CountedCall) => FaultDecision
  readonly toString: () => string
}

/**
 * Starts a plan. A simulator does so once, with its own start in epoch ms, and asks the result at each call.
 *
 * @since 0.1.0
 * @category running
 */
export const start = (plan: FaultPlan, startedAt: number): RunningFaults => {
  const decide = plan.begin()
  const counts = new Map<string, number>()
  return {
    decide: (call) => {
      const key = `${call.operation} ${call.queueName}`
      const n = (counts.get(key) ?? 0) + 1
      counts.set(key, n)
      return decide({ ...call, n, startedAt })
    }
  }
}

/**
 * Runs a call under a decision, in the order that `FaultDecision` tells. `onError` makes the answer of a failed call,
 * `onReset` what a caller sees when the connection breaks. `entryErrors`, `duplicate` and `reorder` are left to `effect`.
 *
 * @since 0.1.0
 * @category running
 */
export const around = <A, E, R>(
  decision: FaultDecision,
  call: {
    readonly effect: Effect.Effect<A, E, R>
    readonly onError: (error: FaultError) => Effect.Effect<A, E, R>
    readonly onReset: Effect.Effect<A, E, R>
  }
): Effect.Effect<A, E, R> => {
  if (decision === nothing) return call.effect
  const wait = (ms: number | undefined) => (ms !== undefined && ms > 0 ? Effect.sleep(ms) : Effect.void)
  return Effect.gen(function* () {
    if (decision.perform !== undefined) yield* decision.perform
    yield* wait(decision.delayBeforeMs)
    if (decision.reset === true) return yield* call.onReset
    if (decision.hang === "before") return yield* Effect.never
    if (decision.error !== undefined) return yield* call.onError(decision.error)
    const exit = yield* Effect.exit(call.effect)
    yield* wait(decision.delayAfterMs)
    if (decision.hang === "after") return yield* Effect.never
    if (decision.loseReply === true) return yield* call.onReset
    return yield* exit
  })
}

/**
 * The decision that does nothing.
 *
 * @since 0.1.0
 * @category decisions
 */
export const nothing: FaultDecision = {}

/**
 * Whether a decision leaves its call alone.
 *
 * @since 0.1.0
 * @category decisions
 */
export const isNothing = (d: FaultDecision): boolean => d === nothing || Object.values(d).every((v) => v === undefined)

const add = (a: number | undefined, b: number | undefined) => (a === undefined ? b : b === undefined ? a : a + b)

/**
 * Both decisions on one call. Delays add up; of two ends that cannot both be, the first holds.
 *
 * @since 0.1.0
 * @category decisions
 */
export const merge = (a: FaultDecision, b: FaultDecision): FaultDecision => {
  if (a === nothing) return b
  if (b === nothing) return a
  const first = a.perform
  const second = b.perform
  return {
    perform: first !== undefined && second !== undefined ? Effect.andThen(first, second) : (first ?? second),
    delayBeforeMs: add(a.delayBeforeMs, b.delayBeforeMs),
    reset: a.reset ?? b.reset,
    hang: a.hang ?? b.hang,
    error: a.error ?? b.error,
    entryErrors:
      a.entryErrors !== undefined && b.entryErrors !== undefined
        ? new Map([...b.entryErrors, ...a.entryErrors])
        : (a.entryErrors ?? b.entryErrors),
    duplicate: add(a.duplicate, b.duplicate),
    reorder: a.reorder ?? b.reorder,
    delayAfterMs: add(a.delayAfterMs, b.delayAfterMs),
    loseReply: a.loseReply ?? b.loseReply
  }
}

/**
 * A decision in a few words, as `RequestThrottled` or `delay 200 ms, reply lost`; empty for none.
 *
 * @since 0.1.0
 * @category decisions
 */
export const describe = (d: FaultDecision): string => {
  const words: Array<string> = []
  if (d.perform !== undefined) words.push("perform")
  if (d.delayBeforeMs !== undefined) words.push(`delay ${d.delayBeforeMs} ms`)
  if (d.reset === true) words.push("reset")
  if (d.hang === "before") words.push("hang")
  if (d.error !== undefined) words.push(d.error.code)
  for (const [index, e] of d.entryErrors ?? []) words.push(`entry ${index} ${e.code}`)
  if (d.duplicate !== undefined) words.push(`duplicate ${d.duplicate}`)
  if (d.reorder !== undefined) words.push("reorder")
  if (d.delayAfterMs !== undefined) words.push(`late by ${d.delayAfterMs} ms`)
  if (d.hang === "after") words.push("hang after the effect")
  if (d.loseReply === true) words.push("reply lost")
  return words.join(", ")
}

class Plan extends Pipeable.Class() implements FaultPlan {
  constructor(
    readonly code: string,
    readonly begin: FaultPlan["begin"]
  ) {
    super()
  }
  override toString() {
    return this.code
  }
}

/**
 * A plan from a function that makes the counters of one simulator. `code` is what `toString` gives.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (code: string, begin: FaultPlan["begin"]): FaultPlan => new Plan(code, begin)
