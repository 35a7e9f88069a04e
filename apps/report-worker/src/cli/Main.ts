/**
 * The command line: the tree of commands, and how each ends: a sentence instead of a stack trace, and an exit code.
 *
 * @since 0.1.0
 */
import * as Screen from "@effect-sqs/cli/Screen"
import type * as CliApp from "@effect/cli/CliApp"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Span from "@effect/cli/HelpDoc/Span"
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { reportingFailures } from "../Failures.js"
import * as CancelCommand from "./CancelCommand.js"
import { badInput, ExitCode, exitCodeOf } from "./CliError.js"
import * as DecideCommand from "./DecideCommand.js"
import * as DrillCommand from "./DrillCommand.js"
import * as ListCommand from "./ListCommand.js"
import * as StatusCommand from "./StatusCommand.js"
import { Stop } from "./Stop.js"
import * as SubmitCommand from "./SubmitCommand.js"
import * as WorkerCommand from "./WorkerCommand.js"

const NAME = "report-worker"
const VERSION = "0.1.0"

const root = Command.make(NAME).pipe(
  Command.withDescription(
    HelpDoc.blocks([
      HelpDoc.p(
        "Makes reports from jobs of an SQS queue. Jobs stand in a database first; where it is, and all else, is set in the environment: worker --help tells all settings."
      ),
      HelpDoc.p(
        [
          "  submit   puts jobs into the database, by flags or from a file, and waits for them if asked",
          "  status   all of a job, with its history; --follow waits until it has ended",
          "  list     the jobs, newest first",
          "  cancel   a job that nobody wants any more",
          "  decide   a person's verdict on a delivery of which nobody knows whether it happened",
          "  worker   does the jobs, until it is stopped",
          "  drill    the three drills before a deploy, with the settings of the environment"
        ].join("\n")
      )
    ])
  ),
  Command.withSubcommands([
    SubmitCommand.command,
    StatusCommand.command,
    ListCommand.command,
    CancelCommand.command,
    DecideCommand.command,
    WorkerCommand.command,
    DrillCommand.command
  ])
)

const footer = HelpDoc.blocks([
  HelpDoc.h1("EXIT CODES"),
  HelpDoc.enumeration([
    HelpDoc.p("0  done; with --wait or --follow: the report is there, and delivered where that was asked for"),
    HelpDoc.p(
      "1  with --wait or --follow: it is not. The worker: it could not start or go on, or its stop was not complete"
    ),
    HelpDoc.p("2  flags, arguments, files or settings that cannot be used"),
    HelpDoc.p("3  there is no such job, its id names another one, or it is not in a state for this"),
    HelpDoc.p("4  the database cannot be used"),
    HelpDoc.p("130  stopped by Ctrl-C or SIGTERM; a worker that stops in order ends with 0")
  ]),
  HelpDoc.p(`Completions for a shell: ${NAME} --completions bash, zsh or fish.`)
])

const app: Omit<CliApp.CliApp.ConstructorArgs<never>, "command"> = {
  name: NAME,
  version: VERSION,
  executable: NAME,
  summary: Span.text("reports from jobs of an SQS queue"),
  footer
}

const ANSI = /\u001b\[[0-9;]*m/g

/** What the library of commands prints is coloured always; here only where colours are seen. */
const withoutColours = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Console.consoleWith((given) => {
    const strip = (args: ReadonlyArray<unknown>) => args.map((a) => (typeof a === "string" ? a.replace(ANSI, "") : a))
    return Effect.withConsole(effect, {
      ...given,
      log: (...args) => given.log(...strip(args)),
      error: (...args) => given.error(...strip(args))
    })
  })

/**
 * A command line that runs, and the exit code that follows from how it ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface Run {
  /** fails with an error that is told on stderr already */
  readonly program: Effect.Effect<void, unknown>
  readonly exitCodeOf: (exit: Exit.Exit<unknown, unknown>) => number
}

/**
 * A command line, `args` being those of `process.argv`.
 *
 * @since 0.1.0
 * @category running
 */
export const make = (args: ReadonlyArray<string>): Run => {
  const stop = { exitCode: ExitCode.stopped as number }
  const asked = args.length <= 2 ? [...args, "--help"] : args
  const command = Command.run(
    root,
    app
  )(asked).pipe(
    // the text of a ValidationError is out already
    Effect.mapError((e) => (ValidationError.isValidationError(e) ? badInput("See --help.") : e)),
    Effect.provide(
      Layer.mergeAll(
        NodeContext.layer,
        Screen.layer,
        CliConfig.layer({ showBuiltIns: false, showTypes: false }),
        Layer.succeed(Stop, stop)
      )
    ),
    reportingFailures
  )
  return {
    program: Effect.suspend(() => (Screen.hasColours() ? command : withoutColours(command))),
    exitCodeOf: (exit) => {
      if (Exit.isSuccess(exit)) return ExitCode.ok
      return Cause.isInterruptedOnly(exit.cause) ? stop.exitCode : exitCodeOf(Cause.squash(exit.cause))
    }
  }
}
