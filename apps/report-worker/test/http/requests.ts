/** Requests nobody meant, drawn from what the API says of itself. */
import * as fc from "fast-check"
import type { RawRequest } from "./rawRequest.js"

export interface Operation {
  readonly method: string
  readonly path: string
  readonly query: ReadonlyArray<string>
  /** by status: the tags of its problems; none where it is no problem */
  readonly answers: ReadonlyMap<number, ReadonlySet<string>>
}

/** all values of `_tag` in a schema */
const tagsOf = (schema: any, schemas: Record<string, any>): ReadonlyArray<string> => {
  if (typeof schema !== "object" || schema === null) return []
  if (typeof schema.$ref === "string")
    return tagsOf(schemas[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)], schemas)
  if (Array.isArray(schema.anyOf)) return schema.anyOf.flatMap((one: any) => tagsOf(one, schemas))
  return schema.properties?._tag?.enum ?? []
}

export const operationsOf = (openApi: any): ReadonlyArray<Operation> =>
  Object.entries<any>(openApi.paths).flatMap(([path, methods]) =>
    Object.entries<any>(methods).map(([method, { parameters = [], responses }]) => ({
      method: method.toUpperCase(),
      path,
      query: parameters.filter((p: any) => p.in === "query").map((p: any) => p.name),
      answers: new Map(
        Object.entries<any>(responses).map(([status, { content = {} }]) => [
          Number(status),
          new Set(Object.values<any>(content).flatMap(({ schema }) => tagsOf(schema, openApi.components.schemas)))
        ])
      )
    }))
  )

/** a text that stands for the id of the dead letter with this number */
const letterAt = (n: number) => `<letter ${n}>`

export const lettersIn = (text: string, ids: ReadonlyArray<string>) =>
  text.replaceAll(/<letter (\d+)>|%3Cletter%20(\d+)%3E/g, (_, a?: string, b?: string) => ids[Number(a ?? b)]!)

const letter = fc.nat({ max: 9 }).map(letterAt)

const odd = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom(
    "..",
    "../../etc/passwd",
    "\0",
    "\ud800",
    "a".repeat(3000),
    "-1",
    "1e400",
    "NaN",
    "9007199254740991",
    "__proto__",
    "' OR 1=1 --",
    "%",
    "_",
    "a-1"
  )
)

/** half a character cannot be sent */
const wellFormed = (s: string) => s.replace(/[\ud800-\udfff]/gu, "?")

/** one segment of a path, as it is sent */
const segment = fc.oneof(
  {
    arbitrary: fc
      .oneof(fc.constantFrom("a", "b", "done", "told"), letter, odd)
      .map((s) => encodeURIComponent(wellFormed(s))),
    weight: 3
  },
  {
    arbitrary: fc.constantFrom(
      "%00",
      "%2e%2e%2f",
      "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
      "..%2f..%2f",
      "..",
      "%",
      "%zz",
      "%ff",
      "%c0%ae",
      "a%0d%0ax",
      ";a",
      "a//b",
      "\\..\\",
      "%25%30%30",
      "x".repeat(5000),
      "a?",
      "a#b",
      ""
    ),
    weight: 1
  }
)

const json = (value: unknown) => JSON.stringify(value, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v))

/** a right one, of which something may be wrong */
const jobBodies = fc
  .record({
    right: fc.record({
      jobId: fc.oneof(fc.constantFrom("a", "b"), fc.stringMatching(/^[a-z][a-z0-9]{3}$/)),
      report: fc.constant("flight-delays"),
      locale: fc.constantFrom("en", "ko"),
      period: fc.constant("2001-02")
    }),
    wrong: fc.oneof(
      fc.constant({}),
      fc.record(
        {
          jobId: odd,
          report: fc.constantFrom("wildlife-strikes", "route-traffic", "none"),
          locale: odd,
          period: odd,
          minDelay: fc.oneof(fc.integer(), fc.double()),
          webhook: fc.record({ url: fc.oneof(fc.webUrl(), odd), idempotent: fc.boolean() }),
          extra: fc.anything({ maxDepth: 2 })
        },
        { requiredKeys: [] }
      )
    ),
    beside: fc.record({ notBefore: fc.oneof(fc.maxSafeInteger(), fc.double()) }, { requiredKeys: [] })
  })
  .map(({ beside, right, wrong }) => json({ ...beside, job: { ...right, ...wrong } }))

const otherBodies = fc
  .record(
    {
      messageIds: fc.array(fc.oneof(letter, odd), { maxLength: 4 }),
      reason: fc.oneof(fc.constant("not needed"), odd),
      token: odd,
      paused: fc.oneof(fc.boolean(), fc.anything()),
      attempt: fc.oneof(fc.nat({ max: 2 }), fc.double()),
      callSeq: fc.oneof(fc.nat({ max: 2 }), fc.integer()),
      verdict: fc.oneof(fc.constantFrom("happened", "did not happen"), odd),
      note: fc.oneof(fc.constant("they say so"), odd),
      atMost: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.double()),
      perSecond: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.double())
    },
    { requiredKeys: ["messageIds", "reason", "token", "attempt", "callSeq", "verdict", "note"] }
  )
  .map(json)

/** a body that is nearly right, or nothing like it */
const bodies = fc.oneof(
  { arbitrary: otherBodies, weight: 4 },
  { arbitrary: jobBodies, weight: 3 },
  { arbitrary: fc.oneof(fc.json({ maxDepth: 3 }), fc.string({ maxLength: 100 })), weight: 1 },
  {
    arbitrary: fc.constantFrom(
      "",
      "{",
      "null",
      "[]",
      "\ufeff{}",
      // deeper than any stack
      `{"job":{"report":"flight-delays","jobId":${"[".repeat(20_000)}${"]".repeat(20_000)}}}`,
      `{"messageIds":${'{"a":'.repeat(8000)}1${"}".repeat(8000)}}`,
      `{"token":"${"x".repeat(70_000)}"}`
    ),
    weight: 1
  }
)

const types = fc.constantFrom(
  "application/json",
  "application/json; charset=utf-16",
  "APPLICATION/JSON",
  "text/plain",
  "text/plain; application/json",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "multipart/form-data",
  "application/octet-stream",
  "%",
  ""
)

/** of latin-1, as a header may be */
const headerValue = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((n) => n !== 0x7f)
    .map((n) => String.fromCharCode(n)),
  maxLength: 30
})

const headers = fc.record(
  {
    "last-event-id": fc.oneof(
      fc.constantFrom("<boot>-0", "<boot>-1", "<boot>--1", "<boot>-999999999999999", "<boot>-1e3", "00000000-1", "-1"),
      headerValue
    ),
    "content-type": types,
    "content-encoding": fc.constantFrom("gzip", "identity", "x"),
    cookie: fc.oneof(fc.constantFrom("report-worker=%zz", "report-worker=~~", "=;=;", "__proto__=1"), headerValue),
    authorization: fc.oneof(fc.constantFrom("Bearer", "Bearer x", "Basic eDp5"), headerValue),
    origin: fc.oneof(fc.constantFrom("null", "http://evil.example", "http://127.0.0.1"), headerValue),
    "sec-fetch-site": fc.oneof(fc.constantFrom("same-origin", "none", "cross-site"), headerValue),
    "x-forwarded-proto": headerValue,
    range: fc.constantFrom("bytes=0-1", "bytes=-1", "x"),
    accept: headerValue,
    expect: fc.constantFrom("100-continue")
  },
  { requiredKeys: [] }
)

const otherMethods = fc.constantFrom("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "POST", "GET", "HEAD")

/** nearly always with plain headers, so that not all is turned away at the door */
const mostly = <A>(usual: fc.Arbitrary<A>, rare: fc.Arbitrary<A>, weight: number) =>
  fc.oneof({ arbitrary: usual, weight }, { arbitrary: rare, weight: 1 })

export interface Drawn extends RawRequest {
  readonly operation: Operation
}

export const requests = (operations: ReadonlyArray<Operation>): fc.Arbitrary<Drawn> =>
  fc
    .record({
      operation: fc.oneof(
        ...operations.map((operation) => ({
          arbitrary: fc.constant(operation),
          // what takes nothing has little to get wrong
          weight: operation.method === "GET" && operation.query.length === 0 && !operation.path.includes("{") ? 1 : 3
        }))
      ),
      segments: fc.array(segment, { minLength: 2, maxLength: 2 }),
      words: fc.array(fc.oneof(odd, fc.constantFrom("queued", "1", "2", "yes")), { minLength: 5, maxLength: 5 }),
      isAsked: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
      body: bodies,
      headers: mostly(fc.constant<Record<string, string>>({}), headers as fc.Arbitrary<Record<string, string>>, 2),
      method: mostly(fc.constant<string | undefined>(undefined), otherMethods, 9),
      isChunked: mostly(fc.constant(false), fc.constant(true), 20),
      from: fc.integer({ min: 1, max: 250 })
    })
    .map(({ body, from, headers, isAsked, isChunked, method, operation, segments, words }) => {
      let at = 0
      const path = operation.path.replace(/\{\w+\}/g, () => segments[at++]!)
      const query = operation.query
        .filter((_, i) => isAsked[i])
        .map((name, i) => `${name}=${encodeURIComponent(wellFormed(words[i]!))}`)
      const asked = method ?? operation.method
      const hasBody = !["GET", "HEAD", "OPTIONS", "TRACE"].includes(asked)
      return {
        operation,
        method: asked,
        path: query.length === 0 ? path : `${path}?${query.join("&")}`,
        headers,
        body: hasBody ? wellFormed(body) : undefined,
        chunked: isChunked,
        from: `127.0.0.${from}`
      }
    })
