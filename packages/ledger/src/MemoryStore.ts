/**
 * The ledger in memory: for tests and for trying things out. It forgets everything with the process.
 *
 * Its clock is Effect's, so `TestClock` drives it. It behaves as a database with one writer: while a transaction is open,
 * everybody else waits.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { epochMs } from "./internal/instant.js"
import * as transitions from "./internal/transitions.js"
import type { LedgerId, LedgerRecord } from "./LedgerRecord.js"
import { LedgerStore, type Snapshot } from "./LedgerStore.js"

/** set inside `transaction`: what to take back when it fails, newest last */
class Undo extends Context.Tag("@effect-sqs/ledger/MemoryStore/Undo")<Undo, Array<() => void>>() {}

/**
 * Registers what a transaction of the memory store takes back when it fails, so that a test's own tables roll back with
 * the ledger as they do on SQL. Outside a transaction it does nothing.
 *
 * @since 0.1.0
 * @category testing
 */
export const onRollback = (undo: () => void): Effect.Effect<void> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const open = Context.getOption(context, Undo)
    if (Option.isSome(open)) open.value.push(undo)
  })

const address = (id: LedgerId) => JSON.stringify([id.namespace, id.key])

const make: Effect.Effect<LedgerStore["Type"]> = Effect.gen(function* () {
  let rows = new Map<string, LedgerRecord>()
  /** by key, then by name */
  let memory = new Map<string, ReadonlyMap<string, string>>()
  const writer = yield* Effect.makeSemaphore(1)

  const inTransaction = Effect.contextWith((context: Context.Context<never>) =>
    Option.isSome(Context.getOption(context, Undo))
  )

  /** alone, unless we are the transaction that the others wait for */
  const alone = <A>(f: (now: number) => A): Effect.Effect<A> => {
    const run = Effect.map(epochMs, f)
    return Effect.flatMap(inTransaction, (inside) => (inside ? run : writer.withPermits(1)(run)))
  }

  const snapshot = (record: LedgerRecord, now: number): Snapshot => ({ record, now })

  const put = (next: LedgerRecord | undefined, now: number): Option.Option<Snapshot> => {
    if (next === undefined) return Option.none()
    rows.set(address(next), next)
    return Option.some(snapshot(next, now))
  }

  const keep = (id: LedgerId, name: string, result: string) => {
    memory.set(address(id), new Map([...(memory.get(address(id)) ?? []), [name, result]]))
  }

  /** a write on a row that must exist */
  const write = (id: LedgerId, change: (row: LedgerRecord, now: number) => LedgerRecord | undefined) =>
    alone((now) => {
      const row = rows.get(address(id))
      return row === undefined ? Option.none<Snapshot>() : put(change(row, now), now)
    })

  const select = (
    now: number,
    o: { readonly namespace: string | undefined; readonly limit: number },
    wanted: (row: LedgerRecord) => boolean
  ) =>
    [...rows.values()]
      .filter((row) => (o.namespace === undefined || row.namespace === o.namespace) && wanted(row))
      .sort((a, b) => a.updatedAt - b.updatedAt)
      .slice(0, o.limit)
      .map((row) => snapshot(row, now))

  return {
    claim: (r) => alone((now) => put(transitions.claim(rows.get(address(r)), r, now), now)),
    renew: (h, o) => write(h, (row, now) => transitions.renew(row, h, o, now)),
    begin: (h, o) => write(h, (row, now) => transitions.begin(row, h, o, now)),
    end: (h, o) =>
      write(h, (row, now) => {
        const next = transitions.end(row, h, o, now)
        if (next !== undefined && o.result !== undefined) keep(h, o.ref, o.result)
        return next
      }),
    remember: (h, o) =>
      alone(() => {
        const row = rows.get(address(h))
        if (row === undefined || !transitions.mayRemember(row, h)) return false
        keep(h, o.name, o.result)
        return true
      }),
    recall: (id, name) => alone(() => Option.fromNullable(memory.get(address(id))?.get(name))),
    complete: (h, o) => write(h, (row, now) => transitions.complete(row, h, o, now)),
    fail: (h, o) => write(h, (row, now) => transitions.fail(row, h, o, now)),
    decide: (id, o) =>
      write(id, (row, now) => {
        const next = transitions.decide(row, id, o, now)
        const d = o.decision
        if (next !== undefined && d.state === "retryable" && d.callResult !== undefined && row.call !== undefined) {
          keep(id, row.call.ref, d.callResult)
        }
        return next
      }),
    postpone: (id, o) => write(id, (row, now) => transitions.postpone(row, id, o, now)),
    cancel: (id, o) => alone((now) => put(transitions.cancel(rows.get(address(id)), id, o, now), now)),
    read: (id) =>
      alone((now) => Option.map(Option.fromNullable(rows.get(address(id))), (record) => snapshot(record, now))),
    list: (o) => alone((now) => select(now, o, (row) => o.states.includes(row.state))),
    expire: (o) =>
      alone((now) => {
        const open = select(now, o, (row) => transitions.isExpiredOpen(row, now))
        return open.map((s) => Option.getOrThrow(put(transitions.expire(s.record, now), now)))
      }),
    takeDue: (o) =>
      alone((now) => {
        const due = select(now, o, (row) => transitions.isDue(row, now))
        return due.map((s) => Option.getOrThrow(put(transitions.takeDue(s.record, o.holdMs, now), now)))
      }),
    sweep: (o) =>
      alone((now) => {
        const old = select(now, { namespace: undefined, limit: o.limit }, (row) => transitions.isSweepable(row, now))
        for (const { record } of old) {
          rows.delete(address(record))
          memory.delete(address(record))
        }
        return old.length
      }),
    transaction: <A, E, R>(self: Effect.Effect<A, E, R>) =>
      Effect.contextWithEffect((context: Context.Context<R>) => {
        const outer = Option.getOrUndefined(Context.getOption(context, Undo))
        const attempt = Effect.suspend(() => {
          const before = { rows: new Map(rows), memory: new Map(memory) }
          const undo = [
            () => {
              rows = before.rows
              memory = before.memory
            }
          ]
          return Effect.onExit(Effect.provide(self, Context.add(context, Undo, undo)), (exit) =>
            Effect.sync(() => {
              if (Exit.isFailure(exit)) for (const back of undo.reverse()) back()
              else outer?.push(...undo)
            })
          )
        })
        return outer === undefined ? writer.withPermits(1)(attempt) : attempt
      }),
    inTransaction
  }
})

/**
 * A ledger of its own for each build of the layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<LedgerStore> = Layer.effect(LedgerStore, make)
