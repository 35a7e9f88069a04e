/**
 * One line for one message, for people first: time, level where it is not ordinary, words, then what belongs to it.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"

const say = (u: unknown): string => (typeof u === "string" ? u : u instanceof Error ? u.message : JSON.stringify(u))

/** A failure is its message; only a defect, which is a bug, is worth its stack. */
const sayCause = (cause: Cause.Cause<unknown>): string =>
  Cause.isInterruptedOnly(cause)
    ? "interrupted"
    : Array.from(Cause.defects(cause)).length > 0
      ? Cause.pretty(cause)
      : say(Cause.squash(cause))

/**
 * The text of a message, without a line end.
 *
 * @since 0.1.0
 * @category loggers
 */
export const line: Logger.Logger<unknown, string> = Logger.make(({ annotations, cause, date, logLevel, message }) =>
  [
    date.toISOString().slice(0, 19) + "Z",
    ...(logLevel === LogLevel.Info ? [] : [logLevel.label.toLowerCase() + ":"]),
    ...(Array.isArray(message) ? message : [message]).map(say),
    ...HashMap.toEntries(annotations).map(([key, value]) => `${key}=${say(value)}`),
    ...(Cause.isEmpty(cause) ? [] : ["—", sayCause(cause)])
  ].join(" ")
)

/**
 * Writes the lines to standard output, from `level` on.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (level: LogLevel.LogLevel): Layer.Layer<never> =>
  Layer.merge(
    Logger.replace(
      Logger.defaultLogger,
      Logger.make((options) => void process.stdout.write(line.log(options) + "\n"))
    ),
    Logger.minimumLogLevel(level)
  )
