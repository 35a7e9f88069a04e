import * as Ledger from "@effect-sqs/ledger/Ledger"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Deliveries from "../../src/jobs/Deliveries.js"
import { JobStore } from "../../src/jobs/JobStore.js"
import { namespaces } from "../../src/Policies.js"
import type { Backend } from "../jobs/backend.js"
import { ask, site } from "./harness.js"
import { undecided } from "./played.js"

const stateOf = (jobId: string) =>
  Effect.map(
    Effect.flatMap(JobStore, (jobs) => jobs.get(jobId)),
    (row) => Option.getOrThrow(row).delivery
  )
/** on each database */
export const reviews = (backend: Backend) =>
  describe(`reviews on ${backend.name}`, () => {
    it.scopedLive("tell what is known, and take a verdict once, with a note", () =>
      Effect.gen(function* () {
        yield* undecided("a")
        yield* undecided("b")
        const { body } = yield* ask("GET", "/api/reviews")
        assert.deepStrictEqual(body.reviews.map((r: any) => [r.jobId, r.state, r.receiver]).sort(), [
          ["a", "unknown", "https://receiver.example/reports"],
          ["b", "unknown", "https://receiver.example/reports"]
        ])
        const of = (jobId: string) => body.reviews.find((r: any) => r.jobId === jobId)
        const decide = (jobId: string, verdict: string, note = "they say so") =>
          ask("POST", `/api/reviews/${jobId}`, {
            body: { attempt: of(jobId).attempt, callSeq: of(jobId).callSeq, verdict, note }
          })
        assert.strictEqual((yield* decide("a", "happened", "")).status, 400)
        assert.deepStrictEqual((yield* decide("a", "happened")).body, { state: "completed" })
        assert.strictEqual(yield* stateOf("a"), "delivered")
        assert.deepStrictEqual((yield* decide("b", "did not happen")).body, { state: "retryable" })
        // the outbox sends it again
        assert.strictEqual(yield* stateOf("b"), "pending")
        assert.strictEqual((yield* decide("b", "happened")).status, 409)
        assert.deepStrictEqual((yield* ask("GET", "/api/reviews")).body.reviews, [])
        const log = yield* ask("GET", "/api/actions")
        assert.deepStrictEqual(
          log.body.actions.map((a: any) => [a.action, a.subject, a.detail.verdict, a.detail.note]),
          [
            ["decide", "b", "did not happen", "they say so"],
            ["decide", "a", "happened", "they say so"]
          ]
        )
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("the rows of deliveries follow the ledger also when more are open than a page has", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        for (const id of ["a", "b", "c"]) yield* undecided(id)
        const { body } = yield* ask("GET", "/api/reviews")
        const { attempt, callSeq } = body.reviews.find((r: any) => r.jobId === "a")
        const key = { namespace: namespaces.deliveries, key: "a", attempt, callSeq }
        yield* Ledger.decide(key, Verdict.DidNotHappen())
        const one = JobStore.of({ ...jobs, list: (q) => jobs.list({ ...q, limit: 1 }) })
        assert.strictEqual(yield* Effect.provideService(Deliveries.follow, JobStore, one), 1)
        assert.deepStrictEqual(
          [yield* stateOf("a"), yield* stateOf("b"), yield* stateOf("c")],
          ["pending", "unknown", "unknown"]
        )
      }).pipe(Effect.provide(site({ backend })))
    )
  })
