/**
 * What `Invariants` is told of the consumer whose journal it checks.
 *
 * @since 0.1.0
 */

/**
 * What is known of the consumer whose journal is checked; all is optional, and what is not said is not checked.
 *
 * @since 0.1.0
 * @category models
 */
export interface Expectations {
  /** the consumer's queue; deliveries of other queues are left alone. Unset: all queues */
  readonly queue?: string | undefined
  /** of several consumers in one simulation only this one: what its process received. Unset: all */
  readonly process?: string | undefined
  /** `fifo` checks the order inside groups */
  readonly kind?: "standard" | "fifo" | undefined
  /** of all consumers that are checked together */
  readonly concurrency?: number | undefined
  /** of all consumers that are checked together; 0 */
  readonly prefetch?: number | undefined
  /** where the consumer sends its dead letters */
  readonly deadLetterQueue?: string | undefined
  /** the redelivery policy may delete what failed */
  readonly policyDeletes?: boolean | undefined
  /** the redelivery policy may leave what failed to SQS */
  readonly leaves?: boolean | undefined
  /** `continue`: handlers may go on without their lease */
  readonly onLeaseLost?: "interrupt" | "continue" | undefined
  /** leases may run out though no beat fails: there is no heartbeat, leases have a limit, the process stalls */
  readonly mayRunOut?: boolean | undefined
  /** ms that the consumer holds a delivery at most: what has waited for so long is on its way back */
  readonly limitMs?: number | undefined
  /** ms that a run may take to end once its lease has run out: its finalizers, a stall of the process; 1,000 */
  readonly graceMs?: number | undefined
  /**
   * ms that the process sleeps at once at most: on waking it may hold that the lease of what was handed out meanwhile is
   * over, and that it is too late to try a settlement again; 0
   */
  readonly stallMs?: number | undefined
  /** its wall clock jumped: it may have given up leases that SQS still held, and nobody is told of that */
  readonly clockJumps?: boolean | undefined
  /** the journal ends after a complete stop: nothing may be left over */
  readonly drained?: boolean | undefined
  /** epoch ms at which the consumer was told to stop */
  readonly stoppedAt?: number | undefined
  /**
   * deliveries whose end the consumer has told, as its events do: of what never ran, a release with a delay looks like a beat
   */
  readonly isSettled?: ((receiptHandle: string) => boolean) | undefined
  /** messages that no handler ever sees, as those that cannot be decoded */
  readonly neverRuns?: ((messageId: string) => boolean) | undefined
  /** printed with a failure: the seed, the plan of faults */
  readonly context?: string | undefined
}
