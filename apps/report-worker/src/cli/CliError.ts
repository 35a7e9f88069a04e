/**
 * How a command ends when it cannot do what it was asked: one sentence that says what to do, and an exit code.
 *
 * @since 0.1.0
 */
import { hasProperty } from "effect/Predicate"
import * as Schema from "effect/Schema"

/**
 * The exit codes of all commands.
 *
 * @since 0.1.0
 * @category constants
 */
export const ExitCode = {
  ok: 0,
  /** a job did not come out as it should, or the worker could not go on */
  failed: 1,
  /** flags, arguments, files or settings that cannot be used */
  input: 2,
  /** there is no such job, or it is not in a state for this */
  refused: 3,
  /** the database cannot be used */
  database: 4,
  /** Ctrl-C, or SIGTERM; a worker ends with 0 */
  stopped: 130
} as const

/**
 * The end of a command that did not go well.
 *
 * @since 0.1.0
 * @category errors
 */
export class CliError extends Schema.TaggedError<CliError>()("CliError", {
  sentence: Schema.String,
  exitCode: Schema.Number
}) {
  override get message() {
    return this.sentence
  }
}

/**
 * Flags, arguments or files that cannot be used.
 *
 * @since 0.1.0
 * @category constructors
 */
export const badInput = (sentence: string): CliError => new CliError({ sentence, exitCode: ExitCode.input })

/**
 * There is no such job, or it is not in a state for this.
 *
 * @since 0.1.0
 * @category constructors
 */
export const refused = (sentence: string): CliError => new CliError({ sentence, exitCode: ExitCode.refused })

const byTag: Record<string, number> = {
  InvalidSettings: ExitCode.input,
  JobConflict: ExitCode.refused,
  JobNotFound: ExitCode.refused,
  JobEnded: ExitCode.refused,
  LedgerVerdictRefused: ExitCode.refused,
  DatabaseUnavailable: ExitCode.database,
  JobStoreFailed: ExitCode.database,
  LedgerStoreError: ExitCode.database
}

/**
 * The exit code of an error of this program.
 *
 * @since 0.1.0
 * @category getters
 */
export const exitCodeOf = (error: unknown): number => {
  if (error instanceof CliError) return error.exitCode
  return hasProperty(error, "_tag") && typeof error._tag === "string"
    ? (byTag[error._tag] ?? ExitCode.failed)
    : ExitCode.failed
}
