import { SimClock } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { LINGER_MS, done, throttled, failed, allDone, bench, numbers } from "./settlerBench.js"

describe("when a batch leaves", () => {
  it.effect("a patient entry waits for others beyond the linger, and leaves with one that does not", () =>
    bench({}, (b) =>
      Effect.gen(function* () {
        b.add(1, { patient: true, sendBy: 1_000 })
        yield* Effect.sleep(400)
        assert.deepStrictEqual(b.calls, [])
        b.add(2)
        yield* Effect.sleep(LINGER_MS)
        assert.deepStrictEqual(b.calls, [{ at: 400 + LINGER_MS, entries: [1, 2] }])
        b.add(3, { patient: true, sendBy: 1_000 })
        yield* Effect.sleep(2_000)
        assert.deepStrictEqual(b.calls[1], { at: 1_400 + LINGER_MS, entries: [3] })
      })
    )
  )

  it.effect("when ten are together, at once", () =>
    bench({}, (b) =>
      Effect.gen(function* () {
        for (const n of numbers(23)) b.add(n)
        yield* Effect.sleep(1)
        assert.deepStrictEqual(b.calls, [
          { at: 0, entries: numbers(10) },
          { at: 0, entries: numbers(20).slice(10) }
        ])
        yield* Effect.sleep(LINGER_MS)
        assert.deepStrictEqual(b.calls[2], { at: LINGER_MS, entries: [20, 21, 22] })
      })
    )
  )

  it.effect("B6 when its oldest entry has lingered, full or not", () =>
    bench({}, (b) =>
      Effect.gen(function* () {
        b.add(1)
        yield* Effect.sleep(30)
        b.add(2)
        yield* Effect.sleep(60_000)
        b.add(3)
        yield* Effect.sleep(60_000)
        assert.deepStrictEqual(b.calls, [
          { at: 50, entries: [1, 2] },
          { at: 60_080, entries: [3] }
        ])
      })
    )
  )

  it.effect("before a lease in it ends", () =>
    bench({}, (b) =>
      Effect.gen(function* () {
        b.add(1)
        b.add(2, { sendBy: 20 })
        b.add(3, { sendBy: 40 })
        yield* Effect.sleep(100)
        b.add(4, { sendBy: -5 })
        yield* Effect.sleep(100)
        assert.deepStrictEqual(b.calls, [
          { at: 20, entries: [1, 2, 3] },
          { at: 100, entries: [4] }
        ])
      })
    )
  )

  it.effect("when nothing else runs, at once, with what came in the same breath", () =>
    bench({}, (b) =>
      Effect.gen(function* () {
        b.idle = true
        b.add(1)
        b.add(2)
        yield* Effect.sleep(10)
        b.add(3)
        yield* Effect.sleep(10)
        assert.deepStrictEqual(b.calls, [
          { at: 0, entries: [1, 2] },
          { at: 10, entries: [3] }
        ])
      })
    )
  )

  it.effect("B7 when the consumer stops, and from then on nothing lingers", () =>
    bench({}, (b) =>
      Effect.gen(function* () {
        for (const n of [1, 2, 3]) b.add(n)
        yield* Effect.sleep(10)
        b.batcher.hurry()
        yield* Effect.sleep(10)
        b.add(4)
        yield* Effect.sleep(10)
        assert.deepStrictEqual(b.calls, [
          { at: 10, entries: [1, 2, 3] },
          { at: 20, entries: [4] }
        ])
      })
    )
  )

  it.effect("B8 with nothing in it, never", () =>
    bench({}, (b) =>
      Effect.gen(function* () {
        b.batcher.flush()
        const takeBack = b.add(1)
        assert.isTrue(takeBack())
        assert.isFalse(takeBack())
        yield* Effect.sleep(1_000)
        b.batcher.hurry()
        yield* Effect.sleep(1_000)
        assert.deepStrictEqual(b.calls, [])
        assert.strictEqual(b.answers.size, 0)
      })
    )
  )

  it.effect("what is on the wire cannot be taken back", () =>
    bench({ send: (entries) => Effect.delay(allDone(entries, 1), 500) }, (b) =>
      Effect.gen(function* () {
        const takeBack = b.add(1)
        yield* Effect.sleep(100)
        assert.isFalse(takeBack())
        yield* Effect.sleep(1_000)
        assert.deepStrictEqual(b.answers.get(1), { at: 550, sentAt: 50, result: done })
      })
    )
  )
})

describe("a process that stalls", () => {
  const stalled = (late: "send" | "drop") =>
    bench({ late }, (b) =>
      Effect.gen(function* () {
        b.add(1, { until: 1_000 })
        b.add(2, { until: 90_000 })
        yield* SimClock.stall("30 seconds")
        yield* Effect.sleep(10)
        return { calls: b.calls.map((c) => c.entries), result: b.answers.get(1)?.result }
      })
    )

  it.effect("drops what was never sent and is too late, and says so", () =>
    Effect.map(stalled("drop"), (seen) => assert.deepStrictEqual(seen, { calls: [[2]], result: undefined }))
  )

  it.effect("or sends it all the same, where that does no harm", () =>
    Effect.map(stalled("send"), (seen) => assert.deepStrictEqual(seen, { calls: [[1, 2]], result: done }))
  )

  it.effect("does not send again what is too late, and gives its last failure", () =>
    bench({ late: "send", send: () => Effect.fail(throttled) }, (b) =>
      Effect.gen(function* () {
        b.add(1, { until: 1_000 })
        yield* Effect.sleep(60)
        yield* SimClock.stall("30 seconds")
        yield* Effect.sleep(1_000)
        assert.strictEqual(b.calls.length, 1)
        assert.deepStrictEqual(b.answers.get(1)!.result, failed(throttled))
      })
    )
  )

  it.effect("hears the answer that came meanwhile, though the call's own time is over", () =>
    // in steps, as an answer takes several turns from the socket to its caller
    bench({ send: (entries) => Effect.zipRight(Effect.sleep(900), Effect.delay(allDone(entries, 1), 0)) }, (b) =>
      Effect.gen(function* () {
        b.add(1)
        yield* Effect.sleep(60)
        yield* SimClock.stall("30 seconds")
        yield* Effect.sleep(10)
        assert.strictEqual(b.calls.length, 1)
        assert.deepStrictEqual(b.answers.get(1)!.result, done)
      })
    )
  )
})
