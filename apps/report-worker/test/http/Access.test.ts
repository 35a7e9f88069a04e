import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { isKnownHost } from "../../src/http/Access.js"
import { buckets } from "../../src/http/Rate.js"
import * as Tokens from "../../src/http/Tokens.js"
import { ask, askAs, site } from "./harness.js"

const secret = { ann: "a-token-that-is-long-enough", bob: "another-one-that-is-long-too" }
const tokens = Tokens.parse(`ann:${secret.ann},bob:${secret.bob}:read`)!
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const job = { job: { jobId: "den", report: "flight-delays", locale: "en", period: "2001-02" } }

describe("tokens", () => {
  it("are name, token, and whether they only read", () => {
    assert.deepStrictEqual(
      tokens.map(({ name, readOnly }) => [name, readOnly]),
      [
        ["ann", false],
        ["bob", true]
      ]
    )
    const wrong = ["", "ann", "ann:short", `ann:${secret.ann}:write`, `ann:${secret.ann},ann:${secret.bob}`]
    for (const text of [
      ...wrong,
      `ann:${secret.ann},bob:${secret.ann}`,
      `a b:${secret.ann}`,
      "ann:with-an-umlaut-\u00e4-in-it",
      `ann:${"x".repeat(501)}`
    ]) {
      assert.isUndefined(Tokens.parse(text), text)
    }
  })

  it("a cookie holds for its token, until its end", () => {
    const [ann] = tokens
    const cookie = Tokens.cookieOf(ann!, 1000)
    assert.notInclude(cookie, secret.ann)
    assert.strictEqual(Tokens.findByCookie(tokens, cookie, 1000)?.name, "ann")
    assert.strictEqual(Tokens.findByCookie(tokens, cookie, 1000 + Tokens.cookieMs - 1)?.name, "ann")
    assert.isUndefined(Tokens.findByCookie(tokens, cookie, 1000 + Tokens.cookieMs))
    const [name, until, signature] = cookie.split("~")
    for (const forged of [
      `bob~${until}~${signature}`,
      `${name}~${Number(until) + 1}~${signature}`,
      `${name}~${until}~`,
      `${name}~${until}`,
      "",
      "~~",
      `${cookie}~`
    ]) {
      assert.isUndefined(Tokens.findByCookie(tokens, forged, 1000), forged)
    }
    const changed = Tokens.parse(`ann:${secret.ann}-changed`)!
    assert.isUndefined(Tokens.findByCookie(changed, cookie, 1000))
  })
})

describe("hosts", () => {
  it("are addresses, localhost, and those that are named", () => {
    for (const host of ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:80", "10.0.0.7", "ops.example.org:443"]) {
      assert.isTrue(isKnownHost(host, ["ops.example.org"]), host)
    }
    for (const host of [undefined, "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "a b"]) {
      assert.isFalse(isKnownHost(host, ["ops.example.org"]), String(host))
    }
  })
})

describe("rates", () => {
  it("each address has its own, which fills again; the oldest addresses are forgotten", () => {
    const { has, take } = buckets({ perSecond: 2, burst: 3 })
    assert.deepStrictEqual(
      [1, 2, 3, 4].map(() => take("a", 0)),
      [true, true, true, false]
    )
    assert.isTrue(take("b", 0))
    assert.isFalse(has("a", 400))
    assert.isTrue(take("a", 500))
    assert.isFalse(take("a", 999))
    assert.deepStrictEqual(
      [1, 2, 3, 4].map(() => take("a", 60_000)),
      [true, true, true, false]
    )
    for (let i = 0; i < 2000; i++) take(`other ${i}`, 60_000)
    assert.isTrue(take("a", 60_000))
  })
})

describe("access", () => {
  it.scopedLive("with tokens nothing is told or done without one, and what is done has a name", () =>
    Effect.gen(function* () {
      for (const where of ["/api/jobs", "/api/now", "/api/events", "/api/me", "/metrics", "/api/actions"]) {
        assert.strictEqual((yield* ask("GET", where)).status, 401, where)
      }
      const [none, wrong] = [yield* ask("GET", "/api/me"), yield* ask("GET", "/api/me", { headers: bearer("wrong") })]
      assert.strictEqual(none.body.message, "a token is needed, as Authorization: Bearer, or a login")
      assert.deepStrictEqual([wrong.status, wrong.body.message], [401, "this token is not known here"])
      assert.strictEqual((yield* ask("POST", "/api/jobs", { body: job })).status, 401)
      assert.strictEqual((yield* ask("GET", "/health/live")).status, 200)
      assert.strictEqual((yield* ask("GET", "/metrics", { headers: bearer(secret.bob) })).status, 200)
      const submitted = yield* ask("POST", "/api/jobs", { body: job, headers: bearer(secret.ann) })
      assert.strictEqual(submitted.status, 202)
      const { body } = yield* ask("GET", "/api/actions", { headers: bearer(secret.bob) })
      assert.deepStrictEqual([body.actions[0].actor, body.actions[0].action], ["ann", "submit"])
      const read = yield* ask("POST", "/api/jobs/den/cancel", { headers: bearer(secret.bob) })
      assert.deepStrictEqual([read.status, read.body._tag], [403, "ReadOnly"])
    }).pipe(Effect.provide(site({ tokens })))
  )

  it.scopedLive("a login makes a cookie that a script cannot read and another site cannot use", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask("POST", "/api/login", { body: { token: "wrong" } })).status, 401)
      const login = yield* ask("POST", "/api/login", { body: { token: secret.ann } })
      assert.deepStrictEqual(login.body, { name: "ann", readOnly: false, tokens: true })
      const set = login.headers.get("set-cookie")!
      assert.match(set, /; HttpOnly; SameSite=Strict; Max-Age=43200$/)
      const cookie = set.split(";", 1)[0]!
      assert.strictEqual((yield* ask("GET", "/api/me", { headers: { cookie } })).body.name, "ann")
      const origins: ReadonlyArray<readonly [Record<string, string>, number]> = [
        [{ origin: "http://evil.example" }, 403],
        [{ origin: "null" }, 403],
        [{ "sec-fetch-site": "cross-site" }, 403],
        [{ "sec-fetch-site": "same-site" }, 403],
        [{ "sec-fetch-site": "same-origin" }, 200]
      ]
      yield* ask("POST", "/api/jobs", { body: job, headers: { cookie } })
      for (const [headers, status] of origins) {
        const answer = yield* ask("POST", "/api/jobs", { body: job, headers: { cookie, ...headers } })
        assert.strictEqual(answer.status, status, JSON.stringify(headers))
      }
      const evil = yield* ask("POST", "/api/login", {
        body: { token: secret.ann },
        headers: { origin: "http://evil.example" }
      })
      assert.strictEqual(evil.status, 403)
      assert.match((yield* ask("POST", "/api/logout")).headers.get("set-cookie")!, /Max-Age=0$/)
    }).pipe(Effect.provide(site({ tokens })))
  )

  it.scopedLive("who guesses tokens is not listened to for a while, and others are", () =>
    Effect.gen(function* () {
      const login = yield* ask("POST", "/api/login", { body: { token: secret.ann } })
      const cookie = login.headers.get("set-cookie")!.split(";", 1)[0]!
      for (let i = 0; i < 10; i++) yield* ask("POST", "/api/login", { body: { token: `guess ${i}` } })
      const right = yield* ask("POST", "/api/login", { body: { token: secret.ann } })
      assert.deepStrictEqual([right.status, right.body.message], [401, "too many wrong tokens: wait a minute"])
      const bearing = yield* ask("GET", "/api/me", { headers: bearer(secret.ann) })
      assert.strictEqual(bearing.status, 401)
      // behind a proxy all have one address: who is logged in goes on working
      assert.strictEqual((yield* ask("GET", "/api/me", { headers: { cookie } })).body.name, "ann")
    }).pipe(Effect.provide(site({ tokens })))
  )

  it.scopedLive("read-only: all may look, nobody may act", () =>
    Effect.gen(function* () {
      const me = yield* ask("GET", "/api/me")
      assert.deepStrictEqual(me.body, { name: "local", readOnly: true, tokens: false })
      for (const where of ["/api/jobs/den/cancel", "/api/consuming", "/api/dead-letters/redrive", "/api/reviews/den"]) {
        assert.strictEqual((yield* ask("POST", where, { body: {} })).status, 403, where)
      }
    }).pipe(Effect.provide(site({ readOnly: true })))
  )

  it.scopedLive("a name that is not ours gets nothing; every answer tells the browser what is allowed", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* askAs("evil.example", "/api/now"), 403)
      assert.strictEqual(yield* askAs("ops.example.org", "/api/now"), 200)
      for (const where of ["/api/now", "/none", "/openapi.json", "/api/jobs/none"]) {
        const { headers } = yield* ask("GET", where)
        assert.match(headers.get("content-security-policy")!, /default-src 'none'; script-src 'self'/, where)
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff", where)
        assert.isNull(headers.get("access-control-allow-origin"), where)
      }
    }).pipe(Effect.provide(site({ hosts: ["ops.example.org"] })))
  )

  it.scopedLive("an address that others reach is not served without tokens", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Layer.build(site({ host: "0.0.0.0" })))
      assert.isTrue(Exit.isFailure(exit))
      assert.match(String(exit), /0\.0\.0\.0 can be reached from elsewhere: set REPORT_PAGE_TOKENS/)
    }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
  )
})
