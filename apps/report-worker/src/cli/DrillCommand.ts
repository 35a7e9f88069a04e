/**
 * `drill`: the three drills before a deploy.
 *
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * A drill did not come out as it must.
 *
 * @since 0.1.0
 * @category errors
 */
export class DrillWrong extends Schema.TaggedError<DrillWrong>()("DrillWrong", {
  drills: Schema.Array(Schema.String)
}) {
  override get message() {
    return `Not as it must be: ${this.drills.join("; ")}. Look at the times above, and at the settings of the environment.`
  }
}

/**
 * @since 0.1.0
 * @category commands
 */
export const command = Command.make(
  "drill",
  { json: Options.boolean("json").pipe(Options.withDescription("the facts as JSON")) },
  ({ json }) =>
    Effect.gen(function* () {
      // only here: the other commands do without what plays them
      const { Drills, Stage } = yield* Effect.promise(() => import("../drill/index.js"))
      const read = yield* Stage.settingsOf(process.env)
      const visibility = read.visibility ?? Duration.seconds(4)
      const seconds = Drills.expectedSeconds({ visibility, claim: read.claim })
      yield* Console.error(
        `Three drills with real workers on a local SQS: visibility ${Duration.format(visibility)}, claim ${Duration.format(read.claim)}. It takes about ${seconds} s.`
      )
      const all = yield* Drills.all(process.env)
      yield* Console.log(json ? JSON.stringify(all, undefined, 2) : Drills.render(all))
      const wrong = all.filter((d) => d.wrong.length > 0)
      if (wrong.length > 0) return yield* new DrillWrong({ drills: wrong.map((d) => d.drill) })
    })
).pipe(
  Command.withDescription(
    "Plays the three drills before a deploy, with the settings of the environment: a job longer than its visibility, a worker that is killed in the middle, a result that is stored while the delete fails. Exit code 1 when one does not come out as it must"
  )
)
