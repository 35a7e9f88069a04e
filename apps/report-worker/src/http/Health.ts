/**
 * What an orchestrator asks: does the process live, is it ready. Nothing else is told, so that it may be asked from
 * anywhere in the cluster.
 *
 * - `GET /health/live`: 200 as long as the process answers. An SQS or a database that is away is no reason to restart it.
 * - `GET /health/ready`: 200 when jobs are received and the database answers, else 503; both with JSON that says what is
 *   missing.
 *
 * @since 0.1.0
 */
import type { ConsumerEvent } from "@effect-sqs/core/ConsumerEvent"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"

/** What the consumer is doing, as far as readiness goes. */
type Consuming = "starting" | "receiving" | "receive fails" | "stopping"

const databaseTimeout = Duration.seconds(2)

/**
 * What is missing to be ready; empty when nothing is.
 *
 * @since 0.1.0
 * @category models
 */
export interface Readiness {
  readonly ready: boolean
  readonly missing: ReadonlyArray<string>
}

/**
 * Knows how the worker is, from the consumer's events.
 *
 * @since 0.1.0
 * @category services
 */
export class Health extends Context.Tag("@effect-sqs/report-worker/Health")<
  Health,
  {
    /** to be told every event of the consumer */
    readonly observe: (event: ConsumerEvent) => Effect.Effect<void>
    readonly readiness: Effect.Effect<Readiness>
  }
>() {
  /**
   * @category layers
   */
  static readonly layer: Layer.Layer<Health, never, SqlClient.SqlClient> = Layer.effect(
    Health,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const consuming = yield* Ref.make<Consuming>("starting")

      const database = sql`SELECT 1`.pipe(
        Effect.timeout(databaseTimeout),
        Effect.matchCause({ onFailure: () => ["the database does not answer"], onSuccess: () => [] })
      )

      return Health.of({
        observe: (event) => {
          const next = after(event)
          return next === undefined ? Effect.void : Ref.update(consuming, (now) => (now === "stopping" ? now : next))
        },
        readiness: Effect.gen(function* () {
          const now = yield* Ref.get(consuming)
          const missing = [...(now === "receiving" ? [] : [words[now]]), ...(yield* database)]
          return { ready: missing.length === 0, missing }
        })
      })
    })
  )
}

const words: Record<Exclude<Consuming, "receiving">, string> = {
  starting: "the worker has not begun to receive",
  "receive fails": "SQS does not answer, or refuses",
  stopping: "the worker stops"
}

/** A paused worker is ready: somebody wanted it so. */
const after = (event: ConsumerEvent): Consuming | undefined => {
  switch (event._tag) {
    case "Started":
    case "PollRecovered":
      return "receiving"
    case "PollFailed":
    case "PollEnded":
      return "receive fails"
    case "Draining":
    case "Drained":
      return "stopping"
    default:
      return undefined
  }
}

const json = (body: unknown, status: number) =>
  HttpServerResponse.unsafeJson(body, { status, headers: { "cache-control": "no-store" } })

/**
 * The answer to whether the process lives.
 *
 * @since 0.1.0
 * @category responses
 */
export const live = Effect.succeed(json({ live: true }, 200))

/**
 * The answer to whether it is ready.
 *
 * @since 0.1.0
 * @category responses
 */
export const ready = Effect.gen(function* () {
  const { readiness } = yield* Health
  const now = yield* readiness
  return json(now, now.ready ? 200 : 503)
})

/**
 * The two routes.
 *
 * @since 0.1.0
 * @category routes
 */
export const routes = HttpRouter.empty.pipe(
  HttpRouter.get("/health/live", live),
  HttpRouter.get("/health/ready", ready)
)

/**
 * Serves them on whatever server is provided.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerServer: Layer.Layer<never, never, Health | HttpServer.HttpServer> = HttpServer.serve(
  Effect.catchTag(routes, "RouteNotFound", () => Effect.succeed(json({ missing: ["no such address"] }, 404)))
)
