/** Checks of dead letters and of move tasks. */
import { check, type Check, invalid, type Queue, type T } from "./kit.js"

/** Receives with a timeout of 0 until nothing comes: the message is then a dead letter. */
const exhaust = function* (t: T, source: Queue, times: number) {
  for (let i = 0; i < times; i++) yield* t.one(source, { VisibilityTimeout: 0 })
  yield* t.bodies(source, [])
}

const policyText = (policy: string, reason: string) =>
  `Value ${policy} for parameter RedrivePolicy is invalid. Reason: ${reason}`

const refusesCount = (id: string, count: number) =>
  check(id, "issue", `maxReceiveCount ${count} is refused`, function* (t) {
    const dead = yield* t.queue()
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: count })
    yield* t.fails(
      "CreateQueue",
      { QueueName: t.newName(), Attributes: { RedrivePolicy } },
      {
        name: invalid,
        status: 400,
        message: policyText(
          RedrivePolicy,
          `Invalid value for maxReceiveCount: ${count}, valid values are from 1 to 1000 both inclusive.`
        )
      }
    )
  })

export const redrive: ReadonlyArray<Check> = [
  check("dlq-move", "validated", "maxReceiveCount 2: two receives give the message, the third moves it", function* (t) {
    const { dead, source } = yield* t.pair(2)
    yield* t.send(source, "m")
    yield* exhaust(t, source, 2)
    const m = yield* t.one(dead, { AttributeNames: ["ApproximateReceiveCount"] })
    yield* t.equal(m.Attributes.ApproximateReceiveCount, "3", "receive count in the dead-letter queue")
  }),
  check(
    "dlq-not-by-time",
    "issue",
    "the end of the visibility timeout alone moves nothing",
    function* (t) {
      const { dead, source } = yield* t.pair(1)
      yield* t.send(source, "m")
      yield* t.one(source, { VisibilityTimeout: 1 })
      yield* t.wait(2)
      yield* t.bodies(dead, [])
      yield* t.bodies(source, [])
      yield* t.bodies(dead, ["m"])
    },
    { seconds: 2 }
  ),
  check(
    "dlq-copy",
    "recorded",
    "the dead letter keeps id, body, attributes and sent time, and tells its source",
    function* (t) {
      const { dead, source } = yield* t.pair(1)
      const MessageAttributes = { Hello: { DataType: "String", StringValue: "There" } }
      const { MessageId } = yield* t.send(source, "m", { MessageAttributes })
      const before = yield* t.one(source, { VisibilityTimeout: 0, AttributeNames: ["All"] })
      yield* t.bodies(source, [])
      const m = yield* t.one(dead, { AttributeNames: ["All"], MessageAttributeNames: ["All"] })
      yield* t.equal(
        [m.MessageId, m.Body, m.MessageAttributes, m.Attributes.SentTimestamp, m.Attributes.DeadLetterQueueSourceArn],
        [MessageId, "m", MessageAttributes, before.Attributes.SentTimestamp, source.arn],
        "the dead letter"
      )
    }
  ),
  check("dlq-others", "inferred", "the receive that moves a message can return others", function* (t) {
    const { dead, source } = yield* t.pair(1)
    yield* t.send(source, "a")
    yield* t.one(source, { VisibilityTimeout: 0 })
    yield* t.send(source, "b")
    yield* t.bodies(source, ["b"])
    yield* t.bodies(dead, ["a"])
  }),
  check("dlq-fifo", "validated", "a dead letter unlocks its group, and goes to a FIFO queue", function* (t) {
    const { dead, source } = yield* t.pair(1, "fifo")
    yield* t.sendTo(source, "g", "a")
    yield* t.sendTo(source, "g", "b")
    yield* t.bodies(source, ["a"], { MaxNumberOfMessages: 1, VisibilityTimeout: 0 })
    yield* t.bodies(source, ["b"])
    yield* t.bodies(dead, ["a"])
  }),
  check(
    "dlq-fifo-deduplication",
    "documented",
    "in a FIFO dead-letter queue the deduplication id is the message's id",
    function* (t) {
      const { dead, source } = yield* t.pair(1, "fifo")
      const { MessageId } = yield* t.sendTo(source, "g", "a")
      yield* exhaust(t, source, 1)
      const { Attributes } = yield* t.one(dead, { AttributeNames: ["All"] })
      yield* t.equal(
        [Attributes.MessageDeduplicationId, Attributes.MessageGroupId],
        [MessageId, "g"],
        "deduplication id and group"
      )
    }
  ),
  check(
    "dlq-retention",
    "documented",
    "a standard dead letter expires by its first send",
    function* (t) {
      const { dead, source } = yield* t.pair(1)
      yield* t.ok("SetQueueAttributes", { QueueUrl: dead.url, Attributes: { MessageRetentionPeriod: "60" } })
      yield* t.send(source, "m")
      yield* t.wait(50)
      yield* exhaust(t, source, 1)
      yield* t.bodies(dead, ["m"], { VisibilityTimeout: 0 })
      yield* t.wait(11)
      yield* t.bodies(dead, [])
    },
    { seconds: 61 }
  ),
  check(
    "dlq-retention-fifo",
    "documented",
    "a FIFO dead letter expires by its move",
    function* (t) {
      const { dead, source } = yield* t.pair(1, "fifo")
      yield* t.ok("SetQueueAttributes", { QueueUrl: dead.url, Attributes: { MessageRetentionPeriod: "60" } })
      yield* t.sendTo(source, "g", "m")
      yield* t.wait(50)
      yield* exhaust(t, source, 1)
      yield* t.wait(59)
      yield* t.bodies(dead, ["m"], { VisibilityTimeout: 0 })
      yield* t.wait(2)
      yield* t.bodies(dead, [])
    },
    { seconds: 111 }
  ),
  check("dlq-removed", "validated", "an empty RedrivePolicy removes it", function* (t) {
    const { dead, source } = yield* t.pair(1)
    yield* t.ok("SetQueueAttributes", { QueueUrl: source.url, Attributes: { RedrivePolicy: "" } })
    yield* t.equal(yield* t.attributes(source, "RedrivePolicy"), {}, "attributes")
    yield* t.send(source, "m")
    for (let i = 0; i < 3; i++) yield* t.one(source, { VisibilityTimeout: 0 })
    yield* t.bodies(dead, [])
  }),
  check("dlq-count-text", "documented", "maxReceiveCount may be a string", function* (t) {
    const dead = yield* t.queue()
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: "1" })
    const source = yield* t.queue({ RedrivePolicy })
    yield* t.equal((yield* t.attributes(source, "RedrivePolicy")).RedrivePolicy, RedrivePolicy, "RedrivePolicy")
    yield* t.send(source, "m")
    yield* exhaust(t, source, 1)
    yield* t.bodies(dead, ["m"])
  }),
  refusesCount("dlq-count-0", 0),
  refusesCount("dlq-count-1001", 1001),
  check("dlq-arn", "recorded", "a deadLetterTargetArn that is none is refused", function* (t) {
    const RedrivePolicy = '{"deadLetterTargetArn": "dummy", "maxReceiveCount": 42}'
    yield* t.fails(
      "CreateQueue",
      { QueueName: t.newName(), Attributes: { RedrivePolicy } },
      { name: invalid, status: 400, message: policyText(RedrivePolicy, "Invalid value for deadLetterTargetArn.") }
    )
  }),
  check("dlq-missing", "inferred", "a dead-letter queue that does not exist is refused", function* (t) {
    const q = yield* t.queue()
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: `${q.arn}-missing`, maxReceiveCount: 1 })
    yield* t.fails("SetQueueAttributes", { QueueUrl: q.url, Attributes: { RedrivePolicy } }, { name: invalid })
  }),
  check("dlq-kind", "documented", "a dead-letter queue of the other type is refused", function* (t) {
    const q = yield* t.queue()
    const dead = yield* t.fifo()
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: 1 })
    yield* t.fails("SetQueueAttributes", { QueueUrl: q.url, Attributes: { RedrivePolicy } }, { name: invalid })
  }),
  check("dlq-sources", "documented", "ListDeadLetterSourceQueues tells the sources", function* (t) {
    const { dead, source } = yield* t.pair(1)
    const { queueUrls } = yield* t.ok("ListDeadLetterSourceQueues", { QueueUrl: dead.url })
    yield* t.equal(queueUrls, [source.url], "queueUrls")
    const none = yield* t.ok("ListDeadLetterSourceQueues", { QueueUrl: source.url })
    yield* t.equal(none.queueUrls, [], "queueUrls of a queue that is none")
  })
]

const task = (t: T, source: Queue) => t.ok("ListMessageMoveTasks", { SourceArn: source.arn })

/** A queue of dead letters with some in it. */
const letters = function* (t: T, count: number) {
  const { dead, source } = yield* t.pair(1)
  for (let i = 0; i < count; i++) yield* t.send(source, `m${i}`)
  for (let got = 0; got < count;) {
    const messages = yield* t.receive(source, { VisibilityTimeout: 0 })
    yield* t.that(messages.length > 0, "expected messages, received none")
    got += messages.length
  }
  yield* t.bodies(source, [])
  return { dead, source }
}

export const moveTasks: ReadonlyArray<Check> = [
  check(
    "move-default",
    "recorded",
    "without a destination messages go back to where they came from",
    function* (t) {
      const { dead, source } = yield* letters(t, 2)
      const { TaskHandle } = yield* t.ok("StartMessageMoveTask", { SourceArn: dead.arn })
      const { sourceArn, taskId } = JSON.parse(Buffer.from(TaskHandle, "base64").toString("utf8"))
      yield* t.equal([typeof taskId, sourceArn], ["string", dead.arn], "task handle")
      yield* t.wait(2)
      const { Results } = yield* task(t, dead)
      const { StartedTimestamp, ...rest } = Results[0]
      yield* t.equal(typeof StartedTimestamp, "number", "type of StartedTimestamp")
      yield* t.equal(
        rest,
        {
          SourceArn: dead.arn,
          Status: "COMPLETED",
          ApproximateNumberOfMessagesMoved: 2,
          ApproximateNumberOfMessagesToMove: 2
        },
        "the task"
      )
      yield* t.bodies(source, ["m0", "m1"])
      yield* t.bodies(dead, [])
    },
    { seconds: 2 }
  ),
  check(
    "move-destination",
    "recorded",
    "with a destination they go there, as new messages",
    function* (t) {
      const { dead, source } = yield* letters(t, 1)
      const destination = yield* t.queue()
      const [old] = yield* t.receive(dead, { VisibilityTimeout: 0 })
      yield* t.ok("StartMessageMoveTask", { SourceArn: dead.arn, DestinationArn: destination.arn })
      yield* t.wait(2)
      const { Results } = yield* task(t, dead)
      yield* t.equal([Results[0].DestinationArn, Results[0].Status], [destination.arn, "COMPLETED"], "the task")
      const m = yield* t.one(destination, { AttributeNames: ["All"] })
      yield* t.that(m.MessageId !== old.MessageId, "the MessageId is the old one")
      yield* t.equal(m.Attributes.DeadLetterQueueSourceArn, undefined, "DeadLetterQueueSourceArn")
      yield* t.bodies(source, [])
    },
    { seconds: 2 }
  ),
  check(
    "move-count",
    "inferred",
    "the receive count starts again",
    function* (t) {
      const { dead, source } = yield* letters(t, 1)
      yield* t.ok("StartMessageMoveTask", { SourceArn: dead.arn })
      yield* t.wait(2)
      const { Attributes } = yield* t.one(source, { AttributeNames: ["ApproximateReceiveCount"] })
      yield* t.equal(Attributes.ApproximateReceiveCount, "1", "receive count")
    },
    { seconds: 2 }
  ),
  check("move-one-task", "recorded", "one task at a time for a source; a running one tells its handle", function* (t) {
    const { dead } = yield* letters(t, 5)
    const { TaskHandle } = yield* t.ok("StartMessageMoveTask", { SourceArn: dead.arn, MaxNumberOfMessagesPerSecond: 1 })
    yield* t.fails(
      "StartMessageMoveTask",
      { SourceArn: dead.arn },
      {
        name: invalid,
        status: 400,
        message:
          "There is already a task running. Only one active task is allowed for a source queue arn at a given time."
      }
    )
    const { Results } = yield* task(t, dead)
    yield* t.equal(
      [Results[0].Status, Results[0].TaskHandle, Results[0].MaxNumberOfMessagesPerSecond],
      ["RUNNING", TaskHandle, 1],
      "the task"
    )
    yield* t.ok("CancelMessageMoveTask", { TaskHandle })
  }),
  check("move-not-dlq", "recorded", "a source that is nobody's dead-letter queue is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "StartMessageMoveTask",
      { SourceArn: q.arn },
      { name: invalid, status: 400, message: "Source queue must be configured as a Dead Letter Queue." }
    )
  }),
  check("move-no-source", "recorded", "a source that does not exist is ResourceNotFoundException", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "StartMessageMoveTask",
      { SourceArn: `${q.arn}-missing` },
      {
        name: "ResourceNotFoundException",
        status: 404,
        message: "The resource that you specified for the SourceArn parameter doesn't exist."
      }
    )
  }),
  check("move-no-destination", "recorded", "so is a destination", function* (t) {
    const { dead } = yield* t.pair(1)
    yield* t.fails(
      "StartMessageMoveTask",
      { SourceArn: dead.arn, DestinationArn: `${dead.arn}-missing` },
      {
        name: "ResourceNotFoundException",
        status: 404,
        message: "The resource that you specified for the DestinationArn parameter doesn't exist."
      }
    )
  }),
  check("move-cancel-garbage", "recorded", "cancelling what is no task handle is refused", function* (t) {
    yield* t.fails(
      "CancelMessageMoveTask",
      { TaskHandle: "foobared" },
      { name: invalid, status: 400, message: "Value for parameter TaskHandle is invalid." }
    )
  }),
  check(
    "move-cancel-unknown",
    "recorded",
    "cancelling a task that is not there is ResourceNotFoundException",
    function* (t) {
      const q = yield* t.queue()
      const TaskHandle = Buffer.from(
        JSON.stringify({ taskId: "10f57157-fc38-4da9-a113-4de7e12d05aa", sourceArn: q.arn })
      ).toString("base64")
      yield* t.fails(
        "CancelMessageMoveTask",
        { TaskHandle },
        { name: "ResourceNotFoundException", status: 404, message: "Task does not exist." }
      )
    }
  ),
  check(
    "move-cancel",
    "recorded",
    "a cancelled task leaves the rest, and takes nothing back",
    function* (t) {
      const { dead, source } = yield* letters(t, 10)
      const { TaskHandle } = yield* t.ok("StartMessageMoveTask", {
        SourceArn: dead.arn,
        MaxNumberOfMessagesPerSecond: 1
      })
      yield* t.wait(2)
      const { ApproximateNumberOfMessagesMoved } = yield* t.ok("CancelMessageMoveTask", { TaskHandle })
      yield* t.equal(typeof ApproximateNumberOfMessagesMoved, "number", "type of ApproximateNumberOfMessagesMoved")
      yield* t.wait(3)
      const { Results } = yield* task(t, dead)
      yield* t.equal([Results[0].Status, Results[0].TaskHandle], ["CANCELLED", undefined], "the task")
      const moved = (yield* t.receive(source)).length
      const left = (yield* t.receive(dead)).length
      yield* t.that(moved >= 1 && left >= 1 && moved + left === 10, `${moved} moved, ${left} left, of 10`)
    },
    { seconds: 5 }
  ),
  check(
    "move-rate",
    "validated",
    "a task keeps to its rate",
    function* (t) {
      const { dead, source } = yield* letters(t, 4)
      yield* t.ok("StartMessageMoveTask", { SourceArn: dead.arn, MaxNumberOfMessagesPerSecond: 1 })
      yield* t.wait(1.5)
      const early = (yield* t.receive(source, { VisibilityTimeout: 30 })).length
      yield* t.that(early < 4, `${early} of 4 moved after 1.5 s`)
      yield* t.wait(3)
      const late = (yield* t.receive(source)).length
      yield* t.equal(early + late, 4, "messages moved")
    },
    { seconds: 5 }
  ),
  check(
    "move-lost-destination",
    "recorded",
    "a task whose destination is deleted fails, and says why",
    function* (t) {
      const { dead } = yield* letters(t, 5)
      const destination = yield* t.queue()
      yield* t.ok("StartMessageMoveTask", {
        SourceArn: dead.arn,
        DestinationArn: destination.arn,
        MaxNumberOfMessagesPerSecond: 1
      })
      yield* t.ok("DeleteQueue", { QueueUrl: destination.url })
      yield* t.wait(3)
      const { Results } = yield* task(t, dead)
      yield* t.equal(
        [Results[0].Status, Results[0].FailureReason],
        ["FAILED", "AWS.SimpleQueueService.NonExistentQueue"],
        "the task"
      )
    },
    { seconds: 3 }
  )
]
