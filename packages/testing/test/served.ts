/** The HTTP server on a clock that stands until it is moved, with real sockets, for tests. */
import { ManualClock } from "../src/internal/manualClock.js"
import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { SQSClient } from "@aws-sdk/client-sqs"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true"

export const sdkClient = (endpoint: string) =>
  Effect.acquireRelease(
    Effect.sync(
      () =>
        new SQSClient({
          endpoint,
          region: "us-east-1",
          credentials: { accessKeyId: "local", secretAccessKey: "local" },
          maxAttempts: 1
        })
    ),
    (client) => Effect.sync(() => client.destroy())
  )

export const served = (options: VirtualSqs.VirtualSqsOptions = {}, serverOptions: SqsServer.SqsServerOptions = {}) =>
  Effect.gen(function* () {
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    const layer = SqsServer.layer(serverOptions).pipe(Layer.provideMerge(VirtualSqs.layer(options)))
    const context = yield* Effect.withClock(Layer.build(layer), clock)
    return yield* Effect.provide(
      Effect.map(Effect.all([SqsServer.SqsServer, VirtualSqs.VirtualSqs]), ([{ port, url }, virtual]) => ({
        clock,
        port,
        url,
        virtual
      })),
      context
    )
  })

/** Real sockets need turns of the event loop until something shows. */
export const until = <E>(condition: Effect.Effect<boolean, E>) =>
  Effect.async<void>((resume) => {
    setImmediate(() => resume(Effect.void))
  }).pipe(Effect.zipRight(condition), Effect.repeat({ until: (yes) => yes }), Effect.asVoid)

/** A call without an SDK. */
export const post = (url: string, operation: string, body: string | Uint8Array, init: RequestInit = {}) =>
  Effect.promise(async (signal) => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": `AmazonSQS.${operation}` },
      body,
      signal,
      ...init
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
  })
