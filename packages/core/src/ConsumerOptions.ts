/**
 * The options of a consumer: what each means, its default, and the faults that are found before polling begins.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as SchemaAST from "effect/SchemaAST"
import { OptionsSchema } from "./internal/optionsSchema.js"

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

/**
 * The name of an option in the environment, behind a prefix: `lease.extendBy` is `LEASE_EXTEND_BY`.
 *
 * @since 0.1.0
 * @category docs
 */
export const envName = (option: string): string =>
  option
    .replace(/[A-Z]/g, (capital) => `_${capital}`)
    .replace(/\./g, "_")
    .toUpperCase()

const given = <A>(values: Record<string, Option.Option<A>>): Record<string, A> =>
  Object.fromEntries(Object.entries(values).flatMap(([k, v]) => (Option.isSome(v) ? [[k, v.value]] : [])))

/**
 * Options from the environment, every key optional: with the prefix `WORKER` the keys are `WORKER_CONCURRENCY`,
 * `WORKER_LEASE_VISIBILITY`, `WORKER_LEASE_HEARTBEAT` (a duration or `off`), and so on for each option of `table`.
 *
 * @since 0.1.0
 * @category config
 * @example
 * import { Consumer, ConsumerOptions, SqsQueue } from "@effect-sqs/core"
 * import { Effect, Schema } from "effect"
 *
 * const Jobs = SqsQueue.make("jobs", { schema: Schema.String })
 *
 * export const worker = Effect.flatMap(ConsumerOptions.config("WORKER"), (options) =>
 *   Consumer.run(Jobs, options, (body) => Effect.log(body))
 * )
 */
export const config = (prefix: string): Config.Config<ConsumerOptions> => {
  const get = <A>(option: string, c: (name: string) => Config.Config<A>): Config.Config<Option.Option<A>> => {
    const description = table.find((row) => row.option === option)?.description ?? ""
    return Config.option(Config.withDescription(c(`${prefix}_${envName(option)}`), description))
  }
  const heartbeat = (name: string) =>
    Config.orElse(
      Config.map(Config.literal("off")(name), (off): Duration.Duration | "off" => off),
      () => Config.duration(name)
    )
  return Config.all({
    top: Config.all({
      concurrency: get("concurrency", Config.integer),
      prefetch: get("prefetch", Config.integer),
      deadLetterQueue: get("deadLetterQueue", Config.nonEmptyString),
      metrics: get("metrics", Config.boolean),
      spans: get("spans", Config.literal("off", "link", "parent"))
    }),
    lease: Config.all({
      visibility: get("lease.visibility", Config.duration),
      heartbeat: get("lease.heartbeat", heartbeat),
      extendBy: get("lease.extendBy", Config.duration),
      limit: get("lease.limit", Config.duration)
    }),
    receive: Config.all({
      waitTime: get("receive.waitTime", Config.duration),
      linger: get("receive.linger", Config.duration),
      parallel: get("receive.parallel", Config.integer)
    }),
    settlement: Config.all({ linger: get("settlement.linger", Config.duration) }),
    drain: Config.all({
      timeout: get("drain.timeout", Config.duration),
      interruptTimeout: get("drain.interruptTimeout", Config.duration),
      openReceives: get("drain.openReceives", Config.literal("await", "abort"))
    })
  }).pipe(
    Config.map(({ drain, lease, receive, settlement, top }): ConsumerOptions => ({
      ...given<number | string | boolean>(top),
      lease: given<Duration.Duration | "off">(lease),
      receive: given<Duration.Duration | number>(receive),
      settlement: given(settlement),
      drain: given<Duration.Duration | string>(drain)
    }))
  )
}
