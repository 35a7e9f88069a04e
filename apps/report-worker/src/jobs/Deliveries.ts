/**
 * What becomes of deliveries that nobody saw end: the receivers are asked, and the rows of the jobs follow the ledger, which
 * decides. After a verdict that lets a delivery be made (again), the outbox sends its job.
 *
 * @since 0.1.0
 */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import type { LedgerRecord } from "@effect-sqs/ledger/LedgerRecord"
import type { UnknownCall } from "@effect-sqs/ledger/Reconciler"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { namespaces, reconciling } from "../Policies.js"
import { Webhook } from "../webhook/Webhook.js"
import type { DeliveryState } from "./JobRow.js"
import { JobStore } from "./JobStore.js"

/** The receiver of the job's report is asked. */
const ask = (call: UnknownCall) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const webhook = yield* Webhook
    const row = yield* jobs.get(call.key)
    const target = Option.getOrUndefined(row)?.job.webhook
    return target === undefined ? Verdict.StillUnknown() : yield* webhook.ask(target, call)
  })

/** What the ledger's word means for the row. */
const stateOf = (record: LedgerRecord): Exclude<DeliveryState, "none"> => {
  switch (record.state) {
    case "completed":
      return "delivered"
    case "rejected":
    case "cancelled":
      return "refused"
    case "review":
      return "review"
    case "unknown":
      return "unknown"
    // let again by a verdict, or being made
    case "retryable":
    case "in_progress":
      return "pending"
  }
}

/**
 * Brings the rows of deliveries that are unknown or in review up to the ledger; answers how many changed.
 *
 * @since 0.1.0
 * @category passes
 */
export const follow = Effect.gen(function* () {
  const jobs = yield* JobStore
  let changed = 0
  for (const state of ["unknown", "review"] as const) {
    let before: { readonly acceptedAt: number; readonly id: string } | undefined
    // page by page: many that stay open must not hide those behind them
    for (;;) {
      const rows = yield* jobs.list({ deliveries: [state], before, limit: reconciling.rows })
      for (const row of rows) {
        const record = yield* Ledger.get({ namespace: namespaces.deliveries, key: row.id })
        // forgotten by the ledger: it may be made again, under the same key
        const next = Option.match(record, { onNone: () => "pending" as const, onSome: stateOf })
        if (next === row.delivery) continue
        yield* jobs.delivery(row.id, next, Option.getOrUndefined(record)?.error)
        changed++
      }
      before = rows.at(-1)
      if (before === undefined) break
    }
  }
  return changed
})

/**
 * One pass: asks, and lets the rows follow.
 *
 * @since 0.1.0
 * @category passes
 */
export const pass = Effect.zipRight(Ledger.reconcile({ namespace: namespaces.deliveries, ask }), follow)

/**
 * Passes for ever. What the database cannot do is logged, and tried at the next pass.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run: Effect.Effect<never, never, JobStore | Ledger.Ledger | Webhook> = pass.pipe(
  Effect.catchAllCause((cause) =>
    Cause.isInterruptedOnly(cause)
      ? Effect.failCause(cause as Cause.Cause<never>)
      : Effect.logWarning("asking about deliveries failed; it is tried again", cause)
  ),
  Effect.zipRight(Effect.sleep(reconciling.every)),
  Effect.forever
)
