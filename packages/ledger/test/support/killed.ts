/**
 * A worker that is killed between its rows and the completion: `killed.ts sqlite FILE KEY` or `killed.ts pg URL KEY`. It says
 * `inserted` when the rows are written and the transaction is open, and then waits to be killed.
 */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import type { LedgerStoreError } from "@effect-sqs/ledger/LedgerError"
import type { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

const [kind, where, key] = process.argv.slice(2) as [string, string, string]

type Services = Layer.Layer<LedgerStore | SqlClient.SqlClient, unknown>

// only the driver that is used: loading both takes seconds on a busy machine
const sqlite = async (): Promise<Services> => {
  const SqliteFile = await import("@effect-sqs/ledger/SqliteFile")
  const SqliteStore = await import("@effect-sqs/ledger/SqliteStore")
  return Layer.provideMerge(SqliteStore.layer, SqliteFile.layer({ filename: where }))
}

const pg = async (): Promise<Services> => {
  const PgClient = await import("@effect/sql-pg/PgClient")
  const PgStore = await import("@effect-sqs/ledger/PgStore")
  const client: Layer.Layer<SqlClient.SqlClient, unknown> = PgClient.layer({ url: Redacted.make(where) })
  return Layer.provideMerge(
    PgStore.layerEffectClock as Layer.Layer<LedgerStore, LedgerStoreError, SqlClient.SqlClient>,
    client
  )
}

const job = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Ledger.once({ namespace: "tests", key, result: Schema.String }, (claim) =>
    claim.commit(
      Effect.gen(function* () {
        yield* sql`INSERT INTO business_row (key, value) VALUES (${key}, 'the killed one')`
        yield* Effect.sync(() => process.stdout.write("inserted\n"))
        return yield* Effect.never
      })
    )
  )
)

const main = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE IF NOT EXISTS business_row (key TEXT NOT NULL, value TEXT NOT NULL)`
  yield* job
})

const store = kind === "pg" ? pg : sqlite
void store().then((services) => Effect.runPromise(Effect.provide(main, Layer.provideMerge(Ledger.layer, services))))
