/** What a test of one 90 s job with heartbeats costs, on TestClock and on SimClock; the first round is cold. */
import { Consumer, SqsQueue } from "@effect-sqs/core"
import { Invariants, JournalQuery, SimClock, Tracking, VirtualSqs } from "@effect-sqs/testing"
import { Effect, Fiber, Logger, LogLevel, Schema, TestClock, TestContext } from "effect"

const Jobs = SqsQueue.make("jobs", { schema: Schema.Struct({ reportId: Schema.String }) })

/** the ten lines of docs/testing.md; `pass` lets two virtual minutes pass, `stop` interrupts and lets the drain end */
const test = (pass: Effect.Effect<void>, stop: (fiber: Fiber.RuntimeFiber<never, unknown>) => Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const { journal, send } = yield* VirtualSqs.VirtualSqs
    const id = yield* send("jobs", JSON.stringify({ reportId: "r-1" }))
    const handler = Tracking.tracked({ journal, queue: "jobs" }, () => Effect.sleep("90 seconds"))
    const worker = yield* Effect.forkDaemon(Consumer.run(Jobs, { concurrency: 10 }, handler))
    yield* pass
    yield* stop(worker)
    const beats = JournalQuery.beatsOf(JournalQuery.read(journal.entries), id).length
    // the sixth and the job's end fall on one instant: which comes first is the clock's choice
    if (beats !== 5 && beats !== 6) throw new Error(`${beats} beats`)
    Invariants.assertAll(journal.entries, { queue: "jobs", concurrency: 10, drained: true })
  }).pipe(Effect.provide(VirtualSqs.layer({ queues: ["jobs"] })))

const onSimClock = SimClock.run(test(Effect.sleep("2 minutes"), Fiber.interrupt))
const onTestClock = test(TestClock.adjust("2 minutes"), (worker) =>
  Effect.gen(function* () {
    yield* Fiber.interruptFork(worker)
    while ((yield* Fiber.status(worker))._tag !== "Done") yield* TestClock.adjust("1 second")
  })
).pipe(Effect.provide(TestContext.TestContext))

const measure = async (name: string, program: Effect.Effect<void, unknown>, rounds: number) => {
  const wall: Array<number> = []
  const cpu: Array<number> = []
  for (let i = 0; i < rounds; i++) {
    const from = performance.now()
    const used = process.cpuUsage()
    await Effect.runPromise(Logger.withMinimumLogLevel(program, LogLevel.None))
    const { system, user } = process.cpuUsage(used)
    wall.push(performance.now() - from)
    cpu.push((user + system) / 1000)
  }
  const at = (times: Array<number>, q: number) =>
    [...times].sort((a, b) => a - b)[Math.floor(q * (rounds - 1))]!.toFixed(1)
  const of = (times: Array<number>) => `first ${times[0]!.toFixed(1)}, median ${at(times, 0.5)}, p95 ${at(times, 0.95)}`
  process.stdout.write(`${name}, ms over ${rounds} rounds: wall ${of(wall)}; CPU ${of(cpu)}\n`)
}

await measure("SimClock", onSimClock, 50)
await measure("TestClock", onTestClock, 20)
