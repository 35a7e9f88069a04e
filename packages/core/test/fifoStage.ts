/** Workers on a FIFO queue in simulated time, whose runs are written down. */
import { Consumer, Redelivery, SqsQueue } from "@effect-sqs/core"
import { Invariants, type SimClock, Tracking, type VirtualSqs } from "@effect-sqs/testing"
import { Effect, Schema } from "effect"
import { beside, send, simulate, view } from "./sim.js"

export const Jobs = SqsQueue.make("jobs.fifo", { schema: Schema.String })

export type Sqs = VirtualSqs.VirtualSqs["Type"]

export type Options = Parameters<typeof Consumer.run<string, string, never, string, never>>[1]

export type Simulated = Parameters<typeof simulate>[0]

/** Bodies are `<group><number>`, as `a1`. */
export const put = (sqs: Sqs, ...bodies: ReadonlyArray<string>) =>
  Effect.forEach(bodies, (body) => send(sqs, Jobs, body, { groupId: body[0]!, deduplicationId: body }))

export interface Scene {
  readonly sqs: Sqs
  /** a worker; what it runs is written into `runs` and into the journal */
  readonly work: (
    options: Options,
    run: (body: string, nth: number) => Effect.Effect<void, string>
  ) => Effect.Effect<void, never, any>
  /** in the order of their starts, as `a1` */
  readonly runs: Array<string>
  /** how often each message was received, the dead ones included */
  readonly receives: () => Record<string, number>
}

/** Every scene ends with a look at what must always hold. */
export const play = <A, E>(
  options: Simulated,
  script: (scene: Scene) => Effect.Effect<A, E, any>,
  expect: Invariants.Expectations | "off" = {}
) =>
  simulate({ ...options, name: Jobs.name }, (sqs) =>
    Effect.gen(function* () {
      const runs: Array<string> = []
      const bodies = new Map<string, string>()
      const answer = yield* Effect.scoped(
        script({
          sqs,
          runs,
          work: (consumer, run) =>
            beside(
              Consumer.run(
                Jobs,
                consumer,
                Tracking.tracked(
                  { journal: sqs.journal, queue: Jobs.name },
                  (body: string, d: { messageId: string; receiptHandle: string }) => {
                    runs.push(body)
                    bodies.set(d.messageId, body)
                    return run(body, runs.filter((r) => r === body).length)
                  }
                )
              )
            ),
          receives: () => {
            const counts: Record<string, number> = {}
            for (const [id, life] of view(sqs).messages) {
              counts[bodies.get(id) ?? id] = life.deliveries.filter((d) => d.queue === Jobs.name).length
            }
            return counts
          }
        })
      )
      if (expect === "off") return answer
      Invariants.assertAll(sqs.journal.entries, {
        queue: Jobs.name,
        kind: "fifo",
        deadLetterQueue: "dead.fifo",
        leaves: true,
        ...expect
      })
      return answer
    })
  ) as Effect.Effect<A, E | SimClock.SimStuck>

export const quick = { redelivery: Redelivery.release("1 second") }
