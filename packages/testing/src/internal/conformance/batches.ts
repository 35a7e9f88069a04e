/** Checks of the batch calls, and of the quota of messages in flight. */
import { check, type Check, invalid, type T } from "./kit.js"

const shapes = {
  SendMessageBatch: "SendMessageBatchRequestEntry",
  DeleteMessageBatch: "DeleteMessageBatchRequestEntry",
  ChangeMessageVisibilityBatch: "ChangeMessageVisibilityBatchRequestEntry"
} as const
type Batch = keyof typeof shapes

const entry = (batch: Batch, Id: string) =>
  batch === "SendMessageBatch"
    ? { Id, MessageBody: "m" }
    : batch === "DeleteMessageBatch"
      ? { Id, ReceiptHandle: "handle" }
      : { Id, ReceiptHandle: "handle", VisibilityTimeout: 1 }

const short: { readonly [K in Batch]: string } = {
  SendMessageBatch: "send",
  DeleteMessageBatch: "delete",
  ChangeMessageVisibilityBatch: "change"
}

const everyBatch = (make: (batch: Batch, name: string) => Check): ReadonlyArray<Check> =>
  (Object.keys(shapes) as Array<Batch>).map((batch) => make(batch, short[batch]))

const badId =
  "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long."

const refusesId = (id: string, title: string, Id: string) =>
  check(id, "recorded", title, function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "DeleteMessageBatch",
      { QueueUrl: q.url, Entries: [entry("DeleteMessageBatch", Id)] },
      { name: "InvalidBatchEntryId", status: 400, message: badId }
    )
  })

export const batches: ReadonlyArray<Check> = [
  ...everyBatch((batch, name) =>
    check(`batch-${name}-empty`, "validated", `${batch} without entries`, function* (t) {
      const q = yield* t.queue()
      yield* t.fails(
        batch,
        { QueueUrl: q.url, Entries: [] },
        {
          name: "EmptyBatchRequest",
          status: 400,
          message: `There should be at least one ${shapes[batch]} in the request.`
        }
      )
    })
  ),
  ...everyBatch((batch, name) =>
    check(`batch-${name}-too-many`, "recorded", `${batch} with 20 entries`, function* (t) {
      const q = yield* t.queue()
      const Entries = Array.from({ length: 20 }, (_, i) => entry(batch, String(i)))
      yield* t.fails(
        batch,
        { QueueUrl: q.url, Entries },
        {
          name: "TooManyEntriesInBatchRequest",
          status: 400,
          message: "Maximum number of entries per request are 10. You have sent 20."
        }
      )
    })
  ),
  ...everyBatch((batch, name) =>
    check(`batch-${name}-ids-repeated`, "validated", `${batch} with an id twice`, function* (t) {
      const q = yield* t.queue()
      const Entries = ["id_1", "id_2", "id_2"].map((id) => entry(batch, id))
      yield* t.fails(
        batch,
        { QueueUrl: q.url, Entries },
        { name: "BatchEntryIdsNotDistinct", status: 400, message: "Id id_2 repeated." }
      )
    })
  ),
  refusesId("batch-id-characters", "an id with a colon", "invalid:id"),
  refusesId("batch-id-empty", "an empty id", ""),
  refusesId("batch-id-long", "an id of 81 characters", "i".repeat(81)),
  check("batch-send-too-long", "recorded", "a batch of one byte more than 1 MiB", function* (t) {
    const q = yield* t.queue()
    const Entries = [
      { Id: "1", MessageBody: "a".repeat(524_288) },
      { Id: "2", MessageBody: "a".repeat(524_289) }
    ]
    yield* t.fails(
      "SendMessageBatch",
      { QueueUrl: q.url, Entries },
      {
        name: "BatchRequestTooLong",
        status: 400,
        message: "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."
      }
    )
  }),
  check("batch-send-partial", "recorded", "an entry that is too long fails alone, as data", function* (t) {
    const q = yield* t.queue({ MaximumMessageSize: "1024" })
    const { Failed, Successful } = yield* t.ok("SendMessageBatch", {
      QueueUrl: q.url,
      Entries: [
        { Id: "long", MessageBody: "a".repeat(1025) },
        { Id: "good", MessageBody: "a" }
      ]
    })
    yield* t.equal(
      Failed,
      [
        {
          Id: "long",
          Code: invalid,
          Message: "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.",
          SenderFault: true
        }
      ],
      "Failed"
    )
    yield* t.equal(
      Successful.map((s: any) => s.Id),
      ["good"],
      "ids of Successful"
    )
  }),
  check("batch-send-answer", "recorded", "a batch answers id and MD5s of each entry, and no Failed", function* (t) {
    const q = yield* t.queue()
    const answer = yield* t.ok("SendMessageBatch", {
      QueueUrl: q.url,
      Entries: [
        { Id: "1", MessageBody: "a", MessageAttributes: { Hello: { DataType: "String", StringValue: "There" } } }
      ]
    })
    yield* t.equal(answer.Failed, undefined, "Failed")
    const [one] = answer.Successful
    yield* t.equal(
      Object.keys(one).sort(),
      ["Id", "MD5OfMessageAttributes", "MD5OfMessageBody", "MessageId"],
      "keys of the entry"
    )
    yield* t.equal(one.MD5OfMessageBody, "0cc175b9c0f1b6a831c399e269772661", "MD5OfMessageBody")
    yield* t.equal(one.MD5OfMessageAttributes, "a311262e065454b75da111d535b8dacd", "MD5OfMessageAttributes")
  }),
  check("batch-delete", "validated", "a delete batch deletes, and answers the ids", function* (t) {
    const q = yield* t.queue()
    for (const body of ["a", "b", "c"]) yield* t.send(q, body)
    const messages = yield* t.receive(q)
    const { Failed, Successful } = yield* t.ok("DeleteMessageBatch", {
      QueueUrl: q.url,
      Entries: messages.map((m, i) => ({ Id: `m${i}`, ReceiptHandle: m.ReceiptHandle }))
    })
    yield* t.equal(Failed, undefined, "Failed")
    yield* t.equal(
      Successful,
      messages.map((_, i) => ({ Id: `m${i}` })),
      "Successful"
    )
  }),
  check(
    "batch-delete-partial",
    "issue",
    "a handle that never was one fails alone, by the sender's fault",
    function* (t) {
      const q = yield* t.queue()
      yield* t.send(q, "a")
      const { ReceiptHandle } = yield* t.one(q)
      const { Failed, Successful } = yield* t.ok("DeleteMessageBatch", {
        QueueUrl: q.url,
        Entries: [
          { Id: "good", ReceiptHandle },
          { Id: "bad", ReceiptHandle: "garbage" }
        ]
      })
      yield* t.equal(Successful, [{ Id: "good" }], "Successful")
      yield* t.equal(
        Failed.map((f: any) => [f.Id, f.Code, f.SenderFault]),
        [["bad", "ReceiptHandleIsInvalid", true]],
        "Failed"
      )
    }
  ),
  check("batch-delete-all-fail", "inferred", "where all fail there is no Successful", function* (t) {
    const q = yield* t.queue()
    const { Failed, Successful } = yield* t.ok("DeleteMessageBatch", {
      QueueUrl: q.url,
      Entries: [{ Id: "bad", ReceiptHandle: "garbage" }]
    })
    yield* t.equal([Successful, Failed.length], [undefined, 1], "Successful, number of Failed")
  }),
  check("batch-delete-same-message", "issue", "two entries may delete one message", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "a")
    const first = yield* t.one(q, { VisibilityTimeout: 0 })
    const second = yield* t.one(q)
    const { Successful } = yield* t.ok("DeleteMessageBatch", {
      QueueUrl: q.url,
      Entries: [first, second].map((m, i) => ({ Id: String(i), ReceiptHandle: m.ReceiptHandle }))
    })
    yield* t.equal(Successful.length, 2, "number of Successful")
  }),
  check("batch-change", "validated", "a change batch changes each entry by its own timeout", function* (t) {
    const q = yield* t.queue()
    for (const body of ["a", "b"]) yield* t.send(q, body)
    const messages = yield* t.receive(q)
    const { Successful } = yield* t.ok("ChangeMessageVisibilityBatch", {
      QueueUrl: q.url,
      Entries: messages.map((m, i) => ({
        Id: String(i),
        ReceiptHandle: m.ReceiptHandle,
        VisibilityTimeout: m.Body === "a" ? 0 : 60
      }))
    })
    yield* t.equal(Successful.length, 2, "number of Successful")
    yield* t.bodies(q, ["a"])
  }),
  check("batch-change-deleted", "validated", "a deleted message fails alone in a change batch", function* (t) {
    const q = yield* t.queue()
    for (const body of ["a", "b"]) yield* t.send(q, body)
    const [first, second] = yield* t.receive(q)
    yield* t.delete(q, first)
    const { Failed, Successful } = yield* t.ok("ChangeMessageVisibilityBatch", {
      QueueUrl: q.url,
      Entries: [first, second].map((m, i) => ({
        Id: String(i),
        ReceiptHandle: m.ReceiptHandle,
        VisibilityTimeout: 60
      }))
    })
    yield* t.equal(Successful, [{ Id: "1" }], "Successful")
    yield* t.equal(
      Failed.map((f: any) => [f.Id, f.Code]),
      [["0", invalid]],
      "Failed"
    )
  }),
  check("batch-fifo-no-deduplication", "recorded", "a FIFO batch without deduplication ids is refused", function* (t) {
    const q = yield* t.fifo()
    yield* t.fails(
      "SendMessageBatch",
      { QueueUrl: q.url, Entries: [{ Id: "1", MessageBody: "m", MessageGroupId: "g" }] },
      {
        name: invalid,
        status: 400,
        message:
          "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
      }
    )
  }),
  check("batch-fifo-no-group", "recorded", "a FIFO batch without group ids is refused", function* (t) {
    const q = yield* t.fifo({ ContentBasedDeduplication: "true" })
    yield* t.fails(
      "SendMessageBatch",
      { QueueUrl: q.url, Entries: [{ Id: "1", MessageBody: "m" }] },
      { name: invalid, status: 400, message: "The request must contain the parameter MessageGroupId." }
    )
  })
]

const fill = function* (t: T, kind: "standard" | "fifo") {
  const q = yield* t.queue({}, kind)
  const limit = t.door.inFlightLimit ?? 0
  for (let i = 0; i <= limit; i++) {
    yield* kind === "fifo" ? t.sendTo(q, `g${i}`, `m${i}`) : t.send(q, `m${i}`)
  }
  let received = 0
  while (received < limit) {
    const messages = yield* t.receive(q)
    yield* t.that(messages.length > 0, `received only ${received} of ${limit}`)
    received += messages.length
  }
  yield* t.equal(received, limit, "messages in flight")
  return q
}

export const limits: ReadonlyArray<Check> = [
  check(
    "limit-short-poll",
    "documented",
    "a short poll of a standard queue with too many messages in flight is OverLimit",
    function* (t) {
      const q = yield* fill(t, "standard")
      yield* t.fails("ReceiveMessage", { QueueUrl: q.url }, { name: "OverLimit", status: 403 })
    },
    { needs: "inFlightLimit" }
  ),
  check(
    "limit-long-poll",
    "documented",
    "a long poll then finds nothing, and is no error",
    function* (t) {
      const q = yield* fill(t, "standard")
      const poll = yield* t.poll(q, 1)
      yield* t.wait(1)
      yield* t.equal((yield* poll).bodies, [], "received")
    },
    { seconds: 1, needs: "inFlightLimit" }
  ),
  check(
    "limit-fifo",
    "documented",
    "on a FIFO queue it is no error either",
    function* (t) {
      const q = yield* fill(t, "fifo")
      yield* t.bodies(q, [])
    },
    { needs: "inFlightLimit" }
  )
]
