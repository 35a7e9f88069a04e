/**
 * Who may ask for what. Without tokens only this machine is served, and everybody on it may do everything; with tokens each
 * request needs one, in the header `Authorization: Bearer` or as the cookie of a login.
 *
 * @since 0.1.0
 */
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { isIP } from "node:net"
import { problemAt } from "./Problem.js"
import { type Bucket, buckets } from "./Rate.js"
import * as Tokens from "./Tokens.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface AccessOptions {
  /** none: no token is asked for */
  readonly tokens: ReadonlyArray<Tokens.Token>
  /** names under which the page may be asked for, beside `localhost` and addresses */
  readonly hosts: ReadonlyArray<string>
  /** nobody may change anything */
  readonly readOnly: boolean
}

/**
 * @since 0.1.0
 * @category errors
 */
export const Unauthorized = problemAt("Unauthorized", 401, "a token is needed")

/**
 * @since 0.1.0
 * @category errors
 */
export const ReadOnly = problemAt("ReadOnly", 403, "who asks may look, and not change anything")

/**
 * @since 0.1.0
 * @category errors
 */
export const CrossSite = problemAt("CrossSite", 403, "the request comes from a page of somebody else")

/**
 * @since 0.1.0
 * @category errors
 */
export const TooManyRequests = problemAt("TooManyRequests", 429, "too much is asked for: wait a moment")

/**
 * Who asks.
 *
 * @since 0.1.0
 * @category services
 */
export class Actor extends Context.Tag("@effect-sqs/report-worker/Actor")<
  Actor,
  { readonly name: string; readonly readOnly: boolean; readonly tokens: boolean }
>() {}

/**
 * Lets a request of the API pass, with the name of who asks.
 *
 * @since 0.1.0
 * @category middleware
 */
export class Access extends HttpApiMiddleware.Tag<Access>()("@effect-sqs/report-worker/Access", {
  provides: Actor,
  failure: Schema.Union(Unauthorized, ReadOnly, CrossSite, TooManyRequests)
}) {}

/**
 * The name of the login's cookie.
 *
 * @since 0.1.0
 * @category constants
 */
export const cookieName = "report-worker"

/** where no token is asked for */
const nobody = { name: "local", tokens: false } as const

const remoteOf = (request: HttpServerRequest.HttpServerRequest) => Option.getOrElse(request.remoteAddress, () => "?")

const isWrite = (request: HttpServerRequest.HttpServerRequest) => request.method !== "GET" && request.method !== "HEAD"

/**
 * Whether a request that changes something comes from our own page, or from no page at all: browsers say where a request
 * comes from, and a page cannot make them lie.
 *
 * @since 0.1.0
 * @category checks
 */
export const isOwn = (request: HttpServerRequest.HttpServerRequest): boolean => {
  const { host, origin, "sec-fetch-site": site } = request.headers
  if (site !== undefined && site !== "same-origin" && site !== "none") return false
  if (origin === undefined) return true
  return URL.canParse(origin) && new URL(origin).host === host
}

/**
 * Whether the name under which the page was asked for is one of ours. A page of somebody else that has its name point to
 * this machine cannot choose an address, nor `localhost`.
 *
 * @since 0.1.0
 * @category checks
 */
export const isKnownHost = (host: string | undefined, hosts: ReadonlyArray<string>): boolean => {
  if (host === undefined || !URL.canParse(`http://${host}`)) return false
  const { hostname } = new URL(`http://${host}`)
  return hostname === "localhost" || isIP(hostname.replace(/^\[(.*)\]$/, "$1")) > 0 || hosts.includes(hostname)
}

/** requests a second and at once, of one address; wrong tokens a minute */
const reads: Bucket = { perSecond: 100, burst: 300 }
const writes: Bucket = { perSecond: 50, burst: 100 }
const failures: Bucket = { perSecond: 1 / 6, burst: 10 }

/**
 * What the tokens open.
 *
 * @since 0.1.0
 * @category services
 */
export class Gate extends Context.Tag("@effect-sqs/report-worker/Gate")<
  Gate,
  {
    readonly check: Effect.Effect<
      typeof Actor.Service,
      typeof Unauthorized.Type | typeof ReadOnly.Type | typeof CrossSite.Type | typeof TooManyRequests.Type,
      HttpServerRequest.HttpServerRequest
    >
    /** whose token it is that somebody typed */
    readonly login: (
      given: string
    ) => Effect.Effect<
      Tokens.Token,
      typeof Unauthorized.Type | typeof CrossSite.Type,
      HttpServerRequest.HttpServerRequest
    >
    readonly readOnly: (token: Tokens.Token) => boolean
  }
>() {}

const unauthorized = (message: string) => Effect.fail(Unauthorized.make({ message }))

const unknownToken = "this token is not known here"

const crossSite = Effect.fail(CrossSite.make({ message: "this request comes from a page of another site" }))

const makeGate = (options: AccessOptions) => {
  const { tokens } = options
  const rate = { read: buckets(reads), write: buckets(writes), wrong: buckets(failures) }

  /** a token that is wrong costs; after some of them no token of this address is looked at for a while */
  const guarded = (address: string, now: number, given: string) => {
    if (!rate.wrong.has(address, now)) return "wait" as const
    const found = Tokens.find(tokens, given)
    if (found === undefined) rate.wrong.take(address, now)
    return found
  }

  /** a cookie cannot be guessed: others that guess at the same address do not lock out who is logged in */
  const tokenOf = (request: HttpServerRequest.HttpServerRequest, address: string, now: number) => {
    const { authorization } = request.headers
    if (authorization !== undefined) return guarded(address, now, /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? "")
    const cookie = request.cookies[cookieName]
    return cookie === undefined ? undefined : Tokens.findByCookie(tokens, cookie, now)
  }

  const tooManyWrong = unauthorized("too many wrong tokens: wait a minute")

  return Gate.of({
    check: Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const now = yield* Clock.currentTimeMillis
      const address = remoteOf(request)
      if (!(isWrite(request) ? rate.write : rate.read).take(address, now)) {
        return yield* Effect.fail(TooManyRequests.make({ message: "too many requests: wait a moment" }))
      }
      let actor: typeof Actor.Service = { ...nobody, readOnly: options.readOnly }
      if (tokens.length > 0) {
        const token = tokenOf(request, address, now)
        if (token === "wait") return yield* tooManyWrong
        if (token === undefined) {
          return yield* request.headers.authorization === undefined
            ? unauthorized("a token is needed, as Authorization: Bearer, or a login")
            : unauthorized(unknownToken)
        }
        actor = { name: token.name, readOnly: options.readOnly || token.readOnly, tokens: true }
      }
      // also what only reads: a look into the dead-letter queue counts, and a stream takes a place
      if (!isOwn(request)) return yield* crossSite
      if (!isWrite(request)) return actor
      if (actor.readOnly) {
        return yield* Effect.fail(ReadOnly.make({ message: `${actor.name} may look, and not change anything` }))
      }
      return actor
    }),

    login: (given) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const now = yield* Clock.currentTimeMillis
        if (!isOwn(request)) return yield* crossSite
        const token = guarded(remoteOf(request), now, given)
        if (token === "wait") return yield* tooManyWrong
        if (token === undefined) return yield* unauthorized(unknownToken)
        return token
      }),

    readOnly: (token) => options.readOnly || token.readOnly
  })
}

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: AccessOptions): Layer.Layer<Access | Gate> =>
  Layer.provideMerge(
    Layer.effect(
      Access,
      Effect.map(Gate, ({ check }) => check)
    ),
    Layer.sync(Gate, () => makeGate(options))
  )
