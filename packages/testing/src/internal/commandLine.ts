/** The flags of the server: read, checked, explained. */
import { parseArgs } from "node:util"
import type { JournalBound } from "../Journal.js"
import { readings, type VirtualSqsPolicy } from "../VirtualSqsPolicy.js"
import { operations } from "./operations.js"
import type { QueueOptions } from "./queueOptions.js"

export interface ServerFlags {
  readonly host: string
  readonly port: number
  readonly accountId: string
  readonly region: string
  /** in an order in which each finds its dead-letter queue */
  readonly queues: ReadonlyArray<QueueOptions>
  readonly deny: ReadonlyArray<string>
  readonly journal: JournalBound
  readonly policy: Partial<VirtualSqsPolicy>
  readonly seed: string | undefined
}

/** A flag that cannot be used, in one sentence. */
export class FlagError {
  readonly _tag = "FlagError"
  constructor(readonly sentence: string) {}
}

export const defaultPort = 9324
const defaultJournal = 1000

const policyHelp = Object.entries(readings)
  .map(([point, all]) => `                          ${point} = ${[...all, "random"].join(" | ")}`)
  .join("\n")

export const help = `A virtual Amazon SQS over HTTP (AWS JSON 1.0), in memory.

Usage: npm run sqs -- [flags]

  --port N                port to listen on, 0 takes any free one (${defaultPort})
  --host HOST             address to listen on (127.0.0.1)
  --queue NAME[,K=V...]   create a queue at the start, with attributes, as jobs,VisibilityTimeout=4;
                          a name that ends in .fifo makes a FIFO queue; repeat for more
  --dlq SOURCE:TARGET:N   messages received N times from SOURCE go to TARGET;
                          creates both where --queue has not; repeat for more
  --deny ACTION           answer AccessDenied to an IAM action, as sqs:ReceiveMessage; repeat for more
  --journal off|N|all     how many entries /_journal keeps (${defaultJournal})
  --account ID            12 digits (000000000000)
  --region NAME           region in the ARNs (us-east-1)
  --policy POINT=READING  how SQS behaves where the evidence is split; repeat for more:
${policyHelp}
  --seed TEXT             what random readings and message ids are drawn from (drawn at the start)
  --help                  this text

Queues can be created by API at any time. Nothing is kept when the server stops.
Look behind with GET /_queues, /_queues/NAME, /_journal; GET /health tells that it is up.
`

const queueOf = (text: string): QueueOptions => {
  const [name = "", ...pairs] = text.split(",")
  if (name === "") throw new FlagError(`--queue ${text}: the name is missing.`)
  const attributes: { [name: string]: string } = {}
  for (const pair of pairs) {
    const at = pair.indexOf("=")
    if (at <= 0) throw new FlagError(`--queue ${text}: "${pair}" is not of the form Attribute=value.`)
    attributes[pair.slice(0, at)] = pair.slice(at + 1)
  }
  return { name, attributes }
}

const withDeadLetters = (
  queues: ReadonlyArray<QueueOptions>,
  flags: ReadonlyArray<string>
): ReadonlyArray<QueueOptions> => {
  const byName = new Map<string, QueueOptions>()
  for (const queue of queues) {
    if (byName.has(queue.name)) throw new FlagError(`--queue ${queue.name}: given twice.`)
    byName.set(queue.name, queue)
  }
  for (const flag of flags) {
    const [source, target, count, ...rest] = flag.split(":")
    if (!source || !target || !count || rest.length > 0 || !/^\d{1,4}$/.test(count)) {
      throw new FlagError(`--dlq ${flag}: expected SOURCE:TARGET:N, as jobs:jobs-dead:5.`)
    }
    const queue = byName.get(source) ?? { name: source }
    if (queue.deadLetters !== undefined)
      throw new FlagError(`--dlq ${flag}: ${source} has a dead-letter queue already.`)
    if (!byName.has(target)) byName.set(target, { name: target })
    byName.set(source, { ...queue, deadLetters: { queue: target, maxReceiveCount: Number(count) } })
  }
  return targetsFirst([...byName.values()])
}

const targetsFirst = (queues: ReadonlyArray<QueueOptions>): ReadonlyArray<QueueOptions> => {
  const sorted: Array<QueueOptions> = []
  const placed = new Set<string>()
  let left = queues
  while (left.length > 0) {
    const ready = left.filter(({ deadLetters }) => deadLetters === undefined || placed.has(deadLetters.queue))
    if (ready.length === 0) {
      throw new FlagError(`--dlq: ${left.map(({ name }) => name).join(", ")} are each other's dead-letter queues.`)
    }
    for (const queue of ready) {
      sorted.push(queue)
      placed.add(queue.name)
    }
    left = left.filter(({ name }) => !placed.has(name))
  }
  return sorted
}

const denied = (action: string): string => {
  const name = action.replace(/^sqs:/i, "")
  if (![...operations.keys()].some((known) => known.toLowerCase() === name.toLowerCase())) {
    throw new FlagError(`--deny ${action}: SQS has no such action; an example is sqs:ReceiveMessage.`)
  }
  return name
}

const policyOf = (flags: ReadonlyArray<string>): Partial<VirtualSqsPolicy> => {
  const known = new Map<string, ReadonlyArray<string>>(Object.entries(readings))
  return Object.fromEntries(
    flags.map((flag) => {
      const at = flag.indexOf("=")
      const point = flag.slice(0, Math.max(0, at))
      const reading = flag.slice(at + 1)
      const all = known.get(point)
      if (all === undefined) {
        throw new FlagError(
          `--policy ${flag}: expected POINT=READING, with POINT one of ${[...known.keys()].join(", ")}.`
        )
      }
      if (reading !== "random" && !all.includes(reading)) {
        throw new FlagError(`--policy ${flag}: ${point} can be ${[...all, "random"].join(", ")}.`)
      }
      return [point, reading]
    })
  )
}

const integer = (flag: string, text: string, max: number): number => {
  if (!/^\d{1,15}$/.test(text) || Number(text) > max) {
    throw new FlagError(`${flag} ${text}: expected a whole number from 0 to ${max}.`)
  }
  return Number(text)
}

const journalOf = (text: string): JournalBound =>
  text === "off" || text === "all" ? text : integer("--journal", text, 10_000_000)

const parse = (args: ReadonlyArray<string>) => {
  try {
    return parseArgs({
      args: [...args],
      options: {
        port: { type: "string", default: String(defaultPort) },
        host: { type: "string", default: "127.0.0.1" },
        queue: { type: "string", multiple: true, default: [] },
        dlq: { type: "string", multiple: true, default: [] },
        deny: { type: "string", multiple: true, default: [] },
        journal: { type: "string", default: String(defaultJournal) },
        account: { type: "string", default: "000000000000" },
        region: { type: "string", default: "us-east-1" },
        policy: { type: "string", multiple: true, default: [] },
        seed: { type: "string" },
        help: { type: "boolean", short: "h", default: false }
      }
    }).values
  } catch (error) {
    const [first = "a flag is wrong"] = (error instanceof Error ? error.message : String(error)).split(/\.\s|\n/)
    throw new FlagError(`${first.replace(/\.$/, "")}.`)
  }
}

/** The flags, or what is asked instead, or what is wrong with them. */
export const readFlags = (args: ReadonlyArray<string>): ServerFlags | "help" | FlagError => {
  try {
    const values = parse(args)
    if (values.help) return "help"
    if (!/^\d{12}$/.test(values.account)) throw new FlagError(`--account ${values.account}: expected 12 digits.`)
    if (!/^[a-z0-9-]+$/.test(values.region)) throw new FlagError(`--region ${values.region}: expected a region's name.`)
    return {
      host: values.host,
      port: integer("--port", values.port, 65_535),
      accountId: values.account,
      region: values.region,
      queues: withDeadLetters(values.queue.map(queueOf), values.dlq),
      deny: values.deny.map(denied),
      journal: journalOf(values.journal),
      policy: policyOf(values.policy),
      seed: values.seed
    }
  } catch (error) {
    if (error instanceof FlagError) return error
    throw error
  }
}

/** What is told when the server is up. */
export const banner = (url: string, region: string, queueUrls: ReadonlyArray<string>): string => {
  const queues =
    queueUrls.length === 0
      ? "No queues yet: create them by API, or with --queue NAME."
      : `Queues:\n\n${queueUrls.map((queue) => `  ${queue}`).join("\n")}`
  return `Virtual SQS on ${url}, in memory.

${queues}

Point an SDK at it:

  export AWS_ENDPOINT_URL_SQS=${url}
  export AWS_REGION=${region} AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local

Look behind: ${url}/_queues and ${url}/_journal. Stop: Ctrl-C.
`
}
