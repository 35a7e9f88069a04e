/**
 * `doctor`: is my queue set up right?
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { nameOf } from "@effect-sqs/core/SqsQueue"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { badInput, notInOrder } from "./CliError.js"
import * as Connection from "./Connection.js"
import * as Doctor from "./Doctor.js"
import * as DoctorPicture from "./DoctorPicture.js"
import * as Flags from "./Flags.js"
import * as files from "./internal/files.js"
import * as RunTimes from "./RunTimes.js"
import { Screen } from "./Screen.js"
import * as WorkerFile from "./WorkerFile.js"

const flags = {
  queue: Flags.queue,
  ...Flags.connection,
  worker: Flags.optional(Flags.path("worker")).pipe(
    Options.withDescription(
      'file with a worker\'s options as JSON: what Consumer.run takes, and "redelivery": {"first": …, "max": …}'
    )
  ),
  run: Flags.optional(Flags.duration("run")).pipe(Options.withDescription("how long a job runs")),
  runs: Flags.optional(Flags.path("runs")).pipe(
    Options.withDescription("file of measured run times in seconds: one a line, or a JSON array")
  ),
  from: Flags.optional(Flags.path("from")).pipe(
    Options.withDescription("file that a worker exported: JSON.stringify of Effect's Metric.snapshot")
  ),
  wait: Flags.duration("wait").pipe(
    Options.withDefault(Duration.seconds(10)),
    Options.withDescription("between two looks at the backlog; 0: one look")
  ),
  json: Flags.json
}

/**
 * @since 0.1.0
 * @category commands
 */
export const doctor = Command.make("doctor", flags, (asked) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    if ([asked.run, asked.runs, asked.from].filter((x) => x !== undefined).length > 1) {
      return yield* badInput("Give run times by one of --run, --runs and --from.")
    }
    const runs =
      asked.run !== undefined
        ? RunTimes.one(asked.run)
        : asked.runs !== undefined
          ? yield* RunTimes.fromText(yield* files.read(asked.runs), asked.runs)
          : asked.from !== undefined
            ? yield* RunTimes.fromMetrics(yield* files.read(asked.from), asked.from, nameOf(asked.queue))
            : undefined
    const worker =
      asked.worker === undefined ? undefined : yield* WorkerFile.fromText(yield* files.read(asked.worker), asked.worker)
    const where = yield* Connection.decide(asked)
    if (process.stderr.isTTY === true && Duration.toMillis(asked.wait) > 0) {
      yield* Console.error(screen.paint("dim", `Looking twice at the backlog, ${Duration.format(asked.wait)} apart …`))
    }
    const report = yield* Doctor.examine({ queue: asked.queue, where, runs, worker, wait: asked.wait }).pipe(
      Effect.provide(Connection.layer(where))
    )
    yield* Console.log(asked.json ? JSON.stringify(report, null, 2) : DoctorPicture.draw(report, screen))
    if (!report.inOrder) return yield* notInOrder
  })
).pipe(
  Command.withDescription(
    "Is the queue set up right: visibility, dead letters, retention, permissions, backlog; worst first, each with the reason and the command that mends it. Changes nothing, receives nothing."
  )
)
