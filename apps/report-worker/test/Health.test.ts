import { ConsumerEvent } from "@effect-sqs/core/ConsumerEvent"
import * as SqliteFile from "@effect-sqs/ledger/SqliteFile"
import * as HttpClient from "@effect/platform/HttpClient"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as Health from "../src/http/Health.js"

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
