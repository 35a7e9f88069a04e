import { Consumer, SqsQueue } from "@effect-sqs/core"
import { Invariants, JournalQuery, SimClock, Tracking, VirtualSqs } from "@effect-sqs/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"

const Jobs = SqsQueue.make("jobs", { schema: Schema.Struct({ reportId: Schema.String }) })
const generateReport = (_job: { readonly reportId: string }) => Effect.sleep("90 seconds")

it.effect("a report that takes 90 s is made once", () =>
  Effect.gen(function* () {
    const { journal, send } = yield* VirtualSqs.VirtualSqs
    const id = yield* send("jobs", JSON.stringify({ reportId: "r-1" }))
    const handler = Tracking.tracked({ journal, queue: "jobs" }, generateReport)
    const worker = yield* Effect.fork(Consumer.run(Jobs, { concurrency: 10 }, handler))
    yield* Effect.sleep("2 minutes")
    yield* Fiber.interrupt(worker)
    assert.strictEqual(JournalQuery.beatsOf(JournalQuery.read(journal.entries), id).length, 5)
    Invariants.assertAll(journal.entries, { queue: "jobs", concurrency: 10, drained: true })
  }).pipe(Effect.provide(VirtualSqs.layer({ queues: ["jobs"] })), SimClock.run)
)
