import { Lease } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import * as fc from "fast-check"

const HOUR_MS = 3_600_000
const SQS_CAP_MS = 43_200_000

const settings = (o: Partial<Lease.LeaseSettings> = {}): Lease.LeaseSettings => {
  const visibilityMs = o.visibilityMs ?? 30_000
  return {
    visibilityMs,
    heartbeatMs: visibilityMs / 2,
    extendByMs: visibilityMs,
    limitMs: Duration.toMillis(Lease.MAX_LIMIT),
    lingerMs: 50,
    ...o
  }
}

/** Settings as options can be: whole ms, a heartbeat that leaves time for a beat. */
const anySettings = fc
  .record({
    visibilityMs: fc.integer({ min: 1_000, max: SQS_CAP_MS }),
    extendByMs: fc.integer({ min: 1_000, max: SQS_CAP_MS }),
    limitMs: fc.integer({ min: 1_000, max: SQS_CAP_MS - 10_000 }),
    lingerMs: fc.integer({ min: 0, max: 5_000 }),
    part: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined })
  })
  .map(({ part, ...o }): Lease.LeaseSettings => {
    const shortestMs = Math.min(o.visibilityMs, o.extendByMs)
    const most = Math.ceil(shortestMs - Math.min(1_000, shortestMs / 20)) - 1
    return { ...o, heartbeatMs: part === undefined ? undefined : Math.round(500 + part * (most - 500)) }
  })

describe("start", () => {
  it("a limit of a second is not used up by the margin of a long poll", () => {
    const lease = Lease.start(settings({ limitMs: 1_000 }), 0, 20_000)
    assert.strictEqual(lease.receivedAt, 19_000)
    assert.strictEqual(Lease.interruptAt(lease), 20_900)
  })

  it("counts from the call when the answer came at once, else from a second before it arrived", () => {
    assert.strictEqual(Lease.start(settings(), 1_000, 1_400).receivedAt, 1_000)
    assert.strictEqual(Lease.start(settings(), 1_000, 15_000).receivedAt, 14_000)
  })

  it("takes a tenth of a short visibility instead of the second", () => {
    assert.strictEqual(Lease.start(settings({ visibilityMs: 2_000 }), 0, 15_000).receivedAt, 14_800)
  })

  it("has deadline, first beat, limit and cap, all from the receive", () => {
    const lease = Lease.start(settings({ limitMs: HOUR_MS }), 5_000, 5_000)
    assert.deepStrictEqual(lease, {
      receivedAt: 5_000,
      deadline: 35_000,
      guardMs: 1_000,
      nextBeatAt: 20_000,
      limitAt: 5_000 + HOUR_MS,
      capAt: 5_000 + SQS_CAP_MS - 10_000
    })
  })

  it("has no beat without a heartbeat", () => {
    assert.strictEqual(Lease.start(settings({ heartbeatMs: undefined }), 0, 0).nextBeatAt, Infinity)
  })

  it("has its first beat after the heartbeat, whatever a beat asks", () => {
    assert.strictEqual(Lease.start(settings({ heartbeatMs: 10_000, extendByMs: 600_000 }), 0, 0).nextBeatAt, 10_000)
  })

  it("has its first beat later when the slot is longer than what a beat asks: a beat must gain something", () => {
    const long = settings({ visibilityMs: 120_000, heartbeatMs: 30_000, extendByMs: 40_000 })
    assert.strictEqual(Lease.start(long, 0, 0).nextBeatAt, 110_000)
  })

  it("has no beat in a slot of 12 hours: there is nothing to be had", () => {
    assert.strictEqual(Lease.start(settings({ visibilityMs: SQS_CAP_MS }), 0, 0).nextBeatAt, Infinity)
  })
})

describe("extended", () => {
  const lease = Lease.start(settings(), 0, 0)

  it("counts from the call, never adds to what was left", () => {
    assert.deepInclude(Lease.extended(lease, settings(), 15_000, 30), { deadline: 45_000, nextBeatAt: 30_000 })
  })

  it("keeps the interval of the heartbeat, short or long", () => {
    for (const heartbeatMs of [5_000, 10_000, 15_000, 29_000]) {
      const s = settings({ heartbeatMs })
      const next = Lease.extended(Lease.start(s, 0, 0), s, heartbeatMs, 30)
      assert.deepInclude(next, { deadline: heartbeatMs + 30_000, nextBeatAt: 2 * heartbeatMs })
    }
  })

  it("by hand for longer: the next beat comes at the usual lead before the deadline", () => {
    assert.deepInclude(Lease.extended(lease, settings(), 10_000, 600), { deadline: 610_000, nextBeatAt: 595_000 })
  })

  it("by hand for less: the next beat comes after half of it, or after the heartbeat", () => {
    assert.deepInclude(Lease.extended(lease, settings(), 10_000, 8), { deadline: 18_000, nextBeatAt: 14_000 })
    const early = settings({ heartbeatMs: 5_000 })
    assert.deepInclude(Lease.extended(lease, early, 10_000, 20), { deadline: 30_000, nextBeatAt: 15_000 })
  })

  it("without a heartbeat it has no beat", () => {
    const s = settings({ heartbeatMs: undefined })
    assert.deepInclude(Lease.extended(Lease.start(s, 0, 0), s, 10_000, 600), {
      deadline: 610_000,
      nextBeatAt: Infinity
    })
  })

  it("at the cap it has no next beat", () => {
    const at = lease.capAt - 15_000
    const last = Lease.extended(lease, settings(), at, Lease.beatSeconds({ ...lease, deadline: at }, settings(), at))
    assert.deepInclude(last, { deadline: lease.capAt, nextBeatAt: Infinity })
  })
})

describe("what may be asked", () => {
  const lease = Lease.start(settings(), 0, 0)

  it("whole seconds, rounded up", () => {
    assert.strictEqual(Lease.askSeconds(lease, 0, 1_500), 2)
    assert.strictEqual(Lease.askSeconds(lease, 0, 0), 0)
  })

  it("at most what is left of the 12 hours less the margin, rounded down; never less than nothing", () => {
    assert.strictEqual(Lease.askSeconds(lease, 0, Infinity), 43_190)
    assert.strictEqual(Lease.askSeconds(lease, lease.capAt - 2_500, 30_000), 2)
    assert.strictEqual(Lease.askSeconds(lease, lease.capAt + 5_000, 30_000), 0)
  })

  it("a beat asks extendBy, or what is left when that is more", () => {
    assert.strictEqual(Lease.beatSeconds(lease, settings({ extendByMs: 60_000 }), 10_000), 60)
    const long = { ...lease, deadline: 600_500 }
    assert.strictEqual(Lease.beatSeconds(long, settings(), 10_000), 591)
  })

  it("a beat that can gain nothing asks nothing", () => {
    const atCap = { ...lease, deadline: lease.capAt - 400 }
    assert.strictEqual(Lease.beatSeconds(atCap, settings(), lease.capAt - 3_500), 0)
    assert.strictEqual(Lease.beatSeconds(atCap, settings(), lease.capAt - 3_000), 3)
  })

  it("a beat gets ready a linger before its time, at most a tenth of the heartbeat", () => {
    assert.strictEqual(Lease.beatDueAt(lease, settings()), 14_950)
    assert.strictEqual(Lease.beatDueAt(lease, settings({ lingerMs: 5_000 })), 13_500)
    assert.strictEqual(Lease.beatDueAt(lease, settings({ heartbeatMs: undefined })), 15_000)
  })
})

describe("the end of a lease", () => {
  it("a guard before the deadline: a second, or a twentieth of a short slot", () => {
    const interruptAt = (visibilityMs: number) => Lease.interruptAt(Lease.start(settings({ visibilityMs }), 0, 0))
    assert.strictEqual(interruptAt(30_000), 29_000)
    assert.strictEqual(interruptAt(4_000), 3_800)
  })

  it("also of a slot that was extended by hand for less, or for more", () => {
    const s = settings({ visibilityMs: 4_000 })
    const lease = Lease.start(s, 0, 0)
    assert.strictEqual(Lease.interruptAt(Lease.extended(lease, s, 2_000, 1)), 2_950)
    assert.strictEqual(Lease.interruptAt(Lease.extended(lease, s, 2_000, 60)), 61_800)
    const unbeaten = settings({ visibilityMs: 4_000, heartbeatMs: undefined })
    assert.strictEqual(Lease.interruptAt(Lease.extended(lease, unbeaten, 2_000, 60)), 61_000)
  })

  it("never before the next beat, which comes as long before any deadline as heartbeat and extension say", () => {
    const s = settings({ visibilityMs: 60_000, heartbeatMs: 1_500, extendByMs: 2_000 })
    const lease = Lease.start(s, 0, 0)
    assert.deepStrictEqual([lease.nextBeatAt, Lease.interruptAt(lease)], [59_500, 59_900])
    const byHand = Lease.extended(lease, s, 10_000, 30)
    assert.deepStrictEqual([byHand.nextBeatAt, Lease.interruptAt(byHand)], [39_500, 39_900])
  })

  it("at the user's limit, when that comes first", () => {
    assert.strictEqual(Lease.interruptAt(Lease.start(settings({ limitMs: 20_000 }), 0, 0)), 20_000)
  })

  it("what remains is never less than nothing", () => {
    const lease = Lease.start(settings(), 0, 0)
    assert.strictEqual(Lease.remainingMs(lease, 10_000), 20_000)
    assert.strictEqual(Lease.remainingMs(lease, 30_001), 0)
  })
})

describe("properties", () => {
  /** SQS hands out between the call and the answer, at most the margin before the answer. */
  const anyReceive = fc.record({
    callStart: fc.integer({ min: 0, max: 10 ** 12 }),
    tookMs: fc.integer({ min: 0, max: 30_000 }),
    part: fc.double({ min: 0, max: 1, noNaN: true })
  })

  it("a receive: the lease is never believed to last longer than SQS hides the message", () => {
    fc.assert(
      fc.property(anySettings, anyReceive, (s, { callStart, part, tookMs }) => {
        const arrival = callStart + tookMs
        const margin = Math.min(1_000, s.visibilityMs / 10, tookMs)
        const handedOut = arrival - part * margin
        const lease = Lease.start(s, callStart, arrival)
        assert.isAtMost(lease.deadline, handedOut + s.visibilityMs)
        assert.isAtMost(lease.capAt + 10_000, handedOut + SQS_CAP_MS)
        assert.isAtLeast(lease.receivedAt, callStart)
      })
    )
  })

  /** A life of beats and extensions by hand, each sent when it is due or later, each call travelling for a while. */
  const anySteps = fc.array(
    fc.record({
      byHandMs: fc.option(fc.integer({ min: 1_000, max: 50_000_000 }), { nil: undefined }),
      lateMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20_000 })),
      travelMs: fc.integer({ min: 0, max: 8_000 })
    }),
    { maxLength: 60 }
  )

  it("a life: nothing beyond the 12 hours, no beat shortens, no deadline is believed later than SQS's own", () => {
    fc.assert(
      fc.property(anySettings, anySteps, fc.integer({ min: 0, max: 10 ** 12 }), (s, steps, receivedAt) => {
        let lease = Lease.start(s, receivedAt, receivedAt)
        let hiddenUntil = lease.deadline
        let now = receivedAt
        for (const step of steps) {
          const isBeat = step.byHandMs === undefined
          now = isBeat ? Math.max(now, Lease.beatDueAt(lease, s)) + step.lateMs : now + step.lateMs
          // an ended lease is not extended
          if (now >= lease.deadline) return
          const seconds = isBeat
            ? Lease.beatSeconds(lease, s, now)
            : Lease.askSeconds(lease, now, Math.max(1_000, step.byHandMs!))
          if (seconds === 0) continue
          const arrived = now + step.travelMs
          assert.isAtMost(arrived + seconds * 1_000, receivedAt + SQS_CAP_MS)
          const next = Lease.extended(lease, s, now, seconds)
          if (isBeat) assert.isAbove(next.deadline, lease.deadline)
          hiddenUntil = arrived + seconds * 1_000
          assert.isAtMost(next.deadline, hiddenUntil)
          assert.deepInclude(next, { receivedAt: lease.receivedAt, capAt: lease.capAt, limitAt: lease.limitAt })
          lease = next
          now = arrived
        }
      }),
      { numRuns: 500 }
    )
  })

  it("the next beat always lies before the end, whatever was granted, and gains something", () => {
    fc.assert(
      fc.property(anySettings, fc.integer({ min: 1, max: 43_190 }), (s, seconds) => {
        for (const lease of [Lease.start(s, 0, 0), Lease.extended(Lease.start(s, 0, 0), s, 0, seconds)]) {
          if (s.heartbeatMs === undefined) assert.strictEqual(lease.nextBeatAt, Infinity)
          if (lease.nextBeatAt === Infinity) continue
          assert.isBelow(lease.nextBeatAt, lease.deadline - lease.guardMs)
          assert.isAbove(Lease.beatSeconds(lease, s, lease.nextBeatAt), 0)
          assert.isAtLeast(Lease.beatDueAt(lease, s), lease.nextBeatAt - s.heartbeatMs! / 10)
          assert.isAtMost(Lease.beatDueAt(lease, s), lease.nextBeatAt)
        }
      })
    )
  })

  it("a lease that is beaten in time ends at the 12 hours, by as many beats as the interval says", () => {
    const life = fc.record({
      visibilityMs: fc.integer({ min: 20_000, max: 3_600_000 }),
      part: fc.double({ min: 0.1, max: 0.9, noNaN: true })
    })
    fc.assert(
      fc.property(life, ({ part, visibilityMs }) => {
        const heartbeatMs = Math.round(visibilityMs * part)
        const s = settings({ visibilityMs, heartbeatMs, extendByMs: visibilityMs })
        let lease = Lease.start(s, 0, 0)
        let beats = 0
        while (lease.nextBeatAt < Infinity) {
          const now = lease.nextBeatAt
          lease = Lease.extended(lease, s, now, Lease.beatSeconds(lease, s, now))
          beats++
        }
        assert.isAtMost(lease.deadline, lease.capAt)
        assert.isAbove(lease.deadline, lease.capAt - 1_000 - heartbeatMs)
        assert.isAtMost(beats, lease.capAt / heartbeatMs + 20)
      }),
      { numRuns: 50 }
    )
  })
})

describe("riskWindow", () => {
  const seconds = (run: Duration.DurationInput, visibility: Duration.DurationInput) =>
    Duration.toSeconds(Lease.riskWindow(run, visibility))

  it("is what a run without heartbeat outlives its slot by", () => {
    assert.strictEqual(seconds("90 seconds", "30 seconds"), 60)
    assert.strictEqual(seconds("45 seconds", "30 seconds"), 15)
    assert.strictEqual(seconds("30 seconds", "30 seconds"), 0)
    assert.strictEqual(seconds("20 seconds", "30 seconds"), 0)
  })
})

describe("advise", () => {
  const anyRuns = fc
    .oneof(...[8_000, 60_000, HOUR_MS, 14 * HOUR_MS].map((max) => fc.constant(max)))
    .chain((max) => fc.array(fc.integer({ min: 1, max }), { minLength: 1, maxLength: 50 }))
  const toMs = (d: Duration.Duration | undefined) => (d === undefined ? undefined : Duration.toMillis(d))

  it("has nothing to say without runs", () => {
    assert.isUndefined(Lease.advise([]))
  })

  it("short jobs: a slot of twice the p99, with a heartbeat that they never reach", () => {
    const advice = Lease.advise(["4 seconds", "9 seconds", "12 seconds"])!
    assert.deepInclude(advice, { runs: 3, p50: Duration.seconds(9), p99: Duration.seconds(12) })
    assert.deepStrictEqual(advice.take, {
      visibility: Duration.seconds(30),
      heartbeat: Duration.seconds(15),
      atRisk: 0,
      recovery: Duration.seconds(30),
      beatsPerMessage: 0
    })
  })

  it("long jobs: two minutes, extended every minute, and what a plain slot would cost instead", () => {
    const advice = Lease.advise(["1 minute", "30 minutes"])!
    assert.deepInclude(advice.take, {
      visibility: Duration.minutes(2),
      heartbeat: Duration.minutes(1),
      atRisk: 0,
      beatsPerMessage: 14.5
    })
    const plain = advice.others.filter((c) => c.heartbeat === undefined)
    assert.deepStrictEqual(
      plain.map((c) => [toMs(c.visibility), c.atRisk, toMs(c.recovery)]),
      [
        [120_000, 0.5, 120_000],
        [HOUR_MS, 0, HOUR_MS]
      ]
    )
  })

  it("a run beyond the 12 hours is at risk whatever is chosen", () => {
    const advice = Lease.advise(["13 hours", "1 hour"])!
    for (const choice of [advice.take, ...advice.others]) assert.isAtLeast(choice.atRisk, 0.5)
  })

  it("every choice can be configured, none is named twice, and more beats never mean more risk", () => {
    fc.assert(
      fc.property(anyRuns, (runs) => {
        const advice = Lease.advise(runs.map(Duration.millis))!
        const choices = [advice.take, ...advice.others]
        for (const choice of choices) {
          const visibilityMs = toMs(choice.visibility)!
          assert.isAtLeast(visibilityMs, 10_000)
          assert.isAtMost(visibilityMs, SQS_CAP_MS)
          assert.strictEqual(visibilityMs % 1_000, 0)
          assert.isBelow(toMs(choice.heartbeat) ?? 0, visibilityMs)
          assert.deepStrictEqual(choice.recovery, choice.visibility)
          assert.isAtLeast(choice.atRisk, advice.take.atRisk)
          assert.isAtMost(choice.atRisk, 1)
        }
        const names = choices.map((c) => `${toMs(c.visibility)} ${toMs(c.heartbeat)}`)
        assert.strictEqual(new Set(names).size, names.length)
        assert.isAtMost(toMs(advice.p50)!, toMs(advice.p99)!)
        assert.isAtMost(toMs(advice.p99)!, toMs(advice.max)!)
        assert.strictEqual(toMs(advice.max), Math.max(...runs))
      })
    )
  })
})
