/**
 * The store on SQL: each write is one statement, the same text on PostgreSQL and SQLite. The time in a statement is the
 * database's own (`clock_timestamp()`) or, where there is no server, a parameter. It is used in SET, never taken from
 * EXCLUDED: a statement may wait for a lock, and what was computed before the wait is old.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Fragment, Statement } from "@effect/sql/Statement"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { type LedgerStoreError } from "../LedgerError.js"
import type { LedgerId } from "../LedgerRecord.js"
import type { Holder, LedgerStore, Question, Snapshot } from "../LedgerStore.js"
import { toStoreError } from "./sqlErrors.js"
import { columns, toSnapshot, type SqlRow } from "./sqlRow.js"

/** `@effect/sql-libsql` has a tag of its own for its transactions, and does not export it */
const LibsqlTransaction = "@effect/sql-libsql/LibsqlClient/LibsqlTransaction"

const inTransaction = Effect.contextWith(
  (context: Context.Context<never>) =>
    Option.isSome(Context.getOption(context, SqlClient.TransactionConnection)) ||
    context.unsafeMap.has(LibsqlTransaction)
)

/** The user's failure, kept apart from the failures of the transaction itself. */
class Inner<E> {
  constructor(readonly error: E) {}
}

const transaction =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | LedgerStoreError, R> =>
    Effect.suspend(() => {
      let inner: Exit.Exit<A, Inner<E>> | undefined
      const body = self.pipe(
        Effect.mapError((error) => new Inner(error)),
        Effect.onExit((exit) => Effect.sync(() => void (inner = exit)))
      )
      return Effect.catchAllCause(sql.withTransaction(body), (cause): Effect.Effect<A, E | LedgerStoreError> => {
        if (inner !== undefined && Exit.isFailure(inner)) {
          // whatever became of the ROLLBACK: the reason is what made it necessary
          return Effect.failCause(Cause.map(inner.cause, (wrapped) => wrapped.error))
        }
        if (Cause.isInterruptedOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
        return Effect.fail(toStoreError(inner === undefined ? "BEGIN" : "COMMIT")(Cause.squash(cause)))
      })
    })

export const make = (sql: SqlClient.SqlClient, now: Effect.Effect<Fragment>): LedgerStore["Type"] => {
  const all = sql.literal(columns)
  const isPg = sql.onDialectOrElse({ pg: () => true, orElse: () => false })
  /** PostgreSQL: rows that others hold are left to them */
  const skipLocked = sql.literal(isPg ? "FOR UPDATE SKIP LOCKED" : "")
  /** `few` is materialized: PostgreSQL may run a subquery once a row, and then its LIMIT limits nothing */
  const amongFew = sql.literal("(namespace, key) IN (SELECT namespace, key FROM few)")
  const lockRow = sql.literal(isPg ? "FOR NO KEY UPDATE" : "")

  // a parameter without a type is refused by PostgreSQL where it stands alone
  const int = (value: number) => sql`CAST(${Math.round(value)} AS BIGINT)`
  const text = (value: string | undefined) => sql`CAST(${value ?? null} AS TEXT)`

  const query = <A extends object>(operation: string, statement: (now: Fragment) => Statement<A>) =>
    now.pipe(
      Effect.flatMap((fragment) => statement(fragment).withoutTransform),
      Effect.mapError(toStoreError(operation))
    )

  const many = (operation: string, statement: (now: Fragment) => Statement<SqlRow>) =>
    Effect.map(query(operation, statement), (rows) => rows.map(toSnapshot))

  const one = (operation: string, statement: (now: Fragment) => Statement<SqlRow>) =>
    Effect.map(many(operation, statement), (rows) => Option.fromNullable(rows[0]))

  const row = (id: LedgerId) => sql`namespace = ${id.namespace} AND key = ${id.key}`
  const attempt = (h: LedgerId & { readonly attempt: number }) => sql`${row(h)} AND attempt = ${int(h.attempt)}`
  const asked = (q: Question) =>
    q.callSeq === undefined ? attempt(q) : sql`${attempt(q)} AND call_seq = ${int(q.callSeq)}`
  const held = (h: Holder) => sql`${attempt(h)} AND owner = ${h.owner} AND state = 'in_progress'`
  const mayGoOn = (h: Holder, t: Fragment) => sql`${held(h)} AND claim_until > ${t} AND cancel_requested_at IS NULL`

  const idle = sql.literal("owner = NULL, claim_until = NULL")
  const noCall = sql.literal("call_ref = NULL, call_policy = NULL, call_started_at = NULL")
  const no = sql.literal("1 = 0")
  const forget = (which: Fragment) => sql`
    call_ref = CASE WHEN ${which} THEN NULL ELSE call_ref END,
    call_policy = CASE WHEN ${which} THEN NULL ELSE call_policy END,
    call_started_at = CASE WHEN ${which} THEN NULL ELSE call_started_at END`
  const ambiguous = sql.literal("COALESCE(call_policy, '') = 'ambiguous'")
  const expiredOpen = (t: Fragment) => sql`state = 'in_progress' AND call_policy = 'ambiguous' AND claim_until <= ${t}`
  const rememberAs = (id: LedgerId & { readonly attempt: number }, name: string, result: string) =>
    query(
      "remember",
      (t) => sql`
      INSERT INTO effect_ledger_memory (namespace, key, name, result, attempt, created_at)
      VALUES (${id.namespace}, ${id.key}, ${name}, ${result}, ${int(id.attempt)}, ${t})
      ON CONFLICT (namespace, key, name) DO UPDATE SET result = excluded.result, attempt = excluded.attempt
      RETURNING name`
    )

  const atomically = transaction(sql)

  const store: LedgerStore["Type"] = {
    claim: (r) => {
      const mine = sql`(l.state = 'in_progress' AND l.owner = ${r.owner} AND l.call_seq = 0)`
      const lost = sql.literal("(l.state = 'in_progress' AND COALESCE(l.call_policy, '') = 'ambiguous')")
      return one("claim", (t) => {
        const until = sql`${t} + ${int(r.claimMs)}`
        const expires = sql`${until} + ${int(r.retentionMs)}`
        return sql<SqlRow>`
          INSERT INTO effect_ledger AS l (namespace, key, payload_hash, state, attempt, owner, claim_until, claimed_from,
            call_seq, reconcile_tries, created_at, updated_at, expires_at)
          VALUES (${r.namespace}, ${r.key}, ${r.payloadHash}, 'in_progress', 1, ${r.owner}, ${until}, 'new',
            0, 0, ${t}, ${t}, ${expires})
          ON CONFLICT (namespace, key) DO UPDATE SET
            state = CASE WHEN ${lost} THEN 'unknown' ELSE 'in_progress' END,
            attempt = CASE WHEN ${lost} OR ${mine} THEN l.attempt ELSE l.attempt + 1 END,
            owner = CASE WHEN ${lost} THEN NULL ELSE ${text(r.owner)} END,
            claim_until = CASE WHEN ${lost} THEN NULL ELSE ${until} END,
            claimed_from = CASE WHEN ${lost} OR ${mine} THEN l.claimed_from
              WHEN l.state = 'in_progress' THEN 'expired' ELSE 'retryable' END,
            call_seq = CASE WHEN ${lost} OR ${mine} THEN l.call_seq ELSE 0 END,
            not_before = NULL,
            reconcile_tries = 0,
            reconcile_at = CASE WHEN ${lost} THEN ${t} END,
            expires_at = CASE WHEN ${lost} THEN NULL ELSE ${expires} END,
            updated_at = ${t}
          WHERE l.payload_hash = excluded.payload_hash AND (${mine}
            OR (l.state = 'in_progress' AND l.claim_until <= ${t})
            OR (l.state = 'retryable' AND (l.not_before IS NULL OR l.not_before <= ${t})))
          RETURNING ${all}, ${t} AS now_ms`
      })
    },

    renew: (h, o) =>
      one("renew", (t) => {
        const until = sql`CASE WHEN claim_until > ${t} + ${int(o.claimMs)} THEN claim_until
          ELSE ${t} + ${int(o.claimMs)} END`
        return sql<SqlRow>`
          UPDATE effect_ledger SET claim_until = ${until}, expires_at = ${until} + ${int(o.retentionMs)},
            updated_at = ${t}
          WHERE ${mayGoOn(h, t)} RETURNING ${all}, ${t} AS now_ms`
      }),

    begin: (h, o) =>
      one(
        "begin",
        (t) => sql<SqlRow>`
        UPDATE effect_ledger SET call_ref = ${o.ref}, call_policy = ${o.policy}, call_started_at = ${t},
          call_seq = ${int(o.seq)}, updated_at = ${t}
        WHERE ${mayGoOn(h, t)} AND claim_until >= ${t} + ${int(o.timeoutMs)}
          AND (NOT ${ambiguous} OR call_ref = ${o.ref}) AND call_seq <= ${int(o.seq)}
        RETURNING ${all}, ${t} AS now_ms`
      ),

    end: (h, o) => {
      const write = one("end", (t) => {
        const thisCall = sql`COALESCE(call_ref, '') = ${o.ref}`
        const cancelled = sql`(cancel_requested_at IS NOT NULL AND (call_ref IS NULL OR ${thisCall}))`
        const until = sql`CASE WHEN ${cancelled} THEN NULL WHEN state = 'in_progress' THEN claim_until
          ELSE ${t} + ${int(o.claimMs)} END`
        return sql<SqlRow>`
          UPDATE effect_ledger SET ${forget(thisCall)}, call_seq = ${int(o.seq)}, reconcile_tries = 0,
            reconcile_at = NULL,
            state = CASE WHEN ${cancelled} THEN 'cancelled' ELSE 'in_progress' END,
            owner = CASE WHEN ${cancelled} THEN NULL ELSE ${text(h.owner)} END,
            claim_until = ${until},
            expires_at = COALESCE(${until}, ${t}) + ${int(o.retentionMs)},
            updated_at = ${t}
          WHERE ${attempt(h)} AND call_seq <= ${int(o.seq)}
            AND ((state = 'in_progress' AND owner = ${h.owner}) OR (state = 'unknown' AND ${thisCall}))
          RETURNING ${all}, ${t} AS now_ms`
      })
      const { ref, result } = o
      if (result === undefined) return write
      return atomically(
        Effect.tap(write, (written) => (Option.isSome(written) ? rememberAs(h, ref, result) : Effect.void))
      )
    },

    remember: (h, o) =>
      Effect.map(
        query(
          "remember",
          (t) => sql`
          INSERT INTO effect_ledger_memory (namespace, key, name, result, attempt, created_at)
          SELECT namespace, key, ${text(o.name)}, ${text(o.result)}, attempt, ${t} FROM effect_ledger
          WHERE ${held(h)} ${lockRow}
          ON CONFLICT (namespace, key, name) DO UPDATE SET result = excluded.result, attempt = excluded.attempt
          RETURNING name`
        ),
        (rows) => rows.length > 0
      ),

    recall: (id, name) =>
      Effect.map(
        query(
          "recall",
          () => sql<{ readonly result: string }>`
          SELECT result FROM effect_ledger_memory WHERE ${row(id)} AND name = ${name}`
        ),
        (rows) => Option.fromNullable(rows[0]?.result)
      ),

    complete: (h, o) =>
      one(
        "complete",
        (t) => sql<SqlRow>`
        UPDATE effect_ledger SET state = 'completed', result = ${o.result}, error = NULL, ${idle}, ${noCall},
          reconcile_at = NULL, completed_at = ${t}, expires_at = ${t} + ${int(o.retentionMs)}, updated_at = ${t}
        WHERE ${attempt(h)} AND ((state = 'in_progress' AND owner = ${h.owner}) OR state = 'unknown')
        RETURNING ${all}, ${t} AS now_ms`
      ),

    fail: (h, o) =>
      one("fail", (t) => {
        const notMade = sql`(call_ref IS NOT NULL AND call_ref = ${text(o.notMade)})`
        const unknown = sql`(${ambiguous} AND NOT COALESCE(${notMade}, ${no}))`
        const notBefore = o.state === "retryable" && o.delayMs > 0 ? sql`${t} + ${int(o.delayMs)}` : sql`NULL`
        return sql<SqlRow>`
          UPDATE effect_ledger SET ${idle}, ${forget(notMade)}, error = ${o.error},
            state = CASE WHEN ${unknown} THEN 'unknown' WHEN cancel_requested_at IS NOT NULL THEN 'cancelled'
              ELSE ${text(o.state)} END,
            not_before = CASE WHEN ${unknown} THEN not_before ELSE ${notBefore} END,
            reconcile_tries = CASE WHEN ${unknown} THEN 0 ELSE reconcile_tries END,
            reconcile_at = CASE WHEN ${unknown} THEN ${t} END,
            expires_at = CASE WHEN ${unknown} THEN NULL ELSE ${t} + ${int(o.retentionMs)} END,
            updated_at = ${t}
          WHERE ${attempt(h)}
            AND ((state = 'in_progress' AND owner = ${h.owner}) OR (state = 'unknown' AND ${notMade}))
          RETURNING ${all}, ${t} AS now_ms`
      }),

    decide: (id, o) => {
      const d = o.decision
      const review = d.state === "review"
      const state =
        d.state === "retryable"
          ? sql.literal("CASE WHEN cancel_requested_at IS NOT NULL THEN 'cancelled' ELSE 'retryable' END")
          : text(d.state)
      const write = one(
        "decide",
        (t) => sql<SqlRow>`
        UPDATE effect_ledger SET ${idle}, state = ${state}, attempt = attempt + 1,
          result = COALESCE(${text(d.state === "completed" ? d.result : undefined)}, result),
          error = COALESCE(${text(d.state === "rejected" ? d.error : undefined)}, error),
          ${review ? sql.literal("call_ref = call_ref") : noCall}, not_before = NULL, reconcile_at = NULL,
          completed_at = ${d.state === "completed" ? t : sql.literal("completed_at")},
          expires_at = ${review ? sql.literal("NULL") : sql`${t} + ${int(o.retentionMs)}`}, updated_at = ${t}
        WHERE ${asked(id)} AND state IN ('unknown', 'review')
        RETURNING ${all}, ${t} AS now_ms`
      )
      if (d.state !== "retryable" || d.callResult === undefined) return write
      const { callResult } = d
      return atomically(
        Effect.gen(function* () {
          const before = yield* store.read(id)
          const written = yield* write
          if (Option.isSome(written) && Option.isSome(before) && before.value.record.call !== undefined) {
            yield* rememberAs(written.value.record, before.value.record.call.ref, callResult)
          }
          return written
        })
      )
    },

    postpone: (id, o) =>
      one(
        "postpone",
        (t) => sql<SqlRow>`
        UPDATE effect_ledger SET reconcile_at = ${t} + ${int(o.delayMs)}, updated_at = ${t}
        WHERE ${asked(id)} AND state = 'unknown' RETURNING ${all}, ${t} AS now_ms`
      ),

    cancel: (id, o) =>
      one("cancel", (t) => {
        const undecided = sql.literal(
          "(l.state IN ('unknown', 'review') OR (l.state = 'in_progress' AND COALESCE(l.call_policy, '') = 'ambiguous'))"
        )
        const expires = sql`${t} + ${int(o.retentionMs)}`
        return sql<SqlRow>`
          INSERT INTO effect_ledger AS l (namespace, key, state, attempt, cancel_requested_at, call_seq,
            reconcile_tries, created_at, updated_at, expires_at)
          VALUES (${id.namespace}, ${id.key}, 'cancelled', 1, ${t}, 0, 0, ${t}, ${t}, ${expires})
          ON CONFLICT (namespace, key) DO UPDATE SET
            cancel_requested_at = COALESCE(l.cancel_requested_at, ${t}),
            state = CASE WHEN ${undecided} THEN l.state ELSE 'cancelled' END,
            attempt = CASE WHEN ${undecided} THEN l.attempt ELSE l.attempt + 1 END,
            owner = CASE WHEN ${undecided} THEN l.owner END,
            claim_until = CASE WHEN ${undecided} THEN l.claim_until END,
            not_before = CASE WHEN ${undecided} THEN l.not_before END,
            expires_at = CASE WHEN ${undecided} THEN l.expires_at ELSE ${expires} END,
            updated_at = ${t}
          WHERE l.state IN ('in_progress', 'retryable', 'unknown', 'review')
          RETURNING ${all}, ${t} AS now_ms`
      }),

    read: (id) => one("read", (t) => sql<SqlRow>`SELECT ${all}, ${t} AS now_ms FROM effect_ledger WHERE ${row(id)}`),

    list: (o) =>
      o.states.length === 0
        ? Effect.succeed<ReadonlyArray<Snapshot>>([])
        : many(
            "list",
            (t) => sql<SqlRow>`
            SELECT ${all}, ${t} AS now_ms FROM effect_ledger WHERE ${sql.in("state", o.states)}
              AND (${text(o.namespace)} IS NULL OR namespace = ${text(o.namespace)})
            ORDER BY updated_at LIMIT ${int(o.limit)}`
          ),

    expire: (o) =>
      many(
        "expire",
        (t) => sql<SqlRow>`
        WITH few AS MATERIALIZED (
          SELECT namespace, key FROM effect_ledger WHERE namespace = ${o.namespace} AND ${expiredOpen(t)}
          ORDER BY claim_until LIMIT ${int(o.limit)} ${skipLocked})
        UPDATE effect_ledger SET state = 'unknown', ${idle}, reconcile_tries = 0, reconcile_at = ${t}, expires_at = NULL,
          updated_at = ${t}
        WHERE ${expiredOpen(t)} AND ${amongFew}
        RETURNING ${all}, ${t} AS now_ms`
      ),

    takeDue: (o) =>
      many(
        "takeDue",
        (t) => sql<SqlRow>`
        WITH few AS MATERIALIZED (
          SELECT namespace, key FROM effect_ledger
          WHERE namespace = ${o.namespace} AND state = 'unknown' AND reconcile_at <= ${t}
          ORDER BY reconcile_at LIMIT ${int(o.limit)} ${skipLocked})
        UPDATE effect_ledger SET reconcile_tries = reconcile_tries + 1, reconcile_at = ${t} + ${int(o.holdMs)},
          updated_at = ${t}
        WHERE state = 'unknown' AND reconcile_at <= ${t} AND ${amongFew}
        RETURNING ${all}, ${t} AS now_ms`
      ),

    sweep: (o) =>
      Effect.map(
        query(
          "sweep",
          (t) => sql`
          WITH few AS MATERIALIZED (
            SELECT namespace, key FROM effect_ledger
            WHERE expires_at <= ${t} AND NOT (state = 'in_progress' AND ${ambiguous})
            LIMIT ${int(o.limit)} ${skipLocked})
          DELETE FROM effect_ledger WHERE expires_at <= ${t} AND ${amongFew}
          RETURNING key`
        ),
        (rows) => rows.length
      ),

    transaction: atomically,
    inTransaction
  }
  return store
}
