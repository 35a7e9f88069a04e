/**
 * What a redrive did. The sums match: received = sent + deleted + kept + failed + unknown.
 *
 * @since 0.1.0
 */

/**
 * What became of a message that was received from the dead-letter queue.
 *
 * - `sent`: sent to its queue, and deleted from the dead-letter queue
 * - `deleted`: deleted without being sent now: done already, or sent by an earlier run
 * - `kept`: put back
 * - `failed`: SQS did not take it; put back
 * - `unknown`: nobody knows whether SQS took it, or it was sent and its delete was not confirmed; put back
 *
 * @since 0.1.0
 * @category models
 */
export type RedriveOutcome = "sent" | "deleted" | "kept" | "failed" | "unknown"

/**
 * @since 0.1.0
 * @category models
 */
export type RedriveCounts = { readonly [outcome in RedriveOutcome]: number } & { readonly received: number }

/**
 * @since 0.1.0
 * @category models
 */
export interface RedriveReport extends RedriveCounts {
  readonly queue: string
  readonly redrive: string
  readonly plan: string
  /** an earlier run of this plan was continued */
  readonly resumed: boolean
  /** outcomes with their reasons, the most frequent first */
  readonly reasons: ReadonlyArray<{ readonly outcome: RedriveOutcome; readonly why: string; readonly count: number }>
  /** what is known of all that this redrive sent, earlier runs included */
  readonly settled: {
    readonly completed: number
    /** back in the dead-letter queue, or refused, or without a known outcome in the ledger */
    readonly failed: number
    /** nothing is known yet */
    readonly pending: number
  }
  /** why it ended before everything was done; `undefined`: it came to its end */
  readonly stopped: string | undefined
  readonly isInterrupted: boolean
  /** messages that SQS did not confirm to have put back: they come back by their visibility timeout */
  readonly notPutBack: number
  readonly audit: string
  readonly tookMs: number
}

/**
 * Whether all is well: nothing failed, nothing is unknown, and it was not stopped.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isInOrder = (report: RedriveReport): boolean =>
  report.stopped === undefined && report.failed === 0 && report.unknown === 0 && report.settled.failed === 0
