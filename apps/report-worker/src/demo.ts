/**
 * `npm run demo`: the story of a visibility timeout on twelve jobs, and the three drills before a deploy. The worker is the real one, on the real AWS SDK; only
 * the SQS is a local one. With `--serve` it shows the operations page on live load instead. It ends with exit code 0 only if every job came out as the story tells, with 130 when a person
 * stops it.
 */
import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as LogLevel from "effect/LogLevel"
import * as Schedule from "effect/Schedule"
import { clean, conclude, sayWhatBecame } from "./demo/Ending.js"
import { send, show, untilDone, worker } from "./demo/Play.js"
import * as Stage from "./demo/Stage.js"
import { longFactor, visibilitySeconds } from "./demo/Story.js"
import { StoryFailed } from "./demo/StoryFailed.js"
import * as Drills from "./drill/Drills.js"
import { reportingFailures } from "./Failures.js"
import * as Logging from "./Logging.js"
import type { Progress } from "./render/RenderProtocol.js"

const stoppedExitCode = 130

const introduction = (url: string) => `
A local SQS listens on ${url}. Its queue hides a job for ${visibilitySeconds} s when a worker takes it; the worker
draws ${Stage.settings.concurrency} reports at a time, and keeps each hidden by heartbeats while it is drawn. Twelve jobs: eight ordinary
ones, one that takes ${longFactor} times the ${visibilitySeconds} s, one that fails twice, one that always fails, one that is no valid job.
Ctrl-C stops it in order at any moment.
`

const stopping = `
Stopping: nothing more is received, and what runs may end within ${Duration.format(Stage.settings.drain)}. Once more stops at once.`

const play = Effect.gen(function* () {
  const { url } = yield* SqsServer.SqsServer
  const startedAt = yield* Clock.currentTimeMillis
  yield* Console.log(introduction(url))

  const progress = new Map<string, Progress>()
  const messageIds: Array<string> = []
  // Registered before the worker starts, so run after its drain.
  yield* Effect.addFinalizer((exit) => (Exit.isInterrupted(exit) ? sayWhatBecame(messageIds) : Effect.void))
  messageIds.push(...(yield* send))

  const draw = show(messageIds, progress, startedAt)
  const drawing = yield* Effect.forkScoped(Effect.schedule(draw, Schedule.spaced("200 millis")))
  const working = yield* Effect.forkScoped(worker(progress))
  yield* Effect.addFinalizer((exit) => (Exit.isInterrupted(exit) ? Console.log(stopping) : Effect.void))
  // The worker ends by itself only when it cannot go on.
  yield* Effect.raceAll([untilDone, Fiber.join(working)])
  yield* Fiber.interrupt(working)
  yield* Fiber.interrupt(drawing)
  yield* draw
  yield* conclude(messageIds, startedAt)
}).pipe(Effect.scoped)

/** A person may lose patience while the threads start. */
const stage = Layer.build(Stage.layer).pipe(
  Effect.onInterrupt(() => Console.log("\nStopped before any job was sent.")),
  Effect.flatMap((context) => Effect.provide(play, context)),
  Effect.scoped
)

/** The environment of whoever runs the demo, without settings of a worker: the demo is the same everywhere. */
const plainEnvironment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith("REPORT_")))

/** What a deploy should be tried with, at the demo's own settings. */
const drills = Effect.gen(function* () {
  yield* Console.log(
    "\nThe three drills before a deploy, each with workers as processes of their own, some of which are killed …\n"
  )
  const all = yield* Drills.all(plainEnvironment())
  yield* Console.log(Drills.render(all))
  const wrong = all.flatMap((d) => d.wrong.map((what) => `  ${d.drill}: ${what}`))
  if (wrong.length > 0) {
    return yield* new StoryFailed({ reason: ["", "The drills did not come out right:", ...wrong].join("\n") })
  }
  yield* Console.log("\nAll three came out right. On your own settings: npm run drill")
})

const demo = Console.log(`Starting a local SQS and ${Stage.settings.concurrency} render threads …`).pipe(
  Effect.andThen(clean),
  Effect.andThen(stage),
  Effect.andThen(drills),
  Effect.provide(NodeFileSystem.layer),
  // The board tells what a worker's log would.
  Effect.provide(Logging.layer(LogLevel.Error))
)

const [argument, ...more] = process.argv.slice(2)

const asked: Effect.Effect<unknown, { readonly message: string }> =
  argument === undefined
    ? demo
    : argument === "--serve" && more.length === 0
      ? // only here: the demo does without the page
        Effect.flatMap(
          Effect.promise(() => import("./demo/Serve.js")),
          ({ serve }) => serve
        )
      : Effect.fail({ message: `${argument} is not understood: npm run demo, or npm run demo -- --serve` })

NodeRuntime.runMain(reportingFailures(asked), {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: (exit, onExit) =>
    onExit(Exit.isSuccess(exit) ? 0 : Cause.isInterruptedOnly(exit.cause) ? stoppedExitCode : 1)
})
