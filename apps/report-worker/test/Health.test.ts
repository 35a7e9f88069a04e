import { ConsumerEvent } from "@effect-sqs/core/ConsumerEvent"
import * as SqliteFile from "@effect-sqs/ledger/SqliteFile"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as Health from "../src/http/Health.js"
import * as NodeServer from "../src/http/NodeServer.js"

const Database = Layer.unwrapScoped(
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(path.join(tmpdir(), "health-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    ),
    (folder) => SqliteFile.layer({ filename: path.join(folder, "jobs.db") })
  )
)

/** a database that never answers */
const Silent = Layer.succeed(SqlClient.SqlClient, (() => Effect.never) as unknown as SqlClient.SqlClient)

const serving = (database: Layer.Layer<SqlClient.SqlClient, unknown>) =>
  Health.layerServer.pipe(
    Layer.provideMerge(Health.Health.layer.pipe(Layer.provide(database))),
    Layer.provideMerge(NodeHttpServer.layerTest)
  )

const ask = (url: string) =>
  Effect.gen(function* () {
    const response = yield* HttpClient.get(url)
    return { status: response.status, body: yield* response.json }
  })

const queue = "report-jobs"
const events = {
  started: ConsumerEvent.Started({ queue, at: 0, notes: [] }),
  recovered: ConsumerEvent.PollRecovered({ queue, at: 0 }),
  paused: ConsumerEvent.Paused({ queue, at: 0 }),
  draining: ConsumerEvent.Draining({ queue, at: 0, running: 1, waiting: 0 })
}

describe("Health", () => {
  it.scopedLive("who asks before it can be answered, or when that is over, is told to come again", () =>
    Effect.gen(function* () {
      const begin = yield* Deferred.make<void>()
      const server = yield* Layer.build(NodeServer.layer({ host: "127.0.0.1", port: 0 }))
      const { address } = Context.get(server, HttpServer.HttpServer)
      const url = `http://127.0.0.1:${address._tag === "TcpAddress" ? address.port : 0}/health/live`
      const asked = Effect.promise(async (signal) => {
        const response = await fetch(url, { signal })
        return [response.status, response.headers.get("retry-after"), await response.text()]
      })
      const away = [503, "1", '{"_tag":"Unavailable","message":"the worker starts or ends: ask again in a moment"}']
      const scope = yield* Scope.make()
      const answering = yield* Layer.unwrapEffect(Effect.as(Deferred.await(begin), Health.layerServer)).pipe(
        Layer.provide(Health.Health.layer),
        Layer.provide(Database),
        Layer.provide(Layer.succeedContext(server)),
        Layer.buildWithScope(scope),
        Effect.fork
      )
      assert.deepStrictEqual(yield* asked, away)
      yield* Deferred.succeed(begin, undefined)
      yield* Fiber.join(answering)
      assert.deepStrictEqual(yield* asked, [200, null, '{"live":true}'])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* asked, away)
    })
  )

  it.live("ready from the consumer's start until its drain; alive all the time", () =>
    Effect.gen(function* () {
      const { observe } = yield* Health.Health
      assert.deepStrictEqual(yield* ask("/health/ready"), {
        status: 503,
        body: { ready: false, missing: ["the worker has not begun to receive"] }
      })
      yield* observe(events.started)
      assert.deepStrictEqual(yield* ask("/health/ready"), { status: 200, body: { ready: true, missing: [] } })
      yield* observe(events.paused)
      assert.strictEqual((yield* ask("/health/ready")).status, 200)
      yield* observe(events.draining)
      // a receive that is answered in the drain does not make it ready again
      yield* observe(events.recovered)
      assert.deepStrictEqual(yield* ask("/health/ready"), {
        status: 503,
        body: { ready: false, missing: ["the worker stops"] }
      })
      assert.deepStrictEqual(yield* ask("/health/live"), { status: 200, body: { live: true } })
      assert.strictEqual((yield* ask("/health/secrets")).status, 404)
    }).pipe(Effect.provide(serving(Database)))
  )

  it.live("a database that does not answer: not ready, but alive", () =>
    Effect.gen(function* () {
      yield* Effect.flatMap(Health.Health, ({ observe }) => observe(events.started))
      assert.deepStrictEqual(yield* ask("/health/ready"), {
        status: 503,
        body: { ready: false, missing: ["the database does not answer"] }
      })
      assert.strictEqual((yield* ask("/health/live")).status, 200)
    }).pipe(Effect.provide(serving(Silent)))
  )
})
