/**
 * Workers that are killed all the time, on PostgreSQL and a local SQS, and a look at what is left:
 *
 *   npm run chaos -- --jobs 300 --seed 1
 *
 * Three workers work off the jobs, each of which is also delivered to a receiver that answers late, fails after the effect, or
 * hangs up. About once a second one of the workers is killed (SIGKILL) and started again; once SQS refuses every call for five
 * seconds, and once the database is restarted. Exit code 0 when every job came out as it must. It needs PostgreSQL's programs
 * (Debian: postgresql), which it starts itself, in a temporary folder.
 */
import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as Fault from "@effect-sqs/testing/Fault"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Clock from "effect/Clock"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { parseArgs } from "node:util"
import * as PostgreSql from "../../../packages/ledger/test-pg/support/server.js"
import * as Database from "../src/jobs/Database.js"
import { hasEnded, type JobRow } from "../src/jobs/JobRow.js"
import { JobStore } from "../src/jobs/JobStore.js"
import * as Receiver from "../src/receiver/Receiver.js"
import { settings } from "../src/Settings.js"
import * as Findings from "./Findings.js"
import * as Jobs from "./Jobs.js"
import * as Workers from "./Workers.js"

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    workers: { type: "string", default: "3" },
    minutes: { type: "string", default: "15" }
  }
})

const whole = (name: keyof typeof values, most: number): number => {
  const n = Number(values[name])
  if (Number.isInteger(n) && n >= 1 && n <= most) return n
  process.stderr.write(`--${name} ${values[name]}: a whole number from 1 to ${most} is needed\n`)
  process.exit(2)
}
const jobCount = whole("jobs", 10_000)
const workerCount = whole("workers", 16)
const minutes = whole("minutes", 600)

const queue = "report-jobs"
/** of the requests to receivers */
const troublesPerThousand = 300
const refusedFor = Duration.seconds(5)

let refusing = false

const Sqs = SqsServer.layer().pipe(
  Layer.provideMerge(
    VirtualSqs.layer({
      queues: [
        `${queue}-dlq`,
        {
          name: queue,
          attributes: { VisibilityTimeout: 6 },
          deadLetters: { queue: `${queue}-dlq`, maxReceiveCount: 10 }
        }
      ],
      journal: "off",
      faults: Fault.reset.pipe(Fault.when(() => refusing, "while SQS refuses"))
    })
  )
)

/** Everything in seconds that is in minutes in production: a job whose worker died is taken over after its claim. */
const environmentOf = (o: {
  readonly sqs: string
  readonly database: string
  readonly folder: string
}): Record<string, string> => ({
  AWS_ENDPOINT_URL_SQS: o.sqs,
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "chaos",
  AWS_SECRET_ACCESS_KEY: "chaos",
  REPORT_QUEUE: queue,
  REPORT_DATABASE_URL: o.database,
  REPORT_OUT: o.folder,
  REPORT_CLAIM: "5 seconds",
  REPORT_RESEND: "20 seconds",
  REPORT_WEBHOOK_TIMEOUT: "2 seconds",
  REPORT_WEBHOOK_PRIVATE: "yes",
  REPORT_REDELIVERY_FROM: "1 second",
  REPORT_REDELIVERY_TO: "4 seconds",
  REPORT_WAIT_TIME: "1 second",
  REPORT_DRAIN: "10 seconds",
  REPORT_THREADS: "1",
  REPORT_LOG_LEVEL: "info"
})

/** kept when something is wrong: the workers' logs are in it */
const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "report-chaos-"))),
  (made) => Effect.sync(() => (process.exitCode === 0 ? rmSync(made, { recursive: true, force: true }) : undefined))
)

const postgreSql = Effect.acquireRelease(Effect.promise(PostgreSql.start), (server) => Effect.sync(server.stop))

const say = (startedAt: number, what: string) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Console.log(`${((now - startedAt) / 1000).toFixed(1).padStart(6)} s  ${what}`)
  )

/** Kills one worker about once a second, until it is interrupted. */
const killing = (workers: Workers.Workers) =>
  Effect.andThen(
    Effect.flatMap(Random.nextRange(500, 1500), (ms) => Effect.sleep(ms)),
    workers.killOne
  ).pipe(Effect.forever)

/** An unknown delivery whose receiver can be asked is not over: it may have to be made again. */
const isOver = (row: JobRow) =>
  hasEnded(row) && !(row.delivery === "unknown" && row.job.webhook?.statusUrl !== undefined)

/** How many of the jobs are over; asked again while the database is away. */
const overNow = (store: JobStore["Type"]) =>
  store.list({ limit: jobCount }).pipe(
    Effect.retry({ times: 20, schedule: Schedule.spaced("500 millis") }),
    Effect.map((rows) => rows.filter(isOver).length)
  )

const run = Effect.gen(function* () {
  const startedAt = yield* Clock.currentTimeMillis
  const said = (what: string) => say(startedAt, what)
  const dir = yield* folder
  const sqs = yield* SqsServer.SqsServer
  const server = yield* postgreSql
  const turnedAway = new Map<string, number>()
  const receiver = yield* Receiver.make({
    play: Receiver.troubles(values.seed, troublesPerThousand),
    onNotice: ({ jobId }, play) =>
      Effect.sync(() => {
        if (play === "busy") turnedAway.set(jobId, (turnedAway.get(jobId) ?? 0) + 1)
      })
  })
  const environment = environmentOf({ sqs: sqs.url, database: server.url, folder: dir })
  const provider = ConfigProvider.fromMap(new Map(Object.entries(environment)))
  const { database } = yield* Effect.withConfigProvider(settings, provider)
  const context = yield* Layer.build(Database.layer(database))
  const store = Context.get(context, JobStore)

  const jobs = yield* Jobs.draw(jobCount, receiver)
  yield* Effect.forEach(jobs, (job) => store.accept(job), { concurrency: 4, discard: true })
  yield* said(`${jobCount} jobs accepted, seed ${values.seed}; logs of the workers in ${dir}`)

  const workers = yield* Workers.make(workerCount, () => environment, dir)
  const killer = yield* Effect.forkScoped(killing(workers))

  /** done once, when so many jobs are over */
  const troubles: Array<{ readonly at: number; readonly what: string; readonly act: Effect.Effect<void> }> = [
    {
      at: jobCount / 4,
      what: `SQS refuses every call for ${Duration.format(refusedFor)}`,
      act: Effect.acquireUseRelease(
        Effect.sync(() => void (refusing = true)),
        () => Effect.sleep(refusedFor),
        () => Effect.sync(() => void (refusing = false))
      )
    },
    { at: jobCount / 2, what: "the database is restarted", act: Effect.sync(server.restart) }
  ]

  const until = startedAt + minutes * 60_000
  let told = -1
  for (;;) {
    const over = yield* overNow(store)
    const tenths = Math.floor((10 * over) / jobCount)
    if (tenths !== told) yield* said(`${over} of ${jobCount} over, ${workers.kills()} workers killed`)
    told = tenths
    if (over === jobCount || (yield* Clock.currentTimeMillis) > until) break
    const trouble = troubles[0]
    if (trouble !== undefined && over >= trouble.at) {
      troubles.shift()
      yield* said(trouble.what)
      yield* trouble.act
    }
    yield* Effect.sleep("250 millis")
  }
  yield* Fiber.interrupt(killer)
  const codes = yield* workers.stopAll
  const { facts, faults } = yield* Findings.look({
    jobs,
    artifacts: path.join(dir, "artifacts"),
    received: receiver.received(),
    turnedAway
  }).pipe(Effect.provide(context))
  const all = [
    ...faults,
    ...workers.ownEnds().map((code) => `a worker ended by itself, exit code ${code}`),
    ...codes.flatMap((code) => (code === 0 ? [] : [`a worker that was asked to stop had exit code ${code}`]))
  ]
  yield* said(`over; ${workers.kills()} workers killed`)
  yield* Console.log(
    JSON.stringify({
      seed: values.seed,
      jobs: jobCount,
      kills: workers.kills(),
      "failed starts": workers.failedStarts(),
      ...facts
    })
  )
  yield* Effect.forEach(all, (fault) => Console.log(`WRONG  ${fault}`), { discard: true })
  yield* Console.log(all.length === 0 ? "All as it must be." : `${all.length} things are wrong.`)
  yield* Effect.sync(() => void (process.exitCode = all.length === 0 ? 0 : 1))
}).pipe(Effect.scoped)

const program = run.pipe(Effect.withRandom(Random.make(values.seed)), Effect.provide(Sqs))

NodeRuntime.runMain(program)
