/**
 * What is compared: this library, two peers, the bare SDK loop that no library can beat, and a pool without SQS that
 * shows what timers and the machine take of a perfect schedule. All use the SDK with the same options.
 */
import { Consumer, type ConsumerOptions, SqsQueue } from "@effect-sqs/core"
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import {
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  SQS,
  SQSClient,
  type SQSClientConfig
} from "@aws-sdk/client-sqs"
import { Effect, Layer, Logger, LogLevel, Schema, Tracer } from "effect"
import { setTimeout as sleep } from "node:timers/promises"
import { Consumer as SqsConsumer } from "sqs-consumer"
import { type Message as SquissMessage, Squiss } from "squiss-ts"
import type { Meter } from "./Meter.js"
import { type Job, jobs, type Work } from "./Work.js"

export interface Task {
  readonly endpoint: string
  readonly queueUrl: string
  readonly concurrency: number
  readonly work: Work
  readonly count: number
  readonly meter: Meter
}

/** Starts a subject; it runs until the process ends. */
export type Subject = (task: Task) => Promise<unknown>

const FULL = 10
const WAIT_SECONDS = 20
const CALL_TIMEOUT_MS = 10_000
const credentials = { accessKeyId: "local", secretAccessKey: "local" }
const region = "us-east-1"

/** As this library configures its clients: keep-alive, one try, all attributes, MD5 checked. */
const sdkOptions = (endpoint: string): SQSClientConfig => ({
  endpoint,
  region,
  credentials,
  maxAttempts: 1,
  retryMode: "standard",
  requestHandler: {
    connectionTimeout: CALL_TIMEOUT_MS,
    requestTimeout: WAIT_SECONDS * 1000 + CALL_TIMEOUT_MS,
    socketTimeout: WAIT_SECONDS * 1000 + CALL_TIMEOUT_MS,
    throwOnRequestTimeout: true,
    httpAgent: { keepAlive: true, maxSockets: 50 }
  }
})

const handle = async (job: Job, meter: Meter): Promise<void> => {
  meter.begin()
  if (job.ms > 0) await sleep(job.ms)
  meter.end()
}

// ---- ours --------------------------------------------------------------------------------------------------------

const JobSchema = Schema.Struct({ n: Schema.Number, ms: Schema.Number, text: Schema.String })

/** A tracer that keeps nothing: what making the spans costs, without an exporter. */
const discarding = Tracer.make({
  span: (name, parent, context, links, startTime, kind) => {
    const attributes = new Map<string, unknown>()
    let status: Tracer.SpanStatus = { _tag: "Started", startTime }
    return {
      _tag: "Span",
      name,
      spanId: "0000000000000000",
      traceId: "00000000000000000000000000000000",
      parent,
      context,
      get status() {
        return status
      },
      attributes,
      links,
      sampled: true,
      kind,
      end: (endTime, exit) => {
        status = { _tag: "Ended", startTime, endTime, exit }
      },
      attribute: (key, value) => void attributes.set(key, value),
      event: () => {},
      addLinks: () => {}
    }
  },
  context: (f) => f()
})

const ours =
  (options: ConsumerOptions.ConsumerOptions = {}, traced = false): Subject =>
  ({ concurrency, endpoint, meter, queueUrl }) => {
    const handler = (job: Job) =>
      job.ms === 0
        ? Effect.sync(() => {
            meter.begin()
            meter.end()
          })
        : Effect.suspend(() => {
            meter.begin()
            return Effect.map(Effect.sleep(job.ms), () => meter.end())
          })
    const run = Consumer.run(SqsQueue.make(queueUrl, { schema: JobSchema }), { concurrency, ...options }, handler).pipe(
      Effect.provide(AwsSqs.layerWith({ endpoint, region, credentials })),
      Effect.provide(traced ? Layer.setTracer(discarding) : Layer.empty),
      Logger.withMinimumLogLevel(LogLevel.Error)
    )
    return Effect.runPromise(run)
  }

// ---- the bare loop -----------------------------------------------------------------------------------------------

/** Receive ten, run ten, delete ten, and again; as many side by side as make the concurrency. */
const loop: Subject = ({ concurrency, endpoint, meter, queueUrl }) => {
  const client = new SQSClient(sdkOptions(endpoint))
  const one = async () => {
    while (true) {
      const { Messages } = await client.send(
        new ReceiveMessageCommand({
          QueueUrl: queueUrl,
          MaxNumberOfMessages: FULL,
          WaitTimeSeconds: WAIT_SECONDS,
          MessageSystemAttributeNames: ["All"],
          MessageAttributeNames: ["All"]
        })
      )
      if (Messages === undefined) continue
      await Promise.all(Messages.map((m) => handle(JSON.parse(m.Body!) as Job, meter)))
      const Entries = Messages.map((m, i) => ({ Id: String(i), ReceiptHandle: m.ReceiptHandle }))
      await client.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries }))
    }
  }
  return Promise.all(Array.from({ length: Math.max(1, Math.floor(concurrency / FULL)) }, one))
}

// ---- peers -------------------------------------------------------------------------------------------------------

const squiss: Subject = async ({ concurrency, endpoint, meter, queueUrl }) => {
  const worker = new Squiss({
    SQS: new SQS(sdkOptions(endpoint)),
    queueUrl,
    bodyFormat: "json",
    maxInFlight: concurrency,
    receiveBatchSize: FULL,
    receiveWaitTimeSecs: WAIT_SECONDS,
    receiveAttributes: ["All"],
    receiveSqsAttributes: ["All"],
    deleteBatchSize: FULL
  })
  worker.on("error", (error: Error) => process.stderr.write(`squiss-ts: ${error.message}\n`))
  worker.on("message", (message: SquissMessage) => {
    void handle(message.body as unknown as Job, meter).then(() => message.del())
  })
  await worker.start()
  return new Promise(() => {})
}

/** Its unit is one receive of up to ten: more at once means more consumers. */
const sqsConsumer =
  (mode: "batch" | "single"): Subject =>
  ({ concurrency, endpoint, meter, queueUrl }) => {
    const sqs = new SQSClient(sdkOptions(endpoint))
    const one = (message: Message) => handle(JSON.parse(message.Body!) as Job, meter)
    const handler =
      mode === "single"
        ? { handleMessage: (message: Message) => one(message).then(() => message) }
        : { handleMessageBatch: (messages: Array<Message>) => Promise.all(messages.map(one)).then(() => messages) }
    for (let i = 0; i < Math.max(1, Math.floor(concurrency / FULL)); i++) {
      const consumer = SqsConsumer.create({
        queueUrl,
        sqs,
        batchSize: FULL,
        waitTimeSeconds: WAIT_SECONDS,
        messageSystemAttributeNames: ["All"],
        messageAttributeNames: ["All"],
        ...handler
      })
      consumer.on("error", (error) => process.stderr.write(`sqs-consumer: ${error.message}\n`))
      consumer.start()
    }
    return new Promise(() => {})
  }

// ---- no SQS at all -----------------------------------------------------------------------------------------------

/** Everything at hand, a worker for each place: what the timers and the machine leave of a perfect schedule. */
const pool: Subject = ({ concurrency, count, meter, work }) => {
  const all = jobs(work, count)[Symbol.iterator]()
  const worker = async () => {
    for (const job of all) await handle(job, meter)
  }
  return Promise.all(Array.from({ length: concurrency }, worker))
}

export const subjects = {
  "effect-sqs": ours(),
  "effect-sqs, metrics off": ours({ metrics: false }),
  "effect-sqs, spans on": ours({ metrics: false, spans: "link" }, true),
  loop,
  "squiss-ts": squiss,
  "sqs-consumer batch": sqsConsumer("batch"),
  "sqs-consumer single": sqsConsumer("single"),
  "pool without SQS": pool
} satisfies Record<string, Subject>

export type SubjectName = keyof typeof subjects
