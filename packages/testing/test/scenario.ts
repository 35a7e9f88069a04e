/** The real consumer on a virtual SQS with everything drawn from a seed: load, run times, failures, faults, the stop. */
import { Consumer, Sqs, SqsQueue } from "@effect-sqs/core"
import { Fault, type FaultPlan, type Invariants, SimClock, Tracking, VirtualSqs } from "@effect-sqs/testing"
import { Cause, Context, Effect, Exit, Fiber, Layer, Logger, LogLevel, Random, Schema } from "effect"

const Job = Schema.Struct({ n: Schema.Number })
const group = (n: number) => `g-${n % 4}`
const queues = {
  standard: SqsQueue.make("jobs", { schema: Job }),
  fifo: SqsQueue.make("jobs.fifo", {
    schema: Job,
    groupId: ({ n }) => group(n),
    deduplicationId: ({ n }) => String(n)
  })
}

const calls = ["ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch", "SendMessageBatch"] as const

/** everything that SQS and the way to it can do to a consumer, now and then */
export const storm = (seed: number, kind: "standard" | "fifo") =>
  Fault.all(
    Fault.latencyBetween(`${seed}-before`, 0, seed % 2 === 0 ? "50 millis" : "2 seconds"),
    Fault.latencyBetween(`${seed}-after`, 0, "200 millis", { after: true }),
    Fault.error("RequestThrottled").pipe(Fault.random(`${seed}-throttled`, 0.05)),
    Fault.error("ServiceUnavailable", { httpStatus: 503 }).pipe(Fault.random(`${seed}-503`, 0.03)),
    Fault.reset.pipe(Fault.random(`${seed}-reset`, 0.03)),
    Fault.loseReply.pipe(Fault.random(`${seed}-lost`, 0.02)),
    Fault.hang.pipe(Fault.random(`${seed}-hang`, 0.005)),
    Fault.randomEntries(`${seed}-entries`, 0.05, "InternalError"),
    ...(kind === "fifo"
      ? []
      : [
          Fault.reorder(`${seed}-order`).pipe(Fault.random(`${seed}-reorder`, 0.3)),
          Fault.duplicate().pipe(Fault.random(`${seed}-duplicate`, 0.02))
        ])
  ).pipe(Fault.on(...calls))

export interface Scenario {
  readonly seed: number
  readonly kind: "standard" | "fifo"
  /** what stands between the consumer and SQS */
  readonly through?: ((sqs: Sqs.Sqs["Type"]) => Sqs.Sqs["Type"]) | undefined
  readonly faults?: FaultPlan.FaultPlan | undefined
  /** its process stalls for up to 40 s, its wall clock jumps by up to 2 h, both ways */
  readonly mishaps?: boolean | undefined
}

const LONGEST_STALL_MS = 40_000

/** now and then, for ever */
const befall = (worker: SimClock.SimProcess<unknown, unknown>) =>
  Effect.gen(function* () {
    yield* Effect.sleep(yield* Random.nextIntBetween(1000, 40_000))
    if (yield* Random.nextBoolean) yield* worker.stall(yield* Random.nextIntBetween(1, LONGEST_STALL_MS))
    else yield* worker.jumpMillis(yield* Random.nextIntBetween(-7_200_000, 7_200_000))
  }).pipe(Effect.forever)

/** Runs it to the end of the drain, and tells the journal with what is to be expected of it. */
export const run = ({ faults, kind, mishaps = false, seed, through = (sqs) => sqs }: Scenario) => {
  const queue = queues[kind]
  const dead = kind === "fifo" ? "dead.fifo" : "dead"
  const program = Effect.gen(function* () {
    const { journal, send } = yield* VirtualSqs.VirtualSqs
    const concurrency = yield* Random.nextIntBetween(1, 9)
    const prefetch = yield* Random.nextIntBetween(0, 6)
    const handler = Tracking.tracked({ journal, queue: queue.name }, () =>
      Effect.gen(function* () {
        const most = (yield* Random.next) < 0.2 ? 90_000 : 5000
        yield* Effect.sleep(yield* Random.nextIntBetween(0, most))
        const luck = yield* Random.next
        if (luck < 0.02) return yield* Effect.die("by chance")
        if (luck < 0.1) yield* Effect.fail("by chance")
      })
    )
    // with the shorter one some handlers are cut off
    const drain = seed % 3 === 1 ? "20 seconds" : "2 minutes"
    const options = { concurrency, prefetch, lease: { visibility: "20 seconds" }, drain } as const
    const worker = yield* SimClock.spawn("worker", Consumer.run(queue, options, handler))
    const mishap = yield* Effect.fork(mishaps ? befall(worker) : Effect.void)
    for (let n = 0; n < 40; n++) {
      const fifo = { groupId: group(n), deduplicationId: String(n) }
      yield* send(queue.name, JSON.stringify({ n }), kind === "fifo" ? fifo : {})
      yield* Effect.sleep(yield* Random.nextIntBetween(0, 3000))
    }
    yield* Effect.sleep(yield* Random.nextIntBetween(0, 120_000))
    const stoppedAt = yield* SimClock.trueTimeMillis
    yield* Fiber.interrupt(mishap)
    yield* worker.terminate
    const exit = yield* worker.await
    const expectations: Invariants.Expectations = {
      queue: queue.name,
      kind,
      concurrency,
      prefetch,
      deadLetterQueue: dead,
      stoppedAt,
      clockJumps: mishaps,
      graceMs: 1000 + (mishaps ? LONGEST_STALL_MS : 0),
      // a drain that was not complete says so itself
      drained: Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause),
      context: `seed ${seed}, ${kind}`
    }
    return { entries: journal.entries, expectations }
  })
  const layer = VirtualSqs.layer({
    seed,
    faults,
    queues: [dead, { name: queue.name, deadLetters: { queue: dead, maxReceiveCount: 4 } }]
  })
  const between = Layer.map(layer, (context) => Context.add(context, Sqs.Sqs, through(Context.get(context, Sqs.Sqs))))
  const order = seed % 2 === 0 ? "fifo" : "random"
  return program.pipe(
    Effect.provide(between),
    (simulated) => SimClock.run(simulated, { seed, order, limit: "1 day" }),
    Logger.withMinimumLogLevel(LogLevel.None)
  )
}
