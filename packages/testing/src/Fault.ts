/**
 * What goes wrong on the way to SQS, as values: a `FaultPlan` says for each call whether and how it fails. Plans are
 * made of leaves (`error`, `latency`, `hang`, …), restricted (`on`, `times`, `when`, `during`, `random`) and put
 * together (`all`, `script`). A plan holds no state: each simulator that starts one counts for itself, and what is drawn
 * is drawn from the seed, the operation, the queue and the number of the call. So a seed replays exactly.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import {
  type CountedCall,
  type FaultDecision,
  type FaultEntry,
  type FaultEntryError,
  type FaultOperation,
  type FaultPlan,
  isNothing,
  make,
  merge,
  nothing
} from "./FaultPlan.js"
import { draw, shuffle } from "./internal/draw.js"

/**
 * What random faults are drawn from.
 *
 * @since 0.1.0
 * @category models
 */
export type Seed = number | string

const leaf = (code: string, decide: (call: CountedCall) => FaultDecision): FaultPlan => make(code, () => decide)

const constant = (code: string, decision: FaultDecision): FaultPlan => leaf(code, () => decision)

const show = (value: unknown): string => JSON.stringify(value) ?? String(value)
const showDuration = (d: Duration.DurationInput): string => show(Duration.format(d))

/**
 * Nothing goes wrong.
 *
 * @since 0.1.0
 * @category leaves
 */
export const none: FaultPlan = constant("Fault.none", nothing)

/**
 * SQS answers the call with an error and does nothing.
 *
 * @since 0.1.0
 * @category leaves
 */
export const error = (code: string, options?: { readonly detail?: string; readonly httpStatus?: number }): FaultPlan =>
  constant(`Fault.error(${[code, ...(options === undefined ? [] : [options])].map(show).join(", ")})`, {
    error: { code, detail: options?.detail ?? `${code} by plan`, httpStatus: options?.httpStatus }
  })

/**
 * The connection breaks before anything has happened.
 *
 * @since 0.1.0
 * @category leaves
 */
export const reset: FaultPlan = constant("Fault.reset", { reset: true })

/**
 * The call has its effect, and the connection breaks before the answer.
 *
 * @since 0.1.0
 * @category leaves
 */
export const loseReply: FaultPlan = constant("Fault.loseReply", { loseReply: true })

/**
 * No answer ever comes, and nothing has happened.
 *
 * @since 0.1.0
 * @category leaves
 */
export const hang: FaultPlan = constant("Fault.hang", { hang: "before" })

/**
 * No answer ever comes, and the call has had its effect.
 *
 * @since 0.1.0
 * @category leaves
 */
export const hangAfter: FaultPlan = constant("Fault.hangAfter", { hang: "after" })

/**
 * The call takes longer: before its effect, or with `after: true` between effect and answer.
 *
 * @since 0.1.0
 * @category leaves
 */
export const latency = (duration: Duration.DurationInput, options?: { readonly after?: boolean }): FaultPlan => {
  const ms = Duration.toMillis(duration)
  return constant(
    `Fault.latency(${showDuration(duration)}${options?.after === true ? ", { after: true }" : ""})`,
    options?.after === true ? { delayAfterMs: ms } : { delayBeforeMs: ms }
  )
}

/**
 * The call takes longer by a whole number of milliseconds between `min` and `max`, drawn from the seed.
 *
 * @since 0.1.0
 * @category leaves
 */
export const latencyBetween = (
  seed: Seed,
  min: Duration.DurationInput,
  max: Duration.DurationInput,
  options?: { readonly after?: boolean }
): FaultPlan => {
  const from = Duration.toMillis(min)
  const span = Duration.toMillis(max) - from
  const tail = options?.after === true ? ", { after: true }" : ""
  return leaf(`Fault.latencyBetween(${show(seed)}, ${showDuration(min)}, ${showDuration(max)}${tail})`, (call) => {
    const ms = from + Math.round(span * draw(seed, "latency", call.operation, call.queueName, call.n))
    return options?.after === true ? { delayAfterMs: ms } : { delayBeforeMs: ms }
  })
}

/**
 * The entries that `pick` names are answered with an error and have no effect; the others go through. It acts on the
 * calls in which at least one entry is picked. `senderFault` is `false` unless said.
 *
 * @since 0.1.0
 * @category leaves
 */
export const entries = (
  pick: (entry: FaultEntry, index: number, call: CountedCall) => boolean,
  code: string,
  options?: { readonly detail?: string; readonly senderFault?: boolean }
): FaultPlan =>
  leaf(
    `Fault.entries(${pick}, ${[code, ...(options === undefined ? [] : [options])].map(show).join(", ")})`,
    (call) => {
      const errors = new Map<number, FaultEntryError>()
      call.entries.forEach((entry, index) => {
        if (pick(entry, index, call)) {
          const detail = options?.detail ?? `${code} by plan`
          errors.set(index, { code, detail, senderFault: options?.senderFault ?? false })
        }
      })
      return errors.size === 0 ? nothing : { entryErrors: errors }
    }
  )

/**
 * Each entry of a batch fails with a probability, drawn from the seed.
 *
 * @since 0.1.0
 * @category leaves
 */
export const randomEntries = (
  seed: Seed,
  probability: number,
  code: string,
  options?: { readonly detail?: string; readonly senderFault?: boolean }
): FaultPlan =>
  make(
    `Fault.randomEntries(${[seed, probability, code, ...(options === undefined ? [] : [options])].map(show).join(", ")})`,
    entries(
      (_, index, call) => draw(seed, "entry", call.operation, call.queueName, call.n, index) < probability,
      code,
      options
    ).begin
  )

/**
 * A receive hands out up to `messages` messages that are hidden, as a standard queue may: at least once is a promise, at
 * most once is none.
 *
 * @since 0.1.0
 * @category leaves
 */
export const duplicate = (messages = 1): FaultPlan =>
  leaf(`Fault.duplicate(${messages})`, (call) =>
    call.operation === "ReceiveMessage" ? { duplicate: messages } : nothing
  )

/**
 * A receive gives its messages in an order drawn from the seed.
 *
 * @since 0.1.0
 * @category leaves
 */
export const reorder = (seed: Seed): FaultPlan =>
  leaf(`Fault.reorder(${show(seed)})`, (call) =>
    call.operation === "ReceiveMessage"
      ? { reorder: (messages) => shuffle(messages, seed, "reorder", call.queueName, call.n) }
      : nothing
  )

/**
 * Something happens when the call arrives, before anything else: a clock jumps, the process stalls, a latch opens.
 * `name` is how the plan is printed.
 *
 * @since 0.1.0
 * @category leaves
 */
export const perform = (name: string, effect: Effect.Effect<void>): FaultPlan =>
  constant(`Fault.perform(${show(name)}, …)`, { perform: effect })

/**
 * The plan for these operations only.
 *
 * @since 0.1.0
 * @category combinators
 */
export const on =
  (...operations: ReadonlyArray<FaultOperation>) =>
  (self: FaultPlan): FaultPlan =>
    when((call) => operations.includes(call.operation), `Fault.on(${operations.map(show).join(", ")})`)(self)

/**
 * The plan for one queue only.
 *
 * @since 0.1.0
 * @category combinators
 */
export const queue =
  (name: string) =>
  (self: FaultPlan): FaultPlan =>
    when((call) => call.queueName === name, `Fault.queue(${show(name)})`)(self)

/**
 * The plan for the calls that a predicate accepts. `name` is how it is printed.
 *
 * @since 0.1.0
 * @category combinators
 */
export const when =
  (predicate: (call: CountedCall) => boolean, name?: string) =>
  (self: FaultPlan): FaultPlan =>
    make(`${self}.pipe(${name ?? `Fault.when(${predicate})`})`, () => {
      const decide = self.begin()
      return (call) => (predicate(call) ? decide(call) : nothing)
    })

/**
 * The plan from one time after the simulator's start on, and until another, which may be left out.
 *
 * @since 0.1.0
 * @category combinators
 */
export const during = (from: Duration.DurationInput, to?: Duration.DurationInput) => {
  const fromMs = Duration.toMillis(from)
  const toMs = to === undefined ? Infinity : Duration.toMillis(to)
  const name = `Fault.during(${[from, ...(to === undefined ? [] : [to])].map(showDuration).join(", ")})`
  return when((call) => call.now - call.startedAt >= fromMs && call.now - call.startedAt < toMs, name)
}

/**
 * The plan in a share of the calls, drawn from the seed.
 *
 * @since 0.1.0
 * @category combinators
 */
export const random = (seed: Seed, probability: number) =>
  when(
    (call) => draw(seed, "random", call.operation, call.queueName, call.n) < probability,
    `Fault.random(${show(seed)}, ${probability})`
  )

/** Of the calls in which the plan acts, those whose number (from 1) is accepted. */
const acting =
  (name: string, accept: (n: number) => boolean) =>
  (self: FaultPlan): FaultPlan =>
    make(`${self}.pipe(${name})`, () => {
      const decide = self.begin()
      let n = 0
      return (call) => {
        const decision = decide(call)
        if (isNothing(decision)) return nothing
        n++
        return accept(n) ? decision : nothing
      }
    })

/**
 * The plan for the first `n` calls in which it acts.
 *
 * @since 0.1.0
 * @category combinators
 * @example
 * import { Fault } from "@effect-sqs/testing"
 *
 * // three receives are throttled; then all is well
 * export const plan = Fault.error("RequestThrottled").pipe(Fault.on("ReceiveMessage"), Fault.times(3))
 */
export const times = (n: number) => acting(`Fault.times(${n})`, (i) => i <= n)

/**
 * The plan without the first `n` calls in which it acts.
 *
 * @since 0.1.0
 * @category combinators
 */
export const after = (n: number) => acting(`Fault.after(${n})`, (i) => i > n)

/**
 * Several plans at once: delays add up, entry errors are united, and of two ends that cannot both be the first holds.
 *
 * @since 0.1.0
 * @category combinators
 */
export const all = (...plans: ReadonlyArray<FaultPlan>): FaultPlan =>
  make(`Fault.all(${plans.join(", ")})`, () => {
    const deciders = plans.map((plan) => plan.begin())
    return (call) => deciders.reduce((decision, decide) => merge(decision, decide(call)), nothing)
  })

/**
 * The first call meets the first plan, the second the second, and so on; after the last nothing goes wrong. Restrict
 * it with `on`, so that it counts the calls you mean.
 *
 * @since 0.1.0
 * @category combinators
 */
export const script = (...plans: ReadonlyArray<FaultPlan>): FaultPlan =>
  make(`Fault.script(${plans.join(", ")})`, () => {
    const deciders = plans.map((plan) => plan.begin())
    let next = 0
    return (call) => deciders[next++]?.(call) ?? nothing
  })
