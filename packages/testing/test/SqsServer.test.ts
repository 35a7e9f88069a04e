import * as Conformance from "@effect-sqs/testing/Conformance"
import * as Fault from "@effect-sqs/testing/Fault"
import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { DeleteMessageCommand, ReceiveMessageCommand, SendMessageCommand } from "@aws-sdk/client-sqs"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as FastCheck from "fast-check"
import { connect } from "node:net"
import { ownDoor } from "../src/internal/conformance/sdkDoor.js"
import { post, sdkClient, served, until } from "./served.js"

const inFlightLimit = 20

describe("SqsServer", () => {
  it.scopedLive(
    "passes the whole conformance suite through the AWS SDK",
    () =>
      Effect.gen(function* () {
        const server = yield* served({ inFlightLimit, journal: "off" })
        const client = yield* sdkClient(server.url)
        const results = yield* Conformance.run(ownDoor(client, { ...server, inFlightLimit }))
        assert.deepStrictEqual(
          results.filter(({ status }) => status !== "passed").map(({ check, reason }) => [check.id, reason]),
          []
        )
        assert.isAtLeast(results.length, 110)
      }),
    60_000
  )

  it.scopedLive("a poll whose client went away takes no message", () =>
    Effect.gen(function* () {
      const { clock, url, virtual } = yield* served({ queues: ["jobs"] })
      const client = yield* sdkClient(url)
      const controller = new AbortController()
      const command = new ReceiveMessageCommand({ QueueUrl: `${url}/000000000000/jobs`, WaitTimeSeconds: 20 })
      const polling = client.send(command, { abortSignal: controller.signal }).catch((error: Error) => error.name)
      yield* until(Effect.map(virtual.openPolls("jobs"), (open) => open === 1))
      controller.abort()
      assert.strictEqual(yield* Effect.promise(() => polling), "AbortError")
      yield* until(Effect.map(virtual.openPolls("jobs"), (open) => open === 0))
      yield* virtual.send("jobs", "m")
      yield* clock.advance(20_000)
      const [message] = yield* virtual.messages("jobs")
      assert.strictEqual(message?.receiveCount, 0)
      const ends = virtual.journal.entries.flatMap((entry) => (entry._tag === "CallEnded" ? [entry.outcome._tag] : []))
      assert.deepStrictEqual(ends, ["Interrupted"])
    })
  )

  it.scopedLive("queue URLs lead to where the client found the server", () =>
    Effect.gen(function* () {
      const { port } = yield* served({ queues: ["jobs"] })
      for (const host of ["127.0.0.1", "localhost"]) {
        const { json } = yield* post(`http://${host}:${port}`, "GetQueueUrl", JSON.stringify({ QueueName: "jobs" }))
        assert.strictEqual(json.QueueUrl, `http://${host}:${port}/000000000000/jobs`)
        const seen = yield* Effect.promise(() => fetch(json.QueueUrl).then((response) => response.json()))
        assert.deepInclude(seen, { name: "jobs", visible: 0, messages: [] })
      }
    })
  )

  it.scopedLive("shows queues, messages and the journal to tools", () =>
    Effect.gen(function* () {
      const { url, virtual } = yield* served({ queues: ["jobs"] })
      const get = (path: string) => Effect.promise(() => fetch(`${url}${path}`).then((r) => r.json() as Promise<any>))
      const messageId = yield* virtual.send("jobs", "m")
      assert.deepStrictEqual(yield* get("/health"), { status: "ok" })
      const { queues } = yield* get("/_queues")
      assert.deepInclude(queues[0], { name: "jobs", visible: 1, inFlight: 0, delayed: 0 })
      assert.strictEqual((yield* get("/_queues/jobs")).messages[0].messageId, messageId)
      const { appended, entries } = yield* get("/_journal")
      assert.strictEqual(appended, 1)
      assert.deepInclude(entries[0], { _tag: "Sent", messageId })
      assert.strictEqual((yield* get("/nowhere")).__type, "com.amazon.coral.service#UnknownOperationException")
    })
  )

  it.scopedLive("answers open polls when it stops, and frees its port", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { port, url, virtual } = yield* Scope.extend(served({ queues: ["jobs"] }), scope)
      const input = JSON.stringify({ QueueUrl: `${url}/000000000000/jobs`, WaitTimeSeconds: 20 })
      const poll = yield* Effect.fork(post(url, "ReceiveMessage", input))
      yield* until(Effect.map(virtual.openPolls("jobs"), (open) => open === 1))
      yield* Scope.close(scope, Exit.void)
      const { status, text } = yield* Fiber.join(poll)
      assert.deepStrictEqual([status, text], [200, "{}"])
      yield* Effect.scoped(served({}, { port }))
    })
  )

  it.scopedLive("says so when the port is in use", () =>
    Effect.gen(function* () {
      const { port } = yield* served()
      const error = yield* Effect.flip(Layer.build(SqsServer.layer({ port }).pipe(Layer.provide(VirtualSqs.layer()))))
      assert.strictEqual(error.code, "EADDRINUSE")
      assert.match(error.message, /the port is in use/)
    })
  )

  it.scopedLive("meets the same faults as the door in process", () =>
    Effect.gen(function* () {
      const faults = Fault.script(
        Fault.reset,
        Fault.error("RequestThrottled"),
        Fault.loseReply,
        Fault.latency("3 seconds")
      ).pipe(Fault.on("ReceiveMessage"))
      const { clock, url, virtual } = yield* served({ queues: ["jobs"], faults })
      const client = yield* sdkClient(url)
      const command = new ReceiveMessageCommand({ QueueUrl: `${url}/000000000000/jobs` })
      const receive = () =>
        client.send(command).then(
          ({ Messages }) => (Messages ?? []).map((m) => m.Body),
          (error: { name: string; code?: string }) => error.code ?? error.name
        )
      yield* virtual.send("jobs", "m")
      assert.strictEqual(yield* Effect.promise(receive), "ECONNRESET")
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 1 })
      assert.strictEqual(yield* Effect.promise(receive), "RequestThrottled")
      assert.strictEqual(yield* Effect.promise(receive), "ECONNRESET")
      assert.deepInclude(yield* virtual.counters("jobs"), { inFlight: 1 })
      yield* clock.advance(30_000)
      const late = yield* Deferred.make<unknown>()
      yield* Effect.fork(Effect.intoDeferred(Effect.promise(receive), late))
      yield* until(
        Effect.sync(() =>
          virtual.journal.entries.some((e) => e._tag === "FaultInjected" && e.fault === "delay 3000 ms")
        )
      )
      yield* clock.advance(2_999)
      assert.isFalse(yield* Deferred.isDone(late))
      yield* clock.advance(1)
      assert.deepStrictEqual(yield* Deferred.await(late), ["m"])
    })
  )

  it.scopedLive("denies actions, their batches too", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ queues: ["jobs"], deny: ["sqs:DeleteMessage"] })
      const client = yield* sdkClient(url)
      const QueueUrl = `${url}/000000000000/jobs`
      yield* Effect.promise(() => client.send(new SendMessageCommand({ QueueUrl, MessageBody: "m" })))
      const error: any = yield* Effect.flip(
        Effect.tryPromise({
          try: () => client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: "h" })),
          catch: (e) => e
        })
      )
      assert.strictEqual(error.name, "AccessDenied")
      assert.match(error.message, /is not authorized to perform: sqs:deletemessage on resource: arn:aws:sqs:/)
      const batch = yield* post(url, "DeleteMessageBatch", JSON.stringify({ QueueUrl, Entries: [] }))
      assert.strictEqual(batch.headers.get("x-amzn-query-error"), "AccessDenied;Sender")
    })
  )
})

describe("SqsServer, of what is malformed", () => {
  const shaped = (answer: { readonly status: number; readonly headers: Headers; readonly json: any }) =>
    answer.status < 400
      ? typeof answer.json === "object"
      : typeof answer.json.__type === "string" &&
        typeof answer.json.message === "string" &&
        /;(Sender|Receiver)$/.test(answer.headers.get("x-amzn-query-error") ?? "")

  const operations = [
    ...["ReceiveMessage", "SendMessage", "DeleteMessage", "ChangeMessageVisibility"],
    ...["SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"],
    ...["CreateQueue", "DeleteQueue", "GetQueueUrl", "ListQueues", "GetQueueAttributes", "SetQueueAttributes"],
    ...["PurgeQueue", "TagQueue", "UntagQueue", "ListQueueTags", "ListDeadLetterSourceQueues"],
    ...["StartMessageMoveTask", "ListMessageMoveTasks", "CancelMessageMoveTask", "AddPermission", "RemovePermission"]
  ]
  const members = [
    ...["QueueUrl", "QueueName", "Attributes", "MessageBody", "ReceiptHandle", "VisibilityTimeout", "Entries", "Id"],
    ...["MaxNumberOfMessages", "AttributeNames", "MessageAttributeNames", "MessageAttributes", "Tags", "TagKeys"],
    ...["SourceArn", "TaskHandle", "DelaySeconds", "MessageGroupId", "Label", "Actions", "NextToken", "MaxResults"]
  ]

  it.scopedLive("whatever JSON comes, the answer has AWS's shape, and no internal failure", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ queues: ["jobs", "jobs.fifo"], journal: 100 })
      const jobs = `${url}/000000000000/jobs`
      const value = FastCheck.oneof(
        FastCheck.constantFrom<unknown>(jobs, `${jobs}.fifo`, "jobs", "", null, -1, 0, 1, 11, 1e21, [], [{}], {}),
        FastCheck.string(),
        FastCheck.jsonValue(),
        FastCheck.array(FastCheck.dictionary(FastCheck.constantFrom(...members), FastCheck.jsonValue()), {
          maxLength: 3
        }),
        FastCheck.dictionary(FastCheck.string(), FastCheck.jsonValue(), { maxKeys: 3 })
      )
      const input = FastCheck.dictionary(FastCheck.constantFrom(...members), value, { maxKeys: 8 })
      yield* Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(
            FastCheck.constantFrom(...operations),
            input,
            FastCheck.boolean(),
            async (op, i, on) => {
              const body = JSON.stringify(on ? { ...i, QueueUrl: jobs } : i)
              const answer = await Effect.runPromise(post(url, op, body))
              return shaped(answer) && answer.status !== 500
            }
          ),
          { numRuns: 400, seed: 7 }
        )
      )
      yield* post(url, "ListQueues", "{}")
    })
  )

  it.scopedLive("bytes that are no JSON, wrong targets, deep nesting", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ queues: ["jobs"] })
      const bodies = [
        "{",
        "[]",
        "null",
        '"x"',
        "1",
        "[".repeat(100_000),
        new Uint8Array([0xff, 0xfe, 0x7b]),
        "{\u0000}"
      ]
      for (const body of bodies) {
        const answer = yield* post(url, "ReceiveMessage", body)
        assert.strictEqual(answer.json.__type, "com.amazon.coral.service#SerializationException")
        assert.isTrue(shaped(answer))
      }
      for (const target of ["AmazonSQS.", "AmazonSQS.Nonsense", "Other.ReceiveMessage", "AmazonSQS.toString", ""]) {
        const answer = yield* post(url, "", "{}", { headers: { "x-amz-target": target } })
        assert.strictEqual(answer.json.__type, "com.amazon.coral.service#UnknownOperationException")
        assert.strictEqual(answer.status, 400)
      }
      const query = yield* post(url, "", "Action=ListQueues&Version=2012-11-05", { headers: {} })
      assert.match(query.json.message, /not the older query protocol/)
      const put = yield* post(url, "ListQueues", "{}", { method: "PUT" })
      assert.strictEqual(put.status, 400)
    })
  )

  it.scopedLive("a body that is too long is refused, announced or not", () =>
    Effect.gen(function* () {
      const { url } = yield* served({}, { maxBodyBytes: 100_000 })
      const announced = yield* post(url, "SendMessage", "x".repeat(300_000))
      assert.deepStrictEqual(
        [announced.status, announced.json.__type],
        [413, "com.amazon.coral.service#RequestEntityTooLargeException"]
      )
      const stream = new ReadableStream({
        start: (controller) => {
          for (let i = 0; i < 20; i++) controller.enqueue(new Uint8Array(10_000))
          controller.close()
        }
      })
      const unannounced = yield* post(url, "SendMessage", "", { body: stream, duplex: "half" } as RequestInit)
      assert.strictEqual(unannounced.status, 413)
      assert.strictEqual((yield* post(url, "ListQueues", "{}")).status, 200)
    })
  )

  const rawAnswer = (port: number, text: string) =>
    Effect.async<string>((resume) => {
      const socket = connect(port, "127.0.0.1", () => socket.write(text))
      let answer = ""
      socket.on("data", (chunk) => (answer += String(chunk)))
      socket.on("close", () => resume(Effect.succeed(answer)))
      socket.on("error", () => {})
    })

  it.scopedLive("requests that HTTP knows and SQS does not are answered in AWS's shape", () =>
    Effect.gen(function* () {
      const { port } = yield* served()
      const call = "x-amz-target: AmazonSQS.ListQueues\r\ncontent-length: 2\r\nconnection: close\r\n"
      const withoutHost = yield* rawAnswer(port, `POST / HTTP/1.1\r\n${call}\r\n{}`)
      assert.match(withoutHost, /^HTTP\/1.1 200 .*\{\}$/s)
      const expecting = yield* rawAnswer(port, `POST / HTTP/1.1\r\nhost: x\r\nexpect: more\r\n${call}\r\n{}`)
      assert.match(expecting, /^HTTP\/1.1 417 .*x-amzn-query-error: .*__type/s)
      const tunnel = yield* rawAnswer(port, "CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n")
      assert.match(tunnel, /^HTTP\/1.1 400 .*UnknownOperationException/s)
    })
  )

  it.scopedLive("what is no HTTP, and clients that never finish, get an answer and are let go", () =>
    Effect.gen(function* () {
      const { port, url } = yield* served({}, { headersTimeoutMs: 300, requestTimeoutMs: 600 })
      const nonsense = yield* rawAnswer(port, "nonsense\r\n\r\n")
      assert.match(nonsense, /^HTTP\/1.1 400 .*x-amzn-RequestId: .*SerializationException/s)
      const slow = yield* rawAnswer(port, "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
      assert.match(slow, /^HTTP\/1.1 408 .*RequestTimeoutException/s)
      assert.strictEqual((yield* post(url, "ListQueues", "{}")).status, 200)
    })
  )
})
