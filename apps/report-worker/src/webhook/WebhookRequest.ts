/**
 * One HTTP request on a connection of its own to an address that was looked at. Not a general client's work: it must be
 * known whether the connection stood when something failed, and the connection must go to the very address that was judged.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import http from "node:http"
import net from "node:net"
import tls from "node:tls"
import type { Resolve } from "./Address.js"
import { type WebhookError, WebhookFailed, WebhookRefused, WebhookUnreachable } from "./WebhookError.js"

/** Of an answer no more is read. */
const maxAnswerBytes = 16 * 1024

/** Of a name's addresses no more are tried. */
const maxAddresses = 4

/**
 * @since 0.1.0
 * @category models
 */
export interface Answer {
  readonly status: number
  /** its beginning, if the answer is long or was cut off */
  readonly text: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface RequestOptions {
  readonly method: "GET" | "POST"
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** for all of it */
  readonly timeout: Duration.Duration
  /** whether an address may be connected to */
  readonly allow: (address: string) => boolean
  readonly resolve: Resolve
  readonly ca?: string | undefined
}

/**
 * A URL as it may be told: what follows the `?` is often a secret.
 *
 * @since 0.1.0
 * @category naming
 */
export const shownUrl = (url: string): string => {
  if (!URL.canParse(url)) return "an address that is none"
  const { host, pathname, protocol } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

const parsed = (text: string): Effect.Effect<URL, WebhookRefused> => {
  const refused = (detail: string) => new WebhookRefused({ url: shownUrl(text), detail })
  if (!URL.canParse(text)) return refused("it is no URL")
  const url = new URL(text)
  if (url.protocol !== "http:" && url.protocol !== "https:") return refused("only http and https are possible")
  return url.username !== "" || url.password !== ""
    ? refused("a URL with a password in it is told to everybody who sees it")
    : Effect.succeed(url)
}

const hostnameOf = (url: URL) => url.hostname.replace(/^\[(.*)\]$/, "$1")

/** The addresses of the URL's host; none of them may be a forbidden one. */
const addressesOf = (url: URL, options: RequestOptions): Effect.Effect<ReadonlyArray<string>, WebhookError> => {
  const hostname = hostnameOf(url)
  const shown = shownUrl(url.href)
  const found = net.isIP(hostname) === 0 ? options.resolve(hostname) : Effect.succeed([hostname])
  return found.pipe(
    Effect.mapError((e) => new WebhookUnreachable({ url: shown, detail: `its name is not found: ${e.message}` })),
    Effect.filterOrFail(
      (addresses) => addresses.length > 0,
      () => new WebhookUnreachable({ url: shown, detail: "its name has no address" })
    ),
    Effect.filterOrFail(
      (addresses) => addresses.every(options.allow),
      (addresses) => {
        const which = addresses.filter((a) => !options.allow(a)).join(", ")
        return new WebhookRefused({ url: shown, detail: `its address ${which} is not one that jobs may send to` })
      }
    )
  )
}

const open = (url: URL, address: string, options: RequestOptions): net.Socket => {
  const hostname = hostnameOf(url)
  if (url.protocol === "http:") return net.connect({ host: address, port: Number(url.port || 80) })
  return tls.connect({
    host: address,
    port: Number(url.port || 443),
    ALPNProtocols: ["http/1.1"],
    // The certificate is the name's, not the address's.
    servername: net.isIP(hostname) === 0 ? hostname : "",
    ...(options.ca === undefined ? {} : { ca: options.ca })
  })
}

/** A connection that stands, TLS and certificate included. Until then nothing of the request was sent. */
const connect = (url: URL, address: string, options: RequestOptions) =>
  Effect.gen(function* () {
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() => open(url, address, options)),
      (opened) => Effect.sync(() => opened.destroy())
    )
    return yield* Effect.async<net.Socket, WebhookUnreachable>((resume) => {
      socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => resume(Effect.succeed(socket)))
      // Also later, so that an error that nobody waits for any more does not end the process.
      socket.on("error", (e) =>
        resume(new WebhookUnreachable({ url: shownUrl(url.href), detail: `no connection: ${e.message}` }))
      )
    })
  })

/** Each address has its share of the time, so that one that never answers leaves some to the next. */
const connectAny = (url: URL, addresses: ReadonlyArray<string>, options: RequestOptions) => {
  const share = Duration.times(options.timeout, 1 / addresses.length)
  const late = () => new WebhookUnreachable({ url: shownUrl(url.href), detail: "no connection within its time" })
  return Effect.firstSuccessOf(
    addresses.map((address) =>
      connect(url, address, options).pipe(Effect.timeoutFail({ duration: share, onTimeout: late }))
    )
  )
}

/** The request on a connection that stands. Whatever fails from here on may have happened; an answer's head counts. */
const exchange = (url: URL, socket: net.Socket, options: RequestOptions, onHead: (status: number) => void) =>
  Effect.async<Answer, WebhookFailed>((resume) => {
    const failed = (detail: string) => resume(new WebhookFailed({ url: shownUrl(url.href), detail }))
    const request = http.request({
      createConnection: () => socket,
      method: options.method,
      path: url.pathname + url.search,
      headers: {
        host: url.host,
        "user-agent": "report-worker",
        accept: "application/json",
        ...options.headers,
        ...(options.body === undefined ? {} : { "content-length": Buffer.byteLength(options.body) }),
        connection: "close"
      }
    })
    request.on("error", (e) => failed(`the connection was lost: ${e.message}`))
    request.once("response", (response) => {
      const status = response.statusCode!
      onHead(status)
      const chunks: Array<Buffer> = []
      let bytes = 0
      const done = () =>
        resume(Effect.succeed({ status, text: Buffer.concat(chunks).subarray(0, maxAnswerBytes).toString("utf8") }))
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes >= maxAnswerBytes) done()
      })
      response.once("end", done)
      // The status is known: an answer that breaks off afterwards takes nothing back.
      response.once("error", done)
      response.once("close", done)
    })
    request.end(options.body)
    return Effect.sync(() => request.destroy())
  })

/**
 * Makes the request. It fails with `WebhookRefused` or `WebhookUnreachable` when nothing of it was sent, and with
 * `WebhookFailed` when something may have been. Redirects are answers like others. An interruption closes the connection.
 *
 * @since 0.1.0
 * @category requests
 */
export const request = (text: string, options: RequestOptions): Effect.Effect<Answer, WebhookError> =>
  Effect.gen(function* () {
    let sent = false
    let status: number | undefined
    const late = (): Effect.Effect<Answer, WebhookError> => {
      const failure = { url: shownUrl(text), detail: `no answer within ${Duration.format(options.timeout)}` }
      if (status !== undefined) return Effect.succeed({ status, text: "" })
      return sent ? new WebhookFailed(failure) : new WebhookUnreachable(failure)
    }
    const making = Effect.gen(function* () {
      const url = yield* parsed(text)
      const addresses = yield* addressesOf(url, options)
      const socket = yield* connectAny(url, addresses.slice(0, maxAddresses), options)
      sent = true
      return yield* exchange(url, socket, options, (head) => (status = head))
    })
    return yield* Effect.timeoutTo(Effect.scoped(making), {
      duration: options.timeout,
      onSuccess: (answer): Effect.Effect<Answer, WebhookError> => Effect.succeed(answer),
      onTimeout: late
    }).pipe(Effect.flatten)
  })
