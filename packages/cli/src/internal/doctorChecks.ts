/** What can be wrong with a queue, each as a check of its own on what was read. */
import * as Lease from "@effect-sqs/core/Lease"
import { nameOf } from "@effect-sqs/core/SqsQueue"
import * as Duration from "effect/Duration"
import type { Whereabouts } from "../CliError.js"
import type { Finding } from "../Finding.js"
import { quantile } from "../RunTimes.js"
import { type Backoff, defaultBackoff } from "../WorkerFile.js"
import { awsCommands } from "./awsCommand.js"
import { deadLetterQueue, deadLetterRetention, redrive } from "./doctorDeadLetters.js"
import { type Check, type Facts, isFifo, numberOf, redrivePolicyOf, seconds } from "./doctorFacts.js"
import { show } from "../Durations.js"
import { count, percent } from "./numbers.js"

const notReadable: Check = (facts) =>
  facts.attributes !== undefined
    ? []
    : [
        {
          id: "attributes-not-readable",
          severity: "unseen",
          what: `sqs:GetQueueAttributes on ${nameOf(facts.url)} is not allowed to these credentials.`,
          why: "Nothing of visibility, dead letters, retention and backlog could be checked. A worker without it needs lease.visibility in its options.",
          mend: [allow(facts, "sqs:GetQueueAttributes")]
        }
      ]

/** Permissions are of the account, so that no command is known to be the right one; this is the statement that it takes. */
const allow = (facts: Facts, action: string) =>
  `# in the policy of the role: ${JSON.stringify({ Effect: "Allow", Action: action, Resource: facts.attributes?.QueueArn ?? "the queue's ARN" })}`

const losses: Record<string, string> = {
  "sqs:ReceiveMessage": "A worker with them receives nothing.",
  "sqs:DeleteMessage": "A worker with them does every job again and again, until the dead-letter queue has it.",
  "sqs:ChangeMessageVisibility":
    "A worker with them sends no heartbeat and gives nothing back: long jobs run twice, failed ones wait for the whole visibility."
}

const permissions: Check = (facts) => [
  ...facts.denied.map((action): Finding => ({
    id: "permission-missing",
    severity: "fault",
    what: `${action} on ${nameOf(facts.url)} is not allowed to these credentials.`,
    why: `${losses[action] ?? ""} If the worker has others, run doctor with the worker's.`.trim(),
    mend: [allow(facts, action)]
  })),
  ...facts.unknown.map((action): Finding => ({
    id: "permission-unknown",
    severity: "unseen",
    what: `Whether ${action} is allowed could not be told.`,
    why: "The call was neither refused nor answered as expected.",
    mend: []
  }))
]

const visibilityZero: Check = ({ attributes, url, where, worker }) =>
  attributes === undefined ||
  numberOf(attributes, "VisibilityTimeout") !== 0 ||
  worker?.options.lease?.visibility !== undefined
    ? []
    : [
        {
          id: "visibility-zero",
          severity: "fault",
          what: "The visibility timeout is 0.",
          why: "A message that one worker has is visible to all others at once: every job runs as often as there are workers.",
          mend: [awsCommands(where).setAttributes(url, { VisibilityTimeout: "30" })]
        }
      ]

const visibilityForRuns: Check = ({ attributes, runs, url, where, worker }) => {
  if (attributes === undefined || runs === undefined) return []
  const given = worker?.options.lease?.visibility
  const visibility =
    given === undefined ? numberOf(attributes, "VisibilityTimeout") : Duration.toSeconds(Duration.decode(given))
  if (visibility === 0) return []
  // a worker whose options are not known may have no heartbeat
  const beats = worker !== undefined && worker.options.lease?.heartbeat !== "off"
  const share = runs.seconds.filter((s) => s > visibility).length / runs.seconds.length
  const advice = Lease.advise(runs.seconds.map((s) => s * 1000))!
  const longest = quantile(runs, 1)
  if (!beats && share > 0) {
    const heartbeat = worker === undefined ? "Without a heartbeat" : "With its heartbeat off"
    const enough = Math.min(Lease.MAX_VISIBILITY_SECONDS, Math.ceil(longest * 2))
    return [
      {
        id: "visibility-short",
        severity: share > 0.01 ? "fault" : "risk",
        what: `The visibility of ${seconds(visibility)} is shorter than ${percent(share)} of the runs (p99 ${seconds(quantile(runs, 0.99))}, longest ${seconds(longest)}).`,
        why: `${heartbeat} two workers are at the same job for up to ${seconds(Duration.toSeconds(Lease.riskWindow(longest * 1000, visibility * 1000)))}. Better than a long visibility: ${show(advice.take.visibility)} with a heartbeat every ${show(advice.take.heartbeat ?? advice.take.visibility)}; see effect-sqs plan.`,
        mend: [awsCommands(where).setAttributes(url, { VisibilityTimeout: String(enough) })]
      }
    ]
  }
  if (beats && visibility > LONG_RECOVERY_SECONDS && visibility > 10 * longest) {
    return [
      {
        id: "visibility-long",
        severity: "advice",
        what: `The visibility is ${seconds(visibility)}, and the longest run takes ${seconds(longest)}.`,
        why: "A message whose worker died waits for all of it. With a heartbeat a short one is enough.",
        mend: [
          awsCommands(where).setAttributes(url, {
            VisibilityTimeout: String(Duration.toSeconds(advice.take.visibility))
          })
        ]
      }
    ]
  }
  return []
}

const LONG_RECOVERY_SECONDS = 900

const maxReceiveCount: Check = (facts) => {
  const policy = redrivePolicyOf(facts.attributes)
  if (policy === undefined || policy.maxReceiveCount >= 3) return []
  const n = policy.maxReceiveCount
  return [
    {
      id: "max-receive-count",
      severity: n === 1 ? "fault" : "risk",
      what: `maxReceiveCount is ${n}.`,
      why:
        n === 1
          ? "Every receive counts: one lost answer, one worker that stops, and a message that never failed is a dead letter. Nothing is ever tried again."
          : "Every receive counts, also one whose answer got lost and one that a stop gave back: a message is a dead letter after one failure and one such accident. Set it to 3 or more.",
      mend: [redrive(facts, policy.deadLetterTargetArn, 5)]
    }
  ]
}

/** How long all redeliveries take together at most: the delays, without the runs. */
const redeliveriesSeconds = ({ firstSeconds, maxSeconds }: Backoff, receives: number): number => {
  let sum = 0
  for (let n = 0; n < receives - 1; n++) {
    const delay = Math.min(maxSeconds, firstSeconds * 2 ** n)
    if (delay === maxSeconds) return sum + (receives - 1 - n) * maxSeconds
    sum += delay
  }
  return sum
}

const retentionForRedeliveries: Check = (facts) => {
  const { attributes, worker } = facts
  const policy = redrivePolicyOf(attributes)
  if (attributes === undefined || policy === undefined) return []
  const backoff = worker?.redelivery ?? defaultBackoff[isFifo(nameOf(facts.url)) ? "fifo" : "standard"]
  const takes = redeliveriesSeconds(backoff, policy.maxReceiveCount)
  const lives = numberOf(attributes, "MessageRetentionPeriod")
  if (takes <= lives) return []
  return [
    {
      id: "retention-short",
      severity: "fault",
      what: `A message lives for ${seconds(lives)}, but its ${count(policy.maxReceiveCount)} tries take up to ${seconds(takes)}.`,
      why: `With delays from ${seconds(backoff.firstSeconds)} to ${seconds(backoff.maxSeconds)} it expires before its last try, and never reaches the dead-letter queue. Lengthen the retention, or lower maxReceiveCount.`,
      mend: [redrive(facts, policy.deadLetterTargetArn, 5)]
    }
  ]
}

/** About so many; FIFO queues have the same limit. */
const IN_FLIGHT_LIMIT = 120_000

const inFlight: Check = ({ first, url, where }) => {
  if (first === undefined || first.inFlight < 0.8 * IN_FLIGHT_LIMIT) return []
  return [
    {
      id: "in-flight",
      severity: "fault",
      what: `${count(first.inFlight)} messages are in flight; SQS allows about ${count(IN_FLIGHT_LIMIT)}.`,
      why: "At the limit nothing more is handed out, to anybody. Look for workers that receive and never settle, or hold more than they can run.",
      mend: [
        awsCommands(where).aws(
          "sqs",
          "get-queue-attributes",
          "--queue-url",
          url,
          "--attribute-names",
          "ApproximateNumberOfMessagesNotVisible"
        )
      ]
    }
  ]
}

/** SQS counts approximately; less than this says nothing. */
const MIN_GROWTH = 10
const MIN_GROWTH_SHARE = 0.02

const backlog: Check = ({ first, second, secondsApart, url, where }) => {
  if (first === undefined || second === undefined) return []
  const grown = second.visible - first.visible
  const age = ageCommand(where, nameOf(url))
  if (grown >= Math.max(MIN_GROWTH, MIN_GROWTH_SHARE * first.visible)) {
    return [
      {
        id: "backlog-grows",
        severity: "risk",
        what: `The backlog grows: ${count(first.visible)} messages waited, ${seconds(secondsApart)} later ${count(second.visible)}; that is ${count((grown / secondsApart) * 60)} a minute.`,
        why:
          second.inFlight === 0
            ? "None is in flight: no worker seems to receive. Messages grow older until their retention ends."
            : `${count(second.inFlight)} are in flight: the workers are slower than what comes in, and messages grow older. More workers, more concurrency, or fewer messages. One look of ${seconds(secondsApart)} may be a burst; the age over hours is in CloudWatch.`,
        mend: [age]
      }
    ]
  }
  if (first.visible > 0 && first.inFlight === 0 && second.inFlight === 0 && second.visible >= first.visible) {
    return [
      {
        id: "nobody-receives",
        severity: "risk",
        what: `${count(second.visible)} ${second.visible === 1 ? "message waits" : "messages wait"}, and none is in flight.`,
        why: `In ${seconds(secondsApart)} nobody received one: is a worker running, and on this queue?`,
        mend: [age]
      }
    ]
  }
  return []
}

/** The age of the oldest message is no attribute of SQS: CloudWatch has it. */
export const ageCommand = ({ region }: Whereabouts, name: string): string =>
  awsCommands({ endpoint: undefined, region })
    .aws(
      "cloudwatch",
      "get-metric-statistics",
      "--namespace",
      "AWS/SQS",
      "--metric-name",
      "ApproximateAgeOfOldestMessage",
      "--dimensions",
      `Name=QueueName,Value=${name}`,
      "--statistics",
      "Maximum",
      "--period",
      "300",
      "--start-time",
      "START",
      "--end-time",
      "END"
    )
    .replace("START", `"$(date -u -d '3 hours ago' +%FT%TZ)"`)
    .replace("END", `"$(date -u +%FT%TZ)"`)

const workerOptions: Check = ({ attributes, workerFaults }) =>
  workerFaults
    // the queue's own fault, told above
    .filter(
      ({ option, value }) =>
        !(option === "lease.visibility" && value === "not given" && attributes?.VisibilityTimeout === "0")
    )
    .map(({ option, rule, value }) => ({
      id: "worker-options",
      severity: "fault",
      what: `The worker's option ${option} ${rule}${value === "" ? "" : ` (it is ${value})`}.`,
      why: "The consumer does not start with these options on this queue.",
      mend: [`# change ${option} in the worker's options`]
    }))

/** All of them, what loses most first. */
export const checks: ReadonlyArray<Check> = [
  permissions,
  workerOptions,
  visibilityZero,
  visibilityForRuns,
  deadLetterQueue,
  maxReceiveCount,
  retentionForRedeliveries,
  inFlight,
  deadLetterRetention,
  backlog,
  notReadable
]
