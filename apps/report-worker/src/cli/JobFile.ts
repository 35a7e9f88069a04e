/**
 * Jobs as a text: one JSON object, an array of them, or one in each line. All of them are looked at before the first is
 * accepted.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ReportJob } from "../ReportJob.js"
import { badInput, type CliError } from "./CliError.js"
import * as Contract from "./Contract.js"
import { jsonFault } from "./jsonFault.js"

/**
 * So many jobs at a time: one transaction accepts them, and whoever shares an SQLite file waits for it.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxJobs = 1000

/** faults that are told; the rest is counted */
const maxTold = 10

/** where in the text, and what was read there */
interface Piece {
  readonly where: string
  readonly value: unknown
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const refuse = (source: string, faults: ReadonlyArray<string>): CliError => {
  const told = faults.slice(0, maxTold).map((fault) => `  ${fault}`)
  const more = faults.length > maxTold ? [`  and ${faults.length - maxTold} more`] : []
  return badInput([`${source} cannot be used, and nothing of it was accepted:`, ...told, ...more].join("\n"))
}

const noJson = (line: number, what: string) => `line ${line}: this is no JSON, ${what}`

/** a whole document, or lines */
const piecesOf = (text: string, source: string): Effect.Effect<ReadonlyArray<Piece>, CliError> => {
  if (isJson(text)) {
    const value: unknown = JSON.parse(text)
    return Effect.succeed(
      Array.isArray(value)
        ? value.map((one: unknown, i) => ({ where: `job ${i + 1}`, value: one }))
        : [{ where: "", value }]
    )
  }
  const lines = text.split("\n").flatMap((line, i) => (line.trim() === "" ? [] : [{ line, number: i + 1 }]))
  // a document over several lines, or lines of which none is right: the place in the document says more
  if (!lines.some(({ line }) => isJson(line))) {
    const { line, what } = jsonFault(text)
    return refuse(source, [noJson(line, what)])
  }
  const faults = lines.flatMap(({ line, number }) => (isJson(line) ? [] : [noJson(number, jsonFault(line).what)]))
  return faults.length > 0
    ? refuse(source, faults)
    : Effect.succeed(lines.map(({ line, number }) => ({ where: `line ${number}`, value: JSON.parse(line) as unknown })))
}

const same = Schema.equivalence(ReportJob)

/**
 * The jobs of a text; fails with all that is wrong in it.
 *
 * @since 0.1.0
 * @category decoding
 */
export const jobsOf = (text: string, source: string): Effect.Effect<ReadonlyArray<ReportJob>, CliError> =>
  Effect.gen(function* () {
    const stripped = text.replace(/^\uFEFF/, "")
    if (stripped.trim() === "")
      return yield* badInput(`${source} is empty: expected jobs, as JSON or one in each line.`)
    const pieces = yield* piecesOf(stripped, source)
    if (pieces.length === 0) return yield* badInput(`${source} has no jobs: its array is empty.`)
    if (pieces.length > maxJobs) {
      return yield* badInput(`${source} has ${pieces.length} jobs: split it into files of at most ${maxJobs}.`)
    }
    const faults: Array<string> = []
    const seen = new Map<string, { readonly where: string; readonly job: ReportJob }>()
    const jobs = pieces.flatMap(({ value, where }) => {
      const decoded = Contract.decode(value)
      if (decoded._tag === "Left") {
        for (const { fault, path } of decoded.left) {
          faults.push([where, path].filter((part) => part !== "").join(", ") + `: ${fault}`)
        }
        return []
      }
      const job = decoded.right
      const before = seen.get(job.jobId)
      if (before !== undefined && !same(before.job, job)) {
        faults.push(`${where}: the id ${job.jobId} is that of another job, ${before.where}: give each an id of its own`)
      }
      seen.set(job.jobId, before ?? { where, job })
      return [job]
    })
    return faults.length > 0 ? yield* refuse(source, faults) : jobs
  })
