/**
 * The worker as a program: settings from the environment, all that it stands on, and the worker itself until it is stopped.
 *
 * @since 0.1.0
 */
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"
import * as Health from "./http/Health.js"
import { textOf } from "./jobs/text.js"
import * as Logging from "./Logging.js"
import * as ReportWorker from "./ReportWorker.js"
import * as Services from "./Services.js"
import { type ListenAddress, settings } from "./Settings.js"

/**
 * Nothing can be answered at the address.
 *
 * @since 0.1.0
 * @category errors
 */
export class HealthUnavailable extends Schema.TaggedError<HealthUnavailable>()("HealthUnavailable", {
  host: Schema.String,
  port: Schema.Number,
  detail: Schema.String
}) {
  override get message() {
    return `Health cannot be told at ${this.host}:${this.port}: ${this.detail}. Set REPORT_HEALTH to an address that is free.`
  }
}

/** Answers until all else has ended: a worker that drains lives, and is not ready. */
const healthServer = (address: ListenAddress | undefined) =>
  address === undefined
    ? Layer.empty
    : Health.layerServer.pipe(
        Layer.provide(NodeHttpServer.layer(() => createServer(), { ...address })),
        Layer.mapError((e) => new HealthUnavailable({ ...address, detail: textOf(e) }))
      )

/**
 * Ends by interruption, after a drain, or fails with a message that says what to do.
 *
 * @since 0.1.0
 * @category programs
 */
export const program = Effect.gen(function* () {
  const read = yield* settings
  const health = healthServer(read.health).pipe(Layer.provideMerge(Health.Health.layer))
  const services = Layer.merge(health.pipe(Layer.provideMerge(Services.layer(read))), AwsSqs.layer)
  const run = Effect.flatMap(Health.Health, ({ observe }) =>
    ReportWorker.run(read, { onEvent: (event) => Effect.zipRight(observe(event), ReportWorker.logEnd(event)) })
  )
  return yield* run.pipe(Effect.provide(services), Effect.provide(Logging.layer(read.logLevel)))
})
