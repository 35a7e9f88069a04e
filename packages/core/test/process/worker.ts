/**
 * A worker as a process of its own, for tests of exit codes: a queue in process, one message, and a handler of the kind
 * that the first argument names; the second is the drain's seconds. It prints a line when the handler runs, and what became of the message at the end.
 */
import { Consumer, SqsQueue } from "@effect-sqs/core"
import { VirtualSqs } from "@effect-sqs/testing"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Duration, Effect, Schema } from "effect"

const Jobs = SqsQueue.make("jobs", { schema: Schema.Number })

const handlers: Record<string, Effect.Effect<void>> = {
  short: Effect.sleep("300 millis"),
  endless: Effect.never,
  stubborn: Effect.uninterruptible(Effect.sleep("1 hour"))
}

const handler = handlers[process.argv[2] ?? ""] ?? Effect.dieMessage("which handler?")

const told = Effect.addFinalizer(() =>
  Effect.flatMap(VirtualSqs.VirtualSqs, (virtual) =>
    Effect.flatMap(virtual.counters("jobs"), (c) => Console.log(`left: ${c.visible} visible, ${c.inFlight} in flight`))
  ).pipe(Effect.orDie)
)

const program = Effect.gen(function* () {
  const virtual = yield* VirtualSqs.VirtualSqs
  yield* told
  yield* virtual.send("jobs", "1")
  return yield* Consumer.run(
    Jobs,
    { concurrency: 1, drain: { timeout: Duration.seconds(Number(process.argv[3])), interruptTimeout: "500 millis" } },
    () => Effect.zipRight(Console.log("running"), handler)
  )
})

program.pipe(Effect.scoped, Effect.provide(VirtualSqs.layer({ queues: ["jobs"] })), NodeRuntime.runMain)
