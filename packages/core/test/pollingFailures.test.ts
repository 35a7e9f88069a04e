import { Consumer, type ConsumerEvent, Poller, SqsQueue, StartError } from "@effect-sqs/core"
import { Fault, VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Metric, Option, Schema, TestClock } from "effect"
import { receives, sendMany } from "./calls.js"
import { jobs, passUntilDone, worker } from "./support.js"
import { failureOf, Jobs, withReceive } from "./pollingSupport.js"

describe("receives that fail", () => {
  const outages = [
    ["queue missing", Fault.error("AWS.SimpleQueueService.NonExistentQueue", { httpStatus: 400 })],
    ["connection refused", Fault.reset],
    ["500", Fault.error("InternalError", { httpStatus: 500 })],
    ["400", Fault.error("InvalidParameterValue", { httpStatus: 400 })],
    ["throttled", Fault.error("RequestThrottled", { httpStatus: 400 })],
    ["access denied", Fault.error("AccessDenied", { httpStatus: 403 })],
    ["credentials expired", Fault.error("ExpiredToken", { httpStatus: 403 })]
  ] as const

  for (const [name, fault] of outages) {
    const faults = fault.pipe(Fault.on("ReceiveMessage"), Fault.during("5 seconds", "65 seconds"))
    it.scoped(`C2 ${name} for a minute: at most about ten requests, jittered, and full speed after`, () =>
      Effect.gen(function* () {
        yield* sendMany("jobs", 100)
        let done = 0
        const { fiber } = yield* worker(Consumer.run(Jobs, { concurrency: 100 }, () => Effect.sync(() => void done++)))
        yield* TestClock.adjust("4 seconds")
        assert.strictEqual(done, 100)
        // in the outage: several receives are open, and all of them fail next
        yield* TestClock.adjust("1 second")
        const open = yield* Effect.flatMap(VirtualSqs.VirtualSqs, (v) => v.openPolls("jobs"))
        assert.isAtLeast(open, 3)
        yield* sendMany("jobs", 150, 100)
        yield* TestClock.adjust("60 seconds")
        const refused = (yield* receives(5_000)).map((c) => c.at).filter((at) => at < 65_000)
        // those that were open are refused once each, or twice; then one at a time
        assert.isAtMost(refused.filter((at) => at === 5_000).length, 2 * open)
        assert.isAtMost(refused.filter((at) => at > 5_000).length, 10)
        assert.isAtLeast(refused.filter((at) => at > 5_000).length, 5)
        yield* TestClock.adjust("20 seconds")
        assert.strictEqual(done, 250)
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      }).pipe(Effect.provide(jobs({ faults })))
    )
  }

  it.scoped("C2 the pauses of two consumers differ", () =>
    Effect.gen(function* () {
      yield* worker(Consumer.run(Jobs, {}, () => Effect.void))
      yield* worker(Consumer.run(Jobs, {}, () => Effect.void))
      yield* TestClock.adjust("60 seconds")
      const at = (yield* receives(1)).map((c) => c.at)
      assert.strictEqual(new Set(at).size, at.length)
    }).pipe(Effect.provide(jobs({ faults: Fault.reset.pipe(Fault.on("ReceiveMessage")) })))
  )

  it.scoped("a success resets the backoff", () =>
    Effect.gen(function* () {
      yield* sendMany("jobs", 1)
      yield* worker(Consumer.run(Jobs, { receive: { waitTime: 0 }, concurrency: 1 }, () => Effect.sleep("20 seconds")))
      // five failures, one success, then failures again
      yield* TestClock.adjust("50 seconds")
      const at = (yield* receives()).map((c) => c.at)
      const pauses = at.map((t, i) => t - (at[i - 1] ?? 0)).slice(1)
      assert.isAtLeast(pauses[4]!, 8_000)
      // the handler of the success ran for 20 s, and then the first pause is short again
      assert.isAtMost(pauses[6]!, 250)
    }).pipe(
      Effect.provide(
        jobs({
          faults: Fault.script(
            ...[1, 2, 3, 4, 5].map(() => Fault.reset),
            Fault.none,
            ...[1, 2, 3, 4, 5].map(() => Fault.reset)
          ).pipe(Fault.on("ReceiveMessage"))
        })
      )
    )
  )

  it.scoped(
    "C3 a receive that is never answered is cut after its wait time and a margin, counted, and tried again",
    () =>
      Effect.gen(function* () {
        yield* sendMany("jobs", 1)
        const failed: Array<ConsumerEvent.ConsumerEvent> = []
        let done = 0
        yield* worker(
          Consumer.run(
            Jobs,
            {
              onEvent: (e) => Effect.sync(() => void (e._tag === "PollFailed" && failed.push(e)))
            },
            () => Effect.sync(() => void done++)
          )
        )
        yield* TestClock.adjust("29 seconds")
        assert.strictEqual((yield* receives()).length, 1)
        assert.strictEqual(done, 0)
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(done, 1)
        assert.strictEqual(failed.length, 1)
        assert.strictEqual(failed[0]?._tag === "PollFailed" && failed[0].error.code, "TimeoutError")
      }).pipe(Effect.provide(jobs({ faults: Fault.hang.pipe(Fault.on("ReceiveMessage"), Fault.times(1)) })))
  )

  it.scoped("every failed receive is counted, those beside another too", () =>
    Effect.gen(function* () {
      const name = "counted"
      yield* sendMany(name, 20)
      yield* worker(
        Consumer.run(SqsQueue.make(name, { schema: Schema.Number }), { concurrency: 20 }, () =>
          Effect.sleep("1 second")
        )
      )
      yield* TestClock.adjust("100 seconds")
      const failed = (yield* receives(1)).length
      assert.isAtLeast(failed, 5)
      const counted = (yield* Metric.snapshot)
        .filter((p) => p.metricKey.name === "effect_sqs.poll.errors")
        .filter((p) => p.metricKey.tags.some((t) => t.value === name))
        .reduce((sum, p) => sum + Number((p.metricState as unknown as { count: number }).count), 0)
      assert.strictEqual(counted, failed)
    }).pipe(
      Effect.provide(
        jobs({ name: "counted", faults: Fault.reset.pipe(Fault.on("ReceiveMessage"), Fault.during("1 millis")) })
      )
    )
  )

  const url = "http://virtual-sqs/000000000000/jobs"

  const starts = [
    ["wrong name", "nobody", [], {}, ["nobody", "does not exist", "create the queue"]],
    ["wrong URL", url.replace("jobs", "nobody"), [], {}, ["nobody", "does not exist", "Check the name or URL"]],
    ["not allowed to look up", "jobs", ["sqs:GetQueueUrl"], {}, ["jobs", "access denied", "Allow sqs:GetQueueUrl"]],
    ["not allowed to read", url, ["sqs:GetQueueAttributes"], {}, ["jobs", "sqs:GetQueueAttributes"]],
    [
      "wrong URL, and not allowed to read",
      url.replace("jobs", "nobody"),
      ["sqs:GetQueueAttributes"],
      { lease: { visibility: "30 seconds" } },
      ["nobody", "does not exist"]
    ],
    [
      "not allowed to receive",
      url,
      ["sqs:ReceiveMessage"],
      { lease: { visibility: "30 seconds" } },
      ["jobs", "access denied", "Allow sqs:ReceiveMessage"]
    ]
  ] as const

  for (const [name, queue, deny, options, words] of starts) {
    it.scoped(`C9 ${name}: start fails, typed, with queue and remedy`, () =>
      Effect.gen(function* () {
        const run = Consumer.run(SqsQueue.make(queue, { schema: Schema.Number }), options, () => Effect.void)
        const error = failureOf(yield* passUntilDone(yield* Effect.fork(run), 5))
        assert.isTrue(error instanceof StartError.StartError || error instanceof Poller.PollError, String(error))
        for (const word of words) assert.include((error as Error).message, word)
        // fatal at once: nobody waits for what cannot come
        assert.isAtMost((yield* receives()).length, 1)
      }).pipe(Effect.provide(jobs({ deny })))
    )
  }

  it.scoped("C10 a queue that is deleted while the consumer runs: a typed failure after bounded tries", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const { fiber } = yield* worker(Consumer.run(Jobs, {}, () => Effect.void))
      yield* TestClock.adjust("10 seconds")
      yield* virtual.api("DeleteQueue", { QueueUrl: virtual.queueUrl("jobs") })
      yield* TestClock.adjust("60 seconds")
      // a queue of this name can be made again after a minute
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      const error = failureOf(yield* passUntilDone(fiber, 60)) as Poller.PollError
      assert.instanceOf(error, Poller.PollError)
      assert.include(error.message, "Receiving from jobs failed for good")
      assert.include(error.message, "the queue does not exist")
      assert.isAtMost(error.tries, 12)
      // the first of them was open when the queue went
      assert.strictEqual((yield* receives(10_000)).length, error.tries - 1)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("C10 a queue that is gone before the first answer is borne as long, since start had seen it", () =>
    Effect.gen(function* () {
      const { fiber } = yield* worker(Consumer.run(Jobs, {}, () => Effect.void))
      yield* TestClock.adjust("60 seconds")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      assert.instanceOf(failureOf(yield* passUntilDone(fiber, 60)), Poller.PollError)
    }).pipe(
      Effect.provide(
        jobs({ faults: Fault.error("AWS.SimpleQueueService.NonExistentQueue").pipe(Fault.on("ReceiveMessage")) })
      )
    )
  )

  it.scoped("who only listens hears that receiving has ended, once, with what `failure` tells", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const ends: Array<ConsumerEvent.ConsumerEvent & { readonly _tag: "PollEnded" }> = []
      const onEvent = (e: ConsumerEvent.ConsumerEvent) =>
        Effect.sync(() => void (e._tag === "PollEnded" && ends.push(e)))
      const consumer = yield* Consumer.make(Jobs, { concurrency: 40, onEvent }, () => Effect.void)
      yield* TestClock.adjust("10 seconds")
      yield* virtual.api("DeleteQueue", { QueueUrl: virtual.queueUrl("jobs") })
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(ends, [])
      const failed = yield* Effect.fork(Effect.flip(consumer.failure))
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(
        ends.map((e) => [e.queue, e.error]),
        [["jobs", (yield* Fiber.join(failed)).cause]]
      )
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("two refusals of a minute each, with a success between, are two", () =>
    Effect.gen(function* () {
      const { fiber } = yield* worker(Consumer.run(Jobs, { receive: { waitTime: "1 second" } }, () => Effect.void))
      yield* TestClock.adjust("200 seconds")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
    }).pipe(
      Effect.provide(
        jobs({
          faults: Fault.all(
            Fault.error("AccessDenied").pipe(Fault.during("10 seconds", "70 seconds")),
            Fault.error("AccessDenied").pipe(Fault.during("110 seconds", "170 seconds"))
          ).pipe(Fault.on("ReceiveMessage"))
        })
      )
    )
  )

  it.scoped("several receives that are refused at one moment do not end the consumer", () =>
    Effect.gen(function* () {
      let done = 0
      const { fiber } = yield* worker(Consumer.run(Jobs, { concurrency: 100 }, () => Effect.sync(() => void done++)))
      yield* sendMany("jobs", 300)
      yield* TestClock.adjust("2 seconds")
      yield* sendMany("jobs", 50, 300)
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      assert.strictEqual(done, 350)
    }).pipe(
      Effect.provide(
        jobs({
          faults: Fault.error("AccessDenied", { httpStatus: 403 }).pipe(
            Fault.on("ReceiveMessage"),
            Fault.during("2 seconds", "2100 millis")
          )
        })
      )
    )
  )

  it.scoped(
    "C11 credentials that expire for 30 s while a job runs: polling and beats recover, the job is not lost",
    () =>
      Effect.gen(function* () {
        const virtual = yield* VirtualSqs.VirtualSqs
        yield* sendMany("jobs", 1)
        let runs = 0
        yield* worker(
          Consumer.run(Jobs, { lease: { visibility: "1 minute" } }, () =>
            Effect.zipRight(
              Effect.sync(() => void runs++),
              Effect.sleep("2 minutes")
            )
          )
        )
        yield* TestClock.adjust("90 seconds")
        yield* sendMany("jobs", 1, 1)
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(runs, 2)
        yield* TestClock.adjust("3 minutes")
        assert.strictEqual(runs, 2)
        assert.deepStrictEqual(yield* virtual.messages("jobs"), [])
      }).pipe(
        Effect.provide(
          jobs({
            faults: Fault.error("ExpiredToken", { httpStatus: 403 }).pipe(Fault.during("20 seconds", "50 seconds"))
          })
        )
      )
  )

  it.scoped("a receive that fails while handlers run disturbs none of them", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 5)
      const ended: Array<string> = []
      yield* worker(
        Consumer.run(Jobs, { concurrency: 10 }, () =>
          Effect.onExit(Effect.sleep("2 minutes"), (exit) => Effect.sync(() => void ended.push(exit._tag)))
        )
      )
      yield* TestClock.adjust("3 minutes")
      assert.deepStrictEqual(ended, ["Success", "Success", "Success", "Success", "Success"])
      assert.deepStrictEqual(yield* virtual.messages("jobs"), [])
    }).pipe(Effect.provide(jobs({ faults: Fault.reset.pipe(Fault.on("ReceiveMessage"), Fault.during("1 second")) })))
  )

  it.scoped("a port whose receive dies, or interrupts itself, is a failed receive: polling goes on", () =>
    Effect.gen(function* () {
      yield* sendMany("jobs", 1)
      let done = 0
      let tries = 0
      yield* worker(
        Consumer.run(Jobs, {}, () => Effect.sync(() => void done++)).pipe(
          Effect.provide(
            withReceive((sqs, r) =>
              Effect.suspend(() => {
                tries++
                return tries === 1 ? Effect.die("broken") : tries === 2 ? Effect.interrupt : sqs.receive(r)
              })
            )
          )
        )
      )
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(done, 1)
    }).pipe(Effect.provide(jobs()))
  )
})
