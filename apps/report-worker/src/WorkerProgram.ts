/**
 * The worker as a program: settings from the environment, all that it stands on, and the worker itself until it is stopped.
 *
 * @since 0.1.0
 */
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Services from "./Services.js"
import * as Logging from "./Logging.js"
import * as ReportWorker from "./ReportWorker.js"
import { settings } from "./Settings.js"

/**
 * Ends by interruption, after a drain, or fails with a message that says what to do.
 *
 * @since 0.1.0
 * @category programs
 */
export const program = Effect.gen(function* () {
  const read = yield* settings
  const services = Layer.merge(Services.layer(read), AwsSqs.layer)
  return yield* ReportWorker.run(read).pipe(Effect.provide(services), Effect.provide(Logging.layer(read.logLevel)))
})
