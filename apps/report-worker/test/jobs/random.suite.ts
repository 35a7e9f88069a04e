/** Random orders of what can happen to a job's row, the same ones on each database. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import fc from "fast-check"
import { JobProgress, JobResult } from "../../src/jobs/JobRow.js"
import { JobStore } from "../../src/jobs/JobStore.js"
import type { Backend } from "./backend.js"
import { job, withWebhook } from "./suite.js"

const result = new JobResult({ artifact: "a.pdf", location: "/a.pdf", bytes: 3, sha256: "abc", pages: 2 })

const later = { nextAt: 600_000 }

const row = (id: string) => Effect.flatMap(JobStore, (jobs) => Effect.flatten(jobs.get(id)))

export const random = (backend: Backend) =>
  it.scoped(
    `${backend.name}: whatever comes in whatever order: nothing is refused by the tables, and what is final stays`,
    () =>
      Effect.flatMap(backend.fresh, (layer) =>
        Effect.flatMap(Layer.build(layer), (context) => Effect.provide(anyOrder, context))
      )
  )

const anyOrder = Effect.gen(function* () {
  const jobs = yield* JobStore
  const acts: Record<string, (id: string) => Effect.Effect<unknown, { readonly _tag: string }, Ledger.Ledger>> = {
    send: (id) =>
      Effect.flatMap(jobs.takeDue({ limit: 10, holdMs: 0 }), (due) =>
        Effect.forEach(
          due.filter((d) => d.row.id === id),
          (d) => jobs.sent(d, { messageId: `m-${id}`, ...later })
        )
      ),
    start: (id) => jobs.started(id, { receiveCount: 1, ...later }),
    step: (id) => jobs.progress(id, new JobProgress({ step: "render" }), { isNew: true, ...later }),
    tell: (id) => jobs.progress(id, new JobProgress({ step: "store", done: 1.5, of: 3 }), { isNew: false, ...later }),
    finish: (id) => Ledger.transaction(jobs.finished(id, result, later)),
    wait: (id) => jobs.waiting(id, "again", later),
    fail: (id) => jobs.failed(id, "given up"),
    failMessage: (id) => jobs.failedMessage(`m-${id}`, "unread"),
    cancel: (id) => jobs.cancel(id),
    pend: (id) => jobs.delivery(id, "pending"),
    deliver: (id) => jobs.delivery(id, "delivered"),
    lose: (id) => jobs.delivery(id, "unknown", "no answer"),
    review: (id) => jobs.delivery(id, "review", "no answer"),
    refuse: (id) => jobs.delivery(id, "refused", "no")
  }
  const sequences = fc.sample(
    fc.tuple(fc.boolean(), fc.array(fc.constantFrom(...Object.keys(acts)), { minLength: 3, maxLength: 12 })),
    { numRuns: 40, seed: Number(process.env["FC_SEED"] ?? 20261201) }
  )
  for (const [n, [webhook, names]] of sequences.entries()) {
    const id = `j-${n}`
    let before = (yield* jobs.accept(webhook ? withWebhook(id) : job(id))).row
    for (const name of names) {
      const done = yield* Effect.either(acts[name]!(id))
      const told = `${id}: ${names.join(", ")}, at ${name}`
      if (Either.isLeft(done)) assert.include(["JobCancelled", "JobEnded"], done.left._tag, told)
      const after = yield* row(id)
      if (before.state === "completed" || before.state === "cancelled") {
        assert.deepStrictEqual([after.state, after.result], [before.state, before.result], told)
      }
      if (before.delivery === "delivered" || before.delivery === "none") {
        assert.strictEqual(after.delivery, before.delivery, told)
      }
      before = after
    }
    const events = yield* jobs.events(id)
    assert.isAtMost(events.filter((e) => e.kind === "completed" || e.kind === "cancelled").length, 1)
  }
})
