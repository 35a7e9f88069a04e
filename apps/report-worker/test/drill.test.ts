import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Drills from "../src/drill/Drills.js"
import * as Stage from "../src/drill/Stage.js"
import { mainFromSource } from "./programs.js"

/** Five processes, on a busy machine. */
const patienceMs = 240_000

const plain = () => Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith("REPORT_")))

/** What child processes need; the test runner itself does without. */
const withPrograms = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => process.execArgv.splice(0, process.execArgv.length, ...mainFromSource)),
    () => self,
    (before) => Effect.sync(() => process.execArgv.splice(0, process.execArgv.length, ...before))
  )

describe("the drills", () => {
  it.live(
    "come out right: the slow job runs once, the killed one goes on after its query, the stored one is not run again",
    () =>
      Effect.gen(function* () {
        const all = yield* withPrograms(Drills.all(plain()))
        assert.deepStrictEqual(
          all.map(({ artifacts, drill, left, queries, runs, state, wrong }) => ({
            drill,
            state,
            runs,
            queries,
            artifacts,
            left,
            wrong
          })),
          [
            {
              drill: "a slow but healthy job",
              state: "completed",
              runs: 1,
              queries: 1,
              artifacts: 1,
              left: 0,
              wrong: []
            },
            {
              drill: "a worker killed in the middle",
              state: "completed",
              runs: 2,
              queries: 1,
              artifacts: 1,
              left: 0,
              wrong: []
            },
            {
              drill: "the result stored, the delete failing",
              state: "completed",
              runs: 1,
              queries: 1,
              artifacts: 1,
              left: 0,
              wrong: []
            }
          ]
        )
        assert.isAtLeast(all[0]!.heartbeats, 2)
        assert.strictEqual(all[2]!.receives, 2)
        assert.include(all[2]!.timeline, "delete: failed, InternalFailure")
        assert.match(Drills.render(all), /^1\. A slow but healthy job, visibility 4 s: right\n/)
        assert.include(
          Drills.render([{ ...all[0]!, wrong: ["it was run 2 times, not 1"] }]),
          "WRONG: it was run 2 times"
        )
      }),
    patienceMs
  )

  it.effect("are about the settings of the environment, and refuse what cannot be used", () =>
    Effect.gen(function* () {
      const read = yield* Stage.settingsOf({ REPORT_VISIBILITY: "30 seconds", REPORT_CLAIM: "" })
      assert.strictEqual(Duration.toSeconds(read.visibility!), 30)
      assert.strictEqual(Duration.toSeconds(read.claim), 4)
      const error = yield* Effect.flip(Stage.settingsOf({ REPORT_HEARTBEAT: "often" }))
      assert.include(error.message, 'REPORT_HEARTBEAT is "often": expected a duration')
    })
  )
})
