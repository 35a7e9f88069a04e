/** What each option of a consumer may be, with its default and its meaning for people. */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Lease from "../Lease.js"

/** One rule, and one text for all that breaks it, of whatever type. */
const rule = <A>(text: string, isKept: (u: unknown) => boolean): Schema.Schema<A> =>
  Schema.Any.pipe(Schema.filter((u) => isKept(u) || text))

const whole = (min: number, max: number) =>
  rule<number>(
    `must be a whole number from ${min} to ${max}`,
    (u) => typeof u === "number" && Number.isInteger(u) && u >= min && u <= max
  )

const oneOf = <const L extends ReadonlyArray<string>>(...values: L) =>
  rule<L[number]>(`must be ${values.map((v) => JSON.stringify(v)).join(" or ")}`, (u) => values.some((v) => v === u))

const text = rule<string>("must be a text that is not empty", (u) => typeof u === "string" && u !== "")

const trueOrFalse = rule<boolean>("must be true or false", (u) => typeof u === "boolean")

/** Less than nothing, or no number at all: `Duration` would make 0 of it. */
const isNegative = (input: unknown): boolean =>
  typeof input === "number"
    ? !(input >= 0)
    : typeof input === "bigint"
      ? input < 0n
      : typeof input === "string"
        ? input.startsWith("-")
        : Array.isArray(input) && input.some((n) => isNegative(n))

/** A duration in any form, or one of these words. */
const between = <W extends string = never>(
  min: Duration.DurationInput,
  max: Duration.DurationInput,
  ...words: ReadonlyArray<W>
): Schema.Schema<Duration.Duration | W, any> => {
  const or = words.map((w) => `${JSON.stringify(w)} or `).join("")
  const range = { minimum: Duration.decode(min), maximum: Duration.decode(max) }
  return Schema.transformOrFail(Schema.Any, Schema.Any, {
    strict: true,
    decode: (input, _, ast) => {
      if (words.includes(input)) return ParseResult.succeed(input)
      const fail = (what: string) => ParseResult.fail(new ParseResult.Type(ast, input, `must be ${or}${what}`))
      const decoded = Duration.decodeUnknown(input)
      if (Option.isNone(decoded) || isNegative(input)) return fail('a duration, as "30 seconds" or ms as a number')
      if (Duration.between(decoded.value, range)) return ParseResult.succeed(decoded.value)
      return fail(`${Duration.format(range.minimum)} to ${Duration.format(range.maximum)}`)
    },
    encode: ParseResult.succeed
  })
}

const atMost12h = between("1 second", Duration.seconds(Lease.MAX_VISIBILITY_SECONDS))

/** An optional field with what people read of it. */
const field = <A, I>(schema: Schema.Schema<A, I>, documentation: string, description: string) =>
  Schema.optionalWith(schema.annotations({ description, documentation }), { exact: true })

const group = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.optionalWith(Schema.Struct(fields), { exact: true })

export const OptionsSchema = Schema.Struct({
  concurrency: field(whole(1, 100_000), "10", "handlers that run at once, at most"),
  prefetch: field(
    whole(0, 1_000),
    "by run times, at most 20; 0 above 1 s",
    "deliveries in hand beyond those that run; they wait, leased"
  ),
  lease: group({
    visibility: field(atMost12h, "the queue's own", "how long SQS hides a message from its receive"),
    heartbeat: field(
      between("500 millis", "11 hours", "off"),
      "half of visibility, or of extendBy if that is shorter",
      'from the receive to the first beat, and from beat to beat; "off": no beats'
    ),
    extendBy: field(atMost12h, "visibility", "what a beat asks, from its sending"),
    limit: field(
      between("1 second", Lease.MAX_LIMIT),
      "12 h less 10 s, SQS's own",
      "how long one delivery is held at most, from its receive on: waiting counts"
    )
  }),
  receive: group({
    waitTime: field(
      between(0, "20 seconds"),
      "20 s",
      "how long a receive waits for a message; whole seconds. Below 1 s an idle queue is asked once a second"
    ),
    linger: field(between(0, "1 second"), "10 ms", "how long a free place waits for others, for a fuller receive"),
    parallel: field(whole(1, 50), "by concurrency, at most 10", "receives open at once, at most")
  }),
  settlement: group({
    linger: field(
      between(0, "5 seconds"),
      "50 ms",
      "how long a settlement waits for others while handlers run, for a fuller call"
    )
  }),
  drain: group({
    timeout: field(between(0, "12 hours"), "30 s", "how long handlers may run on when the consumer stops"),
    interruptTimeout: field(
      between(0, "1 hour"),
      "5 s",
      "how long their cleanup may take after that, and what is still to be settled once more"
    ),
    openReceives: field(
      oneOf("await", "abort"),
      '"await"',
      "receives that are open at a stop; aborted, one can strand a message for its visibility"
    )
  }),
  deadLetterQueue: field(
    text,
    "that of the queue's redrive policy",
    "name or URL of the queue that dead-letter copies go to"
  ),
  metrics: field(trueOrFalse, "true", "whether metrics are counted"),
  spans: field(
    oneOf("off", "link", "parent"),
    '"link", when a tracer is there',
    "spans of receives, runs and settlements; the producer's context as link or as parent"
  )
})
