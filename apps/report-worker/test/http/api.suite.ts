import { JobEnded } from "../../src/jobs/JobError.js"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { reportJobs } from "../../src/ReportJob.js"
import type { Backend } from "../jobs/backend.js"
import { ask, consuming, queue, site, TheSite, until } from "./harness.js"
import { bodyOf, finish, jobOf, letterOf } from "./played.js"

const actions = Effect.map(ask("GET", "/api/actions"), ({ body }) =>
  body.actions.map((a: any) => [a.actor, a.action, a.subject])
)

/** on each database */
export const api = (backend: Backend) =>
  describe(`the API on ${backend.name}`, () => {
    it.scopedLive("takes a job once, and says so", () =>
      Effect.gen(function* () {
        const first = yield* ask("POST", "/api/jobs", { body: bodyOf("den") })
        assert.deepStrictEqual([first.status, first.body.accepted, first.body.job.state], [202, true, "accepted"])
        const again = yield* ask("POST", "/api/jobs", { body: bodyOf("den") })
        assert.deepStrictEqual([again.status, again.body.accepted], [200, false])
        const other = yield* ask("POST", "/api/jobs", { body: bodyOf("den", { period: "2001-03" }) })
        assert.deepStrictEqual([other.status, other.body._tag], [409, "Conflict"])
        const later = yield* ask("POST", "/api/jobs", { body: { ...bodyOf("later"), notBefore: 4_102_444_800_000 } })
        assert.strictEqual(later.body.job.state, "scheduled")
        // what changed nothing is no action
        assert.deepStrictEqual(yield* actions, [
          ["local", "submit", "later"],
          ["local", "submit", "den"]
        ])
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("tells in sentences what is wrong with a job, and keeps nothing of it", () =>
      Effect.gen(function* () {
        const wrong = yield* ask("POST", "/api/jobs", { body: bodyOf("../etc", { period: "2001-13" }) })
        assert.strictEqual(wrong.status, 400)
        assert.match(
          wrong.body.message,
          /jobId: expected 1 to 48 lower-case letters, digits or hyphens, not "\.\.\/etc"/
        )
        // all that is wrong at once, field by field
        assert.match(wrong.body.message, /period: expected 2001-01, 2001-02, 2001-03 or 2001-Q1/)
        for (const raw of ["{", "", "[]", "null", '"x"', '{"job":{}}', '{"job":{"report":"none"}}']) {
          assert.strictEqual((yield* ask("POST", "/api/jobs", { raw })).status, 400, raw)
        }
        const huge = JSON.stringify(bodyOf("a", { airport: "x".repeat(70_000) }))
        assert.strictEqual((yield* ask("POST", "/api/jobs", { raw: huge })).status, 413)
        assert.deepStrictEqual((yield* ask("GET", "/api/jobs")).body.jobs, [])
        for (const where of ["/api/jobs/..%2F..%2Fetc", "/api/jobs/none", "/api/none", "/api/jobs/none/report"]) {
          assert.include([400, 404], (yield* ask("GET", where)).status, where)
        }
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("lists page by page, by state and by text; one with its history; cancels once", () =>
      Effect.gen(function* () {
        for (const id of ["a-1", "a-2", "b-1"]) yield* ask("POST", "/api/jobs", { body: bodyOf(id) })
        const ids = (where: string) =>
          Effect.map(ask("GET", where), ({ body }) => [body.jobs.map((row: any) => row.job.jobId), body.next])
        const [first, next] = yield* ids("/api/jobs?limit=2")
        const [rest, end] = yield* ids(`/api/jobs?limit=2&after=${next}`)
        assert.deepStrictEqual([...first, ...rest].sort(), ["a-1", "a-2", "b-1"])
        assert.isUndefined(end)
        assert.deepStrictEqual((yield* ids("/api/jobs?text=B-"))[0], ["b-1"])
        assert.deepStrictEqual((yield* ids("/api/jobs?state=running&state=failed"))[0], [])
        for (const wrong of ["state=none", "limit=0", "limit=2000", "after=x", "text=%25"]) {
          assert.strictEqual((yield* ask("GET", `/api/jobs?${wrong}`)).status, 400, wrong)
        }
        assert.strictEqual((yield* ask("POST", "/api/jobs/a-1/cancel")).body.state, "cancelled")
        assert.strictEqual((yield* ask("POST", "/api/jobs/a-1/cancel")).status, 200)
        assert.strictEqual((yield* ask("POST", "/api/jobs/none/cancel")).status, 404)
        const one = yield* ask("GET", "/api/jobs/a-1")
        assert.deepStrictEqual(
          one.body.events.map((e: any) => e.kind),
          ["accepted", "cancelled"]
        )
        assert.strictEqual(one.body.report.state, "cancelled")
        yield* finish(jobOf("b-1"), "pdf")
        const late = yield* ask("POST", "/api/jobs/b-1/cancel")
        assert.deepStrictEqual(
          [late.status, late.body.message],
          [409, new JobEnded({ jobId: "b-1", state: "completed" }).message]
        )
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("gives finished reports, and nothing else", () =>
      Effect.gen(function* () {
        yield* ask("POST", "/api/jobs", { body: bodyOf("den") })
        assert.strictEqual((yield* ask("GET", "/api/jobs/den/report")).status, 404)
        yield* finish(jobOf("den"), "the report")
        const kept = yield* ask("GET", "/api/jobs/den/report")
        assert.deepStrictEqual([kept.status, kept.text], [200, "the report"])
        assert.strictEqual(kept.headers.get("content-type"), "application/pdf")
        assert.match(kept.headers.get("content-disposition")!, /^attachment; filename="den-[0-9a-f]{12}\.pdf"$/)
        assert.strictEqual(kept.headers.get("x-content-type-options"), "nosniff")
        const shown = yield* ask("GET", "/api/jobs/den/report?inline=yes")
        assert.match(shown.headers.get("content-disposition")!, /^inline/)
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("pauses and resumes; says how the worker stands", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* ask("POST", "/api/consuming", { body: { paused: true } })).status, 409)
        const running = yield* Deferred.make<void>()
        const end = yield* Deferred.make<void>()
        const consumer = yield* consuming(() =>
          Effect.zipRight(Deferred.succeed(running, undefined), Deferred.await(end))
        )
        const virtual = yield* VirtualSqs.VirtualSqs
        yield* virtual.send(queue, yield* reportJobs(queue).encode(jobOf("den")))
        yield* Deferred.await(running)
        // the events come beside the consumer
        const now = yield* until(
          ask("GET", "/api/now"),
          ({ body }) => body.leases[0]?.jobId !== undefined && body.leases[0].startedAt !== undefined
        )
        assert.deepStrictEqual([now.body.leases.length, now.body.leases[0].jobId], [1, "den"])
        assert.isAbove(now.body.leases[0].deadline, now.body.at)
        const paused = yield* ask("POST", "/api/consuming", { body: { paused: true } })
        assert.strictEqual(paused.body.state, "paused")
        assert.isTrue((yield* consumer.state).paused)
        assert.strictEqual((yield* ask("GET", "/health/ready")).status, 200)
        yield* ask("POST", "/api/consuming", { body: { paused: false } })
        assert.isFalse((yield* consumer.state).paused)
        yield* Deferred.succeed(end, undefined)
        assert.deepStrictEqual(yield* actions, [
          ["local", "resume", queue],
          ["local", "pause", queue]
        ])
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("dead letters: looked at, one in full, one sent back, one discarded with a reason", () =>
      Effect.gen(function* () {
        const letters = [
          yield* letterOf("one", "no flights of 2001"),
          yield* letterOf("two", "no flights of 2002"),
          yield* letterOf("three", "no such airport")
        ]
        const list = yield* ask("GET", "/api/dead-letters")
        assert.strictEqual(list.status, 200)
        assert.deepStrictEqual(
          list.body.groups.map((g: any) => [g.reason, g.count, g.messageIds.length]),
          [
            ["no flights of #", 2, 2],
            ["no such airport", 1, 1]
          ]
        )
        const one = yield* ask("GET", `/api/dead-letters/${letters[0]}`)
        assert.deepStrictEqual([one.body.jobId, one.body.reason], ["one", "no flights of 2001"])
        assert.strictEqual((yield* ask("GET", "/api/dead-letters/none")).status, 404)

        // the ledger has the third as cancelled: it is not sent again
        yield* ask("POST", "/api/jobs", { body: bodyOf("three") })
        yield* ask("POST", "/api/jobs/three/cancel")
        const redriven = yield* ask("POST", "/api/dead-letters/redrive", {
          body: { messageIds: [letters[0], letters[2]] }
        })
        assert.deepStrictEqual(
          [redriven.status, redriven.body.sent, redriven.body.kept, redriven.body.deleted],
          [200, 1, 1, 0]
        )
        const virtual = yield* VirtualSqs.VirtualSqs
        assert.strictEqual((yield* virtual.messages(queue)).length, 1)
        const alone = yield* ask("POST", "/api/dead-letters/redrive", { body: { messageIds: [letters[2]] } })
        assert.deepStrictEqual(
          [alone.body.sent, alone.body.kept, alone.body.reasons.map((r: any) => r.why)],
          [0, 1, ["cancelled in the ledger: discard it"]]
        )

        assert.strictEqual(
          (yield* ask("POST", "/api/dead-letters/discard", { body: { messageIds: [letters[1]], reason: " " } })).status,
          400
        )
        const discarded = yield* ask("POST", "/api/dead-letters/discard", {
          body: { messageIds: [letters[1]], reason: "asked for by mistake" }
        })
        assert.strictEqual(discarded.body.discarded, 1)
        assert.strictEqual((yield* virtual.messages("jobs-dlq")).length, 1)
        const { folder } = yield* TheSite
        assert.isTrue(discarded.body.keptIn.startsWith(folder))
        assert.deepStrictEqual(
          (yield* actions).map(([, action]: [string, string]) => action),
          ["discard", "redrive", "redrive", "cancel", "submit"]
        )
      }).pipe(Effect.provide(site({ backend, sqsTimes: 20 })))
    )

    it.scopedLive("describes itself", () =>
      Effect.gen(function* () {
        const { body } = yield* ask("GET", "/openapi.json")
        assert.include(Object.keys(body.paths), "/api/jobs/{id}/report")
        assert.include(Object.keys(body.paths["/api/jobs"].post.responses), "409")
        // a token by either way, or none where none is asked for; who logs in has none yet
        assert.deepStrictEqual(body.components.securitySchemes, {
          token: { type: "http", scheme: "bearer" },
          login: { type: "apiKey", in: "cookie", name: "report-worker" }
        })
        assert.deepStrictEqual(body.paths["/api/now"].get.security, [{ token: [] }, { login: [] }, {}])
        assert.deepStrictEqual(body.paths["/api/login"].post.security, [])
        const metrics = yield* ask("GET", "/metrics")
        assert.strictEqual(metrics.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
        assert.strictEqual((yield* ask("GET", "/health/live")).status, 200)
        assert.strictEqual((yield* ask("GET", "/health/ready")).status, 503)
      }).pipe(Effect.provide(site({ backend })))
    )
  })
