/**
 * A `SqlClient` on an SQLite file (`@effect/sql-libsql`) that lives with other processes on the same file: it waits for
 * their locks without blocking the event loop, and gives up with a clear error, never a hang.
 *
 * What it takes care of: SQLite's own waiting blocks the thread, so it is off and the waiting is done here; a connection
 * that was answered SQLITE_BUSY keeps a statement in progress and later fails, or locks others out, so it is closed; and
 * a BEGIN that fails would keep `@effect/sql-libsql`'s only permit for ever, so a transaction begins with its first
 * statement, where a failure rolls back.
 *
 * @since 0.1.0
 */
import * as LibsqlClient from "@effect/sql-libsql/LibsqlClient"
import type * as SqlClient from "@effect/sql/SqlClient"
import type { Client } from "@libsql/client"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { LedgerStoreError } from "./LedgerError.js"
import * as sqliteClient from "./internal/sqliteClient.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface SqliteFileOptions {
  /** path of the file; it is created if missing, and set to WAL */
  readonly filename: string
  /** how long a statement, or the begin of a transaction, waits for another process; default 5 seconds */
  readonly busyTimeout?: Duration.DurationInput | undefined
}

/**
 * The client of one file. One transaction at a time, and statements wait for it: keep transactions short. A slow query
 * blocks the event loop: run reports elsewhere. So does a commit while the disk writes (`synchronous = FULL`: what is
 * committed survives a loss of power): put the file on a disk that is fast to sync.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * import * as Ledger from "@effect-sqs/ledger/Ledger"
 * import * as SqliteFile from "@effect-sqs/ledger/SqliteFile"
 * import * as SqliteStore from "@effect-sqs/ledger/SqliteStore"
 * import * as Layer from "effect/Layer"
 *
 * const Database = SqliteFile.layer({ filename: "jobs.db" })
 * export const LedgerLive = Ledger.layer.pipe(Layer.provide(SqliteStore.layer), Layer.provideMerge(Database))
 */
export const layer = (
  options: SqliteFileOptions
): Layer.Layer<LibsqlClient.LibsqlClient | SqlClient.SqlClient, LedgerStoreError> =>
  Layer.unwrapScoped(
    Effect.map(
      sqliteClient.make(options.filename, Duration.decode(options.busyTimeout ?? "5 seconds")),
      (liveClient: Client) => LibsqlClient.layer({ liveClient: liveClient as never })
    )
  )
