/**
 * The command tree, and how each command ends: a sentence instead of a stack trace, and an exit code.
 *
 * @since 0.1.0
 */
import type * as CliApp from "@effect/cli/CliApp"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Span from "@effect/cli/HelpDoc/Span"
import type * as ValidationError from "@effect/cli/ValidationError"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { CliError, ExitCode } from "./CliError.js"
import { dlq } from "./DeadLetterCommand.js"
import { doctor } from "./DoctorCommand.js"
import { lab } from "./LabCommand.js"
import { plan } from "./PlanCommand.js"
import * as Screen from "./Screen.js"

const NAME = "effect-sqs"
const VERSION = "0.1.0"

const root = Command.make(NAME).pipe(
  Command.withDescription("The operator's tool for queues on Amazon SQS, or on any SQS that --endpoint names."),
  Command.withSubcommands([plan, doctor, dlq, lab])
)

const footer = HelpDoc.blocks([
  HelpDoc.h1("EXIT CODES"),
  HelpDoc.enumeration([
    HelpDoc.p("0  done, and all is in order"),
    HelpDoc.p("1  done, and something is not: doctor found a fault, messages were not sent or failed again"),
    HelpDoc.p("2  flags, arguments or files that cannot be used"),
    HelpDoc.p("3  SQS cannot be reached, refuses, or does not have the queue"),
    HelpDoc.p("130  stopped by Ctrl-C or SIGTERM")
  ]),
  HelpDoc.p(`Completions for a shell: ${NAME} --completions bash, zsh or fish.`)
])

const app: Omit<CliApp.CliApp.ConstructorArgs<never>, "command"> = {
  name: NAME,
  version: VERSION,
  executable: NAME,
  summary: Span.text("plan, doctor, dead letters, lab"),
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

const say = (sentence: string) => (sentence === "" ? Effect.void : Console.error(sentence))

/**
 * Runs a command line, `args` being those of `process.argv`; answers its exit code. It never fails: what went wrong is said
 * on stderr.
 *
 * @since 0.1.0
 * @category running
 */
export const run = (args: ReadonlyArray<string>): Effect.Effect<number> => {
  const asked = args.length <= 2 ? [...args, "--help"] : args
  const command = Command.run(
    root,
    app
  )(asked).pipe(
    Effect.as<number>(ExitCode.ok),
    // commands fail with a CliError, the parser with its own error
    Effect.catchAll((e: CliError | ValidationError.ValidationError) =>
      e instanceof CliError
        ? Effect.as(say(e.sentence), e.exitCode)
        : // its text is out already
          Effect.as(say("See --help."), ExitCode.input)
    ),
    Effect.provide(
      Layer.mergeAll(NodeContext.layer, Screen.layer, CliConfig.layer({ showBuiltIns: false, showTypes: false }))
    )
  )
  return Effect.suspend(() => (Screen.hasColours() ? command : withoutColours(command))).pipe(
    Effect.catchAllCause((cause) => {
      const [defect] = [...Cause.defects(cause)]
      const message = defect instanceof Error ? defect.message : String(defect)
      const trace = process.env.EFFECT_SQS_TRACE === undefined ? "" : `\n${Cause.pretty(cause)}`
      return Effect.as(
        say(`This is a fault of ${NAME}, please report it: ${message} (EFFECT_SQS_TRACE=1 shows where).${trace}`),
        ExitCode.defect
      )
    }),
    Effect.onInterrupt(() => say("Stopped."))
  )
}

/**
 * The exit code of a process that ran `run`.
 *
 * @since 0.1.0
 * @category running
 */
export const exitCodeOf = (exit: Exit.Exit<unknown, unknown>): number =>
  Exit.isSuccess(exit) && typeof exit.value === "number" ? exit.value : ExitCode.stopped
