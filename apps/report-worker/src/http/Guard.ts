/**
 * What every request passes and every answer carries: whose page it is, how much it sends, what a browser may do with it, and
 * an answer also when something went wrong.
 *
 * @since 0.1.0
 */
import * as HttpApiError from "@effect/platform/HttpApiError"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerError from "@effect/platform/HttpServerError"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { isKnownHost } from "./Access.js"
import { problemAt } from "./Problem.js"

/** a job has some hundred bytes */
const maxBodyBytes = 64 * 1024

const maxUrlChars = 4096

/** a job with its receiver has three levels; what is nested by the thousand overflows the stack of whoever prints it */
const maxDepth = 32

/** what was given is shown in a fault, but not all of it */
const maxSentenceChars = 300

/**
 * What is turned away before the API is asked.
 *
 * @since 0.1.0
 * @category errors
 */
export const UnknownHost = problemAt("UnknownHost", 403, "the page is asked for under a name that is not its own")

/**
 * @since 0.1.0
 * @category errors
 */
export const LengthRequired = problemAt("LengthRequired", 411, "the length of the body is not said")

/**
 * @since 0.1.0
 * @category errors
 */
export const TooLarge = problemAt("TooLarge", 413, "the body is too large")

/**
 * @since 0.1.0
 * @category errors
 */
export const TooLong = problemAt("TooLong", 414, "the address is too long")

/**
 * @since 0.1.0
 * @category errors
 */
export const NotJson = problemAt("NotJson", 415, "the body is not said to be JSON")

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const headers: Readonly<Record<string, string>> = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store"
}

const problem = (status: number, tag: string, message: string) =>
  HttpServerResponse.unsafeJson({ _tag: tag, message }, { status })

const withHeaders = (response: HttpServerResponse.HttpServerResponse) =>
  // what an answer says of itself stays
  HttpServerResponse.setHeaders(response, { ...headers, ...response.headers })

const sentenceOf = ({ message, path }: HttpApiError.HttpApiDecodeError["issues"][number]) =>
  path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`

const shortened = (text: string) => (text.length <= maxSentenceChars ? text : `${text.slice(0, maxSentenceChars)}…`)

const inSentences = (error: HttpApiError.HttpApiDecodeError) => {
  const issues = error.issues.map((issue) => ({ ...issue, message: shortened(issue.message) }))
  // that a field might also have been left out is no news
  const telling = issues.filter(({ message }) => !message.startsWith("Expected undefined, actual "))
  const sentences = (telling.length > 0 ? telling : issues).map(sentenceOf)
  return new HttpApiError.HttpApiDecodeError({ issues, message: [...new Set(sentences)].join("\n") })
}

const unreadable = (message: string) =>
  new HttpApiError.HttpApiDecodeError({ issues: [{ _tag: "Type", path: [], message }], message })

/** how many brackets of a JSON text are open at most; one walk, as the text may be made to be slow */
const depthOf = (json: string): number => {
  let open = 0
  let most = 0
  let isText = false
  for (let at = 0; at < json.length; at++) {
    const c = json[at]
    if (isText) {
      if (c === "\\") at++
      else if (c === '"') isText = false
    } else if (c === '"') isText = true
    else if (c === "[" || c === "{") most = Math.max(most, ++open)
    else if (c === "]" || c === "}") open--
  }
  return most
}

/**
 * Inside the API: what could not be read is told in sentences, in the shape that the API promises.
 *
 * @since 0.1.0
 * @category middleware
 */
export const sentences = <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<unknown, R> =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    if (hasBody(request) && depthOf(yield* request.text) > maxDepth) {
      return yield* Effect.fail(unreadable(`the body has more than ${maxDepth} levels`))
    }
    return yield* app
  }).pipe(
    Effect.catchAllCause((cause): Effect.Effect<never, unknown> => {
      const error = Cause.squash(cause)
      if (error instanceof HttpApiError.HttpApiDecodeError) return Effect.fail(inSentences(error))
      if (error instanceof HttpServerError.RequestError && error.reason === "Decode") {
        return Effect.fail(unreadable("the body is not JSON"))
      }
      return Effect.failCause(cause)
    })
  )

/** the length is said, or there is none */
const bodyBytes = (request: HttpServerRequest.HttpServerRequest) => Number(request.headers["content-length"] ?? 0)

const hasBody = (request: HttpServerRequest.HttpServerRequest) => bodyBytes(request) > 0

const isJson = (request: HttpServerRequest.HttpServerRequest) =>
  /^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")

const answerTo = (cause: Cause.Cause<unknown>): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  if (Cause.isInterruptedOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
  const error = Cause.squash(cause)
  if (HttpServerResponse.isServerResponse(error)) return Effect.succeed(error)
  if (error instanceof HttpServerError.RouteNotFound) {
    return Effect.succeed(problem(404, "NotFound", "there is nothing at this address"))
  }
  if (error instanceof HttpServerError.RequestError) {
    return Effect.succeed(problem(400, "BadRequest", "the request cannot be read"))
  }
  return Effect.as(
    Effect.logError("a request failed", cause),
    problem(500, "InternalError", "something went wrong here; the worker's log tells more")
  )
}

/** before anything of it is read */
const turnedAway = (request: HttpServerRequest.HttpServerRequest, hosts: ReadonlyArray<string>) => {
  if (!isKnownHost(request.headers.host, hosts)) {
    return problem(403, "UnknownHost", "this name is not one of the page's: add it to REPORT_PAGE_HOSTS")
  }
  if (request.url.length > maxUrlChars) return problem(414, "TooLong", "this address is too long")
  // who reads a body without knowing its length can only cut the connection when it is too much
  if (request.headers["transfer-encoding"] !== undefined) {
    return problem(411, "LengthRequired", "say how long the body is, as Content-Length")
  }
  if (bodyBytes(request) > maxBodyBytes) return problem(413, "TooLarge", `at most ${maxBodyBytes} bytes are taken`)
  // nothing else is ever read: a form with files would be written to the disk
  if (hasBody(request) && !isJson(request)) {
    return problem(415, "NotJson", "send the body as Content-Type: application/json")
  }
  return undefined
}

/**
 * Around everything.
 *
 * @since 0.1.0
 * @category middleware
 */
export const guard =
  (hosts: ReadonlyArray<string>) =>
  <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<never, R> =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      return turnedAway(request, hosts) ?? (yield* app)
    }).pipe(Effect.catchAllCause(answerTo), Effect.map(withHeaders))
