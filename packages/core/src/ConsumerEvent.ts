/**
 * What happens in a consumer, one value each. No event carries a body.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import type { Subject } from "./Delivery.js"
import type { DrainReport } from "./Drain.js"
import type { LeaseLost, Settled } from "./Settlement.js"
import type { SqsError } from "./SqsError.js"

/**
 * All events. `at` is epoch ms.
 *
 * - `Started`: polling begins. `notes` are what start found risky, or could not check.
 * - `Received`: a delivery is in hand, hidden until `deadline` (epoch ms).
 * - `RunStarted`, `RunEnded`: the handler; `outcome` is how its run ended.
 * - `LeaseExtended`: by a beat or by hand. `marginMs`: what was left when it was asked.
 * - `BeatFailed`: one beat had no success; it is tried again inside the lease.
 * - `LeaseWasLost`: the handler is interrupted, unless it may go on.
 * - `Undecodable`: a body that is not what the schema says.
 * - `DeliverySettled`: the end, confirmed or not.
 * - `DuplicateDeleted`: a message whose work was done came again, since its delete had failed or its lease had been lost
 *   when it was done; it was not run.
 * - `PollFailed`, `PollRecovered`: receiving; `retryInMs` is the pause.
 * - `PollEnded`: receiving failed for good, with `error` as the last. `Consumer.run` drains and fails; a consumer of
 *   `Consumer.make` receives no more, and its `failure` fails.
 * - `Paused`, `Resumed`, `Draining`, `Drained`: the consumer itself.
 *
 * @since 0.1.0
 * @category models
 */
export type ConsumerEvent = Data.TaggedEnum<{
  Started: { readonly queue: string; readonly at: number; readonly notes: ReadonlyArray<string> }
  Received: {
    readonly queue: string
    readonly at: number
    readonly deadline: number
    readonly sentAt: number | undefined
  } & Subject
  RunStarted: { readonly queue: string; readonly at: number } & Subject
  RunEnded: {
    readonly queue: string
    readonly at: number
    readonly outcome: "success" | "failure" | "interrupted"
    readonly ranMs: number
  } & Subject
  LeaseExtended: {
    readonly queue: string
    readonly at: number
    readonly deadline: number
    readonly marginMs: number
  } & Subject
  BeatFailed: { readonly queue: string; readonly at: number; readonly error: SqsError } & Subject
  LeaseWasLost: { readonly queue: string; readonly at: number; readonly lost: LeaseLost } & Subject
  Undecodable: { readonly queue: string; readonly at: number; readonly reason: string } & Subject
  DeliverySettled: { readonly queue: string; readonly at: number; readonly settled: Settled } & Subject
  DuplicateDeleted: { readonly queue: string; readonly at: number } & Subject
  PollFailed: { readonly queue: string; readonly at: number; readonly error: SqsError; readonly retryInMs: number }
  PollRecovered: { readonly queue: string; readonly at: number }
  PollEnded: { readonly queue: string; readonly at: number; readonly error: SqsError }
  Paused: { readonly queue: string; readonly at: number }
  Resumed: { readonly queue: string; readonly at: number }
  Draining: { readonly queue: string; readonly at: number; readonly running: number; readonly waiting: number }
  Drained: { readonly queue: string; readonly at: number; readonly report: DrainReport }
}>

/**
 * The constructors, `$match` and `$is` of the events.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ConsumerEvent = Data.taggedEnum<ConsumerEvent>()
