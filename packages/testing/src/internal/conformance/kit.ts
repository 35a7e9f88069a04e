/** What the checks of the conformance suite are written with: a door to an SQS, a check, and short words for calls. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type { Json } from "../input.js"

/**
 * How well we know that AWS behaves so. `recorded`: an answer of AWS is on record in public. `validated`: a public test
 * is said to have passed against AWS. `documented`: AWS's documentation or API model says so. `issue`: a public report. `inferred`:
 * our conclusion.
 */
export type Evidence = "recorded" | "validated" | "documented" | "issue" | "inferred"

/** What a call gave: an answer, or an error by the name under which the AWS SDK throws it. */
export type Reply =
  | { readonly _tag: "Answer"; readonly output: Json }
  | { readonly _tag: "Error"; readonly name: string; readonly message: string; readonly status: number }

/** An HTTP exchange as it is, for checks of the protocol itself. */
export interface RawRequest {
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}
export interface RawReply {
  readonly status: number
  /** by lower-case names */
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

/** A way into an SQS, and into its time. */
export interface Door {
  /** one call as the AWS SDK makes it; binary values are `Uint8Array` */
  readonly call: (operation: string, input: Json) => Effect.Effect<Reply>
  /** epoch ms, by the clock that `advance` moves */
  readonly now: Effect.Effect<number>
  /** lets time pass, in s: moves a virtual clock, or waits */
  readonly advance: (seconds: number) => Effect.Effect<void>
  /** returns when so many long polls on this queue, made by other fibers, have reached SQS */
  readonly pollsOpened: (queueUrl: string, polls: number) => Effect.Effect<void>
  /** by how many ms times may be off */
  readonly toleranceMs: number
  /** if the quota of messages in flight is small enough to be reached */
  readonly inFlightLimit?: number | undefined
  /** unset: checks of the protocol itself are skipped */
  readonly raw?: ((request: RawRequest) => Effect.Effect<RawReply>) | undefined
}

/** A check found something else than it expects. */
export class CheckFailed extends Schema.TaggedError<CheckFailed>()("CheckFailed", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

export interface Check {
  readonly id: string
  readonly title: string
  readonly evidence: Evidence
  /** how much time it lets pass, in s */
  readonly seconds: number
  /** what not every door has */
  readonly needs: "raw" | "inFlightLimit" | undefined
  /** `prefix` begins the names of the queues it creates, and deletes in the end */
  readonly run: (door: Door, prefix: string) => Effect.Effect<void, CheckFailed>
}

export interface Queue {
  readonly url: string
  readonly arn: string
  readonly name: string
}

type Attributes = { readonly [name: string]: string }
type Failed = CheckFailed

const show = (value: unknown): string => {
  const text =
    JSON.stringify(value, (_, v: unknown) => (v instanceof Uint8Array ? `bytes ${[...v].join(",")}` : v)) ?? ""
  return text.length > 600 ? `${text.slice(0, 600)}…` : text
}

/** Equality of what travels, whatever the order of keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, v: unknown) =>
    v instanceof Uint8Array
      ? [...v]
      : typeof v === "object" && v !== null && !Array.isArray(v)
        ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
        : v
  )

/** The hand of one check. */
export class T {
  private readonly created: Array<string> = []
  private count = 0

  constructor(
    readonly door: Door,
    private readonly prefix: string
  ) {}

  fail(reason: string): Effect.Effect<never, Failed> {
    return Effect.fail(new CheckFailed({ reason }))
  }

  that(condition: boolean, reason: string): Effect.Effect<void, Failed> {
    return condition ? Effect.void : this.fail(reason)
  }

  equal(actual: unknown, expected: unknown, what: string): Effect.Effect<void, Failed> {
    return this.that(
      canonical(actual) === canonical(expected),
      `${what}: expected ${show(expected)}, found ${show(actual)}`
    )
  }

  /** A call that has to succeed. */
  ok(operation: string, input: Json): Effect.Effect<any, Failed> {
    return Effect.flatMap(this.door.call(operation, input), (reply) =>
      reply._tag === "Answer"
        ? Effect.succeed(reply.output)
        : this.fail(`${operation}: expected success, found ${reply.name} (${reply.status}): ${reply.message}`)
    )
  }

  /** A call that has to fail, under this name; text and status are looked at where they are given. */
  fails(
    operation: string,
    input: Json,
    expected: { readonly name: string; readonly message?: string | RegExp; readonly status?: number }
  ): Effect.Effect<void, Failed> {
    return Effect.flatMap(this.door.call(operation, input), (reply) => {
      if (reply._tag === "Answer")
        return this.fail(`${operation}: expected ${expected.name}, found ${show(reply.output)}`)
      const { message, name, status } = expected
      const textFits =
        message === undefined || (typeof message === "string" ? reply.message === message : message.test(reply.message))
      return this.that(
        reply.name === name && textFits && (status === undefined || reply.status === status),
        `${operation}: expected ${name}${status === undefined ? "" : ` (${status})`}` +
          `${message === undefined ? "" : `: ${String(message)}`}, ` +
          `found ${reply.name} (${reply.status}): ${reply.message}`
      )
    })
  }

  queue(attributes: Attributes = {}, kind: "standard" | "fifo" = "standard"): Effect.Effect<Queue, Failed> {
    return Effect.gen(this, function* () {
      const name = this.newName(kind)
      const all = kind === "fifo" ? { FifoQueue: "true", ...attributes } : attributes
      const { QueueUrl: url } = yield* this.ok("CreateQueue", { QueueName: name, Attributes: all })
      this.created.push(url)
      const { Attributes } = yield* this.ok("GetQueueAttributes", { QueueUrl: url, AttributeNames: ["QueueArn"] })
      return { url, name, arn: Attributes.QueueArn }
    })
  }

  fifo(attributes: Attributes = {}): Effect.Effect<Queue, Failed> {
    return this.queue(attributes, "fifo")
  }

  newName(kind: "standard" | "fifo" = "standard"): string {
    return `${this.prefix}-${++this.count}${kind === "fifo" ? ".fifo" : ""}`
  }

  /** A queue and the queue of its dead letters. */
  pair(maxReceiveCount: number, kind: "standard" | "fifo" = "standard", attributes: Attributes = {}) {
    return Effect.gen(this, function* () {
      const dead = yield* this.queue({}, kind)
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount })
      const source = yield* this.queue({ ...attributes, RedrivePolicy }, kind)
      return { source, dead }
    })
  }

  send(queue: Queue, body: string, extra: Json = {}): Effect.Effect<any, Failed> {
    return this.ok("SendMessage", { QueueUrl: queue.url, MessageBody: body, ...extra })
  }

  /** Into a group of a FIFO queue, under an id of its own. */
  sendTo(queue: Queue, group: string, body: string, extra: Json = {}): Effect.Effect<any, Failed> {
    return this.send(queue, body, { MessageGroupId: group, MessageDeduplicationId: body, ...extra })
  }

  receive(queue: Queue, extra: Json = {}): Effect.Effect<ReadonlyArray<any>, Failed> {
    const input = { QueueUrl: queue.url, MaxNumberOfMessages: 10, WaitTimeSeconds: 0, ...extra }
    return Effect.map(this.ok("ReceiveMessage", input), (output) => output.Messages ?? [])
  }

  one(queue: Queue, extra: Json = {}): Effect.Effect<any, Failed> {
    return Effect.flatMap(this.receive(queue, { MaxNumberOfMessages: 1, ...extra }), ([message]) =>
      message === undefined ? this.fail("expected a message, received none") : Effect.succeed(message)
    )
  }

  bodies(queue: Queue, expected: ReadonlyArray<string>, extra: Json = {}): Effect.Effect<ReadonlyArray<any>, Failed> {
    return Effect.tap(this.receive(queue, extra), (messages) =>
      this.equal(
        messages.map((m) => m.Body),
        expected,
        "received bodies"
      )
    )
  }

  delete(queue: Queue, message: { readonly ReceiptHandle: string }): Effect.Effect<any, Failed> {
    return this.ok("DeleteMessage", { QueueUrl: queue.url, ReceiptHandle: message.ReceiptHandle })
  }

  change(queue: Queue, message: { readonly ReceiptHandle: string }, seconds: number): Effect.Effect<any, Failed> {
    return this.ok("ChangeMessageVisibility", {
      QueueUrl: queue.url,
      ReceiptHandle: message.ReceiptHandle,
      VisibilityTimeout: seconds
    })
  }

  attributes(queue: Queue, ...names: ReadonlyArray<string>): Effect.Effect<any, Failed> {
    return Effect.map(
      this.ok("GetQueueAttributes", { QueueUrl: queue.url, AttributeNames: names }),
      (output) => output.Attributes ?? {}
    )
  }

  wait(seconds: number): Effect.Effect<void> {
    return this.door.advance(seconds)
  }

  /** A long poll that is open, the only one or the `nth`: gives the bodies received, and how long it took in ms. */
  poll(queue: Queue, seconds: number, nth = 1) {
    return Effect.gen(this, function* () {
      const { door } = this
      const fiber = yield* Effect.fork(
        Effect.gen(this, function* () {
          const from = yield* door.now
          const messages = yield* this.receive(queue, { WaitTimeSeconds: seconds })
          return { bodies: messages.map((m): string => m.Body), tookMs: (yield* door.now) - from }
        })
      )
      yield* door.pollsOpened(queue.url, nth)
      return Fiber.join(fiber)
    })
  }

  /** A time in ms is as expected, within what this door's clock allows. */
  took(actualMs: number, expectedMs: number): Effect.Effect<void, Failed> {
    return this.that(
      actualMs >= expectedMs - this.door.toleranceMs && actualMs <= expectedMs + this.door.toleranceMs,
      `expected to take ${expectedMs} ms, took ${actualMs} ms`
    )
  }

  readonly cleanUp: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach(this.created, (QueueUrl) => this.door.call("DeleteQueue", { QueueUrl }), { discard: true })
  )
}

export const invalid = "InvalidParameterValue"

type Body = (t: T) => Effect.Effect<unknown, CheckFailed>

export const check = (
  id: string,
  evidence: Evidence,
  title: string,
  body: (t: T) => Generator<any, unknown, any>,
  options: { readonly seconds?: number; readonly needs?: Check["needs"] } = {}
): Check => ({
  id,
  title,
  evidence,
  seconds: options.seconds ?? 0,
  needs: options.needs,
  run: (door, prefix) =>
    Effect.suspend(() => {
      const t = new T(door, `${prefix}-${id}`)
      const run: Body = (t) => Effect.gen(() => body(t) as Generator<any, unknown, never>) as ReturnType<Body>
      return Effect.asVoid(Effect.ensuring(run(t), t.cleanUp))
    })
})
