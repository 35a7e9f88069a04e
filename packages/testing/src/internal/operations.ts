/** The operations of the API by name: from the JSON of a request to the JSON of its answer. */
import type { FaultDecision } from "../FaultPlan.js"
import type { Account } from "./account.js"
import { apiError, invalidParameter, invalidValue, missingParameter, queueDoesNotExist } from "./apiError.js"
import { answerEntries, readEntries } from "./batch.js"
import {
  isObject,
  type Json,
  optionalInteger,
  optionalString,
  optionalStringMap,
  optionalStrings,
  requiredInteger,
  requiredString
} from "./input.js"
import type { VirtualQueue } from "./queue.js"
import { tellAttributes } from "./queueAttributes.js"
import { readReceive, receiveNow, type ReceiveInput, type ReceiveOutput } from "./receiving.js"
import { checkFifoBatchEntry, maximumBatchBytes, parseSend, send } from "./sending.js"

export interface OperationContext {
  readonly account: Account
  /** epoch ms */
  readonly now: number
  /** what the URLs of queues begin with, as `http://127.0.0.1:9324` */
  readonly baseUrl: string
  readonly decision: FaultDecision | undefined
}

/** A receive that found nothing yet and may wait. */
export class Poll {
  constructor(
    readonly queue: VirtualQueue,
    readonly request: ReceiveInput,
    /** epoch ms */
    readonly deadline: number
  ) {}
  /** Tries again. `undefined`: still nothing, and there is time left. */
  attempt(context: Omit<OperationContext, "baseUrl">): ReceiveOutput | undefined {
    const { account, decision, now } = context
    if (account.find(this.queue.name) !== this.queue) throw queueDoesNotExist()
    this.queue.settle(now)
    return receiveNow(account, this.queue, this.request, now, decision) ?? (now >= this.deadline ? {} : undefined)
  }
}

export type Operation = (context: OperationContext, input: Json) => object

/** The queue of a request, brought up to the present. */
const queueOf = ({ account, now }: OperationContext, input: Json): VirtualQueue => {
  const queue = account.byUrl(input)
  queue.settle(now)
  return queue
}

const urlOf = ({ account, baseUrl }: OperationContext, queue: VirtualQueue): string =>
  `${baseUrl}/${account.options.accountId}/${queue.name}`

const receive: Operation = (context, input) => {
  const queue = queueOf(context, input)
  const request = readReceive(queue, input)
  const answer = receiveNow(context.account, queue, request, context.now, context.decision)
  if (answer !== undefined) return answer
  return request.waitSeconds === 0 ? {} : new Poll(queue, request, context.now + request.waitSeconds * 1000)
}

const sendOne: Operation = (context, input) => {
  const queue = queueOf(context, input)
  const { account, now } = context
  return send(account, queue, parseSend(input, "SendMessage"), { now, inBatch: false, senderId: senderId(account) })
}

const sendBatch: Operation = (context, input) => {
  const queue = queueOf(context, input)
  const { account, now } = context
  const entries = readEntries(input, "SendMessageBatchRequestEntry")
  const parsed = entries.map((entry) => parseSend(entry.input, "SendMessageBatch"))
  for (const one of parsed) checkFifoBatchEntry(queue, one)
  const bytes = parsed.reduce((sum, one) => sum + one.bytes, 0)
  if (bytes > maximumBatchBytes) {
    throw apiError(
      "BatchRequestTooLong",
      `Batch requests cannot be longer than ${maximumBatchBytes} bytes. You have sent ${bytes} bytes.`
    )
  }
  return answerEntries(entries, context.decision?.entryErrors, (_, index) =>
    send(account, queue, parsed[index]!, { now, inBatch: true, senderId: senderId(account) })
  )
}

/** AWS tells the id of the sending user, in the form of IAM's unique ids. */
const senderId = (account: Account): string => `AIDAVIRTUAL${account.options.accountId}`

const readHandle = (input: Json, where = ""): string => {
  const handle = optionalString(input, "ReceiptHandle")
  if (handle === undefined || (handle === "" && where === "")) throw missingParameter(`${where}ReceiptHandle`)
  return handle
}

const deleteOne: Operation = (context, input) => {
  const queue = queueOf(context, input)
  queue.delete(readHandle(input), context.now)
  return {}
}

const deleteBatch: Operation = (context, input) => {
  const queue = queueOf(context, input)
  const entries = readEntries(input, "DeleteMessageBatchRequestEntry")
  const handles = entries.map(({ input }, i) => readHandle(input, `DeleteMessageBatchRequestEntry.${i + 1}.`))
  return answerEntries(entries, context.decision?.entryErrors, (_, index) => {
    queue.delete(handles[index]!, context.now)
    return {}
  })
}

const checkTimeout = (seconds: number): number => {
  if (seconds < 0 || seconds > 43_200) {
    throw invalidParameter(seconds, "VisibilityTimeout", "Must be >= 0 and <= 43200, if provided.")
  }
  return seconds
}

const changeOne: Operation = (context, input) => {
  const queue = queueOf(context, input)
  const handle = readHandle(input)
  queue.changeVisibility(handle, checkTimeout(requiredInteger(input, "VisibilityTimeout")), context.now)
  return {}
}

const changeBatch: Operation = (context, input) => {
  const queue = queueOf(context, input)
  const shape = "ChangeMessageVisibilityBatchRequestEntry"
  const entries = readEntries(input, shape)
  const changes = entries.map(({ input }, i) => ({
    handle: readHandle(input, `${shape}.${i + 1}.`),
    seconds: optionalInteger(input, "VisibilityTimeout")
  }))
  return answerEntries(entries, context.decision?.entryErrors, (_, index) => {
    const { handle, seconds } = changes[index]!
    if (seconds === undefined) throw missingParameter(`${shape}.${index + 1}.VisibilityTimeout`)
    queue.changeVisibility(handle, checkTimeout(seconds), context.now)
    return {}
  })
}

const createQueue: Operation = (context, input) => {
  const attributes = new Map(optionalStringMap(input, "Attributes") ?? [])
  if (attributes.get("Policy") === "") attributes.delete("Policy")
  const tags = optionalStringMap(input, "tags") ?? optionalStringMap(input, "Tags") ?? new Map<string, string>()
  return {
    QueueUrl: urlOf(context, context.account.create(requiredString(input, "QueueName"), attributes, tags, context.now))
  }
}

const deleteQueue: Operation = (context, input) => {
  context.account.delete(queueOf(context, input), context.now)
  return {}
}

const getQueueUrl: Operation = (context, input) => {
  const { account } = context
  const owner = optionalString(input, "QueueOwnerAWSAccountId")
  const queue = account.find(requiredString(input, "QueueName"))
  if (queue === undefined || (owner !== undefined && owner !== account.options.accountId)) throw queueDoesNotExist()
  return { QueueUrl: urlOf(context, queue) }
}

/** One page of a list, and the token of the next. A token is the place at which the next page begins. */
const page = <A>(all: ReadonlyArray<A>, input: Json, defaultMax: number) => {
  const max = optionalInteger(input, "MaxResults")
  if (max !== undefined && (max < 1 || max > 1000)) {
    throw invalidParameter(max, "MaxResults", "Must be between 1 and 1000, if provided.")
  }
  const token = optionalString(input, "NextToken")
  const place = token === undefined ? "0" : Buffer.from(token, "base64").toString("utf8")
  if (!/^\d{1,9}$/.test(place)) throw invalidValue("Invalid or expired next token.")
  const from = Number(place)
  const to = from + (max ?? defaultMax)
  return {
    items: all.slice(from, to),
    token: max !== undefined && to < all.length ? { NextToken: Buffer.from(String(to)).toString("base64") } : {}
  }
}

const listQueues: Operation = (context, input) => {
  const prefix = optionalString(input, "QueueNamePrefix") ?? ""
  const urls = [...context.account.all()].filter(({ name }) => name.startsWith(prefix)).map((q) => urlOf(context, q))
  const { items, token } = page(urls, input, 1000)
  return items.length === 0 ? {} : { QueueUrls: items, ...token }
}

const listSources: Operation = (context, input) => {
  const target = queueOf(context, input)
  const urls = [...context.account.all()]
    .filter(({ settings }) => settings.redrive?.deadLetterTargetArn === target.arn)
    .map((q) => urlOf(context, q))
  const { items, token } = page(urls, input, 1000)
  return { queueUrls: items, ...token }
}

const seconds = (ms: number) => String(Math.floor(ms / 1000))

const getAttributes: Operation = (context, input) => {
  const queue = queueOf(context, input)
  const { delayed, inFlight, visible } = queue.counts
  const told = tellAttributes(optionalStrings(input, "AttributeNames") ?? [], queue.settings.texts, {
    QueueArn: queue.arn,
    ApproximateNumberOfMessages: String(visible),
    ApproximateNumberOfMessagesNotVisible: String(inFlight),
    ApproximateNumberOfMessagesDelayed: String(delayed),
    CreatedTimestamp: seconds(queue.createdAt),
    LastModifiedTimestamp: seconds(queue.lastModifiedAt)
  })
  return told === undefined ? {} : { Attributes: told }
}

const setAttributes: Operation = (context, input) => {
  const queue = queueOf(context, input)
  const changes = optionalStringMap(input, "Attributes")
  if (changes === undefined) throw missingParameter("Attributes")
  context.account.change(queue, changes, context.now)
  return {}
}

const purge: Operation = (context, input) => {
  queueOf(context, input).purge(context.now)
  return {}
}

const tag: Operation = (context, input) => {
  const queue = queueOf(context, input)
  const tags = optionalStringMap(input, "Tags")
  if (tags === undefined) throw missingParameter("Tags")
  for (const [key, value] of tags) queue.tags.set(key, value)
  return {}
}

const untag: Operation = (context, input) => {
  const queue = queueOf(context, input)
  const keys = optionalStrings(input, "TagKeys")
  if (keys === undefined) throw missingParameter("TagKeys")
  for (const key of keys) queue.tags.delete(key)
  return {}
}

const listTags: Operation = (context, input) => {
  const { tags } = queueOf(context, input)
  return tags.size === 0 ? {} : { Tags: Object.fromEntries(tags) }
}

const startMove: Operation = ({ account, now }, input) => {
  const rate = optionalInteger(input, "MaxNumberOfMessagesPerSecond")
  const started = account.moveTasks.start(
    requiredString(input, "SourceArn"),
    optionalString(input, "DestinationArn"),
    rate,
    now
  )
  account.moveTasks.advance(now)
  return started
}

const cancelMove: Operation = ({ account, now }, input) =>
  account.moveTasks.cancel(requiredString(input, "TaskHandle"), now)

const listMoves: Operation = ({ account }, input) =>
  account.moveTasks.list(requiredString(input, "SourceArn"), optionalInteger(input, "MaxResults"))

/** The statements of a queue's policy document, and the document around them. */
const policyOf = (queue: VirtualQueue) => {
  const text = queue.settings.texts.get("Policy")
  const json: unknown = text === undefined ? undefined : JSON.parse(text)
  const document = isObject(json) ? json : { Version: "2008-10-17", Id: `${queue.arn}/SQSDefaultPolicy` }
  const statements: unknown = document["Statement"]
  return { document, statements: Array.isArray(statements) ? statements.filter(isObject) : [] }
}

const setPolicy = (context: OperationContext, queue: VirtualQueue, document: Json, statements: ReadonlyArray<Json>) =>
  context.account.change(
    queue,
    new Map([["Policy", statements.length === 0 ? "" : JSON.stringify({ ...document, Statement: statements })]]),
    context.now
  )

const oneOrMany = (values: ReadonlyArray<string>) => (values.length === 1 ? values[0] : values)

const addPermission: Operation = (context, input) => {
  const queue = queueOf(context, input)
  const label = requiredString(input, "Label")
  const accounts = optionalStrings(input, "AWSAccountIds")
  const actions = optionalStrings(input, "Actions")
  if (accounts === undefined || accounts.length === 0) throw missingParameter("AWSAccountIds")
  if (actions === undefined || actions.length === 0) throw missingParameter("Actions")
  for (const action of actions) {
    if (action !== "*" && !operations.has(action)) {
      throw invalidParameter(
        `SQS:${action}`,
        "ActionName",
        "Please refer to the appropriate WSDL for a list of valid actions. "
      )
    }
  }
  const { document, statements } = policyOf(queue)
  if (statements.some((s) => s["Sid"] === label)) throw invalidParameter(label, "Label", "Already exists.")
  const statement = {
    Sid: label,
    Effect: "Allow",
    Principal: { AWS: oneOrMany(accounts.map((id) => `arn:aws:iam::${id}:root`)) },
    Action: oneOrMany(actions.map((action) => `SQS:${action}`)),
    Resource: queue.arn
  }
  setPolicy(context, queue, document, [...statements, statement])
  return {}
}

const removePermission: Operation = (context, input) => {
  const queue = queueOf(context, input)
  const label = requiredString(input, "Label")
  const { document, statements } = policyOf(queue)
  const rest = statements.filter((s) => s["Sid"] !== label)
  if (rest.length === statements.length) throw invalidParameter(label, "Label", "can't find label.")
  setPolicy(context, queue, document, rest)
  return {}
}

export const operations: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["ReceiveMessage", receive],
  ["DeleteMessageBatch", deleteBatch],
  ["ChangeMessageVisibilityBatch", changeBatch],
  ["SendMessageBatch", sendBatch],
  ["SendMessage", sendOne],
  ["DeleteMessage", deleteOne],
  ["ChangeMessageVisibility", changeOne],
  ["CreateQueue", createQueue],
  ["DeleteQueue", deleteQueue],
  ["GetQueueUrl", getQueueUrl],
  ["ListQueues", listQueues],
  ["ListDeadLetterSourceQueues", listSources],
  ["GetQueueAttributes", getAttributes],
  ["SetQueueAttributes", setAttributes],
  ["PurgeQueue", purge],
  ["TagQueue", tag],
  ["UntagQueue", untag],
  ["ListQueueTags", listTags],
  ["StartMessageMoveTask", startMove],
  ["CancelMessageMoveTask", cancelMove],
  ["ListMessageMoveTasks", listMoves],
  ["AddPermission", addPermission],
  ["RemovePermission", removePermission]
])
