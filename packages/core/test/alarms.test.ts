import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { Alarms } from "../src/internal/alarms.js"

/** Time by hand: sleeps end when it comes to them, the earliest first. */
const world = () => {
  let now = 0
  let made = 0
  let sleeping: Array<{ readonly until: number; readonly then: () => void }> = []
  const alarms = new Alarms(
    () => now,
    (ms, then) => {
      made++
      const sleep = { until: now + ms, then }
      sleeping.push(sleep)
      return () => {
        sleeping = sleeping.filter((s) => s !== sleep)
      }
    }
  )
  const pass = (ms: number) => {
    const end = now + ms
    for (;;) {
      const next = sleeping.reduce<(typeof sleeping)[number] | undefined>(
        (a, b) => (b.until <= end && (a === undefined || b.until < a.until) ? b : a),
        undefined
      )
      if (next === undefined) break
      now = Math.max(now, next.until)
      sleeping = sleeping.filter((s) => s !== next)
      next.then()
    }
    now = end
  }
  return { alarms, pass, now: () => now, made: () => made, sleeping: () => sleeping.length }
}

describe("alarms", () => {
  it("each rings once at its time, in whole ms, unless it was cancelled; none is left behind", () =>
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(
          FastCheck.record({
            pause: FastCheck.double({ min: 0, max: 50, noNaN: true }),
            ms: FastCheck.double({ min: -1, max: 200, noNaN: true }),
            cancelAfter: FastCheck.option(FastCheck.double({ min: 0, max: 250, noNaN: true }), { nil: undefined })
          }),
          { maxLength: 40 }
        ),
        (steps) => {
          const { alarms, now, pass, sleeping } = world()
          const rung: Array<readonly [number, number]> = []
          const expected: Array<readonly [number, number]> = []
          const cancels: Array<{ readonly at: number; readonly cancel: () => void }> = []
          const passWithCancels = (ms: number) => {
            const end = now() + ms
            for (const c of cancels.filter((c) => c.at <= end).sort((a, b) => a.at - b.at)) {
              pass(Math.max(0, c.at - now()))
              c.cancel()
              cancels.splice(cancels.indexOf(c), 1)
            }
            pass(Math.max(0, end - now()))
          }
          steps.forEach(({ cancelAfter, ms, pause }, n) => {
            passWithCancels(pause)
            const due = now() + Math.max(0, Math.ceil(ms))
            const cancel = alarms.after(ms, () => rung.push([n, now()]))
            // sleeps are whole ms too: one may be late by almost one
            const cancelled = cancelAfter !== undefined && now() + cancelAfter < due - 1
            if (!cancelled) expected.push([n, due])
            else cancels.push({ at: now() + cancelAfter!, cancel })
          })
          passWithCancels(1_000)
          for (const [n, due] of expected) {
            const times = rung.filter(([m]) => m === n)
            assert.strictEqual(times.length, 1, `alarm ${n}`)
            assert.isAtLeast(times[0]![1], due - 1)
            assert.isAtMost(times[0]![1], due + 1)
          }
          assert.strictEqual(rung.length, expected.length)
          assert.strictEqual(sleeping(), 0)
        }
      )
    ))

  it("a cancelled one does not ring", () => {
    const { alarms, pass } = world()
    let rung = 0
    const cancel = alarms.after(10, () => rung++)
    alarms.after(20, () => rung++)
    cancel()
    cancel()
    pass(100)
    assert.strictEqual(rung, 1)
  })

  it("a thousand time limits that are never reached share one sleep", () => {
    const { alarms, made, pass, sleeping } = world()
    for (let i = 0; i < 1_000; i++) {
      const cancel = alarms.after(10_000, () => assert.fail("it was cancelled"))
      const kept = i % 10 === 0 ? alarms.after(60_000, () => {}) : undefined
      pass(1)
      cancel()
      void kept
    }
    assert.isAtMost(made(), 3)
    assert.isAtMost(sleeping(), 2)
  })

  it("what an alarm sets while it rings is kept", () => {
    const { alarms, now, pass } = world()
    const rung: Array<number> = []
    alarms.after(10, () => {
      rung.push(now())
      alarms.after(5, () => rung.push(now()))
      alarms.after(0, () => rung.push(now()))
    })
    pass(100)
    assert.deepStrictEqual(rung, [10, 10, 15])
  })

  it("with nothing to wait for there is no sleep, so that a process can end", () => {
    const { alarms, pass, sleeping } = world()
    const cancels = [5, 500, 50].map((ms) => alarms.after(ms, () => {}))
    pass(10)
    for (const cancel of cancels) cancel()
    assert.strictEqual(sleeping(), 0)
  })
})
