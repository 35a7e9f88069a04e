/** What can be wrong with where dead letters go. */
import { nameOf } from "@effect-sqs/core/SqsQueue"
import type { Finding } from "../Finding.js"
import { awsCommands, quoted } from "./awsCommand.js"
import {
  type Attributes,
  type Check,
  DAY_SECONDS,
  type DeadLetterFacts,
  type Facts,
  isFifo,
  numberOf,
  redrivePolicyOf,
  seconds
} from "./doctorFacts.js"
import { count } from "./numbers.js"

/** Sets the redrive policy. */
export const redrive = (facts: Facts, arn: string, maxReceiveCount: number) =>
  awsCommands(facts.where).setAttributes(facts.url, {
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount: String(maxReceiveCount) })
  })

/** A new queue for dead letters beside this one, and the policy that uses it. */
const newDeadLetterQueue = (facts: Facts, maxReceiveCount: number): ReadonlyArray<string> => {
  const name = nameOf(facts.url)
  const fifo = isFifo(name)
  const target = fifo ? name.replace(/\.fifo$/, "-dlq.fifo") : `${name}-dlq`
  const arn = (facts.attributes?.QueueArn ?? "").replace(/[^:]+$/, target)
  const attributes = { MessageRetentionPeriod: String(14 * DAY_SECONDS), ...(fifo ? { FifoQueue: "true" } : {}) }
  return [
    awsCommands(facts.where).aws(
      "sqs",
      "create-queue",
      "--queue-name",
      target,
      "--attributes",
      JSON.stringify(attributes)
    ),
    redrive(facts, arn, maxReceiveCount)
  ]
}

export const deadLetterQueue: Check = (facts) => {
  const { attributes, deadLetters } = facts
  if (attributes === undefined) return []
  if (deadLetters === undefined) {
    return [
      {
        id: "no-dead-letter-queue",
        severity: "fault",
        what: "There is no dead-letter queue.",
        why: `A message that always fails comes again until its retention of ${seconds(numberOf(attributes, "MessageRetentionPeriod"))} ends, takes a place from others each time, and is then lost without a trace.`,
        mend: newDeadLetterQueue(facts, 5)
      }
    ]
  }
  const policy = redrivePolicyOf(attributes)!
  if (isFifo(deadLetters.name) !== isFifo(nameOf(facts.url))) {
    const [kind, other] = isFifo(nameOf(facts.url)) ? ["FIFO", "standard"] : ["standard", "FIFO"]
    return [
      {
        id: "dead-letter-kind",
        severity: "fault",
        what: `The queue is a ${kind} queue, its dead-letter queue ${deadLetters.name} a ${other} queue.`,
        why: "SQS moves messages only between queues of one kind: what always fails stays and comes again.",
        mend: newDeadLetterQueue(facts, policy.maxReceiveCount)
      }
    ]
  }
  if (deadLetters.attributes === "missing") {
    return [
      {
        id: "dead-letter-queue-missing",
        severity: "fault",
        what: `The dead-letter queue ${deadLetters.name} does not exist.`,
        why: "What always fails is not moved: it comes again until its retention ends, and is lost then.",
        mend: [
          awsCommands(facts.where).aws(
            "sqs",
            "create-queue",
            "--queue-name",
            deadLetters.name,
            "--attributes",
            JSON.stringify({
              MessageRetentionPeriod: String(14 * DAY_SECONDS),
              ...(isFifo(deadLetters.name) ? { FifoQueue: "true" } : {})
            })
          )
        ]
      }
    ]
  }
  if (deadLetters.attributes === "denied") {
    return [
      {
        id: "dead-letter-queue-not-readable",
        severity: "unseen",
        what: `The dead-letter queue ${deadLetters.name} may not be read with these credentials.`,
        why: "Its retention, its redrive allow policy and what it holds could not be checked.",
        mend: [
          `# in the policy of the role: ${JSON.stringify({ Effect: "Allow", Action: "sqs:GetQueueAttributes", Resource: deadLetters.arn })}`
        ]
      }
    ]
  }
  return [...refuses(facts, deadLetters, deadLetters.attributes), ...holds(facts, deadLetters, deadLetters.attributes)]
}

/** A redrive allow policy that does not name this queue. */
const refuses = (facts: Facts, { name, url }: DeadLetterFacts, attributes: Attributes): ReadonlyArray<Finding> => {
  const text = attributes.RedriveAllowPolicy
  const arn = facts.attributes?.QueueArn
  if (text === undefined || text === "" || arn === undefined) return []
  const policy = JSON.parse(text) as {
    readonly redrivePermission?: string
    readonly sourceQueueArns?: ReadonlyArray<string>
  }
  const sources = policy.sourceQueueArns ?? []
  const isRefused =
    policy.redrivePermission === "denyAll" || (policy.redrivePermission === "byQueue" && !sources.includes(arn))
  if (!isRefused) return []
  const others = policy.redrivePermission === "byQueue" ? sources : []
  return [
    {
      id: "redrive-not-allowed",
      severity: "fault",
      what: `The dead-letter queue ${name} does not take messages of this queue: its redrive allow policy is ${policy.redrivePermission === "denyAll" ? "denyAll" : "byQueue, without this one"}.`,
      why: "What always fails is not moved: it comes again until its retention ends, and is lost then.",
      mend: [
        awsCommands(facts.where).setAttributes(url ?? name, {
          RedriveAllowPolicy: JSON.stringify({ redrivePermission: "byQueue", sourceQueueArns: [...others, arn] })
        })
      ]
    }
  ]
}

const holds = (facts: Facts, { name, url }: DeadLetterFacts, attributes: Attributes): ReadonlyArray<Finding> => {
  const messages =
    numberOf(attributes, "ApproximateNumberOfMessages") + numberOf(attributes, "ApproximateNumberOfMessagesNotVisible")
  if (!(messages > 0)) return []
  const { endpoint, region } = facts.where
  const place = [
    ...(endpoint === undefined ? [] : ["--endpoint", endpoint]),
    ...(region === undefined ? [] : ["--region", region])
  ]
  return [
    {
      id: "dead-letters",
      severity: "risk",
      what: `The dead-letter queue ${name} holds ${count(messages)} ${messages === 1 ? "message" : "messages"}.`,
      why: `Jobs that failed for good wait there, and are lost when the retention of ${seconds(numberOf(attributes, "MessageRetentionPeriod"))} ends.`,
      mend: [["effect-sqs", "dlq", "ls", "--queue", url ?? name, ...place].map(quoted).join(" ")]
    }
  ]
}

export const deadLetterRetention: Check = ({ attributes, deadLetters, url, where }) => {
  if (attributes === undefined || typeof deadLetters?.attributes !== "object" || isFifo(nameOf(url))) return []
  const own = numberOf(attributes, "MessageRetentionPeriod")
  const dead = numberOf(deadLetters.attributes, "MessageRetentionPeriod")
  if (dead > own) return []
  return [
    {
      id: "dead-letter-retention",
      severity: "risk",
      what: `The dead-letter queue keeps messages for ${seconds(dead)}, this queue for ${seconds(own)}.`,
      why: "On standard queues the time counts from the first send: a message can expire soon after it arrives there, before anybody looked.",
      mend: [
        own < 14 * DAY_SECONDS
          ? awsCommands(where).setAttributes(deadLetters.url ?? deadLetters.name, {
              MessageRetentionPeriod: String(14 * DAY_SECONDS)
            })
          : awsCommands(where).setAttributes(url, { MessageRetentionPeriod: String(4 * DAY_SECONDS) })
      ]
    }
  ]
}
