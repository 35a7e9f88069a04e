import type * as Effect from "effect/Effect"
import type { LeaseSettings } from "../Lease.js"
import type { Redelivery } from "../Redelivery.js"
import type { Settled, SettlementProblem } from "../Settlement.js"
import type { ReceivedMessage, VisibilityEntry } from "../Sqs.js"
import type { Forker } from "./fork.js"
import type { Observer } from "./observer.js"
import type { Batcher } from "./settler.js"
import type { Slots } from "./slots.js"
import type { LeaseClock } from "./time.js"
import type { Traced } from "./tracing.js"

/** What a lease needs of the consumer. */
export interface LeaseHost {
  readonly settings: LeaseSettings
  readonly clock: LeaseClock
  readonly forker: Forker<never>
  readonly observer: Observer
  readonly visibility: Batcher<VisibilityEntry>
}

/** What a delivery needs of it. */
export interface DeliveryHost extends LeaseHost {
  readonly queue: string
  readonly traced: Traced
  readonly maxReceiveCount: number | undefined
  readonly slots: Slots
  /** receipt handles */
  readonly deletes: Batcher<string>
  /** sends the copy to the dead-letter queue, until `notAfter`; `undefined`: accepted */
  readonly deadLetter: (
    message: ReceivedMessage,
    reason: string,
    error: unknown,
    notAfter: number
  ) => Effect.Effect<SettlementProblem | undefined>
}

/** And of the dispatcher that has it in hand. */
export interface Host<Delivery> extends DeliveryHost {
  /** for a handler that names no policy of its own */
  readonly redelivery: Redelivery<string>
  /** calls `f` when a release cannot be taken straight back by a receive of ours that a stop left open */
  readonly whenReleasable: (f: () => void) => void
  /** calls `f` when a stop begins, or at once, if one has begun; the answer takes that back */
  readonly whenStopping: (f: () => void) => () => void
  /** the handler runs as soon as there is a place */
  readonly run: (delivery: Delivery, run: Run<Delivery>) => void
  /** a handler has ended: another may start */
  readonly placeFree: () => void
  readonly settled: (delivery: Delivery, settled: Settled) => void
}

/** What to run for a delivery, and what its failure means. */
export interface Run<Delivery> {
  readonly handler: (delivery: Delivery) => Effect.Effect<unknown, unknown>
  readonly redelivery: Redelivery<string>
  readonly onLeaseLost: "interrupt" | "continue"
}
