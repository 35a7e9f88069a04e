/**
 * `lab`: sets of options side by side, on jobs that never were.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { badInput, type CliError } from "./CliError.js"
import * as Distribution from "./Distribution.js"
import * as Flags from "./Flags.js"
import * as files from "./internal/files.js"
import { count } from "./internal/numbers.js"
import * as Lab from "./Lab.js"
import * as LabPicture from "./LabPicture.js"
import * as LabSvg from "./LabSvg.js"
import * as OptionSet from "./OptionSet.js"
import { PRICE_USD_PER_MILLION } from "./Plan.js"
import * as RunTimes from "./RunTimes.js"
import { Screen } from "./Screen.js"

const flags = {
  run: Flags.optional(
    Flags.checked(
      "run",
      Distribution.fromText,
      "expected 45s, a range as 20s..60s, or lognormal:P50,P99 as lognormal:30s,5m"
    )
  ).pipe(Options.withDescription("how long jobs run: 45s, 20s..60s, or lognormal:30s,5m (median and 99th percentile)")),
  runs: Flags.optional(Flags.path("runs")).pipe(
    Options.withDescription("file of measured run times in seconds, drawn from: one a line, or a JSON array")
  ),
  from: Flags.optional(Flags.path("from")).pipe(
    Options.withDescription("file that a worker exported: JSON.stringify of Effect's Metric.snapshot")
  ),
  set: Options.text("set").pipe(
    Options.repeated,
    Options.withDescription(
      "a set of options, NAME:KEY=VALUE,…, as long:visibility=2m,heartbeat=1m; repeat for more. Without one: 30 s with beats against 30 s without"
    )
  ),
  sets: Flags.optional(Flags.path("sets")).pipe(
    Options.withDescription('file of sets of options: {"name": {options of Consumer.run}, …}')
  ),
  workers: Flags.integer("workers", 1, 10_000).pipe(
    Options.withDefault(10),
    Options.withDescription("how many workers there are; 10 unless given")
  ),
  duration: Flags.duration("for").pipe(
    Options.withDefault(Duration.hours(1)),
    Options.withDescription("how long jobs come in; 1h unless given")
  ),
  rate: Flags.optional(Flags.number("rate", (n) => n > 0, "expected jobs a second, more than 0")).pipe(
    Options.withDescription("jobs a second; so many that 70 % of the places are busy unless given")
  ),
  crashes: Flags.number("crashes", (n) => n >= 0 && n <= 3600, "expected times an hour, from 0 to 3600").pipe(
    Options.withDefault(0),
    Options.withDescription("how often each worker dies without a word, an hour; 0 unless given")
  ),
  restart: Flags.duration("restart").pipe(
    Options.withDefault(Duration.seconds(10)),
    Options.withDescription("until a worker that died is back; 10s unless given")
  ),
  failing: Flags.number("failing", (n) => n >= 0 && n <= 1, "expected a share from 0 to 1").pipe(
    Options.withDefault(0),
    Options.withDescription("share of the runs that fail, as 0.01; 0 unless given")
  ),
  seed: Options.text("seed").pipe(
    Options.withDefault("0"),
    Options.withDescription("what jobs and crashes are drawn from: the same seed, the same numbers")
  ),
  price: Flags.number("price", (n) => n >= 0, "expected US dollars").pipe(
    Options.withDefault(PRICE_USD_PER_MILLION),
    Options.withDescription(`US dollars for a million requests; ${PRICE_USD_PER_MILLION} unless given`)
  ),
  svg: Flags.optional(Flags.path("svg")).pipe(Options.withDescription("writes a chart into this file")),
  progress: Options.boolean("progress").pipe(
    Options.withDescription("tells on stderr how far it is; it does so on a terminal anyway")
  ),
  json: Flags.json
}

type Asked = Command.Command.ParseConfig<typeof flags>

const distribution = ({ from, run, runs }: Asked): Effect.Effect<Distribution.Distribution, CliError> => {
  if ([from, run, runs].filter((x) => x !== undefined).length !== 1) {
    return badInput("Give the run times by one of --run 45s, --runs FILE and --from FILE. See --help.")
  }
  if (run !== undefined) return Effect.succeed(run)
  if (runs !== undefined) {
    return Effect.map(
      Effect.flatMap(files.read(runs), (text) => RunTimes.fromText(text, runs)),
      Distribution.measured
    )
  }
  return Effect.map(
    Effect.flatMap(files.read(from!), (text) => RunTimes.fromMetrics(text, from!, undefined)),
    Distribution.measured
  )
}

const defaultSets = ["beats:visibility=30s", "no-beats:visibility=30s,heartbeat=off"]

const sets = ({ set, sets }: Asked): Effect.Effect<ReadonlyArray<OptionSet.OptionSet>, CliError> =>
  Effect.gen(function* () {
    const ofFile = sets === undefined ? [] : yield* OptionSet.fromFile(yield* files.read(sets), sets)
    const texts = set.length === 0 && sets === undefined ? defaultSets : set
    return [...ofFile, ...(yield* Effect.forEach(texts, (text) => OptionSet.fromText(text)))]
  })

/**
 * @since 0.1.0
 * @category commands
 */
export const lab = Command.make("lab", flags, (asked) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const scenario: Lab.Scenario = {
      runTimes: yield* distribution(asked),
      duration: asked.duration,
      workers: asked.workers,
      ratePerSecond: asked.rate,
      crashesPerHour: asked.crashes,
      restart: asked.restart,
      failing: asked.failing,
      seed: asked.seed,
      priceUsd: asked.price
    }
    const isTerminal = process.stderr.isTTY === true
    const note = (text: string) =>
      Effect.sync(() => void process.stderr.write(isTerminal ? `\r\u001b[K${text}` : `${text}\n`))
    const progress = (name: string, share: number) =>
      isTerminal || asked.progress ? note(`${name}: ${Math.round(share * 100)} % of the jobs sent`) : Effect.void
    const startedAt = yield* Clock.currentTimeMillis
    const report = yield* Lab.run(scenario, yield* sets(asked), progress).pipe(
      Effect.ensuring(isTerminal ? note("") : Effect.void)
    )
    const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
    if (asked.svg !== undefined) yield* files.write(asked.svg, LabSvg.draw(report))
    if (asked.json) return yield* Console.log(JSON.stringify(report, null, 2))
    yield* Console.log(LabPicture.draw(report, screen))
    const runs = report.trials.reduce((sum, t) => sum + t.runs, 0)
    yield* Console.log(`\n${screen.paint("dim", `${count(runs)} runs in ${count(seconds)} s of real time.`)}`)
    if (asked.svg !== undefined) yield* Console.log(`The chart is in ${asked.svg}.`)
  })
).pipe(
  Command.withDescription(
    "Tries sets of options on the real consumer, a virtual SQS and a fast clock: duplicates, recovery, dead letters, latency, requests and cost, side by side. Needs no queue."
  )
)
