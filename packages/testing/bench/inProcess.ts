/** What the virtual SQS costs in process: CPU µs per message through the port (send 10, receive 10, delete 10). */
import { Sqs } from "@effect-sqs/core/Sqs"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as Effect from "effect/Effect"

const messages = 100_000
const entries = Array.from({ length: 10 }, () => ({ body: "x".repeat(450) }))

const round = Effect.gen(function* () {
  const sqs = yield* Sqs
  const queueUrl = yield* sqs.queueUrl("jobs")
  for (let n = 0; n < messages / 10; n++) {
    yield* sqs.sendBatch(queueUrl, entries)
    const received = yield* sqs.receive({ queueUrl, maxMessages: 10, waitTimeSeconds: 0 })
    yield* sqs.deleteBatch(
      queueUrl,
      received.map((m) => m.receiptHandle)
    )
  }
})

for (const journal of ["off", 1000, "all"] as const) {
  for (let i = 0; i < 2; i++) {
    const from = process.cpuUsage()
    await Effect.runPromise(Effect.provide(round, VirtualSqs.layer({ queues: ["jobs"], journal })))
    const { system, user } = process.cpuUsage(from)
    process.stdout.write(`journal ${journal}: ${((user + system) / messages).toFixed(1)} µs per message\n`)
  }
}
