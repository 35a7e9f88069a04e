/** The worker as a program: settings from the environment, one clear message when it cannot run, a drain on SIGTERM. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { reportingFailures } from "./Failures.js"
import * as Policies from "./Policies.js"
import { describe } from "./Settings.js"
import { program as worker } from "./WorkerProgram.js"

const help = `report-worker — makes reports from the jobs of an SQS queue

usage: report-worker [--help | --policies]

Everything is set in the environment:

${describe}

Region, credentials and endpoint are the AWS SDK's: AWS_REGION, AWS_PROFILE or AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL_SQS (for a local SQS).

Jobs stand in a database and are sent to the queue from there; messages of other producers are taken too. By default it
is a file, for one process: several workers need REPORT_DATABASE_URL, and a store that they share. --policies prints
timeouts, retries and what becomes of each kind of failure.

SIGTERM and Ctrl-C stop it in order: nothing more is received, running jobs may end, what has not started is given
back. Exit code 0 after such a stop, 1 when it was not complete or when the worker cannot run.
`

const [argument, ...more] = process.argv.slice(2)

const program =
  argument === undefined
    ? worker
    : (argument === "--help" || argument === "-h") && more.length === 0
      ? Console.log(help)
      : argument === "--policies" && more.length === 0
        ? Console.log(Policies.describe)
        : Effect.fail({ message: `${argument} is not understood: report-worker is set by its environment, see --help` })

NodeRuntime.runMain(reportingFailures(program), { disableErrorReporting: true, disablePrettyLogger: true })
