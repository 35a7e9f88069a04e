/**
 * The operations page and its API on a port of its own, beside the worker.
 *
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Duration from "effect/Duration"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"
import * as Access from "./Access.js"
import * as ActionLog from "./ActionLog.js"
import { Closing } from "./Closing.js"
import * as DeadLetters from "./DeadLetters.js"
import * as Guard from "./Guard.js"
import * as Handlers from "./Handlers.js"
import * as Health from "./Health.js"
import * as Prometheus from "./Prometheus.js"
import * as Watch from "./Watch.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ServerOptions extends Access.AccessOptions, Watch.Queues {
  readonly host: string
  readonly port: number
  /** where plans and logs of redrives and discarded messages are kept */
  readonly folder: string
}

/**
 * The page cannot be served.
 *
 * @since 0.1.0
 * @category errors
 */
export class PageUnavailable extends Schema.TaggedError<PageUnavailable>()("PageUnavailable", {
  detail: Schema.String
}) {
  override get message() {
    return `The operations page cannot be served: ${this.detail}`
  }
}

/**
 * Whether only this machine reaches this address.
 *
 * @since 0.1.0
 * @category checks
 */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(\.\d+){3}$/.test(host)

/** downloads that are under way when the worker stops */
const grace = Duration.seconds(1)

/** a request that has not arrived by then */
const requestTimeoutMs = 30_000

/** Node waits for connections that clients keep open: streams end at once, and what else is open after a moment. */
const serverOf = (closing: Deferred.Deferred<void>) => () => {
  const server = createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    keepAliveTimeout: 5000
  })
  const close = server.close.bind(server)
  server.close = (callback) => {
    Deferred.unsafeDone(closing, Exit.void)
    server.closeIdleConnections()
    const cut = Effect.runFork(
      Effect.delay(
        Effect.sync(() => server.closeAllConnections()),
        grace
      )
    )
    return close((error) => {
      Effect.runFork(Fiber.interrupt(cut))
      callback?.(error)
    })
  }
  return server
}

const listening = ({ host, port }: ServerOptions) =>
  Layer.unwrapScoped(
    Effect.map(Closing, (closing) =>
      NodeHttpServer.layer(serverOf(closing), { host, port }).pipe(
        Layer.mapError((e) => {
          const { cause } = e
          const detail = cause instanceof Error ? cause.message : String(cause)
          return new PageUnavailable({ detail: `${detail}. Set REPORT_PAGE to another port, or to no` })
        })
      )
    )
  )

const routes = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const { check } = yield* Access.Gate
    const health = yield* Health.Health
    yield* router.get(
      "/metrics",
      Effect.zipRight(check, Prometheus.text).pipe(
        Effect.map((text) => HttpServerResponse.text(text, { contentType: Prometheus.contentType })),
        Effect.catchAll((refused) =>
          Effect.succeed(
            HttpServerResponse.unsafeJson(refused, { status: refused._tag === "TooManyRequests" ? 429 : 401 })
          )
        )
      )
    )
    yield* router.get("/health/live", Health.live)
    yield* router.get("/health/ready", Effect.provideService(Health.ready, Health.Health, health))
  })
)

/**
 * Serves until the scope closes. An address that others reach needs tokens.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: ServerOptions) => {
  if (!isLoopback(options.host) && options.tokens.length === 0) {
    return Layer.fail(
      new PageUnavailable({ detail: `${options.host} can be reached from elsewhere: set REPORT_PAGE_TOKENS` })
    )
  }
  return Layer.unwrapEffect(
    Effect.map(HttpApiBuilder.httpApp, (app) => HttpServer.serve(Guard.guard(options.hosts)(app)))
  ).pipe(
    Layer.provide([HttpApiBuilder.Router.Live, HttpApiBuilder.Middleware.layer]),
    Layer.provide(HttpApiBuilder.middlewareOpenApi({ path: "/openapi.json" })),
    Layer.provide(HttpApiBuilder.middleware(Guard.sentences as never)),
    Layer.provide(routes),
    Layer.provide(Handlers.layer),
    Layer.merge(Layer.scopedDiscard(Effect.forkScoped(Watch.run(options)))),
    Layer.provide([Access.layer(options), ActionLog.layer, DeadLetters.layer(options)]),
    Layer.provideMerge(HttpServer.withLogAddress(listening(options))),
    Layer.provide(Layer.effect(Closing, Deferred.make<void>()))
  )
}
