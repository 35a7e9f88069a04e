/** What one random run is made of: everything is drawn from its seed, each thing by its name, so one more changes no other. */
import { Fault, type FaultPlan } from "@effect-sqs/testing"
import { draw } from "../../src/internal/draw.js"

export const dice = (...place: ReadonlyArray<string | number>) => {
  const part = (name: string) => draw("random run", ...place, name)
  return {
    part,
    chance: (name: string, probability: number) => part(name) < probability,
    int: (name: string, min: number, max: number) => min + Math.floor(part(name) * (max - min + 1)),
    one: <A>(name: string, of: ReadonlyArray<A>): A => of[Math.floor(part(name) * of.length)]!
  }
}

export type RedeliveryName =
  | "default"
  | "at once"
  | "soon"
  | "late"
  | "leave"
  | "delete"
  | "deadLetter"
  | "backoff"
  | "byTag"
  | "lastAttempt"
  | "dies"

/** Times are ms since the start of the scene, unless their names say otherwise. */
export interface WorkerScene {
  readonly name: string
  readonly concurrency: number
  readonly prefetch: number | undefined
  /** `undefined`: the queue's */
  readonly visibilityS: number | undefined
  readonly heartbeatMs: number | "off" | undefined
  readonly extendByS: number | undefined
  readonly limitS: number | undefined
  readonly waitTimeS: number
  readonly receiveLingerMs: number
  readonly parallel: number | undefined
  readonly settlementLingerMs: number
  readonly drainMs: number
  readonly interruptMs: number
  readonly openReceives: "await" | "abort"
  readonly onLeaseLost: "interrupt" | "continue"
  readonly redelivery: RedeliveryName
  readonly undecodable: RedeliveryName
  readonly attemptTimeoutMs: number | undefined
  readonly retries: number
  readonly startAt: number
  /** `undefined`: it lives on when the weather is good again */
  readonly stopAt: number | undefined
  readonly killAt: number | undefined
  /** how long its process sleeps, after so long a pause each */
  readonly stalls: ReadonlyArray<{ readonly afterMs: number; readonly ms: number }>
  readonly jumps: ReadonlyArray<{ readonly afterMs: number; readonly ms: number }>
}

export interface Scene {
  readonly seed: number
  readonly kind: "standard" | "fifo"
  readonly order: "fifo" | "random"
  readonly anyReading: boolean
  readonly queueVisibilityS: number
  /** `undefined`: no dead-letter queue */
  readonly maxReceiveCount: number | undefined
  readonly requestTimeoutMs: number | undefined
  readonly messages: number
  readonly groups: number
  /** the messages come one by one, with pauses up to that */
  readonly pauseMs: number
  readonly undecodable: number
  readonly workers: ReadonlyArray<WorkerScene>
  /** from then on nothing goes wrong any more, and all handlers succeed */
  readonly calmAt: number
  readonly faults: {
    readonly beforeMs: number
    readonly afterMs: number
    readonly throttled: number
    readonly broken: number
    readonly reset: number
    readonly lost: number
    readonly hang: number
    readonly hangAfter: number
    readonly entries: number
    readonly refusedBeats: number
    readonly deniedChanges: number
    readonly slowBeatsMs: number
    readonly duplicates: number
  }
  readonly jobs: {
    readonly longestMs: number
    readonly failing: number
    readonly dying: number
    readonly ending: number
    readonly byHand: number
    /** handlers go on for up to that after they were interrupted */
    readonly ignoresMs: number
  }
}

const policies: ReadonlyArray<RedeliveryName> = [
  "default",
  "default",
  "at once",
  "soon",
  "soon",
  "late",
  "leave",
  "delete",
  "deadLetter",
  "backoff",
  "byTag",
  "byTag",
  "lastAttempt",
  "dies"
]

const workerOf = (seed: number, i: number, queueVisibilityS: number, calmAt: number, n: number): WorkerScene => {
  const { chance, int, one } = dice(seed, "worker", i)
  const visibilityS = chance("visibility given", 0.5) ? one("visibility", [1, 2, 5, 10, 20, 30, 60, 120]) : undefined
  const extendByS = chance("extendBy given", 0.4) ? one("extendBy", [1, 2, 5, 10, 30, 60, 120]) : undefined
  const visible = visibilityS ?? queueVisibilityS
  // later than that a lease counts as over before its first beat
  const longestBeatMs = Math.min(visible, extendByS ?? visible) * 940
  const startAt = i === 0 ? 0 : int("start", 0, 30_000)
  const killed = chance("killed", 0.07)
  const lives = i === 0 ? chance("lives", 0.6) : chance("lives", 0.3)
  const times = (name: string, p: number, most: number) =>
    chance(name, p)
      ? Array.from({ length: int(`${name} often`, 1, 2) }, (_, k) => ({
          afterMs: int(`${name} after ${k}`, 500, 60_000),
          ms: int(`${name} for ${k}`, 1, most)
        }))
      : []
  const limitS = chance("limit given", 0.2) ? int("limit", 1, 200) : undefined
  return {
    name: `worker-${i + 1}`,
    concurrency: one("concurrency", [1, 1, 2, 3, 5, 8, 12]),
    prefetch: chance("prefetch given", 0.6) ? int("prefetch", 0, 8) : undefined,
    visibilityS,
    heartbeatMs: chance("no beats", 0.15)
      ? "off"
      : chance("heartbeat given", 0.4)
        ? int("heartbeat", 500, longestBeatMs)
        : undefined,
    extendByS,
    limitS,
    waitTimeS: one("wait", [0, 1, 5, 20, 20]),
    receiveLingerMs: one("receive linger", [0, 10, 10, 200]),
    parallel: chance("parallel given", 0.3) ? int("parallel", 1, 4) : undefined,
    settlementLingerMs: one("settlement linger", [0, 50, 50, 500, 2000]),
    drainMs: one("drain", [0, 1000, 5000, 30_000, 60_000]),
    interruptMs: one("interrupt", [0, 1000, 5000, 5000]),
    openReceives: chance("abort", 0.25) ? "abort" : "await",
    onLeaseLost: chance("continue", 0.15) ? "continue" : "interrupt",
    redelivery: one("redelivery", policies),
    undecodable: one("undecodable", ["default", "default", "deadLetter", "delete", "soon"]),
    attemptTimeoutMs:
      chance("attempt timeout", 0.2) && limitS === undefined ? int("attempt timeout ms", 100, 20_000) : undefined,
    retries: chance("retries given", 0.2) ? int("retries", 1, 3) : 0,
    startAt,
    stopAt: lives && !killed ? undefined : int("stop", startAt, calmAt),
    killAt: killed ? int("kill", startAt, calmAt) : undefined,
    stalls: times("stall", 0.25, 40_000),
    jumps: n < 3 && chance("jumps", 0.07) ? times("jump", 1, 7_200_000) : []
  }
}

export const sceneOf = (seed: number): Scene => {
  const { chance, int, one, part } = dice(seed)
  const queueVisibilityS = one("visibility", [1, 2, 5, 10, 20, 30, 60, 120])
  const calmAt = one("calm", [20_000, 60_000, 120_000, 240_000])
  const n = one("workers", [1, 1, 1, 2, 2, 3])
  const kind = chance("fifo", 0.4) ? "fifo" : "standard"
  const maxReceiveCount = chance("no dead letters", 0.2) ? undefined : one("maxReceiveCount", [1, 2, 3, 4, 5, 10, 100])
  // without dead letters one that cannot be decoded blocks its group for ever
  const blocks = kind === "fifo" && maxReceiveCount === undefined
  // in a third of the scenes nothing of a kind goes wrong at all
  const rate = (name: string, most: number) => (chance(`${name} at all`, 0.6) ? part(name) * most : 0)
  return {
    seed,
    kind,
    order: chance("random order", 0.5) ? "random" : "fifo",
    anyReading: chance("any reading", 0.3),
    queueVisibilityS,
    maxReceiveCount,
    requestTimeoutMs: chance("client timeout", 0.3) ? one("client timeout ms", [1000, 3000, 8000]) : undefined,
    messages: int("messages", 1, 30),
    groups: int("groups", 1, 8),
    pauseMs: one("pause", [0, 0, 100, 1000, 5000]),
    undecodable: !blocks && chance("undecodable at all", 0.3) ? part("undecodable") * 0.3 : 0,
    workers: Array.from({ length: n }, (_, i) => {
      const worker = workerOf(seed, i, queueVisibilityS, calmAt, n)
      // one that cannot be decoded would come again and again at one instant, for ever
      const spins = maxReceiveCount === undefined && worker.undecodable === "default" && worker.redelivery === "at once"
      return spins ? { ...worker, undecodable: "soon" } : worker
    }),
    calmAt,
    faults: {
      beforeMs: one("before", [0, 5, 50, 500, 2000, 8000]),
      afterMs: one("after", [0, 5, 50, 500, 2000]),
      throttled: rate("throttled", 0.3),
      broken: rate("broken", 0.2),
      reset: rate("reset", 0.2),
      lost: rate("lost", 0.2),
      hang: rate("hang", 0.1),
      hangAfter: rate("hang after", 0.1),
      entries: rate("entries", 0.3),
      refusedBeats: rate("refused beats", 0.1),
      deniedChanges: chance("denied at all", 0.1) ? part("denied") * 0.2 : 0,
      slowBeatsMs: chance("slow beats", 0.3) ? int("slow beats ms", 1, 15_000) : 0,
      duplicates: kind === "fifo" ? 0 : rate("duplicates", 0.1)
    },
    jobs: {
      longestMs: one("longest", [0, 10, 1000, 5000, 30_000, 120_000]),
      failing: rate("failing", 0.5),
      dying: rate("dying", 0.1),
      ending: chance("ending at all", 0.2) ? part("ending") * 0.3 : 0,
      byHand: chance("by hand at all", 0.25) ? part("by hand") : 0,
      ignoresMs: one("ignores", [0, 0, 0, 300, 3000, 20_000])
    }
  }
}

/** The weather until it is calm. */
export const faultsOf = ({ calmAt, faults: f, seed }: Scene): FaultPlan.FaultPlan => {
  const sometimes = (name: string, p: number, plan: FaultPlan.FaultPlan) =>
    plan.pipe(Fault.random(`${seed} ${name}`, p))
  const changes = Fault.on("ChangeMessageVisibilityBatch")
  return Fault.all(
    Fault.latencyBetween(`${seed} before`, 0, f.beforeMs),
    Fault.latencyBetween(`${seed} after`, 0, f.afterMs, { after: true }),
    sometimes("throttled", f.throttled, Fault.error("RequestThrottled")),
    sometimes("broken", f.broken, Fault.error("ServiceUnavailable", { httpStatus: 503 })),
    sometimes("reset", f.reset, Fault.reset),
    sometimes("lost", f.lost, Fault.loseReply),
    sometimes("hang", f.hang, Fault.hang),
    sometimes("hang after", f.hangAfter, Fault.hangAfter),
    Fault.randomEntries(`${seed} entries`, f.entries, "InternalError"),
    changes(Fault.latencyBetween(`${seed} slow`, 0, f.slowBeatsMs)),
    changes(Fault.randomEntries(`${seed} refused`, f.refusedBeats, "MessageNotInflight", { senderFault: true })),
    changes(sometimes("denied", f.deniedChanges, Fault.error("AccessDenied", { httpStatus: 403 }))),
    sometimes("duplicates", f.duplicates, Fault.duplicate(2)),
    sometimes("reorder", f.duplicates, Fault.reorder(`${seed} order`))
  ).pipe(
    Fault.on("ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch", "SendMessageBatch"),
    Fault.during(0, calmAt)
  )
}
