/** Ports whose receives a test makes, and how a run failed. */
import { Sqs, SqsQueue } from "@effect-sqs/core"
import { Effect, Layer, Schema } from "effect"

export const Jobs = SqsQueue.make("jobs", { schema: Schema.Number })

/** The port with another receive. */
export const withReceive = (
  receive: (sqs: Sqs.Sqs["Type"], request: Sqs.ReceiveRequest) => ReturnType<Sqs.Sqs["Type"]["receive"]>
) =>
  Layer.effect(
    Sqs.Sqs,
    Effect.map(Sqs.Sqs, (sqs) => ({ ...sqs, receive: (r) => receive(sqs, r) }))
  )
