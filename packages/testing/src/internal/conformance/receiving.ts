/** Checks of ReceiveMessage. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { check, invalid } from "./kit.js"

const text = (value: string) => ({ DataType: "String", StringValue: value })
const three = { MessageAttributes: { Hello: text("There"), General: text("Kenobi"), "Help.Me": text("Me") } }
const namesOf = (message: any): ReadonlyArray<string> => Object.keys(message.MessageAttributes ?? {}).sort()

const outOfRange = (id: string, parameter: string, value: number, reason: string) =>
  check(id, "recorded", `${parameter} ${value} is refused`, function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "ReceiveMessage",
      { QueueUrl: q.url, [parameter]: value },
      { name: invalid, status: 400, message: `Value ${value} for parameter ${parameter} is invalid. Reason: ${reason}` }
    )
  })

const selects = (id: string, names: ReadonlyArray<string>, expected: ReadonlyArray<string>) =>
  check(id, "recorded", `MessageAttributeNames ${JSON.stringify(names)}`, function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m", three)
    const m = yield* t.one(q, { MessageAttributeNames: names })
    yield* t.equal(namesOf(m), expected, "attributes returned")
    yield* t.equal(typeof m.MD5OfMessageAttributes === "string", expected.length > 0, "MD5OfMessageAttributes is there")
  })

export const receiving = [
  check("receive-empty", "recorded", "an empty receive has no Messages key", function* (t) {
    const q = yield* t.queue()
    const output = yield* t.ok("ReceiveMessage", { QueueUrl: q.url })
    yield* t.equal(output.Messages === undefined, true, "Messages is absent")
  }),
  check(
    "receive-empty-wait",
    "documented",
    "an empty long poll returns at the end of its wait, not before",
    function* (t) {
      const q = yield* t.queue()
      const poll = yield* t.poll(q, 2)
      yield* t.wait(2)
      const { bodies, tookMs } = yield* poll
      yield* t.equal(bodies, [], "received")
      yield* t.took(tookMs, 2000)
    },
    { seconds: 2 }
  ),
  check(
    "receive-poll-arrival",
    "documented",
    "a long poll returns at once when a message is sent",
    function* (t) {
      const q = yield* t.queue()
      const poll = yield* t.poll(q, 10)
      yield* t.wait(1)
      yield* t.send(q, "m")
      const { bodies, tookMs } = yield* poll
      yield* t.equal(bodies, ["m"], "received")
      yield* t.took(tookMs, 1000)
    },
    { seconds: 1 }
  ),
  check(
    "receive-poll-return",
    "documented",
    "a long poll returns when a hidden message becomes visible again",
    function* (t) {
      const q = yield* t.queue()
      yield* t.send(q, "m")
      yield* t.one(q, { VisibilityTimeout: 2 })
      const poll = yield* t.poll(q, 10)
      yield* t.wait(3)
      const { bodies, tookMs } = yield* poll
      yield* t.equal(bodies, ["m"], "received")
      yield* t.took(tookMs, 2000)
    },
    { seconds: 3 }
  ),
  check(
    "receive-poll-delay",
    "documented",
    "a long poll returns when a delay ends",
    function* (t) {
      const q = yield* t.queue()
      yield* t.send(q, "m", { DelaySeconds: 2 })
      const poll = yield* t.poll(q, 10)
      yield* t.wait(3)
      const { bodies, tookMs } = yield* poll
      yield* t.equal(bodies, ["m"], "received")
      yield* t.took(tookMs, 2000)
    },
    { seconds: 3 }
  ),
  check("receive-poll-release", "documented", "a long poll returns when a message is given back", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m")
    const m = yield* t.one(q)
    const poll = yield* t.poll(q, 10)
    yield* t.change(q, m, 0)
    yield* t.equal((yield* poll).bodies, ["m"], "received")
  }),
  check("receive-no-fill", "issue", "a long poll for ten does not wait when three are there", function* (t) {
    const q = yield* t.queue()
    for (const body of ["a", "b", "c"]) yield* t.send(q, body)
    const from = yield* t.door.now
    const messages = yield* t.receive(q, { WaitTimeSeconds: 10 })
    yield* t.that(messages.length >= 1 && messages.length <= 3, `expected 1 to 3 messages, found ${messages.length}`)
    yield* t.took((yield* t.door.now) - from, 0)
  }),
  check(
    "receive-one-winner",
    "documented",
    "a message goes to one of two polls",
    function* (t) {
      const q = yield* t.queue()
      const first = yield* t.poll(q, 2)
      const second = yield* t.poll(q, 2, 2)
      yield* t.send(q, "m")
      yield* t.wait(2)
      const both = yield* Effect.all([first, second])
      yield* t.equal(
        both.flatMap(({ bodies }) => bodies),
        ["m"],
        "received by both"
      )
    },
    { seconds: 2 }
  ),
  outOfRange("receive-max-11", "MaxNumberOfMessages", 11, "Must be between 1 and 10, if provided."),
  outOfRange("receive-max-0", "MaxNumberOfMessages", 0, "Must be between 1 and 10, if provided."),
  outOfRange("receive-wait-21", "WaitTimeSeconds", 21, "Must be >= 0 and <= 20, if provided."),
  outOfRange("receive-wait-minus-1", "WaitTimeSeconds", -1, "Must be >= 0 and <= 20, if provided."),
  check("receive-visibility-range", "documented", "VisibilityTimeout 43201 is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.fails("ReceiveMessage", { QueueUrl: q.url, VisibilityTimeout: 43_201 }, { name: invalid, status: 400 })
  }),
  check("receive-default-max", "documented", "one message is received unless more are asked for", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "a")
    yield* t.send(q, "b")
    const { Messages } = yield* t.ok("ReceiveMessage", { QueueUrl: q.url })
    yield* t.equal(Messages.length, 1, "messages")
  }),
  check(
    "receive-default-wait",
    "documented",
    "the queue's ReceiveMessageWaitTimeSeconds holds where the receive says nothing",
    function* (t) {
      const q = yield* t.queue({ ReceiveMessageWaitTimeSeconds: "2" })
      const from = yield* t.door.now
      const fiber = yield* Effect.fork(Effect.zipRight(t.ok("ReceiveMessage", { QueueUrl: q.url }), t.door.now))
      yield* t.door.pollsOpened(q.url, 1)
      yield* t.wait(2)
      yield* t.took((yield* Fiber.join(fiber)) - from, 2000)
    },
    { seconds: 2 }
  ),
  check("receive-wait-0", "documented", "WaitTimeSeconds 0 overrides the queue's wait", function* (t) {
    const q = yield* t.queue({ ReceiveMessageWaitTimeSeconds: "20" })
    const from = yield* t.door.now
    yield* t.bodies(q, [])
    yield* t.took((yield* t.door.now) - from, 0)
  }),
  check(
    "receive-visibility-override",
    "documented",
    "VisibilityTimeout of a receive holds for its messages only",
    function* (t) {
      const q = yield* t.queue({ VisibilityTimeout: "4" })
      yield* t.send(q, "m")
      yield* t.one(q, { VisibilityTimeout: 1 })
      yield* t.wait(1.2)
      yield* t.one(q)
      yield* t.wait(2)
      yield* t.bodies(q, [])
      yield* t.wait(2.2)
      yield* t.bodies(q, ["m"])
    },
    { seconds: 6 }
  ),
  check("receive-no-attributes", "recorded", "no Attributes key where none are asked for", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m", three)
    const m = yield* t.one(q)
    yield* t.equal(Object.keys(m).sort(), ["Body", "MD5OfBody", "MessageId", "ReceiptHandle"], "keys of the message")
  }),
  check("receive-all-attributes", "recorded", "All gives the four attributes of a standard queue", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m")
    const m = yield* t.one(q, { AttributeNames: ["All"] })
    yield* t.equal(
      Object.keys(m.Attributes).sort(),
      ["ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "SenderId", "SentTimestamp"],
      "attributes"
    )
  }),
  check("receive-one-attribute", "recorded", "one name gives that attribute only", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m")
    const m = yield* t.one(q, { MessageSystemAttributeNames: ["SenderId"] })
    yield* t.equal(Object.keys(m.Attributes), ["SenderId"], "attributes")
  }),
  check("receive-both-lists", "recorded", "the current and the legacy list of names are put together", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m")
    const m = yield* t.one(q, {
      AttributeNames: ["SentTimestamp"],
      MessageSystemAttributeNames: ["ApproximateReceiveCount"]
    })
    yield* t.equal(Object.keys(m.Attributes).sort(), ["ApproximateReceiveCount", "SentTimestamp"], "attributes")
  }),
  check("receive-unknown-attribute", "inferred", "an unknown name of a system attribute is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "ReceiveMessage",
      { QueueUrl: q.url, AttributeNames: ["Nonsense"] },
      { name: "InvalidAttributeName" }
    )
  }),
  selects("receive-names-exact", ["Hello", "General"], ["General", "Hello"]),
  selects("receive-names-all", ["All"], ["General", "Hello", "Help.Me"]),
  selects("receive-names-star", [".*"], ["General", "Hello", "Help.Me"]),
  selects("receive-names-prefix", ["Hel.*"], ["Hello", "Help.Me"]),
  selects("receive-names-unknown", ["Foo"], []),
  selects("receive-names-illegal", ["AWS."], []),
  check("receive-md5-subset", "recorded", "MD5OfMessageAttributes covers what is returned", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "msg", three)
    const all = yield* t.one(q, { MessageAttributeNames: ["All"], VisibilityTimeout: 0 })
    yield* t.equal(all.MD5OfMessageAttributes, "4c360f3fdafd970e05fae2f149d997f5", "MD5 of three")
    const some = yield* t.one(q, { MessageAttributeNames: ["Hello", "General"] })
    yield* t.equal(some.MD5OfMessageAttributes, "fca026605781cb4126a1e9044df24232", "MD5 of two")
  }),
  check("receive-md5-body", "recorded", "MD5OfBody is the MD5 of the body", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "msg")
    yield* t.equal((yield* t.one(q)).MD5OfBody, "6e2baaf3b97dbeef01c0043275f9a0e7", "MD5OfBody")
  }),
  check("receive-new-handle", "validated", "every receive gives a new receipt handle", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m")
    const first = yield* t.one(q, { VisibilityTimeout: 0 })
    const second = yield* t.one(q, { VisibilityTimeout: 0 })
    yield* t.equal(second.MessageId, first.MessageId, "MessageId")
    yield* t.that(first.ReceiptHandle !== second.ReceiptHandle, "the handles are the same")
    yield* t.that(first.ReceiptHandle.length <= 1024, "the handle is longer than 1,024 characters")
  }),
  check(
    "receive-visibility-0",
    "validated",
    "a receive with VisibilityTimeout 0 leaves the message visible",
    function* (t) {
      const q = yield* t.queue()
      yield* t.send(q, "m")
      yield* t.one(q, { VisibilityTimeout: 0 })
      const m = yield* t.one(q, { AttributeNames: ["ApproximateReceiveCount"] })
      yield* t.equal(m.Attributes.ApproximateReceiveCount, "2", "receive count")
    }
  ),
  check(
    "receive-rough-order",
    "validated",
    "a message that comes again comes before a later one",
    function* (t) {
      const q = yield* t.queue()
      yield* t.send(q, "first")
      yield* t.one(q, { VisibilityTimeout: 1 })
      yield* t.send(q, "second")
      yield* t.wait(1.2)
      yield* t.bodies(q, ["first"], { MaxNumberOfMessages: 1 })
    },
    { seconds: 2 }
  ),
  check(
    "receive-attempt-same",
    "documented",
    "the same ReceiveRequestAttemptId gives the same messages and handles, and restarts their timeout",
    function* (t) {
      const q = yield* t.fifo()
      yield* t.sendTo(q, "g", "a")
      yield* t.sendTo(q, "g", "b")
      const attempt = { ReceiveRequestAttemptId: "attempt-1", VisibilityTimeout: 4 }
      const handles = (messages: ReadonlyArray<any>) => messages.map((m) => m.ReceiptHandle)
      const first = yield* t.bodies(q, ["a", "b"], attempt)
      yield* t.wait(3)
      const again = yield* t.bodies(q, ["a", "b"], attempt)
      yield* t.equal(handles(again), handles(first), "handles")
      yield* t.wait(3)
      yield* t.bodies(q, [])
      yield* t.wait(1.2)
      yield* t.bodies(q, ["a", "b"])
    },
    { seconds: 8 }
  ),
  check("receive-attempt-deleted", "issue", "an attempt is not repeatable after a delete", function* (t) {
    const q = yield* t.fifo()
    yield* t.sendTo(q, "g", "a")
    const attempt = { ReceiveRequestAttemptId: "attempt-1" }
    const [m] = yield* t.bodies(q, ["a"], attempt)
    yield* t.delete(q, m)
    yield* t.fails(
      "ReceiveMessage",
      { QueueUrl: q.url, ...attempt },
      { name: invalid, message: /attempt-1 for parameter ReceiveRequestAttemptId is invalid.*not retryable/ }
    )
  }),
  check(
    "receive-attempt-changed",
    "documented",
    "an attempt is not repeatable after a change of visibility",
    function* (t) {
      const q = yield* t.fifo()
      yield* t.sendTo(q, "g", "a")
      const attempt = { ReceiveRequestAttemptId: "attempt-1" }
      const [m] = yield* t.bodies(q, ["a"], attempt)
      yield* t.change(q, m, 20)
      yield* t.fails("ReceiveMessage", { QueueUrl: q.url, ...attempt }, { name: invalid, message: /not retryable/ })
    }
  )
]
