/**
 * The virtual SQS over HTTP: any SDK that speaks AWS JSON 1.0 can call it. It is a second door into the same room, so that a
 * test may look behind with `VirtualSqs` while the worker under test uses the AWS SDK.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { AddressInfo } from "node:net"
import { openHttpDoor } from "./internal/httpDoor.js"
import { roomOf } from "./internal/rooms.js"
import { VirtualSqs } from "./VirtualSqs.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface SqsServerOptions {
  /** 127.0.0.1 */
  readonly host?: string | undefined
  /** 0, the default, takes any free port */
  readonly port?: number | undefined
  /** longest body that is read, in bytes; 8 MiB, which is room for 1 MiB of the worst characters */
  readonly maxBodyBytes?: number | undefined
  /** real ms that a client may take over the headers of a request; 30,000 */
  readonly headersTimeoutMs?: number | undefined
  /** real ms that a client may take over a whole request; 60,000 */
  readonly requestTimeoutMs?: number | undefined
}

/**
 * The server could not listen.
 *
 * @since 0.1.0
 * @category errors
 */
export class ServeError extends Schema.TaggedError<ServeError>()("ServeError", {
  host: Schema.String,
  port: Schema.Number,
  /** Node's, as `EADDRINUSE` */
  code: Schema.String,
  cause: Schema.Defect
}) {
  override get message() {
    const where = `Cannot listen on ${this.host}, port ${this.port}`
    return this.code === "EADDRINUSE"
      ? `${where}: the port is in use. Stop what listens there, or choose another port.`
      : `${where}: ${this.code}.`
  }
}

/**
 * A server that listens.
 *
 * @since 0.1.0
 * @category services
 */
export class SqsServer extends Context.Tag("@effect-sqs/testing/SqsServer")<
  SqsServer,
  {
    /** the endpoint to give to an SDK, as `http://127.0.0.1:9324` */
    readonly url: string
    readonly port: number
  }
>() {}

/**
 * Serves a virtual SQS until the scope closes; polls that are open then are answered with nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: SqsServerOptions = {}
): Effect.Effect<SqsServer["Type"], ServeError, VirtualSqs | Scope.Scope> =>
  Effect.gen(function* () {
    const room = roomOf(yield* VirtualSqs)
    const runtime = yield* Effect.runtime<never>()
    const host = options.host ?? "127.0.0.1"
    const port = options.port ?? 0
    const door = openHttpDoor(room, runtime, {
      maxBodyBytes: options.maxBodyBytes ?? 8 * 1024 * 1024,
      headersTimeoutMs: options.headersTimeoutMs ?? 30_000,
      requestTimeoutMs: options.requestTimeoutMs ?? 60_000
    })
    yield* Effect.acquireRelease(
      Effect.async<void, ServeError>((resume) => {
        door.server.once("error", (cause: NodeJS.ErrnoException) =>
          resume(Effect.fail(new ServeError({ host, port, code: cause.code ?? cause.message, cause })))
        )
        door.server.listen(port, host, () => resume(Effect.void))
      }),
      () => Effect.promise(() => door.close())
    )
    const bound = (door.server.address() as AddressInfo).port
    return { url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`, port: bound }
  })

/**
 * The server as a layer, on the virtual SQS of the context.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * import { SqsServer, VirtualSqs } from "@effect-sqs/testing"
 * import { Layer } from "effect"
 *
 * // a server on any free port, and the view from behind
 * export const TestSqs = SqsServer.layer().pipe(Layer.provideMerge(VirtualSqs.layer({ queues: ["jobs"] })))
 */
export const layer = (options: SqsServerOptions = {}): Layer.Layer<SqsServer, ServeError, VirtualSqs> =>
  Layer.scoped(SqsServer, make(options))
