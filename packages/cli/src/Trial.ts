/**
 * What a lab's trial tells.
 *
 * @since 0.1.0
 */

/**
 * What one set of options came to. Times in seconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Trial {
  readonly name: string
  readonly options: string
  readonly messages: {
    readonly sent: number
    readonly done: number
    /** in the dead-letter queue at the end */
    readonly dead: number
    /** neither: the time was over */
    readonly left: number
  }
  readonly runs: number
  /** runs that began while another run of the same job went on, or after it was done */
  readonly duplicates: { readonly runs: number; readonly messages: number }
  readonly failures: number
  /** runs that the consumer interrupted: their lease was lost */
  readonly cut: number
  /** of jobs whose worker died: until another run of them began */
  readonly recovery: {
    readonly crashes: number
    readonly messages: number
    readonly p50Seconds: number | null
    readonly maxSeconds: number | null
  }
  /** from send to done */
  readonly latency: { readonly p50Seconds: number | null; readonly p99Seconds: number | null }
  readonly requests: {
    readonly receive: number
    readonly emptyReceive: number
    readonly delete: number
    readonly changeVisibility: number
    readonly send: number
    readonly total: number
  }
  readonly requestsPerMessage: number
  readonly usdPerMillionMessages: number
  /** share of the places that were busy while jobs came in and were worked off */
  readonly busy: number
  /** until the last job was done, or the time was over */
  readonly endedAfterSeconds: number
}
