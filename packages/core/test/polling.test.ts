import { Consumer, Policy } from "@effect-sqs/core"
import { Fault, SimClock, VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, TestClock } from "effect"
import { calls, receives, sendMany } from "./calls.js"
import { jobs, worker } from "./support.js"
import { Jobs, withReceive } from "./pollingSupport.js"

describe("polling", () => {
  it.scoped("C1 one slow message does not hold up the nine other places", () =>
    Effect.gen(function* () {
      yield* sendMany("jobs", 30)
      const done: Array<number> = []
      yield* worker(
        Consumer.run(Jobs, { concurrency: 10 }, (n) =>
          Effect.zipRight(
            Effect.sleep(n === 0 ? "2 seconds" : "10 millis"),
            Effect.sync(() => done.push(n))
          )
        )
      )
      yield* TestClock.adjust("200 millis")
      assert.strictEqual(done.length, 29)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(done.length, 30)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("C4 slow handlers: never more running than asked for, and no more in hand", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 100)
      let running = 0
      let most = 0
      yield* worker(
        Consumer.run(Jobs, { concurrency: 10, prefetch: 0 }, () =>
          Effect.acquireUseRelease(
            Effect.sync(() => void (most = Math.max(most, ++running))),
            () => Effect.sleep("10 seconds"),
            () => Effect.sync(() => void running--)
          )
        )
      )
      for (let s = 0; s < 35; s++) {
        yield* TestClock.adjust("1 second")
        assert.isAtMost((yield* virtual.counters("jobs")).inFlight, 10)
      }
      assert.strictEqual(most, 10)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("C5 a hundred bodies that are none: no place leaks", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const consumer = yield* Consumer.make(
        Jobs,
        { concurrency: 10, receive: { waitTime: "2 seconds" }, drain: { openReceives: "abort" } },
        () => Effect.void
      )
      for (let i = 0; i < 100; i++) yield* virtual.send("jobs", "not a number")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* virtual.messages("dead")).length, 100)
      assert.deepInclude(yield* consumer.state, { running: 0, waiting: 0, free: 10 })
      // and the receive that is open asks for all ten places
      assert.strictEqual((yield* receives()).at(-1)?.input.maxMessages, 10)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("C6 with one place and a long job the second message stays visible to others", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 2)
      yield* worker(Consumer.run(Jobs, { concurrency: 1 }, () => Effect.sleep("10 minutes")))
      yield* TestClock.adjust("5 minutes")
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 1, inFlight: 1 })
      assert.strictEqual((yield* receives()).length, 1)
    }).pipe(Effect.provide(jobs()))
  )

  it.effect("C7 uneven handlers, twenty places, a full backlog: at most 0.3 requests a message", () =>
    Effect.gen(function* () {
      const messages = 2_000
      const { requests, most, tookMs } = yield* SimClock.run(
        Effect.gen(function* () {
          yield* sendMany("jobs", messages)
          let left = messages
          let running = 0
          let most = 0
          const all = yield* Deferred.make<void>()
          const start = yield* SimClock.trueTimeMillis
          const fiber = yield* Effect.fork(
            Consumer.run(Jobs, { concurrency: 20, drain: { openReceives: "abort" } }, (n) =>
              Effect.acquireUseRelease(
                Effect.sync(() => void (most = Math.max(most, ++running))),
                () => Effect.sleep(10 + ((n * 7919) % 97)),
                () =>
                  Effect.zipRight(
                    Effect.sync(() => void running--),
                    --left === 0 ? Deferred.succeed(all, undefined) : Effect.void
                  )
              )
            )
          )
          yield* Deferred.await(all)
          const tookMs = (yield* SimClock.trueTimeMillis) - start
          const kinds = ["ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"]
          const counts = yield* Effect.forEach(kinds, (k) => Effect.map(calls(k), (c) => c.length))
          yield* Fiber.interrupt(fiber)
          return { requests: counts.reduce((a, b) => a + b), most, tookMs }
        }).pipe(Effect.scoped, Effect.provide(jobs({ faults: Fault.latency("5 millis") })))
      )
      assert.isAtMost(requests / messages, 0.3)
      assert.isAtMost(most, 20)
      // and not by letting places stand empty: the mean run is 58 ms
      assert.isAtMost(tookMs, ((messages * 58) / 20) * 1.15)
    })
  )

  it.scoped("C8 a handler that never ends holds one place only, and its own timeout frees it", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 40)
      let done = 0
      const consumer = yield* Consumer.make(
        Jobs,
        {
          concurrency: 2,
          policy: Policy.make({ attemptTimeout: "30 seconds" }),
          drain: { openReceives: "abort" }
        },
        (n) =>
          n === 0
            ? Effect.never
            : Effect.zipRight(
                Effect.sleep("100 millis"),
                Effect.sync(() => void done++)
              )
      )
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(done, 39)
      assert.strictEqual((yield* consumer.state).free, 1)
      yield* TestClock.adjust("26 seconds")
      assert.strictEqual((yield* consumer.state).free, 2)
      assert.strictEqual((yield* virtual.messages("jobs")).length, 1)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("an idle hour costs one receive every 20 s, and nothing else", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* worker(Consumer.run(Jobs, { concurrency: 50 }, () => Effect.void))
      yield* TestClock.adjust("1 second")
      virtual.journal.clear()
      yield* TestClock.adjust("1 hour")
      const started = virtual.journal.entries.filter((e) => e._tag === "CallStarted")
      assert.strictEqual(started.length, 180)
      assert.isTrue(started.every((e) => e.operation === "ReceiveMessage" && e.input.waitTimeSeconds === 20))
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a queue that does not wait, by option or by nature, is asked once a second while it is idle", () => {
    const hasty = withReceive((sqs, r) => sqs.receive({ ...r, waitTimeSeconds: 0 }))
    return Effect.gen(function* () {
      let done = 0
      const handler = () => Effect.sync(() => void done++)
      const short = yield* worker(Consumer.run(Jobs, { receive: { waitTime: 0 } }, handler))
      yield* TestClock.adjust("30500 millis")
      assert.strictEqual((yield* receives()).length, 31)
      yield* sendMany("jobs", 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(done, 1)
      yield* short.stop
      const since = yield* Effect.clockWith((c) => c.currentTimeMillis)
      yield* worker(Consumer.run(Jobs, {}, handler).pipe(Effect.provide(hasty)))
      yield* TestClock.adjust("30500 millis")
      assert.strictEqual((yield* receives(since)).length, 31)
    }).pipe(Effect.provide(jobs()))
  })

  it.scoped("a burst after idle fans out to several receives, and when it is over one is left", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* worker(Consumer.run(Jobs, { concurrency: 100, prefetch: 0 }, () => Effect.sleep("1 second")))
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(yield* virtual.openPolls("jobs"), 1)
      // the one that is open is answered with the first; then more and more are opened
      yield* sendMany("jobs", 101)
      yield* TestClock.adjust("400 millis")
      const at = (yield* receives(30_000)).map((c) => c.at - 30_000)
      assert.strictEqual((yield* virtual.counters("jobs")).inFlight, 100)
      // each receive takes 50 ms: ten one after the other would have taken 500
      const rounds = new Set(at)
      assert.isAtMost(rounds.size, 6, [...rounds].join())
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* virtual.openPolls("jobs"), 1)
      assert.deepStrictEqual(yield* virtual.messages("jobs"), [])
    }).pipe(
      Effect.provide(jobs({ faults: Fault.latency("50 millis", { after: true }).pipe(Fault.on("ReceiveMessage")) }))
    )
  )

  it.scoped("receive.parallel bounds the receives that are open at once", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 200)
      yield* worker(
        Consumer.run(Jobs, { concurrency: 100, prefetch: 0, receive: { parallel: 2 } }, () => Effect.sleep("1 second"))
      )
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* virtual.openPolls("jobs"), 2)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("prefetch by run times: up to twenty wait, leased, behind short runs; none behind long ones", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const inHand = (ms: number) =>
        Effect.gen(function* () {
          yield* sendMany("jobs", 60)
          const { stop } = yield* worker(
            Consumer.run(Jobs, { concurrency: 4, drain: { openReceives: "abort" } }, () => Effect.sleep(ms))
          )
          // some runs have been seen, and the next are under way
          yield* TestClock.adjust(ms * 4.5)
          const { inFlight } = yield* virtual.counters("jobs")
          yield* stop
          yield* virtual.api("PurgeQueue", { QueueUrl: virtual.queueUrl("jobs") })
          yield* TestClock.adjust("1 minute")
          return inFlight
        })
      const short = yield* inHand(40)
      assert.isAbove(short, 14)
      assert.isAtMost(short, 24)
      assert.strictEqual(yield* inHand(100), 14)
      assert.strictEqual(yield* inHand(400), 6)
      assert.strictEqual(yield* inHand(2_000), 4)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("paused it receives nothing, handlers run on, what is in hand is run; resumed it goes on", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 6)
      let done = 0
      const consumer = yield* Consumer.make(
        Jobs,
        { concurrency: 2, prefetch: 2, drain: { openReceives: "abort" } },
        () =>
          Effect.zipRight(
            Effect.sleep("10 seconds"),
            Effect.sync(() => void done++)
          )
      )
      yield* TestClock.adjust("1 second")
      yield* consumer.pause
      assert.isTrue((yield* consumer.state).paused)
      const before = (yield* receives()).length
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(done, 4)
      assert.strictEqual((yield* receives()).length, before)
      assert.deepInclude(yield* virtual.counters("jobs"), { visible: 2, inFlight: 0 })
      yield* consumer.resume
      yield* TestClock.adjust("11 seconds")
      assert.strictEqual(done, 6)
      assert.deepInclude(yield* consumer.state, { paused: false, running: 0, waiting: 0, free: 2 })
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("paused while idle: the open receive may still bring what it was promised, and is the last", () =>
    Effect.gen(function* () {
      let done = 0
      const consumer = yield* Consumer.make(Jobs, { drain: { openReceives: "abort" } }, () =>
        Effect.sync(() => void done++)
      )
      yield* TestClock.adjust("1 second")
      yield* consumer.pause
      yield* sendMany("jobs", 3)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(done, 3)
      yield* sendMany("jobs", 3, 3)
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(done, 3)
      assert.strictEqual((yield* receives()).length, 1)
    }).pipe(Effect.provide(jobs()))
  )

  it.scoped("a port that brings more than it was asked for: all are run, never more at once than allowed", () => {
    const asked: Array<number> = []
    const generous = withReceive((sqs, r) => {
      asked.push(r.maxMessages)
      return sqs.receive({ ...r, maxMessages: 10 })
    })
    return Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* sendMany("jobs", 30)
      let running = 0
      let most = 0
      const consumer = yield* Consumer.make(
        Jobs,
        { concurrency: 2, prefetch: 0, drain: { openReceives: "abort" } },
        () =>
          Effect.acquireUseRelease(
            Effect.sync(() => void (most = Math.max(most, ++running))),
            () => Effect.sleep("1 second"),
            () => Effect.sync(() => void running--)
          )
      )
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(most, 2)
      assert.isAtMost(Math.max(...asked), 2)
      assert.deepStrictEqual(yield* virtual.messages("jobs"), [])
      assert.deepInclude(yield* consumer.state, { running: 0, waiting: 0, free: 2 })
    }).pipe(Effect.provide(generous), Effect.provide(jobs()))
  })
})
