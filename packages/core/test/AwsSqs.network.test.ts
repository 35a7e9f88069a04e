import { Sqs, type SqsError } from "@effect-sqs/core"
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { type Call, json, portOn, receiveOf, serve, setup } from "./sqsStub.js"

const once = (emitter: NodeJS.EventEmitter, event: string) =>
  Effect.async<void>((resume) => {
    emitter.once(event, () => resume(Effect.void))
  })

describe("the network", () => {
  it.scopedLive("nobody listens: a network error with Node's code", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(serve(() => {}))
      const port = yield* portOn(url)
      const error = yield* Effect.flip(receiveOf(port, `${url}/0/jobs`))
      assert.deepStrictEqual([error._tag, error.code, error.retryable], ["NetworkError", "ECONNREFUSED", true])
    })
  )

  it.scopedLive("no such host: a network error with Node's code", () =>
    Effect.gen(function* () {
      const port = yield* portOn("http://sqs.invalid")
      const error = yield* Effect.flip(port.queueUrl("jobs"))
      assert.strictEqual(error._tag, "NetworkError")
      assert.match(error.code, /^(ENOTFOUND|EAI_AGAIN)$/)
    })
  )

  it.scopedLive("the connection is reset, before or inside the answer: a network error, after one request", () =>
    Effect.gen(function* () {
      const { calls, port, queueUrl } = yield* setup(({ request, response }) => {
        if (calls.length === 1) {
          request.socket.resetAndDestroy()
        } else {
          response.writeHead(200, { "content-length": "100" })
          response.write(`{"Messages":[`, () => request.socket.destroy())
        }
      })
      for (let n = 1; n <= 2; n++) {
        const error = yield* Effect.flip(receiveOf(port, queueUrl))
        assert.strictEqual(error._tag, "NetworkError")
        assert.strictEqual(calls.length, n)
      }
    })
  )

  it.scopedLive("a server that accepts and never answers is cut, and the request closed", () =>
    Effect.gen(function* () {
      const closed = yield* Deferred.make<void>()
      const { port, queueUrl } = yield* setup(
        ({ request }) => request.socket.once("close", () => Deferred.unsafeDone(closed, Exit.void)),
        { requestTimeout: "50 millis" }
      )
      const error = yield* Effect.flip(receiveOf(port, queueUrl))
      // the request's own time, not the socket's
      assert.deepStrictEqual([error._tag, error.code, error.retryable], ["NetworkError", "ETIMEDOUT", true])
      yield* Deferred.await(closed)
    })
  )

  it.scopedLive("an answer that stops in its middle is cut", () =>
    Effect.gen(function* () {
      const { port, queueUrl } = yield* setup(
        ({ response }) => {
          response.writeHead(200, { "content-length": "100" })
          response.write(`{"Successful":[`)
        },
        { requestTimeout: "50 millis" }
      )
      assert.strictEqual((yield* Effect.flip(port.deleteBatch(queueUrl, ["h"])))._tag, "NetworkError")
    })
  )

  it.scopedLive("a receive has its wait time on top of what other calls have", () =>
    Effect.gen(function* () {
      const arrived = yield* Deferred.make<Call>()
      const { port, queueUrl } = yield* setup(
        (call) => {
          if (call.operation === "ReceiveMessage") Deferred.unsafeDone(arrived, Effect.succeed(call))
        },
        { requestTimeout: "50 millis" }
      )
      const poll = yield* Effect.fork(receiveOf(port, queueUrl, 20))
      const open = yield* Deferred.await(arrived)
      const cut = yield* Effect.flip(port.deleteBatch(queueUrl, ["h"]))
      assert.deepStrictEqual([cut._tag, cut.code], ["NetworkError", "ETIMEDOUT"])
      // the poll is older than the call that was cut, and still open
      json(open, {})
      assert.deepStrictEqual(yield* Fiber.join(poll), [])
    })
  )

  it.effect("tells how long an answer may take at most", () =>
    Effect.gen(function* () {
      const timeoutOf = (options: AwsSqs.AwsSqsOptions) =>
        Effect.scoped(Effect.map(AwsSqs.make(options), (port) => port.requestTimeoutMs))
      assert.strictEqual(yield* timeoutOf({}), 30_000)
      assert.strictEqual(yield* timeoutOf({ requestTimeout: "3 seconds" }), 23_000)
    })
  )

  for (const operation of ["receive", "delete"] as const) {
    it.scopedLive(`interrupting a ${operation} closes its request`, () =>
      Effect.gen(function* () {
        const arrived = yield* Deferred.make<void>()
        const closed = yield* Deferred.make<void>()
        const { port, queueUrl } = yield* setup(({ request }) => {
          request.socket.once("close", () => Deferred.unsafeDone(closed, Exit.void))
          Deferred.unsafeDone(arrived, Exit.void)
        })
        const call = operation === "receive" ? receiveOf(port, queueUrl, 20) : port.deleteBatch(queueUrl, ["h"])
        const fiber = yield* Effect.fork(Effect.asVoid<unknown, SqsError.SqsError, never>(call))
        yield* Deferred.await(arrived)
        yield* Fiber.interrupt(fiber)
        yield* Deferred.await(closed)
      })
    )
  }

  it.scopedLive("open long polls do not delay beats, deletes and sends (A18)", () =>
    Effect.gen(function* () {
      const polls = 120
      const allOpen = yield* Deferred.make<void>()
      let open = 0
      const { calls, port, queueUrl } = yield* setup((call) => {
        if (call.operation !== "ReceiveMessage") return json(call, { Successful: [{ Id: "0" }] })
        if (++open === polls) Deferred.unsafeDone(allOpen, Exit.void)
      })
      const fibers = yield* Effect.forEach(Array.from({ length: polls }), () =>
        Effect.fork(receiveOf(port, queueUrl, 20))
      )
      yield* Deferred.await(allOpen)
      const beat = yield* port.changeVisibilityBatch(queueUrl, [{ receiptHandle: "h", visibilityTimeoutSeconds: 30 }])
      assert.deepStrictEqual(beat, [Sqs.done])
      assert.deepStrictEqual(yield* port.deleteBatch(queueUrl, ["h"]), [Sqs.done])
      // they were answered while each poll was open
      for (const call of calls) if (call.operation === "ReceiveMessage") json(call, {})
      assert.deepStrictEqual(
        yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber)),
        fibers.map(() => [])
      )
    })
  )

  it.scopedLive("connections are kept between calls, and closed with the scope", () =>
    Effect.gen(function* () {
      const { calls, queueUrl, url } = yield* Effect.map(
        serve((call) => json(call, {})),
        (server) => ({ ...server, queueUrl: `${server.url}/0/jobs` })
      )
      const closed = yield* Effect.scoped(
        Effect.gen(function* () {
          const port = yield* portOn(url)
          yield* receiveOf(port, queueUrl)
          yield* receiveOf(port, queueUrl)
          yield* port.attributes(queueUrl)
          const sockets = calls.map((call) => call.request.socket)
          assert.strictEqual(sockets[0], sockets[1])
          assert.notStrictEqual(sockets[0], sockets[2])
          return yield* Effect.fork(
            Effect.all([once(sockets[0]!, "close"), once(sockets[2]!, "close")], { concurrency: "unbounded" })
          )
        })
      )
      yield* Fiber.join(closed)
    })
  )
})
