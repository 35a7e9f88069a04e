/** Checks of ChangeMessageVisibility and DeleteMessage: what a receipt handle is worth. */
import { check, invalid } from "./kit.js"

const gone = (handle: string) =>
  `Value ${handle} for parameter ReceiptHandle is invalid. ` +
  "Reason: Message does not exist or is not available for visibility timeout change."
const expired = (handle: string) =>
  `Value ${handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`
const beyond = (seconds: number) =>
  `Value ${seconds} for parameter VisibilityTimeout is invalid. ` +
  "Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"

export const visibility = [
  check(
    "visibility-end",
    "documented",
    "a message is hidden for the queue's visibility timeout, and visible at its end",
    function* (t) {
      const q = yield* t.queue({ VisibilityTimeout: "3" })
      yield* t.send(q, "m")
      yield* t.one(q)
      yield* t.wait(2.5)
      yield* t.bodies(q, [])
      yield* t.wait(0.6)
      yield* t.bodies(q, ["m"])
    },
    { seconds: 4 }
  ),
  check(
    "visibility-from-call",
    "documented",
    "a change counts from its call, and can shorten",
    function* (t) {
      const q = yield* t.queue({ VisibilityTimeout: "60" })
      yield* t.send(q, "m")
      const m = yield* t.one(q)
      yield* t.wait(1)
      yield* t.change(q, m, 2)
      yield* t.wait(1.5)
      yield* t.bodies(q, [])
      yield* t.wait(0.7)
      yield* t.bodies(q, ["m"])
    },
    { seconds: 4 }
  ),
  check(
    "visibility-extend",
    "validated",
    "a change extends",
    function* (t) {
      const q = yield* t.queue({ VisibilityTimeout: "2" })
      yield* t.send(q, "m")
      const m = yield* t.one(q)
      yield* t.wait(1)
      yield* t.change(q, m, 3)
      yield* t.wait(2)
      yield* t.bodies(q, [])
      yield* t.wait(1.2)
      yield* t.bodies(q, ["m"])
    },
    { seconds: 5 }
  ),
  check("visibility-0", "validated", "a change to 0 gives the message back at once", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m")
    const m = yield* t.one(q)
    yield* t.change(q, m, 0)
    const again = yield* t.one(q, { AttributeNames: ["ApproximateReceiveCount"] })
    yield* t.equal(again.Attributes.ApproximateReceiveCount, "2", "receive count")
    yield* t.that(again.ReceiptHandle !== m.ReceiptHandle, "the handle is the old one")
  }),
  check(
    "visibility-not-kept",
    "validated",
    "a change is not remembered for the next receive",
    function* (t) {
      const q = yield* t.queue({ VisibilityTimeout: "2" })
      yield* t.send(q, "m")
      const m = yield* t.one(q)
      yield* t.change(q, m, 0)
      yield* t.one(q)
      yield* t.wait(1)
      yield* t.bodies(q, [])
      yield* t.wait(1.2)
      yield* t.bodies(q, ["m"])
    },
    { seconds: 3 }
  ),
  check("visibility-cap", "issue", "a change to 43,200 s right after the receive is beyond the limit", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m")
    const { ReceiptHandle } = yield* t.one(q)
    yield* t.wait(0.01)
    yield* t.fails(
      "ChangeMessageVisibility",
      { QueueUrl: q.url, ReceiptHandle, VisibilityTimeout: 43_200 },
      { name: invalid, status: 400, message: beyond(43_200) }
    )
  }),
  check("visibility-cap-below", "issue", "a change to 43,195 s right after the receive works", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m")
    yield* t.change(q, yield* t.one(q), 43_195)
  }),
  check(
    "visibility-cap-unchanged",
    "inferred",
    "a change beyond the limit leaves the timeout as it was",
    function* (t) {
      const q = yield* t.queue({ VisibilityTimeout: "2" })
      yield* t.send(q, "m")
      const { ReceiptHandle } = yield* t.one(q)
      yield* t.wait(1)
      yield* t.fails(
        "ChangeMessageVisibility",
        { QueueUrl: q.url, ReceiptHandle, VisibilityTimeout: 43_200 },
        { name: invalid }
      )
      yield* t.wait(1.2)
      yield* t.bodies(q, ["m"])
    },
    { seconds: 3 }
  ),
  check(
    "visibility-cap-heartbeat",
    "documented",
    "changes do not restart the 12 hours: the last one is refused, and the message is visible in time",
    function* (t) {
      const q = yield* t.queue({ VisibilityTimeout: "12000" })
      yield* t.send(q, "m")
      const m = yield* t.one(q)
      for (let hours = 0; hours < 3; hours++) {
        yield* t.wait(10_000)
        yield* t.change(q, m, 12_000)
      }
      yield* t.wait(2000)
      yield* t.fails(
        "ChangeMessageVisibility",
        { QueueUrl: q.url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 12_000 },
        { name: invalid, message: beyond(12_000) }
      )
      yield* t.wait(9_900)
      yield* t.bodies(q, [])
      yield* t.wait(101)
      yield* t.bodies(q, ["m"])
    },
    { seconds: 42_001 }
  ),
  check("visibility-deleted", "validated", "a change after the delete is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m")
    const m = yield* t.one(q)
    yield* t.delete(q, m)
    yield* t.fails(
      "ChangeMessageVisibility",
      { QueueUrl: q.url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 30 },
      { name: invalid, status: 400, message: gone(m.ReceiptHandle) }
    )
  }),
  check("visibility-deleted-fifo", "validated", "so it is on a FIFO queue", function* (t) {
    const q = yield* t.fifo()
    yield* t.sendTo(q, "g", "m")
    const m = yield* t.one(q)
    yield* t.delete(q, m)
    yield* t.fails(
      "ChangeMessageVisibility",
      { QueueUrl: q.url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 30 },
      { name: invalid, message: gone(m.ReceiptHandle) }
    )
  }),
  check(
    "visibility-expired",
    "recorded",
    "a change after the timeout ran out is answered with success on a standard queue",
    function* (t) {
      const q = yield* t.queue()
      yield* t.send(q, "m")
      const m = yield* t.one(q, { VisibilityTimeout: 1 })
      yield* t.wait(1.2)
      yield* t.change(q, m, 2)
    },
    { seconds: 2 }
  ),
  check(
    "visibility-old-handle",
    "validated",
    "an older handle changes a message that was received again",
    function* (t) {
      const q = yield* t.queue()
      yield* t.send(q, "m")
      const old = yield* t.one(q, { VisibilityTimeout: 0 })
      yield* t.one(q, { VisibilityTimeout: 30 })
      yield* t.change(q, old, 0)
      yield* t.bodies(q, ["m"])
    }
  ),
  check("visibility-garbage", "validated", "what never was a handle is ReceiptHandleIsInvalid", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "ChangeMessageVisibility",
      { QueueUrl: q.url, ReceiptHandle: "garbage", VisibilityTimeout: 1 },
      { name: "ReceiptHandleIsInvalid", status: 404 }
    )
  }),
  check("visibility-other-queue", "issue", "a handle of another queue is ReceiptHandleIsInvalid", function* (t) {
    const q = yield* t.queue()
    const other = yield* t.queue()
    yield* t.send(q, "m")
    const { ReceiptHandle } = yield* t.one(q)
    yield* t.fails(
      "ChangeMessageVisibility",
      { QueueUrl: other.url, ReceiptHandle, VisibilityTimeout: 1 },
      { name: "ReceiptHandleIsInvalid", message: `The receipt handle "${ReceiptHandle}" is not valid for this queue.` }
    )
  }),
  check("visibility-range", "documented", "a change to 43,201 s is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m")
    const { ReceiptHandle } = yield* t.one(q)
    yield* t.fails(
      "ChangeMessageVisibility",
      { QueueUrl: q.url, ReceiptHandle, VisibilityTimeout: 43_201 },
      { name: invalid, status: 400 }
    )
  })
]

export const deleting = [
  check(
    "delete-in-flight",
    "validated",
    "a deleted message does not come back",
    function* (t) {
      const q = yield* t.queue()
      yield* t.send(q, "m")
      yield* t.delete(q, yield* t.one(q, { VisibilityTimeout: 1 }))
      yield* t.wait(1.2)
      yield* t.bodies(q, [])
    },
    { seconds: 2 }
  ),
  check("delete-in-flight-fifo", "validated", "so it is on a FIFO queue", function* (t) {
    const q = yield* t.fifo()
    yield* t.sendTo(q, "g", "m")
    yield* t.delete(q, yield* t.one(q))
    const { ApproximateNumberOfMessagesNotVisible } = yield* t.attributes(q, "ApproximateNumberOfMessagesNotVisible")
    yield* t.equal(ApproximateNumberOfMessagesNotVisible, "0", "in flight")
  }),
  check(
    "delete-extended-fifo",
    "recorded",
    "a FIFO message whose timeout was extended can be deleted after the first timeout",
    function* (t) {
      const q = yield* t.fifo()
      yield* t.sendTo(q, "g", "m")
      const m = yield* t.one(q, { VisibilityTimeout: 2 })
      yield* t.change(q, m, 6)
      yield* t.wait(3)
      yield* t.delete(q, m)
    },
    { seconds: 3 }
  ),
  check(
    "delete-expired",
    "recorded",
    "a delete after the timeout ran out deletes on a standard queue",
    function* (t) {
      const q = yield* t.queue()
      yield* t.send(q, "m")
      const m = yield* t.one(q, { VisibilityTimeout: 1 })
      yield* t.wait(1.2)
      yield* t.delete(q, m)
      yield* t.bodies(q, [])
    },
    { seconds: 2 }
  ),
  check(
    "delete-expired-fifo",
    "recorded",
    "a delete after the timeout ran out is refused on a FIFO queue",
    function* (t) {
      const q = yield* t.fifo()
      yield* t.sendTo(q, "g", "m")
      const { ReceiptHandle } = yield* t.one(q, { VisibilityTimeout: 1 })
      yield* t.wait(1.2)
      yield* t.fails(
        "DeleteMessage",
        { QueueUrl: q.url, ReceiptHandle },
        { name: invalid, status: 400, message: expired(ReceiptHandle) }
      )
    },
    { seconds: 2 }
  ),
  check("delete-old-handle", "validated", "a delete with an older handle succeeds on a standard queue", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m")
    const old = yield* t.one(q, { VisibilityTimeout: 0 })
    yield* t.one(q)
    yield* t.delete(q, old)
  }),
  check(
    "delete-old-handle-fifo",
    "inferred",
    "a delete with an older handle is refused on a FIFO queue",
    function* (t) {
      const q = yield* t.fifo()
      yield* t.sendTo(q, "g", "m")
      const { ReceiptHandle } = yield* t.one(q, { VisibilityTimeout: 0 })
      yield* t.one(q)
      yield* t.fails(
        "DeleteMessage",
        { QueueUrl: q.url, ReceiptHandle },
        { name: invalid, message: expired(ReceiptHandle) }
      )
    }
  ),
  check("delete-twice", "validated", "a second delete succeeds", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "m")
    const m = yield* t.one(q)
    yield* t.delete(q, m)
    yield* t.delete(q, m)
  }),
  check("delete-twice-fifo", "issue", "so it does on a FIFO queue", function* (t) {
    const q = yield* t.fifo()
    yield* t.sendTo(q, "g", "m")
    const m = yield* t.one(q)
    yield* t.delete(q, m)
    yield* t.delete(q, m)
  }),
  check("delete-garbage", "validated", "what never was a handle is ReceiptHandleIsInvalid", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "DeleteMessage",
      { QueueUrl: q.url, ReceiptHandle: "garbage" },
      {
        name: "ReceiptHandleIsInvalid",
        status: 404,
        message: 'The input receipt handle "garbage" is not a valid receipt handle.'
      }
    )
  })
]
