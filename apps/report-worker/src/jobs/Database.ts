/**
 * The database: one client for the jobs and the ledger.
 *
 * @since 0.1.0
 */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as PgStore from "@effect-sqs/ledger/PgStore"
import * as SqliteFile from "@effect-sqs/ledger/SqliteFile"
import * as SqliteStore from "@effect-sqs/ledger/SqliteStore"
import * as PgClient from "@effect/sql-pg/PgClient"
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { mkdirSync } from "node:fs"
import path from "node:path"
import type { DatabaseAddress } from "../Settings.js"
import type { JobStore } from "./JobStore.js"
import * as SqlJobStore from "./SqlJobStore.js"
import { textOf } from "./text.js"

/**
 * The database cannot be reached, or not be used.
 *
 * @since 0.1.0
 * @category errors
 */
export class DatabaseUnavailable extends Schema.TaggedError<DatabaseUnavailable>()("DatabaseUnavailable", {
  /** without user and password */
  database: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `The database ${this.database} cannot be used: ${this.detail}`
  }
}

/**
 * The address as it may be told: without user, password and parameters.
 *
 * @since 0.1.0
 * @category formatting
 */
export const nameOf = (address: DatabaseAddress): string => {
  if (address._tag === "SqliteFile") return address.filename
  const url = new URL(Redacted.value(address.url))
  return `${url.protocol}//${url.host}${url.pathname}`
}

/** every thread of a small worker, its outbox, and one to cancel a query over */
const maxConnections = 10

const clientOf = (address: DatabaseAddress): Layer.Layer<SqlClient.SqlClient, unknown> =>
  address._tag === "PostgreSQL"
    ? PgClient.layer({ url: address.url, maxConnections, applicationName: "report-worker" })
    : Layer.unwrapEffect(
        Effect.map(
          Effect.try(() => mkdirSync(path.dirname(path.resolve(address.filename)), { recursive: true })),
          () => SqliteFile.layer({ filename: address.filename })
        )
      )

/**
 * Jobs and ledger in one database, its tables made where they are missing. An SQLite file is for one process at a time.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  address: DatabaseAddress,
  options: Pick<Ledger.LedgerOptions, "claim" | "onEvent"> = {}
): Layer.Layer<JobStore | Ledger.Ledger | SqlClient.SqlClient, DatabaseUnavailable> => {
  const ledgerStore: Layer.Layer<
    Layer.Layer.Success<typeof PgStore.layer>,
    Layer.Layer.Error<typeof PgStore.layer>,
    SqlClient.SqlClient
  > = address._tag === "PostgreSQL" ? PgStore.layer : SqliteStore.layer
  return SqlJobStore.layer.pipe(
    Layer.provideMerge(Ledger.layerWith(options).pipe(Layer.provide(ledgerStore))),
    Layer.provideMerge(clientOf(address)),
    Layer.mapError((error) => new DatabaseUnavailable({ database: nameOf(address), detail: textOf(error) }))
  )
}
