/**
 * The ledger in an SQLite file, through the `SqlClient` that the application has already.
 *
 * One process a file is the rule: SQLite has one writer, and its calls block the event loop. `SqliteFile.layer` gives a
 * client that waits for other processes without blocking. The clock is Effect's.
 *
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { LedgerStoreError } from "./LedgerError.js"
import { LedgerStore } from "./LedgerStore.js"
import { epochMs } from "./internal/instant.js"
import { retryConflicts } from "./internal/retries.js"
import { toStoreError } from "./internal/sqlErrors.js"
import { migration } from "./internal/sqlMigration.js"
import * as sqlStore from "./internal/sqlStore.js"

/**
 * Creates the tables `effect_ledger` and `effect_ledger_memory` where they are missing. May be run again, and by several
 * processes at once: SQLite lets one write, the others try again.
 *
 * @since 0.1.0
 * @category migrations
 */
export const migrate: Effect.Effect<void, LedgerStoreError, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => retryConflicts(Effect.mapError(migration(sql), toStoreError("migrate")))
)

const store = Effect.map(SqlClient.SqlClient, (sql) =>
  sqlStore.make(
    sql,
    Effect.map(epochMs, (ms) => sql`CAST(${ms} AS BIGINT)`)
  )
)

/**
 * The store, without creating its tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerStore: Layer.Layer<LedgerStore, never, SqlClient.SqlClient> = Layer.effect(LedgerStore, store)

/**
 * Migrates, then gives the store.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<LedgerStore, LedgerStoreError, SqlClient.SqlClient> = Layer.effect(
  LedgerStore,
  Effect.zipRight(migrate, store)
)
