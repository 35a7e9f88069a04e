/** What `doctor` read, before it judges. */
import type { OptionFault } from "@effect-sqs/core/ConsumerOptions"
import type { Whereabouts } from "../CliError.js"
import type { Finding } from "../Finding.js"
import type { RunTimes } from "../RunTimes.js"
import type { WorkerFile } from "../WorkerFile.js"
import { show } from "../Durations.js"

export type Attributes = Readonly<Record<string, string>>

/** The queue that takes the dead letters: as far as the redrive policy, and then SQS, tell. */
export interface DeadLetterFacts {
  readonly arn: string
  readonly name: string
  readonly url: string | undefined
  readonly attributes: Attributes | "missing" | "denied"
}

export interface Look {
  readonly visible: number
  readonly inFlight: number
  readonly delayed: number
}

export interface Facts {
  readonly where: Whereabouts
  readonly url: string
  /** `undefined`: may not be read */
  readonly attributes: Attributes | undefined
  readonly deadLetters: DeadLetterFacts | undefined
  readonly denied: ReadonlyArray<string>
  /** actions whose permission could not be told */
  readonly unknown: ReadonlyArray<string>
  readonly first: Look | undefined
  readonly second: Look | undefined
  readonly secondsApart: number
  readonly runs: RunTimes | undefined
  readonly worker: WorkerFile | undefined
  readonly workerFaults: ReadonlyArray<OptionFault>
}

/** One thing that can be wrong. */
export type Check = (facts: Facts) => ReadonlyArray<Finding>

export const DAY_SECONDS = 86_400
export const seconds = (s: number) => show(s * 1000)
export const numberOf = (attributes: Attributes, name: string) => Number(attributes[name] ?? NaN)
export const isFifo = (name: string) => name.endsWith(".fifo")

export interface RedrivePolicy {
  readonly deadLetterTargetArn: string
  readonly maxReceiveCount: number
}

export const redrivePolicyOf = (attributes: Attributes | undefined): RedrivePolicy | undefined => {
  const text = attributes?.RedrivePolicy
  if (text === undefined || text === "") return undefined
  const { deadLetterTargetArn, maxReceiveCount } = JSON.parse(text) as Record<string, unknown>
  return { deadLetterTargetArn: String(deadLetterTargetArn), maxReceiveCount: Number(maxReceiveCount) }
}
