/** How many timer steps a second the simulation makes: 100 fibers that sleep and beat. */
import { SimClock } from "@effect-sqs/testing"
import { Effect } from "effect"

const FIBERS = 100
const SLEEPS = 2000

const program = Effect.gen(function* () {
  yield* Effect.forEach(
    Array.from({ length: FIBERS }, (_, i) => i),
    (i) =>
      Effect.forEach(Array.from({ length: SLEEPS }), (_, n) => Effect.sleep(1 + ((i * 7919 + n * 104729) % 997)), {
        discard: true
      }),
    { concurrency: "unbounded", discard: true }
  )
  return yield* SimClock.progress
})

for (let round = 0; round < 5; round++) {
  const from = process.cpuUsage()
  const t0 = performance.now()
  const { timersFired } = await Effect.runPromise(SimClock.run(program))
  const ms = performance.now() - t0
  const { user, system } = process.cpuUsage(from)
  process.stdout.write(
    `${timersFired} timers, ${Math.round(timersFired / (ms / 1000))}/s real, ${Math.round(timersFired / ((user + system) / 1e6))}/s CPU\n`
  )
}
