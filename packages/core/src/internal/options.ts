/** From the options as they are given to the ones that a consumer works with, and what is wrong with them. */
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { type ConsumerOptions, type OptionFault, table } from "../ConsumerOptions.js"
import * as Lease from "../Lease.js"
import { OptionsSchema } from "./optionsSchema.js"

/** Decoded, in ms; what depends on the queue is still open. */
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

type Path = ReadonlyArray<PropertyKey>

const isRecord = (u: unknown): u is Record<PropertyKey, unknown> =>
  typeof u === "object" && u !== null && !Duration.isDuration(u) && !Array.isArray(u)

const at = (input: unknown, path: Path): unknown =>
  path.reduce<unknown>((u, key) => (isRecord(u) ? u[key] : undefined), input)

/** The same without what these paths lead to, and without what is undefined: that is not given. */
const without = (input: unknown, paths: ReadonlyArray<Path>): unknown => {
  if (!isRecord(input)) return input
  const isLeft = (key: string, value: unknown) =>
    value !== undefined && !paths.some((p) => p.length === 1 && p[0] === key)
  const below = (key: string) => paths.flatMap(([first, ...rest]) => (first === key ? [rest] : []))
  return Object.fromEntries(
    Object.entries(input).flatMap(([key, value]) => (isLeft(key, value) ? [[key, without(value, below(key))]] : []))
  )
}

const show = (value: unknown) => {
  const text =
    typeof value === "string"
      ? JSON.stringify(value)
      : Duration.isDuration(value)
        ? Duration.format(value)
        : String(value)
  return text.slice(0, 60)
}

/** The options that there are below a path, in their order. */
const optionsOf = (path: Path): ReadonlyArray<string> => {
  const rows = table
    .map(({ option }) => option.split("."))
    .filter((names) => path.every((name, i) => names[i] === name))
  return [...new Set(rows.flatMap((names) => names.slice(path.length, path.length + 1)))]
}

const ruleOf = ({ _tag, message, path }: ParseResult.ArrayFormatterIssue): string => {
  if (_tag === "Unexpected") return `is no option; there are ${optionsOf(path.slice(0, -1)).join(", ")}`
  const inside = optionsOf(path)
  return inside.length === 0 ? message : `must be an object with ${inside.join(", ")}`
}

/** Decodes the options. What is faulty counts as not given, so that the rest can be checked too. */
export const decode = (
  given: ConsumerOptions
): { readonly options: Decoded; readonly faults: ReadonlyArray<OptionFault> } => {
  const { drain } = given
  const input = without(drain === undefined || isRecord(drain) ? given : { ...given, drain: { timeout: drain } }, [])
  const result = decodeOptions(input)
  if (Either.isRight(result)) return { options: complete(result.right), faults: [] }
  const issues = ParseResult.ArrayFormatter.formatErrorSync(result.left)
  const rest = decodeOptions(
    without(
      input,
      issues.map((i) => i.path)
    )
  )
  return {
    options: complete(Either.getOrElse(rest, () => ({}))),
    faults: issues.map((issue) => ({
      option: issue.path.map(String).join("."),
      rule: ruleOf(issue),
      value: show(at(input, issue.path))
    }))
  }
}

const ms = (d: Duration.Duration | undefined) => (d === undefined ? undefined : Duration.toMillis(d))

/** With the defaults. */
const complete = (o: typeof OptionsSchema.Type): Decoded => {
  const concurrency = o.concurrency ?? 10
  const heartbeat = o.lease?.heartbeat
  return {
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
}

/** So much earlier a beat may be sent, to fill a call with others: of jobs out of step about as many as beat in a second. */
const BEAT_LINGER_MS = 1_000

/** The lease's settings, once the queue's own visibility is known; and what is wrong with them. */
export const leaseSettings = (
  o: Decoded,
  visibilityMs: number
): { readonly settings: Lease.LeaseSettings; readonly faults: ReadonlyArray<OptionFault> } => {
  const extendByMs = o.extendByMs ?? visibilityMs
  const heartbeatMs = o.heartbeatMs === "off" ? undefined : (o.heartbeatMs ?? Math.min(visibilityMs, extendByMs) / 2)
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
  const settings = { visibilityMs, heartbeatMs, extendByMs, lingerMs: BEAT_LINGER_MS, limitMs: o.limitMs }
  const spareMs = Lease.leastSpareMs(settings)
  const shortestMs = Math.min(visibilityMs, extendByMs)
  if (faults.length === 0 && heartbeatMs !== undefined && shortestMs - heartbeatMs <= spareMs) {
    const slot = `${extendByMs < visibilityMs ? "extendBy" : "visibility"} (${Duration.format(shortestMs)})`
    fault(
      "lease.heartbeat",
      `must be more than ${Duration.format(spareMs)} shorter than ${slot}: so long before its end a lease counts as run out, and a beat would come too late. Half of it leaves two tries`,
      heartbeatMs
    )
  }
  return { settings, faults }
}
