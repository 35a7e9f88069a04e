/**
 * `worker`: the worker itself.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Policies from "../Policies.js"
import { describe } from "../Settings.js"
import { endsByStop } from "./Stop.js"

/**
 * @since 0.1.0
 * @category commands
 */
export const command = Command.make(
  "worker",
  {
    policies: Options.boolean("policies").pipe(
      Options.withDescription("tells how long each step may take, and what becomes of a job by the way it failed")
    )
  },
  (asked) =>
    Effect.gen(function* () {
      if (asked.policies) return yield* Console.log(Policies.describe)
      // only here: the other commands do without what draws and serves
      const { program } = yield* Effect.promise(() => import("../WorkerProgram.js"))
      yield* endsByStop(program)
    })
).pipe(
  Command.withDescription(
    HelpDoc.blocks([
      HelpDoc.p("Takes jobs from the queue and does them, until it is stopped. Everything is set in the environment:"),
      HelpDoc.p(describe),
      HelpDoc.p(
        "Region, credentials and endpoint are the AWS SDK's: AWS_REGION, AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL_SQS (for a local SQS)."
      ),
      HelpDoc.p(
        "SIGTERM and Ctrl-C stop it in order: nothing more is received, running jobs may end, what has not started is given back."
      )
    ])
  )
)
