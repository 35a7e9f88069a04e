/** The API on PostgreSQL. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { api } from "../test/http/api.suite.js"
import { streamed } from "../test/http/events.suite.js"
import { fuzz } from "../test/http/fuzz.suite.js"
import { hostile } from "../test/http/hostile.suite.js"
import { reviews } from "../test/http/reviews.suite.js"
import { bodyOf } from "../test/http/played.js"
import { ask, site, until } from "../test/http/harness.js"
import { admin, databaseOf, freshUrl, postgres } from "./backend.js"

api(postgres)
reviews(postgres)
hostile(postgres)
streamed(postgres)
fuzz(postgres)

describe("the API when PostgreSQL does not do as usual", () => {
  it.scopedLive(
    "a database that is away, or where somebody holds the tables, is told in time; afterwards all is as before",
    () =>
      Effect.gen(function* () {
        const url = yield* freshUrl
        const name = new URL(url).pathname.slice(1)
        const backend = { ...postgres, fresh: Effect.succeed(databaseOf(url)) }
        yield* Effect.gen(function* () {
          yield* ask("POST", "/api/jobs", { body: bodyOf("a") })
          const asked = Effect.all(
            [
              ask("GET", "/api/jobs"),
              ask("GET", "/api/jobs/a"),
              ask("GET", "/api/jobs/a/report"),
              ask("POST", "/api/jobs", { body: bodyOf("b") }),
              ask("POST", "/api/jobs/a/cancel"),
              ask("GET", "/api/now"),
              ask("GET", "/health/ready")
            ],
            { concurrency: "unbounded" }
          ).pipe(
            Effect.map((answers) => answers.map(({ status }) => status)),
            Effect.timeout("25 seconds")
          )
          const other = PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })
          yield* Effect.gen(function* () {
            const sql = yield* PgClient.PgClient
            yield* sql.withTransaction(
              Effect.gen(function* () {
                yield* sql`LOCK TABLE report_job, report_event IN ACCESS EXCLUSIVE MODE`
                assert.deepStrictEqual(yield* asked, [503, 503, 503, 503, 503, 200, 503])
              })
            )
          }).pipe(Effect.provide(other))
          yield* until(ask("GET", "/api/jobs"), ({ status }) => status === 200)

          yield* admin(
            Effect.flatMap(PgClient.PgClient, (sql) =>
              Effect.all([
                sql.unsafe(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`),
                sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`
              ])
            )
          )
          assert.deepStrictEqual(yield* asked, [503, 503, 503, 503, 503, 200, 503])
          yield* admin(
            Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS true`))
          )
          yield* until(ask("GET", "/api/jobs"), ({ status }) => status === 200)
          assert.include([200, 202], (yield* ask("POST", "/api/jobs", { body: bodyOf("b") })).status)
        }).pipe(Effect.provide(site({ backend })))
      }),
    120_000
  )
})
