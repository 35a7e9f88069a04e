/**
 * Demand → receive, as a Stream: asks SQS for as many messages as there are free places, in as many receives at once as
 * come back full, with one long poll when the queue is idle.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Awake } from "./internal/awake.js"
import { type Forker, interrupt, within } from "./internal/fork.js"
import type { Observer } from "./internal/observer.js"
import type { Slots } from "./internal/slots.js"
import { inWords, saying } from "./internal/text.js"
import type { LeaseClock } from "./internal/time.js"
import type { LeaseSettings } from "./Lease.js"
import type { ReceivedMessage, Sqs } from "./Sqs.js"
import { isSqsError, NetworkError, ServiceError, type SqsError } from "./SqsError.js"

/**
 * Receiving has failed for good: the consumer drained what it had, and ended.
 *
 * @since 0.1.0
 * @category errors
 */
export class PollError extends Schema.TaggedError<PollError>()("PollError", {
  queue: Schema.String,
  /** tries in a row that failed */
  tries: Schema.Number,
  cause: Schema.Defect
}) {
  override get message() {
    const why = inWords(this.cause)
    return `Receiving from ${this.queue} failed for good after ${this.tries} ${this.tries === 1 ? "try" : "tries"}. ${why}`
  }
}

/**
 * What one receive brought. Times are of the consumer's clock, in ms.
 *
 * @since 0.1.0
 * @category models
 */
export interface Receipt {
  readonly messages: ReadonlyArray<ReceivedMessage>
  readonly callStart: number
  /** when it came; after a sleep of the process, the earliest that it can have come */
  readonly arrival: number
}

/**
 * @internal
 */
export interface PollerOptions {
  readonly sqs: Sqs["Type"]
  readonly queue: string
  readonly queueUrl: string
  readonly waitTimeSeconds: number
  /** asked with each receive */
  readonly visibilitySeconds: number
  /** start has seen it */
  readonly exists: boolean
  readonly settings: LeaseSettings
  /** receives open at once, at most */
  readonly parallel: number
  readonly slots: Slots
  readonly clock: LeaseClock
  readonly observer: Observer
  readonly forker: Forker<never>
}

/** How much longer than its wait time a receive may take before it counts as hung. */
const HUNG_MARGIN_MS = 10_000
/** Sooner than that after an empty answer nothing is asked: a server that does not wait would be asked without end. */
const SHORTEST_EMPTY_MS = 1_000
/** A broken connection is tried anew almost at once; an outage of a minute sees about ten receives. */
const FIRST_PAUSE_MS = 250
const PAUSE_GROWTH = 3
const LONGEST_PAUSE_MS = 20_000
/**
 * So long answers are borne that trying again hardly changes (queue missing, access denied): a queue that is made anew, or
 * a policy that is being changed, is there again by then.
 */
const FATAL_AFTER_MS = 90_000

/**
 * The open receives of one consumer. What they bring is taken by the stream in the order of arrival; nothing that SQS
 * handed out is dropped between them: after a stop the stream ends when the last open receive has answered.
 *
 * @internal
 */
export class Poller {
  private readonly receives = new Set<Fiber.RuntimeFiber<unknown, unknown>>()
  private open = 0
  private stopped = false
  private worked = false
  /** failed tries in a row of the last receive that is open */
  private failures = 0
  /** since when each try was answered with what trying again hardly changes */
  private refusedSince: number | undefined
  private fatal: PollError | undefined
  private readonly pauses = new Set<() => void>()
  private emit: ((receipt: Receipt) => void) | undefined
  private end: ((exit: Exit.Exit<void, PollError>) => void) | undefined

  private readonly awake: Awake

  constructor(private readonly options: PollerOptions) {
    this.awake = new Awake(options.forker, options.clock, options.settings)
  }

  /** Polls while it runs. To be run once. */
  readonly receipts: Stream.Stream<Receipt, PollError> = Stream.asyncPush<Receipt, PollError>(
    (emit) =>
      Effect.sync(() => {
        this.emit = (receipt) => emit.single(receipt)
        this.end = (exit) => (Exit.isSuccess(exit) ? emit.end() : emit.halt(exit.cause))
        this.awake.start()
        this.openLane()
      }),
    { bufferSize: "unbounded" }
  )

  /** Asks for no more; open receives may answer. */
  readonly stop: Effect.Effect<void> = Effect.sync(() => {
    this.stopped = true
    this.options.slots.stop()
    for (const wake of this.pauses) wake()
  })

  /** After `stop`: gives the open receives up. */
  readonly abort: Effect.Effect<void> = Effect.sync(() => {
    for (const receive of this.receives) interrupt(receive)
  })

  private openLane(): void {
    this.open++
    this.options.forker.fork(this.lane).addObserver((exit) => {
      this.open--
      if (Exit.isFailure(exit)) this.giveUp(this.errorOf(exit.cause))
      if (this.open === 0) this.close()
    })
  }

  private close(): void {
    this.awake.stop()
    this.end?.(this.fatal === undefined ? Exit.void : Exit.fail(this.fatal))
    this.end = undefined
  }

  /**
   * One receive after the other. It ends when it is told to, or is not needed beside the others. Only the receive itself
   * is interrupted, so that whatever its answer, and even when it is given up, its places are accounted for.
   */
  private readonly lane: Effect.Effect<void> = Effect.gen(this, function* () {
    const { clock, observer } = this.options
    while (!this.stopped) {
      const asked = yield* this.places
      if (asked === 0) return
      const callStart = clock.now()
      const exit = yield* this.receive(asked)
      const next = this.answered(asked, callStart, exit)
      if (next === "end") return
      if (next === "empty") yield* this.pause(callStart + SHORTEST_EMPTY_MS - clock.now())
      else if (next !== "go on") {
        const pauseMs = next.upToMs * (0.5 + (yield* Random.next) / 2)
        observer.pollPaused(next.error, pauseMs)
        yield* this.pause(pauseMs)
      }
    }
  })

  private answered(
    asked: number,
    callStart: number,
    exit: Exit.Exit<ReadonlyArray<ReceivedMessage>, SqsError>
  ): "go on" | "empty" | "end" | { readonly upToMs: number; readonly error: SqsError } {
    const { slots } = this.options
    if (Exit.isSuccess(exit)) return this.brought(asked, callStart, exit.value)
    slots.giveBack(asked)
    // given up by a stop
    if (this.stopped && Exit.isInterrupted(exit)) return "end"
    return this.failed(this.errorOf(exit.cause))
  }

  private brought(
    asked: number,
    callStart: number,
    messages: ReadonlyArray<ReceivedMessage>
  ): "go on" | "empty" | "end" {
    const { observer, parallel, slots } = this.options
    const arrival = this.awake.notBefore
    observer.polled(messages.length)
    if (this.failures > 0) observer.pollRecovered()
    this.worked = true
    this.failures = 0
    this.refusedSince = undefined
    if (messages.length > 0) this.emit!({ messages, callStart, arrival })
    slots.giveBack(asked - messages.length)
    if (messages.length === asked && slots.wantsMore && this.open < parallel) this.openLane()
    if (messages.length > 0) return "go on"
    return this.open > 1 ? "end" : "empty"
  }

  private failed(error: SqsError): "end" | { readonly upToMs: number; readonly error: SqsError } {
    const { clock, observer } = this.options
    observer.pollFailed(error)
    // while SQS refuses, one receive is enough to find out when it stops
    if (this.open > 1) return "end"
    this.failures++
    const now = clock.now()
    this.refusedSince = error.retryable ? undefined : (this.refusedSince ?? now)
    if (this.isHopeless(error) || (this.refusedSince !== undefined && now - this.refusedSince >= FATAL_AFTER_MS)) {
      this.giveUp(error)
      return "end"
    }
    return { upToMs: Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * PAUSE_GROWTH ** (this.failures - 1)), error }
  }

  private giveUp(error: SqsError): void {
    this.stopped = true
    this.options.slots.stop()
    if (this.fatal !== undefined) return
    this.fatal = new PollError({ queue: this.options.queue, tries: this.failures, cause: error })
    this.options.observer.pollEnded(error)
  }

  /** Whoever started the consumer should hear at once of what never worked. */
  private isHopeless(error: SqsError): boolean {
    if (this.worked) return false
    return error._tag === "AccessDenied" || (error._tag === "QueueMissing" && !this.options.exists)
  }

  /** a stop answers it with 0 */
  private readonly places: Effect.Effect<number> = Effect.async<number>((resume) => {
    this.options.slots.reserve((n) => resume(Effect.succeed(n)))
  })

  private receive(maxMessages: number): Effect.Effect<Exit.Exit<ReadonlyArray<ReceivedMessage>, SqsError>> {
    const { forker, queue, queueUrl, sqs, visibilitySeconds, waitTimeSeconds } = this.options
    const ms = waitTimeSeconds * 1000 + HUNG_MARGIN_MS
    const request = { queueUrl, maxMessages, waitTimeSeconds, visibilityTimeoutSeconds: visibilitySeconds }
    const onTimeout = () =>
      new NetworkError({
        operation: "ReceiveMessage",
        queue,
        code: "TimeoutError",
        detail: `no answer within ${ms} ms`
      })
    return Effect.async((resume) => {
      const receive = within(
        forker,
        ms,
        Effect.suspend(() => sqs.receive(request)),
        onTimeout,
        (exit) => resume(Effect.succeed(exit))
      )
      this.receives.add(receive)
      receive.addObserver(() => this.receives.delete(receive))
    })
  }

  private errorOf(cause: Cause.Cause<unknown>): SqsError {
    const error = Cause.squash(cause)
    if (isSqsError(error)) return error
    const { queue } = this.options
    return new ServiceError({
      operation: "ReceiveMessage",
      queue,
      code: "Defect",
      detail: saying(() => String(error)),
      cause: error
    })
  }

  /** A pause that a stop ends. */
  private pause(ms: number): Effect.Effect<void> {
    if (ms <= 0 || this.stopped) return Effect.void
    return Effect.async<void>((resume) => {
      const wake = () => {
        this.pauses.delete(wake)
        cancel()
        resume(Effect.void)
      }
      const cancel = this.options.forker.after(ms, wake)
      this.pauses.add(wake)
    })
  }
}
