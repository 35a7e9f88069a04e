/**
 * The worker as a program: settings from the environment, all that it stands on, and the worker itself until it is stopped.
 *
 * @since 0.1.0
 */
import * as RedriveMoveTasks from "@effect-sqs/cli/RedriveMoveTasks"
import * as SqsInspector from "@effect-sqs/cli/SqsInspector"
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import * as Lease from "@effect-sqs/core/Lease"
import { Sqs } from "@effect-sqs/core/Sqs"
import { isUrl, nameOf } from "@effect-sqs/core/SqsQueue"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import path from "node:path"
import { Control } from "./http/Control.js"
import * as Health from "./http/Health.js"
import * as Live from "./http/Live.js"
import * as NodeServer from "./http/NodeServer.js"
import * as Server from "./http/Server.js"
import { textOf } from "./jobs/text.js"
import * as Logging from "./Logging.js"
import { handler } from "./Pipeline.js"
import * as ReportWorker from "./ReportWorker.js"
import * as Services from "./Services.js"
import type { ListenAddress } from "./Setting.js"
import { type Settings, settings } from "./Settings.js"

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
        Layer.provide(NodeServer.layer(address)),
        Layer.mapError((e) => new HealthUnavailable({ ...address, detail: textOf(e) }))
      )

/** SQS's own */
const defaultVisibilityMs = 30_000

/** The lease as it is, also where the settings leave it to the queue. */
const leaseOf = (read: Settings) =>
  Effect.gen(function* () {
    const sqs = yield* Sqs
    const url = isUrl(read.queue) ? Effect.succeed(read.queue) : sqs.queueUrl(read.queue)
    const visibilityMs = yield* read.visibility === undefined
      ? Effect.flatMap(url, sqs.attributes).pipe(
          Effect.map((queue) => queue.visibilityTimeoutSeconds * 1000),
          // the consumer tells what is wrong, and tries again
          Effect.orElseSucceed(() => defaultVisibilityMs)
        )
      : Effect.succeed(Duration.toMillis(read.visibility))
    return {
      visibilityMs,
      heartbeatMs: read.heartbeat === undefined ? visibilityMs / 2 : Duration.toMillis(read.heartbeat),
      limitMs: Duration.toMillis(read.limit ?? Lease.MAX_LIMIT)
    }
  })

const live = (read: Settings) =>
  Layer.unwrapEffect(
    Effect.map(leaseOf(read), (lease) =>
      Live.layer({ queue: nameOf(read.queue), concurrency: read.concurrency, lease })
    )
  )

/** The page, also until all else has ended: one sees the drain. */
const page = (read: Settings) =>
  read.page === undefined
    ? Layer.empty
    : Server.layer({
        ...read.page,
        queue: read.queue,
        deadLetterQueue: read.deadLetterQueue,
        tokens: read.pageTokens,
        hosts: read.pageHosts,
        readOnly: read.pageReadOnly,
        folder: path.join(read.out, "operations")
      }).pipe(Layer.provide([SqsInspector.layerWith({}), RedriveMoveTasks.layerWith({})]))

/**
 * Ends by interruption, after a drain, or fails with a message that says what to do.
 *
 * @since 0.1.0
 * @category programs
 */
export const program = Effect.gen(function* () {
  const read = yield* settings
  const watched = Layer.mergeAll(Health.Health.layer, Control.layer, live(read))
  const services = Layer.mergeAll(healthServer(read.health), page(read)).pipe(
    Layer.provideMerge(watched),
    Layer.provideMerge(Layer.merge(Services.layer(read), AwsSqs.layer))
  )
  const run = Effect.gen(function* () {
    const health = yield* Health.Health
    const { named, observe, progress } = yield* Live.Live
    const { attach } = yield* Control
    const handle = handler(read, (job, { of, pages }) => progress(job.jobId, pages, of))
    return yield* ReportWorker.run(read, {
      attach,
      handler: (job, delivery) => Effect.zipRight(named(delivery, job.jobId), handle(job, delivery)),
      onEvent: (event) =>
        Effect.all([observe(event), health.observe(event), ReportWorker.logEnd(event)], { discard: true })
    })
  })
  return yield* run.pipe(Effect.provide(services), Effect.provide(Logging.layer(read.logLevel)))
})
