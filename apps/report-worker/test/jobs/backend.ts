/** The databases that the jobs' tests run on. */
import type * as Ledger from "@effect-sqs/ledger/Ledger"
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Database from "../../src/jobs/Database.js"
import type { JobStore } from "../../src/jobs/JobStore.js"

export interface Backend {
  readonly name: string
  /** an empty database of its own; building it again within the scope of `fresh` opens the same one, as another process does */
  readonly fresh: Effect.Effect<
    Layer.Layer<JobStore | Ledger.Ledger | SqlClient.SqlClient, Database.DatabaseUnavailable>,
    never,
    Scope.Scope
  >
}

/** a folder of its own, gone with the scope */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "report-worker-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)

export const sqlite: Backend = {
  name: "SQLite",
  fresh: Effect.map(temporaryFolder, (folder) =>
    Layer.fresh(Database.layer({ _tag: "SqliteFile", filename: path.join(folder, "jobs.db") }))
  )
}
