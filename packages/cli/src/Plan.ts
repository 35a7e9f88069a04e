/**
 * What a visibility, a heartbeat and run times give together: when a message would be handed out again, for how long two
 * workers would be at it, what it costs, and what other settings would give.
 *
 * Times are seconds from the receive.
 *
 * @since 0.1.0
 */
import * as Lease from "@effect-sqs/core/Lease"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import { badInput, type CliError } from "./CliError.js"
import { show } from "./Durations.js"
import { quantile, type RunTimes } from "./RunTimes.js"

/**
 * A change of visibility at a given time: hidden for so long from then on.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly atSeconds: number
  readonly forSeconds: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PlanOptions {
  /** unset: what is advised for these run times */
  readonly visibility?: Duration.DurationInput | undefined
  /** unset: no beats, or what is advised where the visibility is unset too */
  readonly heartbeat?: Duration.DurationInput | "off" | undefined
  /** what a beat asks; unset: the visibility */
  readonly extendBy?: Duration.DurationInput | undefined
  /** changes by hand, instead of a heartbeat */
  readonly changes?: ReadonlyArray<Change> | undefined
  readonly runs: RunTimes
  /** US dollars for a million requests; `PRICE_USD_PER_MILLION` */
  readonly priceUsd?: number | undefined
}

/**
 * Of a standard queue in us-east-1: the first price step, without the monthly million that is free. FIFO queues: 0.50.
 *
 * @since 0.1.0
 * @category constants
 */
export const PRICE_USD_PER_MILLION = 0.4

/**
 * An extension of the lease, be it a beat or by hand.
 *
 * @since 0.1.0
 * @category models
 */
export interface Extension {
  readonly atSeconds: number
  readonly askedSeconds: number
  /** `undefined`: without effect, since it came too late or asked beyond the 12 hours */
  readonly hiddenUntilSeconds: number | undefined
}

/**
 * One run, from its receive on.
 *
 * @since 0.1.0
 * @category models
 */
export interface Timeline {
  readonly runSeconds: number
  readonly extensions: ReadonlyArray<Extension>
  /** the end of the last slot */
  readonly hiddenUntilSeconds: number
  /** when others would receive it while this run goes on, supposing that one is free at once */
  readonly handedOutAgainSeconds: ReadonlyArray<number>
  readonly riskWindowSeconds: number
  /** when the consumer of this library interrupts the handler instead; `undefined`: it does not have to */
  readonly interruptedAtSeconds: number | undefined
}

/**
 * Requests for one message that is done once, with calls that carry ten each, and with calls that carry one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Cost {
  readonly priceUsdPerMillionRequests: number
  readonly requestsPerMessage: { readonly fewest: number; readonly most: number }
  readonly usdPerMillionMessages: { readonly fewest: number; readonly most: number }
}

/**
 * What one choice of settings would give for the same run times.
 *
 * @since 0.1.0
 * @category models
 */
export interface Setting {
  readonly label: "yours" | "advised" | "other"
  readonly visibilitySeconds: number
  readonly heartbeatSeconds: number | undefined
  /** share of the runs, 0 to 1, that outlive their slot: the chance of a duplicate */
  readonly atRisk: number
  /** how long at most a message stays hidden after its worker died */
  readonly recoverySeconds: number
  readonly beatsPerMessage: number
  readonly cost: Cost
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Plan {
  readonly visibilitySeconds: number
  readonly heartbeatSeconds: number | undefined
  readonly extendBySeconds: number | undefined
  readonly changes: ReadonlyArray<Change>
  readonly runs: {
    readonly source: string
    readonly count: number
    readonly interrupted: number
    readonly p50Seconds: number
    readonly p99Seconds: number
    readonly maxSeconds: number
  }
  /** of the longest run */
  readonly timeline: Timeline
  /** of all runs; its label is `yours`, or `advised` where no visibility was given */
  readonly setting: Setting
  /** what else could be set, the advised first */
  readonly others: ReadonlyArray<Setting>
}

interface Slots {
  readonly visibilityMs: number
  readonly heartbeatMs: number | undefined
  readonly extendByMs: number
  readonly changes: ReadonlyArray<Change>
}

const secondsOf = (ms: number) => Math.round(ms) / 1000

/** Beats as the consumer sends them. */
const beating = (slots: Slots, runMs: number) => {
  const settings: Lease.LeaseSettings = {
    visibilityMs: slots.visibilityMs,
    heartbeatMs: slots.heartbeatMs,
    extendByMs: slots.extendByMs,
    lingerMs: 0,
    limitMs: Duration.toMillis(Lease.MAX_LIMIT)
  }
  const extensions: Array<Extension> = []
  let lease = Lease.start(settings, 0, 0)
  while (lease.nextBeatAt < runMs) {
    const at = lease.nextBeatAt
    const askedSeconds = Lease.beatSeconds(lease, settings, at)
    lease = Lease.extended(lease, settings, at, askedSeconds)
    extensions.push({ atSeconds: secondsOf(at), askedSeconds, hiddenUntilSeconds: secondsOf(lease.deadline) })
  }
  return { extensions, deadline: lease.deadline, interruptAt: Lease.interruptAt(lease) }
}

const byHand = (slots: Slots, runMs: number) => {
  let deadline = slots.visibilityMs
  const extensions = slots.changes
    .filter(({ atSeconds }) => atSeconds * 1000 < runMs)
    .map(({ atSeconds, forSeconds }): Extension => {
      const isLate = atSeconds * 1000 >= deadline
      const isBeyond = atSeconds + forSeconds > Lease.MAX_VISIBILITY_SECONDS
      if (!isLate && !isBeyond) deadline = (atSeconds + forSeconds) * 1000
      return {
        atSeconds,
        askedSeconds: forSeconds,
        hiddenUntilSeconds: isLate || isBeyond ? undefined : atSeconds + forSeconds
      }
    })
  const guardMs = Lease.leastSpareMs({ visibilityMs: slots.visibilityMs, extendByMs: slots.visibilityMs })
  return { extensions, deadline, interruptAt: deadline - guardMs }
}

const hidden = (slots: Slots, runMs: number) =>
  slots.changes.length > 0 ? byHand(slots, runMs) : beating(slots, runMs)

const timelineOf = (slots: Slots, runSeconds: number): Timeline => {
  const runMs = runSeconds * 1000
  const { deadline, extensions, interruptAt } = hidden(slots, runMs)
  // who receives it next holds it as long, if it does the same
  const slotMs = hidden(slots, Infinity).deadline
  const again: Array<number> = []
  for (let at = deadline; at < runMs && again.length < MAX_HANDOUTS; at += slotMs) again.push(secondsOf(at))
  return {
    runSeconds,
    extensions,
    hiddenUntilSeconds: secondsOf(deadline),
    handedOutAgainSeconds: again,
    riskWindowSeconds: Duration.toSeconds(Lease.riskWindow(runMs, deadline)),
    interruptedAtSeconds: runMs > interruptAt ? secondsOf(interruptAt) : undefined
  }
}

/** After so many receives no queue hands it out any more. */
const MAX_HANDOUTS = 1000

const BATCH = 10

/** Sums of decimals end in noise. */
const rounded = (n: number) => Number(n.toPrecision(9))

const costOf = (receives: number, extensions: number, priceUsd: number): Cost => {
  // a receive for each hand-out, the extensions, and the delete
  const most = rounded(receives + extensions + 1)
  const fewest = rounded(most / BATCH)
  return {
    priceUsdPerMillionRequests: priceUsd,
    requestsPerMessage: { fewest, most },
    usdPerMillionMessages: { fewest: rounded(fewest * priceUsd), most: rounded(most * priceUsd) }
  }
}

const settingOf = (label: Setting["label"], slots: Slots, runs: RunTimes, priceUsd: number): Setting => {
  const whole = hidden(slots, Infinity)
  let atRisk = 0
  let extensions = 0
  let receives = 0
  let sent = 0
  let deadline = slots.visibilityMs
  // the runs ascend, and a longer one sends all that a shorter one sends
  for (const seconds of runs.seconds) {
    for (; sent < whole.extensions.length && whole.extensions[sent]!.atSeconds < seconds; sent++) {
      const { hiddenUntilSeconds } = whole.extensions[sent]!
      if (hiddenUntilSeconds !== undefined) deadline = hiddenUntilSeconds * 1000
    }
    extensions += sent
    receives += 1
    if (seconds * 1000 <= deadline) continue
    atRisk += 1
    receives += Math.min(MAX_HANDOUTS, Math.ceil((seconds * 1000 - deadline) / whole.deadline))
  }
  const n = runs.seconds.length
  return {
    label,
    visibilitySeconds: secondsOf(slots.visibilityMs),
    heartbeatSeconds: slots.heartbeatMs === undefined ? undefined : secondsOf(slots.heartbeatMs),
    atRisk: atRisk / n,
    recoverySeconds: secondsOf(longestSlot(slots)),
    beatsPerMessage: extensions / n,
    cost: costOf(receives / n, extensions / n, priceUsd)
  }
}

const isSame = (a: Setting, b: Setting) =>
  a.visibilitySeconds === b.visibilitySeconds &&
  a.heartbeatSeconds === b.heartbeatSeconds &&
  a.recoverySeconds === b.recoverySeconds

const longestSlot = ({ changes, extendByMs, heartbeatMs, visibilityMs }: Slots) =>
  Math.max(
    visibilityMs,
    heartbeatMs === undefined ? 0 : extendByMs,
    ...changes.map(({ forSeconds }) => forSeconds * 1000)
  )

/** The choice of `Lease.advise`, as slots. */
const slotsOf = ({ heartbeat, visibility }: Lease.Choice): Slots => ({
  visibilityMs: Duration.toMillis(visibility),
  heartbeatMs: heartbeat === undefined ? undefined : Duration.toMillis(heartbeat),
  extendByMs: Duration.toMillis(visibility),
  changes: []
})

const faultOf = ({ changes, extendByMs, heartbeatMs, visibilityMs }: Slots): string | undefined => {
  const maxMs = Lease.MAX_VISIBILITY_SECONDS * 1000
  if (visibilityMs < 1000 || visibilityMs > maxMs || visibilityMs % 1000 !== 0) {
    return `A visibility of ${show(visibilityMs)} cannot be: whole seconds, from 1s to 12h.`
  }
  if (extendByMs < 1000 || extendByMs > maxMs) return `A beat cannot ask ${show(extendByMs)}: from 1s to 12h.`
  if (heartbeatMs !== undefined) {
    if (changes.length > 0) return "Either a heartbeat or changes by hand, not both."
    if (heartbeatMs <= 0) return "A heartbeat must be longer than 0."
    if (heartbeatMs >= visibilityMs) {
      return `A heartbeat of ${show(heartbeatMs)} comes after the slot of ${show(visibilityMs)} has ended: half of it leaves two tries.`
    }
    if (heartbeatMs >= extendByMs) {
      return `A heartbeat of ${show(heartbeatMs)} comes after what a beat asks (${show(extendByMs)}) has ended: make it shorter.`
    }
    const spareMs = Lease.leastSpareMs({ visibilityMs, extendByMs })
    const slotMs = Math.min(visibilityMs, extendByMs)
    if (slotMs - heartbeatMs <= spareMs) {
      return `A heartbeat of ${show(heartbeatMs)} leaves no time for its beat: a slot of ${show(slotMs)} counts as run out ${show(spareMs)} before its end. Half of it leaves two tries.`
    }
  }
  const wrong = changes.find(
    ({ atSeconds, forSeconds }) => !(atSeconds >= 0 && forSeconds >= 0 && forSeconds <= 43_200)
  )
  return wrong === undefined ? undefined : `A change to ${wrong.forSeconds} s cannot be: from 0s to 12h.`
}

/**
 * Makes the plan. Settings that cannot be are a `CliError` with a sentence.
 *
 * @since 0.1.0
 * @category planning
 * @example
 * import { Plan, RunTimes } from "@effect-sqs/cli"
 * import { Either } from "effect"
 *
 * const made = Plan.plan({ visibility: "30 seconds", runs: RunTimes.one("90 seconds") })
 * if (Either.isRight(made)) console.log(made.right.timeline.riskWindowSeconds) // 60
 */
export const plan = (options: PlanOptions): Either.Either<Plan, CliError> => {
  const { runs } = options
  const priceUsd = options.priceUsd ?? PRICE_USD_PER_MILLION
  const advice = Lease.advise(runs.seconds.map((s) => s * 1000))
  if (advice === undefined) return Either.left(badInput("There is no run time to plan with."))
  const advised = slotsOf(advice.take)
  const visibilityMs = options.visibility === undefined ? advised.visibilityMs : Duration.toMillis(options.visibility)
  const changes = [...(options.changes ?? [])].sort((a, b) => a.atSeconds - b.atSeconds)
  const isAdvised = options.visibility === undefined && options.heartbeat === undefined && changes.length === 0
  const heartbeat = isAdvised ? advice.take.heartbeat : options.heartbeat === "off" ? undefined : options.heartbeat
  const slots: Slots = {
    visibilityMs,
    heartbeatMs: heartbeat === undefined ? undefined : Duration.toMillis(heartbeat),
    extendByMs: options.extendBy === undefined ? visibilityMs : Duration.toMillis(options.extendBy),
    changes
  }
  const fault = faultOf(slots)
  if (fault !== undefined) return Either.left(badInput(fault))
  const max = quantile(runs, 1)
  const setting = settingOf(isAdvised ? "advised" : "yours", slots, runs, priceUsd)
  const others = [
    settingOf("advised", advised, runs, priceUsd),
    ...advice.others.map((choice) => settingOf("other", slotsOf(choice), runs, priceUsd))
  ]
  return Either.right({
    visibilitySeconds: secondsOf(visibilityMs),
    heartbeatSeconds: slots.heartbeatMs === undefined ? undefined : secondsOf(slots.heartbeatMs),
    extendBySeconds: slots.heartbeatMs === undefined ? undefined : secondsOf(slots.extendByMs),
    changes,
    runs: {
      source: runs.source,
      count: runs.count,
      interrupted: runs.interrupted,
      p50Seconds: quantile(runs, 0.5),
      p99Seconds: quantile(runs, 0.99),
      maxSeconds: max
    },
    timeline: timelineOf(slots, max),
    setting,
    others: others.filter((other) => changes.length > 0 || !isSame(other, setting))
  })
}
