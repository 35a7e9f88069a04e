/**
 * Six virtual hours of a worker with 100 slots: 80,000 messages of 5 to 45 s, a lease of 20 s that is extended every 10 s,
 * 1 % of the runs fail. Twice with one seed; the journals must be identical. Then the invariants, on the first.
 *
 *   node --max-semi-space-size=64 --conditions=@effect-sqs/source --import tsx packages/testing/bench/sixHours.ts
 *
 * A third of the time without that flag is the collection of young garbage: a job's fibers outlive the default 16 MB.
 */
import { Consumer, SqsQueue } from "@effect-sqs/core"
import { Invariants, JournalQuery, SimClock, Tracking, VirtualSqs } from "@effect-sqs/testing"
import { Effect, Fiber, Logger, LogLevel, Random, Schema } from "effect"
import { createHash } from "node:crypto"

const MESSAGES = 80_000
const SLOTS = 100
const HOURS = 6

const Jobs = SqsQueue.make("jobs", { schema: Schema.Struct({ n: Schema.Number }) })

const program = Effect.gen(function* () {
  const { counters, journal, send } = yield* VirtualSqs.VirtualSqs
  const handler = Tracking.tracked({ journal, queue: "jobs" }, () =>
    Effect.gen(function* () {
      yield* Effect.sleep(yield* Random.nextIntBetween(5000, 45_000))
      if ((yield* Random.next) < 0.01) yield* Effect.fail("by chance")
    })
  )
  const options = { concurrency: SLOTS, lease: { visibility: "20 seconds", heartbeat: "10 seconds" } } as const
  const worker = yield* Effect.forkDaemon(Consumer.run(Jobs, options, handler))
  const pause = (HOURS * 3_600_000 * 0.97) / MESSAGES
  yield* Effect.fork(
    Effect.forEach(
      Array.from({ length: MESSAGES }, (_, n) => n),
      (n) => Effect.andThen(send("jobs", JSON.stringify({ n })), Effect.sleep(pause)),
      { discard: true }
    )
  )
  yield* Effect.sleep(HOURS * 3_600_000)
  yield* Fiber.interrupt(worker)
  const { timersFired } = yield* SimClock.progress
  return { entries: journal.entries, left: yield* counters("jobs"), timersFired }
}).pipe(
  Effect.provide(
    VirtualSqs.layer({ queues: ["dead", { name: "jobs", deadLetters: { queue: "dead", maxReceiveCount: 5 } }] })
  ),
  Logger.withMinimumLogLevel(LogLevel.None)
)

const say = (line: string) => process.stdout.write(`${line}\n`)

const once = async () => {
  const from = performance.now()
  const used = process.cpuUsage()
  const result = await Effect.runPromise(SimClock.run(program, { seed: 42 }))
  const { system, user } = process.cpuUsage(used)
  const seconds = (performance.now() - from) / 1000
  const count = (tag: string) => result.entries.filter((e) => e._tag === tag).length
  say(
    `${seconds.toFixed(1)} s real, ${((user + system) / 1e6).toFixed(1)} s CPU: ${count("RunEnded")} runs, ` +
      `${count("VisibilityChanged")} beats and releases, ${count("Deleted")} deleted, ${result.timersFired} timers, ` +
      `${result.entries.length} entries; left ${JSON.stringify(result.left)}`
  )
  const hash = createHash("sha256")
  for (const entry of result.entries) hash.update(JSON.stringify(entry))
  return { entries: result.entries, digest: hash.digest("hex") }
}

const first = await once()
const second = await once()
say(`journals ${first.digest === second.digest ? "identical" : "DIFFERENT"}: ${first.digest.slice(0, 16)}`)
const from = performance.now()
const view = JournalQuery.read(first.entries)
const violations = Invariants.check(view, { queue: "jobs", concurrency: SLOTS, drained: true })
say(`${violations.length} violations, checked in ${((performance.now() - from) / 1000).toFixed(1)} s`)
if (violations.length > 0) say(Invariants.explain(view, violations))
if (first.digest !== second.digest || violations.length > 0) process.exitCode = 1
