/**
 * A local SQS in a process of its own, that fails in every way it can: resets, lost replies, hangs, throttles, 500s and
 * partial batch failures, drawn from a seed. Prints its endpoint, and answers `counters` on its standard input.
 */
import { Fault, SqsServer, VirtualSqs } from "@effect-sqs/testing"
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { createInterface } from "node:readline"
import { parseArgs } from "node:util"

const { values } = parseArgs({
  options: { seed: { type: "string", default: "1" }, queue: { type: "string", default: "soak" } }
})
const { queue, seed } = values

const calls = ["ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch", "SendMessageBatch"] as const
const settling = ["DeleteMessageBatch", "ChangeMessageVisibilityBatch"] as const

const faults = Fault.all(
  Fault.reset.pipe(Fault.on(...calls), Fault.random(`${seed} reset`, 0.005)),
  Fault.loseReply.pipe(Fault.on("ReceiveMessage", ...settling), Fault.random(`${seed} lost`, 0.002)),
  Fault.error("RequestThrottled", { httpStatus: 403 }).pipe(Fault.on(...calls), Fault.random(`${seed} throttle`, 0.01)),
  Fault.error("InternalFailure", { httpStatus: 500 }).pipe(Fault.on(...calls), Fault.random(`${seed} 500`, 0.005)),
  Fault.hang.pipe(Fault.on(...settling), Fault.random(`${seed} hang`, 0.0002)),
  Fault.hang.pipe(Fault.on("ReceiveMessage"), Fault.random(`${seed} hung poll`, 0.0001)),
  Fault.randomEntries(`${seed} partial`, 0.005, "InternalError").pipe(Fault.on(...settling, "SendMessageBatch"))
)

const program = Effect.gen(function* () {
  const virtual = yield* VirtualSqs.VirtualSqs
  const { url } = yield* SqsServer.SqsServer
  const lines = createInterface({ input: process.stdin })
  lines.on("line", () => {
    void Effect.runPromise(virtual.counters(queue)).then((c) => process.stdout.write(`${JSON.stringify(c)}\n`))
  })
  // whoever started this server is gone: so is its purpose
  lines.on("close", () => process.exit(0))
  process.stdout.write(`${url}\n`)
  return yield* Effect.never
})

program.pipe(
  Effect.provide(
    SqsServer.layer().pipe(
      Layer.provideMerge(
        VirtualSqs.layer({
          queues: [{ name: queue, attributes: { VisibilityTimeout: 15 } }],
          journal: "off",
          faults
        })
      )
    )
  ),
  NodeRuntime.runMain
)
