/** Requests byte by byte as they are given: what `fetch` would put right, or refuse, is sent. */
import * as Effect from "effect/Effect"
import * as http from "node:http"
import { TheSite } from "./harness.js"

export interface RawRequest {
  readonly method: string
  /** with the query; characters from U+0021 to U+00FF */
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: string | undefined
  /** sent without its length */
  readonly chunked?: boolean
  /** of this machine; each has its own rate */
  readonly from?: string
}

export interface RawAnswer {
  readonly status: number
  readonly type: string
  readonly text: string
}

/** Of a stream of events the first is enough. */
const isEnough = (type: string, text: string) => type === "text/event-stream" && text.includes("\n\n")

export const rawRequest = (o: RawRequest): Effect.Effect<RawAnswer, Error, TheSite> =>
  Effect.flatMap(TheSite, ({ port }) =>
    Effect.async<RawAnswer, Error>((resume) => {
      const request = http.request({
        host: "127.0.0.1",
        port,
        agent: false,
        method: o.method,
        path: o.path,
        headers: {
          ...(o.body === undefined
            ? {}
            : {
                "content-type": "application/json",
                ...(o.chunked === true
                  ? { "transfer-encoding": "chunked" }
                  : { "content-length": String(Buffer.byteLength(o.body)) })
              }),
          ...o.headers
        },
        ...(o.from === undefined ? {} : { localAddress: o.from })
      })
      request.on("response", (response) => {
        const type = (response.headers["content-type"] ?? "").split(";")[0]!
        let text = ""
        const done = () => {
          resume(Effect.succeed({ status: response.statusCode!, type, text }))
          request.destroy()
        }
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => {
          text += chunk
          if (isEnough(type, text)) done()
        })
        response.on("end", done)
        response.on("error", (e) => resume(Effect.fail(e)))
      })
      request.on("error", (e) => resume(Effect.fail(e)))
      request.end(o.body)
      return Effect.sync(() => request.destroy())
    })
  )
