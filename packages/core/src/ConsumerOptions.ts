/**
 * The options of a consumer: what each means, its default, and the faults that are found before polling begins.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as Lease from "./Lease.js"

const duration = Schema.transformOrFail(Schema.Any, Schema.DurationFromSelf, {
  strict: true,
  decode: (input, _, ast) => {
    const decoded = Duration.decodeUnknown(input)
    return Option.isSome(decoded) && (typeof input !== "number" || input >= 0)
      ? ParseResult.succeed(decoded.value)
      : ParseResult.fail(new ParseResult.Type(ast, input, 'must be a duration, as "30 seconds" or ms as a number'))
  },
  encode: ParseResult.succeed
})

const between = (min: Duration.DurationInput, max: Duration.DurationInput) =>
  duration.pipe(
    Schema.filter(
      (d) =>
        Duration.between(d, { minimum: Duration.decode(min), maximum: Duration.decode(max) }) ||
        `must be ${Duration.format(min)} to ${Duration.format(max)}`
    )
  )

const whole = (min: number, max: number) =>
  Schema.Number.pipe(
    Schema.filter(
      (n) => (Number.isInteger(n) && n >= min && n <= max) || `must be a whole number from ${min} to ${max}`
    )
  )

const oneOf = <const L extends ReadonlyArray<string>>(...values: L) =>
  Schema.String.pipe(
    Schema.filter((s) => values.includes(s) || `must be ${values.map((v) => JSON.stringify(v)).join(" or ")}`)
  ) as unknown as Schema.Schema<L[number]>

/** An optional field with what people read of it. */
const field = <A, I>(schema: Schema.Schema<A, I>, defaultText: string, description: string) =>
  Schema.optional(Schema.Union(schema, Schema.Undefined).annotations({ description, documentation: defaultText }))

const atMost12h = between("1 second", Duration.seconds(Lease.MAX_VISIBILITY_SECONDS))

const HeartbeatOff = Schema.Literal("off")

/** @internal */
export const OptionsSchema = Schema.Struct({
  concurrency: field(whole(1, 100_000), "10", "handlers that run at once, at most"),
  prefetch: field(
    whole(0, 1_000),
    "by run times, at most 10; 0 above 1 s",
    "deliveries in hand beyond those that run; they wait, leased"
  ),
  lease: Schema.optional(
    Schema.Struct({
      visibility: field(atMost12h, "the queue's own", "how long SQS hides a message from its receive"),
      heartbeat: field(
        Schema.Union(HeartbeatOff, between("500 millis", "11 hours")).annotations({ identifier: "Heartbeat" }),
        "half of visibility",
        'from the receive to the first beat, and from beat to beat; "off": no beats'
      ),
      extendBy: field(atMost12h, "visibility", "what a beat asks, from its sending"),
      limit: field(
        between("1 second", Lease.MAX_LIMIT),
        "12 h less 10 s, SQS's own",
        "how long one delivery is held at most"
      )
    })
  ),
  receive: Schema.optional(
    Schema.Struct({
      waitTime: field(between(0, "20 seconds"), "20 s", "how long a receive waits for a message; whole seconds"),
      linger: field(between(0, "1 second"), "10 ms", "how long a free place waits for others, for a fuller receive"),
      parallel: field(whole(1, 50), "by concurrency, at most 10", "receives open at once, at most")
    })
  ),
  settlement: Schema.optional(
    Schema.Struct({
      linger: field(
        between(0, "5 seconds"),
        "50 ms",
        "how long a settlement waits for others while handlers run, for a fuller call"
      )
    })
  ),
  drain: Schema.optional(
    Schema.Struct({
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
    })
  ),
  deadLetterQueue: field(
    Schema.NonEmptyString,
    "that of the queue's redrive policy",
    "name or URL of the queue that dead-letter copies go to"
  ),
  metrics: field(Schema.Boolean, "true", "whether metrics are counted"),
  spans: field(
    oneOf("off", "link", "parent"),
    '"link", when a tracer is there',
    "spans of receives, runs and settlements; the producer's context as link or as parent"
  )
})

/**
 * Options that are faulty, or that do not fit the queue; all at once.
 *
 * @since 0.1.0
 * @category models
 */
export interface OptionFault {
  /** which option, as `lease.heartbeat` */
  readonly option: string
  /** what it must be, and what to do */
  readonly rule: string
  /** what it is */
  readonly value: string
}

/**
 * The options as a user gives them; every one has a default.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConsumerOptions {
  readonly concurrency?: number | undefined
  readonly prefetch?: number | undefined
  readonly lease?:
    | {
        readonly visibility?: Duration.DurationInput | undefined
        readonly heartbeat?: Duration.DurationInput | "off" | undefined
        readonly extendBy?: Duration.DurationInput | undefined
        readonly limit?: Duration.DurationInput | undefined
      }
    | undefined
  readonly receive?:
    | {
        readonly waitTime?: Duration.DurationInput | undefined
        readonly linger?: Duration.DurationInput | undefined
        readonly parallel?: number | undefined
      }
    | undefined
  readonly settlement?: { readonly linger?: Duration.DurationInput | undefined } | undefined
  /** a duration alone is its `timeout` */
  readonly drain?:
    | Duration.DurationInput
    | {
        readonly timeout?: Duration.DurationInput | undefined
        readonly interruptTimeout?: Duration.DurationInput | undefined
        readonly openReceives?: "await" | "abort" | undefined
      }
    | undefined
  readonly deadLetterQueue?: string | undefined
  readonly metrics?: boolean | undefined
  readonly spans?: "off" | "link" | "parent" | undefined
}

/**
 * Decoded, in ms; what depends on the queue is still open.
 *
 * @internal
 */
export interface Decoded {
  readonly concurrency: number
  readonly prefetch: number | undefined
  readonly visibilityMs: number | undefined
  readonly heartbeatMs: number | "off" | undefined
  readonly extendByMs: number | undefined
  readonly limitMs: number
  readonly waitTimeSeconds: number
  readonly receiveLingerMs: number
  readonly parallel: number
  readonly settlementLingerMs: number
  readonly drain: {
    readonly timeoutMs: number
    readonly interruptTimeoutMs: number
    readonly openReceives: "await" | "abort"
  }
  readonly deadLetterQueue: string | undefined
  readonly metrics: boolean
  readonly spans: "off" | "link" | "parent" | undefined
}

const decodeOptions = Schema.decodeUnknownEither(OptionsSchema, { errors: "all", onExcessProperty: "error" })

const at = (input: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>((u, key) => (u as Record<PropertyKey, unknown> | undefined)?.[key], input)

const show = (value: unknown) => {
  const text =
    typeof value === "string"
      ? JSON.stringify(value)
      : Duration.isDuration(value)
        ? Duration.format(value)
        : String(value)
  return text.slice(0, 60)
}

/** The innermost text of each faulty option, once per option. */
const faultsOf = (error: ParseResult.ParseError, input: unknown): ReadonlyArray<OptionFault> => {
  const faults = new Map<string, OptionFault>()
  for (const issue of ParseResult.ArrayFormatter.formatErrorSync(error)) {
    const option = issue.path.map(String).join(".")
    const unexpected = issue._tag === "Unexpected"
    const rule = unexpected ? "is no option; look at the list of options" : ruleOf(issue.message)
    const known = faults.get(option)
    if (known === undefined || known.rule.length < rule.length) {
      faults.set(option, { option, rule, value: show(at(input, issue.path)) })
    }
  }
  return [...faults.values()]
}

const ruleOf = (message: string) =>
  message.startsWith("must be") ? message : message.replace(/^Expected /, "must be ")

const ms = (d: Duration.Duration | undefined) => (d === undefined ? undefined : Duration.toMillis(d))

const isDrainStruct = (drain: unknown): drain is object =>
  typeof drain === "object" && drain !== null && !Duration.isDuration(drain) && !Array.isArray(drain)

/**
 * Decodes and holds the options against each other.
 *
 * @internal
 */
export const decode = (options: ConsumerOptions): Either.Either<Decoded, ReadonlyArray<OptionFault>> => {
  const input =
    options.drain === undefined || isDrainStruct(options.drain)
      ? options
      : { ...options, drain: { timeout: options.drain } }
  const result = decodeOptions(input)
  if (Either.isLeft(result)) return Either.left(faultsOf(result.left, input))
  const o = result.right
  const concurrency = o.concurrency ?? 10
  const heartbeat = o.lease?.heartbeat
  const decoded: Decoded = {
    concurrency,
    prefetch: o.prefetch,
    visibilityMs: ms(o.lease?.visibility),
    heartbeatMs: heartbeat === "off" ? "off" : ms(heartbeat),
    extendByMs: ms(o.lease?.extendBy),
    limitMs: ms(o.lease?.limit ?? Lease.MAX_LIMIT)!,
    waitTimeSeconds: Math.round(ms(o.receive?.waitTime ?? Duration.seconds(20))! / 1000),
    receiveLingerMs: ms(o.receive?.linger ?? Duration.millis(10))!,
    parallel: o.receive?.parallel ?? Math.min(10, Math.ceil(concurrency / 10) + 1),
    settlementLingerMs: ms(o.settlement?.linger ?? Duration.millis(50))!,
    drain: {
      timeoutMs: ms(o.drain?.timeout ?? Duration.seconds(30))!,
      interruptTimeoutMs: ms(o.drain?.interruptTimeout ?? Duration.seconds(5))!,
      openReceives: o.drain?.openReceives ?? "await"
    },
    deadLetterQueue: o.deadLetterQueue,
    metrics: o.metrics ?? true,
    spans: o.spans
  }
  return Either.right(decoded)
}

/**
 * The lease's settings, once the queue's own visibility is known; and what is wrong with them.
 *
 * @internal
 */
export const leaseSettings = (
  o: Decoded,
  visibilityMs: number
): { readonly settings: Lease.LeaseSettings; readonly faults: ReadonlyArray<OptionFault> } => {
  const heartbeatMs = o.heartbeatMs === "off" ? undefined : (o.heartbeatMs ?? visibilityMs / 2)
  const extendByMs = o.extendByMs ?? visibilityMs
  const faults: Array<OptionFault> = []
  const fault = (option: string, rule: string, valueMs: number) =>
    faults.push({ option, rule, value: Duration.format(valueMs) })
  if (heartbeatMs !== undefined && heartbeatMs >= visibilityMs) {
    fault(
      "lease.heartbeat",
      `must be shorter than visibility (${Duration.format(visibilityMs)}): half of it leaves two tries`,
      heartbeatMs
    )
  }
  if (heartbeatMs !== undefined && heartbeatMs >= extendByMs) {
    fault("lease.heartbeat", `must be shorter than extendBy (${Duration.format(extendByMs)})`, heartbeatMs)
  }
  const lingerMs = o.settlementLingerMs
  return { settings: { visibilityMs, heartbeatMs, extendByMs, lingerMs, limitMs: o.limitMs }, faults }
}

/**
 * One row per option, for docs: generated from the schema that decodes them.
 *
 * @since 0.1.0
 * @category docs
 */
export const table: ReadonlyArray<{ readonly option: string; readonly default: string; readonly description: string }> =
  (() => {
    const rows: Array<{ option: string; default: string; description: string }> = []
    const visit = (ast: SchemaAST.AST, path: string): void => {
      if (ast._tag === "TypeLiteral") {
        for (const p of ast.propertySignatures)
          visit(p.type, path === "" ? String(p.name) : `${path}.${String(p.name)}`)
        return
      }
      const description = ast.annotations[SchemaAST.DescriptionAnnotationId]
      if (typeof description === "string") {
        rows.push({
          option: path,
          default: String(ast.annotations[SchemaAST.DocumentationAnnotationId] ?? ""),
          description
        })
      } else if (ast._tag === "Union") ast.types.forEach((t) => visit(t, path))
    }
    visit(OptionsSchema.ast, "")
    return rows
  })()

const only = <A>(values: Record<string, Option.Option<A>>): Record<string, A> =>
  Object.fromEntries(Object.entries(values).flatMap(([k, v]) => (Option.isSome(v) ? [[k, v.value]] : [])))

/**
 * Options from the environment, every key optional: with the prefix `WORKER` the keys are `WORKER_CONCURRENCY`,
 * `WORKER_LEASE_VISIBILITY`, `WORKER_LEASE_HEARTBEAT` (a duration or `off`), and so on.
 *
 * @since 0.1.0
 * @category config
 */
export const config = (prefix: string): Config.Config<ConsumerOptions> => {
  const describe = (option: string) => table.find((row) => row.option === option)?.description ?? ""
  const get = <A>(option: string, key: string, c: (name: string) => Config.Config<A>) =>
    Config.option(Config.withDescription(c(`${prefix}_${key}`), describe(option)))
  const heartbeat = (name: string) =>
    Config.orElse(
      Config.map(Config.literal("off")(name), (off): Duration.Duration | "off" => off),
      () => Config.duration(name)
    )
  return Config.all({
    concurrency: get("concurrency", "CONCURRENCY", Config.integer),
    prefetch: get("prefetch", "PREFETCH", Config.integer),
    deadLetterQueue: get("deadLetterQueue", "DEAD_LETTER_QUEUE", Config.nonEmptyString),
    lease: Config.all({
      visibility: get("lease.visibility", "LEASE_VISIBILITY", Config.duration),
      heartbeat: get("lease.heartbeat", "LEASE_HEARTBEAT", heartbeat),
      extendBy: get("lease.extendBy", "LEASE_EXTEND_BY", Config.duration),
      limit: get("lease.limit", "LEASE_LIMIT", Config.duration)
    }),
    receive: Config.all({
      waitTime: get("receive.waitTime", "RECEIVE_WAIT_TIME", Config.duration),
      parallel: get("receive.parallel", "RECEIVE_PARALLEL", Config.integer)
    }),
    drain: Config.all({
      timeout: get("drain.timeout", "DRAIN_TIMEOUT", Config.duration),
      interruptTimeout: get("drain.interruptTimeout", "DRAIN_INTERRUPT_TIMEOUT", Config.duration)
    })
  }).pipe(
    Config.map((o): ConsumerOptions => ({
      ...only({ concurrency: o.concurrency, prefetch: o.prefetch }),
      ...only({ deadLetterQueue: o.deadLetterQueue }),
      lease: only<Duration.Duration | "off">(o.lease),
      receive: only<Duration.Duration | number>(o.receive),
      drain: only(o.drain)
    }))
  )
}
