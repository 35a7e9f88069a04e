/**
 * Looking at keys, cancelling them, and forgetting those that are over.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { LedgerStoreError, type LedgerValueInvalid } from "./LedgerError.js"
import { LedgerEvent } from "./LedgerEvent.js"
import type { LedgerId, LedgerRecord, LedgerState } from "./LedgerRecord.js"
import { Ledger } from "./LedgerService.js"
import { patiently } from "./internal/calls.js"
import { checkId } from "./internal/values.js"

/**
 * What the ledger knows of a key.
 *
 * @since 0.1.0
 * @category reading
 */
export const get = (id: LedgerId): Effect.Effect<Option.Option<LedgerRecord>, LedgerStoreError, Ledger> =>
  Effect.flatMap(Ledger, (ledger) =>
    Effect.map(
      patiently(ledger, "read", ledger.store.read(id)),
      Option.map((s) => s.record)
    )
  )

/**
 * Keys in these states, the one longest unchanged first; at most `limit`, default 100.
 *
 * @since 0.1.0
 * @category reading
 */
export const list = (o: {
  readonly namespace?: string | undefined
  readonly states: ReadonlyArray<LedgerState>
  readonly limit?: number | undefined
}): Effect.Effect<ReadonlyArray<LedgerRecord>, LedgerStoreError, Ledger> =>
  Effect.flatMap(Ledger, (ledger) =>
    Effect.map(
      patiently(ledger, "list", ledger.store.list({ namespace: o.namespace, states: o.states, limit: o.limit ?? 100 })),
      (found) => found.map((s) => s.record)
    )
  )

/**
 * Cancels a key, also one that has not been seen yet: it is not run (again), and its message is deleted when it comes.
 * A run that is under way is interrupted at its next renewal, and what it writes after is refused.
 *
 * Answers with the key as it is now. `cancelled`: done. `completed` or `rejected`: it was too late. `in_progress`, `unknown`
 * or `review`, with `cancelRequestedAt` set: an outside call that must not be repeated is open; how it ended is found out
 * first, and then the key is cancelled, or completed if its owner gets that far.
 *
 * @since 0.1.0
 * @category cancelling
 */
export const cancel = (id: LedgerId): Effect.Effect<LedgerRecord, LedgerStoreError | LedgerValueInvalid, Ledger> =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    yield* checkId(id)
    const written = yield* patiently(
      ledger,
      "cancel",
      ledger.store.cancel(id, { retentionMs: ledger.settings.retentionMs })
    )
    if (Option.isSome(written)) {
      const { attempt, state } = written.value.record
      yield* ledger.emit(LedgerEvent.Cancelled({ namespace: id.namespace, key: id.key, attempt, state }))
      return written.value.record
    }
    const found = yield* patiently(ledger, "read", ledger.store.read(id))
    if (Option.isSome(found)) return found.value.record
    return yield* new LedgerStoreError({
      operation: "cancel",
      reason: "conflict",
      detail: "the key was removed in the same moment"
    })
  })

/** rows a statement: short locks, and on SQLite milliseconds of the event loop */
const sweepRows = 100

/**
 * Removes what is past its retention, with the results of its steps; answers how many keys. Keys that wait for a verdict
 * are never removed.
 *
 * @since 0.1.0
 * @category retention
 */
export const sweep: Effect.Effect<number, LedgerStoreError, Ledger> = Effect.gen(function* () {
  const ledger = yield* Ledger
  let removed = 0
  let last = sweepRows
  while (last >= sweepRows) {
    last = yield* patiently(ledger, "sweep", ledger.store.sweep({ limit: sweepRows }))
    removed += last
  }
  if (removed > 0) yield* ledger.emit(LedgerEvent.Swept({ removed }))
  return removed
})

/**
 * Sweeps for ever, `every` hour unless said otherwise. What the database cannot do is logged and tried at the next time.
 *
 * @since 0.1.0
 * @category retention
 */
export const sweeper = (
  options: { readonly every?: Duration.DurationInput | undefined } = {}
): Effect.Effect<never, never, Ledger> =>
  sweep.pipe(
    Effect.catchAll((e) => Effect.logWarning("Sweeping the ledger failed; it is tried again", e)),
    Effect.repeat(Schedule.spaced(options.every ?? "1 hour")),
    Effect.zipRight(Effect.never)
  )
