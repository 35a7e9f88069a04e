/** Leases under random settings, jobs and troubles: the invariants hold on every journal. */
import { Redelivery } from "@effect-sqs/core"
import { Fault, Invariants } from "@effect-sqs/testing"
import { describe, it } from "@effect/vitest"
import { Duration, Effect, Logger, Random } from "effect"
import * as fc from "fast-check"
import { play, type WorkerOptions } from "./stage.js"

const ms = (min: number, max: number) => fc.integer({ min, max })
/** evenly: doubles of fast-check are mostly next to 0 or 1 */
const part = fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100)

const anyScene = fc.record({
  seed: fc.nat(),
  fifo: fc.boolean(),
  visibilityS: ms(1, 60),
  extendByS: ms(1, 120),
  heartbeat: fc.option(part, { nil: undefined }),
  limitS: fc.option(ms(1, 120), { nil: undefined }),
  lingerMs: ms(0, 500),
  concurrency: ms(1, 12),
  prefetch: ms(0, 5),
  longestJobMs: fc.constantFrom(100, 5_000, 60_000),
  failing: part,
  byHand: part,
  interruptible: part,
  trouble: part.map((p) => p / 2),
  latencyMs: ms(0, 2_000),
  stopAtS: ms(1, 120)
})

type Scene = typeof anyScene extends fc.Arbitrary<infer A> ? A : never

const optionsOf = (o: Scene): WorkerOptions => {
  const shortestMs = Math.min(o.visibilityS, o.extendByS) * 1_000
  const most = Math.ceil(shortestMs - Math.min(1_000, shortestMs / 20)) - 1
  return {
    concurrency: o.concurrency,
    prefetch: o.prefetch,
    lease: {
      heartbeat: o.heartbeat === undefined ? "off" : Math.round(500 + o.heartbeat * (most - 500)),
      extendBy: Duration.seconds(o.extendByS),
      ...(o.limitS === undefined ? {} : { limit: Duration.seconds(o.limitS) })
    },
    settlement: { linger: o.lingerMs },
    receive: { waitTime: "1 second" },
    redelivery: Redelivery.release("3 seconds")
  }
}

const run = (o: Scene) => {
  const faults = Fault.all(
    Fault.latencyBetween(o.seed, 0, o.latencyMs),
    Fault.random(1, o.trouble / 2)(Fault.error("RequestThrottled")),
    Fault.random(2, o.trouble / 4)(Fault.hang),
    Fault.random(3, o.trouble / 4)(Fault.loseReply),
    Fault.randomEntries(4, o.trouble / 2, "InternalError")
  ).pipe(Fault.on("ChangeMessageVisibilityBatch", "DeleteMessageBatch"))
  return play(
    {
      queue: { visibility: o.visibilityS, maxReceiveCount: 1_000, faults },
      fifo: o.fifo,
      seed: o.seed,
      order: "random",
      messages: 10,
      worker: optionsOf(o),
      handler: (_, delivery) =>
        Effect.gen(function* () {
          const forMs = yield* Random.nextIntBetween(0, o.longestJobMs)
          const work = Effect.sleep(forMs)
          const extend = Effect.delay(delivery.extend(yield* Random.nextIntBetween(500, 90_000)), forMs / 2)
          const both =
            (yield* Random.next) < o.byHand
              ? Effect.all([work, Effect.ignore(extend)], { concurrency: "unbounded", discard: true })
              : work
          yield* (yield* Random.next) < o.interruptible ? both : Effect.onInterrupt(both, () => Effect.sleep(400))
          // a beat that leaves between a handler's last step and its fiber's end looks like a release in the journal
          yield* Effect.sleep(1)
          if ((yield* Random.next) < o.failing / 2) return yield* Effect.fail("no")
        }),
      expect: "off"
    },
    (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep(Duration.seconds(o.stopAtS))
        yield* stage.stop
        Invariants.assertAll(stage.sqs.journal.entries, {
          queue: o.fifo ? "jobs.fifo" : "jobs",
          kind: o.fifo ? "fifo" : "standard",
          concurrency: o.concurrency,
          // and those whose lease is lost, or being given back, while others come
          prefetch: 2 * o.prefetch + o.concurrency,
          context: JSON.stringify(o)
        })
      })
  )
}

/** more by the environment: LEASE_RUNS=1000 */
const RUNS = Number(process.env["LEASE_RUNS"] ?? 30)

const quiet = Logger.remove(Logger.defaultLogger)

describe("leases under random settings, jobs and troubles", () => {
  it(
    "keep every invariant",
    () =>
      fc.assert(
        fc.asyncProperty(anyScene, (o) => Effect.runPromise(Effect.provide(run(o), quiet))),
        { numRuns: RUNS }
      ),
    RUNS * 10_000
  )
})
