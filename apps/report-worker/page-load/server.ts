/**
 * The process with the server: the app's own, over a database of jobs, with deliveries in hand. It publishes when it is asked
 * to, in the way a consumer does.
 */
import * as Settlement from "@effect-sqs/core/Settlement"
import { ConsumerEvent } from "@effect-sqs/core/ConsumerEvent"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Queue from "effect/Queue"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Live } from "../src/http/Live.js"
import { JobResult } from "../src/jobs/JobRow.js"
import { JobStore } from "../src/jobs/JobStore.js"
import { FlightDelaysJob } from "../src/ReportJob.js"
import { queue, site, TheSite } from "../test/http/harness.js"
import type { Published, Ready, Reply, Request, Size } from "./Protocol.js"

const size = JSON.parse(process.argv[2]!) as Size

const slotMs = 30_000
const turnMs = 10
const resolutionMs = 5
/** in a flood, how many before others have their turn */
const floodTurn = 50

interface Delivery {
  readonly jobId: string
  readonly subject: { readonly messageId: string; readonly receiptHandle: string; readonly receiveCount: number }
  readonly startedAt: number
  beats: number
  done: number
}

const jobOf = (jobId: string) => new FlightDelaysJob({ jobId, locale: "en", period: "2001-02", airport: "DEN" })

const result = new JobResult({
  artifact: "load.pdf",
  location: "/nowhere/load.pdf",
  bytes: 123_456,
  sha256: "0".repeat(64),
  pages: 40
})

const program = Effect.gen(function* () {
  const live = yield* Live
  const jobs = yield* JobStore
  let jobCount = 0
  let deliveryCount = 0

  const running: Array<Delivery> = []
  let stamps: Array<readonly [number, number]> = []
  let beats: Array<readonly [string, number]> = []
  let finished: Array<readonly [string, number]> = []

  /** a job that is accepted and runs; or one that has ended */
  const accept = Effect.suspend(() => {
    const jobId = `load-${jobCount++}`
    return jobs
      .accept(jobOf(jobId), { notBefore: 4e12 })
      .pipe(Effect.zipRight(jobs.started(jobId, { receiveCount: 1, nextAt: 4e12 })), Effect.as(jobId))
  })

  const received = (jobId: string) =>
    Effect.gen(function* () {
      const at = Date.now()
      const messageId = `00000000-0000-4000-8000-${String(deliveryCount++).padStart(12, "0")}`
      const subject = { messageId, receiptHandle: "load", receiveCount: 1 }
      const delivery: Delivery = { jobId, subject, startedAt: at, beats: 0, done: 0 }
      running.push(delivery)
      const about = { queue, at, ...subject }
      yield* live.observe(ConsumerEvent.Received({ ...about, deadline: at + slotMs, sentAt: at - 1000 }))
      yield* live.observe(ConsumerEvent.RunStarted(about))
      yield* live.named(subject, jobId)
    })

  const ended: Effect.Effect<void> = Effect.suspend(() => {
    // the next one is late: the database is slower than what is published
    if (running.length < size.leases) return beat
    const { jobId, startedAt, subject } = running.shift()!
    const about = { queue, at: Date.now(), ...subject }
    toFinish.push(jobId)
    return Effect.zipRight(
      live.observe(ConsumerEvent.RunEnded({ ...about, outcome: "success", ranMs: about.at - startedAt })),
      live.observe(
        ConsumerEvent.DeliverySettled({
          ...about,
          settled: { asked: Settlement.Delete, confirmed: true, problem: undefined }
        })
      )
    )
  })

  let turn = 0
  const beat = Effect.suspend(() => {
    const delivery = running[turn++ % running.length]!
    const at = Date.now()
    beats.push([`${delivery.jobId} ${++delivery.beats}`, at])
    return live.observe(
      ConsumerEvent.LeaseExtended({ queue, at, deadline: at + slotMs, marginMs: slotMs / 2, ...delivery.subject })
    )
  })
  const progress = Effect.suspend(() => {
    const delivery = running[turn++ % running.length]!
    return live.progress(delivery.jobId, ++delivery.done, 40)
  })

  // what a database does beside it: its history is told too, by the tail of it
  const toFinish: Array<string> = []
  const fresh = yield* Queue.unbounded<string>()
  const wanted = yield* Queue.unbounded<void>()
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.gen(function* () {
        yield* Queue.take(wanted)
        yield* Queue.offer(fresh, yield* accept)
        for (const jobId of toFinish.splice(0)) {
          yield* jobs.finished(jobId, result, { nextAt: 0 })
          finished.push([jobId, Date.now()])
        }
      })
    )
  )

  /** eleven beats, three times progress, a delivery that ends, and another that comes when the database has its job */
  const round: ReadonlyArray<Effect.Effect<void>> = [
    ...Array.from({ length: 11 }, () => beat),
    ...Array.from({ length: 3 }, () => progress),
    ended,
    Effect.flatMap(Queue.size(wanted), (waiting) => (waiting > 10 ? Effect.void : Queue.offer(wanted, undefined))),
    Effect.flatMap(Queue.poll(fresh), (next) =>
      next._tag === "Some" ? received(next.value) : Effect.asVoid(Effect.zipRight(beat, progress))
    )
  ]
  let at = 0
  const next = Effect.suspend(() => round[at++ % round.length]!)

  let seen = 0
  const stamp = (since: number) =>
    Effect.map(live.since(seen), (changes) => {
      for (const { change, seq } of changes ?? []) {
        if (change.kind === "lease") stamps.push([seq, since])
        seen = seq
      }
      return changes?.length ?? 0
    })

  const publish = (wantedChanges: number, changesPerMs: number) =>
    Effect.gen(function* () {
      ;[stamps, beats, finished] = [[], [], []]
      seen = (yield* live.snapshot).seq
      const first = seen
      const loop = monitorEventLoopDelay({ resolution: resolutionMs })
      loop.enable()
      const began = performance.now()
      let publisherMs = 0
      let longestMs = 0
      while (seen - first < wantedChanges) {
        const due = Math.min(wantedChanges, (performance.now() - began + turnMs) * changesPerMs)
        const since = Date.now()
        const from = performance.now()
        for (let n = 0; n < floodTurn && seen - first + n < due; n++) yield* next
        const tookMs = performance.now() - from
        publisherMs += tookMs
        longestMs = Math.max(longestMs, tookMs)
        yield* stamp(since)
        yield* Effect.sleep(seen - first < due ? 0 : turnMs)
      }
      const tookMs = performance.now() - began
      loop.disable()
      while (running.length < size.leases) yield* Effect.flatMap(accept, received)
      const loopMs = [loop.percentile(99), loop.max].map((ns) => Math.max(0, ns / 1e6 - resolutionMs))
      return {
        changes: seen - first,
        tookMs,
        publisherMs,
        longestMs,
        loopMs,
        stamps,
        beats,
        finished
      } satisfies Published
    })

  yield* Effect.forEach(
    Array.from({ length: Math.max(0, size.jobs - size.leases) }),
    () => Effect.flatMap(accept, (jobId) => jobs.finished(jobId, result, { nextAt: 0 })),
    { discard: true }
  )
  yield* live.observe(ConsumerEvent.Started({ queue, at: Date.now(), notes: [] }))
  for (let i = 0; i < size.leases; i++) yield* Effect.flatMap(accept, received)
  for (let i = 0; i < 12 * size.leases; i++) yield* beat

  const requests = yield* Queue.unbounded<Request>()
  process.on("message", (request: Request) => void requests.unsafeOffer(request))
  process.on("disconnect", () => process.exit())
  const { url } = yield* TheSite
  process.send!({ url } satisfies Ready)
  yield* Effect.forever(
    Effect.gen(function* () {
      const request = yield* Queue.take(requests)
      const { id } = request
      const reply = (answer: Omit<Reply, "id">) => process.send!({ id, ...answer } satisfies Reply)
      if (request.ask === "memory") {
        // twice: what the first one finds dead may have been the last to hold something else
        for (let n = 0; n < 2; n++) globalThis.gc!()
        const { arrayBuffers, external, heapUsed } = process.memoryUsage()
        reply({ bytes: heapUsed + Math.max(external, arrayBuffers) })
      } else if (request.ask === "flood") {
        reply({ published: { ...(yield* publish(request.changes, Infinity)), stamps: [], beats: [], finished: [] } })
      } else {
        reply({ published: yield* publish(size.events * request.seconds, size.events / 1000) })
      }
    })
  )
}).pipe(Effect.scoped, Effect.provide(site()), Logger.withMinimumLogLevel(LogLevel.Warning))

NodeRuntime.runMain(program)
