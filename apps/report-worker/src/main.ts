/** The worker as a program: settings from the environment, one clear message when it cannot run, a drain on SIGTERM. */
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { reportingFailures } from "./Failures.js"
import * as Logging from "./Logging.js"
import { RenderPool } from "./render/RenderPool.js"
import * as ReportWorker from "./ReportWorker.js"
import { describe, settings } from "./Settings.js"
import * as FolderStore from "./store/FolderStore.js"

const help = `report-worker — makes reports from the jobs of an SQS queue

usage: report-worker [--help]

Everything is set in the environment:

${describe}

Region, credentials and endpoint are the AWS SDK's: AWS_REGION, AWS_PROFILE or AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL_SQS (for a local SQS).

SIGTERM and Ctrl-C stop it in order: nothing more is received, running jobs may end, what has not started is given
back. Exit code 0 after such a stop, 1 when it was not complete or when the worker cannot run.
`

const worker = Effect.gen(function* () {
  const read = yield* settings
  const live = Layer.mergeAll(
    FolderStore.layer(read.out).pipe(Layer.provide(NodeFileSystem.layer)),
    RenderPool.layer(read.threads),
    AwsSqs.layer
  )
  return yield* ReportWorker.run(read).pipe(Effect.provide(live), Effect.provide(Logging.layer(read.logLevel)))
})

const [argument, ...more] = process.argv.slice(2)

const program =
  argument === undefined
    ? worker
    : (argument === "--help" || argument === "-h") && more.length === 0
      ? Console.log(help)
      : Effect.fail({ message: `${argument} is not understood: report-worker is set by its environment, see --help` })

NodeRuntime.runMain(reportingFailures(program), { disableErrorReporting: true, disablePrettyLogger: true })
