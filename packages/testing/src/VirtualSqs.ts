/**
 * Amazon SQS in virtual time: the core's port without a socket, entirely on Effect's clock, and a view behind it that
 * no real SQS gives.
 *
 * @since 0.1.0
 */
import { Sqs } from "@effect-sqs/core/Sqs"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { FaultPlan } from "./FaultPlan.js"
import { ApiError } from "./internal/apiError.js"
import { run } from "./internal/doors.js"
import { type MessageState, messageState } from "./internal/inspect.js"
import { makePort } from "./internal/port.js"
import { type OperationContext, operations } from "./internal/operations.js"
import { Room } from "./internal/room.js"
import { registerRoom } from "./internal/rooms.js"
import { queueInput, type QueueOptions } from "./internal/queueOptions.js"
import { ProcessClock } from "./internal/simulation.js"
import * as Journal from "./Journal.js"
import { defaults, type VirtualSqsPolicy } from "./VirtualSqsPolicy.js"

export type {
  /**
   * @since 0.1.0
   * @category models
   */
  MessageState,
  /**
   * @since 0.1.0
   * @category models
   */
  QueueOptions
}

/**
 * An answer of the API that is an error, as AWS gives it. `status` 0: the connection broke and nothing was answered.
 *
 * @since 0.1.0
 * @category errors
 */
export class VirtualSqsError extends Schema.TaggedError<VirtualSqsError>()("VirtualSqsError", {
  operation: Schema.String,
  /** name of the shape, as `QueueDoesNotExist` */
  shape: Schema.String,
  /** query code, as `AWS.SimpleQueueService.NonExistentQueue` */
  code: Schema.String,
  detail: Schema.String,
  status: Schema.Number,
  senderFault: Schema.Boolean,
  /** SQS models this error: the AWS SDK throws it by its shape, the others by their code */
  modelled: Schema.Boolean
}) {
  override get message() {
    return `${this.operation}: ${this.code} (${this.status}): ${this.detail}`
  }
}

/**
 * How a virtual SQS is; all is optional.
 *
 * @since 0.1.0
 * @category models
 */
export interface VirtualSqsOptions {
  /** queues that are there from the start; a name ending in `.fifo` makes a FIFO queue. Dead-letter queues come first */
  readonly queues?: ReadonlyArray<string | QueueOptions> | undefined
  /** 12 digits; 000000000000 */
  readonly accountId?: string | undefined
  /** us-east-1 */
  readonly region?: string | undefined
  /** readings of the points on which the evidence is split; `VirtualSqsPolicy.defaults` */
  readonly policy?: Partial<VirtualSqsPolicy> | undefined
  /** of ids, and of what the policy draws; 0 */
  readonly seed?: number | string | undefined
  /** how much the journal keeps; everything */
  readonly journal?: Journal.JournalBound | undefined
  /** what goes wrong; nothing */
  readonly faults?: FaultPlan | undefined
  /** IAM actions that are denied, as `sqs:ReceiveMessage` or `ReceiveMessage`; none */
  readonly deny?: ReadonlyArray<string> | undefined
  /** messages in flight per queue; 120,000 */
  readonly inFlightLimit?: number | undefined
  /** how long the client behind the port waits for an answer, beyond a receive's wait time; for ever */
  readonly requestTimeout?: Duration.DurationInput | undefined
}

/**
 * What `VirtualSqs.send` takes beside the body.
 *
 * @since 0.1.0
 * @category models
 */
export interface SendOptions {
  readonly attributes?: { readonly [name: string]: string } | undefined
  /** 0 to 900 s */
  readonly delaySeconds?: number | undefined
  readonly groupId?: string | undefined
  readonly deduplicationId?: string | undefined
}

/**
 * How many messages a queue has, exactly.
 *
 * @since 0.1.0
 * @category models
 */
export interface QueueCounters {
  readonly visible: number
  readonly inFlight: number
  readonly delayed: number
}

/**
 * The virtual SQS, seen from behind. Where a queue is named, its name or its URL will do. What this service does itself is
 * no call: it meets no faults and no denial, and only its effects are in the journal.
 *
 * @since 0.1.0
 * @category services
 */
export class VirtualSqs extends Context.Tag("@effect-sqs/testing/VirtualSqs")<
  VirtualSqs,
  {
    /** a new queue; answers its URL */
    readonly createQueue: (queue: string | QueueOptions) => Effect.Effect<string, VirtualSqsError>
    /** the URL of a queue of this name, whether or not it exists */
    readonly queueUrl: (name: string) => string
    /** stores a message; answers its id */
    readonly send: (queue: string, body: string, options?: SendOptions) => Effect.Effect<string, VirtualSqsError>
    /** all messages of a queue, in the order in which they came, as they are now; looking changes nothing */
    readonly messages: (queue: string) => Effect.Effect<ReadonlyArray<MessageState>, VirtualSqsError>
    readonly counters: (queue: string) => Effect.Effect<QueueCounters, VirtualSqsError>
    /** names of the queues, in the order of creation */
    readonly queues: Effect.Effect<ReadonlyArray<string>>
    /** receives on a queue that are waiting for messages now */
    readonly openPolls: (queue: string) => Effect.Effect<number, VirtualSqsError>
    readonly journal: Journal.Journal
    /** a call as a client makes it: an operation by its name, with the JSON that would travel */
    readonly api: (
      operation: string,
      input: { readonly [key: string]: unknown }
    ) => Effect.Effect<{ readonly [key: string]: unknown }, VirtualSqsError>
  }
>() {}

const toError = (operation: string, e: ApiError) =>
  new VirtualSqsError({
    operation,
    shape: e.shape,
    code: e.code,
    detail: e.message,
    status: e.status,
    senderFault: e.senderFault,
    modelled: e.modelled
  })

const makeRoom = (options: VirtualSqsOptions): Effect.Effect<Room, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    // a process of a simulation may have a clock that jumped: SQS goes by the true time
    const now =
      clock instanceof ProcessClock
        ? () => Math.floor(clock.process.simulation.settings.startMs + clock.process.simulation.elapsedMs)
        : () => clock.unsafeCurrentTimeMillis()
    return yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new Room(
            {
              accountId: options.accountId ?? "000000000000",
              region: options.region ?? "us-east-1",
              policy: { ...defaults, ...options.policy },
              seed: options.seed ?? 0,
              journal: Journal.make(options.journal ?? "all"),
              inFlightLimit: options.inFlightLimit ?? 120_000,
              faults: options.faults,
              deny: options.deny ?? [],
              baseUrl: "http://virtual-sqs"
            },
            clock,
            now,
            (delayMs, ring) => {
              const fiber = runFork(Effect.map(Effect.sleep(delayMs), ring), { immediate: false })
              return () => fiber.unsafeInterruptAsFork(fiber.id())
            }
          )
      ),
      (room) => Effect.sync(() => room.polls.stop())
    )
  })

const makeService = (room: Room): VirtualSqs["Type"] => {
  const { account } = room
  const directly = <A>(operation: string, act: (context: OperationContext) => A): Effect.Effect<A, VirtualSqsError> =>
    Effect.suspend(() => {
      const result = room.directly(act)
      return result instanceof ApiError ? Effect.fail(toError(operation, result)) : Effect.succeed(result)
    })
  const queueOf = ({ now }: OperationContext, queue: string) => {
    const found = account.byUrl({ QueueUrl: queue })
    found.settle(now)
    return found
  }
  const service: VirtualSqs["Type"] = {
    createQueue: (queue) =>
      directly("CreateQueue", (context) => {
        const answer = operations.get("CreateQueue")!(
          context,
          queueInput(queue, (name) => account.arnOf(name))
        )
        return (answer as { readonly QueueUrl: string }).QueueUrl
      }),
    queueUrl: (name) => `${room.options.baseUrl}/${room.options.accountId}/${name}`,
    send: (queue, body, options = {}) =>
      directly("SendMessage", (context) => {
        const answer = operations.get("SendMessage")!(context, {
          QueueUrl: queue,
          MessageBody: body,
          DelaySeconds: options.delaySeconds,
          MessageGroupId: options.groupId,
          MessageDeduplicationId: options.deduplicationId,
          MessageAttributes: Object.fromEntries(
            Object.entries(options.attributes ?? {}).map(([name, value]) => [
              name,
              { DataType: "String", StringValue: value }
            ])
          )
        })
        return (answer as { readonly MessageId: string }).MessageId
      }),
    messages: (queue) =>
      directly("messages", (context) => [...queueOf(context, queue).messages.values()].map(messageState)),
    counters: (queue) => directly("counters", (context) => queueOf(context, queue).counts),
    queues: Effect.sync(() => [...account.all()].map(({ name }) => name)),
    openPolls: (queue) => directly("openPolls", (context) => room.polls.open(queueOf(context, queue))),
    journal: account.journal,
    api: (operation, input) =>
      Effect.mapBoth(run(room, { operation, input, baseUrl: room.options.baseUrl }), {
        onFailure: (error) => toError(operation, error),
        onSuccess: (answer) => answer as { readonly [key: string]: unknown }
      })
  }
  registerRoom(service, room)
  return service
}

/**
 * A virtual SQS and the port on it, and its queues. Queues that SQS would refuse are a defect.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: VirtualSqsOptions = {}
): Effect.Effect<{ readonly virtual: VirtualSqs["Type"]; readonly sqs: Sqs["Type"] }, never, Scope.Scope> =>
  Effect.gen(function* () {
    const room = yield* makeRoom(options)
    const virtual = makeService(room)
    for (const queue of options.queues ?? []) yield* Effect.orDie(virtual.createQueue(queue))
    const timeout = options.requestTimeout
    return { virtual, sqs: makePort(room, timeout === undefined ? undefined : Duration.toMillis(timeout)) }
  })

/**
 * The virtual SQS and the core's port on it, as a layer. It takes the clock that it is built under: `TestClock`, a
 * simulation's, or the real one.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * import { Sqs } from "@effect-sqs/core"
 * import { VirtualSqs } from "@effect-sqs/testing"
 * import { Effect } from "effect"
 *
 * export const program = Effect.gen(function* () {
 *   const virtual = yield* VirtualSqs.VirtualSqs
 *   const sqs = yield* Sqs.Sqs
 *   yield* virtual.send("jobs", "hello")
 *   const queueUrl = yield* sqs.queueUrl("jobs")
 *   return yield* sqs.receive({ queueUrl, maxMessages: 10, waitTimeSeconds: 20 })
 * }).pipe(Effect.provide(VirtualSqs.layer({ queues: ["jobs"] })))
 */
export const layer = (options: VirtualSqsOptions = {}): Layer.Layer<VirtualSqs | Sqs> =>
  Layer.scopedContext(
    Effect.map(make(options), ({ sqs, virtual }) => Context.make(VirtualSqs, virtual).pipe(Context.add(Sqs, sqs)))
  )
