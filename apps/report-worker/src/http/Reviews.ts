/**
 * Deliveries of which nobody knows whether they happened, and what a person says of them.
 *
 * @since 0.1.0
 */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import type { LedgerRecord } from "@effect-sqs/ledger/LedgerRecord"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Deliveries from "../jobs/Deliveries.js"
import { JobStore } from "../jobs/JobStore.js"
import { namespaces } from "../Policies.js"
import { Delivered } from "../webhook/Webhook.js"
import { Conflict } from "./Api.js"
import type { Review } from "./View.js"

const most = 200

const withoutQuery = (url: string) => url.split(/[?#]/, 1)[0]!

const reviewOf = (record: LedgerRecord) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const row = Option.getOrUndefined(yield* jobs.get(record.key))
    const receiver = row?.job.webhook?.url
    const review: Review = {
      jobId: record.key,
      state: record.state === "review" ? "review" : "unknown",
      attempt: record.attempt,
      callSeq: record.callSeq,
      reference: record.call?.ref,
      calledAt: record.call?.startedAt,
      receiver: receiver === undefined ? undefined : withoutQuery(receiver),
      asked: record.reconcileTries,
      askedAgainAt: record.reconcileAt,
      error: record.error,
      delivery: row?.delivery ?? "none"
    }
    return review
  })

/**
 * Those in review first, then those that are still asked about.
 *
 * @since 0.1.0
 * @category reading
 */
export const list = Effect.gen(function* () {
  const found = yield* Ledger.list({ namespace: namespaces.deliveries, states: ["review", "unknown"], limit: most })
  const reviews = yield* Effect.forEach(found, reviewOf)
  return reviews.sort((a, b) => (a.state === b.state ? 0 : a.state === "review" ? -1 : 1))
})

const encode = Schema.encodeSync(Delivered)

/**
 * A person's word on one delivery: it happened, and is over; or it did not, and is made again. It is about one attempt and
 * call, and refused when the delivery has moved on since it was looked at.
 *
 * @since 0.1.0
 * @category verdicts
 */
export const decide = (o: {
  readonly jobId: string
  readonly attempt: number
  readonly callSeq: number
  readonly verdict: "happened" | "did not happen"
}) =>
  Ledger.decide(
    { namespace: namespaces.deliveries, key: o.jobId, attempt: o.attempt, callSeq: o.callSeq },
    o.verdict === "happened"
      ? Verdict.Completed({ result: encode({ status: 0, reported: true }) })
      : Verdict.DidNotHappen()
  ).pipe(
    Effect.catchTags({
      LedgerVerdictRefused: () =>
        Effect.fail(Conflict.make({ message: `the delivery of ${o.jobId} has moved on meanwhile: look again` })),
      LedgerValueInvalid: Effect.die
    }),
    // the row of the job, and with it the next message
    Effect.tap(() =>
      Effect.catchAll(Deliveries.follow, (e) => Effect.logWarning("rows of deliveries follow later", e))
    ),
    Effect.map(({ state }) => ({ state }))
  )
