import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { readdirSync } from "node:fs"
import type { Backend } from "../jobs/backend.js"
import { ask, site, TheSite } from "./harness.js"

interface Operation {
  readonly method: string
  readonly path: string
  readonly query: ReadonlyArray<string>
}

const odd = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom(
    "..",
    "../../etc/passwd",
    "..%2f..%2f",
    "%00",
    "\0",
    "a".repeat(3000),
    "-1",
    "1e400",
    "NaN",
    "__proto__",
    "' OR 1=1 --",
    "%",
    "a-1"
  )
)

/** a body that is nearly right, or nothing like it */
const bodies = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.string({ maxLength: 100 }),
  fc
    .record(
      {
        jobId: fc.oneof(fc.constantFrom("a", "b"), odd),
        report: fc.constantFrom("flight-delays", "wildlife-strikes", "route-traffic", "none"),
        locale: fc.oneof(fc.constantFrom("en", "ko"), odd),
        period: fc.oneof(fc.constant("2001-02"), odd),
        minDelay: fc.oneof(fc.integer(), fc.double()),
        webhook: fc.record({ url: odd, idempotent: fc.boolean() }),
        extra: fc.anything({ maxDepth: 2 })
      },
      { requiredKeys: ["jobId", "report"] }
    )
    .chain((job) =>
      fc
        .record({ notBefore: fc.oneof(fc.maxSafeInteger(), fc.double()) }, { requiredKeys: [] })
        .map((o) => JSON.stringify({ ...o, job }, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v)))
    ),
  fc
    .record({
      messageIds: fc.array(odd, { maxLength: 3 }),
      reason: odd,
      token: odd,
      paused: fc.anything(),
      attempt: fc.double(),
      callSeq: fc.integer(),
      verdict: odd,
      note: odd
    })
    .map((o) => JSON.stringify(o, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v)))
)

/** those that look into SQS take seconds, and are tried by hand elsewhere */
const slow = /dead-letters|events/
/** on each database */
export const fuzz = (backend: Backend) =>
  describe(`requests nobody meant on ${backend.name}`, () => {
    it.scopedLive(
      "are answered, never with a fault of ours, and lead to no file",
      () =>
        Effect.gen(function* () {
          const { folder } = yield* TheSite
          const { body } = yield* ask("GET", "/openapi.json")
          const operations: ReadonlyArray<Operation> = Object.entries<any>(body.paths).flatMap(([path, methods]) =>
            Object.entries<any>(methods).map(([method, { parameters = [] }]) => ({
              method: method.toUpperCase(),
              path,
              query: parameters.filter((p: any) => p.in === "query").map((p: any) => p.name)
            }))
          )
          assert.isAbove(operations.length, 12)
          const requests = fc.sample(
            fc.record({
              operation: fc.constantFrom(...operations.filter(({ path }) => !slow.test(path))),
              words: fc.array(odd, { minLength: 3, maxLength: 3 }),
              raw: bodies
            }),
            { numRuns: 600, seed: 7 }
          )
          const statuses = new Map<number, number>()
          for (const { operation, raw, words } of requests) {
            const path = operation.path.replace(/\{\w+\}/g, () =>
              encodeURIComponent(words[0]!.replace(/[\ud800-\udfff]/g, "?"))
            )
            const query = operation.query.map(
              (name, i) => `${name}=${encodeURIComponent(words[(i + 1) % 3]!.replace(/[\ud800-\udfff]/g, "?"))}`
            )
            const where = query.length === 0 ? path : `${path}?${query.join("&")}`
            const { status } = yield* ask(operation.method, where, operation.method === "GET" ? {} : { raw })
            statuses.set(status, (statuses.get(status) ?? 0) + 1)
            assert.isBelow(status, 500, `${operation.method} ${where} ${raw}`)
          }
          // it was not all turned away at the door
          assert.isAbove(statuses.get(200) ?? 0, 10)
          assert.isAbove(statuses.get(400) ?? 0, 50)
          assert.deepStrictEqual(
            readdirSync(folder).filter((name) => !name.startsWith("jobs.db")),
            ["artifacts"]
          )
        }).pipe(Effect.provide(site({ backend }))),
      60_000
    )
  })
