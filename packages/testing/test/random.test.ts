/** Random runs of the real consumer, the same ones every time. Others, and more of them: `npm run random -- --runs 10000`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { runSeed, show } from "./random/runs.js"

const RUNS = 24
const FIRST_SEED = 1

const runs = (first: number, n: number) =>
  Effect.forEach(
    Array.from({ length: n }, (_, i) => first + i),
    runSeed
  )

describe("Random runs", () => {
  it.effect(
    "keep every invariant",
    () =>
      Effect.map(runs(FIRST_SEED, RUNS), (results) => {
        const bad = results.filter((r) => r.broken.length > 0)
        assert.isTrue(bad.length === 0, bad.slice(0, 3).map(show).join("\n"))
        assert.isAbove(
          results.reduce((sum, r) => sum + r.entries, 0),
          RUNS * 100
        )
      }),
    120_000
  )

  it.effect(
    "are the same in another process",
    () =>
      Effect.gen(function* () {
        const hash = createHash("sha256")
        for (const { journal } of yield* runs(500, 3)) hash.update(JSON.stringify(journal))
        const args = ["--conditions=@effect-sqs/source", "--import", "tsx", "test/random/main.ts", "--seed", "500"]
        const there = yield* Effect.promise(() =>
          promisify(execFile)(process.execPath, [...args, "--runs", "3", "--digest"], {
            cwd: new URL("..", import.meta.url)
          })
        )
        assert.include(there.stdout, `digest ${hash.digest("hex")}`)
      }),
    60_000
  )
})
