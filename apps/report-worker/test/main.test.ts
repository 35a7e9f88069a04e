import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import path from "node:path"
import * as Database from "../src/jobs/Database.js"
import { JobStore } from "../src/jobs/JobStore.js"
import { FlightDelaysJob, reportJobs } from "../src/ReportJob.js"
import { main } from "./programs.js"

/** A program that starts on a busy machine. */
const patienceMs = 120_000

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The worker as its own process. `until` completes when its output has a text. */
const program = (environment: Record<string, string>, ...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { AWS_PROFILE: _, ...inherited } = process.env
    const child: ChildProcess = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [main, ...args], {
          env: { ...inherited, ...environment },
          stdio: ["ignore", "pipe", "pipe"]
        })
      ),
      (started) => Effect.sync(() => started.kill("SIGKILL"))
    )
    const said = { stdout: "", stderr: "" }
    const listeners = new Set<() => void>()
    for (const name of ["stdout", "stderr"] as const) {
      child[name]!.on("data", (chunk) => {
        said[name] += String(chunk)
        listeners.forEach((listener) => listener())
      })
    }
    const ended = yield* Effect.cached(
      Effect.async<Ended>((resume) => {
        child.on("close", (code) => resume(Effect.succeed({ code, ...said })))
      })
    )
    yield* Effect.forkScoped(ended)
    const until = (text: string) =>
      Effect.async<void>((resume) => {
        const look = () => {
          if (!said.stdout.includes(text)) return
          listeners.delete(look)
          resume(Effect.void)
        }
        listeners.add(look)
        look()
      })
    return { child, ended, until }
  })

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "reports-"))),
  (dir) => Effect.sync(() => rmSync(dir, { recursive: true, force: true }))
)

/** a port that is free now */
const freePort = Effect.async<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** A local SQS, and the environment of a worker that talks to it. */
const local = (options: VirtualSqs.VirtualSqsOptions = {}) =>
  Effect.gen(function* () {
    const queues = ["jobs-dlq", { name: "jobs", deadLetters: { queue: "jobs-dlq", maxReceiveCount: 3 } }]
    const layer = SqsServer.layer().pipe(Layer.provideMerge(VirtualSqs.layer({ queues, ...options })))
    const context = yield* Layer.build(layer)
    const out = yield* folder
    const environment: Record<string, string> = {
      AWS_ENDPOINT_URL: Context.get(context, SqsServer.SqsServer).url,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      REPORT_QUEUE: "jobs",
      REPORT_OUT: out,
      REPORT_THREADS: "1",
      REPORT_WAIT_TIME: "1 second"
    }
    const virtual = Context.get(context, VirtualSqs.VirtualSqs)
    const send = (jobId: string, pagesPerSecond: number) =>
      reportJobs("jobs")
        .encode(new FlightDelaysJob({ jobId, locale: "en", period: "2001-02", airport: "DEN", pagesPerSecond }))
        .pipe(Effect.flatMap((body) => virtual.send("jobs", body)))
    return { environment, out, send, virtual }
  })

/** the finished reports, without the extracts and the folder of unfinished work */
const reportsIn = (out: string) =>
  readdirSync(path.join(out, "artifacts"), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .join()

const assertOneClearMessage = (ended: Ended, message: RegExp, code = 1) => {
  assert.strictEqual(ended.code, code)
  assert.match(ended.stderr, message)
  assert.notMatch(ended.stdout + ended.stderr, /\n\s+at |Error:|Warning/)
}

describe("report-worker", () => {
  it.scopedLive(
    "explains itself, and refuses what it does not understand",
    () =>
      Effect.gen(function* () {
        const help = yield* (yield* program({}, "worker", "--help")).ended
        assert.strictEqual(help.code, 0)
        assert.strictEqual(help.stderr, "")
        assert.include(help.stdout, "REPORT_VISIBILITY")
        assert.include(help.stdout, "AWS_ENDPOINT_URL_SQS")
        const policies = yield* (yield* program({}, "worker", "--policies")).ended
        assert.strictEqual(policies.code, 0)
        assert.match(policies.stdout, /UnknownAirport +reject +dead-letter/)
        assertOneClearMessage(
          yield* (yield* program({}, "worker", "--port=1")).ended,
          /Received unknown argument: '--port=1'/,
          2
        )
        assertOneClearMessage(
          yield* (yield* program({ REPORT_DRAIN: "soon" }, "worker")).ended,
          /REPORT_DRAIN is "soon": expected a duration such as 90s, 2m or "2 minutes"\nSet them right/,
          2
        )
      }),
    patienceMs
  )

  it.scopedLive(
    "ends with one message when the queue is not there, or it may not receive",
    () =>
      Effect.gen(function* () {
        const { environment } = yield* local()
        const wrong = yield* program({ ...environment, REPORT_QUEUE: "jobz" }, "worker")
        assertOneClearMessage(yield* wrong.ended, /cannot start: GetQueueUrl on jobz: .*Check the name or URL/s)
        const denied = yield* local({ deny: ["ReceiveMessage"] })
        const forbidden = yield* program(denied.environment, "worker")
        assertOneClearMessage(yield* forbidden.ended, /Allow sqs:ReceiveMessage on this queue/)
      }),
    patienceMs
  )

  it.scopedLive(
    "ends with one message, that names the database and tells no secret, when it cannot be used",
    () =>
      Effect.gen(function* () {
        const { environment, out } = yield* local()
        // a port that nobody listens on
        const url = "postgres://reports:secret@127.0.0.1:1/reports?sslmode=disable"
        const away = yield* (yield* program({ ...environment, REPORT_DATABASE_URL: url }, "worker")).ended
        assertOneClearMessage(
          away,
          /^The database postgres:\/\/127\.0\.0\.1:1\/reports cannot be used: .*ECONNREFUSED/,
          4
        )
        assert.notInclude(away.stdout + away.stderr, "secret")
        writeFileSync(path.join(out, "file"), "")
        const nowhere = path.join(out, "file", "jobs.db")
        const wrong = yield* (yield* program({ ...environment, REPORT_DATABASE: nowhere }, "worker")).ended
        assertOneClearMessage(wrong, /^The database .*file\/jobs\.db cannot be used: .*(ENOTDIR|EEXIST)/, 4)
      }),
    patienceMs
  )

  it.scopedLive(
    "on SIGTERM ends the running job, leaves the next one to others, and exits with 0",
    () =>
      Effect.gen(function* () {
        const { environment, out, send, virtual } = yield* local()
        yield* send("running", 2)
        const port = yield* freePort
        const worker = yield* program({ ...environment, REPORT_HEALTH: `127.0.0.1:${port}` }, "worker")
        yield* worker.until("running: started")
        const ready = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/health/ready`))
        assert.deepStrictEqual(
          [ready.status, yield* Effect.promise(() => ready.json())],
          [200, { ready: true, missing: [] }]
        )
        yield* send("next", 2)
        worker.child.kill("SIGTERM")
        const ended = yield* worker.ended
        assert.strictEqual(ended.code, 0, ended.stdout + ended.stderr)
        assert.strictEqual(ended.stderr, "")
        assert.notMatch(ended.stdout, /warning|Warning/)
        assert.strictEqual(ended.stdout.split("waiting for jobs").length, 2, "each line is said once")
        assert.match(reportsIn(out), /^running-[0-9a-f]{12}\.pdf$/)
        const left = yield* virtual.messages("jobs")
        assert.deepStrictEqual(
          left.map((m) => [JSON.parse(m.body).jobId, m.state]),
          [["next", "visible"]]
        )
      }),
    patienceMs
  )

  it.scopedLive(
    "on SIGTERM gives back a job that does not end in time, keeps nothing of it, and exits with 1",
    () =>
      Effect.gen(function* () {
        const { environment, out, send, virtual } = yield* local()
        yield* send("slow", 0.1)
        const worker = yield* program({ ...environment, REPORT_DRAIN: "100 millis" }, "worker")
        yield* worker.until("slow: started")
        worker.child.kill("SIGTERM")
        const ended = yield* worker.ended
        assertOneClearMessage(ended, /drain of jobs was not complete: 1 interrupted at the deadline/)
        assert.strictEqual(reportsIn(out), "")
        assert.deepStrictEqual(
          (yield* virtual.messages("jobs")).map((m) => m.state),
          ["visible"]
        )
      }),
    patienceMs
  )

  it.scopedLive(
    "killed in the middle, the next worker finishes the job that the database has; there is one report",
    () =>
      Effect.gen(function* () {
        const { environment, out, virtual } = yield* local()
        const quick = {
          ...environment,
          REPORT_VISIBILITY: "3 seconds",
          REPORT_CLAIM: "2 seconds",
          REPORT_REDELIVERY_FROM: "1 second"
        }
        const withJobs = Effect.provide(Database.layer({ _tag: "SqliteFile", filename: path.join(out, "jobs.db") }))
        const slow = new FlightDelaysJob({
          jobId: "slow",
          locale: "en",
          period: "2001-02",
          airport: "DEN",
          pagesPerSecond: 1
        })
        yield* withJobs(Effect.flatMap(JobStore, (jobs) => jobs.accept(slow)))
        const first = yield* program(quick, "worker")
        yield* first.until("slow: started")
        first.child.kill("SIGKILL")
        yield* first.ended
        const second = yield* program(quick, "worker")
        yield* second.until("slow: completed")
        second.child.kill("SIGTERM")
        assert.strictEqual((yield* second.ended).code, 0)
        assert.match(reportsIn(out), /^slow-[0-9a-f]{12}\.pdf$/)
        const row = yield* withJobs(Effect.flatMap(JobStore, (jobs) => Effect.flatten(jobs.get("slow"))))
        assert.deepStrictEqual([row.state, row.runs, row.sends], ["completed", 2, 1])
        assert.strictEqual(row.result?.artifact, reportsIn(out))
        assert.deepStrictEqual(yield* virtual.messages("jobs"), [])
      }),
    patienceMs
  )
})
