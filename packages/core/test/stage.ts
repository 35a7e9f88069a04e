/** A worker in simulated time, from its first poll to its drain, and what SQS saw of it. */
import { Consumer, type ConsumerEvent, type Delivery, Sqs, SqsQueue } from "@effect-sqs/core"
import { Invariants, type Journal, JournalQuery, SimClock, Tracking, VirtualSqs } from "@effect-sqs/testing"
import { assert } from "@effect/vitest"
import { Effect, type Exit, FiberId, Runtime, Schema, type Scope, type Supervisor } from "effect"
import { jobs } from "./support.js"

export const Job = Schema.Struct({ n: Schema.Number })
export type Job = typeof Job.Type

export const Jobs = SqsQueue.make("jobs", { schema: Job })
export const FifoJobs = SqsQueue.make("jobs.fifo", { schema: Job })

export type WorkerOptions = Parameters<typeof Consumer.run<Job, unknown, never, any, never>>[1]
export type Handler = (job: Job, delivery: Delivery.Delivery<Job>) => Effect.Effect<void, any>

export interface Scene {
  /** of the queue and the virtual SQS */
  readonly queue?: Parameters<typeof jobs>[0]
  readonly fifo?: boolean
  readonly worker?: WorkerOptions
  readonly handler: Handler
  /** beside the one that collects the events */
  readonly listener?: (event: ConsumerEvent.ConsumerEvent) => Effect.Effect<void>
  /** how many messages are there when the worker starts; 1. On FIFO all of one group */
  readonly messages?: number
  /** what else the journal's invariants need to know; `"off"` where the scene breaks them on purpose */
  readonly expect?: Invariants.Expectations | "off"
  /** sees the fibers of the worker */
  readonly supervisor?: Supervisor.Supervisor<any>
  readonly seed?: number
  /** `random`: what is ready at one instant goes on in an order drawn from the seed */
  readonly order?: "fifo" | "random"
  /** SQS answers receives though the worker stalls, as a real one does */
  readonly remote?: boolean
}

/** Receives that are made by another process, this one: the answer waits until the caller's process is awake. */
export const remote = (sqs: Sqs.Sqs["Type"]) =>
  Effect.map(Effect.runtime<never>(), (runtime): Sqs.Sqs["Type"] => ({
    ...sqs,
    receive: (request) =>
      Effect.async((resume) => {
        const fiber = Runtime.runFork(runtime)(sqs.receive(request))
        fiber.addObserver((exit) => resume(exit))
        return Effect.sync(() => fiber.unsafeInterruptAsFork(FiberId.none))
      })
  }))

export interface Stage {
  readonly sqs: VirtualSqs.VirtualSqs["Type"]
  readonly worker: SimClock.SimProcess<never, unknown>
  readonly events: ReadonlyArray<ConsumerEvent.ConsumerEvent>
  readonly view: () => JournalQuery.JournalView
  /** the deliveries of the queue in the order of their receives */
  readonly deliveries: () => ReadonlyArray<JournalQuery.Delivery>
  readonly send: (n: number, groupId?: string) => Effect.Effect<string>
  /** asks the worker to stop and waits until it has */
  readonly stop: Effect.Effect<Exit.Exit<never, unknown>>
}

/** Times are ms since the start of the scene. */
export const play = <A, E>(
  scene: Scene,
  script: (stage: Stage) => Effect.Effect<A, E, Scope.Scope | VirtualSqs.VirtualSqs | Sqs.Sqs>
): Effect.Effect<A, E | SimClock.SimStuck> => {
  const fifo = scene.fifo === true
  const queue = fifo ? FifoJobs : Jobs
  const program = Effect.gen(function* () {
    const sqs = yield* VirtualSqs.VirtualSqs
    const send = (n: number, groupId = "g") =>
      Effect.orDie(
        sqs.send(queue.name, JSON.stringify({ n }), fifo ? { groupId, deduplicationId: String(n) } : undefined)
      )
    for (let n = 1; n <= (scene.messages ?? 1); n++) yield* send(n)
    const events: Array<ConsumerEvent.ConsumerEvent> = []
    const handler = Tracking.tracked<Job, Delivery.Delivery<Job>, any, never>(
      { journal: sqs.journal, queue: queue.name },
      scene.handler
    )
    const collect = (e: ConsumerEvent.ConsumerEvent) => Effect.sync(() => void events.push(e))
    const { listener } = scene
    const onEvent: WorkerOptions["onEvent"] =
      listener === undefined ? collect : (e) => Effect.zipRight(collect(e), listener(e))
    const options: WorkerOptions = { ...scene.worker, onEvent }
    const port = yield* Sqs.Sqs
    const run = Consumer.run(queue, options, handler).pipe(
      Effect.provideService(Sqs.Sqs, scene.remote === true ? yield* remote(port) : port)
    )
    const worker = yield* SimClock.spawn(
      "worker",
      scene.supervisor === undefined ? run : Effect.supervised(run, scene.supervisor)
    )
    const stage: Stage = {
      sqs,
      worker,
      events,
      send,
      view: () => JournalQuery.read(sqs.journal.entries),
      deliveries: () => JournalQuery.read(sqs.journal.entries).deliveries.filter((d) => d.queue === queue.name),
      stop: Effect.zipRight(worker.terminate, worker.await)
    }
    const answer = yield* script(stage)
    yield* stage.stop
    if (scene.expect !== "off") {
      Invariants.assertAll(sqs.journal.entries, {
        queue: queue.name,
        kind: queue.kind,
        concurrency: scene.worker?.concurrency ?? 10,
        onLeaseLost: scene.worker?.onLeaseLost,
        drained: true,
        ...scene.expect
      })
    }
    return answer
  })
  return SimClock.run(Effect.scoped(Effect.provide(program, jobs({ ...scene.queue, name: queue.name }))), {
    start: 0,
    seed: scene.seed ?? 0,
    order: scene.order ?? "fifo"
  })
}

export const seconds = (n: number) => n * 1000

/** when each ask of a kind was sent, in ms, and what it asked */
export const asked = (delivery: JournalQuery.Delivery, kind: JournalQuery.Ask["kind"]) =>
  delivery.asks.filter((a) => a.kind === kind).map((a) => ({ at: a.sent.at, seconds: a.timeoutSeconds }))

/** the calls of an operation, by the entries they carried */
export const calls = (entries: ReadonlyArray<Journal.JournalEntry>, operation: string) =>
  entries.flatMap((e) => (e._tag === "CallStarted" && e.operation === operation ? [e.input.entries ?? []] : []))

export const eventsOf = <T extends ConsumerEvent.ConsumerEvent["_tag"]>(stage: Stage, tag: T) =>
  stage.events.filter((e): e is Extract<ConsumerEvent.ConsumerEvent, { readonly _tag: T }> => e._tag === tag)

export const lossesOf = (stage: Stage) =>
  eventsOf(stage, "LeaseWasLost").map(({ at, lost }) => ({ at, reason: lost.reason }))

export const settledOf = (stage: Stage) => eventsOf(stage, "DeliverySettled").map(({ settled }) => settled)

/** every message was received once, run once and deleted */
export const assertOnce = (stage: Stage, messages: number) => {
  const deliveries = stage.deliveries()
  assert.strictEqual(deliveries.length, messages)
  for (const delivery of deliveries) {
    assert.strictEqual(delivery.runs.length, 1)
    assert.strictEqual(JournalQuery.settlementOf(delivery)?.kind, "delete")
  }
}
