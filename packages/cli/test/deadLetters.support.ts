/** An SQS over HTTP, the commands' services on the AWS SDK against it, and queues with dead letters in them. */
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Clock, Effect, Layer } from "effect"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import path from "node:path"
import { assert } from "@effect/vitest"
import { apply, type ApplyOptions } from "../src/RedriveApply.js"
import { dryRun, type DryRunOptions } from "../src/RedriveDryRun.js"
import type { RedriveReport } from "../src/RedriveReport.js"
import * as RedriveMoveTasks from "../src/RedriveMoveTasks.js"
import * as SqsInspector from "../src/SqsInspector.js"

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true"

/** The real clock, which the SQS under test can be put ahead of, so that what a dead process hid comes back. */
const shifted = (live: Clock.Clock) => {
  let aheadMs = 0
  const millis = () => live.unsafeCurrentTimeMillis() + aheadMs
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: millis,
    unsafeCurrentTimeNanos: () => live.unsafeCurrentTimeNanos() + BigInt(aheadMs) * 1_000_000n,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanos: Effect.sync(() => live.unsafeCurrentTimeNanos() + BigInt(aheadMs) * 1_000_000n),
    sleep: (duration) => live.sleep(duration)
  }
  return { clock, ahead: (ms: number) => Effect.sync(() => (aheadMs += ms)) }
}

export const served = (options: VirtualSqs.VirtualSqsOptions) =>
  Effect.gen(function* () {
    const { ahead, clock } = shifted(yield* Effect.clock)
    const context = yield* Layer.build(
      SqsServer.layer().pipe(Layer.provideMerge(VirtualSqs.layer({ ...options, journal: 100 })))
    ).pipe(Effect.withClock(clock))
    const { url, virtual } = yield* Effect.provide(
      Effect.all({ url: Effect.map(SqsServer.SqsServer, (s) => s.url), virtual: VirtualSqs.VirtualSqs }),
      context
    )
    const config = {
      endpoint: url,
      region: "us-east-1",
      credentials: { accessKeyId: "local", secretAccessKey: "local" }
    }
    const services = yield* Layer.build(
      Layer.mergeAll(
        AwsSqs.layerWith(config),
        SqsInspector.layerWith(config),
        RedriveMoveTasks.layerWith(config),
        NodeFileSystem.layer
      )
    )
    return { url, virtual, services, ahead }
  })

export type Served = Effect.Effect.Success<ReturnType<typeof served>>

export const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(path.join(tmpdir(), "effect-sqs-dlq-"))),
  (dir) => Effect.promise(() => rm(dir, { recursive: true, force: true }))
)

/** a source queue whose messages are dead letters after one receive, and its dead-letter queue */
export const pair = (source: string, dead: string): ReadonlyArray<VirtualSqs.QueueOptions> => [
  { name: dead },
  { name: source, deadLetters: { queue: dead, maxReceiveCount: 1 } }
]

export interface Sending {
  readonly body: string
  readonly attributes?: Record<string, { DataType: string; StringValue?: string; BinaryValue?: string }>
  readonly groupId?: string
  readonly traceHeader?: string
}

/** Sends by the API, so that attributes of all types travel. */
export const put = ({ virtual }: Served, queue: string, m: Sending) =>
  Effect.map(
    virtual.api("SendMessage", {
      QueueUrl: virtual.queueUrl(queue),
      MessageBody: m.body,
      ...(m.attributes === undefined ? {} : { MessageAttributes: m.attributes }),
      ...(m.groupId === undefined ? {} : { MessageGroupId: m.groupId }),
      ...(queue.endsWith(".fifo") ? { MessageDeduplicationId: `d-${++ids}` } : {}),
      ...(m.traceHeader === undefined
        ? {}
        : { MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: m.traceHeader } } })
    }),
    (answer) => String(answer["MessageId"])
  )
let ids = 0

/** Receives until the redrive policy has moved everything. */
export const die = ({ virtual }: Served, source: string) =>
  Effect.gen(function* () {
    for (;;) {
      yield* virtual.api("ReceiveMessage", {
        QueueUrl: virtual.queueUrl(source),
        MaxNumberOfMessages: 10,
        VisibilityTimeout: 0,
        WaitTimeSeconds: 0
      })
      const { inFlight, visible } = yield* virtual.counters(source)
      if (visible + inFlight === 0) return
    }
  })

/** Puts messages into the dead-letter queue of a source, as its redrive policy does. */
export const deadLetters = (sqs: Served, source: string, messages: ReadonlyArray<Sending>) =>
  Effect.gen(function* () {
    const sent: Array<string> = []
    for (const m of messages) sent.push(yield* put(sqs, source, m))
    yield* die(sqs, source)
    return sent
  })

export const bodies = (sqs: Served, queue: string) =>
  Effect.map(sqs.virtual.messages(queue), (messages) => messages.map((m) => m.body).sort())

export const counters = (sqs: Served, queue: string) => sqs.virtual.counters(queue)

export const lines = (file: string) =>
  Effect.promise(async () =>
    (await readFile(file, "utf8"))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { readonly step: string; readonly [key: string]: unknown })
  )

export const quick = { canary: 0, rate: 3000, settleMs: 300 }

export const redrive = (
  sqs: Served,
  options: Partial<DryRunOptions> & { readonly apply?: Partial<ApplyOptions>; readonly audit: string }
) =>
  Effect.gen(function* () {
    const { plan } = yield* dryRun({ queue: "dead", ...options, limits: { ...quick, ...options.limits } })
    return yield* apply({
      plan,
      confirm: plan.queue.name,
      audit: options.audit,
      actor: "tester",
      ledger: options.ledger,
      ...options.apply
    })
  }).pipe(Effect.provide(sqs.services))

export const sums = (r: RedriveReport) =>
  assert.strictEqual(r.received, r.sent + r.deleted + r.kept + r.failed + r.unknown)

export const auditIn = Effect.map(directory, (dir) => path.join(dir, "audit.jsonl"))

export const numbered = (n: number) => Array.from({ length: n }, (_, i) => ({ body: JSON.stringify({ id: `k${i}` }) }))

export const idIn = (body: string | undefined) => (JSON.parse(body ?? "{}") as { readonly id?: string }).id

/** Receives what is there twice, so that the redrive policy moves it. */
export const dieAgain = (sqs: Served) => Effect.forEach([1, 2], () => receiveAll(sqs, "jobs"), { discard: true })

const receiveAll = ({ virtual }: Served, queue: string) =>
  virtual.api("ReceiveMessage", {
    QueueUrl: virtual.queueUrl(queue),
    MaxNumberOfMessages: 10,
    VisibilityTimeout: 0,
    WaitTimeSeconds: 0
  })

export const failing = (sqs: Served, queue: string) =>
  Effect.forever(
    Effect.zipRight(
      receiveAll(sqs, queue),
      Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    )
  )
