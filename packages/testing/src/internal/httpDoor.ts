/**
 * The HTTP door of a room, on plain node:http: calls in AWS JSON 1.0, and a look behind for tools. Effect is used where a
 * call waits, and nowhere else: this path has to be cheap.
 */
import type * as Runtime from "effect/Runtime"
import { isUtf8 } from "node:buffer"
import { randomInt } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { ApiError, apiError } from "./apiError.js"
import { type Caller, connectionReset, handle } from "./doors.js"
import { rawError, writeAnswer, writeJson } from "./httpAnswer.js"
import { generator, uuid } from "./ids.js"
import { isObject, type Json, malformed } from "./input.js"
import { messageState } from "./inspect.js"
import type { VirtualQueue } from "./queue.js"
import type { Answer, Room } from "./room.js"

export interface HttpDoorOptions {
  /** longest body that is read; what is longer is refused */
  readonly maxBodyBytes: number
  /** how long a client may take over its headers, and over a whole request */
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
}

export interface HttpDoor {
  readonly server: Server
  /** Answers what waits, and then closes all connections. */
  readonly close: () => Promise<void>
}

const targetPrefix = "AmazonSQS."
const keepAliveMs = 65_000
const checkEveryMs = 1_000
const mostMessagesShown = 1_000
/** of a body that is too long, in bodies of the longest kind */
const mostDiscarded = 8

const unknownOperation = (message: string) => apiError("UnknownOperationException", message)

const operationOf = (req: IncomingMessage): string => {
  const target = req.headers["x-amz-target"]
  if (typeof target === "string" && target.startsWith(targetPrefix)) return target.slice(targetPrefix.length)
  throw unknownOperation(
    target === undefined
      ? "The request has no X-Amz-Target header. This server speaks AWS JSON 1.0, not the older query protocol."
      : "The action or operation requested is invalid."
  )
}

const parseBody = (bytes: Buffer): Json => {
  if (bytes.length === 0) return {}
  if (!isUtf8(bytes)) throw malformed("The request body is not valid UTF-8.")
  let json: unknown
  try {
    json = JSON.parse(bytes.toString("utf8"))
  } catch {
    throw malformed("The request body is not valid JSON.")
  }
  if (!isObject(json)) throw malformed("The request body is not a JSON object.")
  return json
}

const asApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : apiError("InternalFailure", error instanceof Error ? error.message : String(error))

const hostPattern = /^[A-Za-z0-9._-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/

export const openHttpDoor = (room: Room, runtime: Runtime.Runtime<never>, options: HttpDoorOptions): HttpDoor => {
  const ids = generator(randomInt(2 ** 47))
  /** responses that are still to come, and how to call their calls off */
  const open = new Map<ServerResponse, () => void>()

  /** queue URLs lead back to where the client found us */
  const baseUrlOf = (req: IncomingMessage): string => {
    const host = req.headers.host
    if (host !== undefined && hostPattern.test(host)) return `http://${host}`
    const { localAddress = "127.0.0.1", localPort = 0 } = req.socket
    return `http://${localAddress.includes(":") ? `[${localAddress}]` : localAddress}:${localPort}`
  }

  /** One request; methods, not closures, because there is one for each call. */
  class Exchange implements Caller {
    private readonly requestId = uuid(ids)
    private readonly announced: number
    private readonly chunks: Array<Buffer> = []
    private length = 0

    constructor(
      private readonly req: IncomingMessage,
      private readonly res: ServerResponse
    ) {
      this.announced = Number(req.headers["content-length"] ?? 0)
      if (this.announced > options.maxBodyBytes) this.refuseLength()
    }

    data(chunk: Buffer): void {
      this.length += chunk.length
      if (!this.isTooLong()) {
        this.chunks.push(chunk)
        return
      }
      // read on for a while, so that the client gets to read the answer
      this.chunks.length = 0
      this.refuseLength()
      if (this.length > mostDiscarded * options.maxBodyBytes) this.req.socket.destroy()
    }

    end(): void {
      if (this.isTooLong()) return
      try {
        this.call(this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks))
      } catch (error) {
        writeAnswer(this.res, this.requestId, asApiError(error))
      }
    }

    isThere(): boolean {
      return !this.res.destroyed && !this.req.socket.destroyed
    }

    answer(answer: Answer | ApiError): void {
      open.delete(this.res)
      if (answer === connectionReset) this.req.socket.resetAndDestroy()
      else writeAnswer(this.res, this.requestId, answer)
    }

    private call(bytes: Buffer): void {
      const { req, res } = this
      const request = { operation: operationOf(req), input: parseBody(bytes), baseUrl: baseUrlOf(req) }
      const callOff = handle(room, runtime, request, this)
      if (res.writableEnded || res.destroyed) return
      open.set(res, callOff)
      res.once("close", () => {
        if (open.delete(res)) callOff()
      })
    }

    private isTooLong(): boolean {
      return Math.max(this.length, this.announced) > options.maxBodyBytes
    }

    private refuseLength(): void {
      const text = `The request body is longer than ${options.maxBodyBytes} bytes.`
      writeAnswer(this.res, this.requestId, apiError("RequestEntityTooLargeException", text))
    }
  }

  const post = (req: IncomingMessage, res: ServerResponse) => {
    const exchange = new Exchange(req, res)
    req.on("data", (chunk: Buffer) => exchange.data(chunk))
    req.on("end", () => exchange.end())
    req.on("error", () => res.destroy())
  }

  const describe = (queue: VirtualQueue, baseUrl: string) => ({
    name: queue.name,
    url: `${baseUrl}/${room.options.accountId}/${queue.name}`,
    arn: queue.arn,
    kind: queue.kind,
    ...queue.counts,
    attributes: Object.fromEntries(queue.settings.texts)
  })

  const get = (req: IncomingMessage, res: ServerResponse) => {
    const path = new URL(req.url ?? "/", "http://localhost").pathname
    if (path === "/health") return writeJson(res, { status: "ok" })
    const { account } = room
    if (path === "/_journal") {
      return writeJson(res, { appended: account.journal.appended, entries: account.journal.entries })
    }
    const now = room.now()
    account.advance(now)
    if (path === "/_queues") {
      const queues = [...account.all()]
      for (const queue of queues) queue.settle(now)
      return writeJson(res, { queues: queues.map((queue) => describe(queue, baseUrlOf(req))) })
    }
    const name = new RegExp(`^/(?:_queues|${room.options.accountId})/([A-Za-z0-9_.-]+)$`).exec(path)?.[1]
    const queue = name === undefined ? undefined : account.find(name)
    if (queue === undefined) {
      return writeAnswer(res, uuid(ids), unknownOperation("There is /health, /_queues, /_queues/NAME and /_journal."))
    }
    queue.settle(now)
    const messages = []
    for (const message of queue.messages.values()) {
      if (messages.length === mostMessagesShown) break
      messages.push(messageState(message))
    }
    return writeJson(res, { ...describe(queue, baseUrlOf(req)), messages })
  }

  const server = createServer(
    {
      keepAliveTimeout: keepAliveMs,
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      connectionsCheckingInterval: checkEveryMs,
      // old and simple clients send none
      requireHostHeader: false
    },
    (req, res) => {
      if (req.method === "POST") return post(req, res)
      try {
        if (req.method === "GET") return get(req, res)
        throw unknownOperation("Calls are made with POST.")
      } catch (error) {
        return writeAnswer(res, uuid(ids), asApiError(error))
      }
    }
  )
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return socket.destroy()
    const slow = error.code === "ERR_HTTP_REQUEST_TIMEOUT"
    const [status, shape] = slow
      ? ["408 Request Timeout", apiError("RequestTimeoutException", "The request did not arrive in time.")]
      : ["400 Bad Request", malformed("The request is not valid HTTP.")]
    return socket.end(rawError(status as string, uuid(ids), shape as ApiError))
  })
  server.on("checkExpectation", (_, res: ServerResponse) =>
    writeAnswer(res, uuid(ids), apiError("ExpectationFailedException", "The expectation cannot be met."))
  )
  server.on("connect", (_, socket) =>
    socket.end(rawError("400 Bad Request", uuid(ids), unknownOperation("Calls are made with POST.")))
  )

  return {
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        const last = [...open].map(([res, callOff]) => {
          open.delete(res)
          callOff()
          return new Promise<void>((written) => {
            res.once("close", written)
            writeAnswer(res, uuid(ids), {})
          })
        })
        server.closeIdleConnections()
        void Promise.all(last).then(() => server.closeAllConnections())
      })
  }
}
