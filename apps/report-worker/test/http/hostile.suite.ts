/** Requests of somebody who means no good, or is in a hurry. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Backend } from "../jobs/backend.js"
import { ask, ownTmp, site } from "./harness.js"
import { bodyOf } from "./played.js"
import { rawRequest } from "./rawRequest.js"

/** on each database */
export const hostile = (backend: Backend) =>
  describe(`requests of the hostile and the hasty on ${backend.name}`, () => {
    it.scopedLive("nothing but JSON of a length that is said is read, and nothing of it gets onto the disk", () =>
      Effect.gen(function* () {
        const temporary = yield* ownTmp
        const form = `--x\r\ncontent-disposition: form-data; name="a"; filename="a"\r\n\r\n${"y".repeat(2000)}\r\n--x--\r\n`
        const types = [
          "multipart/form-data; boundary=x",
          "multipart/form-data",
          "text/plain; application/json",
          "x",
          ""
        ]
        for (const path of ["/api/login", "/api/jobs", "/api/consuming", "/api/jobs/a/cancel"]) {
          for (const type of types) {
            const headers = { "content-type": type }
            const answer = yield* rawRequest({ method: "POST", path, body: form, headers })
            assert.deepStrictEqual([answer.status, JSON.parse(answer.text)._tag], [415, "NotJson"], `${path} ${type}`)
          }
          for (const kib of [1, 100, 3000]) {
            const answer = yield* rawRequest({ method: "POST", path, body: "x".repeat(kib * 1024), chunked: true })
            assert.strictEqual(answer.status, 411)
          }
        }
        assert.deepStrictEqual(yield* temporary, [])
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("what asks for another protocol is an ordinary request", () =>
      Effect.gen(function* () {
        const headers = { connection: "upgrade", upgrade: "websocket" }
        const submitted = yield* rawRequest({
          method: "POST",
          path: "/api/jobs",
          body: JSON.stringify(bodyOf("a")),
          headers
        })
        assert.strictEqual(submitted.status, 202)
      }).pipe(Effect.provide(site({ backend })))
    )

    it.scopedLive("what is nested by the thousand is refused, what is long is not told again", () =>
      Effect.gen(function* () {
        for (const [open, close] of [
          ["[", "]"],
          ['{"a":', "}"]
        ] as const) {
          const deep = `${open.repeat(4500)}1${close.repeat(4500)}`
          const raw = `{"job":{"report":"flight-delays","locale":"\\"[","jobId":${deep}},"messageIds":${deep}}`
          for (const where of ["/api/jobs", "/api/dead-letters/redrive"]) {
            const { body, status } = yield* ask("POST", where, { raw })
            assert.deepStrictEqual([status, body.message], [400, "the body has more than 32 levels"])
          }
        }
        const long = yield* ask("POST", "/api/dead-letters/redrive", { body: { messageIds: { a: "x".repeat(9000) } } })
        assert.deepStrictEqual([long.status, long.text.length < 1000], [400, true])
      }).pipe(Effect.provide(site({ backend })))
    )
  })
