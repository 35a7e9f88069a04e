/** The contract's backend on PostgreSQL. */
import * as PgStore from "@effect-sqs/ledger/PgStore"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Layer, Redacted } from "effect"
import { type Backend, SqlRows } from "../../test/support/backend.js"

/** the database of this run; the setup has started it or found it in the environment */
export const client = (options: { readonly maxConnections?: number; readonly url?: string } = {}) =>
  PgClient.layer({
    url: Redacted.make(options.url ?? process.env.LEDGER_PG_URL!),
    maxConnections: options.maxConnections ?? 50,
    applicationName: "effect-sqs-ledger-tests"
  })

/** on Effect's clock */
export const postgres: Backend = {
  name: "PostgreSQL",
  layer: Layer.merge(PgStore.layerEffectClock, SqlRows).pipe(Layer.provide(client()), Layer.orDie)
}
