/**
 * A small receiver of notices, to try webhooks with: it keeps books on what it was told, and plays what real receivers do
 * to their callers.
 *
 * - `POST /honours`: knows idempotency keys; a notice with a key that it has seen has no effect again
 * - `POST /ignores`: knows none; every notice has its effect
 * - `GET /status?key=…`: whether a notice with the key had its effect, as a status URL must answer
 * - `GET /`: the books, as JSON
 *
 * `?play=cut-after,answer` in the address of a notice says what becomes of the first try of a key, of the second, and so
 * on; the last one is for all that follow.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import { createHash } from "node:crypto"
import http from "node:http"
import type { AddressInfo } from "node:net"

/**
 * What becomes of a notice. Those that end in `after` have had their effect.
 *
 * @since 0.1.0
 * @category models
 */
export const plays = [
  "answer",
  "slow",
  "slow-after",
  "error",
  "error-after",
  "cut",
  "cut-after",
  "hang",
  "hang-after",
  "refuse",
  "busy",
  "redirect",
  "flood-after"
] as const

/**
 * @since 0.1.0
 * @category models
 */
export type Play = (typeof plays)[number]

/**
 * What was received under a key.
 *
 * @since 0.1.0
 * @category models
 */
export interface Received {
  readonly key: string
  readonly jobId: string
  readonly requests: number
  /** how often the receiver did what a notice is for */
  readonly effects: number
  /** of the requests, as `Idempotency-Attempt` said */
  readonly attempts: ReadonlyArray<number>
  /** the different bodies */
  readonly bodies: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Receiver {
  /** as `http://127.0.0.1:8080` */
  readonly url: string
  /** by job id */
  readonly received: () => ReadonlyMap<string, Received>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ReceiverOptions {
  /** default: any free one */
  readonly port?: number | undefined
  /** what becomes of the n-th request (from 1) of a key, when the address does not say it; default: it is answered */
  readonly play?: ((key: string, n: number) => Play) | undefined
  /** how long slow answers take; default 3 seconds */
  readonly slow?: Duration.DurationInput | undefined
  /** told of each request when it has been dealt with */
  readonly onNotice?: ((received: Received, play: Play) => Effect.Effect<void>) | undefined
}

const maxBodyBytes = 64 * 1024

/**
 * Trouble for about so many of a thousand requests, drawn from a seed: the same for the same key and try, in whatever order
 * they come.
 *
 * @since 0.1.0
 * @category plays
 */
export const troubles =
  (seed: string, perThousand: number) =>
  (key: string, n: number): Play => {
    const drawn = createHash("sha256").update(`${seed}/${key}/${n}`).digest()
    const kinds = ["slow", "slow-after", "error", "error-after", "cut", "cut-after", "hang-after", "busy"] as const
    return drawn.readUInt32BE(0) % 1000 < perThousand ? kinds[drawn.readUInt32BE(4) % kinds.length]! : "answer"
  }

const isPlay = (text: string): text is Play => plays.some((play) => play === text)

const played = (url: URL, n: number): Play | undefined => {
  const given = (url.searchParams.get("play") ?? "").split(",").filter(isPlay)
  return given[Math.min(n, given.length) - 1]
}

const bodyOf = (request: http.IncomingMessage) =>
  Effect.async<string, "cut" | "too long">((resume) => {
    const chunks: Array<Buffer> = []
    let bytes = 0
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBodyBytes) return resume(Effect.fail("too long"))
      chunks.push(chunk)
    })
    request.once("end", () => resume(Effect.succeed(Buffer.concat(chunks).toString("utf8"))))
    request.once("error", () => resume(Effect.fail("cut")))
  })

const jobIdOf = (body: string): string => {
  try {
    const { jobId } = JSON.parse(body) as { readonly jobId?: unknown }
    return typeof jobId === "string" ? jobId : ""
  } catch {
    return ""
  }
}

const answer = (response: http.ServerResponse, status: number, body: unknown, headers: http.OutgoingHttpHeaders = {}) =>
  Effect.sync(() => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(JSON.stringify(body))
  })

/** What a caller sees; the effect is had before for those that end in `after`. */
const respond = (play: Play, response: http.ServerResponse, slow: Duration.DurationInput): Effect.Effect<void> => {
  switch (play) {
    case "answer":
      return answer(response, 200, { ok: true })
    case "slow":
    case "slow-after":
      return Effect.delay(answer(response, 200, { ok: true }), slow)
    case "error":
    case "error-after":
      return answer(response, 500, { error: "something broke" })
    case "cut":
    case "cut-after":
      return Effect.sync(() => void response.destroy())
    case "hang":
    case "hang-after":
      return Effect.void
    case "refuse":
      return answer(response, 422, { error: "no such subscriber" })
    case "busy":
      return answer(response, 429, { error: "too many" }, { "retry-after": "1" })
    case "redirect":
      return answer(response, 307, {}, { location: "/elsewhere" })
    case "flood-after":
      return Effect.sync(() => {
        response.writeHead(200)
        const more = () => {
          while (response.write("x".repeat(16_384)));
        }
        response.on("drain", more)
        more()
      })
  }
}

const hasEffect = (play: Play): boolean => play === "answer" || play.endsWith("-after")

/**
 * Listens on 127.0.0.1 until the scope closes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: ReceiverOptions = {}) =>
  Effect.gen(function* () {
    const books = new Map<string, Received>()
    const slow = options.slow ?? "3 seconds"
    const run = yield* FiberSet.makeRuntime<never>()

    /** the effect, if the notice has one: for a receiver that honours keys, once */
    const act = (key: string, honours: boolean) => {
      const entry = books.get(key)!
      if (!honours || entry.effects === 0) books.set(key, { ...entry, effects: entry.effects + 1 })
    }

    const notice = (url: URL, request: http.IncomingMessage, response: http.ServerResponse) =>
      Effect.gen(function* () {
        const body = yield* bodyOf(request)
        const jobId = jobIdOf(body)
        const key = String(request.headers["idempotency-key"] ?? `${jobId} without a key`)
        const before = books.get(key)
        const entry: Received = {
          key,
          jobId,
          requests: (before?.requests ?? 0) + 1,
          effects: before?.effects ?? 0,
          attempts: [...(before?.attempts ?? []), Number(request.headers["idempotency-attempt"])],
          bodies: [...new Set([...(before?.bodies ?? []), body])]
        }
        books.set(key, entry)
        const play = played(url, entry.requests) ?? options.play?.(key, entry.requests) ?? "answer"
        const honours = url.pathname === "/honours"
        if (hasEffect(play)) act(key, honours)
        if (options.onNotice !== undefined) yield* options.onNotice(books.get(key)!, play)
        yield* respond(play, response, slow)
        // who answers late has the effect late too, whether or not anybody still waits for the answer
        if (play === "slow") act(key, honours)
      }).pipe(Effect.catchAll((e) => answer(response, e === "cut" ? 400 : 413, { error: e })))

    const handle = (request: http.IncomingMessage, response: http.ServerResponse): Effect.Effect<void> => {
      const url = new URL(request.url ?? "/", "http://localhost")
      switch (`${request.method} ${url.pathname}`) {
        case "POST /honours":
        case "POST /ignores":
          return notice(url, request, response)
        case "GET /status":
          return answer(response, 200, { happened: (books.get(url.searchParams.get("key") ?? "")?.effects ?? 0) > 0 })
        case "GET /":
          return answer(response, 200, [...books.values()])
        default:
          return answer(response, 404, { error: "not found" })
      }
    }

    const server = yield* Effect.acquireRelease(
      Effect.sync(() => http.createServer((request, response) => void run(handle(request, response)))),
      (made) =>
        Effect.async<void>((resume) => {
          made.close(() => resume(Effect.void))
          made.closeAllConnections()
        })
    )
    yield* Effect.async<void, NodeJS.ErrnoException>((resume) => {
      server.once("error", (e) => resume(Effect.fail(e)))
      server.listen(options.port ?? 0, "127.0.0.1", () => resume(Effect.void))
    })
    const receiver: Receiver = {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      received: () => new Map([...books.values()].map((entry) => [entry.jobId, entry]))
    }
    return receiver
  })
