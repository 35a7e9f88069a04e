/**
 * What every request passes and every answer carries: whose page it is, how much it sends, what a browser may do with it, and
 * an answer also when something went wrong.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpApiError from "@effect/platform/HttpApiError"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpIncomingMessage from "@effect/platform/HttpIncomingMessage"
import * as HttpServerError from "@effect/platform/HttpServerError"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { hasProperty } from "effect/Predicate"
import { isKnownHost } from "./Access.js"

/** a job has some hundred bytes */
const maxBodyBytes = 64 * 1024

const maxUrlChars = 4096

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

const sentenceOf = ({ message, path }: { readonly path: ReadonlyArray<PropertyKey>; readonly message: string }) =>
  path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`

/** the path, without the name of the field that holds the job */
const shortened = (error: HttpApiError.HttpApiDecodeError) =>
  new HttpApiError.HttpApiDecodeError({
    issues: error.issues,
    message: [...new Set(error.issues.map(sentenceOf))].join("\n")
  })

/**
 * Inside the API: what could not be read is told in sentences, in the shape that the API promises.
 *
 * @since 0.1.0
 * @category middleware
 */
export const sentences = <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<unknown, R> =>
  Effect.catchAllCause(app, (cause): Effect.Effect<never, unknown> => {
    const error = Cause.squash(cause)
    if (error instanceof HttpApiError.HttpApiDecodeError) return Effect.fail(shortened(error))
    if (error instanceof HttpServerError.RequestError && error.reason === "Decode") {
      return isTooLarge(error)
        ? Effect.failCause(cause)
        : Effect.fail(
            new HttpApiError.HttpApiDecodeError({
              issues: [{ _tag: "Type", path: [], message: "the body is not JSON" }],
              message: "the body is not JSON"
            })
          )
    }
    return Effect.failCause(cause)
  })

const isTooLarge = (error: HttpServerError.RequestError) =>
  hasProperty(error.cause, "message") && /maxBytes|too large/i.test(String(error.cause.message))

const tooLarge = problem(413, "TooLarge", `at most ${maxBodyBytes} bytes are taken`)

const answerTo = (cause: Cause.Cause<unknown>): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  if (Cause.isInterruptedOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
  const error = Cause.squash(cause)
  if (HttpServerResponse.isServerResponse(error)) return Effect.succeed(error)
  if (error instanceof HttpServerError.RouteNotFound) {
    return Effect.succeed(problem(404, "NotFound", "there is nothing at this address"))
  }
  if (error instanceof HttpServerError.RequestError) {
    return Effect.succeed(isTooLarge(error) ? tooLarge : problem(400, "BadRequest", "the request cannot be read"))
  }
  return Effect.as(
    Effect.logError("a request failed", cause),
    problem(500, "InternalError", "something went wrong here; the worker's log tells more")
  )
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
      if (!isKnownHost(request.headers.host, hosts)) {
        return problem(403, "UnknownHost", "this name is not one of the page's: add it to REPORT_PAGE_HOSTS")
      }
      if (request.url.length > maxUrlChars) return problem(414, "TooLong", "this address is too long")
      if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) return tooLarge
      return yield* app
    }).pipe(
      HttpIncomingMessage.withMaxBodySize(Option.some(FileSystem.Size(maxBodyBytes))),
      Effect.catchAllCause(answerTo),
      Effect.map(withHeaders)
    )
