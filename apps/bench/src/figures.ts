/**
 * Figures of this library alone: hours in virtual time, and memory. Told which by its argument, prints them as JSON.
 */
import { Consumer, SqsQueue } from "@effect-sqs/core"
import { Fault, SimClock, VirtualSqs } from "@effect-sqs/testing"
import { Deferred, Effect, Fiber, Logger, LogLevel, Schema } from "effect"
import { setTimeout as sleep } from "node:timers/promises"
import { idealMs, jobs } from "./Work.js"

export interface Figure {
  readonly what: string
  readonly value: string
}

const Job = Schema.Struct({ n: Schema.Number, text: Schema.String })
const Jobs = SqsQueue.make("jobs", { schema: Job })
const TEXT = "What a job has to know. ".repeat(17)
const body = (n: number) => JSON.stringify({ n, text: TEXT })

const quiet = Logger.withMinimumLogLevel(LogLevel.Error)

/** How often each operation was called, from the journal. */
const callsOf = (journal: VirtualSqs.VirtualSqs["Type"]["journal"]): Record<string, number> => {
  const calls: Record<string, number> = {}
  for (const entry of journal.entries) {
    if (entry._tag === "CallStarted") calls[entry.operation] = (calls[entry.operation] ?? 0) + 1
  }
  return calls
}

const shown = (calls: Record<string, number>) =>
  Object.entries(calls)
    .map(([operation, n]) => `${operation} ${n}`)
    .join(", ")

/** An hour without a message. */
const idle = SimClock.run(
  Effect.gen(function* () {
    const { journal } = yield* VirtualSqs.VirtualSqs
    const worker = yield* Effect.forkDaemon(Consumer.run(Jobs, { concurrency: 50 }, () => Effect.void))
    yield* Effect.sleep("1 hour")
    const calls = callsOf(journal)
    yield* Fiber.interrupt(worker)
    return [{ what: "calls in an idle hour", value: shown(calls) }]
  }).pipe(Effect.provide(VirtualSqs.layer({ queues: ["jobs"] })), quiet),
  { seed: 1 }
)

/** A hundred jobs that outlive the first half of their visibility: one beat each. */
const beats = SimClock.run(
  Effect.gen(function* () {
    const { journal, send } = yield* VirtualSqs.VirtualSqs
    for (let n = 0; n < 100; n++) yield* send("jobs", body(n))
    const worker = yield* Effect.forkDaemon(Consumer.run(Jobs, { concurrency: 100 }, () => Effect.sleep("25 seconds")))
    yield* Effect.sleep("29 seconds")
    const calls = callsOf(journal)
    yield* Fiber.interrupt(worker)
    return [{ what: "calls for 100 jobs of 25 s, with one beat each", value: shown(calls) }]
  }).pipe(
    Effect.provide(VirtualSqs.layer({ queues: [{ name: "jobs", attributes: { VisibilityTimeout: 30 } }] })),
    quiet
  ),
  { seed: 1 }
)

const UNEVEN_PER_PLACE = 200

/** Uneven work where the machine takes no time: what the rules of polling and settling cost by themselves. */
const scheduling = (concurrency: number, latencyMs: number) => {
  const work = { kind: "uneven" } as const
  const count = UNEVEN_PER_PLACE * concurrency
  const half = Fault.latency(latencyMs / 2)
  return SimClock.run(
    Effect.gen(function* () {
      const { journal, send } = yield* VirtualSqs.VirtualSqs
      for (const job of jobs(work, count)) yield* send("jobs", JSON.stringify(job))
      let firstAt = 0
      let lastAt = 0
      let done = 0
      const over = yield* Deferred.make<void>()
      const queue = SqsQueue.make("jobs", { schema: Schema.Struct({ n: Schema.Number, ms: Schema.Number }) })
      const now = Effect.clockWith((clock) => clock.currentTimeMillis)
      const worker = yield* Effect.forkDaemon(
        Consumer.run(queue, { concurrency }, ({ ms }) =>
          Effect.gen(function* () {
            if (firstAt === 0) firstAt = yield* now
            yield* Effect.sleep(ms)
            lastAt = yield* now
            if (++done === count) yield* Deferred.succeed(over, undefined)
          })
        )
      )
      yield* Deferred.await(over)
      yield* Effect.sleep("1 second")
      const calls = Object.values(callsOf(journal)).reduce((sum, n) => sum + n, 0)
      yield* Fiber.interrupt(worker)
      const overIdeal = (lastAt - firstAt) / idealMs(work, count, concurrency)
      return {
        what: `uneven work, ${concurrency} at a time, ${latencyMs} ms of latency`,
        value: `${overIdeal.toFixed(3)} × ideal, ${(calls / count).toFixed(3)} requests a message`
      }
    }).pipe(
      Effect.provide(
        VirtualSqs.layer({
          queues: ["jobs"],
          faults: Fault.all(half, Fault.latency(latencyMs / 2, { after: true }))
        })
      ),
      quiet
    ),
    { seed: 1 }
  )
}

const uneven = async (): Promise<ReadonlyArray<Figure>> => {
  const figures: Array<Figure> = []
  for (const concurrency of [10, 50]) {
    for (const latencyMs of [0, 10]) figures.push(await Effect.runPromise(scheduling(concurrency, latencyMs)))
  }
  return figures
}

const heapBytes = async (): Promise<number> => {
  // what one collection frees may be what the next one finds
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.()
    await sleep(50)
  }
  return process.memoryUsage().heapUsed
}

const RUNNING = 10_000

/** A port that hands out messages of its own: the memory of a server would count too. */
const memory = async (): Promise<ReadonlyArray<Figure>> => {
  const { supply } = await import("./supply.js")
  const measure = (heartbeat: "25 seconds" | "5 seconds") =>
    Effect.gen(function* () {
      const all = yield* Deferred.make<void>()
      let running = 0
      const { layer } = supply(RUNNING, body)
      const bare = yield* Effect.promise(heapBytes)
      const worker = yield* Effect.forkDaemon(
        Effect.provide(
          Consumer.run(
            SqsQueue.make("http://local/000000000000/jobs", { schema: Job }),
            {
              concurrency: RUNNING,
              lease: { visibility: "2 minutes", heartbeat },
              drain: { timeout: 0, interruptTimeout: "1 second" }
            },
            () =>
              Effect.suspend(() => {
                if (++running === RUNNING) Deferred.unsafeDone(all, Effect.void)
                return Effect.never
              })
          ),
          layer
        )
      )
      yield* Deferred.await(all)
      if (heartbeat === "5 seconds") yield* Effect.sleep("8 seconds")
      const full = yield* Effect.promise(heapBytes)
      yield* Fiber.interrupt(worker)
      return (full - bare) / RUNNING / 1000
    }).pipe(quiet)
  const before = await Effect.runPromise(measure("25 seconds"))
  const beating = await Effect.runPromise(measure("5 seconds"))
  return [
    { what: `KB per delivery, ${RUNNING} jobs running, before their first beat`, value: before.toFixed(1) },
    { what: "KB per delivery, with heartbeats", value: beating.toFixed(1) }
  ]
}

const FLAT_TOTAL = 1_000_000
const FLAT_POINTS = 10

/** A million messages through one consumer: the heap at each tenth. */
const flat = async (): Promise<ReadonlyArray<Figure>> => {
  const { supply } = await import("./supply.js")
  const heaps: Array<number> = []
  const program = Effect.gen(function* () {
    const over = yield* Deferred.make<void>()
    let done = 0
    const { layer } = supply(FLAT_TOTAL, body)
    const handler = () =>
      Effect.suspend(() => {
        done++
        if (done === FLAT_TOTAL) Deferred.unsafeDone(over, Effect.void)
        if (done % (FLAT_TOTAL / FLAT_POINTS) !== 0) return Effect.void
        globalThis.gc?.()
        heaps.push(process.memoryUsage().heapUsed / 1e6)
        return Effect.void
      })
    const queue = SqsQueue.make("http://local/000000000000/jobs", { schema: Job })
    const worker = yield* Effect.forkDaemon(
      Effect.provide(Consumer.run(queue, { concurrency: 50, lease: { visibility: "30 seconds" } }, handler), layer)
    )
    yield* Deferred.await(over)
    yield* Fiber.interrupt(worker)
  }).pipe(quiet)
  await Effect.runPromise(program)
  return [{ what: "heap in MB at each 100,000 of 1,000,000 messages", value: heaps.map((h) => h.toFixed(1)).join(" ") }]
}

const all: Record<string, () => Promise<ReadonlyArray<Figure>>> = {
  beats: () => Effect.runPromise(beats),
  "uneven-virtual": uneven,
  idle: () => Effect.runPromise(idle),
  memory,
  flat
}

const figures = await all[JSON.parse(process.argv[2]!) as string]!()
process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0))
