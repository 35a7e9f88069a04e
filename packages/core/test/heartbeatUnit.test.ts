/** The fiber of one lease, alone. */
import { Heartbeat, type Lease, type Settlement, type Sqs, SqsError } from "@effect-sqs/core"
import { SimClock } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect } from "effect"

const settings: Lease.LeaseSettings = {
  visibilityMs: 30_000,
  heartbeatMs: 15_000,
  extendByMs: 30_000,
  lingerMs: 0,
  limitMs: 43_190_000
}

const lease: Lease.Lease = {
  receivedAt: 0,
  deadline: 30_000,
  guardMs: 1_000,
  nextBeatAt: 15_000,
  limitAt: 43_190_000,
  capAt: 43_190_000
}

const done: Sqs.EntryResult = { _tag: "Done", value: undefined }
const failed = (error: SqsError.SqsError): Sqs.EntryResult => ({ _tag: "Failed", error })
const facts = { operation: "ChangeMessageVisibilityBatch", queue: "jobs", code: "X", detail: "by the test" } as const

interface Seen {
  readonly asks: ReadonlyArray<{ readonly at: number; readonly seconds: number; readonly patienceMs: number }>
  readonly failures: number
  readonly lost: { readonly at: number; readonly reason: Settlement.LeaseLossReason } | undefined
}

/** Beats on this lease for so long; `answer` is called for each beat, and may change the lease. */
const beat = (
  start: Lease.Lease,
  answer: (n: number, change: (lease: Lease.Lease) => void) => Sqs.EntryResult | undefined,
  ms: number,
  withClock: (clock: Clock.Clock) => Clock.Clock = (clock) => clock
): Effect.Effect<Seen, SimClock.SimStuck> =>
  SimClock.run(
    Effect.gen(function* () {
      const clock = yield* Effect.clock
      const now = () => clock.unsafeCurrentTimeMillis()
      const asks: Array<Seen["asks"][number]> = []
      let present = start
      let failures = 0
      let lost: Seen["lost"]
      const heart: Heartbeat.Heart = {
        settings,
        now,
        lease: () => present,
        ask: (seconds, patienceMs) =>
          Effect.sync(() => {
            asks.push({ at: now(), seconds, patienceMs })
            return answer(asks.length, (next) => (present = next))
          }),
        failed: () => void failures++,
        lost: (reason) => void (lost = { at: now(), reason })
      }
      yield* Effect.fork(Effect.withClock(Heartbeat.make(heart), withClock(clock)))
      yield* Effect.sleep(ms)
      return { asks, failures, lost }
    }),
    { start: 0, tasksPerInstant: 10_000 }
  )

describe("a heartbeat", () => {
  it.effect("at the cap asks nothing, and ends at the lease's end with the limit", () =>
    Effect.gen(function* () {
      // a beat now could not gain a second
      const seen = yield* beat({ ...lease, capAt: 30_000 }, () => done, 60_000)
      assert.deepStrictEqual(seen, { asks: [], failures: 0, lost: { at: 29_000, reason: "limit" } })
    })
  )

  it.effect("SQS says that the 12 hours are over: lost with that at once, and never asked again", () =>
    Effect.gen(function* () {
      const seen = yield* beat(lease, () => failed(new SqsError.VisibilityLimit(facts)), 60_000)
      assert.deepStrictEqual(
        seen.asks.map((a) => [a.at, a.seconds]),
        [[15_000, 30]]
      )
      assert.deepStrictEqual([seen.failures, seen.lost], [0, { at: 15_000, reason: "limit" }])
    })
  )

  for (const Refusal of [SqsError.MessageGone, SqsError.HandleInvalid, SqsError.QueueMissing]) {
    it.effect(`${Refusal.name}: refused, at once`, () =>
      Effect.gen(function* () {
        const seen = yield* beat(lease, () => failed(new Refusal(facts)), 60_000)
        assert.strictEqual(seen.asks.length, 1)
        assert.deepStrictEqual(seen.lost, { at: 15_000, reason: "refused" })
      })
    )
  }

  it.effect("failures are tried again ever more slowly, to the end", () =>
    Effect.gen(function* () {
      const seen = yield* beat(lease, () => failed(new SqsError.Throttled(facts)), 60_000)
      assert.deepStrictEqual(seen.lost, { at: 29_000, reason: "ran out" })
      assert.strictEqual(seen.failures, seen.asks.length)
      assert.isAtMost(seen.asks.length, 12)
      const pauses = seen.asks.slice(1).map((a, i) => a.at - seen.asks[i]!.at)
      // each between half and the whole of its step
      pauses.forEach((ms, i) => {
        const step = Math.min(15_000 / 4, 200 * 2 ** i)
        assert.isAtLeast(ms, step / 2)
        assert.isAtMost(ms, step + 1)
      })
    })
  )

  it.effect("an answer that no lease follows from is looked at again, and does not spin", () =>
    Effect.gen(function* () {
      const seen = yield* beat(
        lease,
        (n, change) => {
          // moved on by hand, while the beat was to be asked
          if (n === 1) change({ ...lease, deadline: 60_000, nextBeatAt: 45_000 })
          else change({ ...lease, deadline: 75_000, nextBeatAt: 60_000 })
          return n === 1 ? undefined : done
        },
        50_000
      )
      assert.deepStrictEqual(
        seen.asks.map((a) => a.at),
        [15_000, 45_000]
      )
    })
  )

  it.effect("waits whole milliseconds: a rest below the clock's grain would end at once, again and again", () =>
    Effect.gen(function* () {
      // as the real one does: it cuts what is below a millisecond
      const coarse = (clock: Clock.Clock): Clock.Clock => ({
        ...clock,
        [Clock.ClockTypeId]: clock[Clock.ClockTypeId],
        unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis(),
        unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
        currentTimeMillis: clock.currentTimeMillis,
        currentTimeNanos: clock.currentTimeNanos,
        sleep: (duration) => clock.sleep(Duration.millis(Math.floor(Duration.toMillis(duration))))
      })
      const odd = { ...lease, deadline: 30_000.7, nextBeatAt: 15_000.3 }
      const seen = yield* beat(odd, () => failed(new SqsError.Throttled(facts)), 60_000, coarse)
      assert.strictEqual(seen.asks[0]!.at, 15_001)
      for (const { patienceMs } of seen.asks) assert.isTrue(Number.isInteger(patienceMs) && patienceMs > 0)
      assert.strictEqual(seen.lost?.at, 29_001)
      const capped = yield* beat({ ...odd, capAt: 30_000 }, () => done, 60_000, coarse)
      assert.deepStrictEqual(capped.lost, { at: 29_001, reason: "limit" })
    })
  )
})
