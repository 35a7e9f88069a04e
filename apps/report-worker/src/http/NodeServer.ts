/**
 * Node's HTTP server with manners of its own, for the page and for whoever asks after the worker's health.
 *
 * @since 0.1.0
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type { ServeError } from "@effect/platform/HttpServerError"
import { createServer } from "node:http"
import { Closing } from "./Closing.js"

/** downloads that are under way when the worker stops */
const grace = Duration.seconds(1)

const away = JSON.stringify({ _tag: "Unavailable", message: "the worker starts or ends: ask again in a moment" })
const awayHeaders = { "retry-after": "1", "content-type": "application/json" }

/** a request that has not arrived by then */
const requestTimeoutMs = 30_000

/**
 * - It listens before its handler is there, and still when the handler has gone: who asks then is told to come again, instead
 *   of never.
 * - When it closes it does not wait for connections that clients keep open: streams end at once, what else is open after a
 *   moment.
 * - Nothing is upgraded. A connection that is asked to become another protocol is not the server's any more: it would not end
 *   with it, nor would its body be read.
 */
const serverOf = (closing: Deferred.Deferred<void>) => () => {
  const server = createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    keepAliveTimeout: 5000
  })
  server.on("request", (_, response) => {
    if (server.listenerCount("request") === 1) response.writeHead(503, awayHeaders).end(away)
  })
  // without a listener Node takes such a request as an ordinary one
  const on = server.on.bind(server) as (event: string, listener: (...args: ReadonlyArray<any>) => void) => typeof server
  server.on = (event: string, listener: (...args: ReadonlyArray<any>) => void) =>
    event === "upgrade" ? server : on(event, listener)
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

/**
 * Listens until the scope closes.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (address: {
  readonly host: string
  readonly port: number
}): Layer.Layer<Layer.Layer.Success<ReturnType<typeof NodeHttpServer.layer>> | Closing, ServeError> =>
  Layer.unwrapEffect(
    Effect.map(Deferred.make<void>(), (closing) =>
      Layer.merge(NodeHttpServer.layer(serverOf(closing), { ...address }), Layer.succeed(Closing, closing))
    )
  )
