import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import type { EntryResult } from "../Sqs.js"
import { NetworkError, type SqsError, type SqsOperation, ServiceError, isSqsError } from "../SqsError.js"
import { type Forker, within } from "./fork.js"
import { saying } from "./text.js"
import type { LeaseClock } from "./time.js"

/** SQS takes at most ten entries to a call. */
const FULL_BATCH = 10
const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 5_000

/** When an entry may be sent; times of the lease clock, in ms. */
export interface Timing {
  /** it leaves by then, though its batch is not full */
  readonly sendBy: number
  /** it waits for others until then, and not only for the batcher's linger */
  readonly patient: boolean
  /** after that it is not sent again, nor at all, unless its batcher sends late */
  readonly until: number
  /** `false`: the caller tries again by itself */
  readonly retried: boolean
}

/** `undefined`: it was never sent, since its time was over. `sentAt` is when the call left, by the lease clock. */
export type Answer = (result: EntryResult | undefined, sentAt: number) => void

interface Item<Entry> {
  readonly entry: Entry
  readonly timing: Timing
  readonly answer: Answer
  readonly leaves: ((at: number) => void) | undefined
  tries: number
  /** of its last try */
  failure: EntryResult | undefined
  sentAt: number
}

export interface BatcherOptions<Entry> {
  readonly operation: SqsOperation
  readonly queue: string
  readonly lingerMs: number
  /** a call without an answer is cut after that */
  readonly callTimeoutMs: number
  readonly send: (entries: ReadonlyArray<Entry>) => Effect.Effect<ReadonlyArray<EntryResult>, SqsError>
  /** nothing else runs that could fill the batch: waiting is in vain */
  readonly isIdle: () => boolean
  /** whether an entry that has not been sent yet is sent though its time is over */
  readonly late: "send" | "drop"
}

/**
 * Entries of many deliveries, ten to a call, each caller answered. Entry ids are positions, so two receives of one
 * message fit into one call. A batch leaves when it is full, when its oldest entry has lingered, when nothing else runs,
 * or before a lease in it ends. Failed entries are sent again by class, with backoff, inside their lease.
 */
export class Batcher<Entry> {
  private items: Array<Item<Entry>> = []
  private cancelTimer: (() => void) | undefined
  private timerAt = Infinity
  private eager = false
  private soon = false

  constructor(
    private readonly options: BatcherOptions<Entry>,
    private readonly forker: Forker<never>,
    private readonly clock: LeaseClock
  ) {}

  /**
   * `answer` is called once, `leaves` whenever a call with the entry is about to leave. The returned function takes the
   * entry back if it was not sent, and says whether so.
   */
  add(entry: Entry, timing: Timing, answer: Answer, leaves?: (at: number) => void): () => boolean {
    const item: Item<Entry> = { entry, timing, answer, leaves, tries: 0, failure: undefined, sentAt: 0 }
    this.enqueue([item])
    return () => {
      const i = this.items.indexOf(item)
      if (i < 0) return false
      this.items.splice(i, 1)
      return true
    }
  }

  private enqueue(items: ReadonlyArray<Item<Entry>>): void {
    const now = this.clock.now()
    let at = Infinity
    for (const item of items) {
      const { patient, sendBy, until } = item.timing
      const atLatest = item.failure === undefined ? sendBy : (now + until) / 2
      at = Math.min(at, patient ? atLatest : Math.min(atLatest, now + this.options.lingerMs))
      this.items.push(item)
    }
    if (this.items.length >= FULL_BATCH) return this.flush()
    const hasTime = items.every((item) => item.timing.patient)
    if (at <= now || (!hasTime && (this.eager || this.options.isIdle()))) return this.flushSoon()
    if (at < this.timerAt) {
      this.cancelTimer?.()
      this.timerAt = at
      // rather a part of a millisecond early than late
      this.cancelTimer = this.forker.after(Math.floor(at - now), () => {
        this.timerAt = Infinity
        this.cancelTimer = undefined
        this.flush()
      })
    }
  }

  /** At once, together with what follows in the same breath: a stop gives back all that waits. */
  private flushSoon(): void {
    if (this.soon) return
    this.soon = true
    this.forker.fork(
      Effect.map(Effect.yieldNow(), () => {
        this.soon = false
        this.flush()
      })
    )
  }

  /** Sends what waits; nothing waits: nothing is sent. */
  flush(): void {
    this.cancelTimer?.()
    this.cancelTimer = undefined
    this.timerAt = Infinity
    while (this.items.length > 0) this.send(this.items.splice(0, FULL_BATCH))
  }

  /** A process that slept may find that the time of some is over. */
  private send(items: ReadonlyArray<Item<Entry>>): void {
    const now = this.clock.now()
    const late = (item: Item<Entry>) =>
      now >= item.timing.until && (item.failure !== undefined || this.options.late === "drop")
    const batch = items.filter((item) => !late(item))
    if (batch.length > 0) this.call(batch, now)
    if (batch.length < items.length) for (const item of items) if (late(item)) item.answer(item.failure, item.sentAt)
  }

  private call(batch: ReadonlyArray<Item<Entry>>, now: number): void {
    const { callTimeoutMs, operation, queue, send } = this.options
    const sent = Effect.suspend(() => send(batch.map((i) => i.entry)))
    const onTimeout = () =>
      new NetworkError({ operation, queue, code: "TimeoutError", detail: `no answer within ${callTimeoutMs} ms` })
    for (const item of batch) item.leaves?.(now)
    within(this.forker, callTimeoutMs, sent, onTimeout, (exit) => this.answered(batch, now, exit))
  }

  private answered(
    batch: ReadonlyArray<Item<Entry>>,
    now: number,
    exit: Exit.Exit<ReadonlyArray<EntryResult>, SqsError>
  ): void {
    const failed: Array<Item<Entry>> = []
    for (let i = 0; i < batch.length; i++) {
      const item = batch[i]!
      const result = Exit.isSuccess(exit) ? (exit.value[i] ?? this.unanswered) : this.failureOf(exit.cause)
      item.sentAt = now
      item.tries++
      if (result._tag === "Failed" && result.error.retryable && item.timing.retried) {
        item.failure = result
        failed.push(item)
      } else item.answer(result, now)
    }
    if (failed.length > 0) this.forker.fork(Effect.map(Random.next, (random) => this.retry(failed, random)))
  }

  /** Those that failed, once more after a jittered pause, if their leases allow. */
  private retry(failed: ReadonlyArray<Item<Entry>>, random: number): void {
    const tries = failed.reduce((n, item) => Math.max(n, item.tries), 0)
    const pause = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (tries - 1)) * (0.5 + random / 2)
    const at = this.clock.now() + pause
    const again: Array<Item<Entry>> = []
    for (const item of failed) {
      if (at < item.timing.until) again.push(item)
      else item.answer(item.failure, item.sentAt)
    }
    if (again.length > 0) this.forker.after(pause, () => this.enqueue(again))
  }

  /** A port that answers fewer entries than it was asked told nothing of the rest: they are asked again. */
  private get unanswered(): EntryResult {
    const { operation, queue } = this.options
    return {
      _tag: "Failed",
      error: new ServiceError({ operation, queue, code: "NoAnswer", detail: "the entry is missing in the answer" })
    }
  }

  private failureOf(cause: Cause.Cause<SqsError>): EntryResult {
    const squashed = Cause.squash(cause)
    const { operation, queue } = this.options
    const error = isSqsError(squashed)
      ? squashed
      : new ServiceError({ operation, queue, code: "Defect", detail: saying(() => String(squashed)), cause: squashed })
    return { _tag: "Failed", error }
  }

  /** From now on only who is patient waits for others. */
  hurry(): void {
    this.eager = true
    this.flush()
  }
}
