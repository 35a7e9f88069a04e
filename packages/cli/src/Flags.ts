/**
 * Flags that several commands share.
 *
 * @since 0.1.0
 */
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { parseDuration } from "./Durations.js"

const refuse = (sentence: string) => ValidationError.invalidValue(HelpDoc.p(sentence))

/**
 * A text that must be of some form, else the sentence that says of which.
 *
 * @since 0.1.0
 * @category constructors
 */
export const checked = <A>(name: string, parse: (text: string) => A | undefined, rule: string): Options.Options<A> =>
  Options.text(name).pipe(Options.mapEffect((text) => one(name, text, parse, rule)))

const one = <A>(name: string, text: string, parse: (text: string) => A | undefined, rule: string) => {
  const value = parse(text)
  return value === undefined ? Effect.fail(refuse(`--${name} ${text}: ${rule}.`)) : Effect.succeed(value)
}

/**
 * A flag that may be left out: `undefined` then.
 *
 * @since 0.1.0
 * @category constructors
 */
export const optional = <A>(option: Options.Options<A>): Options.Options<A | undefined> =>
  Options.map(Options.optional(option), Option.getOrUndefined)

/**
 * A flag that may be given several times, each a text of some form.
 *
 * @since 0.1.0
 * @category constructors
 */
export const repeated = <A>(
  name: string,
  parse: (text: string) => A | undefined,
  rule: string
): Options.Options<ReadonlyArray<A>> =>
  Options.text(name).pipe(
    Options.repeated,
    Options.mapEffect((texts) => Effect.forEach(texts, (text) => one(name, text, parse, rule)))
  )

/**
 * A path. Whether the file is there is found when it is opened.
 *
 * @since 0.1.0
 * @category constructors
 */
export const path = (name: string): Options.Options<string> =>
  checked(name, (text) => (text === "" ? undefined : text), "expected a path").pipe(Options.withPseudoName("file"))

/**
 * A duration: `90`, `90s`, `2m`, `1.5h`, `500ms`, `"2 minutes"`; seconds where no unit is given.
 *
 * @since 0.1.0
 * @category constructors
 */
export const duration = (name: string): Options.Options<Duration.Duration> =>
  checked(name, parseDuration, "expected a duration as 90s, 2m, 1.5h or 500ms").pipe(Options.withPseudoName("duration"))

/**
 * A number that a rule holds for, else the sentence that says of which form it must be.
 *
 * @since 0.1.0
 * @category constructors
 */
export const number = (name: string, isValid: (n: number) => boolean, rule: string): Options.Options<number> =>
  checked(
    name,
    (text) => {
      const n = text.trim() === "" ? NaN : Number(text)
      return Number.isFinite(n) && isValid(n) ? n : undefined
    },
    rule
  ).pipe(Options.withPseudoName("number"))

/**
 * A whole number of a range.
 *
 * @since 0.1.0
 * @category constructors
 */
export const integer = (name: string, min: number, max = Number.MAX_SAFE_INTEGER): Options.Options<number> =>
  number(
    name,
    (n) => Number.isInteger(n) && n >= min && n <= max,
    max === Number.MAX_SAFE_INTEGER
      ? `expected a whole number from ${min}`
      : `expected a whole number from ${min} to ${max}`
  )

const endpointOf = (text: string): string | undefined => {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined
  return text.replace(/\/+$/, "")
}

/**
 * `--endpoint`
 *
 * @since 0.1.0
 * @category flags
 */
export const endpoint: Options.Options<string | undefined> = optional(
  checked("endpoint", endpointOf, "expected a URL as http://localhost:9324").pipe(
    Options.withPseudoName("url"),
    Options.withDescription("where SQS is, as http://localhost:9324; AWS unless given (AWS_ENDPOINT_URL_SQS)")
  )
)

/**
 * `--region`
 *
 * @since 0.1.0
 * @category flags
 */
export const region: Options.Options<string | undefined> = optional(
  checked("region", (text) => (/^[a-z0-9-]+$/.test(text) ? text : undefined), "expected a region as eu-west-1").pipe(
    Options.withPseudoName("region"),
    Options.withDescription(
      "of the queue, as eu-west-1; that of its URL, of AWS_REGION or of your profile unless given"
    )
  )
)

/** 80 characters; a dead-letter queue of a FIFO queue is one too */
const isQueue = (text: string) =>
  /^https?:\/\/.+\/[A-Za-z0-9_-]{1,80}(\.fifo)?$/i.test(text) ||
  /^[A-Za-z0-9_-]{1,75}(\.fifo|[A-Za-z0-9_-]{0,5})$/.test(text)

/**
 * `--queue`, or another flag that names a queue.
 *
 * @since 0.1.0
 * @category flags
 */
export const queueNamed = (name: string, description: string): Options.Options<string> =>
  checked(name, (text) => (isQueue(text) ? text : undefined), "expected the name of a queue, or its URL").pipe(
    Options.withPseudoName("queue"),
    Options.withDescription(description)
  )

/**
 * `--queue`
 *
 * @since 0.1.0
 * @category flags
 */
export const queue: Options.Options<string> = queueNamed("queue", "name or URL of the queue").pipe(
  Options.withAlias("q")
)

/**
 * `--json`
 *
 * @since 0.1.0
 * @category flags
 */
export const json: Options.Options<boolean> = Options.boolean("json").pipe(
  Options.withDescription("the result as JSON, for programs")
)

/**
 * Which SQS: every command that talks to it takes these.
 *
 * @since 0.1.0
 * @category flags
 */
export const connection = { endpoint, region } as const
