import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import type { EntryResult } from "../Sqs.js"
import { NetworkError, type SqsError, type SqsOperation, ServiceError, isSqsError } from "../SqsError.js"
import type { Forker } from "./fork.js"
import type { LeaseClock } from "./time.js"

/** SQS takes at most ten entries to a call. */
const FULL_BATCH = 10
const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 5_000

interface Item<Entry> {
  readonly entry: Entry
  readonly answer: (result: EntryResult) => void
  /** lease clock: a retry after that makes no sense; -Infinity: the caller tries again by itself */
  readonly notAfter: number
  tries: number
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

  constructor(
    private readonly options: BatcherOptions<Entry>,
    private readonly forker: Forker<never>,
    private readonly clock: LeaseClock
  ) {}

  /** `answer` is called once; the returned function takes the entry back if it was not sent, and says whether so. */
  add(entry: Entry, notAfter: number, answer: (result: EntryResult) => void): () => boolean {
    const item: Item<Entry> = { entry, answer, notAfter, tries: 0 }
    this.enqueue(item)
    return () => {
      const i = this.items.indexOf(item)
      if (i < 0) return false
      this.items.splice(i, 1)
      return true
    }
  }

  private enqueue(item: Item<Entry>): void {
    this.items.push(item)
    if (this.items.length >= FULL_BATCH || this.eager || this.options.isIdle()) return this.flush()
    const now = this.clock.now()
    const left = item.notAfter > now ? (item.notAfter - now) / 2 : Infinity
    const at = now + Math.min(this.options.lingerMs, left)
    if (at < this.timerAt) {
      this.cancelTimer?.()
      this.timerAt = at
      this.cancelTimer = this.forker.after(at - now, () => {
        this.timerAt = Infinity
        this.cancelTimer = undefined
        this.flush()
      })
    }
  }

  /** Sends what waits; nothing waits: nothing is sent. */
  flush(): void {
    this.cancelTimer?.()
    this.cancelTimer = undefined
    this.timerAt = Infinity
    while (this.items.length > 0) {
      const batch = this.items.splice(0, FULL_BATCH)
      this.forker.fork(this.call(batch))
    }
  }

  private call(batch: ReadonlyArray<Item<Entry>>): Effect.Effect<void> {
    const { callTimeoutMs, operation, queue, send } = this.options
    return Effect.suspend(() => send(batch.map((i) => i.entry))).pipe(
      Effect.interruptible,
      Effect.timeoutFail({
        duration: callTimeoutMs,
        onTimeout: () =>
          new NetworkError({ operation, queue, code: "TimeoutError", detail: `no answer within ${callTimeoutMs} ms` })
      }),
      Effect.exit,
      Effect.uninterruptible,
      Effect.flatMap((exit) => {
        const failedWith = Exit.isFailure(exit) ? this.errorOf(exit.cause) : undefined
        const failed: Array<Item<Entry>> = []
        for (let i = 0; i < batch.length; i++) {
          const item = batch[i]!
          const result: EntryResult =
            failedWith !== undefined
              ? { _tag: "Failed", error: failedWith }
              : ((exit as Exit.Success<ReadonlyArray<EntryResult>, never>).value[i] ?? this.unanswered)
          if (result._tag === "Done" || !result.error.retryable || item.notAfter === -Infinity) {
            item.answer(result)
          } else {
            failed.push(item)
            this.lastError.set(item, result)
          }
        }
        return failed.length === 0 ? Effect.void : this.retry(failed)
      })
    )
  }

  private readonly lastError = new WeakMap<Item<Entry>, EntryResult>()

  /** Those that failed, once more after a jittered pause, if their leases allow. */
  private retry(failed: ReadonlyArray<Item<Entry>>): Effect.Effect<void> {
    return Effect.flatMap(Random.next, (random) => {
      const tries = failed.reduce((n, item) => Math.max(n, ++item.tries), 0)
      const pause = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (tries - 1)) * (0.5 + random / 2)
      const at = this.clock.now() + pause
      const again: Array<Item<Entry>> = []
      for (const item of failed) {
        if (at < item.notAfter) again.push(item)
        else item.answer(this.lastError.get(item)!)
      }
      if (again.length === 0) return Effect.void
      return Effect.map(Effect.sleep(pause), () => {
        for (const item of again) this.enqueue(item)
      })
    })
  }

  /** A port that answers fewer entries than it was asked told nothing of the rest: they are asked again. */
  private get unanswered(): EntryResult {
    const { operation, queue } = this.options
    return {
      _tag: "Failed",
      error: new ServiceError({ operation, queue, code: "NoAnswer", detail: "the entry is missing in the answer" })
    }
  }

  private errorOf(cause: Cause.Cause<SqsError>): SqsError {
    const error = Cause.squash(cause)
    if (isSqsError(error)) return error
    const { operation, queue } = this.options
    return new ServiceError({ operation, queue, code: "Defect", detail: String(error), cause: error })
  }

  /** From now on nothing lingers. */
  hurry(): void {
    this.eager = true
    this.flush()
  }
}
