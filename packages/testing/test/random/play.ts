/** Plays the scene of a seed: real consumers on a virtual SQS, in simulated time, and everything that was seen of them. */
import { Consumer, type ConsumerEvent, type Drain, Policy, SqsQueue } from "@effect-sqs/core"
import { type Journal, SimClock, Tracking, VirtualSqs, VirtualSqsPolicy } from "@effect-sqs/testing"
import { Deferred, Effect, type Exit, Fiber, Logger, Schedule } from "effect"
import { FIRST_PROBE, handlerOf, Job, policyOf, type Probes } from "./job.js"
import { dice, faultsOf, type Scene, type WorkerScene } from "./scene.js"

const queues = {
  standard: SqsQueue.make("jobs", { schema: Job }),
  fifo: SqsQueue.make("jobs.fifo", { schema: Job, groupId: () => "", deduplicationId: () => "" })
}

/** What became of one worker. Times are epoch ms. */
export interface Worked {
  readonly worker: WorkerScene
  readonly events: ReadonlyArray<ConsumerEvent.ConsumerEvent>
  readonly report: Drain.DrainReport | undefined
  readonly stoppedAt: number | undefined
  readonly endedAt: number
  readonly killed: boolean
  readonly exit: Exit.Exit<never, unknown>
  /** of the journal, when it ended */
  readonly entries: number
}

export interface Played {
  readonly scene: Scene
  readonly queue: string
  readonly dead: string
  readonly entries: ReadonlyArray<Journal.JournalEntry>
  readonly workers: ReadonlyArray<Worked>
  readonly undecodable: ReadonlySet<string>
  /** messages that a policy may have deleted */
  readonly mayDelete: ReadonlySet<string>
  readonly sent: ReadonlyArray<string>
  /** what is in the queues at the end */
  readonly left: ReadonlyArray<VirtualSqs.MessageState>
  readonly deadLetters: ReadonlyArray<VirtualSqs.MessageState>
  /** what the survivors did in calm weather; `undefined`: nobody was left */
  readonly calm: { readonly emptied: boolean; readonly places: number; readonly taken: number | undefined } | undefined
}

const optionsOf = (w: WorkerScene) => ({
  concurrency: w.concurrency,
  prefetch: w.prefetch,
  lease: {
    visibility: w.visibilityS === undefined ? undefined : `${w.visibilityS} seconds`,
    heartbeat: w.heartbeatMs,
    extendBy: w.extendByS === undefined ? undefined : `${w.extendByS} seconds`,
    limit: w.limitS === undefined ? undefined : `${w.limitS} seconds`
  } as const,
  receive: { waitTime: w.waitTimeS * 1000, linger: w.receiveLingerMs, parallel: w.parallel },
  settlement: { linger: w.settlementLingerMs },
  drain: { timeout: w.drainMs, interruptTimeout: w.interruptMs, openReceives: w.openReceives },
  onLeaseLost: w.onLeaseLost,
  redelivery: policyOf(w.redelivery),
  undecodable: policyOf(w.undecodable),
  policy:
    w.attemptTimeoutMs === undefined && w.retries === 0
      ? undefined
      : Policy.make({
          ...(w.attemptTimeoutMs === undefined ? {} : { attemptTimeout: w.attemptTimeoutMs }),
          ...(w.retries === 0
            ? {}
            : { retry: Schedule.intersect(Schedule.spaced("500 millis"), Schedule.recurs(w.retries)) })
        })
})

/** With less lease than that a probe could lose it while the others are still being received. */
const canProbe = (scene: Scene) => (w: WorkerScene) =>
  (w.heartbeatMs !== "off" || (w.visibilityS ?? scene.queueVisibilityS) >= 20) &&
  (w.limitS ?? 60) >= 20 &&
  (w.attemptTimeoutMs ?? 60_000) >= 20_000

/** the most that it may hold beyond what runs, when run times decide */
export const mostPrefetched = (kind: Scene["kind"], w: WorkerScene): number =>
  w.prefetch ?? (kind === "fifo" ? Math.min(100, Math.max(20, 4 * w.concurrency)) : 20)

const lengthOf = (stalls: WorkerScene["stalls"]) => stalls.reduce((sum, { afterMs, ms }) => sum + afterMs + ms, 0)

const EMPTY_WITHIN_S = 4 * 3600
const PROBE_WITHIN = "10 seconds"

const program = (scene: Scene) =>
  Effect.gen(function* () {
    const { kind, seed } = scene
    const queue = queues[kind]
    const dead = kind === "fifo" ? "dead.fifo" : "dead"
    const { journal, messages, send } = yield* VirtualSqs.VirtualSqs
    const probes: Probes = { running: 0, most: 0, done: yield* Deferred.make<void>() }
    const mayDelete = new Set<string>()
    const undecodable = new Set<string>()
    const sent: Array<string> = []
    /** handlers that run on workers that live on */
    let busy = 0

    const work = (w: WorkerScene) =>
      Effect.gen(function* () {
        yield* Effect.sleep(w.startAt)
        const events: Array<ConsumerEvent.ConsumerEvent> = []
        const open = new Map<string, string>()
        const may = (id: string) => void mayDelete.add(id)
        const tracked = Tracking.tracked({ journal, queue: queue.name }, handlerOf(scene, w.redelivery, probes, may))
        const handler: typeof tracked = (job, delivery) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              if (w.stopAt === undefined) busy++
              open.set(delivery.receiptHandle, delivery.messageId)
            }),
            () => tracked(job, delivery),
            () =>
              Effect.sync(() => {
                if (w.stopAt === undefined) busy--
                open.delete(delivery.receiptHandle)
              })
          )
        const options = {
          ...optionsOf(w),
          ...(scene.maxReceiveCount === undefined ? {} : { deadLetterQueue: dead }),
          metrics: false,
          onEvent: (e: ConsumerEvent.ConsumerEvent) => Effect.sync(() => void events.push(e))
        }
        const process = yield* SimClock.spawn(w.name, Consumer.run(queue, options as any, handler))
        let wakesAt = 0
        const stall = (ms: number) =>
          Effect.flatMap(SimClock.trueTimeMillis, (now) => {
            wakesAt = now + ms
            return process.stall(ms)
          })
        const mishaps = yield* Effect.forkDaemon(
          Effect.all(
            [
              Effect.forEach(w.stalls, (s) => Effect.delay(stall(s.ms), s.afterMs)),
              Effect.forEach(w.jumps, (s) => Effect.delay(process.jumpMillis(s.ms - 3_600_000), s.afterMs))
            ],
            { concurrency: "unbounded", discard: true }
          )
        )
        let stoppedAt: number | undefined
        const stop = Effect.gen(function* () {
          if (stoppedAt !== undefined) return
          // a process that sleeps hears of it when it wakes
          stoppedAt = Math.max(yield* SimClock.trueTimeMillis, wakesAt)
          yield* process.terminate
        })
        const plan = Effect.gen(function* () {
          if (w.killAt !== undefined) {
            yield* Effect.delay(process.kill, w.killAt - w.startAt)
          } else if (w.stopAt !== undefined) {
            yield* Effect.delay(stop, w.stopAt - w.startAt)
          }
        })
        const planned = yield* Effect.forkDaemon(plan)
        const ended = yield* Effect.forkDaemon(
          Effect.gen(function* () {
            const exit = yield* process.await
            yield* Fiber.interrupt(planned)
            yield* Fiber.interrupt(mishaps)
            const endedAt = yield* SimClock.trueTimeMillis
            // whoever runs the consumer ends the process after it: what was abandoned ends there
            yield* process.kill
            for (const [receiptHandle, messageId] of open) {
              const run = { queue: queue.name, messageId, receiptHandle, outcome: "interrupted" } as const
              journal.append({ _tag: "RunEnded", at: endedAt, ...run, reason: "its process ended" })
            }
            const drained = events.find((e) => e._tag === "Drained")
            const worked: Worked = {
              worker: w,
              events,
              report: drained?.report,
              stoppedAt,
              endedAt,
              killed: w.killAt !== undefined,
              exit,
              entries: journal.appended
            }
            return worked
          })
        )
        return { stop, ended }
      })

    const starting = yield* Effect.forEach(scene.workers, (w) => Effect.fork(work(w)))
    for (let n = 0; n < scene.messages; n++) {
      const { chance, int, one } = dice(seed, "message", n)
      const isBad = chance("undecodable", scene.undecodable)
      const fifo = { groupId: `g-${one("group", [...Array(scene.groups).keys()])}`, deduplicationId: String(n) }
      const body = isBad ? `no job ${n}` : JSON.stringify({ n })
      const id = yield* send(queue.name, body, kind === "fifo" ? fifo : {})
      sent.push(id)
      if (isBad) undecodable.add(id)
      yield* Effect.sleep(int("pause", 0, scene.pauseMs))
    }
    const running = yield* Effect.forEach(starting, Fiber.join)
    yield* Effect.sleep(Math.max(0, scene.calmAt - (yield* SimClock.progress).elapsedMs))

    const survivors = scene.workers.filter((w) => w.stopAt === undefined)
    let calm: Played["calm"]
    if (survivors.length > 0) {
      // what cannot be decoded may come again for ever
      const isEmpty = Effect.map(
        messages(queue.name),
        (all) => busy === 0 && all.every((m) => undecodable.has(m.messageId))
      )
      const emptied = yield* Effect.sleep("10 seconds").pipe(
        Effect.zipRight(isEmpty),
        Effect.repeat({ until: (empty) => empty, times: EMPTY_WITHIN_S / 10 })
      )
      const places = survivors.reduce((sum, w) => sum + w.concurrency, 0)
      let taken: number | undefined
      if (emptied && survivors.every(canProbe(scene))) {
        // time for polls that were refused last, and for stalls that are still to come
        const quietAt = Math.max(...scene.workers.map(({ stalls, startAt }) => startAt + lengthOf(stalls)))
        yield* Effect.sleep(30_000 + Math.max(0, quietAt - (yield* SimClock.progress).elapsedMs))
        const n = scene.workers.reduce((sum, w) => sum + w.concurrency + mostPrefetched(kind, w), 0)
        for (let i = 0; i < n; i++) {
          const fifo = { groupId: `probe-${i}`, deduplicationId: `probe-${i}` }
          sent.push(yield* send(queue.name, JSON.stringify({ n: FIRST_PROBE + i }), kind === "fifo" ? fifo : {}))
        }
        const full = Effect.sync(() => probes.running === places)
        yield* Effect.sleep("100 millis").pipe(
          Effect.zipRight(full),
          Effect.repeat({ until: (b) => b }),
          Effect.timeoutOption(PROBE_WITHIN)
        )
        taken = probes.most
        if (dice(seed).chance("stop with probes", 0.5)) yield* Deferred.succeed(probes.done, undefined)
        yield* Effect.sleep(dice(seed).int("after probes", 0, 2000))
      }
      calm = { emptied, places, taken }
    }
    yield* Effect.forEach(running, ({ stop }) => stop)
    if (survivors.length > 0) {
      yield* Effect.forkDaemon(
        Effect.delay(Deferred.succeed(probes.done, undefined), dice(seed).int("hold", 0, 10_000))
      )
    }
    const workers = yield* Effect.forEach(running, ({ ended }) => Fiber.join(ended))
    const played: Played = {
      scene,
      queue: queue.name,
      dead,
      entries: journal.entries,
      workers,
      undecodable,
      mayDelete,
      sent,
      left: yield* messages(queue.name),
      deadLetters: scene.maxReceiveCount === undefined ? [] : yield* messages(dead),
      calm
    }
    return played
  })

const worldOf = (scene: Scene) => {
  const dead = scene.kind === "fifo" ? "dead.fifo" : "dead"
  const name = queues[scene.kind].name
  const attributes = { VisibilityTimeout: scene.queueVisibilityS }
  return VirtualSqs.layer({
    seed: scene.seed,
    faults: faultsOf(scene),
    policy: scene.anyReading ? VirtualSqsPolicy.random : {},
    requestTimeout: scene.requestTimeoutMs,
    queues:
      scene.maxReceiveCount === undefined
        ? [{ name, attributes }]
        : [dead, { name, attributes, deadLetters: { queue: dead, maxReceiveCount: scene.maxReceiveCount } }]
  })
}

const quiet = Logger.remove(Logger.defaultLogger)

export const play = (scene: Scene): Effect.Effect<Played, SimClock.SimStuck | VirtualSqs.VirtualSqsError> =>
  program(scene).pipe(
    Effect.provide(worldOf(scene)),
    (world) => SimClock.run(world, { seed: scene.seed, order: scene.order, limit: "2 days" }),
    Effect.provide(quiet)
  )
