import * as Ledger from "@effect-sqs/ledger/Ledger"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { JobResult } from "../../src/jobs/JobRow.js"
import { JobStore } from "../../src/jobs/JobStore.js"
import { namespaces } from "../../src/Policies.js"
import { FlightDelaysJob } from "../../src/ReportJob.js"
import type { Backend } from "../jobs/backend.js"
import { ask, site } from "./harness.js"

const jobOf = (jobId: string) =>
  new FlightDelaysJob({
    jobId,
    locale: "en",
    period: "2001-02",
    webhook: { url: "https://receiver.example/reports?secret=1", idempotent: false }
  })

/** a delivery whose call nobody saw end */
const undecided = (jobId: string) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const job = jobOf(jobId)
    yield* jobs.accept(job)
    yield* jobs.started(jobId, { receiveCount: 1, nextAt: 0 })
    const result = new JobResult({ artifact: `${jobId}.pdf`, location: "x", bytes: 1, sha256: "x" })
    yield* jobs.finished(jobId, result, { nextAt: 0 })
    yield* Ledger.once({ namespace: namespaces.deliveries, key: jobId, result: Schema.Void }, () =>
      Ledger.outside("ref", Ledger.ambiguous({ timeout: "1 second" }), () => Effect.fail("cut"))
    ).pipe(Effect.ignore)
    yield* jobs.delivery(jobId, "unknown", "cut")
  })

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
  })
