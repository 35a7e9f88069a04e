/**
 * `plan`: which visibility, which heartbeat.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { badInput, type CliError } from "./CliError.js"
import * as Flags from "./Flags.js"
import { parseDuration } from "./Durations.js"
import * as files from "./internal/files.js"
import * as Plan from "./Plan.js"
import * as PlanPicture from "./PlanPicture.js"
import * as PlanSvg from "./PlanSvg.js"
import * as RunTimes from "./RunTimes.js"
import { Screen } from "./Screen.js"

const changeOf = (text: string): Plan.Change | undefined => {
  const [at, length, ...rest] = text.split("=").map(parseDuration)
  return at === undefined || length === undefined || rest.length > 0
    ? undefined
    : { atSeconds: Duration.toSeconds(at), forSeconds: Duration.toSeconds(length) }
}

const flags = {
  visibility: Flags.optional(Flags.duration("visibility")).pipe(
    Options.withDescription("of the receive; unless given, what is advised for these run times")
  ),
  heartbeat: Flags.optional(
    Flags.checked(
      "heartbeat",
      (text) => (text === "off" ? ("off" as const) : parseDuration(text)),
      "expected a duration as 15s, or off"
    )
  ).pipe(Options.withDescription("from beat to beat; no beats unless given")),
  extendBy: Flags.optional(Flags.duration("extend-by")).pipe(
    Options.withDescription("what a beat asks; the visibility unless given")
  ),
  changes: Flags.repeated(
    "change",
    changeOf,
    "expected TIME=LENGTH, as 20s=60s: at 20 s, hidden for 60 s from then"
  ).pipe(
    Options.withDescription("instead of a heartbeat: TIME=LENGTH changes the visibility at a time; may be repeated")
  ),
  run: Flags.optional(Flags.duration("run")).pipe(Options.withDescription("how long the job runs")),
  runs: Flags.optional(Flags.path("runs")).pipe(
    Options.withDescription("file of measured run times in seconds: one a line, or a JSON array")
  ),
  from: Flags.optional(Flags.path("from")).pipe(
    Options.withDescription("file that a worker exported: JSON.stringify of Effect's Metric.snapshot")
  ),
  queue: Flags.optional(
    Options.text("queue").pipe(Options.withDescription("with --from: the queue whose run times are meant"))
  ),
  price: Flags.optional(Flags.number("price", (n) => n >= 0, "expected US dollars")).pipe(
    Options.withDescription(
      `US dollars for a million requests; ${Plan.PRICE_USD_PER_MILLION} unless given, a standard queue's in us-east-1`
    )
  ),
  svg: Flags.optional(Flags.path("svg")).pipe(
    Options.withDescription("writes the timeline as a picture into this file")
  ),
  json: Flags.json
}

type Asked = Command.Command.ParseConfig<typeof flags>

const runTimes = ({ from, queue, run, runs }: Asked): Effect.Effect<RunTimes.RunTimes, CliError> => {
  if ([from, run, runs].filter((x) => x !== undefined).length !== 1) {
    return badInput("Give the run time by one of --run 90s, --runs FILE and --from FILE. See --help.")
  }
  if (queue !== undefined && from === undefined) return badInput("--queue goes with --from only.")
  if (run !== undefined) return Effect.succeed(RunTimes.one(run))
  if (runs !== undefined) return Effect.flatMap(files.read(runs), (text) => RunTimes.fromText(text, runs))
  return Effect.flatMap(files.read(from!), (text) => RunTimes.fromMetrics(text, from!, queue))
}

/**
 * @since 0.1.0
 * @category commands
 */
export const plan = Command.make("plan", flags, (asked) =>
  Effect.gen(function* () {
    const made = yield* Plan.plan({
      visibility: asked.visibility,
      heartbeat: asked.heartbeat,
      extendBy: asked.extendBy,
      changes: asked.changes,
      runs: yield* runTimes(asked),
      priceUsd: asked.price
    })
    if (asked.svg !== undefined) yield* files.write(asked.svg, PlanSvg.draw(made))
    if (asked.json) return yield* Console.log(JSON.stringify(made, null, 2))
    yield* Console.log(PlanPicture.draw(made, yield* Screen))
    if (asked.svg !== undefined) yield* Console.log(`\nThe picture is in ${asked.svg}.`)
  })
).pipe(
  Command.withDescription(
    "Which visibility, which heartbeat: when a message would be handed out again, for how long two workers would be at it, what it costs, and what other settings would give."
  )
)
