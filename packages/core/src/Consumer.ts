/**
 * Puts it together: a handler, or a stream of deliveries, on a queue.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ConsumerEvent } from "./ConsumerEvent.js"
import * as Limit from "./ConsumerLimit.js"
import type { ConsumerOptions } from "./ConsumerOptions.js"
import type { Delivery, HandlerNeeds, HandlerOptions } from "./Delivery.js"
import { open, type Opened } from "./internal/consumer.js"
import type { LiveDelivery } from "./internal/delivery.js"
import type { Run } from "./internal/host.js"
import type { PollError } from "./Poller.js"
import type { Redelivery } from "./Redelivery.js"
import type { Sqs } from "./Sqs.js"
import type { SqsQueue } from "./SqsQueue.js"
import type { StartError } from "./StartError.js"

/**
 * What a consumer may be given beside its plain options. `R` is what the policy for bodies needs, `RListener` what the
 * listener needs.
 *
 * @since 0.1.0
 * @category models
 */
export interface Parts<R = never, RListener = R> {
  /**
   * For bodies that are not what the schema says. Default: dead-letter, where a dead-letter queue is known, else the
   * redelivery policy. A policy here is asked with the `DecodeError`.
   */
  readonly undecodable?: Redelivery<"DecodeError", R> | undefined
  /** a limit of concurrency that several consumers share; `weight` (default 1) is what one run takes of it */
  readonly limit?: { readonly of: Limit.ConsumerLimit; readonly weight?: number | undefined } | undefined
  /**
   * Called with each event, in order, beside the consumer: it is never waited for, and what it throws is logged and
   * changes nothing. When it is slow, the oldest of 4,096 events are dropped. A stop waits a second for it at the most.
   */
  readonly onEvent?: ((event: ConsumerEvent) => Effect.Effect<void, never, RListener>) | undefined
}

/**
 * A consumer that polls.
 *
 * @since 0.1.0
 * @category models
 */
export interface Consumer {
  readonly queue: string
  /**
   * From the subscription on, to `Drained`. Bounded: a listener that is slower than the consumer loses its oldest events.
   */
  readonly events: Stream.Stream<ConsumerEvent>
  /** asks for no more; handlers run on, and an open receive may still bring what it had been promised */
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  readonly state: Effect.Effect<ConsumerState>
  /** fails when receiving failed for good; else it never ends */
  readonly failure: Effect.Effect<never, PollError>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ConsumerState {
  readonly paused: boolean
  /** handlers that run */
  readonly running: number
  /** deliveries in hand whose handler does not run: they wait, or are being settled */
  readonly waiting: number
  /** places for handlers that are free */
  readonly free: number
}

type Handler<A, E, R> = (body: A, delivery: Delivery<A>) => Effect.Effect<void, E, R>

/** What it needs is what its caller says. */
const openWith = <A, I, RS>(
  queue: SqsQueue<A, I, RS>,
  options: ConsumerOptions & Parts<any> & HandlerOptions<any, any>,
  admit: (opened: Opened<A>) => (delivery: LiveDelivery<A>) => void
): Effect.Effect<Opened<A>, StartError, any> => {
  const { limit, onEvent, onLeaseLost: _, policy, redelivery, undecodable, ...plain } = options
  return open<A, any, any>({
    queue,
    options: plain,
    policy,
    redelivery,
    undecodable,
    limit: limit === undefined ? undefined : { of: limit.of[Limit.TypeId], weight: limit.weight ?? 1 },
    onEvent,
    admit
  })
}

/**
 * Starts a consumer in the scope. Closing the scope drains it; a drain that is not complete dies with `DrainIncomplete`.
 * Use it to pause, to watch, or to look at a consumer; else `run` is shorter.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <A, I, RS, E, R, RRedelivery = never, RPolicy = never, RBody = never, RListener = never>(
  queue: SqsQueue<A, I, RS>,
  options: ConsumerOptions & Parts<RBody, RListener> & HandlerOptions<E, RRedelivery, RPolicy>,
  handler: Handler<A, E, R>
): Effect.Effect<
  Consumer,
  StartError,
  Sqs | RS | HandlerNeeds<R> | RRedelivery | RPolicy | RBody | RListener | Scope.Scope
> =>
  Effect.map(
    openWith(queue, options, (opened) => {
      const run: Run<LiveDelivery<A>> = {
        // the consumer's fibers have all that it needs
        handler: (d) => opened.traced(d.tries(handler, options.policy) as Effect.Effect<void, unknown>, d.message),
        redelivery: opened.redelivery,
        onLeaseLost: options.onLeaseLost ?? "interrupt"
      }
      return (delivery) => opened.dispatcher.run(delivery, run)
    }),
    (opened): Consumer => ({
      queue: queue.name,
      events: opened.observer.events,
      pause: Effect.sync(() => {
        if (opened.slots.isPaused) return
        opened.slots.pause()
        opened.observer.paused()
      }),
      resume: Effect.sync(() => {
        if (!opened.slots.isPaused) return
        opened.slots.resume()
        opened.observer.resumed()
      }),
      state: Effect.sync(() => ({
        paused: opened.slots.isPaused,
        running: opened.slots.running,
        waiting: opened.dispatcher.waitingCount,
        free: opened.slots.options.concurrency - opened.slots.running
      })),
      failure: Effect.zipRight(opened.polled, Effect.never)
    })
  )

/**
 * Runs a handler for the messages of a queue: receives while there are free places, holds the lease of each delivery with
 * a heartbeat, deletes after success, and asks the redelivery policy after a failure.
 *
 * It ends by interruption, which drains it, or with a typed error: `StartError` before anything was received, `PollError`
 * when receiving failed for good. A drain that is not complete dies with `DrainIncomplete`, so that `runMain` exits with 1.
 *
 * A handler that acquires resources scopes them itself, with `Effect.scoped`. One that needs a `Scope` does not compile
 * (`HandlerIsNotScoped`): the consumer's would keep what each run acquires until the consumer ends.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import { Consumer, Redelivery, SqsQueue } from "@effect-sqs/core"
 * import { Effect, Schema } from "effect"
 *
 * class ReportJob extends Schema.Class<ReportJob>("ReportJob")({ reportId: Schema.String }) {}
 * class UnknownDataset extends Schema.TaggedError<UnknownDataset>()("UnknownDataset", { name: Schema.String }) {}
 *
 * const ReportJobs = SqsQueue.make("report-jobs", { schema: ReportJob })
 *
 * export const worker = Consumer.run(
 *   ReportJobs,
 *   {
 *     concurrency: 16,
 *     lease: { visibility: "2 minutes", heartbeat: "1 minute" },
 *     redelivery: Redelivery.standard.pipe(Redelivery.catchTag("UnknownDataset", Redelivery.deadLetter))
 *   },
 *   (job) => (job.reportId === "" ? new UnknownDataset({ name: "none" }) : Effect.log(`report ${job.reportId}`))
 * )
 */
export const run = <A, I, RS, E, R, RRedelivery = never, RPolicy = never, RBody = never, RListener = never>(
  queue: SqsQueue<A, I, RS>,
  options: ConsumerOptions & Parts<RBody, RListener> & HandlerOptions<E, RRedelivery, RPolicy>,
  handler: Handler<A, E, R>
): Effect.Effect<
  never,
  StartError | PollError,
  Sqs | RS | HandlerNeeds<R> | RRedelivery | RPolicy | RBody | RListener
> => Effect.scoped(Effect.flatMap(make(queue, options, handler), (consumer) => consumer.failure)) as any

/**
 * `run` as a layer, for several workers in one launch: its build is the run, so a fatal error fails the launch and
 * drains the others.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <A, I, RS, E, R, RRedelivery = never, RPolicy = never, RBody = never, RListener = never>(
  queue: SqsQueue<A, I, RS>,
  options: ConsumerOptions & Parts<RBody, RListener> & HandlerOptions<E, RRedelivery, RPolicy>,
  handler: Handler<A, E, R>
): Layer.Layer<never, StartError | PollError, Sqs | RS | HandlerNeeds<R> | RRedelivery | RPolicy | RBody | RListener> =>
  Layer.scopedDiscard(run(queue, options, handler))

/**
 * The deliveries of a queue as a stream, as many at a time as `concurrency` and prefetch allow. Each waits, leased, for
 * its `process` or `release`; `process` runs the handler in the consumer's own fibers, so a drain works here too.
 *
 * When `stop` completes, nothing more is asked for, and the stream ends after what was received. Closing the stream
 * drains: what has neither been processed nor released is given back. A drain that is not complete is logged, and told by
 * the event `Drained`: it cannot fail the stream, since Effect drops what the finalizers of a stream die with.
 *
 * Run handlers through `process`, with `Stream.runForEach` and a fork, or with `Stream.mapEffect` and unbounded
 * concurrency: it waits only, the consumer's own limit holds.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import { Consumer, SqsQueue } from "@effect-sqs/core"
 * import { Effect, Schema, Stream } from "effect"
 *
 * const Jobs = SqsQueue.make("jobs", { schema: Schema.String })
 *
 * export const settled = Consumer.stream(Jobs, { concurrency: 16 }).pipe(
 *   Stream.mapEffect((d) => d.process((body) => Effect.log(body)), { concurrency: "unbounded", unordered: true })
 * )
 */
export const stream = <A, I, RS, RBody = never, RListener = never, RStop = never>(
  queue: SqsQueue<A, I, RS>,
  options: ConsumerOptions &
    Parts<RBody, RListener> & { readonly stop?: Effect.Effect<void, never, RStop> | undefined } = {}
): Stream.Stream<Delivery<A>, StartError | PollError, Sqs | RS | RBody | RListener | RStop> => {
  const { stop, ...rest } = options
  return Stream.asyncPush<Delivery<A>, StartError | PollError, Sqs | RS | RBody | RListener | RStop>(
    (emit) =>
      Effect.gen(function* () {
        const opened = yield* openWith(queue, rest as typeof options, () => (delivery) => void emit.single(delivery))
        if (stop !== undefined) yield* Effect.forkScoped(Effect.ensuring(stop, opened.poller.stop))
        yield* Effect.forkScoped(
          Effect.matchCause(Effect.zipRight(opened.polled, opened.dispatcher.admitted), {
            onFailure: (cause) => emit.halt(cause),
            onSuccess: () => emit.end()
          })
        )
      }) as Effect.Effect<void, StartError, any>,
    { bufferSize: "unbounded" }
  )
}
