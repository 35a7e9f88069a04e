import type { Sqs } from "@effect-sqs/core"
import { SqsError } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import * as fc from "fast-check"
import {
  type Send,
  LINGER_MS,
  CALL_TIMEOUT_MS,
  done,
  fields,
  throttled,
  failed,
  allDone,
  bench,
  check,
  numbers
} from "./settlerBench.js"

/** ten thousand take 2 s, on a machine that is busy with other things many times that */
const SLOW_MACHINE_MS = 180_000

const refused = new SqsError.RefusedInput(fields)

/** What the port answers, drawn for each call and entry: mostly fine. */
const draw = (send: (entry: number) => Sqs.EntryResult, trouble: number): Send =>
  Effect.fnUntraced(function* (entries) {
    yield* Effect.sleep(yield* Random.nextIntBetween(0, 300))
    const dice = yield* Random.next
    if (dice < trouble / 4) return yield* Effect.fail(throttled)
    if (dice < trouble / 3) return yield* Effect.never
    if (dice < trouble / 2) return yield* Effect.die("broken port")
    const short = dice < trouble ? entries.length - 1 : entries.length
    const results: Array<Sqs.EntryResult> = []
    for (const entry of entries.slice(0, short)) {
      const one = yield* Random.next
      results.push(one < trouble / 2 ? failed(throttled) : one < trouble ? failed(refused) : send(entry))
    }
    return results
  })

describe("what fails", () => {
  it.effect("B1 two of ten, not by our fault: only those two are sent again, together, after a pause", () => {
    const bad = [3, 7]
    const send: Send = (entries, call) =>
      Effect.succeed(entries.map((n) => (call === 1 && bad.includes(n) ? failed(throttled) : done)))
    return bench({ send }, (b) =>
      Effect.gen(function* () {
        for (const n of numbers(10)) b.add(n)
        yield* Effect.sleep(1_000)
        assert.deepStrictEqual(
          b.calls.map((c) => c.entries),
          [numbers(10), bad]
        )
        const pause = b.calls[1]!.at - LINGER_MS
        assert.isAtLeast(pause, 50)
        assert.isAtMost(pause, 100)
        for (const n of numbers(10)) assert.strictEqual(b.answers.get(n)!.at, bad.includes(n) ? b.calls[1]!.at : 0)
      })
    )
  })

  it.effect("B2 by our fault: answered at once, not sent again", () =>
    bench({ send: (entries) => Effect.succeed(entries.map((n) => (n === 2 ? failed(refused) : done))) }, (b) =>
      Effect.gen(function* () {
        for (const n of [1, 2, 3]) b.add(n)
        yield* Effect.sleep(60_000)
        assert.strictEqual(b.calls.length, 1)
        assert.deepStrictEqual(
          [1, 2, 3].map((n) => b.answers.get(n)!.result),
          [done, failed(refused), done]
        )
      })
    )
  )

  it.effect("B11 nine fine, one failed: each caller has its own answer", () =>
    bench({ send: (entries) => Effect.succeed(entries.map((n) => (n === 4 ? failed(throttled) : done))) }, (b) =>
      Effect.gen(function* () {
        for (const n of numbers(10)) b.add(n, { retried: false })
        yield* Effect.sleep(10)
        for (const n of numbers(10)) {
          assert.deepStrictEqual(b.answers.get(n), { at: 0, sentAt: 0, result: n === 4 ? failed(throttled) : done })
        }
      })
    )
  )

  it.effect("B3 a whole call, a defect, an answer that never comes, one that lacks entries: sent again", () => {
    const troubles: ReadonlyArray<Send> = [
      () => Effect.fail(throttled),
      () => Effect.die(new Error("broken port")),
      () => {
        throw new Error("at once")
      },
      () => Effect.never,
      () => Effect.succeed([done])
    ]
    const send: Send = (entries, call) => (troubles[call - 1] ?? allDone)(entries, call)
    return bench({ send }, (b) =>
      Effect.gen(function* () {
        b.add(1)
        b.add(2)
        yield* Effect.sleep(20_000)
        assert.deepStrictEqual(
          b.calls.map((c) => c.entries),
          [[1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [2]]
        )
        assert.deepStrictEqual(b.answers.get(1)!.result, done)
        assert.deepStrictEqual(b.answers.get(2)!.result, done)
        assert.isBelow(b.answers.get(1)!.at, b.answers.get(2)!.at)
      })
    )
  })

  it.effect("tells the last error, as a value of ours, when it gives up", () =>
    bench({ send: () => Effect.die(new Error("broken port")) }, (b) =>
      Effect.gen(function* () {
        b.add(1, { until: 400 })
        b.add(2, { retried: false })
        yield* Effect.sleep(5_000)
        for (const n of [1, 2]) {
          const { result } = b.answers.get(n)!
          assert.deepInclude(result?._tag === "Failed" ? result.error : undefined, {
            _tag: "ServiceError",
            code: "Defect",
            detail: "Error: broken port"
          })
        }
      })
    )
  )

  it.effect("an answer that never comes is a NetworkError after the call's own time", () =>
    bench({ send: () => Effect.never }, (b) =>
      Effect.gen(function* () {
        b.add(1, { retried: false })
        yield* Effect.sleep(5_000)
        const { at, result } = b.answers.get(1)!
        // after a last look whether it is there
        assert.strictEqual(at, LINGER_MS + CALL_TIMEOUT_MS + 1)
        assert.deepInclude(result?._tag === "Failed" ? result.error : undefined, {
          _tag: "NetworkError",
          code: "TimeoutError"
        })
      })
    )
  )

  it.effect("is sent ever more slowly, at most five seconds apart, and not once its time is over", () =>
    bench({ send: () => Effect.fail(throttled) }, (b) =>
      Effect.gen(function* () {
        b.add(1, { until: 60_000 })
        yield* Effect.sleep(120_000)
        const pauses = b.calls.slice(1).map((c, i) => c.at - b.calls[i]!.at)
        pauses.forEach((pause, i) => {
          const longest = Math.min(5_000, 100 * 2 ** i)
          assert.isAtLeast(pause, longest / 2)
          assert.isAtMost(pause, longest + LINGER_MS)
        })
        assert.isAbove(Math.max(...pauses), 2_500)
        assert.isBelow(b.calls.at(-1)!.at, 60_000)
        assert.deepStrictEqual(b.answers.get(1)!.result, failed(throttled))
        assert.isBelow(b.answers.get(1)!.at, 60_000)
      })
    )
  )

  it.effect("once more before its time is over, though the linger is longer", () =>
    bench({ send: (entries, call) => (call === 1 ? Effect.fail(throttled) : allDone(entries, call)) }, (b) =>
      Effect.gen(function* () {
        b.add(1, { sendBy: 0, until: 110 })
        yield* Effect.sleep(1_000)
        assert.strictEqual(b.calls.length, 2)
        assert.isBelow(b.calls[1]!.at, 110)
        assert.deepStrictEqual(b.answers.get(1)!.result, done)
      })
    )
  )
})

describe("many at random times", () => {
  const run = (o: {
    readonly n: number
    readonly seed: number
    readonly trouble: number
    readonly spreadMs: number
  }) => {
    const taken = new Set<number>()
    const send = draw((entry) => {
      check(!taken.has(entry), "what SQS took is not sent again")
      taken.add(entry)
      return done
    }, o.trouble)
    return bench({ send, late: "drop", seed: o.seed }, (b) =>
      Effect.gen(function* () {
        const added = new Map<number, { readonly at: number; readonly until: number }>()
        const one = (n: number) =>
          Effect.gen(function* () {
            yield* Effect.sleep(yield* Random.nextIntBetween(0, o.spreadMs))
            const at = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
            const until = yield* Random.nextIntBetween(1, 30_000)
            b.idle = yield* Random.nextBoolean
            added.set(n, { at, until: at + until })
            b.add(n, { sendBy: until / 2, until })
          })
        yield* Effect.forEach(numbers(o.n), one, { concurrency: "unbounded", discard: true })
        yield* Effect.sleep("2 minutes")

        assert.strictEqual(b.answers.size, o.n, "each caller is answered")
        const doneAnswers = numbers(o.n).filter((n) => b.answers.get(n)!.result?._tag === "Done")
        assert.strictEqual(doneAnswers.length, taken.size)
        assert.isTrue(
          doneAnswers.every((n) => taken.has(n)),
          "an answer is what SQS said"
        )
        const times = new Map<number, number>()
        for (const call of b.calls) {
          check(call.entries.length >= 1 && call.entries.length <= 10, "one to ten entries")
          for (const n of call.entries) {
            const { at, until } = added.get(n)!
            check(call.at < until, "nothing after the end of its lease")
            check(times.has(n) || call.at <= Math.min(at + LINGER_MS, (at + until) / 2), "it leaves in time")
            times.set(n, (times.get(n) ?? 0) + 1)
          }
        }
        return { calls: b.calls, taken, times }
      })
    )
  }

  it.effect(
    "B9 10,000 settlements: what goes in comes out, exactly once each",
    () =>
      Effect.gen(function* () {
        const { calls, taken, times } = yield* run({ n: 10_000, seed: 1, trouble: 0, spreadMs: 60_000 })
        assert.strictEqual(taken.size, 10_000)
        assert.strictEqual(calls.flatMap((c) => c.entries).length, 10_000)
        assert.isTrue([...times.values()].every((n) => n === 1))
      }),
    SLOW_MACHINE_MS
  )

  it.effect("B9 3,000 settlements on a port full of faults: each caller has its own answer", () =>
    Effect.gen(function* () {
      const { taken, times } = yield* run({ n: 3_000, seed: 2, trouble: 0.3, spreadMs: 20_000 })
      assert.isAbove(taken.size, 1_800)
      assert.isAbove(Math.max(...times.values()), 3)
    })
  )

  it("the same, for any load", () =>
    fc.assert(
      fc.asyncProperty(
        fc.record({
          n: fc.integer({ min: 1, max: 120 }),
          seed: fc.nat(),
          trouble: fc.double({ min: 0, max: 1, noNaN: true }),
          spreadMs: fc.integer({ min: 1, max: 5_000 })
        }),
        (o) => Effect.runPromise(Effect.asVoid(run(o)))
      ),
      { numRuns: 60 }
    ))
})
