/**
 * The port on the AWS SDK, `@aws-sdk/client-sqs`. The only module that talks to AWS; the barrel does not export it, so
 * that whoever brings another port need not install the SDK.
 *
 * @since 0.1.0
 */
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
  type SQSClientConfig
} from "@aws-sdk/client-sqs"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { AgentOptions as HttpAgentOptions } from "node:http"
import type { Agent as HttpsAgent, AgentOptions as HttpsAgentOptions } from "node:https"
import { fromThrown } from "./internal/thrown.js"
import { fromWireMessages, fromWireQueue, positional, toWireEntry } from "./internal/wire.js"
import { done, type EntryResult, type Sent, Sqs } from "./Sqs.js"
import type { SqsError, SqsOperation } from "./SqsError.js"

const longestWaitMs = 20_000
const defaultMaxSockets = 50

/**
 * The SDK's own client configuration, less what this module decides: retries are off, because the consumer retries
 * itself, by the class of the error and inside the lease; the HTTP handler is two pools, see `maxSockets`.
 *
 * @since 0.1.0
 * @category models
 */
export interface AwsSqsOptions extends Omit<
  SQSClientConfig,
  "maxAttempts" | "retryMode" | "retryStrategy" | "requestHandler" | "cacheMiddleware"
> {
  /** how long SQS has to answer: a call, or a receive beyond its wait time. Default 10 s */
  readonly requestTimeout?: Duration.DurationInput | undefined
  /**
   * Connections for all calls but receives. Default 50. Receives have a pool of their own, one connection for each open
   * poll, so that no beat and no delete waits behind a long poll.
   */
  readonly maxSockets?: number | undefined
  /** for `http:` endpoints */
  readonly httpAgent?: HttpAgentOptions | undefined
  /** for `https:` endpoints: certificates, a proxy. An agent given as such serves both pools, with its own limit */
  readonly httpsAgent?: HttpsAgent | HttpsAgentOptions | undefined
}

/**
 * The endpoint of the environment, read as the SDK reads it. Left to the SDK it would be overruled, with a warning for
 * each call, by the host of the queue's URL.
 */
const endpointOfEnvironment = (): string | undefined =>
  process.env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS === "true"
    ? undefined
    : process.env.AWS_ENDPOINT_URL_SQS || process.env.AWS_ENDPOINT_URL || undefined

const versionWarningSwitch = "AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"

/**
 * On an older Node the first client of a process prints which Node *later* versions of the SDK will need. It matters to
 * who updates the SDK, whose package says the same; set the variable to `false` to have it printed.
 */
const withoutVersionWarning = <A>(construct: () => A): A => {
  if (process.env[versionWarningSwitch] !== undefined) return construct()
  process.env[versionWarningSwitch] = "true"
  try {
    return construct()
  } finally {
    delete process.env[versionWarningSwitch]
  }
}

/** The SDK's warnings come on the console, one for each call; here each text comes once, on Effect's logger. */
const onceLogger = (runtime: Runtime.Runtime<never>) => {
  const told = new Set<string>()
  const silent = () => {}
  const warn = (...content: ReadonlyArray<unknown>) => {
    const text = content.map(String).join(" ")
    if (told.has(text) || told.size >= 100) return
    told.add(text)
    Runtime.runFork(runtime)(Effect.logWarning(text))
  }
  // Without `info` and `error` the SDK does not collect what it would say there, for each call.
  return { trace: silent, debug: silent, warn } as unknown as NonNullable<SQSClientConfig["logger"]>
}

interface Clients {
  readonly calls: SQSClient
  readonly polls: SQSClient
}

const makeClients = (options: AwsSqsOptions, timeoutMs: number, runtime: Runtime.Runtime<never>): Clients => {
  const { httpAgent, httpsAgent, maxSockets = defaultMaxSockets, requestTimeout: _, ...config } = options
  const endpoint = config.endpoint ?? endpointOfEnvironment()
  const pool = (
    sockets: number,
    timeouts: { connectionTimeout?: number; requestTimeout?: number; socketTimeout: number }
  ) => ({
    ...timeouts,
    throwOnRequestTimeout: true,
    httpAgent: { keepAlive: true, maxSockets: sockets, ...httpAgent },
    httpsAgent: isAgent(httpsAgent) ? httpsAgent : { keepAlive: true, maxSockets: sockets, ...httpsAgent }
  })
  const common: SQSClientConfig = {
    logger: onceLogger(runtime),
    ...config,
    ...(endpoint === undefined ? {} : { endpoint }),
    maxAttempts: 1,
    retryMode: "standard"
  }
  return withoutVersionWarning(() => {
    const calls = new SQSClient({
      ...common,
      requestHandler: pool(maxSockets, { requestTimeout: timeoutMs, socketTimeout: timeoutMs })
    })
    const polls = new SQSClient({
      ...common,
      // One provider: credentials are fetched and renewed once for both.
      credentials: calls.config.credentials,
      requestHandler: pool(Infinity, { connectionTimeout: timeoutMs, socketTimeout: longestWaitMs + timeoutMs })
    })
    return { calls, polls }
  })
}

const isAgent = (agent: HttpsAgent | HttpsAgentOptions | undefined): agent is HttpsAgent =>
  agent !== undefined && "destroy" in agent

const allAttributes: ["All"] = ["All"]
const doneOf = (): EntryResult => done
const sentOf = (s: {
  readonly MessageId: string | undefined
  readonly SequenceNumber?: string | undefined
}): EntryResult<Sent> => ({
  _tag: "Done",
  value: { messageId: s.MessageId ?? "", sequenceNumber: s.SequenceNumber }
})

/** An interrupted call aborts its request; what SQS makes of it then is not known. */
const call = <A>(
  operation: SqsOperation,
  queue: string,
  run: (abortSignal: AbortSignal) => Promise<A>
): Effect.Effect<A, SqsError> => Effect.tryPromise({ try: run, catch: (cause) => fromThrown(operation, queue, cause) })

const makePort = ({ calls, polls }: Clients, timeoutMs: number): Sqs["Type"] => ({
  requestTimeoutMs: longestWaitMs + timeoutMs,

  queueUrl: (name) =>
    call("GetQueueUrl", name, async (abortSignal) => {
      const { QueueUrl } = await calls.send(new GetQueueUrlCommand({ QueueName: name }), { abortSignal })
      if (QueueUrl === undefined) throw new Error("the answer has no QueueUrl")
      return QueueUrl
    }),

  attributes: (queueUrl) =>
    call("GetQueueAttributes", queueUrl, async (abortSignal) => {
      const command = new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: allAttributes })
      return fromWireQueue((await calls.send(command, { abortSignal })).Attributes)
    }),

  receive: (request) =>
    call("ReceiveMessage", request.queueUrl, async (abortSignal) => {
      const command = new ReceiveMessageCommand({
        QueueUrl: request.queueUrl,
        MaxNumberOfMessages: request.maxMessages,
        WaitTimeSeconds: request.waitTimeSeconds,
        VisibilityTimeout: request.visibilityTimeoutSeconds,
        MessageSystemAttributeNames: allAttributes,
        MessageAttributeNames: allAttributes
      })
      const requestTimeout = request.waitTimeSeconds * 1000 + timeoutMs
      return fromWireMessages((await polls.send(command, { abortSignal, requestTimeout })).Messages)
    }),

  deleteBatch: (queueUrl, receiptHandles) =>
    call("DeleteMessageBatch", queueUrl, async (abortSignal) => {
      const Entries = receiptHandles.map((ReceiptHandle, i) => ({ Id: String(i), ReceiptHandle }))
      const answer = await calls.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries }), { abortSignal })
      return positional("DeleteMessageBatch", queueUrl, receiptHandles.length, answer, doneOf)
    }),

  changeVisibilityBatch: (queueUrl, entries) =>
    call("ChangeMessageVisibilityBatch", queueUrl, async (abortSignal) => {
      const Entries = entries.map((e, i) => ({
        Id: String(i),
        ReceiptHandle: e.receiptHandle,
        VisibilityTimeout: e.visibilityTimeoutSeconds
      }))
      const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries })
      const answer = await calls.send(command, { abortSignal })
      return positional("ChangeMessageVisibilityBatch", queueUrl, entries.length, answer, doneOf)
    }),

  sendBatch: (queueUrl, entries) =>
    call("SendMessageBatch", queueUrl, async (abortSignal) => {
      const command = new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries: entries.map(toWireEntry) })
      const answer = await calls.send(command, { abortSignal })
      return positional("SendMessageBatch", queueUrl, entries.length, answer, sentOf)
    })
})

/**
 * The port on clients of its own, which are destroyed when the scope closes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: AwsSqsOptions = {}): Effect.Effect<Sqs["Type"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const timeoutMs = Duration.toMillis(Duration.decode(options.requestTimeout ?? "10 seconds"))
    const runtime = yield* Effect.runtime<never>()
    const clients = yield* Effect.acquireRelease(
      Effect.sync(() => makeClients(options, timeoutMs, runtime)),
      ({ calls, polls }) =>
        Effect.sync(() => {
          polls.destroy()
          calls.destroy()
        })
    )
    return makePort(clients, timeoutMs)
  })

/**
 * The port with the SDK's client configuration, and our own options beside it.
 *
 * Make it once and share the value: each call of this function is two clients more.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * import * as AwsSqs from "@effect-sqs/core/AwsSqs"
 *
 * export const LocalSqs = AwsSqs.layerWith({
 *   endpoint: "http://localhost:9324",
 *   region: "us-east-1",
 *   credentials: { accessKeyId: "local", secretAccessKey: "local" },
 *   requestTimeout: "5 seconds"
 * })
 */
export const layerWith = (options: AwsSqsOptions): Layer.Layer<Sqs> => Layer.scoped(Sqs, make(options))

/**
 * The port, configured by the SDK's own chain: `AWS_REGION`, the credentials of environment, profile or role,
 * `AWS_ENDPOINT_URL_SQS`, `AWS_ENDPOINT_URL`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Sqs> = layerWith({})
