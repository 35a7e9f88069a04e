/**
 * What becomes of unknown outcomes: a hook that asks the outside, and a queue for people.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import { type LedgerStoreError, type LedgerValueInvalid, LedgerVerdictRefused } from "./LedgerError.js"
import { LedgerEvent } from "./LedgerEvent.js"
import type { LedgerId, LedgerRecord } from "./LedgerRecord.js"
import { Ledger } from "./LedgerService.js"
import type { Decision, Question, Snapshot } from "./LedgerStore.js"
import { Verdict } from "./Verdict.js"
import { patiently } from "./internal/calls.js"
import * as values from "./internal/values.js"

/**
 * What a reconciler is asked.
 *
 * @since 0.1.0
 * @category models
 */
export interface UnknownCall extends LedgerId {
  readonly attempt: number
  /** tells the call from others of the same attempt: a verdict on this one is refused when another is open by then */
  readonly callSeq: number
  /** the reference that the outside was given */
  readonly ref: string
  /** when the call began, epoch ms by the clock of the store */
  readonly startedAt: number
  /** how often it was asked, this time included; 1 at first */
  readonly tries: number
  /** a short text on how the run ended, if it could tell */
  readonly error: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ReconcileOptions<E, R> {
  readonly namespace: string
  /** asks the outside; a failure, a defect or a timeout counts as `StillUnknown` */
  readonly ask: (call: UnknownCall) => Effect.Effect<Verdict, E, R>
  /** the most that one question may take; default 30 seconds */
  readonly timeout?: Duration.DurationInput | undefined
  /** how often a call is asked about before a person decides; default 10 */
  readonly tries?: number | undefined
  /** the pause after the first question without an answer; it doubles each time; default 30 seconds */
  readonly delay?: Duration.DurationInput | undefined
  /** the longest pause; default 1 hour */
  readonly maxDelay?: Duration.DurationInput | undefined
  /** how many calls are asked about at a time; default 10 */
  readonly batch?: number | undefined
}

/**
 * What a pass did with one call.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reconciled {
  readonly call: UnknownCall
  readonly verdict: Verdict
  /** what became of the key; `undefined` when somebody else had decided meanwhile */
  readonly record: LedgerRecord | undefined
}

const decisionOf = (
  id: LedgerId,
  verdict: Exclude<Verdict, { readonly _tag: "StillUnknown" }>,
  maxBytes: number
): Effect.Effect<Decision, LedgerValueInvalid> => {
  switch (verdict._tag) {
    case "Happened":
      return Effect.map(values.wrap(id, "the verdict's result", verdict.result, maxBytes), (callResult) => ({
        state: "retryable",
        callResult
      }))
    case "DidNotHappen":
      return Effect.succeed({ state: "retryable", callResult: undefined })
    case "Completed":
      return Effect.map(values.wrap(id, "the verdict's result", verdict.result, maxBytes), (result) => ({
        state: "completed",
        result
      }))
    case "Rejected":
      return Effect.succeed({ state: "rejected", error: values.storable(verdict.reason) })
  }
}

const write = (id: Question, decision: Decision) =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    let tries = 0
    const written = yield* patiently(
      ledger,
      "decide",
      Effect.suspend(() => {
        tries++
        return ledger.store.decide(id, { decision, retentionMs: ledger.settings.retentionMs })
      })
    )
    if (Option.isSome(written)) {
      const { record } = written.value
      yield* ledger.emit(
        LedgerEvent.Decided({ namespace: id.namespace, key: id.key, attempt: record.attempt, state: record.state })
      )
      return written
    }
    // refused at the first try: somebody else was first, although the row may look as if it had been us
    if (tries === 1) return Option.none<Snapshot>()
    // the answer to an earlier try was lost: then it is the row, one attempt on, in the state it asked for
    const found = yield* patiently(ledger, "read", ledger.store.read(id))
    return Option.filter(found, ({ record }) => isOurs(record, id.attempt, decision))
  })

const isOurs = (record: LedgerRecord, attempt: number, decision: Decision) =>
  record.attempt === attempt + 1 &&
  (record.state === decision.state || (decision.state === "retryable" && record.state === "cancelled")) &&
  (decision.state !== "completed" || record.result === decision.result)

/**
 * Gives a verdict on one key, as a person does; `StillUnknown` puts it before people. It is given on an attempt, and on a
 * call of it when `id` is a row that was read, and refused when the key has moved on since. The results of `Happened` and
 * `Completed` are in encoded form.
 *
 * @since 0.1.0
 * @category verdicts
 */
export const decide = (
  id: Question,
  verdict: Verdict
): Effect.Effect<LedgerRecord, LedgerVerdictRefused | LedgerValueInvalid | LedgerStoreError, Ledger> =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const decision: Decision =
      verdict._tag === "StillUnknown"
        ? { state: "review" }
        : yield* decisionOf(id, verdict, ledger.settings.maxResultBytes)
    const written = yield* write(id, decision)
    if (Option.isSome(written)) return written.value.record
    const found = yield* patiently(ledger, "read", ledger.store.read(id))
    return yield* new LedgerVerdictRefused({
      namespace: id.namespace,
      key: id.key,
      attempt: id.attempt,
      found: Option.match(found, {
        onNone: () => "not known",
        onSome: ({ record }) => `${record.state} at attempt ${record.attempt}`
      })
    })
  })

/**
 * The keys that wait for a person, the one that waits longest first; at most `limit`, default 100.
 *
 * @since 0.1.0
 * @category verdicts
 */
export const reviews = (
  o: { readonly namespace?: string | undefined; readonly limit?: number | undefined } = {}
): Effect.Effect<ReadonlyArray<LedgerRecord>, LedgerStoreError, Ledger> =>
  Effect.flatMap(Ledger, (ledger) =>
    Effect.map(
      patiently(
        ledger,
        "list",
        ledger.store.list({ namespace: o.namespace, states: ["review"], limit: o.limit ?? 100 })
      ),
      (found) => found.map((s) => s.record)
    )
  )

const questionOf = ({ record }: Snapshot): UnknownCall => ({
  namespace: record.namespace,
  key: record.key,
  attempt: record.attempt,
  callSeq: record.callSeq,
  ref: record.call?.ref ?? "",
  startedAt: record.call?.startedAt ?? record.updatedAt,
  tries: record.reconcileTries,
  error: record.error
})

/** doubling, at most `maxDelay`, cut by a random factor of 0.5 to 1 so that reconcilers spread */
const pauseMs = (tries: number, delayMs: number, maxDelayMs: number) =>
  Effect.map(
    Random.nextRange(0.5, 1),
    (factor) => factor * Math.min(maxDelayMs, delayMs * 2 ** Math.min(tries - 1, 40))
  )

/**
 * One pass over a namespace: finds the jobs that died in the middle of a call, asks about those whose question is due, and
 * writes down the verdicts. Several processes may do it at once: a question is asked by one of them at a time.
 *
 * @since 0.1.0
 * @category reconcilers
 */
export const reconcile = <E, R>(
  options: ReconcileOptions<E, R>
): Effect.Effect<ReadonlyArray<Reconciled>, LedgerStoreError, Ledger | R> =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const { namespace } = options
    const timeout = Duration.decode(options.timeout ?? "30 seconds")
    const limit = options.batch ?? 10
    const expired = yield* patiently(ledger, "expire", ledger.store.expire({ namespace, limit: 10 * limit }))
    yield* Effect.forEach(
      expired,
      ({ record }) =>
        ledger.emit(
          LedgerEvent.OutcomeUnknown({
            namespace,
            key: record.key,
            attempt: record.attempt,
            ref: record.call?.ref ?? ""
          })
        ),
      { discard: true }
    )
    // long enough for the question and for writing the verdict down
    const holdMs = Duration.toMillis(timeout) + 4 * ledger.settings.storeTimeoutMs
    const due = yield* patiently(ledger, "takeDue", ledger.store.takeDue({ namespace, limit, holdMs }))
    return yield* Effect.forEach(
      due,
      (found) => {
        const call = questionOf(found)
        return Effect.suspend(() => options.ask(call)).pipe(
          Effect.timeout(timeout),
          Effect.sandbox,
          Effect.catchAll((cause) =>
            Effect.as(
              Effect.logWarning(`No answer about the outside call ${call.ref} of ${namespace}/${call.key}`, cause),
              Verdict.StillUnknown()
            )
          ),
          Effect.flatMap((verdict) => conclude(options, call, verdict)),
          Effect.map((record): Reconciled => record)
        )
      },
      { concurrency: "unbounded" }
    )
  })

const conclude = (
  options: ReconcileOptions<any, any>,
  call: UnknownCall,
  verdict: Verdict
): Effect.Effect<Reconciled, LedgerStoreError, Ledger> =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const done = (written: Option.Option<Snapshot>): Reconciled => ({
      call,
      verdict,
      record: Option.getOrUndefined(Option.map(written, (s) => s.record))
    })
    if (verdict._tag !== "StillUnknown") {
      const decision = yield* Effect.either(decisionOf(call, verdict, ledger.settings.maxResultBytes))
      if (decision._tag === "Right") return done(yield* write(call, decision.right))
      yield* Effect.logWarning("A verdict cannot be written down: a person decides", decision.left)
      return done(yield* write(call, { state: "review" }))
    }
    if (call.tries >= (options.tries ?? 10)) return done(yield* write(call, { state: "review" }))
    const delayMs = yield* pauseMs(
      call.tries,
      Duration.toMillis(options.delay ?? "30 seconds"),
      Duration.toMillis(options.maxDelay ?? "1 hour")
    )
    return done(yield* patiently(ledger, "postpone", ledger.store.postpone(call, { delayMs })))
  })

/**
 * Passes for ever, `every` 10 seconds unless said otherwise. What the database cannot do is logged and tried at the next
 * pass. Run it beside a worker, as a fiber or as a layer of its own.
 *
 * @since 0.1.0
 * @category reconcilers
 * @example
 * import * as Ledger from "@effect-sqs/ledger/Ledger"
 * import { Verdict } from "@effect-sqs/ledger/Verdict"
 * import { Effect, Layer, Option } from "effect"
 *
 * declare const findCharge: (ref: string) => Effect.Effect<Option.Option<{ id: string }>, Error>
 *
 * export const PaymentsReconciler = Layer.scopedDiscard(
 *   Effect.forkScoped(
 *     Ledger.reconciler({
 *       namespace: "payments",
 *       ask: (call) =>
 *         Effect.map(
 *           findCharge(call.ref),
 *           Option.match({
 *             onNone: () => Verdict.DidNotHappen(),
 *             onSome: (charge) => Verdict.Happened({ result: charge.id })
 *           })
 *         )
 *     })
 *   )
 * )
 */
export const reconciler = <E, R>(
  options: ReconcileOptions<E, R> & { readonly every?: Duration.DurationInput | undefined }
): Effect.Effect<never, never, Ledger | R> =>
  reconcile(options).pipe(
    Effect.catchAll((e) => Effect.logWarning(`Reconciling ${options.namespace} failed; it is tried again`, e)),
    Effect.repeat(Schedule.spaced(options.every ?? "10 seconds")),
    Effect.zipRight(Effect.never)
  )
