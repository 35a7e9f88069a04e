/** A worker with a batch handler in simulated time. */
import { BatchHandler, Consumer, type ConsumerEvent, type Delivery, SqsQueue } from "@effect-sqs/core"
import { Invariants, type Journal, SimClock, Tracking, type VirtualSqs } from "@effect-sqs/testing"
import { Clock, Effect, type Exit, Schema } from "effect"
import type { WorkerOptions } from "./stage.js"
import { send, simulate, view } from "./sim.js"
import type { jobs } from "./support.js"

export const Numbers = SqsQueue.make("jobs", { schema: Schema.Number })
export const FifoNumbers = SqsQueue.make("jobs.fifo", { schema: Schema.Number })

export type Deliveries = ReadonlyArray<Delivery.Delivery<number>>

export interface BatchScene {
  readonly size: number
  readonly window: BatchHandler.BatchOptions["window"]
  readonly f: (deliveries: Deliveries, batch: number) => Effect.Effect<BatchHandler.BatchResult<any>, any>
  readonly worker?: WorkerOptions
  readonly queue?: Parameters<typeof jobs>[0]
  readonly fifo?: boolean
  /** groups of the messages on FIFO, in the order in which they are sent */
  readonly groups?: ReadonlyArray<string>
  /** bodies 1 to n; 0 */
  readonly messages?: number
  readonly expect?: Invariants.Expectations | "off"
  /** around the making of the handler */
  readonly making?: <A>(make: Effect.Effect<A>) => Effect.Effect<A>
}

export interface BatchStage {
  readonly sqs: VirtualSqs.VirtualSqs["Type"]
  readonly worker: SimClock.SimProcess<never, unknown>
  /** when each batch started, in ms, and its bodies */
  readonly batches: Array<{ readonly at: number; readonly bodies: ReadonlyArray<number> }>
  readonly events: Array<ConsumerEvent.ConsumerEvent>
  readonly send: (n: number) => Effect.Effect<string>
  readonly stop: Effect.Effect<Exit.Exit<never, unknown>>
  /** the last thing that was asked for each body's first delivery, and when */
  readonly ends: () => ReadonlyArray<string>
  readonly calls: (operation: string) => ReadonlyArray<Journal.CallStarted>
}

export const batching = <A, E>(scene: BatchScene, script: (stage: BatchStage) => Effect.Effect<A, E>) => {
  const queue = scene.fifo === true ? FifoNumbers : Numbers
  return simulate({ ...scene.queue, name: queue.name }, (sqs) =>
    Effect.gen(function* () {
      const groups = scene.groups ?? []
      for (let n = 1; n <= (scene.messages ?? groups.length); n++) {
        const fifo = scene.fifo === true ? { groupId: groups[n - 1], deduplicationId: String(n) } : undefined
        yield* send(sqs, queue, n, fifo)
      }
      const batches: BatchStage["batches"] = []
      const events: BatchStage["events"] = []
      const making = scene.making ?? ((make) => make)
      const make = BatchHandler.make(queue, scene, (deliveries) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => {
          batches.push({ at, bodies: deliveries.map((d) => d.body) })
          return scene.f(deliveries, batches.length)
        })
      )
      const onEvent: WorkerOptions["onEvent"] = (e) => Effect.sync(() => void events.push(e))
      const worker = yield* SimClock.spawn(
        "worker",
        Effect.flatMap(making(make), (handler) =>
          Consumer.run(
            queue,
            { ...scene.worker, onEvent } as WorkerOptions,
            Tracking.tracked({ journal: sqs.journal, queue: queue.name }, handler)
          )
        )
      )
      const stop = Effect.zipRight(worker.terminate, worker.await)
      yield* Effect.addFinalizer(() => stop)
      const firsts = () => view(sqs).deliveries.filter((d) => d.queue === queue.name && d.receiveCount === 1)
      const answer = yield* script({
        sqs,
        worker,
        batches,
        events,
        stop,
        send: (n) => send(sqs, queue, n),
        ends: () =>
          firsts().map(({ asks }) => {
            const ask = asks.at(-1)
            return ask === undefined ? "nothing" : `${ask.kind} ${ask.sent.at}`
          }),
        calls: (operation) =>
          sqs.journal.entries.filter(
            (e): e is Journal.CallStarted => e._tag === "CallStarted" && e.operation === operation
          )
      })
      yield* stop
      if (scene.expect !== "off") {
        Invariants.assertAll(sqs.journal.entries, {
          queue: queue.name,
          kind: queue.kind,
          concurrency: scene.worker?.concurrency ?? 10,
          drained: true,
          ...scene.expect
        })
      }
      return answer
    })
  )
}
