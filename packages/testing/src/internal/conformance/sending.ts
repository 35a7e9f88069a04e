/** Checks of sending: delay, retention, size, attributes; and of the system attributes of what is received. */
import { check, type Check, invalid } from "./kit.js"

const text = (value: string, type = "String") => ({ DataType: type, StringValue: value })
const mib = 1_048_576

export const sending: ReadonlyArray<Check> = [
  check("send-answer", "recorded", "a send answers MessageId and MD5OfMessageBody, and nothing else", function* (t) {
    const q = yield* t.queue()
    const answer = yield* t.send(q, "msg")
    yield* t.equal(Object.keys(answer).sort(), ["MD5OfMessageBody", "MessageId"], "keys of the answer")
    yield* t.equal(answer.MD5OfMessageBody, "6e2baaf3b97dbeef01c0043275f9a0e7", "MD5OfMessageBody")
  }),
  check("send-md5-attributes", "recorded", "MD5OfMessageAttributes of a send", function* (t) {
    const q = yield* t.queue()
    const MessageAttributes = { Hello: text("There"), General: text("Kenobi"), "Help.Me": text("Me") }
    const answer = yield* t.send(q, "msg", { MessageAttributes })
    yield* t.equal(answer.MD5OfMessageAttributes, "4c360f3fdafd970e05fae2f149d997f5", "MD5OfMessageAttributes")
  }),
  check(
    "send-delay",
    "documented",
    "a delayed message is hidden for its delay",
    function* (t) {
      const q = yield* t.queue()
      yield* t.send(q, "m", { DelaySeconds: 2 })
      yield* t.bodies(q, [])
      const { ApproximateNumberOfMessagesDelayed } = yield* t.attributes(q, "ApproximateNumberOfMessagesDelayed")
      yield* t.equal(ApproximateNumberOfMessagesDelayed, "1", "delayed")
      yield* t.wait(2.2)
      yield* t.bodies(q, ["m"])
    },
    { seconds: 3 }
  ),
  check(
    "send-delay-queue",
    "documented",
    "the queue's delay holds where the message says nothing",
    function* (t) {
      const q = yield* t.queue({ DelaySeconds: "2" })
      yield* t.send(q, "late")
      yield* t.send(q, "now", { DelaySeconds: 0 })
      yield* t.bodies(q, ["now"])
      yield* t.wait(2.2)
      yield* t.bodies(q, ["late"])
    },
    { seconds: 3 }
  ),
  check("send-delay-range", "issue", "a delay of 901 s is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "m", DelaySeconds: 901 },
      {
        name: invalid,
        status: 400,
        message: "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900."
      }
    )
  }),
  check(
    "send-retention",
    "documented",
    "a message is gone when its retention runs out",
    function* (t) {
      const q = yield* t.queue({ MessageRetentionPeriod: "60" })
      yield* t.send(q, "m")
      yield* t.wait(59)
      yield* t.bodies(q, ["m"], { VisibilityTimeout: 0 })
      yield* t.wait(2)
      yield* t.bodies(q, [])
    },
    { seconds: 61 }
  ),
  check(
    "send-retention-in-flight",
    "validated",
    "a message in flight expires too",
    function* (t) {
      const q = yield* t.queue({ MessageRetentionPeriod: "60" })
      yield* t.send(q, "m")
      yield* t.one(q, { VisibilityTimeout: 120 })
      yield* t.wait(61)
      const { ApproximateNumberOfMessagesNotVisible } = yield* t.attributes(q, "ApproximateNumberOfMessagesNotVisible")
      yield* t.equal(ApproximateNumberOfMessagesNotVisible, "0", "in flight")
    },
    { seconds: 61 }
  ),
  check("send-1-mib", "recorded", "a message of 1 MiB is accepted", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "a".repeat(mib))
    yield* t.equal((yield* t.one(q)).Body.length, mib, "length of the body")
  }),
  check("send-too-long", "recorded", "one byte more is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "a".repeat(mib + 1) },
      {
        name: invalid,
        status: 400,
        message: "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
      }
    )
  }),
  check("send-too-long-queue", "recorded", "the queue's MaximumMessageSize is the limit, in bytes", function* (t) {
    const q = yield* t.queue({ MaximumMessageSize: "1024" })
    yield* t.send(q, "ä".repeat(512))
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: `${"ä".repeat(512)}a` },
      {
        name: invalid,
        message: "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes."
      }
    )
  }),
  check("send-attributes-count", "documented", "names, types and values of attributes count", function* (t) {
    const q = yield* t.queue({ MaximumMessageSize: "1024" })
    const MessageAttributes = { name: text("value") }
    yield* t.send(q, "a".repeat(1024 - "nameStringvalue".length), { MessageAttributes })
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "a".repeat(1025 - "nameStringvalue".length), MessageAttributes },
      { name: invalid, message: /shorter than 1024 bytes/ }
    )
  }),
  check("send-empty", "recorded", "an empty body is MissingParameter", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "" },
      { name: "MissingParameter", status: 400, message: "The request must contain the parameter MessageBody." }
    )
  }),
  check("send-characters", "documented", "a body with a character that XML does not know is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "a\u0000b" },
      { name: "InvalidMessageContents", status: 400 }
    )
    yield* t.send(q, "tab\t line\n return\r ünï 漢字 😀")
    yield* t.bodies(q, ["tab\t line\n return\r ünï 漢字 😀"])
  }),
  check("send-ten-attributes", "documented", "ten attributes are accepted, eleven are not", function* (t) {
    const q = yield* t.queue()
    const some = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`a${i}`, text("v")]))
    yield* t.send(q, "m", { MessageAttributes: some(10) })
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "m", MessageAttributes: some(11) },
      { name: invalid, status: 400 }
    )
  }),
  check("send-empty-attribute", "recorded", "an attribute with an empty value is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "m", MessageAttributes: { ErrorDetails: text("") } },
      {
        name: invalid,
        message: "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'."
      }
    )
  }),
  check("send-attribute-type", "documented", "a type other than String, Number, Binary is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "m", MessageAttributes: { a: text("v", "Nonsense") } },
      { name: invalid, status: 400 }
    )
  }),
  check("send-attribute-number", "documented", "a Number that is none is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "m", MessageAttributes: { a: text("seven", "Number") } },
      { name: invalid, status: 400 }
    )
  }),
  check("send-attribute-names", "documented", "names that are reserved or malformed are refused", function* (t) {
    const q = yield* t.queue()
    for (const name of ["AWS.a", "aws.a", "Amazon.a", ".a", "a.", "a..b", "a b"]) {
      const MessageAttributes = { [name]: text("v") }
      yield* t.fails("SendMessage", { QueueUrl: q.url, MessageBody: "m", MessageAttributes }, { name: invalid })
    }
    yield* t.send(q, "m", { MessageAttributes: { "A-b_c.9": text("v") } })
  }),
  check("send-attribute-lists", "issue", "list values are UnsupportedOperation", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "SendMessageBatch",
      {
        QueueUrl: q.url,
        Entries: [
          {
            Id: "1",
            MessageBody: "m",
            MessageAttributes: { a: { DataType: "String", StringValue: "v", StringListValues: ["v"] } }
          }
        ]
      },
      {
        name: "UnsupportedOperation",
        message: "Message attribute list values in SendMessageBatch operation are not supported."
      }
    )
  }),
  check(
    "send-attribute-types",
    "recorded",
    "binary values, numbers and custom types come back as they were",
    function* (t) {
      const q = yield* t.queue()
      const MessageAttributes = {
        binary: { DataType: "Binary", BinaryValue: new Uint8Array([0, 1, 127, 128, 255]) },
        custom: { DataType: "Binary.png", BinaryValue: new Uint8Array([1]) },
        id: text("7", "Number.int"),
        word: text("x", "String.utf8")
      }
      yield* t.send(q, "m", { MessageAttributes })
      const m = yield* t.one(q, { MessageAttributeNames: ["All"] })
      yield* t.equal(m.MessageAttributes, MessageAttributes, "MessageAttributes")
    }
  ),
  check(
    "send-trace-header",
    "documented",
    "AWSTraceHeader comes back as a system attribute, and does not count",
    function* (t) {
      const q = yield* t.queue({ MaximumMessageSize: "1024" })
      const header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
      const answer = yield* t.send(q, "a".repeat(1024), { MessageSystemAttributes: { AWSTraceHeader: text(header) } })
      yield* t.equal(/^[0-9a-f]{32}$/.test(answer.MD5OfMessageSystemAttributes), true, "MD5OfMessageSystemAttributes")
      const { Attributes } = yield* t.one(q, { AttributeNames: ["AWSTraceHeader"] })
      yield* t.equal(Attributes, { AWSTraceHeader: header }, "attributes")
    }
  ),
  check(
    "system-counts",
    "recorded",
    "the receive count counts, the first receive keeps its time, in ms as a string",
    function* (t) {
      const q = yield* t.queue()
      const before = yield* t.door.now
      yield* t.send(q, "m")
      const first = yield* t.one(q, { AttributeNames: ["All"], VisibilityTimeout: 0 })
      yield* t.wait(1)
      const second = yield* t.one(q, { AttributeNames: ["All"] })
      yield* t.equal(first.Attributes.ApproximateReceiveCount, "1", "first count")
      yield* t.equal(second.Attributes.ApproximateReceiveCount, "2", "second count")
      yield* t.equal(
        second.Attributes.ApproximateFirstReceiveTimestamp,
        first.Attributes.ApproximateFirstReceiveTimestamp,
        "first receive"
      )
      const sent = Number(first.Attributes.SentTimestamp)
      yield* t.that(Math.abs(sent - before) <= 5000 + t.door.toleranceMs, `sent at ${sent}, it is ${before}`)
    },
    { seconds: 1 }
  )
]
