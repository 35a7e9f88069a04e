/**
 * The ledger on PostgreSQL, through the `SqlClient` that the application has already (`@effect/sql-pg`).
 *
 * The clock is the database's, so that processes whose clocks differ agree on who may take over. Give the ledger the same
 * client as your own tables: only then their rows and the completion are one transaction. A client needs at least two
 * connections; a query that is cut off is cancelled over another one.
 *
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { LedgerStoreError } from "./LedgerError.js"
import { LedgerStore } from "./LedgerStore.js"
import { toStoreError } from "./internal/sqlErrors.js"
import { epochMs } from "./internal/instant.js"
import { migration } from "./internal/sqlMigration.js"
import * as sqlStore from "./internal/sqlStore.js"

/**
 * Creates the tables `effect_ledger` and `effect_ledger_memory` where they are missing. May be run again, and by several
 * processes at once: they wait for each other on an advisory lock. Also fits a record of `@effect/sql`'s Migrator.
 *
 * @since 0.1.0
 * @category migrations
 */
export const migrate: Effect.Effect<void, LedgerStoreError, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => Effect.mapError(migration(sql), toStoreError("migrate"))
)

const store = Effect.map(SqlClient.SqlClient, (sql) =>
  sqlStore.make(sql, Effect.succeed(sql.literal("(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)")))
)

/**
 * The store, without creating its tables: for roles that may not, and for those who migrate on their own.
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

/**
 * As `layer`, but the time is Effect's `Clock`, so that `TestClock` drives a real database. For tests: in production the
 * clocks of processes differ.
 *
 * @since 0.1.0
 * @category testing
 */
export const layerEffectClock: Layer.Layer<LedgerStore, LedgerStoreError, SqlClient.SqlClient> = Layer.effect(
  LedgerStore,
  Effect.zipRight(
    migrate,
    Effect.map(SqlClient.SqlClient, (sql) =>
      sqlStore.make(
        sql,
        Effect.map(epochMs, (ms) => sql`CAST(${ms} AS BIGINT)`)
      )
    )
  )
)
