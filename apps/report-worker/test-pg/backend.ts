/** The jobs' tests on PostgreSQL: a database for each, on the server of this run. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { randomUUID } from "node:crypto"
import * as Database from "../src/jobs/Database.js"
import type { Backend } from "../test/jobs/backend.js"

/** over a connection to the server's own database */
export const admin = <A, E>(self: Effect.Effect<A, E, PgClient.PgClient>) =>
  Effect.orDie(
    Effect.provide(self, PgClient.layer({ url: Redacted.make(process.env["LEDGER_PG_URL"]!), maxConnections: 2 }))
  )

/** the URL of a new database, gone with the scope */
export const freshUrl = Effect.acquireRelease(
  Effect.suspend(() => {
    const name = `jobs_${randomUUID().replaceAll("-", "")}`
    return Effect.as(admin(Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(`CREATE DATABASE ${name}`))), name)
  }),
  (name) => admin(Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(`DROP DATABASE ${name} WITH (FORCE)`)))
).pipe(
  Effect.map((name) => {
    const url = new URL(process.env["LEDGER_PG_URL"]!)
    url.pathname = `/${name}`
    return url.toString()
  })
)

/** a connection of its own to this database, as another process has it */
export const databaseOf = (url: string) => Layer.fresh(Database.layer({ _tag: "PostgreSQL", url: Redacted.make(url) }))

export const postgres: Backend = {
  name: "PostgreSQL",
  fresh: Effect.map(freshUrl, databaseOf)
}
