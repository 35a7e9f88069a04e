/**
 * A port that makes its messages when they are asked for, and takes every settlement: for what only the consumer's own
 * memory should show.
 */
import { Sqs } from "@effect-sqs/core"
import { Effect, Layer } from "effect"

/** as long as SQS makes them, about 250 characters */
const HANDLE = "AQEB".padEnd(250, "x")

export const supply = (count: number, body: (n: number) => string) => {
  let sent = 0
  const done: Sqs.EntryResult = Sqs.done
  const port: Sqs.Sqs["Type"] = {
    requestTimeoutMs: 30_000,
    queueUrl: (name) => Effect.succeed(`http://local/000000000000/${name}`),
    attributes: () =>
      Effect.succeed({
        arn: "arn:aws:sqs:us-east-1:000000000000:jobs",
        kind: "standard",
        visibilityTimeoutSeconds: 30,
        retentionSeconds: 345_600,
        delaySeconds: 0,
        maximumMessageBytes: 1_048_576,
        redrivePolicy: undefined,
        messages: 0,
        messagesNotVisible: 0,
        messagesDelayed: 0
      }),
    receive: ({ maxMessages }) =>
      Effect.suspend(() => {
        if (sent === count) return Effect.delay(Effect.succeed([]), "1 second")
        const from = sent
        sent = Math.min(count, sent + maxMessages)
        return Effect.as(
          Effect.yieldNow(),
          Array.from({ length: sent - from }, (_, i): Sqs.ReceivedMessage => ({
            messageId: `00000000-0000-4000-8000-${String(from + i).padStart(12, "0")}`,
            receiptHandle: `${HANDLE}${from + i}`,
            body: body(from + i),
            receiveCount: 1,
            sentAt: 0,
            firstReceivedAt: 0,
            senderId: undefined,
            groupId: undefined,
            deduplicationId: undefined,
            sequenceNumber: undefined,
            traceHeader: undefined,
            deadLetterSourceArn: undefined,
            attributes: {}
          }))
        )
      }),
    deleteBatch: (_, handles) =>
      Effect.as(
        Effect.yieldNow(),
        handles.map(() => done)
      ),
    changeVisibilityBatch: (_, entries) =>
      Effect.as(
        Effect.yieldNow(),
        entries.map(() => done)
      ),
    sendBatch: () => Effect.dieMessage("nothing is sent here")
  }
  return { layer: Layer.succeed(Sqs.Sqs, port) }
}
