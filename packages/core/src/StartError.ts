/**
 * Why a consumer did not begin to poll.
 *
 * @since 0.1.0
 */
import { inWords } from "./internal/text.js"
import * as Schema from "effect/Schema"

/**
 * The consumer cannot start: options that are faulty or do not fit the queue (all of them at once), or a queue that
 * cannot be reached. Nothing was received.
 *
 * @since 0.1.0
 * @category errors
 */
export class StartError extends Schema.TaggedError<StartError>()("StartError", {
  queue: Schema.String,
  faults: Schema.Array(Schema.Struct({ option: Schema.String, rule: Schema.String, value: Schema.String })),
  cause: Schema.optional(Schema.Defect)
}) {
  override get message() {
    const faults = this.faults.map((f) => `${f.option} ${f.rule}${f.value === "" ? "" : ` (it is ${f.value})`}`)
    const cause = this.cause === undefined ? [] : [inWords(this.cause)]
    const lines = [...faults, ...cause]
    const head = `The consumer of ${this.queue} cannot start`
    return lines.length === 1 ? `${head}: ${lines[0]}` : `${head}:\n${lines.map((l) => `  - ${l}`).join("\n")}`
  }
}
