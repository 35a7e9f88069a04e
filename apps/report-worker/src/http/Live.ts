/**
 * What the deliveries in hand are doing, made from the consumer's events, for whoever watches. It is bounded in every
 * direction, and nothing in it waits: a watcher that is too slow misses changes and gets a new snapshot instead.
 *
 * @since 0.1.0
 */
import type { ConsumerEvent } from "@effect-sqs/core/ConsumerEvent"
import type { Settled } from "@effect-sqs/core/Settlement"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import type * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import { type LeaseSetting, adviceOf } from "./Advice.js"
import { type Change, type Consuming, type Counters, Lease, type Run, type Snapshot } from "./View.js"

/** deliveries that are remembered, those in hand and those that ended */
const maxLeases = 1000
/** of these, how many that ended, and for how long */
const maxEnded = 100
const endedMs = 60_000
const maxBeats = 20
const maxRuns = 1000
/** changes for those who come back */
const maxChanges = 2048
/** changes that a watcher may lie behind */
const watcherBuffer = 1024
/** an event may be lost on the way: what has long run out is not in hand any more */
const forgottenMs = 10 * 60_000

/**
 * A change with its number; they grow by one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Numbered {
  readonly seq: number
  readonly change: Change
}

/**
 * @since 0.1.0
 * @category models
 */
export interface LiveOptions {
  readonly queue: string
  readonly concurrency: number
  readonly lease: LeaseSetting
}

/**
 * @since 0.1.0
 * @category services
 */
export class Live extends Context.Tag("@effect-sqs/report-worker/Live")<
  Live,
  {
    /** of this process */
    readonly boot: string
    /** to be told every event of the consumer */
    readonly observe: (event: ConsumerEvent) => Effect.Effect<void>
    /** a message turned out to be of this job */
    readonly named: (
      delivery: { readonly messageId: string; readonly receiveCount: number },
      jobId: string
    ) => Effect.Effect<void>
    /** how far a job is */
    readonly progress: (jobId: string, done: number, of: number) => Effect.Effect<void>
    /** something else that watchers are told */
    readonly tell: (change: Exclude<Change, { readonly kind: "lease" | "state" | "counters" }>) => Effect.Effect<void>
    readonly counted: (counters: Counters) => Effect.Effect<void>
    /** the state, and the number of the last change in it */
    readonly snapshot: Effect.Effect<{ readonly seq: number; readonly snapshot: Snapshot }>
    /** what came after a change; `undefined` when that is not remembered */
    readonly since: (seq: number) => Effect.Effect<ReadonlyArray<Numbered> | undefined>
    readonly watch: Effect.Effect<Queue.Dequeue<Numbered>, never, Scope.Scope>
    readonly watchers: Effect.Effect<number>
  }
>() {}

type Subject = { readonly messageId: string; readonly receiveCount: number }

const idOf = (subject: Subject) => `${subject.messageId}.${subject.receiveCount}`

const ends = { Delete: "deleted", Release: "comes again", DeadLetter: "dead-lettered", Leave: "left" } as const

const endOf = (settled: Settled): Partial<Lease> => ({
  end: ends[settled.asked._tag],
  confirmed: settled.confirmed,
  ...(settled.asked._tag === "DeadLetter" ? { reason: settled.asked.reason.slice(0, 300) } : {}),
  ...(settled.problem === undefined ? {} : { reason: settled.problem.message.slice(0, 300) })
})

const make = (options: LiveOptions) =>
  Effect.gen(function* () {
    const hub = yield* Effect.acquireRelease(PubSub.sliding<Numbered>(watcherBuffer), PubSub.shutdown)
    const leases = new Map<string, Lease>()
    const byJob = new Map<string, string>()
    /** jobs of deliveries whose event is still on its way */
    const names = new Map<string, string>()
    const runs: Array<Run> = []
    const changes: Array<Numbered> = []
    const boot = randomUUID().slice(0, 8)
    let seq = 0
    let duplicates = 0
    let watchers = 0
    let counters: Counters | undefined
    let consuming: Consuming = { state: "starting", since: yield* Clock.currentTimeMillis }

    const tell = (change: Change) =>
      Effect.suspend(() => {
        const numbered = { seq: ++seq, change }
        changes.push(numbered)
        if (changes.length > maxChanges) changes.splice(0, changes.length - maxChanges)
        return Effect.asVoid(PubSub.publish(hub, numbered))
      })

    const forget = (id: string) => {
      const { jobId } = leases.get(id)!
      leases.delete(id)
      if (jobId !== undefined && byJob.get(jobId) === id) byJob.delete(jobId)
    }

    const tidy = (now: number) => {
      let ended = 0
      for (const [id, lease] of [...leases].reverse()) {
        const isOld =
          lease.endedAt === undefined
            ? now > lease.deadline + forgottenMs
            : ++ended > maxEnded || now > lease.endedAt + endedMs
        if (isOld) forget(id)
      }
      for (const id of leases.keys()) {
        if (leases.size <= maxLeases) break
        forget(id)
      }
    }

    const put = (lease: Lease) => {
      leases.set(lease.id, lease)
      return tell({ kind: "lease", data: lease })
    }

    const change = (subject: Subject, by: (lease: Lease) => Partial<Lease>) =>
      Effect.suspend(() => {
        const lease = leases.get(idOf(subject))
        return lease === undefined ? Effect.void : put(new Lease({ ...lease, ...by(lease) }))
      })

    const state = (next: Consuming["state"], at: number, detail?: string) =>
      Effect.suspend(() => {
        // what still arrives in a drain does not undo it
        if (consuming.state === "stopping") return Effect.void
        consuming = { state: next, since: at, ...(detail === undefined ? {} : { detail }) }
        return tell({ kind: "state", data: { consuming, duplicates } })
      })

    const observe = (event: ConsumerEvent): Effect.Effect<void> => {
      switch (event._tag) {
        case "Started":
        case "Resumed":
          return state("receiving", event.at)
        case "PollRecovered":
          return consuming.state === "receive fails" ? state("receiving", event.at) : Effect.void
        case "PollFailed":
        case "PollEnded":
          return state("receive fails", event.at, event.error.message)
        case "Paused":
          return state("paused", event.at)
        case "Draining":
        case "Drained":
          return state("stopping", event.at)
        case "Received": {
          tidy(event.at)
          const id = idOf(event)
          const jobId = names.get(id)
          names.delete(id)
          if (jobId !== undefined) byJob.set(jobId, id)
          return put(
            new Lease({
              id,
              jobId,
              messageId: event.messageId,
              receiveCount: event.receiveCount,
              sentAt: event.sentAt,
              receivedAt: event.at,
              beats: [],
              beatCount: 0,
              beatsFailed: 0,
              deadline: event.deadline,
              limitAt: event.at + options.lease.limitMs
            })
          )
        }
        case "RunStarted":
          return change(event, () => ({ startedAt: event.at }))
        case "LeaseExtended":
          return change(event, ({ beatCount, beats }) => ({
            beats: [...beats.slice(1 - maxBeats), event.at],
            beatCount: beatCount + 1,
            beatsFailed: 0,
            deadline: event.deadline
          }))
        case "BeatFailed":
          return change(event, ({ beatsFailed }) => ({ beatsFailed: beatsFailed + 1 }))
        case "LeaseWasLost":
          return change(event, () => ({ lost: event.lost.reason }))
        case "RunEnded":
          runs.push({ at: event.at, ranMs: event.ranMs, run: event.outcome })
          if (runs.length > maxRuns) runs.splice(0, runs.length - maxRuns)
          return change(event, () => ({ ranMs: event.ranMs, run: event.outcome }))
        case "Undecodable":
          return change(event, () => ({ reason: event.reason.slice(0, 300) }))
        case "DeliverySettled":
          return change(event, () => ({ endedAt: event.at, ...endOf(event.settled) }))
        case "DuplicateDeleted":
          duplicates++
          return Effect.zipRight(
            change(event, () => ({ endedAt: event.at, end: "duplicate", confirmed: true })),
            tell({ kind: "state", data: { consuming, duplicates } })
          )
      }
    }

    return Live.of({
      boot,
      observe: (event) => Effect.suspend(() => observe(event)),
      named: (delivery, jobId) =>
        Effect.suspend(() => {
          const id = idOf(delivery)
          if (leases.has(id)) {
            byJob.set(jobId, id)
            return change(delivery, () => ({ jobId }))
          }
          names.set(id, jobId)
          if (names.size > maxLeases) names.delete(names.keys().next().value!)
          return Effect.void
        }),
      progress: (jobId, done, of) =>
        Effect.suspend(() => {
          const lease = leases.get(byJob.get(jobId) ?? "")
          // pages come by the hundred a second, and a bar has some dozens of steps
          const isNew = lease !== undefined && (done === of || Math.abs(done - (lease.done ?? 0)) * 40 >= of)
          return isNew ? put(new Lease({ ...lease, done, of })) : Effect.void
        }),
      tell,
      counted: (next) =>
        Effect.suspend(() => {
          counters = next
          return tell({ kind: "counters", data: { counters: next, advice: adviceOf(options.lease, runs) } })
        }),
      snapshot: Effect.map(Clock.currentTimeMillis, (at) => {
        tidy(at)
        const snapshot: Snapshot = {
          at,
          boot,
          queue: options.queue,
          concurrency: options.concurrency,
          consuming,
          leases: [...leases.values()],
          runs: runs.slice(-500),
          duplicates,
          advice: adviceOf(options.lease, runs),
          counters
        }
        return { seq, snapshot }
      }),
      since: (after) =>
        Effect.sync(() => {
          const first = changes[0]?.seq ?? seq + 1
          return after > seq || after < first - 1 ? undefined : changes.filter((c) => c.seq > after)
        }),
      watch: Effect.acquireRelease(
        Effect.sync(() => void watchers++),
        () => Effect.sync(() => void watchers--)
      ).pipe(Effect.zipRight(PubSub.subscribe(hub))),
      watchers: Effect.sync(() => watchers)
    })
  })

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: LiveOptions): Layer.Layer<Live> => Layer.scoped(Live, make(options))
