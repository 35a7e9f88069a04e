/** A server on a real socket that plays SQS as a test tells it, and a port of `AwsSqs` that calls it. */
import type { Sqs } from "@effect-sqs/core"
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import { Effect, type Scope } from "effect"
import http from "node:http"
import type { AddressInfo } from "node:net"

/** One call as the server saw it. */
export interface Call {
  readonly operation: string
  readonly input: any
  readonly request: http.IncomingMessage
  readonly response: http.ServerResponse
}

/** Answers a call. */
export const json = (call: Call, body: unknown, status = 200, headers: http.OutgoingHttpHeaders = {}) => {
  call.response.writeHead(status, { "content-type": "application/x-amz-json-1.0", ...headers })
  call.response.end(JSON.stringify(body))
}

/** A server on a real socket that answers each call as it is told. */
export const serve = (answer: (call: Call) => void) =>
  Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly calls: Array<Call>; readonly server: http.Server }>((resume) => {
      const calls: Array<Call> = []
      const server = http.createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          const target = String(request.headers["x-amz-target"])
          const call: Call = {
            operation: target.slice(target.indexOf(".") + 1),
            input: JSON.parse(Buffer.concat(chunks).toString()),
            request,
            response
          }
          calls.push(call)
          answer(call)
        })
      })
      // only the client closes a connection
      server.keepAliveTimeout = 0
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, calls, server }))
      })
    }),
    ({ server }) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

/** That nobody checks. */
export const credentials = { accessKeyId: "test", secretAccessKey: "test" }

/** A port on an endpoint. */
export const portOn = (endpoint: string, options: AwsSqs.AwsSqsOptions = {}) =>
  AwsSqs.make({ region: "us-east-1", credentials, endpoint, ...options })

/** A port, and a server that answers it. */
export const setup = (answer: (call: Call) => void, options?: AwsSqs.AwsSqsOptions) =>
  Effect.gen(function* () {
    const server = yield* serve(answer)
    const port = yield* portOn(server.url, options)
    return { ...server, port, queueUrl: `${server.url}/000000000000/jobs` }
  })

/** A full receive. */
export const receiveOf = (port: Sqs.Sqs["Type"], queueUrl: string, waitTimeSeconds = 0) =>
  port.receive({ queueUrl, maxMessages: 10, waitTimeSeconds })

/** Sets variables of the environment until the scope closes; `undefined` unsets. */
export const environment = (values: Record<string, string | undefined>): Effect.Effect<void, never, Scope.Scope> => {
  const set = (entries: Record<string, string | undefined>) => {
    for (const [name, value] of Object.entries(entries)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
  return Effect.acquireRelease(
    Effect.sync(() => {
      const before = Object.fromEntries(Object.keys(values).map((name) => [name, process.env[name]]))
      set(values)
      return before
    }),
    (before) => Effect.sync(() => set(before))
  ).pipe(Effect.asVoid)
}
