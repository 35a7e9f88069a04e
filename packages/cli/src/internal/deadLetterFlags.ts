/** The flags of the commands on dead letters. */
import * as Options from "@effect/cli/Options"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as os from "node:os"
import { CliError, ExitCode, fromSqs, badInput } from "../CliError.js"
import * as Connection from "../Connection.js"
import type { DeadLetterError } from "../DeadLetterError.js"
import { type DeadLetterFilter, parseAttribute, parseBody } from "../DeadLetterFilter.js"
import * as Flags from "../Flags.js"

const some = (text: string) => (text.trim() === "" ? undefined : text)

export const filter = {
  attribute: Flags.repeated(
    "attribute",
    parseAttribute,
    "expected NAME, NAME=VALUE, or NAME with !=, <, <=, >, >= or ~ (contains)"
  ).pipe(Options.withDescription("only with this attribute, as tenant=north; may be repeated, all must hold")),
  body: Flags.repeated(
    "body",
    parseBody,
    "expected a path and a comparison, as $.order.tier=gold, $.amount>100, $.items[0].sku~X1 or $.coupon (is there)"
  ).pipe(
    Options.withDescription("only with this in the JSON body, as '$.order.tier=gold'; may be repeated, all must hold")
  ),
  olderThan: Flags.optional(Flags.duration("older-than")).pipe(Options.withDescription("only those sent longer ago")),
  youngerThan: Flags.optional(Flags.duration("younger-than")).pipe(
    Options.withDescription("only those sent since so long")
  ),
  source: Flags.repeated("source", some, "expected the name or ARN of a queue").pipe(
    Options.withDescription("only from this queue, name or ARN; may be repeated, one must hold")
  ),
  reason: Flags.repeated("reason", some, "expected a part of the reason").pipe(
    Options.withDescription(
      "only with this in the reason, in any case; 'none recorded' for those without; may be repeated"
    )
  ),
  type: Flags.repeated("type", some, "expected a type").pipe(
    Options.withDescription("only of this type: attribute type, or _tag or type of the body; may be repeated")
  ),
  id: Flags.repeated("id", some, "expected a MessageId").pipe(
    Options.withDescription("only the message of this MessageId; may be repeated")
  ),
  receivedAtLeast: Flags.optional(Flags.integer("received-at-least", 1)).pipe(
    Options.withDescription("only those received so often, this look included")
  )
} as const

export const anyQueue = Options.boolean("any-queue").pipe(
  Options.withDescription("also a queue that no other names as its dead-letter queue")
)

export const scan = {
  scan: Flags.optional(Flags.integer("scan", 1, 100_000)).pipe(
    Options.withDescription("messages that a look takes at most; 1000 unless given")
  ),
  scanTime: Flags.optional(Flags.duration("scan-time")).pipe(
    Options.withDescription("how long a look takes at most; 1m unless given")
  )
} as const

interface FilterFlags {
  readonly attribute: ReadonlyArray<NonNullable<ReturnType<typeof parseAttribute>>>
  readonly body: ReadonlyArray<NonNullable<ReturnType<typeof parseBody>>>
  readonly olderThan: Duration.Duration | undefined
  readonly youngerThan: Duration.Duration | undefined
  readonly source: ReadonlyArray<string>
  readonly reason: ReadonlyArray<string>
  readonly type: ReadonlyArray<string>
  readonly id: ReadonlyArray<string>
  readonly receivedAtLeast: number | undefined
}

/** Ages become times, so that a plan means later what it meant when it was made. */
export const filterOf = (asked: FilterFlags): Effect.Effect<DeadLetterFilter> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const list = <A>(name: string, values: ReadonlyArray<A>) => (values.length === 0 ? {} : { [name]: values })
    const before = (name: string, age: Duration.Duration | undefined) =>
      age === undefined ? {} : { [name]: now - Duration.toMillis(age) }
    return {
      ...list("attributes", asked.attribute),
      ...list("body", asked.body),
      ...before("sentBefore", asked.olderThan),
      ...before("sentAfter", asked.youngerThan),
      ...list("sources", asked.source),
      ...list("reasons", asked.reason),
      ...list("types", asked.type),
      ...list("messageIds", asked.id),
      ...(asked.receivedAtLeast === undefined ? {} : { receivedAtLeast: asked.receivedAtLeast })
    }
  })

interface ConnectionFlags {
  readonly endpoint: string | undefined
  readonly region: string | undefined
  readonly queue: string
}

/** An error of the library as the end of a command. */
export const ended =
  (where: Connection.Connection) =>
  (e: DeadLetterError | CliError): CliError => {
    switch (e._tag) {
      case "CliError":
        return e
      case "NotADeadLetterQueue":
      case "Refused":
      case "FileUnusable":
        return badInput(e.message)
      case "LedgerUnavailable":
        return new CliError({ sentence: e.message, exitCode: ExitCode.input })
      default:
        return fromSqs(e, where)
    }
  }

/** Runs a command against the SQS that its flags name. */
export const connected = <A, E extends DeadLetterError | CliError, R>(
  asked: ConnectionFlags,
  run: (connection: Connection.Connection) => Effect.Effect<A, E, R>
) =>
  Effect.flatMap(Connection.decide(asked), (connection) =>
    run(connection).pipe(Effect.mapError(ended(connection)), Effect.provide(Connection.layer(connection)))
  )

/** who does it, for logs */
export const actor = (): string => {
  try {
    return `${os.userInfo().username}@${os.hostname()}`
  } catch {
    return `unknown@${os.hostname()}`
  }
}
