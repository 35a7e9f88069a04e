/** Checks of FIFO queues: groups, order, deduplication. */
import { check, type Check, invalid, type T } from "./kit.js"

const idText = (id: string, parameter: string) =>
  `Value ${id} for parameter ${parameter} is invalid. ` +
  `Reason: ${parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length.`

const notForThisKind = /not valid for this queue type/

const refusesGroup = (id: string, title: string, group: string) =>
  check(id, "recorded", title, function* (t) {
    const q = yield* t.fifo()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "m", MessageGroupId: group, MessageDeduplicationId: "d" },
      { name: invalid, status: 400, message: idText(group, "MessageGroupId") }
    )
  })

/** foo, bar, baz of one group received for 1 s, one of them extended to 4 s: what comes after 2 s. */
const blocks = (id: string, extended: string, expected: ReadonlyArray<string>) =>
  check(
    id,
    "recorded",
    `of foo, bar, baz in one group a hidden ${extended} lets ${expected.length === 0 ? "nothing" : expected.join(", ")} through`,
    function* (t) {
      const q = yield* t.fifo()
      for (const body of ["foo", "bar", "baz"]) yield* t.sendTo(q, "g", body)
      const messages = yield* t.bodies(q, ["foo", "bar", "baz"], { VisibilityTimeout: 1 })
      yield* t.change(
        q,
        messages.find((m) => m.Body === extended),
        4
      )
      yield* t.wait(2)
      yield* t.bodies(q, expected)
    },
    { seconds: 2 }
  )

const sends = (t: T, q: { url: string; arn: string; name: string }, all: ReadonlyArray<string>) =>
  t.ok("SendMessageBatch", {
    QueueUrl: q.url,
    Entries: all.map((body, i) => ({
      Id: String(i),
      MessageBody: body,
      MessageGroupId: body.split("-")[0],
      MessageDeduplicationId: body
    }))
  })

export const fifo: ReadonlyArray<Check> = [
  check(
    "fifo-group-first",
    "validated",
    "one receive takes what it can of one group, in order, then of the next",
    function* (t) {
      const q = yield* t.fifo()
      yield* sends(t, q, ["g1-m1", "g2-m1", "g1-m2", "g1-m3"])
      yield* t.bodies(q, ["g1-m1", "g1-m2", "g1-m3", "g2-m1"])
    }
  ),
  check("fifo-lock", "validated", "a group with a message in flight gives no more, other groups do", function* (t) {
    const q = yield* t.fifo()
    yield* sends(t, q, ["g1-m1", "g1-m2", "g2-m1"])
    yield* t.bodies(q, ["g1-m1"], { MaxNumberOfMessages: 1 })
    yield* t.bodies(q, ["g2-m1"])
    yield* t.bodies(q, [])
  }),
  check("fifo-lock-new-send", "validated", "a new send does not unlock its group", function* (t) {
    const q = yield* t.fifo()
    yield* t.sendTo(q, "g", "a")
    yield* t.bodies(q, ["a"])
    yield* t.sendTo(q, "g", "b")
    yield* t.bodies(q, [])
  }),
  check("fifo-delete-unlocks", "validated", "deleting what is in flight unlocks the group", function* (t) {
    const q = yield* t.fifo()
    yield* sends(t, q, ["g-1", "g-2"])
    const [m] = yield* t.bodies(q, ["g-1"], { MaxNumberOfMessages: 1 })
    yield* t.delete(q, m)
    yield* t.bodies(q, ["g-2"])
  }),
  check("fifo-delete-wakes", "validated", "and wakes a long poll", function* (t) {
    const q = yield* t.fifo()
    yield* sends(t, q, ["g-1", "g-2"])
    const [m] = yield* t.bodies(q, ["g-1"], { MaxNumberOfMessages: 1 })
    const poll = yield* t.poll(q, 10)
    yield* t.delete(q, m)
    yield* t.equal((yield* poll).bodies, ["g-2"], "received")
  }),
  check("fifo-partial-delete", "validated", "deleting a part of what is in flight does not", function* (t) {
    const q = yield* t.fifo()
    yield* sends(t, q, ["g-1", "g-2", "g-3"])
    const [m] = yield* t.bodies(q, ["g-1", "g-2"], { MaxNumberOfMessages: 2 })
    yield* t.delete(q, m)
    yield* t.bodies(q, [])
  }),
  check(
    "fifo-order-again",
    "validated",
    "after the timeout messages come again in the order of their sends",
    function* (t) {
      const q = yield* t.fifo()
      yield* sends(t, q, ["g-1", "g-2", "g-3"])
      yield* t.bodies(q, ["g-1", "g-2", "g-3"], { VisibilityTimeout: 1 })
      yield* t.wait(1.2)
      yield* t.bodies(q, ["g-1", "g-2", "g-3"])
    },
    { seconds: 2 }
  ),
  check("fifo-release-first", "validated", "giving the first message back frees the group for it alone", function* (t) {
    const q = yield* t.fifo()
    yield* sends(t, q, ["g-1", "g-2"])
    const [first] = yield* t.bodies(q, ["g-1", "g-2"])
    yield* t.change(q, first, 0)
    yield* t.bodies(q, ["g-1"])
  }),
  check(
    "fifo-release-second",
    "inferred",
    "giving the second message back frees nothing while the first is hidden",
    function* (t) {
      const q = yield* t.fifo()
      yield* sends(t, q, ["g-1", "g-2"])
      const [, second] = yield* t.bodies(q, ["g-1", "g-2"])
      yield* t.change(q, second, 0)
      yield* t.bodies(q, [])
    }
  ),
  blocks("fifo-hidden-first", "foo", []),
  blocks("fifo-hidden-second", "bar", ["foo"]),
  blocks("fifo-hidden-third", "baz", ["foo", "bar"]),
  check("fifo-visibility-0", "validated", "a receive with VisibilityTimeout 0 does not lock", function* (t) {
    const q = yield* t.fifo()
    yield* sends(t, q, ["g-1"])
    yield* t.bodies(q, ["g-1"], { VisibilityTimeout: 0 })
    yield* t.bodies(q, ["g-1"])
  }),
  check("fifo-emptied-group", "recorded", "an emptied group works again", function* (t) {
    const q = yield* t.fifo()
    yield* t.sendTo(q, "g", "a")
    yield* t.delete(q, yield* t.one(q))
    yield* t.sendTo(q, "g", "b")
    yield* t.bodies(q, ["b"])
  }),
  check("fifo-attributes", "recorded", "All gives group, deduplication id and sequence number", function* (t) {
    const q = yield* t.fifo()
    const sent = yield* t.send(q, "m", { MessageGroupId: "group-1", MessageDeduplicationId: "dedup-1" })
    const { Attributes } = yield* t.one(q, { AttributeNames: ["All"] })
    const { MessageDeduplicationId, MessageGroupId, SequenceNumber } = Attributes
    yield* t.equal(
      { MessageDeduplicationId, MessageGroupId, SequenceNumber },
      {
        MessageDeduplicationId: "dedup-1",
        MessageGroupId: "group-1",
        SequenceNumber: sent.SequenceNumber
      },
      "attributes"
    )
  }),
  check("fifo-sequence", "documented", "sequence numbers have 20 digits and grow", function* (t) {
    const q = yield* t.fifo()
    const { SequenceNumber: a } = yield* t.sendTo(q, "g", "a")
    const { SequenceNumber: b } = yield* t.sendTo(q, "h", "b")
    yield* t.that(/^\d{20}$/.test(a) && /^\d{20}$/.test(b) && a < b, `expected growing numbers, found ${a}, ${b}`)
  }),
  check(
    "fifo-deduplication",
    "recorded",
    "a second send under one id succeeds, tells the first message, and stores none",
    function* (t) {
      const q = yield* t.fifo()
      const send = () => t.send(q, "m", { MessageGroupId: "g", MessageDeduplicationId: "d" })
      const first = yield* send()
      const second = yield* send()
      yield* t.equal(
        [second.MessageId, second.SequenceNumber],
        [first.MessageId, first.SequenceNumber],
        "second answer"
      )
      yield* t.bodies(q, ["m"])
    }
  ),
  check("fifo-deduplication-deleted", "recorded", "so it is after the message was deleted", function* (t) {
    const q = yield* t.fifo()
    const send = () => t.send(q, "m", { MessageGroupId: "g", MessageDeduplicationId: "d" })
    yield* send()
    yield* t.delete(q, yield* t.one(q))
    yield* send()
    yield* t.bodies(q, [])
  }),
  check(
    "fifo-deduplication-window",
    "documented",
    "a deduplication id is free again after five minutes",
    function* (t) {
      const q = yield* t.fifo()
      const send = () => t.send(q, "m", { MessageGroupId: "g", MessageDeduplicationId: "d" })
      const first = yield* send()
      yield* t.wait(299)
      yield* t.equal((yield* send()).MessageId, first.MessageId, "message at 4:59")
      yield* t.wait(2)
      yield* t.that((yield* send()).MessageId !== first.MessageId, "the message at 5:01 is the first one")
    },
    { seconds: 301 }
  ),
  check("fifo-deduplication-purge", "validated", "a purge forgets the deduplication ids", function* (t) {
    const q = yield* t.fifo()
    yield* t.sendTo(q, "g", "m")
    yield* t.ok("PurgeQueue", { QueueUrl: q.url })
    yield* t.sendTo(q, "g", "m")
    yield* t.bodies(q, ["m"])
  }),
  check(
    "fifo-content-based",
    "documented",
    "content-based deduplication goes by the body, not by attributes",
    function* (t) {
      const q = yield* t.fifo({ ContentBasedDeduplication: "true" })
      const first = yield* t.send(q, "m", { MessageGroupId: "g" })
      const second = yield* t.send(q, "m", {
        MessageGroupId: "g",
        MessageAttributes: { a: { DataType: "String", StringValue: "other" } }
      })
      yield* t.equal(second.MessageId, first.MessageId, "second MessageId")
    }
  ),
  check("fifo-content-based-id", "documented", "the id is then the SHA-256 of the body", function* (t) {
    const q = yield* t.fifo({ ContentBasedDeduplication: "true" })
    yield* t.send(q, "abc", { MessageGroupId: "g" })
    const { Attributes } = yield* t.one(q, { AttributeNames: ["MessageDeduplicationId"] })
    yield* t.equal(
      Attributes.MessageDeduplicationId,
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      "MessageDeduplicationId"
    )
  }),
  check("fifo-scope-queue", "recorded", "one id in two groups is a duplicate, by default", function* (t) {
    const q = yield* t.fifo()
    yield* t.send(q, "a", { MessageGroupId: "g1", MessageDeduplicationId: "d" })
    yield* t.send(q, "b", { MessageGroupId: "g2", MessageDeduplicationId: "d" })
    yield* t.bodies(q, ["a"])
  }),
  check("fifo-scope-group", "recorded", "with DeduplicationScope messageGroup it is none", function* (t) {
    const q = yield* t.fifo({ DeduplicationScope: "messageGroup" })
    yield* t.send(q, "a", { MessageGroupId: "g1", MessageDeduplicationId: "d" })
    yield* t.send(q, "b", { MessageGroupId: "g2", MessageDeduplicationId: "d" })
    const messages = yield* t.receive(q)
    yield* t.equal(messages.map((m) => m.Body).sort(), ["a", "b"], "received bodies")
  }),
  refusesGroup("fifo-group-space", "a group id with a space", "group 123"),
  refusesGroup("fifo-group-long", "a group id of 129 characters", "g".repeat(129)),
  refusesGroup("fifo-group-empty", "an empty group id", ""),
  check("fifo-deduplication-id-space", "recorded", "a deduplication id with a space", function* (t) {
    const q = yield* t.fifo()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "m", MessageGroupId: "g", MessageDeduplicationId: "d 1" },
      { name: invalid, message: idText("d 1", "MessageDeduplicationId") }
    )
  }),
  check("fifo-no-group", "recorded", "a send without a group id is MissingParameter", function* (t) {
    const q = yield* t.fifo()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "m", MessageDeduplicationId: "d" },
      { name: "MissingParameter", status: 400, message: "The request must contain the parameter MessageGroupId." }
    )
  }),
  check("fifo-no-deduplication", "recorded", "a send without a deduplication id is refused", function* (t) {
    const q = yield* t.fifo()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "m", MessageGroupId: "g" },
      {
        name: invalid,
        message:
          "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
      }
    )
  }),
  check("fifo-delay", "recorded", "a delay of one message is refused", function* (t) {
    const q = yield* t.fifo()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "m", MessageGroupId: "g", MessageDeduplicationId: "d", DelaySeconds: 2 },
      {
        name: invalid,
        message:
          "Value 2 for parameter DelaySeconds is invalid. " +
          "Reason: The request include parameter that is not valid for this queue type."
      }
    )
  }),
  check("fifo-delay-0", "recorded", "a delay of 0 is accepted", function* (t) {
    const q = yield* t.fifo()
    yield* t.sendTo(q, "g", "m", { DelaySeconds: 0 })
    yield* t.bodies(q, ["m"])
  }),
  check(
    "fifo-delay-changed",
    "documented",
    "a changed delay of the queue holds for messages that are in it",
    function* (t) {
      const q = yield* t.fifo({ DelaySeconds: "900" })
      yield* t.sendTo(q, "g", "m")
      yield* t.bodies(q, [])
      yield* t.ok("SetQueueAttributes", { QueueUrl: q.url, Attributes: { DelaySeconds: "1" } })
      yield* t.wait(2)
      yield* t.bodies(q, ["m"])
    },
    { seconds: 2 }
  ),
  check(
    "fair-group",
    "recorded",
    "a group id on a standard queue is accepted and told, and locks nothing",
    function* (t) {
      const q = yield* t.queue()
      for (const body of ["a", "b"]) yield* t.send(q, body, { MessageGroupId: "tenant" })
      const first = yield* t.one(q, { AttributeNames: ["MessageGroupId"] })
      yield* t.equal(first.Attributes, { MessageGroupId: "tenant" }, "attributes")
      yield* t.one(q)
    }
  ),
  check("fair-deduplication", "inferred", "a deduplication id on a standard queue is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "SendMessage",
      { QueueUrl: q.url, MessageBody: "m", MessageDeduplicationId: "d" },
      { name: invalid, message: notForThisKind }
    )
  })
]
