/**
 * What the answer of a receiver says of a notice.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { type WebhookError, WebhookFailed, WebhookRefused, WebhookUnreachable } from "./WebhookError.js"
import { type Answer, shownUrl } from "./WebhookRequest.js"

/** "moved", of those that a receiver gives instead of doing something: 302 and 303 it also gives afterwards. */
const moved = new Set([301, 307, 308])

/** Answers of who has not looked at the request: too early, too many. */
const busy = new Set([425, 429])

/** Answers of 4xx that say nothing: the time ran out in the middle; the same key is being worked on. */
const unclear = new Set([408, 409])

const shortened = (text: string) => {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim()
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}

/**
 * 2xx is success. 301, 307, 308 and most of 4xx are a no; 425 and 429 a "not now"; after everything else, 5xx above all,
 * it may have happened.
 *
 * @since 0.1.0
 * @category outcomes
 */
export const outcomeOf = (url: string, answer: Answer): Effect.Effect<Answer, WebhookError> => {
  const { status } = answer
  const said = shortened(answer.text)
  const failure = {
    url: shownUrl(url),
    detail: said === "" ? `it answered ${status}` : `it answered ${status}, ${JSON.stringify(said)}`
  }
  if (status >= 200 && status < 300) return Effect.succeed(answer)
  if (moved.has(status)) {
    return new WebhookRefused({ ...failure, detail: `${failure.detail}: give the address that it moved to` })
  }
  if (busy.has(status)) return new WebhookUnreachable(failure)
  return status >= 400 && status < 500 && !unclear.has(status)
    ? new WebhookRefused(failure)
    : new WebhookFailed(failure)
}
