/**
 * As much of S3 as the store uses, over real sockets: HEAD of a bucket; PUT with If-None-Match and a SHA-256, GET and HEAD
 * of objects. It refuses what it does not know, and goes wrong on demand.
 */
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import http from "node:http"
import type { AddressInfo } from "node:net"

/** What becomes of a call. `cut-after`: it had its effect. `half`, `stall`: half of a download is sent, then it ends or not. */
export type Fault =
  | { readonly status: number; readonly code: string }
  | "hang"
  | "hang-after"
  | "cut"
  | "cut-after"
  | "half"
  | "stall"
  | undefined

interface Stored {
  readonly body: Buffer
  readonly type: string | undefined
  readonly sha256: string | undefined
}

const escaped = (text: string) => text.replace(/[<>&]/g, (c) => `&#${c.charCodeAt(0)};`)

export const bucket = "reports"

/** `fault` is asked for the n-th call of a method on a path, n from 1. */
export const make = (fault: (method: string, key: string, n: number) => Fault = () => undefined) =>
  Effect.gen(function* () {
    const objects = new Map<string, Stored>()
    const calls: Array<string> = []
    const aborted: Array<string> = []

    const refuse = (response: http.ServerResponse, status: number, code: string) => {
      response.writeHead(status, { "content-type": "application/xml", connection: "close" })
      const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${escaped(code)}</Code><Message>by plan</Message></Error>`
      response.end(response.req.method === "HEAD" ? undefined : body)
    }

    const put = (request: http.IncomingMessage, response: http.ServerResponse, key: string, body: Buffer) => {
      const { headers } = request
      const sha256 = createHash("sha256").update(body).digest()
      if (headers["content-encoding"]?.includes("aws-chunked")) return refuse(response, 501, "NotImplemented")
      if (headers["x-amz-checksum-sha256"] !== sha256.toString("base64")) return refuse(response, 400, "BadDigest")
      if (headers["if-none-match"] !== "*") return refuse(response, 400, "InvalidRequest")
      if (objects.has(key)) return refuse(response, 412, "PreconditionFailed")
      const stored = headers["x-amz-meta-sha256"]
      objects.set(key, {
        body,
        type: headers["content-type"],
        sha256: typeof stored === "string" ? stored : undefined
      })
      response.writeHead(200, { etag: `"${sha256.toString("hex")}"` }).end()
    }

    const get = (request: http.IncomingMessage, response: http.ServerResponse, key: string, trouble: Fault) => {
      const stored = objects.get(key)
      if (stored === undefined) return refuse(response, 404, "NoSuchKey")
      const { body, sha256, type } = stored
      response.writeHead(200, {
        "content-length": body.length,
        ...(type === undefined ? {} : { "content-type": type }),
        ...(sha256 === undefined ? {} : { "x-amz-meta-sha256": sha256 })
      })
      if (request.method === "HEAD") response.end()
      else if (trouble === "half") response.write(body.subarray(0, body.length / 2), () => response.destroy())
      else if (trouble === "stall") response.write(body.subarray(0, body.length / 2))
      else response.end(body)
    }

    const handle = (request: http.IncomingMessage, response: http.ServerResponse, body: Buffer) => {
      const { pathname } = new URL(request.url ?? "/", "http://s3")
      const [, where, ...rest] = decodeURIComponent(pathname).split("/")
      const key = rest.join("/")
      const call = `${request.method} ${key}`
      calls.push(call)
      const trouble = fault(request.method ?? "", key, calls.filter((c) => c === call).length)
      if (trouble === "hang") return
      if (trouble === "cut") return response.destroy()
      if (typeof trouble === "object") return refuse(response, trouble.status, trouble.code)
      if (trouble === "cut-after" || trouble === "hang-after") {
        // had its effect, but nobody hears of it
        response.writeHead = () => response
        response.end = () => (trouble === "cut-after" ? response.destroy() : response)
      }
      if (where !== bucket) return refuse(response, 404, "NoSuchBucket")
      if (key === "") return response.writeHead(200).end()
      if (request.method === "PUT") return put(request, response, key, body)
      return get(request, response, key, trouble)
    }

    const server = yield* Effect.acquireRelease(
      Effect.sync(() =>
        http.createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.once("end", () => handle(request, response, Buffer.concat(chunks)))
          response.once("close", () => {
            if (!response.writableFinished) aborted.push(`${request.method}`)
          })
        })
      ),
      (made) =>
        Effect.async<void>((resume) => {
          made.close(() => resume(Effect.void))
          made.closeAllConnections()
        })
    )
    yield* Effect.async<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    })
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, objects, calls, aborted }
  })
