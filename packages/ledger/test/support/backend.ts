/** The databases that the contract suite runs on, each with a table of the user's own. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import type { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import * as MemoryStore from "@effect-sqs/ledger/MemoryStore"
import * as SqliteFile from "@effect-sqs/ledger/SqliteFile"
import * as SqliteStore from "@effect-sqs/ledger/SqliteStore"
import * as SqlClient from "@effect/sql/SqlClient"
import { Context, Effect, Layer } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Faults from "./faults.js"

/** the user's table: what must commit or roll back with the completion */
export class Rows extends Context.Tag("test/Rows")<
  Rows,
  {
    readonly insert: (key: string, value: string) => Effect.Effect<void, unknown>
    readonly of: (key: string) => Effect.Effect<ReadonlyArray<string>>
  }
>() {}

export type Services = LedgerStore | Faults.Faults | Rows

export interface Backend {
  readonly name: string
  /** a store on Effect's clock, and the table */
  readonly layer: Layer.Layer<LedgerStore | Rows>
}

export const SqlRows: Layer.Layer<Rows, never, SqlClient.SqlClient> = Layer.effect(
  Rows,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE IF NOT EXISTS business_row (key TEXT NOT NULL, value TEXT NOT NULL)`
    return Rows.of({
      insert: (key, value) => Effect.asVoid(sql`INSERT INTO business_row (key, value) VALUES (${key}, ${value})`),
      of: (key) =>
        sql<{ readonly value: string }>`SELECT value FROM business_row WHERE key = ${key}`.pipe(
          Effect.map((rows) => rows.map((row) => row.value)),
          Effect.orDie
        )
    })
  }).pipe(Effect.orDie)
)

const MemoryRows: Layer.Layer<Rows> = Layer.sync(Rows, () => {
  let rows: ReadonlyArray<readonly [key: string, value: string]> = []
  return Rows.of({
    insert: (key, value) =>
      Effect.suspend(() => {
        const before = rows
        rows = [...rows, [key, value]]
        return MemoryStore.onRollback(() => void (rows = before))
      }),
    of: (key) => Effect.sync(() => rows.filter(([k]) => k === key).map(([, value]) => value))
  })
})

export const memory: Backend = { name: "memory", layer: Layer.merge(MemoryStore.layer, MemoryRows) }

/** a folder of its own, gone with the scope */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "effect-sqs-ledger-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)

export const sqlite: Backend = {
  name: "SQLite",
  layer: Layer.unwrapScoped(
    Effect.map(temporaryFolder, (folder) =>
      Layer.merge(SqliteStore.layer, SqlRows).pipe(
        Layer.provide(SqliteFile.layer({ filename: path.join(folder, "ledger.db") })),
        Layer.orDie
      )
    )
  )
}

/** The ledger as the tests use it. Statements are given all the time they want: the clock is moved while they travel. */
export const ledgerOn = (backend: Backend, options: Ledger.LedgerOptions = {}) =>
  Ledger.layerWith({ claim: "1 minute", storeTimeout: "1 day", ...options }).pipe(
    Layer.provideMerge(Faults.layer),
    Layer.provideMerge(backend.layer),
    Layer.orDie
  )
