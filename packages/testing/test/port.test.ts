import { Sqs } from "@effect-sqs/core/Sqs"
import * as Fault from "@effect-sqs/testing/Fault"
import { layer, VirtualSqs, type VirtualSqsOptions } from "@effect-sqs/testing/VirtualSqs"
import { assert, describe, it } from "@effect/vitest"
import * as SimClock from "@effect-sqs/testing/SimClock"
import type * as Journal from "@effect-sqs/testing/Journal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"

const jobs = (options: VirtualSqsOptions = {}) => Effect.provide(layer({ queues: ["jobs", "jobs.fifo"], ...options }))
const url = Effect.flatMap(Sqs, (sqs) => sqs.queueUrl("jobs"))
const request = (queueUrl: string) => ({ queueUrl, maxMessages: 10, waitTimeSeconds: 0 })

describe("the port on a virtual SQS", () => {
  it.effect("tells a message as AwsSqs tells it", () =>
    Effect.gen(function* () {
      const sqs = yield* Sqs
      const queueUrl = yield* sqs.queueUrl("jobs.fifo")
      const attributes = {
        text: { dataType: "String", stringValue: "x" },
        bytes: { dataType: "Binary.raw", binaryValue: new Uint8Array([0, 255]) }
      }
      const [sent] = yield* sqs.sendBatch(queueUrl, [
        { body: "m", attributes, groupId: "g", deduplicationId: "d", traceHeader: "Root=1" }
      ])
      yield* TestClock.adjust(5)
      const [m, ...rest] = yield* sqs.receive(request(queueUrl))
      assert.deepStrictEqual(rest, [])
      assert.strictEqual(sent?._tag, "Done")
      if (sent?._tag !== "Done" || m === undefined) return assert.fail("nothing was received")
      assert.deepStrictEqual(m, {
        messageId: sent.value.messageId,
        receiptHandle: m.receiptHandle,
        body: "m",
        receiveCount: 1,
        sentAt: 0,
        firstReceivedAt: 5,
        senderId: "AIDAVIRTUAL000000000000",
        groupId: "g",
        deduplicationId: "d",
        sequenceNumber: sent.value.sequenceNumber,
        traceHeader: "Root=1",
        deadLetterSourceArn: undefined,
        attributes
      })
    }).pipe(jobs())
  )

  it.effect("tells a queue", () =>
    Effect.gen(function* () {
      const sqs = yield* Sqs
      const virtual = yield* VirtualSqs
      yield* virtual.createQueue({
        name: "work.fifo",
        attributes: { VisibilityTimeout: 60, MessageRetentionPeriod: 600 },
        deadLetters: { queue: "jobs.fifo", maxReceiveCount: 4 }
      })
      yield* virtual.send("work.fifo", "m", { groupId: "g", deduplicationId: "d" })
      assert.deepStrictEqual(yield* sqs.attributes(virtual.queueUrl("work.fifo")), {
        arn: "arn:aws:sqs:us-east-1:000000000000:work.fifo",
        kind: "fifo",
        visibilityTimeoutSeconds: 60,
        retentionSeconds: 600,
        delaySeconds: 0,
        maximumMessageBytes: 1_048_576,
        redrivePolicy: {
          deadLetterTargetArn: "arn:aws:sqs:us-east-1:000000000000:jobs.fifo",
          maxReceiveCount: 4
        },
        messages: 1,
        messagesNotVisible: 0,
        messagesDelayed: 0
      })
    }).pipe(jobs())
  )

  it.effect("answers entries by position, each with its own error", () =>
    Effect.gen(function* () {
      const sqs = yield* Sqs
      const queueUrl = yield* url
      yield* sqs.sendBatch(queueUrl, [{ body: "a" }, { body: "b" }])
      const [a, b] = yield* sqs.receive(request(queueUrl))
      yield* sqs.deleteBatch(queueUrl, [a!.receiptHandle])
      const changed = yield* sqs.changeVisibilityBatch(queueUrl, [
        { receiptHandle: a!.receiptHandle, visibilityTimeoutSeconds: 10 },
        { receiptHandle: b!.receiptHandle, visibilityTimeoutSeconds: 10 },
        { receiptHandle: "garbage", visibilityTimeoutSeconds: 10 },
        { receiptHandle: b!.receiptHandle, visibilityTimeoutSeconds: 43_200 }
      ])
      assert.deepStrictEqual(
        changed.map((result) => (result._tag === "Done" ? "done" : result.error._tag)),
        ["MessageGone", "done", "HandleInvalid", "VisibilityLimit"]
      )
    }).pipe(jobs())
  )

  it.effect("fails with the errors of the core", () =>
    Effect.gen(function* () {
      const sqs = yield* Sqs
      const queueUrl = yield* url
      assert.strictEqual((yield* Effect.flip(sqs.queueUrl("nowhere")))._tag, "QueueMissing")
      assert.strictEqual((yield* Effect.flip(sqs.receive(request(`${queueUrl}-nowhere`))))._tag, "QueueMissing")
      assert.strictEqual((yield* Effect.flip(sqs.deleteBatch(queueUrl, [])))._tag, "RefusedInput")
    }).pipe(jobs())
  )

  for (const [code, tag] of [
    ["RequestThrottled", "Throttled"],
    ["KmsThrottled", "Throttled"],
    ["OverLimit", "OverLimit"],
    ["InvalidClientTokenId", "CredentialsExpired"],
    ["KMS.AccessDeniedException", "AccessDenied"],
    ["InternalFailure", "ServiceError"],
    ["InvalidParameterValue", "RefusedInput"]
  ] as const) {
    it.effect(`a fault with ${code} is ${tag}`, () =>
      Effect.gen(function* () {
        const sqs = yield* Sqs
        const error = yield* Effect.flip(sqs.receive(request(yield* url)))
        assert.strictEqual(error._tag, tag)
        yield* sqs.receive(request(yield* url))
      }).pipe(jobs({ faults: Fault.error(code).pipe(Fault.on("ReceiveMessage"), Fault.times(1)) }))
    )
  }

  it.effect("a denied action is AccessDenied, also of a batch", () =>
    Effect.gen(function* () {
      const sqs = yield* Sqs
      const error = yield* Effect.flip(sqs.deleteBatch(yield* url, ["h"]))
      assert.strictEqual(error._tag, "AccessDenied")
      assert.match(error.message, /sqs:DeleteMessage/)
    }).pipe(jobs({ deny: ["DeleteMessage"] }))
  )

  it.effect("a broken connection is NetworkError", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.flatMap(Sqs, (sqs) => sqs.queueUrl("jobs")))
      assert.deepInclude(error, { _tag: "NetworkError", code: "ECONNRESET" })
    }).pipe(jobs({ faults: Fault.reset.pipe(Fault.on("GetQueueUrl")) }))
  )

  it.effect("entries that a fault picks fail and have no effect", () =>
    Effect.gen(function* () {
      const sqs = yield* Sqs
      const virtual = yield* VirtualSqs
      const results = yield* sqs.sendBatch(yield* url, [{ body: "a" }, { body: "b" }])
      assert.deepStrictEqual(
        results.map((result) => (result._tag === "Done" ? "done" : result.error._tag)),
        ["Throttled", "done"]
      )
      assert.deepStrictEqual(
        (yield* virtual.messages("jobs")).map((m) => m.body),
        ["b"]
      )
    }).pipe(jobs({ faults: Fault.entries((entry) => entry.body === "a", "RequestThrottled") }))
  )

  it.effect("a hang ends at the client's own timeout, and an interrupted wait takes nothing", () =>
    Effect.gen(function* () {
      const sqs = yield* Sqs
      const virtual = yield* VirtualSqs
      const queueUrl = virtual.queueUrl("jobs")
      assert.strictEqual(sqs.requestTimeoutMs, 22_000)
      const hanging = yield* Effect.fork(Effect.flip(sqs.deleteBatch(queueUrl, ["h"])))
      yield* TestClock.adjust("2 seconds")
      assert.deepInclude(yield* Fiber.join(hanging), { _tag: "NetworkError", code: "TimeoutError" })
      const polling = yield* Effect.fork(sqs.receive({ queueUrl, maxMessages: 1, waitTimeSeconds: 20 }))
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* Fiber.join(polling), [])
    }).pipe(jobs({ requestTimeout: "2 seconds", faults: Fault.hang.pipe(Fault.on("DeleteMessageBatch")) }))
  )

  for (let seed = 0; seed < 8; seed++) {
    it.effect(
      `an answer and the time limit at one instant: the journal tells what the caller heard, seed ${seed}`,
      () =>
        Effect.gen(function* () {
          const sqs = yield* Sqs
          const virtual = yield* VirtualSqs
          yield* virtual.send("jobs", "a")
          const [message] = yield* sqs.receive(request(virtual.queueUrl("jobs")))
          const worker = yield* SimClock.spawn(
            "worker",
            Effect.exit(sqs.deleteBatch(virtual.queueUrl("jobs"), [message!.receiptHandle]))
          )
          yield* Effect.delay(worker.stall("10 seconds"), 100)
          const heard = yield* Effect.flatten(worker.await)
          const ended = virtual.journal.entries.find(
            (e) => e._tag === "CallEnded" && e.operation === "DeleteMessageBatch"
          )
          const told = (ended as Journal.CallEnded).outcome._tag
          assert.strictEqual(told, Exit.isSuccess(heard) ? "Answered" : "Lost")
        }).pipe(
          jobs({
            requestTimeout: "2 seconds",
            faults: Fault.latency("1 second", { after: true }).pipe(Fault.on("DeleteMessageBatch"))
          }),
          (scene) => SimClock.run(scene, { seed, order: "random" })
        )
    )
  }

  for (const [what, away] of [
    ["is gone", (process: SimClock.SimProcess<unknown, unknown>) => process.kill],
    ["sleeps", (process: SimClock.SimProcess<unknown, unknown>) => Effect.fork(process.stall("1 minute"))]
  ] as const) {
    it.effect(`a poll whose process ${what} keeps nothing from the others`, () =>
      Effect.gen(function* () {
        const sqs = yield* Sqs
        const virtual = yield* VirtualSqs
        const poll = sqs.receive({ ...request(virtual.queueUrl("jobs")), waitTimeSeconds: 20 })
        const first = yield* SimClock.spawn("first", poll)
        yield* Effect.sleep(10)
        const second = yield* SimClock.spawn("second", poll)
        yield* Effect.sleep(10)
        yield* away(first)
        yield* Effect.sleep(10)
        yield* virtual.send("jobs", "a")
        const got = yield* Effect.flatten(second.await)
        assert.deepStrictEqual(
          got.map((m) => [m.body, m.sentAt]),
          [["a", 30]]
        )
        assert.strictEqual((yield* SimClock.progress).elapsedMs, 30)
      }).pipe(jobs(), (scene) => SimClock.run(scene, { start: 0 }))
    )
  }

  it.effect("a standard queue can hand out what is hidden, and in another order", () =>
    Effect.gen(function* () {
      const sqs = yield* Sqs
      const virtual = yield* VirtualSqs
      const queueUrl = yield* url
      yield* virtual.send("jobs", "a")
      const [first] = yield* sqs.receive(request(queueUrl))
      yield* virtual.send("jobs", "b")
      const both = yield* sqs.receive(request(queueUrl))
      assert.deepStrictEqual(both.map((m) => m.body).sort(), ["a", "b"])
      const again = both.find((m) => m.body === "a")
      assert.strictEqual(again?.receiveCount, 2)
      assert.notStrictEqual(again?.receiptHandle, first?.receiptHandle)
      assert.deepStrictEqual(yield* virtual.counters("jobs"), { visible: 0, inFlight: 2, delayed: 0 })
    }).pipe(jobs({ faults: Fault.all(Fault.duplicate(1), Fault.reorder(1)) }))
  )
})
