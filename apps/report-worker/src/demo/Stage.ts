/**
 * Where the demo plays: a local SQS over HTTP with a queue and its dead-letter queue, the AWS SDK that talks to it, the
 * render threads, and a folder for the reports and the database of jobs.
 *
 * @since 0.1.0
 */
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import path from "node:path"
import { fileURLToPath } from "node:url"
import * as Services from "../Services.js"
import type { WorkerSettings } from "../ReportWorker.js"
import { maxReceiveCount, visibilitySeconds } from "./Story.js"

/** Three: the long job keeps one, though it mostly waits, and two are as many as two cores can use. */
const threads = 3

const queue = "report-jobs"

/**
 * @since 0.1.0
 * @category constants
 */
export const deadLetterQueue = "report-jobs-dlq"

/**
 * The worker's settings for the demo; those of a real one come from the environment.
 *
 * @since 0.1.0
 * @category constants
 */
export const settings: WorkerSettings = {
  queue,
  deadLetterQueue: undefined,
  concurrency: threads,
  visibility: undefined,
  heartbeat: undefined,
  extendBy: undefined,
  limit: undefined,
  redeliveryFrom: Duration.seconds(1),
  redeliveryTo: Duration.seconds(10),
  waitTime: Duration.seconds(1),
  drain: Duration.seconds(10),
  resend: Duration.minutes(10),
  webhookTimeout: Duration.seconds(10)
}

/**
 * The repository's root, and where the demo writes; the same from `src` and from `dist`.
 *
 * @since 0.1.0
 * @category constants
 */
export const root = fileURLToPath(new URL("../../../../", import.meta.url))

/**
 * @since 0.1.0
 * @category constants
 */
export const out = path.join(root, "apps", "report-worker", "out")

/**
 * @since 0.1.0
 * @category constants
 */
export const reports = path.join(out, "demo")

const Server = SqsServer.layer().pipe(
  Layer.provideMerge(
    VirtualSqs.layer({
      queues: [
        deadLetterQueue,
        {
          name: queue,
          attributes: { VisibilityTimeout: visibilitySeconds },
          deadLetters: { queue: deadLetterQueue, maxReceiveCount }
        }
      ]
    })
  )
)

/** The real SDK over a real socket. Its credentials are no secret: the local SQS accepts any. */
const Client = Layer.unwrapEffect(
  Effect.map(SqsServer.SqsServer, ({ url }) =>
    AwsSqs.layerWith({
      endpoint: url,
      region: "us-east-1",
      credentials: { accessKeyId: "demo", secretAccessKey: "demo" }
    })
  )
)

/**
 * Database, store and threads as a worker has them, all in the demo's folder.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = Layer.merge(
  Client.pipe(Layer.provideMerge(Server)),
  Services.layer({
    out: reports,
    store: { _tag: "Folder", path: reports },
    database: { _tag: "SqliteFile", filename: path.join(reports, "jobs.db") },
    claim: Duration.minutes(1),
    threads,
    webhookTimeout: settings.webhookTimeout,
    webhookPrivate: false
  })
)
