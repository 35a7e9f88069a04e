/**
 * `list`: the jobs, newest first.
 *
 * @since 0.1.0
 */
import * as Checked from "@effect-sqs/cli/Flags"
import { Screen } from "@effect-sqs/cli/Screen"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { DeliveryState, JobState } from "../jobs/JobRow.js"
import { JobStore } from "../jobs/JobStore.js"
import * as Flags from "./Flags.js"
import * as Jobs from "./Jobs.js"
import * as JobText from "./JobText.js"
import { relative } from "./text.js"
import { table } from "./table.js"

const usual = 20
const most = 500

/**
 * @since 0.1.0
 * @category commands
 */
export const command = Command.make(
  "list",
  {
    states: Flags.words("state", JobState.literals).pipe(
      Options.withDescription(`only those that are ${JobState.literals.join(", ")}; may be repeated`)
    ),
    deliveries: Flags.words("delivery", DeliveryState.literals).pipe(
      Options.withDescription(`only those whose delivery is ${DeliveryState.literals.join(", ")}; may be repeated`)
    ),
    text: Flags.line("text", 48).pipe(Options.withDescription("only those with this text in their id")),
    limit: Checked.integer("limit", 1, most).pipe(
      Options.withDefault(usual),
      Options.withDescription(`at most so many; ${usual} unless given, at most ${most}`)
    ),
    before: Flags.line("before", 48).pipe(
      Options.withPseudoName("id"),
      Options.withDescription("goes on after this job: the last one of the page before")
    ),
    json: Flags.json
  },
  (asked) =>
    Effect.gen(function* () {
      const { before } = asked
      const last = before === undefined ? undefined : yield* Flags.jobId(before)
      yield* Effect.gen(function* () {
        const jobs = yield* JobStore
        const from = last === undefined ? undefined : yield* Jobs.get(last)
        const found = yield* jobs.list({
          states: asked.states.length === 0 ? undefined : asked.states,
          deliveries: asked.deliveries.length === 0 ? undefined : asked.deliveries,
          text: asked.text,
          before: from === undefined ? undefined : { acceptedAt: from.acceptedAt, id: from.id },
          // one more tells whether there are more
          limit: asked.limit + 1
        })
        const rows = found.slice(0, asked.limit)
        if (asked.json) yield* Effect.forEach(rows, (row) => Console.log(JobText.toJson(row)), { discard: true })
        else if (rows.length > 0) {
          const now = yield* Clock.currentTimeMillis
          const { columns, paint } = yield* Screen
          const cells = rows.map((row) => [
            row.id,
            JobText.stateOf(row),
            JobText.short(row.job),
            relative(row.acceptedAt, now),
            JobText.note(row, now)
          ])
          const lines = table([["JOB", "STATE", "REPORT", "ACCEPTED", ""], ...cells], columns, (cell, r, c) =>
            r === 0 ? paint("bold", cell) : c === 1 ? JobText.painted(rows[r - 1]!, cell, paint) : cell
          )
          yield* Console.log(lines.join("\n"))
        } else yield* Console.error("There is no such job.")
        if (found.length > rows.length) {
          yield* Console.error(`There are more: add --before ${rows.at(-1)!.id} for the next ones.`)
        }
      }).pipe(Jobs.withDatabase({ make: false }))
    })
).pipe(Command.withDescription("The jobs, newest first."))
