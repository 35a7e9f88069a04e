import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Finished } from "../src/internal/finished.js"
import { Watch, type Watched } from "../src/internal/watch.js"

/** Time by hand, and timers that are seen. */
const bench = () => {
  let now = 0
  const timers = new Set<{ readonly at: number; readonly f: () => void }>()
  const set: Array<number> = []
  const started: Array<string> = []
  const watch = new Watch(
    {
      after: (ms, f) => {
        const timer = { at: now + ms, f }
        set.push(timer.at)
        timers.add(timer)
        return () => void timers.delete(timer)
      }
    },
    { now: () => now, epoch: () => now }
  )
  const lease = (name: string, watchAt: number) => {
    let unwatch: (() => void) | undefined
    const watched: Watched = {
      watchAt,
      watchedBy: (f) => {
        unwatch = f
      },
      startHeartbeat: () => {
        started.push(`${name}@${now}`)
        // as a lease does
        unwatch?.()
      }
    }
    return { watched, end: () => unwatch!() }
  }
  return {
    watch,
    lease,
    started,
    /** when timers were set for */
    set,
    get open() {
      return timers.size
    },
    pass: (to: number) => {
      while (true) {
        const next = [...timers].filter((t) => t.at <= to).sort((a, b) => a.at - b.at)[0]
        if (next === undefined) break
        now = Math.max(now, next.at)
        timers.delete(next)
        next.f()
      }
      now = to
    },
    /** the process sleeps: timers are late */
    sleep: (to: number) => {
      now = to
    }
  }
}

describe("the watch", () => {
  it("wakes each receive's deliveries when they are due, with one timer", () => {
    const b = bench()
    b.watch.add([b.lease("a", 10).watched, b.lease("b", 10).watched])
    b.watch.add([b.lease("c", 20).watched])
    b.watch.add([])
    assert.strictEqual(b.open, 1)
    b.pass(15)
    assert.deepStrictEqual(b.started, ["a@10", "b@10"])
    b.pass(30)
    assert.deepStrictEqual(b.started, ["a@10", "b@10", "c@20"])
    assert.strictEqual(b.open, 0)
    assert.deepStrictEqual(b.set, [10, 20])
  })

  it("an earlier one that comes later is woken earlier", () => {
    const b = bench()
    b.watch.add([b.lease("late", 30).watched])
    b.watch.add([b.lease("early", 10).watched])
    b.watch.add([b.lease("between", 20).watched])
    assert.strictEqual(b.open, 1)
    b.pass(40)
    assert.deepStrictEqual(b.started, ["early@10", "between@20", "late@30"])
  })

  it("does not wake what has ended, first, last or between", () => {
    const b = bench()
    const leases = [10, 20, 30, 40, 50].map((at) => b.lease(String(at), at))
    for (const { watched } of leases) b.watch.add([watched])
    for (const i of [0, 2, 4]) leases[i]!.end()
    b.watch.add([b.lease("45", 45).watched])
    b.watch.add([b.lease("60", 60).watched])
    b.pass(100)
    assert.deepStrictEqual(b.started, ["20@20", "40@40", "45@45", "60@60"])
  })

  it("short jobs set no timers: one that is early is left to fire", () => {
    const b = bench()
    for (let i = 0; i < 100; i++) {
      const one = b.lease(String(i), 15_000 + i)
      b.watch.add([one.watched])
      one.end()
    }
    assert.deepStrictEqual(b.set, [15_000])
    b.pass(20_000)
    assert.deepStrictEqual(b.started, [])
    assert.strictEqual(b.open, 0)
  })

  it("after a stall it wakes all that are due, in order", () => {
    const b = bench()
    b.watch.add([b.lease("b", 20).watched])
    b.watch.add([b.lease("a", 10).watched])
    b.watch.add([b.lease("c", 30).watched])
    b.sleep(25)
    b.pass(25)
    assert.deepStrictEqual(b.started, ["a@25", "b@25"])
    b.pass(30)
    assert.deepStrictEqual(b.started, ["a@25", "b@25", "c@30"])
  })

  it("has no timer when it is closed", () => {
    const b = bench()
    b.watch.close()
    b.watch.add([b.lease("a", 10).watched])
    b.watch.close()
    assert.strictEqual(b.open, 0)
  })

  it("whatever comes and goes: each is woken at its time, or has ended before", () => {
    const receive = fc.record({
      afterMs: fc.integer({ min: 0, max: 20 }),
      dueInMs: fc.integer({ min: 1, max: 60 }),
      /** one delivery each; after how many ms it ends */
      ends: fc.array(fc.integer({ min: 0, max: 90 }), { minLength: 1, maxLength: 4 })
    })
    fc.assert(
      fc.property(fc.array(receive, { maxLength: 30 }), (receives) => {
        const b = bench()
        const expected: Array<string> = []
        const ends: Array<{ readonly at: number; readonly end: () => void }> = []
        let now = 0
        receives.forEach(({ afterMs, dueInMs, ends: lives }, r) => {
          now += afterMs
          while (ends.length > 0 && ends[0]!.at <= now) {
            const first = ends.shift()!
            b.pass(first.at)
            first.end()
          }
          b.pass(now)
          const leases = lives.map((life, i) => {
            const name = `${r}.${i}`
            const due = now + dueInMs
            const one = b.lease(name, due)
            // what ends in the very ms is woken before
            if (now + life >= due) expected.push(`${name}@${due}`)
            ends.push({ at: now + life, end: one.end })
            return one.watched
          })
          ends.sort((x, y) => x.at - y.at)
          b.watch.add(leases)
        })
        for (const { at, end } of ends) {
          b.pass(at)
          end()
        }
        b.pass(10_000)
        assert.deepStrictEqual([...b.started].sort(), expected.sort())
        assert.strictEqual(b.open, 0)
      })
    )
  })
})

describe("the memory of finished messages", () => {
  it("knows what was added, until it is forgotten", () => {
    const finished = new Finished()
    assert.isFalse(finished.has("a"))
    finished.add("a")
    assert.isTrue(finished.has("a"))
    finished.forget("a")
    assert.isFalse(finished.has("a"))
  })

  it("is bounded: of more than a thousand the oldest is lost, by its last coming", () => {
    const finished = new Finished()
    for (let i = 0; i < 1_000; i++) finished.add(String(i))
    finished.add("0")
    finished.add("new")
    assert.deepStrictEqual(
      ["0", "1", "2", "new"].map((id) => finished.has(id)),
      [true, false, true, true]
    )
  })
})
