import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { SharedLimit } from "../src/internal/sharedLimit.js"
import { Slots, type SlotsOptions } from "../src/internal/slots.js"

/** Timers that a test fires by hand. */
class Timers {
  private pending = new Set<() => void>()

  readonly after = (_ms: number, f: () => void) => {
    const timer = () => f()
    this.pending.add(timer)
    return () => void this.pending.delete(timer)
  }

  get count() {
    return this.pending.size
  }

  fire() {
    const due = [...this.pending]
    this.pending.clear()
    for (const timer of due) timer()
  }
}

/** A consumer as its places see it: receives that are open, deliveries that wait, handlers that run. */
class Consumer {
  readonly timers = new Timers()
  readonly slots: Slots
  asks = 0
  open: Array<number> = []
  waiting = 0
  running = 0
  settling = 0
  private pumping = false
  starts = true

  constructor(options: Partial<SlotsOptions>) {
    const all = { concurrency: 10, prefetch: 0, prefetchMax: 10, lingerMs: 10, shared: undefined, ...options }
    this.slots = new Slots({ ...all, unsettled: () => this.waiting + this.running + this.settling }, this.timers, () =>
      this.pump()
    )
  }

  ask() {
    this.asks++
    this.slots.reserve((n) => {
      this.asks--
      if (n === 0) return
      this.open.push(n)
      const { concurrency, prefetch } = this.slots.options
      assert.isAtMost(this.slots.inHand, concurrency + (prefetch ?? this.slots.prefetch))
    })
  }

  answer(messages: number) {
    const asked = this.open.shift()
    if (asked === undefined) return
    this.waiting += messages
    this.slots.giveBack(asked - messages)
    this.pump()
  }

  pump() {
    if (this.pumping || !this.starts) return
    this.pumping = true
    while (this.waiting > 0 && this.slots.start()) {
      this.waiting--
      this.running++
    }
    this.pumping = false
  }

  end(ranMs: number, settled = true) {
    if (this.running === 0) return
    this.running--
    if (!settled) this.settling++
    this.slots.end(ranMs)
    this.pump()
  }

  drop() {
    if (this.waiting === 0) return
    this.waiting--
    this.slots.giveBack(1)
    this.pump()
  }

  get reserved() {
    return this.open.reduce((sum, n) => sum + n, 0)
  }
}

type Step =
  | { readonly do: "ask" | "drop" | "tick" | "pause" | "resume"; readonly who: number }
  | { readonly do: "answer"; readonly who: number; readonly share: number; readonly more: number }
  | { readonly do: "end"; readonly who: number; readonly ranMs: number }

const who = fc.nat({ max: 2 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("ask" as const), who }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      who,
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      // a port may bring more than it was asked for
      more: fc.constantFrom(0, 0, 0, 3)
    })
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("end" as const), who, ranMs: fc.nat({ max: 3_000 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("drop" as const, "tick" as const, "pause" as const, "resume" as const),
      who
    })
  }
)

const perform = (consumers: ReadonlyArray<Consumer>, s: Step) => {
  const consumer = consumers[s.who % consumers.length]!
  switch (s.do) {
    case "ask":
      if (consumer.asks < 3) consumer.ask()
      return
    case "answer":
      return consumer.answer(Math.round((consumer.open[0] ?? 0) * s.share) + s.more)
    case "end":
      return consumer.end(s.ranMs)
    case "drop":
      return consumer.drop()
    case "tick":
      return consumer.timers.fire()
    case "pause":
      return consumer.slots.pause()
    case "resume":
      return consumer.slots.resume()
  }
}

/** What holds after each step, whatever came before. */
const check = (consumers: ReadonlyArray<Consumer>, limit: SharedLimit | undefined) => {
  for (const c of consumers) {
    assert.strictEqual(c.slots.running, c.running)
    assert.strictEqual(c.slots.inHand, c.waiting + c.running + c.reserved)
    assert.isAtMost(c.running, c.slots.options.concurrency)
  }
  if (limit === undefined) return
  const taken = consumers.reduce((sum, c) => sum + c.running * c.slots.options.shared!.weight, 0)
  const runs = consumers.reduce((sum, c) => sum + c.running, 0)
  assert.strictEqual(limit.free, limit.size - taken)
  assert.isTrue(taken <= limit.size || runs === 1, `${taken} of ${limit.size} places taken by ${runs} runs`)
}

/** Lets all that is under way end; who still asks gets its places, and nothing comes. */
const windDown = (consumers: ReadonlyArray<Consumer>) => {
  for (const c of consumers) c.slots.resume()
  const busy = () => consumers.some((c) => c.open.length + c.waiting + c.running + c.asks > 0)
  for (let round = 0; busy(); round++) {
    assert.isBelow(round, 1_000, "somebody asks, everything is free, and nothing is granted")
    for (const c of consumers) {
      c.timers.fire()
      c.answer(0)
      c.end(10)
    }
  }
}

const options = fc.record({
  concurrency: fc.integer({ min: 1, max: 25 }),
  prefetch: fc.option(fc.nat({ max: 20 }), { nil: undefined })
})

describe("slots", () => {
  it("never more running or in hand than allowed, and all free when idle, in any order of events", () => {
    fc.assert(
      fc.property(options, fc.array(step, { maxLength: 120 }), (o, steps) => {
        const consumers = [new Consumer(o)]
        for (const s of steps) {
          perform(consumers, s)
          check(consumers, undefined)
        }
        windDown(consumers)
        assert.strictEqual(consumers[0]!.slots.inHand, 0)
        assert.strictEqual(consumers[0]!.slots.running, 0)
      }),
      { numRuns: 500 }
    )
  })

  it("the same for consumers that share a limit, with weights; and none of them is stuck", () => {
    const shares = fc.array(fc.record({ o: options, weight: fc.integer({ min: 1, max: 6 }) }), {
      minLength: 2,
      maxLength: 3
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), shares, fc.array(step, { maxLength: 200 }), (size, them, steps) => {
        const limit = new SharedLimit(size)
        const consumers = them.map(({ o, weight }) => new Consumer({ ...o, shared: { limit, weight } }))
        for (const s of steps) {
          perform(consumers, s)
          check(consumers, limit)
          // what fits runs: nobody waits while all places are free
          if (limit.free === size) assert.isTrue(consumers.every((c) => c.waiting === 0))
        }
        windDown(consumers)
        check(consumers, limit)
        assert.strictEqual(limit.free, size)
        for (const c of consumers) assert.strictEqual(c.slots.inHand, 0)
      }),
      { numRuns: 500 }
    )
  })

  it("a limit is shared by turns: each consumer with something to do has its turn before another has a second", () => {
    const limit = new SharedLimit(4)
    const turns: Array<string> = []
    const make = (name: string, weight: number) => {
      const c = new Consumer({ concurrency: 4, prefetch: 100, shared: { limit, weight } })
      c.slots.start = ((start) => () => {
        const took = start()
        if (took) turns.push(name)
        return took
      })(c.slots.start.bind(c.slots))
      return c
    }
    const a = make("a", 4)
    const b = make("b", 4)
    const c = make("c", 4)
    for (const each of [a, b, c]) {
      each.ask()
      each.answer(20)
    }
    for (let i = 0; i < 8; i++) for (const each of [a, b, c]) if (each.running > 0) each.end(10)
    // the first of a took the free places at once; then its second was the first in line
    assert.deepStrictEqual(turns.slice(0, 10).join(""), "a" + "abcabcabc")
  })

  it("prefetch by run times: none before a run was seen, at most ten for short runs, none for long ones", () => {
    const c = new Consumer({ prefetch: undefined })
    assert.strictEqual(c.slots.prefetch, 0)
    const run = (ms: number) => {
      c.ask()
      c.answer(1)
      c.end(ms)
      c.timers.fire()
    }
    run(5)
    assert.strictEqual(c.slots.prefetch, 10)
    run(60_000)
    assert.strictEqual(c.slots.prefetch, 0)
  })

  it("prefetch by run times is what about a quarter of a second lets through", () => {
    const prefetch = (concurrency: number, ms: number) => {
      const c = new Consumer({ concurrency, prefetch: undefined })
      c.ask()
      c.answer(1)
      c.end(ms)
      return c.slots.prefetch
    }
    assert.strictEqual(prefetch(1, 100), 2)
    assert.strictEqual(prefetch(1, 300), 0)
    assert.strictEqual(prefetch(10, 1_000), 2)
    assert.strictEqual(prefetch(10, 1_001), 0)
    assert.strictEqual(prefetch(2, 0), 10)
  })

  it("waits a moment for a fuller receive while handlers run, and asks at once when none does", () => {
    const c = new Consumer({ concurrency: 10 })
    c.ask()
    assert.deepStrictEqual(c.open, [10])
    c.answer(10)
    c.ask()
    c.end(5)
    c.end(5)
    assert.deepStrictEqual(c.open, [])
    c.timers.fire()
    assert.deepStrictEqual(c.open, [2])
  })

  it("handlers that end at once free their places in one breath: the receive that waits gets them all", () => {
    const c = new Consumer({ concurrency: 20 })
    for (let i = 0; i < 3; i++) c.ask()
    assert.deepStrictEqual(c.open, [10, 10])
    c.starts = false
    c.answer(10)
    for (let i = 0; i < 10; i++) {
      c.slots.start()
      c.slots.end(0)
    }
    assert.deepStrictEqual(c.open, [10, 10])
    // less than a receive can bring: it waits, but not for long, though nothing runs
    c.ask()
    c.answer(5)
    assert.deepStrictEqual(c.open, [10])
    c.timers.fire()
    assert.deepStrictEqual(c.open, [10, 5])
  })

  it("a full receive does not wait for more", () => {
    const c = new Consumer({ concurrency: 20 })
    c.ask()
    c.answer(10)
    c.ask()
    assert.deepStrictEqual(c.open, [10])
    assert.strictEqual(c.timers.count, 0)
  })

  it("while enough is waiting for its place nothing is asked, and when it gets short at once more", () => {
    const c = new Consumer({ concurrency: 2, prefetch: 4 })
    c.ask()
    c.answer(6)
    assert.deepStrictEqual([c.running, c.waiting], [2, 4])
    c.ask()
    c.end(5)
    assert.deepStrictEqual([c.waiting, c.open.length, c.timers.count], [3, 0, 0])
    c.end(5)
    assert.deepStrictEqual([c.waiting, c.open.length, c.timers.count], [2, 0, 1])
    c.timers.fire()
    assert.deepStrictEqual(c.open, [2])
  })

  it("paused it grants nothing, resumed what is free; stopped it answers 0, paused or not", () => {
    const c = new Consumer({})
    c.slots.pause()
    c.ask()
    assert.deepStrictEqual([c.open.length, c.asks, c.slots.wantsMore], [0, 1, false])
    c.slots.resume()
    assert.deepStrictEqual(c.open, [10])
    c.answer(0)
    c.slots.pause()
    c.ask()
    c.slots.stop()
    assert.deepStrictEqual([c.open.length, c.asks], [0, 0])
    c.ask()
    assert.deepStrictEqual([c.open.length, c.asks, c.slots.wantsMore], [0, 0, false])
  })

  it("receives no more while SQS leaves a thousand settlements unconfirmed, and goes on when it confirms", () => {
    const c = new Consumer({ concurrency: 10 })
    for (let i = 0; i < 101; i++) {
      c.ask()
      c.answer(10)
      for (let n = 0; n < 10; n++) c.end(5, false)
    }
    assert.strictEqual(c.settling, 1_010)
    c.ask()
    assert.deepStrictEqual([c.open.length, c.slots.wantsMore], [0, false])
    c.settling--
    c.slots.settled()
    c.timers.fire()
    assert.deepStrictEqual(c.open, [1])
  })

  /** `a` runs; `b` does not fit beside it and is first in line; `c` waits behind `b`. */
  const line = () => {
    const limit = new SharedLimit(2)
    const make = (weight: number) => {
      const c = new Consumer({ shared: { limit, weight } })
      c.ask()
      c.answer(1)
      return c
    }
    const [a, b, c] = [make(1), make(2), make(1)]
    assert.deepStrictEqual([a.running, b.running, c.running], [1, 0, 0])
    return { limit, a, b, c }
  }

  it("what is gone before its turn does not hold up the line", () => {
    const { a, b, c } = line()
    b.drop()
    assert.deepStrictEqual([a.running, c.running], [1, 1])
  })

  it("who starts nothing more, since it stops, does not hold up the line", () => {
    const { a, b, c } = line()
    b.starts = false
    b.slots.stop()
    assert.deepStrictEqual([a.running, c.running], [1, 1])
  })

  it("a closed consumer leaves the shared limit, and what it had taken comes back when it ends", () => {
    const { a, b, c, limit } = line()
    b.slots.close()
    assert.deepStrictEqual([a.running, b.running, c.running], [1, 0, 1])
    a.slots.close()
    a.end(5)
    assert.strictEqual(limit.free, 1)
  })
})
