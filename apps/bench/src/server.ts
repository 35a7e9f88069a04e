/**
 * The server of a benchmark, in a process of its own: our local SQS without a journal, with a fixed latency before each
 * answer. Takes commands as lines of JSON, and answers each with one.
 */
import { Fault, SqsServer, VirtualSqs } from "@effect-sqs/testing"
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { subscribe } from "node:diagnostics_channel"
import type { IncomingMessage } from "node:http"
import { createInterface } from "node:readline"
import { jobs, type Work } from "./Work.js"

export type Command =
  | { readonly do: "fill"; readonly queue: string; readonly work: Work; readonly count: number }
  | { readonly do: "requests" }
  | { readonly do: "drop"; readonly queue: string }

const latencyMs = Number(process.argv[2] ?? 0)
const TARGET = "AmazonSQS."

let requests: Record<string, number> = {}
subscribe("http.server.request.start", (message) => {
  const target = String((message as { request: IncomingMessage }).request.headers["x-amz-target"])
  const operation = target.startsWith(TARGET) ? target.slice(TARGET.length) : target
  requests[operation] = (requests[operation] ?? 0) + 1
})

const program = Effect.gen(function* () {
  const virtual = yield* VirtualSqs.VirtualSqs
  const { url } = yield* SqsServer.SqsServer
  const queueUrl = (name: string) => `${url}/000000000000/${name}`

  const obey = (command: Command): Effect.Effect<unknown, VirtualSqs.VirtualSqsError> => {
    switch (command.do) {
      case "fill":
        return Effect.gen(function* () {
          const { count, queue, work } = command
          const exists = (yield* virtual.queues).includes(queue)
          // long enough that nothing of a benchmark comes twice
          if (!exists) yield* virtual.createQueue({ name: queue, attributes: { VisibilityTimeout: 120 } })
          for (const job of jobs(work, count)) yield* virtual.send(queue, JSON.stringify(job))
          requests = {}
          return queueUrl(queue)
        })
      case "requests":
        return Effect.sync(() => requests)
      case "drop":
        return virtual.api("DeleteQueue", { QueueUrl: queueUrl(command.queue) })
    }
  }

  const lines = createInterface({ input: process.stdin })
  lines.on("line", (line) => {
    void Effect.runPromise(obey(JSON.parse(line) as Command)).then((answer) =>
      process.stdout.write(`${JSON.stringify(answer)}\n`)
    )
  })
  // whoever started this server is gone: so is its purpose
  lines.on("close", () => process.exit(0))
  process.stdout.write(`${JSON.stringify(url)}\n`)
  return yield* Effect.never
})

/** half on the way there, half on the way back */
const latency = Fault.all(
  Fault.latency(Math.floor(latencyMs / 2)),
  Fault.latency(Math.ceil(latencyMs / 2), { after: true })
)
const faults = latencyMs === 0 ? {} : { faults: latency }
program.pipe(
  Effect.provide(SqsServer.layer().pipe(Layer.provideMerge(VirtualSqs.layer({ journal: "off", ...faults })))),
  NodeRuntime.runMain
)
