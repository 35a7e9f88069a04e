import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { readdirSync } from "node:fs"
import { Live } from "../../src/http/Live.js"
import { JobStore } from "../../src/jobs/JobStore.js"
import type { Backend } from "../jobs/backend.js"
import { ask, consuming, ownTmp, queue, site, TheSite } from "./harness.js"
import { finish, jobOf, letter, letterOf, undecided } from "./played.js"
import { rawRequest } from "./rawRequest.js"
import { lettersIn, operationsOf, requests } from "./requests.js"

/** jobs in several states, and dead letters of all kinds; answers the ids of these */
const set = Effect.gen(function* () {
  const jobs = yield* JobStore
  for (const id of ["a", "b", "done", "gone"]) yield* jobs.accept(jobOf(id))
  yield* jobs.cancel("gone")
  yield* finish(jobOf("done"), "the report")
  yield* undecided("told")
  const ours = (reason: string) => ({ "effect_sqs.reason": reason, "effect_sqs.origin": queue })
  return [
    yield* letterOf("one", "no flights"),
    yield* letterOf("gone", "no flights"),
    yield* letterOf("done", "\ufffd <b>%s</b> ../../ ' -- 100 %"),
    yield* letter("not JSON", ours("cannot be read")),
    yield* letter('{"jobId":{"a":1}}', ours("cannot be read")),
    yield* letter('{"jobId":"../../../etc/passwd"}', ours("no such job")),
    yield* letter("null", { "effect_sqs.origin": "another-queue" }),
    yield* letter(`{"jobId":"${"x".repeat(3000)}"}`, ours("x".repeat(400))),
    yield* letter(`{"jobId":"\\u0000\\ud800"}`, ours("odd")),
    yield* letter("[".repeat(20_000), ours("deep"))
  ]
})

/** a request without an answer by then hangs */
const patience = "60 seconds"

/** beside the files of the site, which are elsewhere, nothing may come into being */
const strangersIn = (folder: string) =>
  readdirSync(folder).filter((name) => !/^(jobs\.db.*|artifacts|operations)$/.test(name))

/** on each database */
export const fuzz = (backend: Backend) =>
  describe(`requests nobody meant on ${backend.name}`, () => {
    it.scopedLive(
      "each gets an answer that the API names, never a fault of ours, and none leads to a file",
      () =>
        Effect.gen(function* () {
          const { folder } = yield* TheSite
          const { boot } = yield* Live
          const temporary = yield* ownTmp
          const ids = yield* set
          yield* consuming(() => Effect.void)
          const operations = operationsOf((yield* ask("GET", "/openapi.json")).body)
          assert.strictEqual(operations.length, 18)
          const statuses = new Map<number, number>()
          const wrong: Array<string> = []
          for (const drawn of fc.sample(requests(operations), { numRuns: 500 })) {
            const { operation } = drawn
            const request = {
              ...drawn,
              path: lettersIn(drawn.path, ids),
              body: drawn.body === undefined ? undefined : lettersIn(drawn.body, ids),
              headers: Object.fromEntries(
                Object.entries(drawn.headers ?? {}).map(([name, value]) => [name, value.replace("<boot>", boot)])
              )
            }
            const shown = `${request.method} ${request.path.slice(0, 200)} ${JSON.stringify(request.headers)} ${request.body?.slice(0, 300)}`
            const { status, text, type } = yield* rawRequest(request).pipe(
              Effect.timeout(patience),
              Effect.catchAll((e) => Effect.succeed({ status: 599, text: String(e), type: "" }))
            )
            statuses.set(status, (statuses.get(status) ?? 0) + 1)
            const said = `${shown}\n  -> ${status} ${type} ${text.slice(0, 200)}`
            const tag: unknown =
              status >= 400 && type === "application/json" && text !== "" ? JSON.parse(text)._tag : undefined
            // an odd path, or another method, may be none of the API's
            const isElsewhere = status === 404 && tag === "NotFound"
            const named = operation.answers.get(status)
            const isNamed = isElsewhere || (status < 400 ? named !== undefined : named?.has(String(tag)) === true)
            if (!isNamed && request.method !== "HEAD") wrong.push(said)
          }
          assert.deepStrictEqual(wrong, [])
          // it was not all turned away at the door
          for (const status of [200, 400, 403, 404, 409, 411, 413, 414, 415])
            assert.isAbove(statuses.get(status) ?? 0, 0)
          assert.isAbove(statuses.get(200)!, 60)
          assert.deepStrictEqual(strangersIn(folder), [])
          assert.deepStrictEqual(yield* temporary, [])
        }).pipe(Effect.provide(site({ backend, sqsTimes: 30 }))),
      120_000
    )
  })
