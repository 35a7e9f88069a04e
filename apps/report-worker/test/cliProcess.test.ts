/** The command line in processes of its own, beside a worker and a local SQS. */
import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { temporaryFolder } from "./jobs/backend.js"
import { main } from "./programs.js"

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

interface Run {
  readonly input?: string
  /** sends SIGINT when this is on stderr */
  readonly interruptAt?: RegExp
}

const running = (environment: Record<string, string>, args: ReadonlyArray<string>, { input, interruptAt }: Run = {}) =>
  Effect.gen(function* () {
    const { AWS_PROFILE: _, FORCE_COLOR: __, ...inherited } = process.env
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [main, ...args], {
          env: { ...inherited, ...environment }
        })
      ),
      (started) => Effect.sync(() => started.kill("SIGKILL"))
    )
    child.stdin.end(input ?? "")
    let out = ""
    let err = ""
    child.stdout.on("data", (chunk) => (out += String(chunk)))
    child.stderr.on("data", (chunk) => {
      const isNew = interruptAt?.test(err) !== true
      err += String(chunk)
      // once: a second one ends it on the spot
      if (isNew && interruptAt?.test(err) === true) child.kill("SIGINT")
    })
    const ended = yield* Effect.cached(
      Effect.async<Ended>((resume) => void child.on("close", (code) => resume(Effect.succeed({ code, out, err }))))
    )
    yield* Effect.forkScoped(ended)
    return { child, ended }
  })

const run = (environment: Record<string, string>, args: ReadonlyArray<string>, options?: Run) =>
  Effect.scoped(Effect.flatMap(running(environment, args, options), ({ ended }) => ended))

const jobs = [
  { report: "flight-delays", jobId: "den-csv", locale: "en", format: "csv", period: "2001-02", airport: "DEN" },
  { report: "flight-delays", jobId: "nowhere", locale: "en", format: "csv", period: "2001-02", airport: "QQQ" }
]

describe("report-worker, in processes of its own", () => {
  it.scopedLive(
    "jobs are submitted, waited for, shown and listed while a worker does them",
    () =>
      Effect.gen(function* () {
        const queues = ["jobs-dlq", { name: "jobs", deadLetters: { queue: "jobs-dlq", maxReceiveCount: 3 } }]
        const sqs = SqsServer.layer().pipe(Layer.provideMerge(VirtualSqs.layer({ queues })))
        const { url } = Context.get(yield* Layer.build(sqs), SqsServer.SqsServer)
        const environment = {
          AWS_ENDPOINT_URL_SQS: url,
          AWS_REGION: "us-east-1",
          AWS_ACCESS_KEY_ID: "test",
          AWS_SECRET_ACCESS_KEY: "test",
          REPORT_QUEUE: "jobs",
          REPORT_OUT: yield* temporaryFolder,
          REPORT_THREADS: "1",
          REPORT_WAIT_TIME: "1 second"
        }
        const input = jobs.map((job) => JSON.stringify(job)).join("\n")
        const stopped = yield* run(environment, ["submit", "file", "--wait"], {
          input,
          interruptAt: /0 of 2 jobs/
        })
        assert.strictEqual(stopped.code, 130, stopped.err)
        assert.match(stopped.err, /Stopped waiting; the 2 jobs go on: report-worker list shows them\.\n$/)

        const worker = yield* running(environment, ["worker"])
        const waited = yield* run(environment, ["submit", "file", "--wait", "--json"], { input })
        assert.strictEqual(waited.code, 1, waited.err)
        assert.match(waited.err, /^den-csv: known already/)
        assert.match(waited.err, /1 of 2 jobs did not come out as they should\.\n$/)
        const rows = waited.out
          .trimEnd()
          .split("\n")
          .map(
            (line) => JSON.parse(line) as { id: string; state: string; reason?: string; result?: { location: string } }
          )
        assert.deepStrictEqual(
          rows.map(({ id, state }) => [id, state]),
          [
            ["den-csv", "completed"],
            ["nowhere", "failed"]
          ]
        )
        assert.isTrue(existsSync(rows[0]!.result!.location))
        assert.match(rows[1]!.reason!, /QQQ/)

        const status = yield* run(environment, ["status", "den-csv", "--follow"])
        assert.strictEqual(status.code, 0, status.err)
        assert.match(
          status.out,
          /^den-csv {2}completed\n(.*\n)+.* step +render\n(.*\n)+.* completed +den-csv-\w+\.csv\n$/
        )
        const list = yield* run(environment, ["list", "--state", "failed"])
        assert.match(list.out, /^JOB .*\nnowhere +failed +flight-delays 2001-02 QQQ .*QQQ.*\n$/)
        for (const { err, out } of [stopped, waited, status, list]) {
          assert.notMatch(out + err, /\u001b|\n\s+at /)
        }
        worker.child.kill("SIGTERM")
        const end = yield* worker.ended
        assert.deepStrictEqual([end.code, end.err], [0, ""])
      }),
    240_000
  )
})
