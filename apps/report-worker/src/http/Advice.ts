/**
 * Whether the lease as it is set fits the run times that were seen.
 *
 * @since 0.1.0
 */
import * as Lease from "@effect-sqs/core/Lease"
import * as Duration from "effect/Duration"
import type { Advice, Run } from "./View.js"

/**
 * The lease as it is set, in ms.
 *
 * @since 0.1.0
 * @category models
 */
export interface LeaseSetting {
  readonly visibilityMs: number
  /** `undefined`: no heartbeat */
  readonly heartbeatMs: number | undefined
  readonly limitMs: number
}

/** fewer say nothing */
const leastRuns = 20
/** a dead worker's message may wait so much longer than it had to before it is worth a word */
const tooLong = 4
/** calls a message that are too many when a longer slot would need none */
const tooMany = 3

const hintOf = (setting: LeaseSetting, advice: Lease.Advice, runsMs: ReadonlyArray<number>): Advice["hint"] => {
  const { heartbeatMs, visibilityMs } = setting
  const visibility = Duration.toMillis(advice.take.visibility)
  const take = {
    visibilityMs: visibility,
    ...(advice.take.heartbeat === undefined ? {} : { heartbeatMs: Duration.toMillis(advice.take.heartbeat) })
  }
  if (heartbeatMs === undefined && Duration.toMillis(advice.p99) > visibilityMs) {
    return { why: "runs outlive the slot", ...take }
  }
  if (visibilityMs > tooLong * visibility) return { why: "a dead worker is waited for too long", ...take }
  const beats = heartbeatMs === undefined ? 0 : runsMs.reduce((n, ms) => n + Math.floor(ms / heartbeatMs), 0)
  if (visibility > visibilityMs && beats > tooMany * runsMs.length) return { why: "beats nearly always", ...take }
  return undefined
}

/**
 * The numbers, and a hint where they ask for other settings.
 *
 * @since 0.1.0
 * @category advice
 */
export const adviceOf = (setting: LeaseSetting, runs: ReadonlyArray<Run>): Advice => {
  const { heartbeatMs, visibilityMs } = setting
  // a run that was cut says nothing of how long its job takes
  const runsMs = runs.flatMap(({ ranMs, run }) => (run === "success" ? [ranMs] : []))
  const set = { visibilityMs, ...(heartbeatMs === undefined ? {} : { heartbeatMs }), runs: runsMs.length }
  const advice = Lease.advise(runsMs)
  if (advice === undefined) return set
  const hint = runsMs.length < leastRuns ? undefined : hintOf(setting, advice, runsMs)
  return {
    ...set,
    p50Ms: Duration.toMillis(advice.p50),
    p99Ms: Duration.toMillis(advice.p99),
    maxMs: Duration.toMillis(advice.max),
    ...(hint === undefined ? {} : { hint })
  }
}
