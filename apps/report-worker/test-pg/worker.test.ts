/** Workers on PostgreSQL: a database that goes away and comes back, and several workers on one. */
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Database from "../src/jobs/Database.js"
import { JobStore } from "../src/jobs/JobStore.js"
import * as ReportWorker from "../src/ReportWorker.js"
import { job } from "../test/jobs/suite.js"
import { row, settings, Workshop } from "../test/support/workshop.js"
import { admin, freshUrl } from "./backend.js"

const quick = {
  ...settings,
  waitTime: Duration.seconds(1),
  redeliveryFrom: Duration.millis(500),
  redeliveryTo: Duration.seconds(1)
}

/** each try while the database is away takes a receive */
const queues = {
  queues: [
    "jobs-dlq",
    { name: "jobs", attributes: { VisibilityTimeout: 60 }, deadLetters: { queue: "jobs-dlq", maxReceiveCount: 20 } }
  ]
} satisfies VirtualSqs.VirtualSqsOptions

const databaseOf = (url: string) =>
  Layer.fresh(Database.layer({ _tag: "PostgreSQL", url: Redacted.make(url) }, { claim: "10 seconds" }))

const untilAll = (state: string, ids: ReadonlyArray<string>) =>
  Effect.forEach(ids, row).pipe(
    Effect.filterOrFail((rows) => rows.every((r) => r.state === state)),
    Effect.retry(Schedule.spaced("100 millis")),
    Effect.timeout("40 seconds")
  )

const quiet = Logger.minimumLogLevel(LogLevel.None)

describe("workers on PostgreSQL", () => {
  it.scopedLive("the database goes away for some seconds: the worker lives, and the jobs are done", () =>
    Effect.gen(function* () {
      const url = yield* freshUrl
      const name = new URL(url).pathname.slice(1)
      const workshop = new Workshop("")
      workshop.drawing = () => Effect.sleep("1 seconds")
      yield* Effect.gen(function* () {
        const jobs = yield* JobStore
        const ids = ["a", "b", "c", "d"]
        yield* Effect.forEach(ids, (id) => jobs.accept(job(id)))
        const worker = yield* Effect.fork(ReportWorker.run(quick))
        yield* untilAll("running", ["a"])
        yield* admin(
          Effect.flatMap(PgClient.PgClient, (sql) =>
            Effect.all([
              sql.unsafe(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`),
              sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`,
              Effect.sleep("4 seconds"),
              sql.unsafe(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS true`)
            ])
          )
        )
        const rows = yield* untilAll("completed", ids)
        assert.deepStrictEqual(
          rows.map((r) => r.result?.bytes),
          [100, 100, 100, 100]
        )
        // a report each, and the figures of each
        assert.strictEqual(workshop.kept.size, 8)
        assert.deepStrictEqual(yield* (yield* VirtualSqs.VirtualSqs).messages("jobs-dlq"), [])
        yield* Fiber.interrupt(worker)
      }).pipe(Effect.provide(Layer.mergeAll(workshop.around(databaseOf(url)), VirtualSqs.layer(queues), quiet)))
    })
  )

  it.scopedLive("three workers with an outbox each: every job is done once", () =>
    Effect.gen(function* () {
      const url = yield* freshUrl
      const workshop = new Workshop("")
      workshop.drawing = () => Effect.sleep("50 millis")
      yield* Effect.gen(function* () {
        const jobs = yield* JobStore
        const ids = Array.from({ length: 30 }, (_, i) => `j-${i}`)
        yield* Effect.forEach(ids, (id) => jobs.accept(job(id)))
        const workers = yield* Effect.forEach([1, 2, 3], () =>
          Effect.fork(Effect.provide(ReportWorker.run(quick), workshop.around(databaseOf(url))))
        )
        const rows = yield* untilAll("completed", ids)
        yield* Fiber.interruptAll(workers)
        assert.deepStrictEqual(
          rows.map((r) => r.runs),
          ids.map(() => 1)
        )
        assert.deepStrictEqual([workshop.counts.query, workshop.counts.render, workshop.counts.artifacts], [30, 30, 30])
        assert.strictEqual((yield* jobs.counts).completed, 30)
      }).pipe(Effect.provide(Layer.mergeAll(workshop.around(databaseOf(url)), VirtualSqs.layer(queues), quiet)))
    })
  )
})
