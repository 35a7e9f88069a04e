/** Ports whose receives a test makes, and how a run failed. */
import { Sqs, SqsQueue } from "@effect-sqs/core"
import { Cause, Effect, Exit, Layer, Option, Schema } from "effect"

export const Jobs = SqsQueue.make("jobs", { schema: Schema.Number })

/** The port with another receive. */
export const withReceive = (
  receive: (sqs: Sqs.Sqs["Type"], request: Sqs.ReceiveRequest) => ReturnType<Sqs.Sqs["Type"]["receive"]>
) =>
  Layer.effect(
    Sqs.Sqs,
    Effect.map(Sqs.Sqs, (sqs) => ({ ...sqs, receive: (r) => receive(sqs, r) }))
  )

export const failureOf = <E>(exit: Exit.Exit<unknown, E>): unknown =>
  Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
