/**
 * Where a drill plays: a local SQS over HTTP, which can be told to fail, a folder that is gone afterwards, and the settings of
 * the environment, so that a drill is about the numbers that will be used.
 *
 * @since 0.1.0
 */
import * as Fault from "@effect-sqs/testing/Fault"
import * as JournalQuery from "@effect-sqs/testing/JournalQuery"
import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { JobStore } from "../jobs/JobStore.js"
import * as Services from "../Services.js"
import { settings } from "../Settings.js"

const queue = "drill-jobs"
const deadLetterQueue = "drill-jobs-dlq"

/** Receives that the local queue allows: enough for what a drill does to a job. */
const maxReceiveCount = 10

/** Where the environment says nothing, the times are short: a drill shall not take minutes. */
const quick: Record<string, string> = {
  REPORT_VISIBILITY: "4 seconds",
  REPORT_CLAIM: "4 seconds",
  REPORT_REDELIVERY_FROM: "1 second",
  REPORT_REDELIVERY_TO: "10 seconds",
  REPORT_WAIT_TIME: "1 second"
}

/** What a drill must not touch. */
const ownPlace = (folder: string, url: string): Record<string, string> => ({
  AWS_ENDPOINT_URL: url,
  AWS_ENDPOINT_URL_SQS: url,
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "drill",
  AWS_SECRET_ACCESS_KEY: "drill",
  AWS_PROFILE: "",
  REPORT_QUEUE: queue,
  REPORT_DLQ: "",
  REPORT_OUT: folder,
  REPORT_STORE: "",
  REPORT_DATABASE: "",
  REPORT_DATABASE_URL: "",
  REPORT_HEALTH: "",
  REPORT_PAGE: "",
  REPORT_LOG_LEVEL: "info"
})

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "report-drill-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

/** The environment with what is not set in it left to the drill, and not to the defaults. */
const withQuick = (environment: NodeJS.ProcessEnv): Record<string, string> => {
  const set = Object.entries(environment).filter((e): e is [string, string] => e[1] !== undefined && e[1] !== "")
  return { ...quick, ...Object.fromEntries(set) }
}

/**
 * The settings a drill will be about. Fails with all that cannot be used.
 *
 * @since 0.1.0
 * @category settings
 */
export const settingsOf = (environment: NodeJS.ProcessEnv) =>
  Effect.withConfigProvider(settings, ConfigProvider.fromMap(new Map(Object.entries(withQuick(environment)))))

/**
 * A stage of its own, until the scope closes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (environment: NodeJS.ProcessEnv) =>
  Effect.gen(function* () {
    const read = yield* settingsOf(environment)
    const visibility = read.visibility ?? Duration.seconds(4)
    let deletesFail = false
    const Sqs = SqsServer.layer().pipe(
      Layer.provideMerge(
        VirtualSqs.layer({
          queues: [
            deadLetterQueue,
            {
              name: queue,
              attributes: { VisibilityTimeout: Math.ceil(Duration.toSeconds(visibility)) },
              deadLetters: { queue: deadLetterQueue, maxReceiveCount }
            }
          ],
          faults: Fault.error("InternalFailure", { httpStatus: 500 }).pipe(
            Fault.on("DeleteMessage", "DeleteMessageBatch"),
            Fault.when(() => deletesFail, "while deletes fail")
          )
        })
      )
    )
    const sqs = yield* Layer.build(Sqs)
    const virtual = Context.get(sqs, VirtualSqs.VirtualSqs)
    const dir = yield* folder
    const worker = { ...withQuick(environment), ...ownPlace(dir, Context.get(sqs, SqsServer.SqsServer).url) }
    const own = yield* Effect.withConfigProvider(settings, ConfigProvider.fromMap(new Map(Object.entries(worker))))
    const jobs = Context.get(yield* Layer.build(Services.jobs(own)), JobStore)
    return {
      visibility,
      claim: read.claim,
      jobs,
      artifacts: path.join(dir, "artifacts"),
      /** of a worker */
      environment: worker,
      failDeletes: (fail: boolean) => Effect.sync(() => void (deletesFail = fail)),
      left: Effect.map(virtual.counters(queue), (n) => n.visible + n.inFlight + n.delayed),
      /** by the server's journal */
      lifeOf: (messageId: string) => JournalQuery.read(virtual.journal.entries).messages.get(messageId)
    }
  })

/**
 * @since 0.1.0
 * @category models
 */
export type Stage = Effect.Effect.Success<ReturnType<typeof make>>
