/**
 * How a command ends when it cannot do what it was asked: one sentence that says what to do, and an exit code.
 *
 * @since 0.1.0
 */
import type { SqsError } from "@effect-sqs/core/SqsError"
import { nameOf } from "@effect-sqs/core/SqsQueue"
import * as Schema from "effect/Schema"

/**
 * The exit codes of all commands.
 *
 * @since 0.1.0
 * @category constants
 */
export const ExitCode = {
  ok: 0,
  /** the command did its work, and what it found is not in order */
  found: 1,
  /** flags, arguments or files that cannot be used */
  input: 2,
  /** SQS cannot be reached, refuses, or does not have the queue */
  sqs: 3,
  /** a fault of this tool */
  defect: 70,
  /** Ctrl-C, or SIGTERM */
  stopped: 130
} as const

/**
 * The end of a command that did not go well. An empty sentence: all is said already.
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
 * The command has said all that there is to say, and it is not good.
 *
 * @since 0.1.0
 * @category constructors
 */
export const notInOrder: CliError = new CliError({ sentence: "", exitCode: ExitCode.found })

/** Where calls go, in words. */
export interface Whereabouts {
  readonly endpoint: string | undefined
  readonly region: string | undefined
}

const place = ({ endpoint, region }: Whereabouts): string => {
  const account = `of the account that these credentials belong to`
  if (endpoint !== undefined) return `at ${endpoint}`
  return region === undefined ? `in the region ${account}` : `in region ${region} ${account}`
}

/**
 * What an error of SQS means for who typed the command.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromSqs = (error: SqsError, where: Whereabouts): CliError =>
  new CliError({ sentence: sentenceOf(error, where), exitCode: ExitCode.sqs })

const sentenceOf = (e: SqsError, where: Whereabouts): string => {
  const queue = nameOf(e.queue)
  switch (e._tag) {
    case "QueueMissing":
      return (
        `There is no queue ${queue} ${place(where)}: check --queue, --region, --endpoint and the account ` +
        `(aws sqs list-queues shows what there is).`
      )
    case "AccessDenied":
      return `${e.action} on ${queue} is not allowed: let the policy of these credentials allow it, or use others (AWS_PROFILE).`
    case "CredentialsExpired":
      return e.code === "CredentialsProviderError"
        ? "No credentials were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        : `The credentials were not accepted (${e.code}): renew them, use others (AWS_PROFILE), and check --region and this machine's clock.`
    case "NetworkError":
      return `${where.endpoint ?? "SQS"} cannot be reached (${e.code}): check ${where.endpoint === undefined ? "--region and the network" : "--endpoint, and that it is running"}.`
    case "RefusedInput":
      if (/^no region/.test(e.detail)) return "No region is known: give --region, or set AWS_REGION."
      return e.message
    case "ServiceError":
      return e.code === "NotJson"
        ? `${where.endpoint ?? "The endpoint"} does not speak SQS: check --endpoint.`
        : e.message
    default:
      return e.message
  }
}
