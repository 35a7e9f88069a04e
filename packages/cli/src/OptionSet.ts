/**
 * A set of options that a lab tries: a name, a worker's options, and what of them is no plain option.
 *
 * @since 0.1.0
 */
import * as ConsumerOptions from "@effect-sqs/core/ConsumerOptions"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import { badInput, type CliError } from "./CliError.js"
import { parseDuration, show } from "./Durations.js"
import * as WorkerFile from "./WorkerFile.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface OptionSet {
  readonly name: string
  readonly worker: WorkerFile.WorkerFile
  readonly onLeaseLost: "interrupt" | "continue"
  /** of the queue */
  readonly maxReceiveCount: number
}

const MAX_RECEIVE_COUNT = 5

/** Of `lease`, which is meant most often, the group may be left out. */
const paths = new Map<string, ReadonlyArray<string>>(
  ConsumerOptions.table.flatMap(({ option }) => {
    const path = option.split(".")
    return [[option, path] as const, ...(path[0] === "lease" ? [[path[1]!, path] as const] : [])]
  })
)

const others = ["onLeaseLost", "maxReceiveCount", "redelivery.first", "redelivery.max"]

const valueOf = (text: string): unknown => {
  if (/^\d+$/.test(text)) return Number(text)
  if (text === "true" || text === "false") return text === "true"
  const duration = parseDuration(text)
  // what the options are decoded from, and can be printed
  return duration === undefined ? text : `${Duration.toMillis(duration)} millis`
}

/** Bare numbers of durations are seconds, as in all flags. */
const durations = /^(lease\.|receive\.(waitTime|linger)|settlement\.|drain\.(timeout|interruptTimeout)|redelivery\.)/

/**
 * From `name:key=value,key=value`, as `long:visibility=2m,heartbeat=1m,concurrency=16`. Keys are those of the options page; of
 * `lease.` the group may be left out; beside them `onLeaseLost`, `maxReceiveCount`, `redelivery.first`, `redelivery.max`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromText = (text: string): Either.Either<OptionSet, CliError> => {
  const [, name, rest] = /^([^:=,]+)(?::(.*))?$/.exec(text) ?? []
  const wrong = (what: string) => Either.left(badInput(`--set ${text}: ${what}`))
  if (name === undefined) return wrong("expected NAME:KEY=VALUE,KEY=VALUE as beats:visibility=30s,heartbeat=15s.")
  const json: Record<string, unknown> = {}
  for (const pair of rest === undefined || rest === "" ? [] : rest.split(",")) {
    const [, key, value] = /^([^=]+)=(.+)$/.exec(pair) ?? []
    if (key === undefined || value === undefined) return wrong(`"${pair}" is not of the form KEY=VALUE.`)
    const path = paths.get(key) ?? (others.includes(key) ? key.split(".") : undefined)
    if (path === undefined) {
      return wrong(
        `there is no option ${key}; there are ${[...ConsumerOptions.table.map((r) => r.option), ...others].join(", ")}.`
      )
    }
    const parsed =
      /^\d+(\.\d+)?$/.test(value) && durations.test(path.join(".")) ? `${Number(value) * 1000} millis` : valueOf(value)
    const [first, second] = path
    if (second === undefined) json[first!] = parsed
    else json[first!] = { ...(json[first!] as Record<string, unknown> | undefined), [second]: parsed }
  }
  return fromJson(name, json, `--set ${name}`)
}

const fromJson = (name: string, json: Readonly<Record<string, unknown>>, source: string) => {
  const { maxReceiveCount = MAX_RECEIVE_COUNT, onLeaseLost = "interrupt", ...rest } = json
  if (onLeaseLost !== "interrupt" && onLeaseLost !== "continue") {
    return Either.left(badInput(`${source}: onLeaseLost must be "interrupt" or "continue".`))
  }
  if (
    typeof maxReceiveCount !== "number" ||
    !Number.isInteger(maxReceiveCount) ||
    maxReceiveCount < 1 ||
    maxReceiveCount > 1000
  ) {
    return Either.left(badInput(`${source}: maxReceiveCount must be a whole number from 1 to 1000.`))
  }
  return Either.map(WorkerFile.fromText(JSON.stringify(rest), source), (worker): OptionSet => ({
    name,
    worker,
    onLeaseLost,
    maxReceiveCount
  }))
}

/**
 * From a file: `{"name": {options}, …}`, the options as in a worker's file, and beside them `onLeaseLost` and
 * `maxReceiveCount`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromFile = (text: string, source: string): Either.Either<ReadonlyArray<OptionSet>, CliError> => {
  const expected = 'Expected option sets by name, as {"beats": {"lease": {"visibility": "30 seconds"}}}.'
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return Either.left(badInput(`${source}: this is no JSON. ${expected}`))
  }
  if (!isRecord(json) || Object.keys(json).length === 0) return Either.left(badInput(`${source}: ${expected}`))
  return Either.all(
    Object.entries(json).map(([name, options]) =>
      isRecord(options)
        ? fromJson(name, options, `${source}, ${name}`)
        : Either.left(badInput(`${source}, ${name}: ${expected}`))
    )
  )
}

const isRecord = (u: unknown): u is Readonly<Record<string, unknown>> =>
  typeof u === "object" && u !== null && !Array.isArray(u)

/**
 * What is set, in a line: `visibility 30s, heartbeat off`.
 *
 * @since 0.1.0
 * @category rendering
 */
export const describe = ({ maxReceiveCount, onLeaseLost, worker }: OptionSet): string => {
  const words: Array<string> = []
  const visit = (value: unknown, path: string): void => {
    if (isRecord(value)) {
      for (const [key, inner] of Object.entries(value))
        visit(inner, path === "" || path === "lease" ? key : `${path}.${key}`)
      return
    }
    const millis = typeof value === "string" ? /^(\d+(?:\.\d+)?) millis$/.exec(value)?.[1] : undefined
    words.push(`${path} ${millis === undefined ? String(value) : show(Number(millis))}`)
  }
  visit(worker.options, "")
  if (worker.redelivery !== undefined) {
    const { firstSeconds, maxSeconds } = worker.redelivery
    words.push(`redelivery ${show(firstSeconds * 1000)} to ${show(maxSeconds * 1000)}`)
  }
  if (onLeaseLost === "continue") words.push("continues when its lease is lost")
  if (maxReceiveCount !== MAX_RECEIVE_COUNT) words.push(`maxReceiveCount ${maxReceiveCount}`)
  return words.length === 0 ? "defaults" : words.join(", ")
}
