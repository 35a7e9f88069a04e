/**
 * Time arithmetic of one delivery: how long it is ours, when to extend it, what may still be asked.
 *
 * Times are ms of one clock; all functions are pure.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"

/**
 * SQS hides a message for at most 12 hours from its receive, whatever is asked.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_VISIBILITY_SECONDS = 43_200

/** What is not asked of the 12 hours: a call may travel, and its count starts when it arrives. */
const CAP_MARGIN_MS = 10_000

/** How much of a long poll's time may lie between the hand-out and the arrival of the answer. */
const ARRIVAL_MARGIN_MS = 1_000

/** Before the deadline, so that a handler is interrupted before the message is somebody else's. */
const GUARD_MS = 1_000

/** Of a short slot, for example one that was extended by hand for a second, only a part. */
const guardOf = (slotMs: number) => Math.min(GUARD_MS, slotMs / 20)

/** Never so much that the next beat, as long before the deadline as any, would come too late. */
const guardIn = (settings: LeaseSettings, slotMs: number) =>
  guardOf(settings.heartbeatMs === undefined ? slotMs : Math.min(slotMs, settings.extendByMs))

/**
 * What a consumer's leases share; in ms.
 *
 * @since 0.1.0
 * @category models
 */
export interface LeaseSettings {
  /** of the receive */
  readonly visibilityMs: number
  /** from the receive, or from the last beat, to the next beat; `undefined`: no beats */
  readonly heartbeatMs: number | undefined
  /** what a beat asks, from its own sending */
  readonly extendByMs: number
  /** a beat may be sent so much before its time, together with others; a tenth of `heartbeatMs` at most */
  readonly lingerMs: number
  /** how long one delivery may be held at most */
  readonly limitMs: number
}

/**
 * One lease at one moment. A beat makes a new one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Lease {
  /** when SQS handed the message out, on the early side */
  readonly receivedAt: number
  /** until then it is hidden, on the early side */
  readonly deadline: number
  /**
   * how long before the deadline it counts as run out: at most 1 s, at most a twentieth of what SQS granted last, or of
   * what a beat asks
   */
  readonly guardMs: number
  /** when the next beat is sent at the latest; `Infinity`: never again */
  readonly nextBeatAt: number
  /** the user's limit */
  readonly limitAt: number
  /** SQS's 12 hours, less a margin */
  readonly capAt: number
}

/**
 * The largest limit of a lease: SQS's 12 hours less a margin of 10 s.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_LIMIT: Duration.Duration = Duration.millis(MAX_VISIBILITY_SECONDS * 1000 - CAP_MARGIN_MS)

/**
 * The lease of a message that a receive brought. The answer tells no time: SQS handed it out between the call's start
 * and its arrival, and hardly long before the arrival.
 *
 * @since 0.1.0
 * @category constructors
 */
export const start = (settings: LeaseSettings, callStart: number, arrival: number): Lease => {
  const margin = Math.min(ARRIVAL_MARGIN_MS, settings.visibilityMs / 10)
  const receivedAt = Math.max(callStart, arrival - margin)
  const deadline = receivedAt + settings.visibilityMs
  const lease: Lease = {
    receivedAt,
    deadline,
    guardMs: guardIn(settings, settings.visibilityMs),
    nextBeatAt: Infinity,
    // a short limit is not used up by the margin
    limitAt: Math.max(receivedAt, arrival - settings.limitMs / 10) + settings.limitMs,
    capAt: receivedAt + MAX_VISIBILITY_SECONDS * 1000 - CAP_MARGIN_MS
  }
  const { heartbeatMs } = settings
  if (heartbeatMs === undefined) return lease
  // a slot longer than what a beat asks needs its first beat later
  return beatingAt(lease, settings, Math.max(receivedAt + heartbeatMs, deadline - leadMs(settings, heartbeatMs)))
}

/** How long before its deadline a lease is extended. */
const leadMs = (settings: LeaseSettings, heartbeatMs: number) => settings.extendByMs - heartbeatMs

/** At the cap nothing more is to be had: beating on would be an error storm. */
const beatingAt = (lease: Lease, settings: LeaseSettings, at: number): Lease => ({
  ...lease,
  nextBeatAt: beatSeconds(lease, settings, at) > 0 ? at : Infinity
})

/**
 * What is left until the deadline, in ms; 0 when it has passed.
 *
 * @since 0.1.0
 * @category getters
 */
export const remainingMs = (lease: Lease, now: number): number => Math.max(0, lease.deadline - now)

/**
 * The whole seconds of visibility that may be asked now when `wantedMs` are wanted: cut so that the total since the
 * receive stays inside the 12 hours.
 *
 * @since 0.1.0
 * @category getters
 */
export const askSeconds = (lease: Lease, now: number, wantedMs: number): number =>
  Math.max(0, Math.min(Math.ceil(wantedMs / 1000), Math.floor((lease.capAt - now) / 1000)))

/**
 * The whole seconds that a beat asks when it is sent now: never fewer than are left, since a beat must not cut what was
 * given before. 0: nothing can be gained, the 12 hours are used up.
 *
 * @since 0.1.0
 * @category getters
 */
export const beatSeconds = (lease: Lease, settings: LeaseSettings, now: number): number => {
  const seconds = askSeconds(lease, now, Math.max(settings.extendByMs, lease.deadline - now))
  return now + seconds * 1000 > lease.deadline ? seconds : 0
}

/**
 * When the next beat gets ready: early enough to wait for others that it can be sent with.
 *
 * @since 0.1.0
 * @category getters
 */
export const beatDueAt = (lease: Lease, settings: LeaseSettings): number =>
  lease.nextBeatAt - Math.min(settings.lingerMs, (settings.heartbeatMs ?? 0) / 10)

/**
 * The lease after SQS granted `seconds` to a call that was sent at `callStart`, be it a beat or by hand. The next beat
 * comes a heartbeat later; when more was given, at the same lead before the deadline; when less, after half of it at
 * the latest.
 *
 * @since 0.1.0
 * @category combinators
 */
export const extended = (lease: Lease, settings: LeaseSettings, callStart: number, seconds: number): Lease => {
  const grantedMs = seconds * 1000
  const next: Lease = { ...lease, deadline: callStart + grantedMs, guardMs: guardIn(settings, grantedMs) }
  const { extendByMs, heartbeatMs } = settings
  if (heartbeatMs === undefined) return next
  const afterMs =
    grantedMs >= extendByMs ? grantedMs - leadMs(settings, heartbeatMs) : Math.min(heartbeatMs, grantedMs / 2)
  return beatingAt(next, settings, callStart + afterMs)
}

/**
 * What must be left of a slot when it is extended, in ms: with as much or less, a lease counts as run out before its
 * beat, and `Consumer` refuses to start.
 *
 * @since 0.1.0
 * @category getters
 */
export const leastSpareMs = (settings: Pick<LeaseSettings, "visibilityMs" | "extendByMs">): number =>
  guardOf(Math.min(settings.visibilityMs, settings.extendByMs))

/**
 * When a handler that still runs is interrupted, unless an extension comes first.
 *
 * @since 0.1.0
 * @category getters
 */
export const interruptAt = (lease: Lease): number => Math.min(lease.limitAt, lease.deadline - lease.guardMs)

/**
 * For how long a run without heartbeat works on a message that others can receive too.
 *
 * @since 0.1.0
 * @category advice
 * @example
 * import * as Lease from "@effect-sqs/core/Lease"
 * import { Duration } from "effect"
 *
 * console.log(Duration.toSeconds(Lease.riskWindow("90 seconds", "30 seconds"))) // 60
 * console.log(Duration.toSeconds(Lease.riskWindow("20 seconds", "30 seconds"))) // 0
 */
export const riskWindow = (run: Duration.DurationInput, visibility: Duration.DurationInput): Duration.Duration =>
  Duration.millis(Math.max(0, Duration.toMillis(run) - Duration.toMillis(visibility)))

/**
 * What `advise` found for one choice of settings.
 *
 * @since 0.1.0
 * @category models
 */
export interface Choice {
  readonly visibility: Duration.Duration
  /** `undefined`: no heartbeat */
  readonly heartbeat: Duration.Duration | undefined
  /** share of the runs, 0 to 1, that would outlive the slot and be handed out again */
  readonly atRisk: number
  /** how long at most a message stays hidden after its worker died */
  readonly recovery: Duration.Duration
  /** visibility calls a message, on the average; a call extends up to ten */
  readonly beatsPerMessage: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Advice {
  readonly runs: number
  readonly p50: Duration.Duration
  readonly p99: Duration.Duration
  readonly max: Duration.Duration
  /** the one to take */
  readonly take: Choice
  /** with what the other choices would cost */
  readonly others: ReadonlyArray<Choice>
}

const quantile = (sorted: ReadonlyArray<number>, q: number) =>
  sorted[Math.min(sorted.length - 1, Math.ceil(q * sorted.length) - 1)] ?? 0

const shareAbove = (runsMs: ReadonlyArray<number>, slotMs: number) =>
  runsMs.filter((ms) => ms > slotMs).length / runsMs.length

const choice = (runsMs: ReadonlyArray<number>, visibilityMs: number, heartbeatMs: number | undefined): Choice => ({
  visibility: Duration.millis(visibilityMs),
  heartbeat: heartbeatMs === undefined ? undefined : Duration.millis(heartbeatMs),
  // beats carry a lease to SQS's own limit, and no further
  atRisk: shareAbove(runsMs, heartbeatMs === undefined ? visibilityMs : Duration.toMillis(MAX_LIMIT)),
  recovery: Duration.millis(visibilityMs),
  beatsPerMessage:
    heartbeatMs === undefined
      ? 0
      : runsMs.reduce((sum, ms) => sum + Math.max(0, Math.ceil(ms / heartbeatMs) - 1), 0) / runsMs.length
})

const roundUp = (ms: number) => {
  const step = ms <= 60_000 ? 10_000 : ms <= 600_000 ? 60_000 : 300_000
  return Math.min(MAX_VISIBILITY_SECONDS * 1000, Math.max(step, Math.ceil(ms / step) * step))
}

/** Longer than this a dead worker's message should not wait, when a heartbeat can carry the healthy ones. */
const RECOVERY_TARGET_MS = 120_000

/**
 * Settings that fit run times that were measured (at least one). When twice the p99 fits into two minutes, a plain slot
 * of that length with a heartbeat that short jobs never reach; else two minutes, extended every minute.
 *
 * @since 0.1.0
 * @category advice
 * @example
 * import * as Lease from "@effect-sqs/core/Lease"
 *
 * const advice = Lease.advise(["20 seconds", "45 seconds", "95 seconds"])
 * console.log(advice?.take.visibility, advice?.take.heartbeat)
 */
export const advise = (runTimes: ReadonlyArray<Duration.DurationInput>): Advice | undefined => {
  if (runTimes.length === 0) return undefined
  const runsMs = runTimes.map((d) => Duration.toMillis(d)).sort((a, b) => a - b)
  const p50 = quantile(runsMs, 0.5)
  const p99 = quantile(runsMs, 0.99)
  const max = runsMs[runsMs.length - 1]!
  const slot = Math.min(RECOVERY_TARGET_MS, roundUp(2 * p99))
  const short = roundUp(slot / 4)
  const plain = roundUp(2 * max)
  return {
    runs: runsMs.length,
    p50: Duration.millis(p50),
    p99: Duration.millis(p99),
    max: Duration.millis(max),
    take: choice(runsMs, slot, slot / 2),
    others: [
      choice(runsMs, slot, undefined),
      ...(plain === slot ? [] : [choice(runsMs, plain, undefined)]),
      ...(short === slot ? [] : [choice(runsMs, short, short / 2)])
    ]
  }
}
