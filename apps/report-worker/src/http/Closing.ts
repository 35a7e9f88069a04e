/**
 * The server is about to close: streams that would never end by themselves end now.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Deferred from "effect/Deferred"

/**
 * @since 0.1.0
 * @category services
 */
export class Closing extends Context.Tag("@effect-sqs/report-worker/Closing")<Closing, Deferred.Deferred<void>>() {}
