import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ConsumerMetrics from "../ConsumerMetrics.js"
import type { ConsumerEvent } from "../ConsumerEvent.js"
import type { ConsumerOptions } from "../ConsumerOptions.js"
import * as Drain from "../Drain.js"
import type { LeaseSettings } from "../Lease.js"
import type { Policy } from "../Policy.js"
import { Poller, type PollError } from "../Poller.js"
import * as Redelivery from "../Redelivery.js"
import { Sqs, type VisibilityEntry } from "../Sqs.js"
import { type DecodeError, nameOf, type SqsQueue } from "../SqsQueue.js"
import type { StartError } from "../StartError.js"
import * as DeadLetter from "./deadLetter.js"
import type { LiveDelivery } from "./delivery.js"
import { Dispatcher } from "./dispatcher.js"
import { Finished } from "./finished.js"
import * as Fork from "./fork.js"
import { Observer } from "./observer.js"
import { Batcher } from "./settler.js"
import type { SharedLimit } from "./sharedLimit.js"
import { Slots } from "./slots.js"
import { start } from "./start.js"
import * as Time from "./time.js"
import * as Tracing from "./tracing.js"
import { Watch } from "./watch.js"

/** A call that carries settlements or beats is cut after that at the latest. */
const CALL_TIMEOUT_MS = 10_000
const SHORTEST_CALL_TIMEOUT_MS = 500
/** The most that is fetched ahead when run times decide: two receives, so that one can be on its way while one waits. */
const PREFETCH_MAX = 20
/** On FIFO queues what waits behind its group is in hand too: room for other groups. */
const FIFO_PREFETCH_PER_PLACE = 4
const FIFO_PREFETCH_MAX = 100
/** A listener may finish what it was told of the stop for so long. */
const LISTENER_DRAIN_MS = 1_000

export interface OpenOptions<A, RP> {
  readonly queue: SqsQueue<A, any, any>
  readonly options: ConsumerOptions
  readonly policy: Policy<never, any> | undefined
  readonly redelivery: Redelivery.Redelivery<string, RP> | undefined
  readonly undecodable: Redelivery.Redelivery<string, RP> | undefined
  readonly limit: { readonly of: SharedLimit; readonly weight: number } | undefined
  readonly onEvent: ((event: ConsumerEvent) => Effect.Effect<void, never, RP>) | undefined
  /** what becomes of a delivery that may go on */
  readonly admit: (opened: Opened<A>) => (delivery: LiveDelivery<A>) => void
}

/** A consumer that polls. */
export interface Opened<A> {
  readonly observer: Observer
  readonly dispatcher: Dispatcher<A>
  readonly slots: Slots
  readonly poller: Poller
  /** for handlers that name no policy of their own */
  readonly redelivery: Redelivery.Redelivery<string>
  readonly traced: Tracing.Traced
  /** how polling ended: by a stop, or for good */
  readonly polled: Effect.Effect<void, PollError>
}

/** A call that has no answer must leave time for another one within `ms`. */
const callTimeoutMs = (ms: number) => Math.min(CALL_TIMEOUT_MS, Math.max(SHORTEST_CALL_TIMEOUT_MS, ms / 3))

/** What a lease has at the least when it is settled at once, and when it is extended. */
const slotMs = (settings: LeaseSettings) => Math.min(settings.visibilityMs, settings.extendByMs)
const leadMs = (settings: LeaseSettings) =>
  settings.heartbeatMs === undefined ? settings.visibilityMs : settings.extendByMs - settings.heartbeatMs

/**
 * Starts a consumer in the scope; its release is the drain. `R` is what handlers, schemas and policies need.
 */
export const open = <A, RP, R>(
  o: OpenOptions<A, RP>
): Effect.Effect<Opened<A>, StartError, Sqs | RP | R | Scope.Scope> =>
  Effect.gen(function* () {
    const port = yield* Sqs
    const clock = yield* Effect.clock
    const runtime = yield* Effect.runtime<R | RP>()
    const { queue } = o
    const byKind = queue.kind === "fifo" ? Redelivery.fifo : Redelivery.standard
    const givenRedelivery: Redelivery.Redelivery<string, RP> = o.redelivery ?? byKind
    const started = yield* start(port, queue, o.options, o.policy, givenRedelivery, o.limit)
    const { options, settings, url } = started

    const leaseClock = Time.make(clock)
    const forker = Fork.make(runtime, clock)
    const log = (effect: Effect.Effect<void>) => void forker.fork(effect)
    const metrics = options.metrics ? ConsumerMetrics.make(nameOf(queue.name)) : undefined
    const observer = new Observer(queue.name, leaseClock, metrics, log)
    const spans = options.spans ?? ((yield* Tracing.hasTracer) ? "link" : "off")
    const sqs = Tracing.observed(port, nameOf(queue.name), spans, metrics, clock)
    const traced = Tracing.traced(nameOf(queue.name), spans)

    const slots = new Slots(
      {
        concurrency: options.concurrency,
        prefetch:
          options.prefetch ??
          (queue.kind === "fifo"
            ? Math.min(FIFO_PREFETCH_MAX, Math.max(PREFETCH_MAX, FIFO_PREFETCH_PER_PLACE * options.concurrency))
            : undefined),
        prefetchMax: PREFETCH_MAX,
        lingerMs: options.receiveLingerMs,
        shared: o.limit === undefined ? undefined : { limit: o.limit.of, weight: o.limit.weight },
        unsettled: () => dispatcher.inHandCount
      },
      forker,
      () => dispatcher.pump()
    )
    const watch = new Watch(forker, leaseClock)
    const isIdle = (): boolean => dispatcher.isIdle
    const deletes = new Batcher<string>(
      {
        operation: "DeleteMessageBatch",
        queue: queue.name,
        lingerMs: options.settlementLingerMs,
        callTimeoutMs: callTimeoutMs(slotMs(settings)),
        send: (handles) => sqs.deleteBatch(url, handles),
        isIdle,
        late: "send"
      },
      forker,
      leaseClock
    )
    const visibility = new Batcher<VisibilityEntry>(
      {
        operation: "ChangeMessageVisibilityBatch",
        queue: queue.name,
        lingerMs: options.settlementLingerMs,
        callTimeoutMs: callTimeoutMs(leadMs(settings)),
        send: (entries) => sqs.changeVisibilityBatch(url, entries),
        isIdle,
        late: "drop"
      },
      forker,
      leaseClock
    )
    const provide = (policy: Redelivery.Redelivery<string, RP>) =>
      Redelivery.provided(policy, runtime as Runtime.Runtime<RP>)
    const redelivery = provide(givenRedelivery)
    const undecodable = o.undecodable ?? (started.deadLetterUrl === undefined ? givenRedelivery : Redelivery.deadLetter)
    const dispatcher: Dispatcher<A> = new Dispatcher<A>({
      queue,
      decode: (text) =>
        Effect.provide(queue.decode(text) as Effect.Effect<A, DecodeError, R>, runtime as Runtime.Runtime<R>),
      redelivery,
      undecodable: provide(undecodable),
      watch,
      finished: new Finished(),
      admit: (delivery) => admit(delivery),
      host: {
        queue: queue.name,
        traced,
        maxReceiveCount: started.maxReceiveCount,
        settings,
        clock: leaseClock,
        forker,
        slots,
        observer,
        deletes,
        visibility,
        deadLetter: DeadLetter.send({
          sqs,
          queue: queue.name,
          url: started.deadLetterUrl,
          maxBytes: started.maximumMessageBytes,
          callTimeoutMs: callTimeoutMs(slotMs(settings)),
          clock: leaseClock
        })
      }
    })
    const poller = new Poller({
      sqs,
      queue: queue.name,
      queueUrl: url,
      waitTimeSeconds: options.waitTimeSeconds,
      // the queue's own may be changed while we count on what it was
      visibilitySeconds: Math.ceil(settings.visibilityMs / 1000),
      exists: started.exists,
      settings,
      parallel: options.parallel,
      slots,
      clock: leaseClock,
      observer,
      forker
    })
    // Never interrupted: it ends with the poller, after the last open receive.
    const taking = () =>
      forker.fork(Stream.runForEach(poller.receipts, (receipt) => Effect.sync(() => dispatcher.accept(receipt))))

    let fiber: ReturnType<typeof taking> | undefined
    const polled = Effect.suspend(() => Effect.flatten(Fiber.await(fiber!)))
    const opened: Opened<A> = { observer, dispatcher, slots, poller, redelivery, traced, polled }
    const admit = o.admit(opened)
    if (o.onEvent !== undefined) yield* listen(observer, o.onEvent)

    const target: Drain.Drainable = {
      queue: queue.name,
      now: leaseClock.now,
      stopAsking: Effect.zipRight(
        Effect.sync(() => {
          observer.draining(dispatcher.runningCount, dispatcher.waitingCount)
          dispatcher.stop()
          deletes.hurry()
          visibility.hurry()
        }),
        poller.stop
      ),
      receivesAnswered: Effect.asVoid(Effect.exit(polled)),
      abortReceives: Effect.zipRight(poller.abort, Effect.asVoid(Effect.exit(polled))),
      releaseWaiting: Effect.sync(() => dispatcher.releaseWaiting()),
      handlersEnded: dispatcher.handlersEnded,
      interruptHandlers: Effect.sync(() => dispatcher.interruptHandlers()),
      settlementsAnswered: dispatcher.settlementsAnswered,
      report: () => dispatcher.report()
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        observer.started(started.notes, options.concurrency)
        fiber = taking()
      }),
      () =>
        Effect.gen(function* () {
          // in a fiber that is nobody's child: a second interruption would cut what a child waits for
          const report = yield* Effect.flatten(Fiber.await(forker.fork(Drain.drain(target, options.drain))))
          // the lease of a handler that could not be interrupted is still extended, if the process lives on
          if (!report.deliveries.some((d) => d.became === "abandoned")) watch.close()
          slots.close()
          observer.drained(report)
          if (!report.complete) return yield* Effect.die(Drain.incomplete(report))
        })
    )
    return opened
  })

/** The user's listener: what it throws is logged, and the next event comes to it all the same. */
const listen = <R>(
  observer: Observer,
  onEvent: (event: ConsumerEvent) => Effect.Effect<void, never, R>
): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const events = yield* observer.subscribe
    const tell = (event: ConsumerEvent) =>
      Effect.catchAllCause(
        Effect.suspend(() => onEvent(event)),
        (cause) => Effect.logWarning(`onEvent failed on ${event._tag}`, cause)
      )
    const one = Effect.uninterruptibleMask((restore) => Effect.tap(restore(events.take), tell))
    const all = Effect.repeat(one, { until: (event) => event._tag === "Drained" })
    yield* Effect.acquireRelease(Effect.forkDaemon(Effect.interruptible(all)), (fiber) =>
      // It ends by itself when it has heard of the drain; an interruption could lose what it is just being given. A stop
      // does not wait long for a listener.
      Fiber.await(fiber).pipe(
        Effect.interruptible,
        Effect.timeoutOption(LISTENER_DRAIN_MS),
        Effect.zipRight(Fiber.interruptFork(fiber))
      )
    )
  })
