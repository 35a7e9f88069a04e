import { assert, describe, it } from "@effect/vitest"
import { Fault, FaultPlan, SimClock } from "@effect-sqs/testing"
import { Clock, Effect, Exit, Fiber, Option } from "effect"
import * as FastCheck from "effect/FastCheck"

const START = 1_000_000

const call = (operation: string, options: Partial<FaultPlan.FaultCall> = {}): FaultPlan.FaultCall => ({
  operation,
  queueName: "jobs",
  input: {},
  entries: [],
  now: START,
  ...options
})

/** what a plan does to a series of calls, in words */
const decisions = (plan: FaultPlan.FaultPlan, calls: ReadonlyArray<FaultPlan.FaultCall>): ReadonlyArray<string> => {
  const running = FaultPlan.start(plan, START)
  return calls.map((c) => FaultPlan.describe(running.decide(c)))
}

const receives = (n: number) => Array.from({ length: n }, () => call("ReceiveMessage"))

const handles = (...receiptHandles: ReadonlyArray<string>) => receiptHandles.map((receiptHandle) => ({ receiptHandle }))

describe("Fault: plans", () => {
  it("fails n times, on one operation, whichever comes first in the pipe", () => {
    const calls = ["ReceiveMessage", "DeleteMessageBatch", "ReceiveMessage", "ReceiveMessage"].map((o) => call(o))
    const expected = ["RequestThrottled", "", "RequestThrottled", ""]
    const error = Fault.error("RequestThrottled")
    assert.deepStrictEqual(decisions(error.pipe(Fault.on("ReceiveMessage"), Fault.times(2)), calls), expected)
    assert.deepStrictEqual(decisions(error.pipe(Fault.times(2), Fault.on("ReceiveMessage")), calls), expected)
  })

  it("two simulators that start one plan count for themselves", () => {
    const plan = Fault.reset.pipe(Fault.times(1))
    assert.deepStrictEqual(decisions(plan, receives(2)), ["reset", ""])
    assert.deepStrictEqual(decisions(plan, receives(2)), ["reset", ""])
  })

  it("spares the first calls in which it acts", () => {
    const plan = Fault.loseReply.pipe(Fault.after(1), Fault.times(1))
    assert.deepStrictEqual(decisions(plan, receives(4)), ["", "reply lost", "", ""])
  })

  it("holds while a predicate over the call holds, which knows the call's number", () => {
    const plan = Fault.hang.pipe(Fault.when((c) => c.n === 2 && c.queueName === "jobs"))
    const calls = [call("ReceiveMessage"), call("ReceiveMessage", { queueName: "other" }), ...receives(2)]
    assert.deepStrictEqual(decisions(plan, calls), ["", "", "hang", ""])
    assert.deepStrictEqual(
      decisions(Fault.reset.pipe(Fault.queue("other")), [call("A"), call("A", { queueName: "other" })]),
      ["", "reset"]
    )
  })

  it("holds during a span of the simulator's time, its end excluded", () => {
    const at = (ms: number) => call("ReceiveMessage", { now: START + ms })
    const calls = [at(9999), at(10_000), at(19_999), at(20_000)]
    const error = Fault.error("InternalFailure")
    assert.deepStrictEqual(decisions(error.pipe(Fault.during("10 seconds", "20 seconds")), calls), [
      "",
      "InternalFailure",
      "InternalFailure",
      ""
    ])
    assert.deepStrictEqual(decisions(error.pipe(Fault.during("20 seconds")), calls), ["", "", "", "InternalFailure"])
  })

  it("plays a script, one plan a call", () => {
    const plan = Fault.script(Fault.none, Fault.reset, Fault.none, Fault.hangAfter).pipe(Fault.on("ReceiveMessage"))
    assert.deepStrictEqual(decisions(plan, [call("SendMessageBatch"), ...receives(5)]), [
      "",
      "",
      "reset",
      "",
      "hang after the effect",
      ""
    ])
  })

  it("picks entries; the others go through", () => {
    const running = FaultPlan.start(
      Fault.entries((e) => e.receiptHandle === "b", "InternalError", { senderFault: true, detail: "oh" }),
      START
    )
    assert.deepStrictEqual(running.decide(call("DeleteMessageBatch", { entries: handles("a", "b", "c") })), {
      entryErrors: new Map([[1, { code: "InternalError", detail: "oh", senderFault: true }]])
    })
    assert.isTrue(FaultPlan.isNothing(running.decide(call("DeleteMessageBatch", { entries: handles("a") }))))
  })

  it("puts plans together: delays add up, entries unite, the first end holds", () => {
    const running = FaultPlan.start(
      Fault.all(
        Fault.latency("1 second"),
        Fault.latency("200 millis"),
        Fault.latency("50 millis", { after: true }),
        Fault.entries((_, i) => i === 0, "A"),
        Fault.entries((_, i) => i < 2, "B"),
        Fault.error("First"),
        Fault.error("Second")
      ),
      START
    )
    const d = running.decide(call("DeleteMessageBatch", { entries: handles("a", "b", "c") }))
    assert.strictEqual(FaultPlan.describe(d), "delay 1200 ms, First, entry 0 A, entry 1 B, late by 50 ms")
  })

  it("duplicates and reorders receives only", () => {
    const plan = Fault.all(Fault.duplicate(2), Fault.reorder("s"))
    assert.deepStrictEqual(decisions(plan, [call("SendMessageBatch"), call("ReceiveMessage")]), [
      "",
      "duplicate 2, reorder"
    ])
    const order = FaultPlan.start(plan, START).decide(call("ReceiveMessage")).reorder
    const items = [1, 2, 3, 4, 5, 6, 7]
    assert.notDeepEqual(order?.(items), items)
    assert.deepStrictEqual([...(order?.(items) ?? [])].sort(), items)
  })

  it("prints as the code that makes it, seeds included", () => {
    const plan = Fault.all(
      Fault.error("RequestThrottled").pipe(Fault.on("ReceiveMessage"), Fault.times(3)),
      Fault.randomEntries("s-7", 0.1, "InternalError").pipe(Fault.during("10 seconds", "1 minute")),
      Fault.latencyBetween(5, "1 milli", "2 seconds", { after: true }).pipe(Fault.random(9, 0.5))
    )
    assert.strictEqual(
      String(plan),
      'Fault.all(Fault.error("RequestThrottled").pipe(Fault.on("ReceiveMessage")).pipe(Fault.times(3)), ' +
        'Fault.randomEntries("s-7", 0.1, "InternalError").pipe(Fault.during("10s", "1m")), ' +
        'Fault.latencyBetween(5, "1ms", "2s", { after: true }).pipe(Fault.random(9, 0.5)))'
    )
  })
})

describe("Fault: seeds", () => {
  const plan = (seed: number | string) =>
    Fault.all(
      Fault.error("RequestThrottled").pipe(Fault.random(seed, 0.3)),
      Fault.latencyBetween(seed, "10 millis", "2 seconds"),
      Fault.randomEntries(seed, 0.2, "InternalError")
    )
  const batches = Array.from({ length: 50 }, () => call("DeleteMessageBatch", { entries: handles("a", "b", "c") }))

  it("a seed replays exactly; another gives another course", () => {
    assert.deepStrictEqual(decisions(plan(1), batches), decisions(plan(1), batches))
    assert.notDeepEqual(decisions(plan(1), batches), decisions(plan(2), batches))
    assert.notDeepEqual(decisions(plan("1"), batches), decisions(plan("2"), batches))
  })

  it("what befalls a call does not depend on the calls of other operations around it", () => {
    const between = batches.flatMap((c) => [call("ReceiveMessage"), c])
    assert.deepStrictEqual(
      decisions(plan(1), between).filter((_, i) => i % 2 === 1),
      decisions(plan(1), batches)
    )
  })

  it("the share of struck calls is what was asked, for any seed", () => {
    for (const probability of [0, 0.05, 0.5, 1]) {
      for (let seed = 0; seed < 5; seed++) {
        const struck = decisions(Fault.reset.pipe(Fault.random(seed, probability)), receives(4000)).filter(
          Boolean
        ).length
        assert.closeTo(struck / 4000, probability, 0.03)
      }
    }
  })

  it("draws latencies inside their range, ends included", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.integer(), FastCheck.nat(20), FastCheck.nat(20), (seed, min, span) => {
        const running = FaultPlan.start(Fault.latencyBetween(seed, min, min + span), START)
        return receives(30).every((c) => {
          const ms = running.decide(c).delayBeforeMs ?? -1
          return Number.isInteger(ms) && ms >= min && ms <= min + span
        })
      })
    )
  })
})

describe("Fault: around a call", () => {
  interface Seen {
    readonly result: Exit.Exit<string, string> | "never"
    readonly effectAt: number | undefined
    readonly ms: number
  }
  /** what a caller sees within ten seconds, and when the effect took place */
  const see = (decision: FaultPlan.FaultDecision, effect: Effect.Effect<string, string> = Effect.succeed("ok")) =>
    SimClock.run(
      Effect.gen(function* () {
        const from = yield* Clock.currentTimeMillis
        let effectAt: number | undefined
        const fiber = yield* Effect.fork(
          FaultPlan.around(decision, {
            effect: Effect.flatMap(Clock.currentTimeMillis, (ms) => {
              effectAt = ms - from
              return effect
            }),
            onError: (e) => Effect.fail(e.code),
            onReset: Effect.fail("reset")
          })
        )
        const exit = yield* Effect.timeoutOption(Fiber.await(fiber), "10 seconds")
        const ms = (yield* Clock.currentTimeMillis) - from
        const seen: Seen = { result: Option.getOrElse(exit, () => "never" as const), effectAt, ms }
        return seen
      })
    )

  const cases: ReadonlyArray<[string, FaultPlan.FaultDecision, Seen]> = [
    ["nothing", FaultPlan.nothing, { result: Exit.succeed("ok"), effectAt: 0, ms: 0 }],
    [
      "latency on both sides",
      { delayBeforeMs: 100, delayAfterMs: 20 },
      { result: Exit.succeed("ok"), effectAt: 100, ms: 120 }
    ],
    [
      "an error, late, with no effect",
      { delayBeforeMs: 100, delayAfterMs: 20, error: { code: "X", detail: "" } },
      { result: Exit.fail("X"), effectAt: undefined, ms: 100 }
    ],
    ["a reset with no effect", { reset: true }, { result: Exit.fail("reset"), effectAt: undefined, ms: 0 }],
    [
      "a reply lost after the effect",
      { delayAfterMs: 20, loseReply: true },
      { result: Exit.fail("reset"), effectAt: 0, ms: 20 }
    ],
    ["a hang before", { hang: "before" }, { result: "never", effectAt: undefined, ms: 10_000 }],
    ["a hang after", { hang: "after" }, { result: "never", effectAt: 0, ms: 10_000 }]
  ]
  for (const [name, decision, expected] of cases) {
    it.effect(name, () => Effect.map(see(decision), (seen) => assert.deepStrictEqual(seen, expected)))
  }

  it.effect("a refusal by SQS itself arrives late, too", () =>
    Effect.gen(function* () {
      const seen = yield* see({ delayAfterMs: 20 }, Effect.fail("refused"))
      assert.deepStrictEqual(seen, { result: Exit.fail("refused"), effectAt: 0, ms: 20 })
    })
  )

  it.effect("performs what it was told first: here a jump of the clock", () =>
    SimClock.run(
      Effect.gen(function* () {
        const from = yield* Clock.currentTimeMillis
        const running = FaultPlan.start(Fault.perform("jump", SimClock.jumpMillis(5000)), START)
        const at = yield* FaultPlan.around(running.decide(call("ReceiveMessage")), {
          effect: Clock.currentTimeMillis,
          onError: () => Effect.succeed(0),
          onReset: Effect.succeed(0)
        })
        assert.strictEqual(at - from, 5000)
      })
    )
  )
})
