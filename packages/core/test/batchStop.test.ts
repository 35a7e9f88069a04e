import { Drain, Policy, Redelivery } from "@effect-sqs/core"
import { Fault } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Option, Schedule } from "effect"
import { batching, type BatchScene, type BatchStage } from "./batchStage.js"

/** Work without end, whose cleanup takes three seconds. */
const endless = (cleaned: Array<number>) => () =>
  Effect.onInterrupt(Effect.never, () =>
    Effect.zipRight(
      Effect.sleep("3 seconds"),
      Effect.map(Clock.currentTimeMillis, (at) => void cleaned.push(at))
    )
  )

const refusedBeats = (bodies: ReadonlyArray<number>): NonNullable<BatchScene["queue"]> => ({
  faults: Fault.entries((_, i) => bodies.includes(i + 1), "ReceiptHandleIsInvalid", { senderFault: true }).pipe(
    Fault.on("ChangeMessageVisibility", "ChangeMessageVisibilityBatch"),
    Fault.times(1)
  )
})

const reportOf = (stage: BatchStage) =>
  stage.events
    .flatMap((e) => (e._tag === "Drained" ? e.report.deliveries : []))
    .map((d) => d.became)
    .sort()

describe("a delivery of a batch that loses its lease", () => {
  it.effect("leaves; the work goes on for the others, and only they are settled", () =>
    batching(
      {
        size: 3,
        window: "1 minute",
        messages: 3,
        queue: refusedBeats([2]),
        f: () => Effect.sleep("25 seconds")
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("26 seconds")
          assert.deepStrictEqual(
            stage.ends().map((end) => end.split(" ")[0]),
            ["delete", "beat", "delete"]
          )
          assert.strictEqual(stage.batches.length, 1)
        })
    )
  )

  it.effect("has its place until the work has ended: a run is counted as long as it goes on", () =>
    batching(
      {
        size: 2,
        window: "1 second",
        messages: 4,
        worker: { concurrency: 2 },
        queue: refusedBeats([2]),
        f: (_, batch) => (batch === 1 ? Effect.sleep("25 seconds") : Effect.void)
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("24 seconds")
          assert.strictEqual(stage.batches.length, 1)
          yield* Effect.sleep("5 seconds")
          assert.deepStrictEqual(
            stage.batches.map((b) => b.at),
            [0, 25_000]
          )
        })
    )
  )

  it.effect("as the last: the work is interrupted, and its cleanup ends before their runs do", () => {
    const cleaned: Array<number> = []
    return batching(
      { size: 2, window: "1 minute", messages: 2, queue: refusedBeats([1, 2]), f: endless(cleaned), expect: "off" },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("20 seconds")
          assert.deepStrictEqual(cleaned, [18_000])
          const ended = stage.events.flatMap((e) => (e._tag === "RunEnded" ? [[e.outcome, e.at]] : []))
          assert.deepStrictEqual(ended, [
            ["interrupted", 18_000],
            ["interrupted", 18_000]
          ])
          assert.deepStrictEqual(stage.calls("DeleteMessageBatch"), [])
        })
    )
  })

  it.effect("may stay, by option", () =>
    batching(
      {
        size: 1,
        window: 0,
        messages: 1,
        worker: { onLeaseLost: "continue" },
        queue: refusedBeats([1]),
        f: () => Effect.sleep("25 seconds"),
        expect: { onLeaseLost: "continue" }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("26 seconds")
          assert.deepStrictEqual(stage.ends(), ["delete 25000"])
        })
    )
  )
})

describe("a batch whose deliveries take too long", () => {
  it.effect("is interrupted with the last of them, and none is given back before its cleanup has ended", () => {
    const cleaned: Array<number> = []
    return batching(
      {
        size: 2,
        window: "4 seconds",
        messages: 1,
        worker: { policy: Policy.make({ attemptTimeout: "10 seconds" }), redelivery: Redelivery.release("1 hour") },
        f: endless(cleaned)
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("2 seconds")
          yield* stage.send(2)
          yield* Effect.sleep("20 seconds")
          assert.deepStrictEqual(stage.batches, [{ at: 2_000, bodies: [1, 2] }])
          assert.deepStrictEqual(cleaned, [15_000])
          assert.deepStrictEqual(stage.ends(), ["release 15000", "release 15000"])
        })
    )
  })
})

describe("a stop", () => {
  it.effect("with a batch half full: it starts at once, since nothing more will come", () =>
    batching({ size: 10, window: "5 minutes", messages: 3, f: () => Effect.sleep("1 second") }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("10 seconds")
        assert.isTrue(Exit.isInterrupted(yield* stage.stop))
        assert.deepStrictEqual(stage.batches, [{ at: 10_000, bodies: [1, 2, 3] }])
        assert.deepStrictEqual(reportOf(stage), ["settled", "settled", "settled"])
        assert.deepStrictEqual(yield* stage.sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("a retry after it starts its batch at once too", () =>
    batching(
      {
        size: 10,
        window: "5 minutes",
        messages: 2,
        worker: { policy: Policy.make({ retry: Schedule.recurs(2) }) },
        f: (_, batch) => (batch === 1 ? Effect.zipRight(Effect.sleep("1 second"), Effect.fail("once")) : Effect.void)
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("10 seconds")
          assert.isTrue(Exit.isInterrupted(yield* stage.stop))
          assert.deepStrictEqual(reportOf(stage), ["settled", "settled"])
          assert.isBelow(Math.max(...stage.batches.map((b) => b.at)), 12_000)
        })
    )
  )

  it.effect("while a batch runs: it runs to its end, and its deliveries are settled", () =>
    batching({ size: 3, window: "1 second", messages: 3, f: () => Effect.sleep("20 seconds") }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("5 seconds")
        assert.isTrue(Exit.isInterrupted(yield* stage.stop))
        assert.deepStrictEqual(stage.ends(), ["delete 20000", "delete 20000", "delete 20000"])
        assert.deepStrictEqual(reportOf(stage), ["settled", "settled", "settled"])
      })
    )
  )

  it.effect("whose deadline passes: interrupted once, and nothing is given back before the cleanup has ended", () => {
    const cleaned: Array<number> = []
    return batching(
      { size: 3, window: "1 second", messages: 3, worker: { drain: "25 seconds" }, f: endless(cleaned) },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("5 seconds")
          const exit = yield* stage.stop
          assert.deepStrictEqual(cleaned, [33_000])
          assert.deepStrictEqual(stage.ends(), ["release 33000", "release 33000", "release 33000"])
          assert.deepStrictEqual(reportOf(stage), ["interrupted", "interrupted", "interrupted"])
          const error = Option.getOrThrow(Cause.dieOption(Exit.isFailure(exit) ? exit.cause : Cause.empty))
          assert.instanceOf(error, Drain.DrainIncomplete)
        })
    )
  })

  it.effect("whose batch cannot be interrupted: all its deliveries are abandoned, and none is given back", () =>
    batching(
      {
        size: 2,
        window: "1 second",
        messages: 2,
        worker: { drain: { timeout: "5 seconds", interruptTimeout: "1 second" }, receive: { waitTime: "1 second" } },
        f: () => Effect.uninterruptible(Effect.sleep("40 seconds")),
        expect: "off"
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("5 seconds")
          yield* stage.stop
          assert.deepStrictEqual(reportOf(stage), ["abandoned", "abandoned"])
          assert.deepStrictEqual(stage.ends(), ["nothing", "nothing"])
        })
    )
  )

  it.effect("interrupts the batch of a handler that was made in an uninterruptible region", () => {
    const cleaned: Array<number> = []
    return batching(
      {
        size: 1,
        window: 0,
        messages: 1,
        worker: { drain: "25 seconds" },
        f: endless(cleaned),
        making: Effect.uninterruptible
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 second")
          yield* stage.stop
          assert.deepStrictEqual(reportOf(stage), ["interrupted"])
        })
    )
  })
})
