/**
 * What can go wrong with a call to a receiver, told apart by the two questions that matter: can it have happened, and does
 * trying again help.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * It surely did not happen, and trying again does not help: the address is not allowed, or the receiver said no.
 *
 * @since 0.1.0
 * @category errors
 */
export class WebhookRefused extends Schema.TaggedError<WebhookRefused>()("WebhookRefused", {
  /** without what follows a `?`, which may be a secret */
  url: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.url} was not told: ${this.detail}`
  }
}

/**
 * It surely did not happen, and a later try may help: the receiver is not there, or has no time.
 *
 * @since 0.1.0
 * @category errors
 */
export class WebhookUnreachable extends Schema.TaggedError<WebhookUnreachable>()("WebhookUnreachable", {
  url: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.url} cannot be told now: ${this.detail}`
  }
}

/**
 * It may have happened: the request was on its way, and no answer says what became of it.
 *
 * @since 0.1.0
 * @category errors
 */
export class WebhookFailed extends Schema.TaggedError<WebhookFailed>()("WebhookFailed", {
  url: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.url} may or may not have been told: ${this.detail}`
  }
}

/**
 * @since 0.1.0
 * @category errors
 */
export const WebhookError = Schema.Union(WebhookRefused, WebhookUnreachable, WebhookFailed)

/**
 * @since 0.1.0
 * @category errors
 */
export type WebhookError = typeof WebhookError.Type

/**
 * Whether the receiver surely does not have it.
 *
 * @since 0.1.0
 * @category queries
 */
export const didNotHappen = (error: WebhookError): boolean => error._tag !== "WebhookFailed"
