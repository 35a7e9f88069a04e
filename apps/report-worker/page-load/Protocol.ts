/** What the measuring process asks of the one with the server, and the answers. */

/** how much there is */
export interface Size {
  readonly jobs: number
  readonly leases: number
  /** a second */
  readonly events: number
  readonly seconds: number
}

export type Request =
  /** so many changes a second, for so long */
  | { readonly id: number; readonly ask: "publish"; readonly seconds: number }
  /** so many changes, as fast as it goes */
  | { readonly id: number; readonly ask: "flood"; readonly changes: number }
  /** bytes in use, after a collection */
  | { readonly id: number; readonly ask: "memory" }

export interface Published {
  readonly changes: number
  readonly tookMs: number
  /** of the time it took, what went by in the publisher itself */
  readonly publisherMs: number
  /** of one turn of the publisher, that publishes what has become due */
  readonly longestMs: number
  /** how late the event loop of the process came to its timers: 99th percentile, longest */
  readonly loopMs: ReadonlyArray<number>
  /** by the number of a change: when it was published, epoch ms */
  readonly stamps: ReadonlyArray<readonly [seq: number, at: number]>
  /** by job and number of its beat: when it was published, epoch ms */
  readonly beats: ReadonlyArray<readonly [beat: string, at: number]>
  /** by job: when its end was written into the database, epoch ms */
  readonly finished: ReadonlyArray<readonly [jobId: string, at: number]>
}

export interface Reply {
  readonly id: number
  readonly published?: Published
  readonly bytes?: number
}

export interface Ready {
  readonly url: string
}
