import * as Schema from "effect/Schema"

/**
 * The demo did not come out as it should; `reason` says why, for people.
 *
 * @since 0.1.0
 * @category errors
 */
export class StoryFailed extends Schema.TaggedError<StoryFailed>()("StoryFailed", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}
