/**
 * Many messages through the real SDK and a server that fails in every way: none may be lost, the heap must stay flat, and
 * all places must be free again. `npm run soak -- --messages 1000000`
 */
import { Consumer, Producer, Redelivery, SqsQueue } from "@effect-sqs/core"
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Fiber, Logger, LogLevel, Option, Schema } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "100000" },
    concurrency: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    help: { type: "boolean", default: false }
  }
})
const help = `npm run soak -- [--messages N] [--concurrency N] [--seed S]

  --messages N      how many messages; default 100000
  --concurrency N   handlers at once; default 200
  --seed S          of the server's faults; default 1
`

/** Sent and not yet done, at most: the server keeps them in memory. */
const BACKLOG = 5_000
const CHUNK = 500

class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}

const server = (seed: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const file = fileURLToPath(new URL("./faultyServer.ts", import.meta.url))
      const child = spawn(
        process.execPath,
        ["--conditions=@effect-sqs/source", "--import", "tsx", file, "--seed", seed],
        { stdio: ["pipe", "pipe", "inherit"] }
      )
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const line = async () => String((await lines.next()).value)
      const url = await line()
      const counters = async (): Promise<{ visible: number; inFlight: number; delayed: number }> => {
        child.stdin.write("counters\n")
        return JSON.parse(await line())
      }
      return { child, url, counters: Effect.promise(counters) }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGTERM"))
  )

const heapMb = Effect.sync(() => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 1e6
})

const soak = (total: number, concurrency: number, seed: string) =>
  Effect.gen(function* () {
    const { counters, url } = yield* server(seed)
    const queue = SqsQueue.make(`${url}/000000000000/soak`, { schema: Schema.Struct({ n: Schema.Number }) })
    const runs = new Uint16Array(total)
    const failed = new Set<number>()
    let done = 0
    let sent = 0
    let running = 0
    let mostRunning = 0
    const problems = new Map<string, number>()
    const count = (name: string) => problems.set(name, (problems.get(name) ?? 0) + 1)

    const handler = ({ n }: { readonly n: number }) =>
      Effect.gen(function* () {
        mostRunning = Math.max(mostRunning, ++running)
        if (n % 97 === 0) yield* Effect.sleep(50)
        // some fail at first, and come again
        if (n % 211 === 0 && !failed.has(n)) {
          failed.add(n)
          return yield* new Refused()
        }
        if (runs[n]!++ === 0) done++
      }).pipe(Effect.ensuring(Effect.sync(() => running--)))

    const program = Effect.gen(function* () {
      const producer = yield* Producer.make(queue)
      const consumer = yield* Consumer.make(
        queue,
        {
          concurrency,
          receive: { waitTime: "2 seconds" },
          redelivery: Redelivery.release("1 second"),
          onEvent: (event) =>
            Effect.sync(() => {
              if (event._tag === "PollFailed") count(`poll: ${event.error._tag}`)
              if (event._tag === "DuplicateDeleted") count("finished, came again, deleted unrun")
              if (event._tag === "DeliverySettled" && !event.settled.confirmed) {
                count(`${event.settled.asked._tag} not confirmed: ${event.settled.problem?._tag}`)
              }
            })
        },
        handler
      )
      const send = Effect.gen(function* () {
        while (sent < total) {
          if (sent - done > BACKLOG) {
            yield* Effect.sleep(20)
            continue
          }
          const chunk = Array.from({ length: Math.min(CHUNK, total - sent) }, (_, i) => ({ n: sent + i }))
          for (const [i, result] of (yield* producer.sendAll(chunk)).entries()) {
            if (result._tag === "Failed")
              return yield* Effect.dieMessage(`message ${chunk[i]!.n} was not sent: ${result.error.message}`)
          }
          sent += chunk.length
        }
      })
      const sending = yield* Effect.forkScoped(send)
      const startedAt = yield* Effect.clockWith((c) => c.currentTimeMillis)
      const heaps: Array<number> = []
      let next = total / 10
      while (done < total) {
        yield* Effect.sleep(250)
        const failedToSend = yield* Fiber.poll(sending)
        if (Option.isSome(failedToSend)) yield* failedToSend.value
        if (done < next) continue
        next += total / 10
        heaps.push(yield* heapMb)
        const seconds = ((yield* Effect.clockWith((c) => c.currentTimeMillis)) - startedAt) / 1000
        yield* Effect.log(
          `${done} of ${total} done, ${Math.round(done / seconds)}/s, heap ${heaps.at(-1)!.toFixed(1)} MB`
        )
      }
      // deletes that had failed: the messages come again and are deleted
      let left = yield* counters
      while (left.visible + left.inFlight + left.delayed > 0) {
        yield* Effect.sleep(500)
        left = yield* counters
      }
      const state = yield* consumer.state
      return { heaps, state }
    })

    const { heaps, state } = yield* Effect.scoped(program).pipe(
      Effect.provide(
        AwsSqs.layerWith({
          endpoint: url,
          region: "us-east-1",
          credentials: { accessKeyId: "local", secretAccessKey: "local" }
        })
      )
    )
    const again = runs.reduce((n, r) => n + (r > 1 ? r - 1 : 0), 0)
    const lost = runs.reduce((n, r) => n + (r === 0 ? 1 : 0), 0)
    // the first tenth has the warm-up in it
    const steady = heaps.slice(1)
    const growth = steady.length < 2 ? 0 : Math.max(...steady.slice(-3)) - Math.max(...steady.slice(0, 3))
    for (const [name, n] of [...problems].sort()) yield* Effect.log(`${name}: ${n}`)
    yield* Effect.log(
      `${total} messages: ${lost} lost, ${again} runs more than once, ${mostRunning} at once at most of ${concurrency}, ` +
        `${state.free} places free, ${state.waiting} in hand, heap grew by ${growth.toFixed(1)} MB`
    )
    const faults = [
      lost > 0 ? `${lost} messages were lost` : "",
      state.free !== concurrency || state.waiting !== 0 ? "places leaked" : "",
      mostRunning > concurrency ? "more handlers ran than allowed" : "",
      growth > 20 ? "the heap grew" : ""
    ].filter((f) => f !== "")
    if (faults.length > 0) return yield* Effect.fail(new Error(faults.join("; ")))
  }).pipe(Effect.scoped)

if (values.help) process.stdout.write(help)
else {
  soak(Number(values.messages), Number(values.concurrency), values.seed).pipe(
    Effect.provide(Logger.pretty),
    // the faults are the point: each would be a warning
    Logger.withMinimumLogLevel(LogLevel.Info),
    NodeRuntime.runMain
  )
}
