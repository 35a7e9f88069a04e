import * as Conformance from "@effect-sqs/testing/Conformance"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"

const inFlightLimit = 20

describe("Conformance, in process on TestClock", () => {
  for (const check of Conformance.suite.filter(({ needs }) => needs !== "raw")) {
    it.effect(`${check.id}: ${check.title} (${check.evidence})`, () =>
      Effect.gen(function* () {
        const door = yield* Conformance.virtualDoor((ms) => TestClock.adjust(ms), { inFlightLimit })
        const [result] = yield* Conformance.run(door, { checks: [check] })
        assert.deepStrictEqual([result?.status, result?.reason], ["passed", undefined])
      }).pipe(Effect.provide(VirtualSqs.layer({ inFlightLimit })))
    )
  }
})

describe("Conformance, the suite", () => {
  it("has at least 110 checks with ids of their own, each with its evidence", () => {
    assert.isAtLeast(Conformance.suite.length, 110)
    assert.strictEqual(new Set(Conformance.suite.map(({ id }) => id)).size, Conformance.suite.length)
  })

  it.effect("reports a check that fails, with what was expected and found", () =>
    Effect.gen(function* () {
      const honest = yield* Conformance.virtualDoor((ms) => TestClock.adjust(ms))
      const forgetful: Conformance.Door = {
        ...honest,
        call: (operation, input) =>
          honest.call(operation, operation === "ReceiveMessage" ? { ...input, MaxNumberOfMessages: 1 } : input)
      }
      const checks = Conformance.suite.filter(({ id }) => id === "receive-max-11" || id === "delete-twice")
      const results = yield* Conformance.run(forgetful, { checks })
      assert.deepStrictEqual(
        results.map(({ check, reason, status }) => [check.id, status, reason?.slice(0, 46)]),
        [
          ["receive-max-11", "failed", "ReceiveMessage: expected InvalidParameterValue"],
          ["delete-twice", "passed", undefined]
        ]
      )
    }).pipe(Effect.provide(VirtualSqs.layer()))
  )

  it.effect("skips what takes longer than allowed, and what its door cannot do", () =>
    Effect.gen(function* () {
      const door = yield* Conformance.virtualDoor((ms) => TestClock.adjust(ms))
      const results = yield* Conformance.run(door, {
        checks: Conformance.suite.filter(({ needs, seconds }) => needs !== undefined || seconds > 60),
        maxSeconds: 60
      })
      assert.isAbove(results.length, 10)
      assert.isTrue(results.every(({ status }) => status === "skipped"))
    }).pipe(Effect.provide(VirtualSqs.layer()))
  )
})
