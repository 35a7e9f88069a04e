/**
 * `npm run demo -- --serve`: the worker with its operations page on live load, until a person stops it. The page and the worker
 * are the real ones; only the SQS and the receiver of webhooks are local.
 *
 * @since 0.1.0
 */
import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { rmSync } from "node:fs"
import path from "node:path"
import * as Receiver from "../receiver/Receiver.js"
import { FlightDelaysJob, ReportJob, RouteTrafficJob, WildlifeStrikesJob } from "../ReportJob.js"
import { program } from "../WorkerProgram.js"
import { out } from "./Stage.js"

const queue = "report-jobs"
const deadLetterQueue = "report-jobs-dlq"
const folder = path.join(out, "serve")
const defaultPage = "8321"

/** of a thousand notices: so many meet trouble, and some of these end as unknown */
const troublesPerThousand = 400

const Sqs = SqsServer.layer().pipe(
  Layer.provideMerge(
    VirtualSqs.layer({
      journal: "off",
      queues: [
        deadLetterQueue,
        {
          name: queue,
          attributes: { VisibilityTimeout: 10 },
          deadLetters: { queue: deadLetterQueue, maxReceiveCount: 10 }
        }
      ]
    })
  )
)

/** A setting of one's own, such as another REPORT_PAGE, wins where it does no harm. */
const environmentOf = (url: string): Record<string, string> => ({
  AWS_ENDPOINT_URL: url,
  AWS_ENDPOINT_URL_SQS: url,
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "demo",
  AWS_SECRET_ACCESS_KEY: "demo",
  REPORT_QUEUE: queue,
  REPORT_DLQ: "",
  REPORT_OUT: folder,
  REPORT_STORE: "",
  REPORT_DATABASE: "",
  REPORT_DATABASE_URL: "",
  REPORT_WEBHOOK_PRIVATE: "yes",
  REPORT_WEBHOOK_TIMEOUT: "2 seconds",
  REPORT_WAIT_TIME: "2 seconds",
  REPORT_THREADS: process.env["REPORT_THREADS"] ?? "3",
  REPORT_REDELIVERY_FROM: "4 seconds",
  REPORT_PAGE: process.env["REPORT_PAGE"] ?? defaultPage,
  REPORT_PAGE_TOKENS: "",
  REPORT_LOG_LEVEL: "warning"
})

/** The n-th job of the load: most are ordinary, and everything that can happen does now and then. */
const jobOf = (n: number, runId: string, receiver: string): ReportJob => {
  const common = { jobId: `${runId}-${n}`, locale: n % 2 === 0 ? ("ko" as const) : ("en" as const) }
  const airport = ["DEN", "ORD", "SFO", "ATL", "SEA", "DFW"][n % 6]!
  const format = (["pdf", "html", "xlsx", "csv"] as const)[n % 4]!
  switch (n % 10) {
    case 0:
      // longer than its visibility: it lives on heartbeats
      return new FlightDelaysJob({ ...common, period: "2001-Q1", airport, minDelay: -1000, pagesPerSecond: 1 })
    case 2:
      return new FlightDelaysJob({ ...common, period: "2001-02", airport, drill: { unavailableReceives: 2 } })
    case 4:
      return new RouteTrafficJob({
        ...common,
        airport,
        format,
        webhook: { url: `${receiver}/honours`, idempotent: true }
      })
    case 6:
      return new WildlifeStrikesJob({
        ...common,
        state: ["TX", "CA", "NY"][n % 3]!,
        format,
        webhook: { url: `${receiver}/ignores`, idempotent: false }
      })
    case 9:
      return new FlightDelaysJob({ ...common, period: "2001-01", airport: "ZZZ" })
    default:
      return new FlightDelaysJob({ ...common, period: "2001-03", airport, format, pagesPerSecond: 0.5 + (n % 3) })
  }
}

/** Submits a job about every other second, through the page's own API. */
const load = (page: string, receiver: string) =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const runId = `demo-${(yield* Clock.currentTimeMillis).toString(36)}`
    let n = 0
    const submit = Effect.gen(function* () {
      const job = Schema.encodeSync(ReportJob)(jobOf(n, runId, receiver))
      const request = yield* HttpClientRequest.bodyJson(HttpClientRequest.post(`${page}/api/jobs`), { job })
      const { status } = yield* client.execute(request)
      if (status === 202) n++
    }).pipe(Effect.scoped, Effect.ignore)
    yield* Effect.repeat(submit, Schedule.spaced("1500 millis"))
  }).pipe(Effect.provide(NodeHttpClient.layer))

/**
 * @since 0.1.0
 * @category acts
 */
export const serve = Effect.gen(function* () {
  yield* Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  const { url } = yield* SqsServer.SqsServer
  const receiver = yield* Receiver.make({ play: Receiver.troubles("demo", troublesPerThousand) })
  const environment = environmentOf(url)
  // the SDK and the worker read it as any deploy would give it to them
  yield* Effect.sync(() => Object.assign(process.env, environment))
  const page = environment["REPORT_PAGE"]!
  const address = /^\d+$/.test(page) ? `http://127.0.0.1:${page}` : `http://${page}`
  yield* Console.log(`The operations page: ${address}\nIts worker gets a job every other second. Ctrl-C stops both.`)
  yield* Effect.forkScoped(load(address, receiver.url))
  yield* program
}).pipe(Effect.scoped, Effect.provide(Sqs))
