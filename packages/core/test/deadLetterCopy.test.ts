import { Settlement, type Sqs, SqsError } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema, TestClock } from "effect"
import * as DeadLetter from "../src/internal/deadLetter.js"

class Unknown extends Schema.TaggedError<Unknown>()("Unknown", { name: Schema.String }) {
  override get message() {
    return `no dataset ${this.name}`
  }
}

const received = (more: Partial<Sqs.ReceivedMessage> = {}): Sqs.ReceivedMessage => ({
  messageId: "m-1",
  receiptHandle: "h-1",
  body: "body",
  receiveCount: 3,
  sentAt: undefined,
  firstReceivedAt: undefined,
  senderId: undefined,
  groupId: undefined,
  deduplicationId: undefined,
  sequenceNumber: undefined,
  traceHeader: undefined,
  deadLetterSourceArn: undefined,
  attributes: {},
  ...more
})

const facts = { reason: "why", error: undefined, origin: "jobs", maxBytes: 1_048_576, fifo: false }

const values = (entry: Sqs.SendEntry) =>
  Object.fromEntries(Object.entries(entry.attributes ?? {}).map(([name, a]) => [name, a.stringValue ?? a.binaryValue]))

const string = (stringValue: string): Sqs.MessageAttribute => ({ dataType: "String", stringValue })

describe("a copy", () => {
  it("has the body, the attributes as they were, and why, what, how often, from where", () => {
    const blob: Sqs.MessageAttribute = { dataType: "Binary.png", binaryValue: new Uint8Array([1, 2]) }
    const copy = DeadLetter.copyOf(
      received({ attributes: { tenant: string("north"), blob }, traceHeader: "Root=1", groupId: "g" }),
      { ...facts, error: new Unknown({ name: "x" }) }
    )
    assert.deepStrictEqual(copy, {
      body: "body",
      attributes: {
        tenant: string("north"),
        blob,
        "effect_sqs.reason": string("why"),
        "effect_sqs.error": string("Unknown"),
        "effect_sqs.receive_count": { dataType: "Number", stringValue: "3" },
        "effect_sqs.origin": string("jobs"),
        "effect_sqs.message_id": string("m-1")
      },
      groupId: "g",
      deduplicationId: undefined,
      traceHeader: "Root=1"
    })
  })

  it("names the class of an error without a tag, and none where there is no error", () => {
    const errorOf = (error: unknown) => values(DeadLetter.copyOf(received(), { ...facts, error }))["effect_sqs.error"]
    assert.strictEqual(errorOf(new TypeError("x")), "TypeError")
    assert.strictEqual(errorOf("text"), "none")
    assert.strictEqual(errorOf(new Settlement.EndWith({ settlement: Settlement.DeadLetter("x") })), "none")
    assert.strictEqual(errorOf({ _tag: "" }), "none")
  })

  it("keeps the message's own attributes, and adds what is most telling up to ten", () => {
    const own = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`a${i}`, string(String(i))]))
    const added = (n: number) => {
      const names = Object.keys(DeadLetter.copyOf(received({ attributes: own(n) }), facts).attributes!)
      assert.deepStrictEqual(names.slice(0, n), Object.keys(own(n)))
      return names.slice(n)
    }
    assert.strictEqual(added(5).length, 5)
    assert.deepStrictEqual(added(8), ["effect_sqs.reason", "effect_sqs.error"])
    assert.deepStrictEqual(added(9), ["effect_sqs.reason"])
    assert.deepStrictEqual(added(10), [])
  })

  it("stays within the size that the queue takes, to the byte", () => {
    // name, type, value
    const reason = "effect_sqs.reason".length + "String".length + "why".length
    const fits = (free: number) =>
      Object.keys(
        DeadLetter.copyOf(received({ body: "b".repeat(1_000) }), { ...facts, maxBytes: 1_000 + free }).attributes!
      )
    assert.deepStrictEqual(fits(reason), ["effect_sqs.reason"])
    // what is shorter takes the room
    assert.notInclude(fits(reason - 1), "effect_sqs.reason")
    assert.deepStrictEqual(fits(0), [])
    const umlauts = DeadLetter.copyOf(received({ body: "ü".repeat(500) }), { ...facts, maxBytes: 1_000 })
    assert.deepStrictEqual(umlauts.attributes, {})
  })

  it("of a copy replaces what the first one said, also where ten are full and no byte is free", () => {
    const first = DeadLetter.copyOf(
      received({ attributes: Object.fromEntries(["a", "b", "c", "d", "e"].map((n) => [n, string(n)])) }),
      { ...facts, reason: "old", origin: "elsewhere" }
    )
    const size =
      4 +
      Object.entries(first.attributes!).reduce(
        (n, [name, a]) => n + name.length + a.dataType.length + a.stringValue!.length,
        0
      )
    const second = DeadLetter.copyOf(received({ attributes: first.attributes!, receiveCount: 7 }), {
      ...facts,
      reason: "new",
      origin: "jobs",
      maxBytes: size
    })
    assert.strictEqual(Object.keys(second.attributes!).length, 10)
    assert.strictEqual(values(second)["effect_sqs.reason"], "new")
    assert.strictEqual(values(second)["effect_sqs.origin"], "jobs")
    assert.strictEqual(values(second)["effect_sqs.receive_count"], "7")
  })

  it("has only characters that SQS takes, whole ones, at most 256 code units, and never none", () => {
    const reasonOf = (reason: string) =>
      values(DeadLetter.copyOf(received(), { ...facts, reason }))["effect_sqs.reason"]
    assert.strictEqual(reasonOf("tab\tline\nreturn\r"), "tab\tline\nreturn\r")
    assert.strictEqual(reasonOf("a\u0000b\u001Bc\uFFFEd\uFFFFe"), "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe")
    assert.strictEqual(reasonOf("half \uD83D, whole 😀"), "half \uFFFD, whole 😀")
    assert.strictEqual(reasonOf(`${"x".repeat(255)}😀`), "x".repeat(255))
    assert.strictEqual(reasonOf("x".repeat(1_000)), "x".repeat(256))
    assert.strictEqual(reasonOf(""), "none")
  })

  it("for a FIFO queue has a group, and the message's id against doubles; for a standard queue it has no such id", () => {
    const ids = (message: Sqs.ReceivedMessage, fifo: boolean) => {
      const { deduplicationId, groupId } = DeadLetter.copyOf(message, { ...facts, fifo })
      return [groupId, deduplicationId]
    }
    const fromFifo = received({ groupId: "g", deduplicationId: "d", sequenceNumber: "1" })
    assert.deepStrictEqual(ids(fromFifo, true), ["g", "m-1"])
    assert.deepStrictEqual(ids(fromFifo, false), ["g", undefined])
    assert.deepStrictEqual(ids(received(), true), ["m-1", "m-1"])
    assert.deepStrictEqual(ids(received(), false), [undefined, undefined])
  })
})

describe("sending a copy", () => {
  const sendWith = (
    sendBatch: Sqs.Sqs["Type"]["sendBatch"],
    notAfter: number,
    url: string | undefined = "http://x/dead"
  ) =>
    Effect.gen(function* () {
      const clock = yield* Effect.clock
      const now = () => clock.unsafeCurrentTimeMillis()
      const fiber = yield* Effect.fork(
        DeadLetter.send({
          sqs: { sendBatch } as Sqs.Sqs["Type"],
          queue: "jobs",
          url,
          maxBytes: 1_000_000,
          callTimeoutMs: 10_000,
          clock: { now, epoch: now }
        })(received(), "why", undefined, notAfter)
      )
      yield* TestClock.adjust("5 minutes")
      return yield* Fiber.join(fiber)
    })

  const throttled = new SqsError.Throttled({
    operation: "SendMessageBatch",
    queue: "dead",
    code: "Throttled",
    detail: ""
  })

  it.effect("is tried again while that can help and the lease lasts", () =>
    Effect.gen(function* () {
      let calls = 0
      const third = () =>
        ++calls < 3 ? Effect.fail(throttled) : Effect.succeed([{ _tag: "Done", value: {} as Sqs.Sent } as const])
      assert.isUndefined(yield* sendWith(third, 30_000))
      assert.strictEqual(calls, 3)
    })
  )

  it.effect("no call is made, or left open, once the lease has ended", () =>
    Effect.gen(function* () {
      const clock = yield* Effect.clock
      let last = 0
      const never = () =>
        Effect.suspend(() => {
          last = clock.unsafeCurrentTimeMillis()
          return throttled
        })
      assert.strictEqual((yield* sendWith(never, 12_000))?._tag, "Throttled")
      assert.isAtLeast(last, 5_000)
      assert.isBelow(last, 12_000)
      let open = 0
      const hangs = () =>
        Effect.acquireUseRelease(
          Effect.sync(() => open++),
          () => Effect.never,
          () => Effect.sync(() => open--)
        )
      const from = clock.unsafeCurrentTimeMillis()
      assert.strictEqual((yield* sendWith(hangs, from + 4_000))?._tag, "NetworkError")
      assert.strictEqual(open, 0)
    })
  )

  it.effect("is not tried again where that cannot help", () =>
    Effect.gen(function* () {
      let calls = 0
      const denied = new SqsError.AccessDenied({
        operation: "SendMessageBatch",
        queue: "dead",
        code: "AccessDenied",
        detail: ""
      })
      const problem = yield* sendWith(() => Effect.suspend(() => (calls++, denied)), 30_000)
      assert.deepStrictEqual([problem?._tag, calls], ["AccessDenied", 1])
    })
  )

  it.effect("an answer that does not name the copy is none: the message must not be deleted for it", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* sendWith(() => Effect.succeed([]), 3_000))?._tag, "ServiceError")
    })
  )
})
