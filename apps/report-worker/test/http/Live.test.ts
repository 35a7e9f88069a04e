import { ConsumerEvent } from "@effect-sqs/core/ConsumerEvent"
import * as Settlement from "@effect-sqs/core/Settlement"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { adviceOf } from "../../src/http/Advice.js"
import * as Live from "../../src/http/Live.js"
import type { Run } from "../../src/http/View.js"

const queue = "jobs"
const lease = { visibilityMs: 30_000, heartbeatMs: 15_000, limitMs: 43_190_000 }
const layer = Live.layer({ queue, concurrency: 2, lease })

const subject = (n: number) => ({ queue, messageId: `m${n}`, receiptHandle: `secret${n}`, receiveCount: 1 })
const received = (n: number, at = 0) =>
  ConsumerEvent.Received({ ...subject(n), at, deadline: at + 30_000, sentAt: undefined })
const deleted = (n: number, at: number) =>
  ConsumerEvent.DeliverySettled({
    ...subject(n),
    at,
    settled: { asked: Settlement.Delete, confirmed: true, problem: undefined }
  })

const snapshot = Effect.flatMap(Live.Live, (live) => Effect.map(live.snapshot, (s) => s.snapshot))

describe("Live", () => {
  it.effect("puts together what the events tell of a delivery; no receipt handle leaves it", () =>
    Effect.gen(function* () {
      const { named, observe, progress } = yield* Live.Live
      // the handler is faster than the event
      yield* named({ messageId: "m1", receiveCount: 1 }, "den")
      yield* observe(received(1))
      yield* observe(ConsumerEvent.RunStarted({ ...subject(1), at: 10 }))
      for (let i = 1; i <= 30; i++) {
        yield* observe(
          ConsumerEvent.LeaseExtended({
            ...subject(1),
            at: i * 15_000,
            deadline: i * 15_000 + 30_000,
            marginMs: 15_000
          })
        )
      }
      yield* progress("den", 5, 10)
      const [one] = (yield* snapshot).leases
      assert.deepStrictEqual(
        [one!.jobId, one!.startedAt, one!.beatCount, one!.beats.length, one!.deadline, one!.done, one!.of],
        ["den", 10, 30, 20, 480_000, 5, 10]
      )
      assert.notInclude(JSON.stringify(yield* snapshot), "secret")
      yield* observe(deleted(1, 460_000))
      const [ended] = (yield* snapshot).leases
      assert.deepStrictEqual([ended!.end, ended!.confirmed, ended!.endedAt], ["deleted", true, 460_000])
    }).pipe(Effect.provide(layer))
  )

  it.effect("forgets what ended a minute ago, and what an event was lost of", () =>
    Effect.gen(function* () {
      const { observe } = yield* Live.Live
      yield* observe(received(1))
      yield* observe(received(2))
      yield* observe(deleted(2, 1000))
      yield* TestClock.adjust("61001 millis")
      assert.deepStrictEqual(
        (yield* snapshot).leases.map(({ messageId }) => messageId),
        ["m1"]
      )
      yield* TestClock.adjust("11 minutes")
      assert.deepStrictEqual((yield* snapshot).leases, [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("stays stopping once it stops", () =>
    Effect.gen(function* () {
      const { observe } = yield* Live.Live
      assert.strictEqual((yield* snapshot).consuming.state, "starting")
      yield* observe(ConsumerEvent.Started({ queue, at: 1, notes: [] }))
      yield* observe(ConsumerEvent.Paused({ queue, at: 2 }))
      // a receive that was open is answered
      yield* observe(ConsumerEvent.PollRecovered({ queue, at: 3 }))
      assert.deepStrictEqual((yield* snapshot).consuming, { state: "paused", since: 2 })
      yield* observe(ConsumerEvent.Draining({ queue, at: 4, running: 0, waiting: 0 }))
      yield* observe(ConsumerEvent.Resumed({ queue, at: 5 }))
      assert.strictEqual((yield* snapshot).consuming.state, "stopping")
    }).pipe(Effect.provide(layer))
  )
})

const runs = (...ms: ReadonlyArray<number>): ReadonlyArray<Run> =>
  Array.from({ length: 20 }, (_, i) => ({ at: i, ranMs: ms[i % ms.length]!, run: "success" as const }))

describe("advice", () => {
  it("speaks when the numbers ask for other settings, and not before there are enough", () => {
    const plain = { ...lease, heartbeatMs: undefined }
    assert.deepStrictEqual(adviceOf(plain, runs(95_000)).hint, {
      why: "runs outlive the slot",
      visibilityMs: 120_000,
      heartbeatMs: 60_000
    })
    assert.isUndefined(adviceOf(plain, runs(95_000).slice(0, 19)).hint)
    assert.isUndefined(adviceOf(plain, runs(5000)).hint)
    assert.isUndefined(adviceOf(lease, runs(20_000)).hint)
    assert.strictEqual(
      adviceOf({ ...lease, visibilityMs: 600_000 }, runs(5000)).hint?.why,
      "a dead worker is waited for too long"
    )
    assert.strictEqual(
      adviceOf({ ...lease, visibilityMs: 4000, heartbeatMs: 2000 }, runs(60_000)).hint?.why,
      "beats nearly always"
    )
    assert.deepStrictEqual(adviceOf(lease, []), { visibilityMs: 30_000, heartbeatMs: 15_000, runs: 0 })
  })
})
