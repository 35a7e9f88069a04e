/**
 * `status`: all of one job.
 *
 * @since 0.1.0
 */
import { Screen } from "@effect-sqs/cli/Screen"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { JobStore } from "../jobs/JobStore.js"
import * as Flags from "./Flags.js"
import * as Follow from "./Follow.js"
import * as Jobs from "./Jobs.js"
import * as JobText from "./JobText.js"

/**
 * @since 0.1.0
 * @category commands
 */
export const command = Command.make(
  "status",
  {
    follow: Options.boolean("follow").pipe(
      Options.withAlias("f"),
      Options.withDescription("waits until it has ended, telling how far it is; the exit code is by the outcome then")
    ),
    json: Flags.json,
    given: Flags.args("id", "the job")
  },
  (asked) =>
    Effect.gen(function* () {
      const [given] = yield* Flags.exactly(asked.given, ["ID"], "status")
      const id = yield* Flags.jobId(given!)
      yield* Effect.gen(function* () {
        const rows = asked.follow ? yield* Follow.untilEnded([id]) : [yield* Jobs.get(id)]
        const history = yield* Effect.flatMap(JobStore, (jobs) => jobs.events(id))
        const now = yield* Clock.currentTimeMillis
        const { paint } = yield* Screen
        const events = history.map(({ at, detail, kind, seq }) => ({ seq, at, kind, detail }))
        yield* Console.log(
          asked.json
            ? JobText.toJson(rows[0]!, { history: events })
            : JobText.whole(rows[0]!, history, now, paint).join("\n")
        )
        if (asked.follow) yield* Follow.mustBeDone(rows)
      }).pipe(Jobs.withDatabase({ make: false }))
    })
).pipe(Command.withDescription("All that is known of a job, with its history."))
