/** What a queue needs to know of the account that it is in. */
import type { Journal } from "../Journal.js"
import type { VirtualSqsPolicy } from "../VirtualSqsPolicy.js"

export type Readings = { readonly [K in keyof VirtualSqsPolicy]: Exclude<VirtualSqsPolicy[K], "random"> }

export interface World {
  readonly journal: Journal
  /** number of the call that is being carried out; `undefined` between calls */
  readonly call: number | undefined
  readonly inFlightLimit: number
  /** the reading of one point of the policy, drawn anew each time where it is random */
  readonly read: <K extends keyof VirtualSqsPolicy>(point: K) => Readings[K]
  readonly isFixed: (point: keyof VirtualSqsPolicy) => boolean
  /** a number in [0, 1), from the seed */
  readonly draw: () => number
  readonly nextSerial: () => number
  readonly nextMessageId: () => string
  readonly nextSequenceNumber: () => string
}

/** And of the other queues, which are `Q`s. */
export interface WorldOf<Q> extends World {
  readonly queueByArn: (arn: string) => Q | undefined
  /** messages of this queue may have become available to open polls */
  readonly touched: (queue: Q) => void
}
