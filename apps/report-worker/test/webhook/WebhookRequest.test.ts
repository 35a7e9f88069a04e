import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import http from "node:http"
import https from "node:https"
import net, { type AddressInfo } from "node:net"
import * as Receiver from "../../src/receiver/Receiver.js"
import * as Address from "../../src/webhook/Address.js"
import { outcomeOf } from "../../src/webhook/Outcome.js"
import { request, type RequestOptions } from "../../src/webhook/WebhookRequest.js"
import { certificate, key } from "./tls.js"

const post: RequestOptions = {
  method: "POST",
  headers: { "content-type": "application/json", "idempotency-key": "k" },
  body: JSON.stringify({ jobId: "j" }),
  timeout: Duration.seconds(5),
  allow: Address.isPrivateOrPublic,
  resolve: Address.resolve
}

const shortly = { ...post, timeout: Duration.millis(300) }

const ask = (url: string, options: RequestOptions = post) =>
  Effect.flatMap(request(url, options), (answer) => outcomeOf(url, answer))

const listening = <S extends net.Server>(server: S) =>
  Effect.acquireRelease(
    Effect.async<number>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
    }),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        if (server instanceof http.Server) server.closeAllConnections()
      })
  )

/** The tag and the words of a failure. */
const failing = (url: string, options: RequestOptions = post) =>
  Effect.map(Effect.flip(ask(url, options)), (e) => [e._tag, e.detail] as const)

const closedPort = Effect.scoped(listening(net.createServer()))

describe("WebhookRequest", () => {
  it.scopedLive("brings a notice, and the receiver's answer", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make()
      const answer = yield* ask(`${receiver.url}/honours`)
      assert.deepStrictEqual(answer, { status: 200, text: `{"ok":true}` })
      assert.deepStrictEqual(receiver.received().get("j"), {
        key: "k",
        jobId: "j",
        requests: 1,
        effects: 1,
        attempts: [NaN],
        bodies: [`{"jobId":"j"}`]
      })
    })
  )

  // what the receiver plays; what the caller must make of it; whether the receiver had the effect
  const told: ReadonlyArray<readonly [Receiver.Play, string, RegExp, 0 | 1]> = [
    ["error", "WebhookFailed", /^it answered 500, "{\\"error\\":\\"something broke\\"}"$/, 0],
    ["error-after", "WebhookFailed", /^it answered 500/, 1],
    ["cut", "WebhookFailed", /^the connection was lost: socket hang up$/, 0],
    ["cut-after", "WebhookFailed", /^the connection was lost: socket hang up$/, 1],
    ["hang", "WebhookFailed", /^no answer within 300ms$/, 0],
    ["hang-after", "WebhookFailed", /^no answer within 300ms$/, 1],
    ["refuse", "WebhookRefused", /^it answered 422, "{\\"error\\":\\"no such subscriber\\"}"$/, 0],
    ["busy", "WebhookUnreachable", /^it answered 429/, 0],
    ["redirect", "WebhookRefused", /^it answered 307, "{}": give the address that it moved to$/, 0]
  ]
  for (const [play, tag, detail, effects] of told) {
    it.scopedLive(`${play}: ${tag}`, () =>
      Effect.gen(function* () {
        const receiver = yield* Receiver.make()
        const [foundTag, foundDetail] = yield* failing(`${receiver.url}/ignores?play=${play}`, shortly)
        assert.strictEqual(foundTag, tag)
        assert.match(foundDetail, detail)
        assert.deepStrictEqual(
          [receiver.received().get("j")?.requests, receiver.received().get("j")?.effects],
          [1, effects]
        )
      })
    )
  }

  const statuses: ReadonlyArray<readonly [number, string]> = [
    ...[200, 201, 202, 204, 299].map((status) => [status, "success"] as const),
    ...[301, 307, 308, 400, 401, 403, 404, 405, 410, 411, 413, 415, 422, 451].map(
      (s) => [s, "WebhookRefused"] as const
    ),
    ...[425, 429].map((status) => [status, "WebhookUnreachable"] as const),
    ...[300, 302, 303, 304, 408, 409, 500, 501, 502, 503, 504, 599].map((status) => [status, "WebhookFailed"] as const)
  ]
  it.effect("sorts the answers by what they say of the effect", () =>
    Effect.gen(function* () {
      for (const [status, expected] of statuses) {
        const outcome = yield* Effect.either(outcomeOf("http://receiver.test/", { status, text: "" }))
        assert.strictEqual(outcome._tag === "Right" ? "success" : outcome.left._tag, expected, `${status}`)
      }
    })
  )

  it.scopedLive("an answer that never ends is success by its status, and is not read to its end", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make()
      const answer = yield* ask(`${receiver.url}/honours?play=flood-after`)
      assert.deepStrictEqual([answer.status, answer.text.length], [200, 16_384])
    })
  )

  it.scopedLive("an answer whose text breaks off, or does not come, counts by its status", () =>
    Effect.gen(function* () {
      for (const end of [(r: http.ServerResponse) => void r.destroy(), () => {}]) {
        const port = yield* listening(
          http.createServer((_, response) => {
            response.writeHead(200, { "content-length": 100 })
            response.write("part", () => end(response))
          })
        )
        assert.strictEqual((yield* ask(`http://127.0.0.1:${port}/`, shortly)).status, 200)
      }
    })
  )

  it.scopedLive("what is no HTTP may have happened", () =>
    Effect.gen(function* () {
      const port = yield* listening(net.createServer((socket) => socket.resume().end("220 mail.example ESMTP\r\n")))
      const [tag, detail] = yield* failing(`http://127.0.0.1:${port}/`)
      assert.strictEqual(tag, "WebhookFailed")
      assert.match(detail, /the connection was lost: Parse Error/)
    })
  )

  it.live("nobody there: it surely did not happen", () =>
    Effect.gen(function* () {
      const port = yield* closedPort
      const [tag, detail] = yield* failing(`http://127.0.0.1:${port}/`)
      assert.strictEqual(tag, "WebhookUnreachable")
      assert.match(detail, /no connection: connect ECONNREFUSED/)
    })
  )

  it.live("a name that cannot be looked up, or has no address: it surely did not happen", () =>
    Effect.gen(function* () {
      const fails = { ...post, resolve: () => Effect.fail(new Error("getaddrinfo EAI_AGAIN")) }
      assert.deepStrictEqual(yield* failing("http://receiver.test/", fails), [
        "WebhookUnreachable",
        "its name is not found: getaddrinfo EAI_AGAIN"
      ])
      const empty = { ...post, resolve: () => Effect.succeed([]) }
      assert.strictEqual((yield* failing("http://receiver.test/", empty))[0], "WebhookUnreachable")
      const never = { ...shortly, resolve: () => Effect.never }
      assert.deepStrictEqual(yield* failing("http://receiver.test/", never), [
        "WebhookUnreachable",
        "no answer within 300ms"
      ])
    })
  )

  it.scopedLive("goes to the address that was judged: the name is looked up once", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make()
      const port = new URL(receiver.url).port
      // the second look-up would lead to a port of this machine
      const answers = [["127.0.0.1"], ["127.0.0.2"]]
      let asked = 0
      const resolve = (hostname: string) =>
        Effect.sync(() => {
          assert.strictEqual(hostname, "receiver.test")
          return answers[asked++]!
        })
      const allow = (address: string) => address === "127.0.0.1"
      yield* ask(`http://receiver.test:${port}/honours`, { ...post, resolve, allow })
      assert.deepStrictEqual([asked, receiver.received().get("j")?.effects], [1, 1])
    })
  )

  it.scopedLive("a name with one forbidden address is refused whole, and nothing is sent", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make()
      const port = new URL(receiver.url).port
      const resolve = () => Effect.succeed(["8.8.8.8", "127.0.0.1"])
      const guarded = { ...post, allow: Address.isPublic }
      const [tag, detail] = yield* failing(`http://receiver.test:${port}/honours`, { ...guarded, resolve })
      assert.deepStrictEqual(
        [tag, detail],
        ["WebhookRefused", "its address 127.0.0.1 is not one that jobs may send to"]
      )
      for (const host of [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "localhost",
        "0"
      ]) {
        assert.strictEqual((yield* failing(`http://${host}:${port}/honours`, guarded))[0], "WebhookRefused", host)
      }
      assert.strictEqual(receiver.received().size, 0)
    })
  )

  it.scopedLive("does not follow a redirect to a forbidden place", () =>
    Effect.gen(function* () {
      const inside = yield* Receiver.make()
      const port = yield* listening(
        http.createServer((_, response) => response.writeHead(302, { location: `${inside.url}/ignores` }).end())
      )
      assert.strictEqual((yield* failing(`http://127.0.0.1:${port}/`))[0], "WebhookFailed")
      assert.strictEqual(inside.received().size, 0)
    })
  )

  it.effect("takes only http and https, and no passwords; what follows the ? is not told", () =>
    Effect.gen(function* () {
      for (const url of [
        "ftp://receiver.test/",
        "file:///etc/passwd",
        "receiver.test",
        "http://a:b@receiver.test/",
        ""
      ]) {
        assert.strictEqual((yield* failing(url))[0], "WebhookRefused", url)
      }
      const error = yield* Effect.flip(ask("ftp://receiver.test/hook?token=secret"))
      assert.strictEqual(error.message, "ftp://receiver.test/hook was not told: only http and https are possible")
    })
  )

  it.scopedLive("tries the next address when nobody answers at the first", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make()
      const port = new URL(receiver.url).port
      const resolve = () => Effect.succeed(["127.0.0.9", "127.0.0.1"])
      yield* ask(`http://receiver.test:${port}/honours`, { ...post, resolve })
      assert.strictEqual(receiver.received().get("j")?.effects, 1)
    })
  )

  it.scopedLive("TLS: the certificate must be the name's, of an authority that is known; else nothing was sent", () =>
    Effect.gen(function* () {
      let requests = 0
      const port = yield* listening(
        https.createServer({ key, cert: certificate }, (_, response) => {
          requests++
          response.end("ok")
        })
      )
      const resolve = () => Effect.succeed(["127.0.0.1"])
      const trusting = { ...post, resolve, ca: certificate }
      assert.strictEqual((yield* ask(`https://receiver.test:${port}/`, trusting)).text, "ok")
      const other = yield* failing(`https://other.test:${port}/`, trusting)
      assert.strictEqual(other[0], "WebhookUnreachable")
      assert.match(other[1], /no connection: Hostname\/IP does not match/)
      assert.strictEqual((yield* failing(`https://127.0.0.1:${port}/`, trusting))[0], "WebhookUnreachable")
      const unknown = yield* failing(`https://receiver.test:${port}/`, { ...post, resolve })
      assert.match(unknown[1], /no connection: self-signed certificate/)
      assert.strictEqual(requests, 1)
    })
  )

  it.scopedLive("TLS that never comes: it surely did not happen", () =>
    Effect.gen(function* () {
      const port = yield* listening(net.createServer((socket) => socket.resume()))
      const [tag] = yield* failing(`https://127.0.0.1:${port}/`, shortly)
      assert.strictEqual(tag, "WebhookUnreachable")
    })
  )

  it.scopedLive("an interruption closes the connection", () =>
    Effect.gen(function* () {
      const arrived = yield* Deferred.make<void>()
      const closed = yield* Deferred.make<void>()
      const port = yield* listening(
        http.createServer((incoming) => {
          Deferred.unsafeDone(arrived, Effect.void)
          incoming.socket.once("close", () => Deferred.unsafeDone(closed, Effect.void))
        })
      )
      const fiber = yield* Effect.fork(ask(`http://127.0.0.1:${port}/`))
      yield* Deferred.await(arrived)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(closed)
    })
  )
})
