/** Handlers that fail, and what was asked of SQS for each delivery. */
import { type Delivery, SqsQueue } from "@effect-sqs/core"
import { Tracking, type VirtualSqs } from "@effect-sqs/testing"
import { type Effect, Schema } from "effect"
import { view } from "./sim.js"

export class Unknown extends Schema.TaggedError<Unknown>()("Unknown", {}) {
  override get message() {
    return "no such dataset"
  }
}

export const Jobs = SqsQueue.make("jobs", { schema: Schema.Number })

export type Sqs = VirtualSqs.VirtualSqs["Type"]

export type Handler<E> = (n: number, delivery: Delivery.Delivery<number>) => Effect.Effect<void, E>

/** so that the journal, and the invariants, know of the runs */
export const tracked = <E>(sqs: Sqs, handler: Handler<E>): Handler<E> =>
  Tracking.tracked({ journal: sqs.journal, queue: "jobs" }, handler)

/** what was asked for each delivery of the queue: seconds of a release, "delete", or nothing */
export const ends = (sqs: Sqs) =>
  view(sqs)
    .deliveries.filter((d) => d.queue === "jobs")
    .map((d) => d.asks.at(-1))
    .map((ask) => (ask === undefined ? "nothing" : ask.kind === "delete" ? "delete" : ask.timeoutSeconds))
