/**
 * `cancel`: a job that nobody wants any more.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { JobStore } from "../jobs/JobStore.js"
import * as Flags from "./Flags.js"
import { get, withDatabase } from "./Jobs.js"
import * as JobText from "./JobText.js"

/**
 * @since 0.1.0
 * @category commands
 */
export const command = Command.make("cancel", { json: Flags.json, given: Flags.args("id", "the job") }, (asked) =>
  Effect.gen(function* () {
    const [given] = yield* Flags.exactly(asked.given, ["ID"], "cancel")
    const id = yield* Flags.jobId(given!)
    yield* Effect.gen(function* () {
      const before = yield* get(id)
      const row = yield* Effect.flatMap(JobStore, (jobs) => jobs.cancel(id))
      const told =
        before.state === "cancelled"
          ? "was cancelled before"
          : before.state === "running"
            ? "cancelled; a run that goes on is stopped when its claim is next renewed, and leaves no result"
            : "cancelled"
      yield* Console.log(asked.json ? JobText.toJson(row) : `${id}: ${told}`)
    }).pipe(withDatabase({ make: false }))
  })
).pipe(
  Command.withDescription("Cancels a job that has not ended. Its id stays taken; what was delivered is not taken back.")
)
