import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as fc from "fast-check"
import * as Time from "../src/internal/time.js"

/** A machine whose wall clock can be set, and whose nanoseconds stand still while it is suspended. */
const makeMachine = () => {
  let wallMs = 1_700_000_000_000
  let awakeNanos = 5_000_000_000n
  const unsafeCurrentTimeMillis = () => Math.floor(wallMs)
  const unsafeCurrentTimeNanos = () => awakeNanos
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis,
    unsafeCurrentTimeNanos,
    currentTimeMillis: Effect.sync(unsafeCurrentTimeMillis),
    currentTimeNanos: Effect.sync(unsafeCurrentTimeNanos),
    sleep: () => Effect.never
  }
  return {
    clock,
    run: (ms: number) => {
      wallMs += ms
      awakeNanos += BigInt(Math.round(ms * 1e6))
    },
    suspend: (ms: number) => {
      wallMs += ms
    },
    setWall: (byMs: number) => {
      wallMs += byMs
    }
  }
}

/** how far the clock of leases has come in each step, to the ms */
const steps = (...acts: ReadonlyArray<(machine: ReturnType<typeof makeMachine>) => void>) => {
  const machine = makeMachine()
  const clock = Time.make(machine.clock)
  let last = clock.now()
  return acts.map((act) => {
    act(machine)
    const now = clock.now()
    const came = Math.round(now - last)
    last = now
    return came
  })
}

describe("the clock of leases", () => {
  it("begins at the wall clock and runs with it", () => {
    const machine = makeMachine()
    const clock = Time.make(machine.clock)
    assert.strictEqual(clock.now(), 1_700_000_000_000)
    machine.run(1_500)
    assert.strictEqual(clock.now(), 1_700_000_001_500)
    assert.strictEqual(clock.epoch(), 1_700_000_001_500)
  })

  it("counts the time that a suspended machine slept", () => {
    assert.deepStrictEqual(
      steps(
        (m) => m.suspend(60_000),
        (m) => m.run(1_000)
      ),
      [60_000, 1_000]
    )
  })

  it("does not stand still, or go back, when the wall clock is set back", () => {
    assert.deepStrictEqual(
      steps(
        (m) => m.setWall(-3_600_000),
        (m) => m.run(1_000),
        (m) => (m.run(2_000), m.setWall(-500))
      ),
      [0, 1_000, 2_000]
    )
  })

  it("goes with a wall clock that is set forward: it may have been a suspension", () => {
    assert.deepStrictEqual(
      steps(
        (m) => m.setWall(3_600_000),
        (m) => m.run(1_000)
      ),
      [3_600_000, 1_000]
    )
  })

  it("a step back that nobody saw does not hide behind an earlier step forward", () => {
    assert.deepStrictEqual(
      steps(
        (m) => m.setWall(3_600_000),
        (m) => (m.run(10_000), m.setWall(-9_000))
      ),
      [3_600_000, 10_000]
    )
  })

  it("nor does a suspension behind an earlier step back", () => {
    assert.deepStrictEqual(
      steps(
        (m) => m.setWall(-3_600_000),
        (m) => m.suspend(30_000)
      ),
      [0, 30_000]
    )
  })

  it("does not run fast by being read often", () => {
    const machine = makeMachine()
    const clock = Time.make(machine.clock)
    const start = clock.now()
    for (let i = 0; i < 100_000; i++) {
      machine.run(0.25)
      clock.now()
    }
    assert.approximately(clock.now() - start, 25_000, 1)
  })

  const anyStep = fc.record({
    kind: fc.constantFrom("run", "suspend", "back", "forward"),
    ms: fc.integer({ min: 0, max: 100_000 }),
    part: fc.double({ min: 0, max: 2, noNaN: true })
  })

  it("never goes back, never misses time that one of the two clocks saw, and invents none but steps forward", () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 40 }), (acts) => {
        const machine = makeMachine()
        const clock = Time.make(machine.clock)
        const start = clock.now()
        let trulyMs = 0
        let forwardMs = 0
        let last = start
        for (const { kind, ms, part } of acts) {
          if (kind === "run") machine.run(ms)
          else if (kind === "suspend") machine.suspend(ms)
          else if (kind === "forward") machine.setWall(ms)
          else {
            machine.run(ms)
            machine.setWall(-part * ms)
          }
          if (kind === "forward") forwardMs += ms
          else trulyMs += ms
          const now = clock.now()
          assert.isAtLeast(now, last)
          last = now
          // each fault may cost what the two clocks may be apart
          assert.isAtLeast(now - start, trulyMs - 21 * acts.length)
          assert.isAtMost(now - start, trulyMs + forwardMs + 21 * acts.length)
        }
      }),
      { numRuns: 500 }
    )
  })
})
