import { ConsumerEvent } from "@effect-sqs/core/ConsumerEvent"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as http from "node:http"
import * as net from "node:net"
import { Live } from "../../src/http/Live.js"
import { JobEvent } from "../../src/jobs/JobEvent.js"
import { JobStore } from "../../src/jobs/JobStore.js"
import { FlightDelaysJob, reportJobs } from "../../src/ReportJob.js"
import type { Backend } from "../jobs/backend.js"
import { ask, consuming, events, queue, site, TheSite, until } from "./harness.js"

const job = new FlightDelaysJob({ jobId: "den", locale: "en", period: "2001-02" })

const subject = (n: number) => ({ queue, messageId: `m${n}`, receiptHandle: `r${n}`, receiveCount: 1 })

const received = (n: number, at: number) =>
  ConsumerEvent.Received({ ...subject(n), at, deadline: at + 30_000, sentAt: at - 5 })
/** on each database */
export const streamed = (backend: Backend) =>
  describe(`the stream of events on ${backend.name}`, () => {
    it.scopedLive("begins with a snapshot, then tells each change of a delivery and each event of a job", () =>
      Effect.gen(function* () {
        const watching = yield* Effect.fork(
          events((told) => told.some(({ data, event }) => event === "lease" && data.end === "deleted"))
        )
        const live = yield* Live
        yield* until(live.watchers, (n) => n > 0)
        const jobs = yield* JobStore
        yield* consuming((j, delivery) =>
          Effect.zipRight(live.progress(j.jobId, 1, 2), Effect.orDie(delivery.extend("40 seconds")))
        )
        const virtual = yield* VirtualSqs.VirtualSqs
        yield* jobs.accept(job)
        yield* virtual.send(queue, yield* reportJobs(queue).encode(job))
        const told = yield* Fiber.join(watching)
        assert.strictEqual(told[0]!.event, "snapshot")
        const leases = told.filter(({ event }) => event === "lease").map(({ data }) => data)
        const last = leases.at(-1)
        assert.deepStrictEqual([last.jobId, last.run, last.beatCount, last.confirmed], ["den", "success", 1, true])
        assert.isTrue(last.receivedAt <= last.startedAt && last.startedAt <= last.endedAt)
        const numbers = told.map(({ id }) => Number(id.split("-")[1]))
        assert.deepStrictEqual(
          numbers,
          [...numbers].sort((a, b) => a - b)
        )
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("tells what any process writes into the history of a job", () =>
      Effect.gen(function* () {
        const watching = yield* Effect.fork(events((told) => told.some(({ event }) => event === "job")))
        const live = yield* Live
        const jobs = yield* JobStore
        // the first look only learns where the history ends
        yield* until(live.snapshot, ({ snapshot }) => snapshot.counters !== undefined)
        yield* Effect.sleep("300 millis")
        yield* jobs.accept(job)
        const told = yield* Fiber.join(watching)
        const { data } = told.find(({ event }) => event === "job")!
        assert.deepStrictEqual([data.jobId, data.kind], ["den", "accepted"])
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("tells also what was written with an earlier number and seen later, as PostgreSQL has it", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const live = yield* Live
        const jobs = yield* JobStore
        yield* jobs.accept(job)
        const overriding = sql.literal(sql.onDialectOrElse({ pg: () => "OVERRIDING SYSTEM VALUE", orElse: () => "" }))
        const write = (seq: number) =>
          sql`INSERT INTO report_event (seq, job_id, at, kind, detail) ${overriding}
            VALUES (${seq}, ${"den"}, ${1}, ${"waiting"}, ${JSON.stringify({ reason: `number ${seq}` })})`
        yield* write(50)
        const watching = yield* Effect.fork(events((told) => told.filter(({ event }) => event === "job").length === 2))
        yield* until(live.snapshot, ({ snapshot }) => snapshot.counters !== undefined)
        yield* Effect.sleep("300 millis")
        yield* write(40)
        yield* write(60)
        const told = (yield* Fiber.join(watching)).filter(({ event }) => event === "job")
        assert.deepStrictEqual(
          told.map(({ data }) => data.seq),
          [40, 60]
        )
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("goes on where it was left, as long as that is remembered", () =>
      Effect.gen(function* () {
        const live = yield* Live
        const now = yield* Clock.currentTimeMillis
        const first = yield* events((told) => told.length > 0)
        for (let n = 0; n < 3; n++) yield* live.observe(received(n, now + n))
        const id = (seq: number) => `${live.boot}-${seq}`
        const missed = yield* events((told) => told.length >= 3, { "last-event-id": first[0]!.id })
        assert.deepStrictEqual(
          missed.map(({ event, id }) => [event, id]),
          [1, 2, 3].map((n) => ["lease", id(n + Number(first[0]!.id.split("-")[1]))])
        )
        const restarted = yield* events((told) => told.length > 0, { "last-event-id": "00000000-3" })
        assert.deepStrictEqual([restarted[0]!.event, restarted[0]!.data.leases.length], ["snapshot", 3])
        for (let n = 0; n < 3000; n++) yield* live.observe(received(n, now))
        const late = yield* events((told) => told.length > 0, { "last-event-id": first[0]!.id })
        assert.strictEqual(late[0]!.event, "snapshot")
        assert.isAtMost(late[0]!.data.leases.length, 1000)
        assert.strictEqual((yield* events((told) => told.length > 0, { "last-event-id": "x" }))[0]!.event, "snapshot")
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("who does not read does not hold anybody up, and gets a new snapshot", () =>
      Effect.gen(function* () {
        const live = yield* Live
        const { port } = yield* TheSite
        const got = yield* Deferred.make<string>()
        // a socket that is not read
        const request = yield* Effect.acquireRelease(
          Effect.async<{ readonly response: http.IncomingMessage; readonly request: http.ClientRequest }>((resume) => {
            const request = http.get({ host: "127.0.0.1", port, path: "/api/events" }, (response) => {
              response.pause()
              resume(Effect.succeed({ response, request }))
            })
          }),
          ({ request }) => Effect.sync(() => request.destroy())
        )
        yield* until(live.watchers, (n) => n > 0)
        const began = yield* Effect.sync(() => process.hrtime.bigint())
        for (let n = 0; n < 20_000; n++) yield* live.observe(received(n % 500, 1000 + n))
        const tookMs = Number(process.hrtime.bigint() - began) / 1e6
        assert.isBelow(tookMs, 20_000, "20,000 events, nobody reading")
        let snapshots = 0
        request.response.on("data", (chunk: Buffer) => {
          snapshots += chunk.toString("utf8").split("event: snapshot").length - 1
          if (snapshots >= 2) Deferred.unsafeDone(got, Exit.succeed("two"))
        })
        request.response.resume()
        assert.strictEqual(yield* Deferred.await(got), "two")
      }).pipe(Effect.provide(site({ backend })))
    )

    it.live("the server closes at once although streams are open, read, unread and asked for as something else", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const context = yield* Layer.buildWithScope(site({ backend }), scope)
        const live = Context.get(context, Live)
        const { port } = Context.get(context, TheSite)
        const watching = yield* Effect.fork(Effect.exit(events(() => false)).pipe(Effect.provide(context)))
        const sockets = ["", "Connection: Upgrade\r\nUpgrade: websocket\r\n"].map((more) => {
          const socket = net.connect(port, "127.0.0.1").pause()
          socket.on("error", () => {})
          socket.write(`GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}\r\n`)
          return socket
        })
        // and one that never says all it has to say
        sockets.push(net.connect(port, "127.0.0.1").on("error", () => {}))
        sockets
          .at(-1)!
          .write(
            "POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
          )
        yield* until(live.watchers, (n) => n === 3)
        // more than the system takes for those who do not read
        for (let seq = 0; seq < 150; seq++) {
          const data = new JobEvent({
            seq,
            jobId: "den",
            at: 0,
            kind: "waiting",
            detail: { reason: "x".repeat(100_000) }
          })
          yield* live.tell({ kind: "job", data })
          yield* Effect.yieldNow()
        }
        yield* Effect.sleep("300 millis")
        const [took] = yield* Effect.timed(Scope.close(scope, Exit.void))
        assert.isBelow(Duration.toMillis(took), 5000)
        yield* Fiber.join(watching)
        yield* until(live.watchers, (n) => n === 0)
        for (const socket of sockets) socket.destroy()
      })
    )

    it.scopedLive("ends when its browser goes away", () =>
      Effect.gen(function* () {
        const live = yield* Live
        yield* events((told) => told.length > 0)
        yield* until(live.watchers, (n) => n === 0)
        assert.strictEqual((yield* ask("GET", "/api/me")).status, 200)
      }).pipe(Effect.provide(site({ backend })))
    )
  })
