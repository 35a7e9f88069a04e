/**
 * A report of 457 pages while ten others run, on as many render threads as there are jobs: are the heartbeats still on time?
 *
 *   npm run heavy
 *
 * The worker is in this process, SQS in another. It prints how late the latest heartbeat was, in parts of the visibility, and the
 * delay of the event loop; exit code 0 when the first is at most a tenth, and the 99th percentile of the second at most 50 ms.
 */
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import type { ConsumerEvent } from "@effect-sqs/core/ConsumerEvent"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as LogLevel from "effect/LogLevel"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import * as Database from "../src/jobs/Database.js"
import { JobStore } from "../src/jobs/JobStore.js"
import * as Logging from "../src/Logging.js"
import { RenderPool } from "../src/render/RenderPool.js"
import { FlightDelaysJob, type ReportJob } from "../src/ReportJob.js"
import * as ReportWorker from "../src/ReportWorker.js"
import * as FolderStore from "../src/store/FolderStore.js"

const others = 10
const visibilitySeconds = 10
const heartbeatSeconds = 5
const queue = "report-jobs"
const resolutionMs = 10

/** a local SQS in a process of its own; answers its address */
const sqs = Effect.acquireRelease(
  Effect.sync(() =>
    spawn(
      process.execPath,
      [
        "--conditions=@effect-sqs/source",
        "--import=tsx",
        fileURLToPath(new URL("../../../packages/testing/src/bin/sqs.ts", import.meta.url)),
        "--port=0",
        `--queue=${queue},VisibilityTimeout=${visibilitySeconds}`
      ],
      { stdio: ["ignore", "pipe", "inherit"] }
    )
  ),
  (child) => Effect.sync(() => child.kill())
).pipe(
  Effect.flatMap((child) =>
    Effect.async<string>((resume) => {
      createInterface({ input: child.stdout }).on("line", (line) => {
        const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)
        if (url !== null) resume(Effect.succeed(url[0]))
      })
    })
  )
)

const heavy = new FlightDelaysJob({
  jobId: "heavy",
  locale: "ko",
  period: "2001-Q1",
  minDelay: -1000,
  // long enough for heartbeats on a fast machine too
  pagesPerSecond: 15
})
/** three rounds of ten: whenever one ends, the next begins */
const light = Array.from(
  { length: 3 * others },
  (_, n) => new FlightDelaysJob({ jobId: `light-${n}`, locale: "en", period: "2001-02", minDelay: -1000 })
)
const jobs: ReadonlyArray<ReportJob> = [heavy, ...light]

const settings: ReportWorker.WorkerSettings = {
  queue,
  deadLetterQueue: undefined,
  concurrency: others + 1,
  visibility: Duration.seconds(visibilitySeconds),
  heartbeat: Duration.seconds(heartbeatSeconds),
  extendBy: undefined,
  limit: undefined,
  redeliveryFrom: Duration.seconds(1),
  redeliveryTo: Duration.seconds(10),
  resend: Duration.minutes(10),
  webhookTimeout: Duration.seconds(10),
  waitTime: Duration.seconds(1),
  drain: Duration.seconds(30)
}

const measure = Effect.gen(function* () {
  const store = yield* JobStore
  yield* Effect.forEach(jobs, (job) => store.accept(job), { discard: true })
  const over = yield* Deferred.make<void>()
  const latenessesMs: Array<number> = []
  let ended = 0
  let failed = 0
  let started = 0
  let most = 0
  const observe = (event: ConsumerEvent) =>
    Effect.suspend(() => {
      // a heartbeat that is on time has all of the visibility left but its interval
      if (event._tag === "LeaseExtended") {
        latenessesMs.push(1000 * (visibilitySeconds - heartbeatSeconds) - event.marginMs)
      }
      if (event._tag === "RunStarted") most = Math.max(most, ++started - ended)
      if (event._tag !== "RunEnded") return Effect.void
      ended++
      if (event.outcome !== "success") failed++
      return ended === jobs.length ? Deferred.succeed(over, undefined) : Effect.void
    })
  const delay = monitorEventLoopDelay({ resolution: resolutionMs })
  const worker = yield* Effect.forkScoped(ReportWorker.run(settings, { onEvent: observe }))
  yield* Effect.sync(() => delay.enable())
  yield* Effect.raceAll([Deferred.await(over), Fiber.join(worker)])
  yield* Effect.sync(() => delay.disable())
  yield* Fiber.interrupt(worker)
  const latest = Math.max(0, ...latenessesMs) / (1000 * visibilitySeconds)
  const p99 = Math.max(0, delay.percentile(99) / 1e6 - resolutionMs)
  const max = Math.max(0, delay.max / 1e6 - resolutionMs)
  yield* Console.log(
    [
      `${jobs.length} jobs, ${most} at a time, ${failed} failed, ${latenessesMs.length} heartbeats`,
      `the latest heartbeat: ${(100 * latest).toFixed(1)} % of the visibility too late (at most 10)`,
      `delay of the event loop: p99 ${p99.toFixed(1)} ms (at most 50), longest ${max.toFixed(1)} ms`
    ].join("\n")
  )
  return failed === 0 && most > others && latenessesMs.length > 0 && latest <= 0.1 && p99 <= 50
})

const program = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(path.join(tmpdir(), "report-heavy-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
  )
  const endpoint = yield* sqs
  const live = Layer.mergeAll(
    Database.layer({ _tag: "SqliteFile", filename: path.join(folder, "jobs.db") }),
    FolderStore.layer(path.join(folder, "artifacts")).pipe(Layer.provideMerge(NodeFileSystem.layer)),
    RenderPool.layer(others + 1),
    AwsSqs.layerWith({ endpoint, region: "us-east-1", credentials: { accessKeyId: "heavy", secretAccessKey: "heavy" } })
  )
  const right = yield* measure.pipe(Effect.provide(live))
  yield* Effect.sync(() => void (process.exitCode = right ? 0 : 1))
}).pipe(Effect.scoped, Effect.provide(Logging.layer(LogLevel.Warning)))

NodeRuntime.runMain(program)
