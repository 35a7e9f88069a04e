/**
 * The operations page and its API on a port of its own, beside the worker.
 *
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Access from "./Access.js"
import * as ActionLog from "./ActionLog.js"
import * as DeadLetters from "./DeadLetters.js"
import * as Guard from "./Guard.js"
import * as Handlers from "./Handlers.js"
import * as Health from "./Health.js"
import { isLoopback } from "./Listen.js"
import * as NodeServer from "./NodeServer.js"
import * as Page from "./Page.js"
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

const listening = ({ host, port }: ServerOptions) =>
  NodeServer.layer({ host, port }).pipe(
    Layer.mapError(({ cause }) => {
      const detail = cause instanceof Error ? cause.message : String(cause)
      return new Page.PageUnavailable({ detail: `${detail}. Set REPORT_PAGE to another port, or leave it out` })
    })
  )

const told = Layer.effectDiscard(
  HttpServer.addressFormattedWith((address) => Effect.logInfo(`operations page at ${address}`))
)

const routes = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const { check } = yield* Access.Gate
    const health = yield* Health.Health
    for (const asset of yield* Page.load) yield* router.get(asset.path as "/", Page.respond(asset))
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
      new Page.PageUnavailable({ detail: `${options.host} can be reached from elsewhere: set REPORT_PAGE_TOKENS` })
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
    Layer.merge(told),
    Layer.provideMerge(listening(options))
  )
}
