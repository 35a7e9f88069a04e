/**
 * Random runs as a command: `npm run random -- --runs 10000`. Exit code 1 when an invariant was broken, 2 for a flag that
 * cannot be used.
 */
import { Effect } from "effect"
import { createHash, randomInt } from "node:crypto"
import { parseArgs } from "node:util"
import { runSeed, show } from "./runs.js"
import { sceneOf } from "./scene.js"

const help = `Random runs of the real consumer on a virtual SQS, in simulated time; every invariant is checked on each.

Usage: npm run random -- [flags]

  --runs N     so many runs (1000)
  --seed N     of the first run; the next has the next number (drawn)
  --scene      tell what a run is made of
  --digest     tell a digest of all journals: the same for the same seeds, wherever it runs
  --most N     stop after so many seeds that break something (10)
  --help       this text
`

const print = (text: string) => process.stdout.write(text)

const whole = (flag: string, text: string): number => {
  if (!/^\d{1,10}$/.test(text)) throw new Error(`${flag} ${text}: expected a whole number`)
  return Number(text)
}

const parse = () => {
  try {
    const { values } = parseArgs({
      options: {
        runs: { type: "string", default: "1000" },
        seed: { type: "string" },
        most: { type: "string", default: "10" },
        scene: { type: "boolean", default: false },
        digest: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false }
      }
    })
    return {
      ...values,
      runs: whole("--runs", values.runs),
      most: whole("--most", values.most),
      seed: values.seed === undefined ? randomInt(1_000_000_000) : whole("--seed", values.seed)
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const main = ({ digest, most, runs, scene, seed: first }: Exclude<ReturnType<typeof parse>, string>) =>
  Effect.gen(function* () {
    const hash = createHash("sha256")
    const names = new Map<string, number>()
    let entries = 0
    let bad = 0
    let done = 0
    for (let seed = first; seed < first + runs && bad < most; seed++) {
      if (scene) print(`${JSON.stringify(sceneOf(seed), undefined, 2)}\n`)
      const result = yield* runSeed(seed)
      done++
      entries += result.entries
      if (digest) hash.update(JSON.stringify(result.journal))
      if (result.broken.length === 0) continue
      bad++
      for (const name of new Set(result.broken.map((b) => b.name))) names.set(name, (names.get(name) ?? 0) + 1)
      print(show(result))
    }
    const what = [...names].map(([name, n]) => `${name} ${n}`).join(", ")
    print(
      `${done} runs, seeds ${first} to ${first + done - 1}, ${entries} journal entries: ` +
        (bad === 0 ? "every invariant holds\n" : `${bad} seeds break something: ${what}\n`)
    )
    if (digest) print(`digest ${hash.digest("hex")}\n`)
    return bad === 0 ? 0 : 1
  })

const flags = parse()
if (typeof flags === "string") {
  process.stderr.write(`${flags.split(/\.\s|\n/, 1)[0]}. See --help.\n`)
  process.exitCode = 2
} else if (flags.help) {
  print(help)
} else {
  // a process that was killed in a simulation may hold Node's event loop
  void Effect.runPromise(main(flags)).then((code) => process.exit(code))
}
