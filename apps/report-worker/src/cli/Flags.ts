/**
 * Flags and arguments that several commands share.
 *
 * @since 0.1.0
 */
import * as Checked from "@effect-sqs/cli/Flags"
import * as Args from "@effect/cli/Args"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { JobId } from "../ReportJob.js"
import { badInput, type CliError } from "./CliError.js"

const refuse = (sentence: string) => ValidationError.invalidValue(HelpDoc.p(sentence))

const maxShown = 60

/** As it was typed, without what could not be read on a screen. */
export const shown = (text: string): string => {
  const line = text.replace(/[\p{Cc}\p{Cf}]+/gu, "?")
  return line.length > maxShown ? `${line.slice(0, maxShown)}…` : line
}

/**
 * `--json`
 *
 * @since 0.1.0
 * @category flags
 */
export const json: Options.Options<boolean> = Options.boolean("json").pipe(
  Options.withDescription("the result as JSON on stdout, one object a line; messages stay on stderr")
)

/**
 * One of some words.
 *
 * @since 0.1.0
 * @category flags
 */
export const words = <A extends string>(name: string, all: ReadonlyArray<A>): Options.Options<ReadonlyArray<A>> =>
  Checked.repeated(name, (text) => all.find((word) => word === text), `expected one of ${all.join(", ")}`).pipe(
    Options.withPseudoName(name)
  )

/**
 * The flag is there, its value a text of one line.
 *
 * @since 0.1.0
 * @category flags
 */
export const line = (name: string, maxChars: number): Options.Options<string | undefined> =>
  Checked.optional(
    Options.text(name).pipe(
      Options.mapEffect((text) =>
        text.trim() === "" || text.length > maxChars
          ? Effect.fail(refuse(`--${name}: expected a text of 1 to ${maxChars} characters.`))
          : Effect.succeed(text)
      )
    )
  )

const isJobId = Schema.is(JobId)

/**
 * The arguments after a command: an unknown flag ends up here too, and is told.
 *
 * @since 0.1.0
 * @category arguments
 */
export const args = (name: string, description: string): Args.Args<ReadonlyArray<string>> =>
  Args.text({ name }).pipe(Args.repeated, Args.withDescription(description))

/**
 * So many arguments, or the sentence that says what is missing or too much.
 *
 * @since 0.1.0
 * @category arguments
 */
export const exactly = (
  given: ReadonlyArray<string>,
  names: ReadonlyArray<string>,
  command: string
): Effect.Effect<ReadonlyArray<string>, CliError> => {
  const flag = given.find((text) => text.startsWith("-") && text !== "-")
  if (flag !== undefined) return badInput(`${shown(flag)} is no flag of ${command}: see ${command} --help.`)
  if (given.length === names.length) return Effect.succeed(given)
  return given.length < names.length
    ? badInput(`Give ${names.slice(given.length).join(" and ")}: ${command} ${names.join(" ")}.`)
    : badInput(`${shown(given[names.length]!)} is too much: ${command} ${names.join(" ")}.`)
}

/**
 * The id of a job.
 *
 * @since 0.1.0
 * @category arguments
 */
export const jobId = (text: string): Effect.Effect<string, CliError> =>
  isJobId(text)
    ? Effect.succeed(text)
    : badInput(`${shown(text)} is no id of a job: expected 1 to 48 lower-case letters, digits or hyphens.`)
