/**
 * The database of jobs, as the commands of people use it: opened for one command, and what fails is a sentence.
 *
 * @since 0.1.0
 */
import type * as Ledger from "@effect-sqs/ledger/Ledger"
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import { existsSync } from "node:fs"
import * as Database from "../jobs/Database.js"
import type { JobStoreFailed } from "../jobs/JobError.js"
import type { JobRow } from "../jobs/JobRow.js"
import { JobStore } from "../jobs/JobStore.js"
import * as Logging from "../Logging.js"
import { type DatabaseAddress, type InvalidSettings, settings } from "../Settings.js"
import { CliError, ExitCode, refused } from "./CliError.js"

/** stdout is for results */
const logger = Logger.replace(
  Logger.defaultLogger,
  Logger.make((options) => void process.stderr.write(`${Logging.line.log(options)}\n`))
)

const advice = (address: DatabaseAddress) =>
  address._tag === "PostgreSQL"
    ? "check REPORT_DATABASE_URL, and that the database is running"
    : "check REPORT_DATABASE and REPORT_OUT, and who may write there"

/**
 * Opens the database that the settings name, for `use`. `make`: a database that is not there is made.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withDatabase =
  (options: { readonly make: boolean }) =>
  <A, E, R>(
    use: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | InvalidSettings | CliError, Exclude<R, JobStore | Ledger.Ledger | SqlClient.SqlClient>> =>
    Effect.gen(function* () {
      const { database } = yield* settings
      if (!options.make && database._tag === "SqliteFile" && !existsSync(database.filename)) {
        return yield* new CliError({
          sentence: `There is no database ${database.filename} yet: submit a job, or set REPORT_DATABASE, REPORT_OUT or REPORT_DATABASE_URL to where the jobs are.`,
          exitCode: ExitCode.database
        })
      }
      const layer = Layer.mapError(
        Database.layer(database),
        (e) => new CliError({ sentence: `${e.message}: ${advice(database)}.`, exitCode: ExitCode.database })
      )
      return yield* Effect.provide(use, layer)
    }).pipe(Effect.provide(logger))

/**
 * A job that must be there.
 *
 * @since 0.1.0
 * @category getters
 */
export const get = (id: string): Effect.Effect<JobRow, CliError | JobStoreFailed, JobStore> =>
  Effect.flatMap(
    Effect.flatMap(JobStore, (jobs) => jobs.get(id)),
    Option.match({
      onNone: () => refused(`There is no job ${id}: report-worker list shows those that there are.`),
      onSome: Effect.succeed
    })
  )
