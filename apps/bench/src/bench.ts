/**
 * Measures this library against its peers and against the limit: `npm run bench -- --help`.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { type Row, runOnce, Server } from "./Processes.js"
import { type Scenario, scenarios } from "./Scenarios.js"
import { markdown, medians, ratio, type Rounds, table } from "./Table.js"
import type { Figure } from "./figures.js"

const help = `npm run bench -- [--only NAME] [--runs N] [--json] [--list]

  --only NAME   one scenario, or several with commas between
  --runs N      rounds; each figure is the median of them; default 3
  --json        prints JSON instead of tables
  --list        names the scenarios

Every run is saved in apps/bench/out/NAME.json.
`

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    runs: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false }
  }
})

const say = (text: string) => {
  if (!values.json) process.stdout.write(`${text}\n`)
}
const progress = (text: string) => void process.stderr.write(`${text}\n`)

const OUT = fileURLToPath(new URL("../out/", import.meta.url))
const save = (name: string, result: unknown) => {
  mkdirSync(OUT, { recursive: true })
  writeFileSync(`${OUT}${name}.json`, `${JSON.stringify(result, undefined, 2)}\n`)
}

/** Every subject in each round, each round beginning with another one. */
const measure = async (scenario: Scenario, count: number): Promise<Rounds> => {
  const server = await Server.start(scenario.latencyMs)
  try {
    const rounds = []
    for (let i = 0; i < count; i++) {
      const first = i % scenario.runs.length
      const order = [...scenario.runs.slice(first), ...scenario.runs.slice(0, first)]
      const rows: Array<Row> = []
      for (const run of order) {
        const row = await server.run(run)
        progress(
          `${scenario.name} ${i + 1}/${count}: ${row.label}, ${Math.round(row.perSecond)}/s, ` +
            `${row.cpuPer10k.toFixed(2)} CPU s per 10,000${row.overIdeal === undefined ? "" : `, ${row.overIdeal.toFixed(3)} × ideal`}`
        )
        rows.push(row)
      }
      rounds.push(scenario.runs.map(({ label }) => rows.find((row) => row.label === label)!))
    }
    return rounds
  } finally {
    server.stop()
  }
}

const PEERS = ["squiss-ts", "sqs-consumer batch", "sqs-consumer single"]

/** What the tables do not say by themselves: this library against the loop and the best peer, round by round. */
const ratiosOf = (rounds: Rounds): Record<string, number> => {
  const labels = rounds[0]!.map(({ label }) => label)
  const has = (label: string) => labels.includes(label)
  if (has("effect-sqs") && has("loop")) {
    const peers = PEERS.filter(has)
    const best = (key: "perSecond" | "cpuPer10k", pick: (...of: Array<number>) => number) =>
      pick(...peers.map((peer) => ratio(rounds, key, "effect-sqs", peer)))
    return {
      "CPU, over the loop": ratio(rounds, "cpuPer10k", "effect-sqs", "loop"),
      "CPU, over the best peer": best("cpuPer10k", Math.max),
      "messages/s, over the loop": ratio(rounds, "perSecond", "effect-sqs", "loop"),
      "messages/s, over the best peer": best("perSecond", Math.min)
    }
  }
  return Object.fromEntries(
    labels.slice(1).map((label) => [`CPU, ${label} over ${labels[0]}`, ratio(rounds, "cpuPer10k", label, labels[0]!)])
  )
}

const runScenario = async (scenario: Scenario, count: number) => {
  const rounds = await measure(scenario, count)
  const rows = medians(rounds)
  const ratios = ratiosOf(rounds)
  const result = { name: scenario.name, title: scenario.title, runs: count, rows, ratios, rounds }
  save(scenario.name, result)
  say(`\n${scenario.name}: ${scenario.title}\n\n${table(rows)}\n`)
  say(
    Object.entries(ratios)
      .map(([name, value]) => `${name}: ${value.toFixed(2)}`)
      .join("\n")
  )
  return result
}

/** Figures without subjects to compare: in virtual time, and memory. */
const runFigures = async (name: string) => {
  const figures = await runOnce<ReadonlyArray<Figure>>("figures", name)
  save(name, { name, figures })
  say(`\n${name}\n\n${markdown([["", "measured"], ...figures.map((f) => [f.what, f.value])])}\n`)
  return { name, figures }
}

const FIGURES = ["beats", "idle", "uneven-virtual", "memory", "flat"]

const main = async () => {
  const names = [...scenarios.map(({ name }) => name), ...FIGURES]
  if (values.help) return void process.stdout.write(help)
  if (values.list) return void process.stdout.write(`${names.join("\n")}\n`)
  const runs = Number(values.runs)
  const wanted = values.only === undefined ? names : values.only.split(",")
  const unknown = wanted.filter((name) => !names.includes(name))
  if (unknown.length > 0 || !Number.isInteger(runs) || runs < 1) {
    const fault = unknown.length > 0 ? `There is no scenario ${unknown.join(", ")}.` : "--runs must be a whole number."
    process.stderr.write(`${fault} Scenarios: ${names.join(", ")}.\n`)
    process.exitCode = 2
    return
  }
  const results = []
  for (const name of wanted) {
    const scenario = scenarios.find((s) => s.name === name)
    results.push(scenario === undefined ? await runFigures(name) : await runScenario(scenario, runs))
  }
  if (values.json) process.stdout.write(`${JSON.stringify(results, undefined, 2)}\n`)
}

await main()
