import { type Sqs, type SqsQueue } from "@effect-sqs/core"
import { JournalQuery, SimClock, VirtualSqs } from "@effect-sqs/testing"
import { Effect, type Scope } from "effect"
import { jobs } from "./support.js"

type Services = VirtualSqs.VirtualSqs | Sqs.Sqs | Scope.Scope

/** The program in simulated time, with the queues of `jobs`; what it left running is interrupted at its end. */
export const simulate = <A, E>(
  options: NonNullable<Parameters<typeof jobs>[0]>,
  program: (sqs: VirtualSqs.VirtualSqs["Type"]) => Effect.Effect<A, E, Services>
): Effect.Effect<A, E | SimClock.SimStuck> =>
  SimClock.run(Effect.scoped(Effect.provide(Effect.flatMap(VirtualSqs.VirtualSqs, program), jobs(options))), {
    start: 0,
    seed: options.seed ?? 0
  })

/** Runs it beside the test, and drains it at the test's end. */
export const beside = <A, E, R>(run: Effect.Effect<A, E, R>): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const process = yield* SimClock.spawn("worker", run)
    yield* Effect.addFinalizer(() => Effect.zipRight(process.terminate, process.await))
  })

export const send = <A, I>(
  sqs: VirtualSqs.VirtualSqs["Type"],
  queue: SqsQueue.SqsQueue<A, I>,
  body: A,
  options?: VirtualSqs.SendOptions
): Effect.Effect<string> =>
  Effect.flatMap(Effect.orDie(queue.encode(body)), (text) => Effect.orDie(sqs.send(queue.name, text, options)))

/** The lives of the messages so far. */
export const view = (sqs: VirtualSqs.VirtualSqs["Type"]): JournalQuery.JournalView =>
  JournalQuery.read(sqs.journal.entries)
