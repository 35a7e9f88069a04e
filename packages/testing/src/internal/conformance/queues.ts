/** Checks of queues: their attributes, counters, tags, permissions, life. */
import { check, type Check, invalid, type Queue } from "./kit.js"

const missing = { name: "QueueDoesNotExist", status: 400, message: "The specified queue does not exist." }

const standardDefaults = {
  ApproximateNumberOfMessages: "0",
  ApproximateNumberOfMessagesDelayed: "0",
  ApproximateNumberOfMessagesNotVisible: "0",
  DelaySeconds: "0",
  MaximumMessageSize: "1048576",
  MessageRetentionPeriod: "345600",
  ReceiveMessageWaitTimeSeconds: "0",
  SqsManagedSseEnabled: "true",
  VisibilityTimeout: "30"
}
const fifoDefaults = {
  ContentBasedDeduplication: "false",
  DeduplicationScope: "queue",
  FifoQueue: "true",
  FifoThroughputLimit: "perQueue"
}

const told = (attributes: any) => {
  const { CreatedTimestamp, LastModifiedTimestamp, QueueArn, ...rest } = attributes
  return { rest, times: [CreatedTimestamp, LastModifiedTimestamp], arn: QueueArn }
}

const refusesValue = (id: string, attribute: string, value: string) =>
  check(id, "documented", `${attribute} ${value} is refused`, function* (t) {
    yield* t.fails(
      "CreateQueue",
      { QueueName: t.newName(), Attributes: { [attribute]: value } },
      { name: "InvalidAttributeValue", status: 400 }
    )
  })

/** A queue that lets dead letters come from where `policy` says, and the attempt of two queues to send them there. */
const redriveAllowed = (
  id: string,
  title: string,
  policy: (first: Queue) => object,
  allowed: readonly [boolean, boolean]
) =>
  check(id, "documented", title, function* (t) {
    const sources = [yield* t.queue(), yield* t.queue()] as const
    const RedriveAllowPolicy = JSON.stringify(policy(sources[0]))
    const dead = yield* t.queue({ RedriveAllowPolicy })
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: 1 })
    for (const [i, { url }] of sources.entries()) {
      const input = { QueueUrl: url, Attributes: { RedrivePolicy } }
      if (allowed[i] === true) yield* t.ok("SetQueueAttributes", input)
      else yield* t.fails("SetQueueAttributes", input, { name: invalid, status: 400 })
    }
  })

export const queues: ReadonlyArray<Check> = [
  check("queue-attributes-none", "recorded", "no names, no Attributes", function* (t) {
    const q = yield* t.queue()
    const { Attributes } = yield* t.ok("GetQueueAttributes", { QueueUrl: q.url })
    yield* t.equal(Attributes, undefined, "Attributes")
  }),
  check("queue-attributes-standard", "recorded", "the attributes of a new standard queue", function* (t) {
    const q = yield* t.queue()
    const { arn, rest, times } = told(yield* t.attributes(q, "All"))
    yield* t.equal(rest, standardDefaults, "attributes")
    yield* t.that(arn.endsWith(`:${q.name}`), `the ARN is ${arn}`)
    yield* t.that(
      times.every((time: string) => /^\d{1,10}$/.test(time)),
      `times are not in seconds: ${times.join(", ")}`
    )
  }),
  check("queue-attributes-fifo", "recorded", "the attributes of a new FIFO queue", function* (t) {
    const q = yield* t.fifo()
    const { rest } = told(yield* t.attributes(q, "All"))
    yield* t.equal(rest, { ...standardDefaults, ...fifoDefaults }, "attributes")
  }),
  check("queue-attributes-set", "recorded", "attributes can be set at creation and later", function* (t) {
    const q = yield* t.queue({
      VisibilityTimeout: "20",
      ReceiveMessageWaitTimeSeconds: "10",
      SqsManagedSseEnabled: "false"
    })
    yield* t.ok("SetQueueAttributes", {
      QueueUrl: q.url,
      Attributes: { VisibilityTimeout: "69", DelaySeconds: "420", MaximumMessageSize: "2048" }
    })
    const { rest } = told(yield* t.attributes(q, "All"))
    yield* t.equal(
      rest,
      {
        ...standardDefaults,
        VisibilityTimeout: "69",
        DelaySeconds: "420",
        MaximumMessageSize: "2048",
        ReceiveMessageWaitTimeSeconds: "10",
        SqsManagedSseEnabled: "false"
      },
      "attributes"
    )
  }),
  check(
    "queue-attributes-unknown",
    "documented",
    "asking for an unknown attribute is InvalidAttributeName",
    function* (t) {
      const q = yield* t.queue()
      yield* t.fails(
        "GetQueueAttributes",
        { QueueUrl: q.url, AttributeNames: ["Nonsense"] },
        { name: "InvalidAttributeName", status: 400, message: "Unknown Attribute Nonsense." }
      )
    }
  ),
  check("queue-fifo-attribute", "recorded", "FifoQueue on a standard queue is an unknown attribute", function* (t) {
    const q = yield* t.queue()
    yield* t.fails(
      "SetQueueAttributes",
      { QueueUrl: q.url, Attributes: { FifoQueue: "true" } },
      { name: "InvalidAttributeName", status: 400, message: "Unknown Attribute FifoQueue." }
    )
  }),
  check("queue-fifo-kind", "recorded", "the type of a FIFO queue cannot be changed", function* (t) {
    const q = yield* t.fifo()
    yield* t.fails(
      "SetQueueAttributes",
      { QueueUrl: q.url, Attributes: { FifoQueue: "false" } },
      {
        name: "InvalidAttributeValue",
        status: 400,
        message: "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."
      }
    )
  }),
  refusesValue("queue-visibility-range", "VisibilityTimeout", "43201"),
  refusesValue("queue-delay-range", "DelaySeconds", "901"),
  refusesValue("queue-retention-range", "MessageRetentionPeriod", "59"),
  refusesValue("queue-size-range", "MaximumMessageSize", "1023"),
  refusesValue("queue-wait-range", "ReceiveMessageWaitTimeSeconds", "21"),
  check("queue-sse", "recorded", "a KMS key turns SQS's own encryption off", function* (t) {
    const q = yield* t.queue()
    yield* t.ok("SetQueueAttributes", {
      QueueUrl: q.url,
      Attributes: { KmsMasterKeyId: "testKeyId", KmsDataKeyReusePeriodSeconds: "6000", SqsManagedSseEnabled: "false" }
    })
    yield* t.equal(
      yield* t.attributes(q, "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled"),
      { KmsMasterKeyId: "testKeyId", KmsDataKeyReusePeriodSeconds: "6000", SqsManagedSseEnabled: "false" },
      "attributes"
    )
  }),
  check(
    "queue-create-again",
    "documented",
    "creating a queue again with the same attributes gives its URL",
    function* (t) {
      const q = yield* t.queue({ VisibilityTimeout: "20" })
      const { QueueUrl } = yield* t.ok("CreateQueue", { QueueName: q.name, Attributes: { VisibilityTimeout: "20" } })
      yield* t.equal(QueueUrl, q.url, "QueueUrl")
      yield* t.equal((yield* t.ok("CreateQueue", { QueueName: q.name })).QueueUrl, q.url, "QueueUrl, no attributes")
    }
  ),
  check("queue-create-other", "recorded", "with other attributes it is QueueNameExists", function* (t) {
    const q = yield* t.queue({ DelaySeconds: "1" })
    yield* t.fails(
      "CreateQueue",
      { QueueName: q.name, Attributes: { DelaySeconds: "2" } },
      {
        name: "QueueNameExists",
        status: 400,
        message: "A queue already exists with the same name and a different value for attribute DelaySeconds"
      }
    )
  }),
  check("queue-name", "validated", "a name with a forbidden character is refused", function* (t) {
    yield* t.fails("CreateQueue", { QueueName: `${t.newName()}!` }, { name: invalid, status: 400 })
  }),
  check("queue-name-fifo", "validated", "a FIFO queue's name ends in .fifo", function* (t) {
    yield* t.fails(
      "CreateQueue",
      { QueueName: t.newName(), Attributes: { FifoQueue: "true" } },
      { name: invalid, status: 400 }
    )
  }),
  check("queue-missing-url", "recorded", "GetQueueUrl of a missing queue", function* (t) {
    yield* t.fails("GetQueueUrl", { QueueName: t.newName() }, missing)
  }),
  check("queue-missing", "recorded", "a call on a missing queue", function* (t) {
    const q = yield* t.queue()
    yield* t.fails("ReceiveMessage", { QueueUrl: `${q.url}-missing` }, missing)
  }),
  check("queue-url", "documented", "GetQueueUrl gives the URL of the creation", function* (t) {
    const q = yield* t.queue()
    yield* t.equal((yield* t.ok("GetQueueUrl", { QueueName: q.name })).QueueUrl, q.url, "QueueUrl")
  }),
  check("queue-list", "documented", "ListQueues by prefix", function* (t) {
    const q = yield* t.queue()
    const { QueueUrls } = yield* t.ok("ListQueues", { QueueNamePrefix: q.name })
    yield* t.equal(QueueUrls, [q.url], "QueueUrls")
    const none = yield* t.ok("ListQueues", { QueueNamePrefix: t.newName() })
    yield* t.equal(none.QueueUrls, undefined, "QueueUrls without a match")
  }),
  check("queue-list-pages", "documented", "MaxResults gives pages, each with the token of the next", function* (t) {
    const queues = [yield* t.queue(), yield* t.queue(), yield* t.queue()]
    const input = { QueueNamePrefix: queues[0]!.name.replace(/\d+$/, ""), MaxResults: 2 }
    const first = yield* t.ok("ListQueues", input)
    yield* t.equal(first.QueueUrls.length, 2, "QueueUrls of the first page")
    const second = yield* t.ok("ListQueues", { ...input, NextToken: first.NextToken })
    yield* t.equal(second.NextToken, undefined, "NextToken of the last page")
    yield* t.equal([...first.QueueUrls, ...second.QueueUrls].sort(), queues.map(({ url }) => url).sort(), "QueueUrls")
  }),
  check("queue-list-token", "inferred", "a NextToken that never was one is refused", function* (t) {
    yield* t.fails("ListQueues", { MaxResults: 1, NextToken: "@@@" }, { name: invalid, status: 400 })
  }),
  redriveAllowed("redrive-allow-none", "denyAll: no dead letters", () => ({ redrivePermission: "denyAll" }), [
    false,
    false
  ]),
  redriveAllowed(
    "redrive-allow-some",
    "byQueue: dead letters of the queues named only",
    ({ arn }) => ({ redrivePermission: "byQueue", sourceQueueArns: [arn] }),
    [true, false]
  ),
  redriveAllowed("redrive-allow-all", "allowAll: those of any queue", () => ({ redrivePermission: "allowAll" }), [
    true,
    true
  ]),
  check("queue-deleted", "validated", "a deleted queue is missing", function* (t) {
    const q = yield* t.queue()
    yield* t.ok("DeleteQueue", { QueueUrl: q.url })
    yield* t.fails("SendMessage", { QueueUrl: q.url, MessageBody: "m" }, missing)
  }),
  check("queue-deleted-recently", "recorded", "a name is not free for 60 s after a delete", function* (t) {
    const q = yield* t.queue()
    yield* t.ok("DeleteQueue", { QueueUrl: q.url })
    yield* t.fails(
      "CreateQueue",
      { QueueName: q.name },
      {
        name: "QueueDeletedRecently",
        status: 400,
        message: "You must wait 60 seconds after deleting a queue before you can create another with the same name."
      }
    )
  }),
  check(
    "queue-deleted-long-ago",
    "documented",
    "then it is",
    function* (t) {
      const q = yield* t.queue()
      yield* t.ok("DeleteQueue", { QueueUrl: q.url })
      yield* t.wait(61)
      yield* t.ok("CreateQueue", { QueueName: q.name })
    },
    { seconds: 61 }
  ),
  check("queue-purge", "validated", "a purge removes what is visible, in flight and delayed", function* (t) {
    const q = yield* t.queue()
    yield* t.send(q, "flying")
    yield* t.one(q)
    yield* t.send(q, "visible")
    yield* t.send(q, "delayed", { DelaySeconds: 60 })
    yield* t.ok("PurgeQueue", { QueueUrl: q.url })
    yield* t.equal(
      yield* t.attributes(
        q,
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesNotVisible",
        "ApproximateNumberOfMessagesDelayed"
      ),
      {
        ApproximateNumberOfMessages: "0",
        ApproximateNumberOfMessagesNotVisible: "0",
        ApproximateNumberOfMessagesDelayed: "0"
      },
      "counters"
    )
  }),
  check("queue-purge-again", "recorded", "a second purge within 60 s is refused", function* (t) {
    const q = yield* t.queue()
    yield* t.ok("PurgeQueue", { QueueUrl: q.url })
    yield* t.fails(
      "PurgeQueue",
      { QueueUrl: q.url },
      {
        name: "PurgeQueueInProgress",
        status: 403,
        message: `Only one PurgeQueue operation on ${q.name} is allowed every 60 seconds.`
      }
    )
  }),
  check("queue-counters", "documented", "counters tell visible, in flight and delayed messages", function* (t) {
    const q = yield* t.queue()
    for (const body of ["a", "b", "c"]) yield* t.send(q, body)
    yield* t.one(q)
    yield* t.send(q, "d", { DelaySeconds: 60 })
    const { rest } = told(yield* t.attributes(q, "All"))
    yield* t.equal(
      [
        rest.ApproximateNumberOfMessages,
        rest.ApproximateNumberOfMessagesNotVisible,
        rest.ApproximateNumberOfMessagesDelayed
      ],
      ["2", "1", "1"],
      "counters"
    )
  }),
  check(
    "queue-counters-fifo",
    "validated",
    "on a FIFO queue the locked rest of a group counts as visible",
    function* (t) {
      const q = yield* t.fifo()
      for (const body of ["a", "b", "c"]) yield* t.sendTo(q, "g", body)
      yield* t.bodies(q, ["a"], { MaxNumberOfMessages: 1 })
      yield* t.equal(
        yield* t.attributes(q, "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"),
        { ApproximateNumberOfMessages: "2", ApproximateNumberOfMessagesNotVisible: "1" },
        "counters"
      )
    }
  ),
  check("queue-tags", "recorded", "tags are set, told and removed", function* (t) {
    const q = yield* t.queue()
    yield* t.ok("TagQueue", { QueueUrl: q.url, Tags: { tag1: "value1", tag2: "value2", tag3: "" } })
    yield* t.equal(
      (yield* t.ok("ListQueueTags", { QueueUrl: q.url })).Tags,
      { tag1: "value1", tag2: "value2", tag3: "" },
      "Tags"
    )
    yield* t.ok("UntagQueue", { QueueUrl: q.url, TagKeys: ["tag1", "tag3"] })
    yield* t.equal((yield* t.ok("ListQueueTags", { QueueUrl: q.url })).Tags, { tag2: "value2" }, "Tags that are left")
  }),
  check("queue-permissions", "recorded", "permissions are statements of the queue's policy", function* (t) {
    const q = yield* t.queue()
    const permission = { QueueUrl: q.url, Label: "label", AWSAccountIds: ["668614515564"], Actions: ["ReceiveMessage"] }
    yield* t.ok("AddPermission", permission)
    const { Policy } = yield* t.attributes(q, "Policy")
    yield* t.equal(
      JSON.parse(Policy).Statement,
      [
        {
          Sid: "label",
          Effect: "Allow",
          Principal: { AWS: "arn:aws:iam::668614515564:root" },
          Action: "SQS:ReceiveMessage",
          Resource: q.arn
        }
      ],
      "Statement"
    )
    yield* t.fails("AddPermission", permission, {
      name: invalid,
      message: "Value label for parameter Label is invalid. Reason: Already exists."
    })
    yield* t.ok("RemovePermission", { QueueUrl: q.url, Label: "label" })
    yield* t.equal(yield* t.attributes(q, "Policy"), {}, "attributes")
    yield* t.fails(
      "RemovePermission",
      { QueueUrl: q.url, Label: "label" },
      { name: invalid, message: "Value label for parameter Label is invalid. Reason: can't find label." }
    )
  })
]
