/** One trial: a set of options against the jobs of a scenario, in virtual time. */
import * as Consumer from "@effect-sqs/core/Consumer"
import type { Delivery } from "@effect-sqs/core/Delivery"
import * as Redelivery from "@effect-sqs/core/Redelivery"
import { type ReceivedMessage, Sqs } from "@effect-sqs/core/Sqs"
import type { SqsError } from "@effect-sqs/core/SqsError"
import * as SqsQueue from "@effect-sqs/core/SqsQueue"
import * as SimClock from "@effect-sqs/testing/SimClock"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { hash } from "effect/Hash"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Runtime from "effect/Runtime"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { badInput, type CliError } from "../CliError.js"
import * as OptionSet from "../OptionSet.js"
import type { Trial } from "../Trial.js"
import * as WorkerFile from "../WorkerFile.js"
import { Books, drawFor, type Job, stream } from "./labBooks.js"

export interface Settings {
  readonly jobs: ReadonlyArray<Job>
  readonly set: OptionSet.OptionSet
  readonly concurrency: number
  readonly durationMs: number
  readonly workers: number
  readonly crashesPerHour: number
  readonly restartMs: number
  readonly failing: number
  readonly seed: number | string
  readonly priceUsd: number
  readonly onProgress: (share: number) => Effect.Effect<void>
}

const QUEUE = "jobs"
const DEAD = "dead"
const HOUR_MS = 3_600_000
/** How often it is looked whether all is done. */
const LOOK_MS = 5_000
const DAY_SECONDS = 86_400

/** The body of a message is the number of its job. */
const Jobs = SqsQueue.make(QUEUE, { schema: Schema.Number })

interface Requests {
  receive: number
  emptyReceive: number
  delete: number
  changeVisibility: number
  send: number
}

/**
 * The port of one worker. Its receives are fibers of the main process, so that they end with the worker, as its connections
 * would; a worker that is dead takes nothing.
 */
const portOf = (
  sqs: Sqs["Type"],
  requests: Requests,
  open: Set<Fiber.RuntimeFiber<unknown, unknown>>,
  runFork: RunFork
): Sqs["Type"] => {
  const counted =
    <Args extends ReadonlyArray<any>, A>(name: keyof Requests, call: (...args: Args) => A) =>
    (...args: Args): A => {
      requests[name]++
      return call(...args)
    }
  return {
    ...sqs,
    receive: (request) => {
      requests.receive++
      return Effect.async<ReadonlyArray<ReceivedMessage>, SqsError>((resume) => {
        const fiber = runFork(sqs.receive(request))
        open.add(fiber)
        fiber.addObserver((exit) => {
          open.delete(fiber)
          if (Exit.isSuccess(exit) && exit.value.length === 0) requests.emptyReceive++
          resume(exit)
        })
        return Effect.asVoid(Fiber.interrupt(fiber))
      })
    },
    deleteBatch: counted("delete", sqs.deleteBatch),
    changeVisibilityBatch: counted("changeVisibility", sqs.changeVisibilityBatch),
    sendBatch: counted("send", sqs.sendBatch)
  }
}

type RunFork = <A, E>(effect: Effect.Effect<A, E>) => Fiber.RuntimeFiber<A, E>

const redeliveryOf = ({ redelivery }: WorkerFile.WorkerFile) =>
  redelivery === undefined
    ? Redelivery.standard
    : Redelivery.schedule(
        Schedule.exponential(redelivery.firstSeconds * 1000).pipe(
          Schedule.union(Schedule.spaced(redelivery.maxSeconds * 1000)),
          Schedule.jitteredWith({ min: 0.5, max: 1 })
        ),
        { whenOver: Redelivery.leave }
      )

const handlerOf = (settings: Settings, books: Books, worker: number) => {
  const { failing, jobs } = settings
  const seed = hash(settings.seed)
  return (job: number, _: Delivery<number>) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.clockWith((clock) => {
        const startedAt = clock.unsafeCurrentTimeMillis()
        const run = books.started(worker, job, startedAt)
        const isFailing = failing > 0 && drawFor(seed, job, run) < failing
        const work = restore(Effect.sleep(jobs[job]!.runMs))
        return Effect.matchCauseEffect(work, {
          onFailure: (cause) => {
            books.ended(worker, job, startedAt, clock.unsafeCurrentTimeMillis(), "cut")
            return Effect.failCause(cause)
          },
          onSuccess: () => {
            books.ended(worker, job, startedAt, clock.unsafeCurrentTimeMillis(), isFailing ? "failure" : "success")
            return isFailing ? Effect.fail("by chance") : Effect.void
          }
        })
      })
    )
}

interface Worker {
  readonly kill: Effect.Effect<void>
}

/** Each worker is a machine of its own: it can die without a word, and then nothing of it goes on. */
const startWorkers = (
  settings: Settings,
  books: Books,
  requests: Requests,
  alive: Map<number, Worker>,
  broken: Deferred.Deferred<never, CliError>
) =>
  Effect.gen(function* () {
    const { crashesPerHour, restartMs, seed, set, workers } = settings
    const sqs = yield* Sqs
    const runFork: RunFork = Runtime.runFork(yield* Effect.runtime<never>())
    const options = {
      ...set.worker.options,
      metrics: false,
      spans: "off",
      redelivery: redeliveryOf(set.worker),
      onLeaseLost: set.onLeaseLost
    } as const
    const spawn = (worker: number) =>
      Effect.gen(function* () {
        const open = new Set<Fiber.RuntimeFiber<unknown, unknown>>()
        const consumer = Consumer.run(Jobs, options, handlerOf(settings, books, worker)).pipe(
          Effect.provideService(Sqs, portOf(sqs, requests, open, runFork)),
          // it ends only when it cannot go on
          Effect.tapErrorCause((cause) =>
            Deferred.fail(broken, badInput(`${set.name}: a worker ended: ${Cause.pretty(cause).split("\n", 1)[0]}`))
          )
        )
        const process = yield* SimClock.spawn(`worker ${worker}`, consumer)
        const kill = Effect.zipRight(
          process.kill,
          Effect.sync(() => open.forEach((fiber) => fiber.unsafeInterruptAsFork(fiber.id())))
        )
        alive.set(worker, { kill })
      })
    const mortal = (worker: number) =>
      Effect.gen(function* () {
        const random = stream(seed, `crashes of worker ${worker}`)
        for (;;) {
          yield* spawn(worker)
          yield* Effect.sleep((-Math.log(1 - random()) / crashesPerHour) * HOUR_MS)
          yield* alive.get(worker)!.kill
          alive.delete(worker)
          books.crashed(worker, yield* SimClock.trueTimeMillis)
          yield* Effect.sleep(restartMs)
        }
      })
    for (let worker = 0; worker < workers; worker++) {
      yield* crashesPerHour > 0 ? Effect.fork(mortal(worker)) : spawn(worker)
    }
  })

const PROGRESS_STEPS = 20

const quantile = (sorted: ReadonlyArray<number>, q: number): number | null =>
  sorted.length === 0 ? null : sorted[Math.min(sorted.length - 1, Math.ceil(q * sorted.length) - 1)]! / 1000

export const simulate = (settings: Settings): Effect.Effect<Trial, CliError | SimClock.SimStuck> => {
  const { durationMs, jobs, set, workers } = settings
  const books = new Books()
  const requests: Requests = { receive: 0, emptyReceive: 0, delete: 0, changeVisibility: 0, send: 0 }
  const tailMs = Math.max(HOUR_MS, durationMs)

  const program = Effect.gen(function* () {
    const virtual = yield* VirtualSqs.VirtualSqs
    const [fault] = yield* WorkerFile.check(virtual.queueUrl(QUEUE), set.worker.options)
    if (fault !== undefined) {
      return yield* badInput(
        `${set.name}: ${fault.option} ${fault.rule}${fault.value === "" ? "" : ` (it is ${fault.value})`}.`
      )
    }
    const startedAt = yield* SimClock.trueTimeMillis
    const broken = yield* Deferred.make<never, CliError>()

    const isOver = Effect.map(Effect.orDie(virtual.counters(QUEUE)), (c) => c.visible + c.inFlight + c.delayed === 0)
    const story = Effect.gen(function* () {
      const step = Math.max(1, Math.floor(jobs.length / PROGRESS_STEPS))
      for (const [n, { atMs }] of jobs.entries()) {
        const now = yield* SimClock.trueTimeMillis
        if (startedAt + atMs > now) yield* Effect.sleep(startedAt + atMs - now)
        books.sent(yield* SimClock.trueTimeMillis)
        yield* Effect.orDie(virtual.send(QUEUE, String(n)))
        if (n % step === 0) yield* settings.onProgress(n / jobs.length)
      }
      const end = startedAt + durationMs + tailMs
      while ((yield* SimClock.trueTimeMillis) < end && !(yield* isOver)) yield* Effect.sleep(LOOK_MS)
    })
    const alive = new Map<number, Worker>()
    yield* startWorkers(settings, books, requests, alive, broken).pipe(
      Effect.zipRight(Effect.raceAll([story, Deferred.await(broken)])),
      // no drain: what they would do after this concerns nobody
      Effect.ensuring(Effect.suspend(() => Effect.forEach(alive.values(), ({ kill }) => kill, { discard: true })))
    )

    const endedAt = yield* SimClock.trueTimeMillis
    const dead = yield* Effect.orDie(virtual.counters(DEAD))
    return trialOf(settings, books, requests, dead.visible + dead.inFlight, (endedAt - startedAt) / 1000)
  })

  const queues: ReadonlyArray<VirtualSqs.QueueOptions> = [
    { name: DEAD, attributes: { MessageRetentionPeriod: 14 * DAY_SECONDS } },
    {
      name: QUEUE,
      attributes: { MessageRetentionPeriod: 4 * DAY_SECONDS },
      deadLetters: { queue: DEAD, maxReceiveCount: set.maxReceiveCount }
    }
  ]
  return SimClock.run(
    program.pipe(
      Effect.provide(VirtualSqs.layer({ queues, journal: "off", seed: settings.seed })),
      Logger.withMinimumLogLevel(LogLevel.None)
    ),
    { seed: settings.seed, limit: 2 * (durationMs + tailMs) + 86_400_000, tasksPerInstant: 5_000 * (workers + 1_000) }
  )
}

const trialOf = (
  settings: Settings,
  books: Books,
  requests: Requests,
  dead: number,
  endedAfterSeconds: number
): Trial => {
  const { concurrency, priceUsd, set, workers } = settings
  const sent = books.states.length
  const latencies = books.latencies()
  const recoveries = [...books.recoveriesMs].sort((a, b) => a - b)
  const total = requests.receive + requests.delete + requests.changeVisibility + requests.send
  const perMessage = Number((total / sent).toPrecision(6))
  return {
    name: set.name,
    options: OptionSet.describe(set),
    messages: { sent, done: books.done, dead, left: Math.max(0, sent - books.done - dead) },
    runs: books.runs,
    duplicates: { runs: books.duplicateRuns, messages: books.duplicatedMessages },
    failures: books.failures,
    cut: books.cut,
    recovery: {
      crashes: books.crashes,
      messages: recoveries.length,
      p50Seconds: quantile(recoveries, 0.5),
      maxSeconds: quantile(recoveries, 1)
    },
    latency: { p50Seconds: quantile(latencies, 0.5), p99Seconds: quantile(latencies, 0.99) },
    requests: { ...requests, total },
    requestsPerMessage: perMessage,
    usdPerMillionMessages: Number((perMessage * priceUsd).toPrecision(6)),
    busy: Number((books.busyMs / (workers * concurrency * endedAfterSeconds * 1000)).toPrecision(4)),
    endedAfterSeconds
  }
}
