import { type Journal, VirtualSqs } from "@effect-sqs/testing"
import { Effect } from "effect"

/** The calls that reached the virtual SQS, with the time since a start. */
export const calls = (operation: string, since = 0) =>
  Effect.map(VirtualSqs.VirtualSqs, ({ journal }) =>
    journal.entries.filter(
      (e): e is Journal.CallStarted => e._tag === "CallStarted" && e.operation === operation && e.at >= since
    )
  )

export const receives = (since = 0) => calls("ReceiveMessage", since)

/** Sends bodies 0 to n - 1, or from `from` on. */
export const sendMany = (queue: string, n: number, from = 0) =>
  Effect.gen(function* () {
    const virtual = yield* VirtualSqs.VirtualSqs
    for (let i = from; i < from + n; i++) yield* virtual.send(queue, String(i))
  })
