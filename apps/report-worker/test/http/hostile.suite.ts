/** Requests of somebody who means no good, or is in a hurry. */
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { Backend } from "../jobs/backend.js"
import * as ActionLog from "../../src/http/ActionLog.js"
import { Live } from "../../src/http/Live.js"
import { JobStore } from "../../src/jobs/JobStore.js"
import { ask, ownTmp, queue, site, until } from "./harness.js"
import { bodyOf, finish, jobOf, letterOf, undecided } from "./played.js"
import { rawRequest } from "./rawRequest.js"

const actions = Effect.map(
  ask("GET", "/api/actions?limit=1000"),
  ({ body }) => body.actions as ReadonlyArray<{ action: string; subject: string; detail: any }>
)

/** on each database */
export const hostile = (backend: Backend) =>
  describe(`requests of the hostile and the hasty on ${backend.name}`, () => {
    it.scopedLive("nothing but JSON of a length that is said is read, and nothing of it gets onto the disk", () =>
      Effect.gen(function* () {
        const temporary = yield* ownTmp
        const form = `--x\r\ncontent-disposition: form-data; name="a"; filename="a"\r\n\r\n${"y".repeat(2000)}\r\n--x--\r\n`
        const types = [
          "multipart/form-data; boundary=x",
          "multipart/form-data",
          "text/plain; application/json",
          "x",
          ""
        ]
        for (const path of ["/api/login", "/api/jobs", "/api/consuming", "/api/jobs/a/cancel"]) {
          for (const type of types) {
            const headers = { "content-type": type }
            const answer = yield* rawRequest({ method: "POST", path, body: form, headers })
            assert.deepStrictEqual([answer.status, JSON.parse(answer.text)._tag], [415, "NotJson"], `${path} ${type}`)
          }
          for (const kib of [1, 100, 3000]) {
            const answer = yield* rawRequest({ method: "POST", path, body: "x".repeat(kib * 1024), chunked: true })
            assert.strictEqual(answer.status, 411)
          }
        }
        assert.deepStrictEqual(yield* temporary, [])
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("what asks for another protocol is an ordinary request", () =>
      Effect.gen(function* () {
        const headers = { connection: "upgrade", upgrade: "websocket" }
        const submitted = yield* rawRequest({
          method: "POST",
          path: "/api/jobs",
          body: JSON.stringify(bodyOf("a")),
          headers
        })
        assert.strictEqual(submitted.status, 202)
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("what is nested by the thousand is refused, what is long is not told again", () =>
      Effect.gen(function* () {
        for (const [open, close] of [
          ["[", "]"],
          ['{"a":', "}"]
        ] as const) {
          const deep = `${open.repeat(4500)}1${close.repeat(4500)}`
          const raw = `{"job":{"report":"flight-delays","locale":"\\"[","jobId":${deep}},"messageIds":${deep}}`
          for (const where of ["/api/jobs", "/api/dead-letters/redrive"]) {
            const { body, status } = yield* ask("POST", where, { raw })
            assert.deepStrictEqual([status, body.message], [400, "the body has more than 32 levels"])
          }
        }
        const long = yield* ask("POST", "/api/dead-letters/redrive", { body: { messageIds: { a: "x".repeat(9000) } } })
        assert.deepStrictEqual([long.status, long.text.length < 1000], [400, true])
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive(
      "many submit under one id at once: one is accepted, the same are told so, others are turned away",
      () =>
        Effect.gen(function* () {
          const answers = yield* Effect.forEach(
            Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? "pdf" : "csv")),
            (format) => ask("POST", "/api/jobs", { body: bodyOf("one", { format }) }),
            { concurrency: "unbounded" }
          )
          const winner = answers.find(({ status }) => status === 202)!
          const tally = (status: number) => answers.filter((a) => a.status === status).length
          assert.deepStrictEqual([tally(202), tally(200), tally(409)], [1, 14, 15])
          for (const { body, status } of answers) {
            if (status === 200) assert.strictEqual(body.job.job.format, winner.body.job.job.format)
          }
          assert.strictEqual((yield* actions).length, 1)
        }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("two persons decide at once: one verdict holds, the other is told so, and the log has the one", () =>
      Effect.gen(function* () {
        const verdicts = ["happened", "did not happen", "happened", "did not happen"]
        for (const id of ["a", "b"]) {
          yield* undecided(id)
          const { body } = yield* ask("GET", "/api/reviews")
          const { attempt, callSeq } = body.reviews.find((r: any) => r.jobId === id)
          const answers = yield* Effect.forEach(
            verdicts,
            (verdict) => ask("POST", `/api/reviews/${id}`, { body: { attempt, callSeq, verdict, note: "says so" } }),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409])
          const held = verdicts[answers.findIndex(({ status }) => status === 200)]
          const [action] = (yield* actions).filter(({ subject }) => subject === id)
          assert.strictEqual(action.detail.verdict, held)
          const row = yield* ask("GET", `/api/jobs/${id}`)
          assert.strictEqual(row.body.job.delivery, held === "happened" ? "delivered" : "pending")
        }
        assert.strictEqual((yield* actions).length, 2)
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("a dead letter that several send back at once is sent once; one that is completed is not sent", () =>
      Effect.gen(function* () {
        const virtual = yield* VirtualSqs.VirtualSqs
        const jobs = yield* JobStore
        yield* jobs.accept(jobOf("done"))
        yield* finish(jobOf("done"), "the report")
        const [one, two, done] = [
          yield* letterOf("one", "x"),
          yield* letterOf("two", "x"),
          yield* letterOf("done", "x")
        ]
        const redrive = (...messageIds: ReadonlyArray<string>) =>
          Effect.map(ask("POST", "/api/dead-letters/redrive", { body: { messageIds } }), ({ body }) => body)
        const absent = "not in the dead-letter queue now, or in somebody else's hands"
        const three = yield* Effect.all([redrive(one), redrive(one), redrive(one)], { concurrency: "unbounded" })
        assert.deepStrictEqual(three.map(({ sent }) => sent).sort(), [0, 0, 1])
        for (const { kept, reasons, sent } of three) {
          if (sent === 0) assert.deepStrictEqual([kept, reasons], [1, [{ outcome: "kept", why: absent, count: 1 }]])
        }
        // asked for twice in one breath, and one that is gone
        const again = yield* redrive(two, two, one)
        assert.deepStrictEqual([again.sent, again.kept], [1, 1])
        assert.deepInclude(again.reasons, { outcome: "kept", why: absent, count: 1 })
        const completed = yield* redrive(done)
        assert.deepStrictEqual([completed.sent, completed.deleted, completed.kept], [0, 1, 0])
        assert.strictEqual((yield* virtual.messages(queue)).length, 2)
        assert.strictEqual((yield* virtual.messages("jobs-dlq")).length, 0)
      }).pipe(Effect.provide(site({ backend, sqsTimes: 20 })))
    )

    it.scopedLive("not everybody waits for everybody's look into the dead-letter queue", () =>
      Effect.gen(function* () {
        yield* letterOf("one", "x")
        const answers = yield* Effect.forEach(Array.from({ length: 12 }), () => ask("GET", "/api/dead-letters"), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [
          ...Array.from({ length: 5 }, () => 200),
          ...Array.from({ length: 7 }, () => 503)
        ])
        assert.strictEqual((yield* ask("GET", "/api/dead-letters")).body.looked, 1)
      }).pipe(Effect.provide(site({ backend, sqsTimes: 20 })))
    )

    it.scopedLive("what was changed is in the log, also when who asked did not wait for the answer", () =>
      Effect.gen(function* () {
        const ids = Array.from({ length: 24 }, (_, i) => `j-${i}`)
        yield* Effect.forEach(
          ids,
          (id, i) =>
            Effect.zipRight(
              ask("POST", "/api/jobs", { body: bodyOf(id) }).pipe(Effect.timeoutOption(`${2 + i} millis`)),
              ask("POST", `/api/jobs/${id}/cancel`).pipe(Effect.timeoutOption(`${2 + i} millis`))
            ),
          { discard: true }
        )
        const letters = yield* Effect.forEach(["a", "b", "c", "d"], (id) => letterOf(id, "x"))
        for (const [i, messageId] of letters.entries()) {
          yield* ask("POST", "/api/dead-letters/redrive", { body: { messageIds: [messageId] } }).pipe(
            Effect.timeoutOption(`${50 + 60 * i} millis`)
          )
        }
        // the last one is waited for, and with it those before it
        const last = yield* letterOf("e", "x")
        yield* ask("POST", "/api/dead-letters/redrive", { body: { messageIds: [last] } })
        const { body } = yield* ask("GET", "/api/jobs?limit=100")
        const logged = yield* until(actions, (all) => all.some(({ subject }) => subject === last))
        const had = (action: string) =>
          logged
            .filter((a) => a.action === action)
            .map(({ subject }) => subject)
            .sort()
        assert.deepStrictEqual(had("submit"), body.jobs.map((row: any) => row.job.jobId).sort())
        assert.deepStrictEqual(
          had("cancel"),
          body.jobs
            .filter((row: any) => row.state === "cancelled")
            .map((row: any) => row.job.jobId)
            .sort()
        )
        const virtual = yield* VirtualSqs.VirtualSqs
        const still = (yield* virtual.messages("jobs-dlq")).map(({ messageId }) => messageId)
        assert.deepStrictEqual(had("redrive"), [...letters, last].filter((id) => !still.includes(id)).sort())
      }).pipe(Effect.provide(site({ backend, sqsTimes: 20 })))
    )

    it.scopedLive(
      "a redrive that the end of the worker cuts is in the log with what it did; the rest is put back",
      () =>
        Effect.gen(function* () {
          const database = yield* backend.fresh
          const scope = yield* Scope.make()
          const context = yield* Layer.buildWithScope(
            site({ backend: { ...backend, fresh: Effect.succeed(database) }, sqsTimes: 20 }),
            scope
          )
          const virtual = Context.get(context, VirtualSqs.VirtualSqs)
          const messageIds = yield* Effect.forEach(
            Array.from({ length: 60 }, (_, i) => `j-${i}`),
            (id) => letterOf(id, "x")
          ).pipe(Effect.provide(context))
          const asked = ask("POST", "/api/dead-letters/redrive", { body: { messageIds } }).pipe(Effect.provide(context))
          const asking = yield* Effect.fork(Effect.exit(asked))
          yield* until(virtual.messages(queue), (sent) => sent.length > 0)
          yield* Scope.close(scope, Exit.void)
          yield* Fiber.join(asking)
          const sent = (yield* virtual.messages(queue)).length
          const left = yield* virtual.messages("jobs-dlq")
          assert.strictEqual(sent + left.length, 60)
          assert.isAbove(left.length, 0)
          assert.isTrue(left.every(({ state }) => state === "visible"))
          const [action] = yield* Effect.flatMap(ActionLog.ActionLog, (log) => log.list({ limit: 10 })).pipe(
            Effect.provide(ActionLog.layer.pipe(Layer.provide(database)))
          )
          assert.deepStrictEqual([action?.action, action?.detail["sent"]], ["redrive", sent])
        })
    )

    it.scopedLive("a page of another site starts nothing, not even a look", () =>
      Effect.gen(function* () {
        yield* letterOf("one", "x")
        const live = yield* Live
        for (const headers of [
          { "sec-fetch-site": "cross-site" },
          { "sec-fetch-site": "same-site" },
          { origin: "http://evil.example" }
        ]) {
          for (const where of ["/api/dead-letters", "/api/events", "/api/jobs", "/api/jobs/a/report"]) {
            const { body, status } = yield* ask("GET", where, { headers: headers as Record<string, string> })
            assert.deepStrictEqual([status, body._tag], [403, "CrossSite"], where)
          }
        }
        assert.strictEqual(yield* live.watchers, 0)
        const virtual = yield* VirtualSqs.VirtualSqs
        assert.deepStrictEqual(
          (yield* virtual.messages("jobs-dlq")).map(({ receiveCount }) => receiveCount),
          [0]
        )
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("a time beyond the year 9999 is none, and what is wrong is said once", () =>
      Effect.gen(function* () {
        const submit = (notBefore: number) => ask("POST", "/api/jobs", { body: { ...bodyOf("a"), notBefore } })
        for (const at of [Number.MAX_SAFE_INTEGER, 253_402_300_800_000, 0, -1, 1.5]) {
          const { body, status } = yield* submit(at)
          assert.deepStrictEqual(
            [status, body.message],
            [400, "notBefore: expected epoch milliseconds, a whole number up to the year 9999"]
          )
        }
        assert.strictEqual((yield* submit(253_402_300_799_999)).status, 202)
        const search = yield* ask("GET", "/api/jobs?text=%25")
        assert.strictEqual(search.body.message, "text: expected at most 48 letters, digits or hyphens")
      }).pipe(Effect.provide(site({ backend })))
    )
  })
