import { BatchHandler, Consumer, Policy, Redelivery } from "@effect-sqs/core"
import { Fault } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Either, Schedule, Schema, Stream } from "effect"
import { batching, Numbers } from "./batchStage.js"
import { beside, send, simulate, view } from "./sim.js"

class Odd extends Schema.TaggedError<Odd>()("Odd", { n: Schema.Number }) {}

const nothing = () => Effect.void
const settle = Redelivery.release("5 seconds").decide

describe("a batch starts", () => {
  it.effect("when it is full, at once; what is left over when its window is over", () =>
    batching({ size: 10, window: "1 minute", worker: { concurrency: 30 }, messages: 25, f: nothing }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("61 seconds")
        assert.deepStrictEqual(
          stage.batches.map((b) => [b.at, b.bodies.length]),
          [
            [0, 10],
            [0, 10],
            [60_000, 5]
          ]
        )
        assert.deepStrictEqual(
          stage.batches.flatMap((b) => b.bodies).sort((a, b) => a - b),
          Array.from({ length: 25 }, (_, i) => i + 1)
        )
        assert.deepStrictEqual(yield* stage.sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("when its window is over, counted from its first delivery", () =>
    batching({ size: 10, window: "2 seconds", messages: 1, f: nothing }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("1500 millis")
        yield* stage.send(2)
        yield* Effect.sleep("2 seconds")
        yield* stage.send(3)
        yield* Effect.sleep("3 seconds")
        assert.deepStrictEqual(stage.batches, [
          { at: 2_000, bodies: [1, 2] },
          { at: 5_500, bodies: [3] }
        ])
      })
    )
  )

  it.effect("the window of a batch that got full does not cut the next one's", () =>
    batching({ size: 2, window: "5 seconds", messages: 1, f: nothing }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("3 seconds")
        yield* stage.send(2)
        yield* Effect.sleep("1 second")
        yield* stage.send(3)
        yield* Effect.sleep("10 seconds")
        assert.deepStrictEqual(stage.batches, [
          { at: 3_000, bodies: [1, 2] },
          { at: 9_000, bodies: [3] }
        ])
      })
    )
  )

  it.effect("and the next fills while it runs", () =>
    batching(
      { size: 2, window: "1 minute", worker: { concurrency: 4 }, messages: 4, f: () => Effect.sleep("20 seconds") },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("21 seconds")
          assert.deepStrictEqual(
            stage.batches.map((b) => b.at),
            [0, 0]
          )
        })
    )
  )

  it.effect("with as many as there are places, where there are fewer than its size: each waits for its window", () =>
    batching({ size: 10, window: "1 second", worker: { concurrency: 3 }, messages: 6, f: nothing }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("5 seconds")
        assert.deepStrictEqual(
          stage.batches.map((b) => [b.at, b.bodies.length]),
          [
            [1_000, 3],
            [2_000, 3]
          ]
        )
      })
    )
  )

  it.effect("on FIFO with the heads of its groups, each group in order", () =>
    batching({ size: 2, window: "1 minute", fifo: true, groups: ["a", "a", "a", "b", "b", "b"], f: nothing }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("10 seconds")
        assert.deepStrictEqual(
          stage.batches.map((b) => b.bodies),
          [
            [1, 4],
            [2, 5],
            [3, 6]
          ]
        )
      })
    )
  )

  it.effect("a window whose deliveries have all left again has no batch, and is not the next one's window", () =>
    batching(
      {
        size: 10,
        window: "5 seconds",
        messages: 1,
        f: nothing,
        worker: { lease: { heartbeat: "1 second" } },
        queue: {
          faults: Fault.entries(() => true, "ReceiptHandleIsInvalid", { senderFault: true }).pipe(
            Fault.on("ChangeMessageVisibility", "ChangeMessageVisibilityBatch"),
            Fault.times(1)
          )
        }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("2 seconds")
          yield* stage.send(2)
          yield* Effect.sleep("10 seconds")
          assert.deepStrictEqual(stage.batches, [{ at: 7_000, bodies: [2] }])
        })
    )
  )
})

describe("a batch ends", () => {
  it.effect("with one result for each delivery, settled by its own", () =>
    batching(
      {
        size: 4,
        window: "1 minute",
        messages: 4,
        worker: {
          redelivery: Redelivery.release("7 seconds").pipe(
            Redelivery.catchError(Odd, (e) => Redelivery.release(100 * e.n * 1_000))
          )
        },
        f: (deliveries) =>
          Effect.succeed(
            deliveries.map((d) =>
              d.body % 2 === 0 ? Either.void : d.body === 1 ? Either.left(new Odd({ n: 1 })) : Either.left("other")
            )
          )
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 second")
          const deliveries = view(stage.sqs).deliveries
          assert.deepStrictEqual(
            deliveries.map((d) => d.asks.at(-1)!).map((a) => a.timeoutSeconds ?? a.kind),
            [100, "delete", 7, "delete"]
          )
        })
    )
  )

  const failing: ReadonlyArray<readonly [string, () => Effect.Effect<any, any>, RegExp]> = [
    ["fails", () => new Odd({ n: 1 }), /^Odd/],
    ["dies", () => Effect.die(new Error("bug")), /^Error: bug/],
    [
      "throws",
      () => {
        throw new Error("thrown")
      },
      /^Error: thrown/
    ],
    ["interrupts itself", () => Effect.interrupt, /interrupt/i],
    ["answers too few", () => Effect.succeed([Either.void]), /1 results for 3 deliveries/],
    ["answers too many", () => Effect.succeed(Array.from({ length: 4 }, () => Either.void)), /4 results for 3/],
    ["answers what are no results", () => Effect.succeed([1, 2, 3]), /no result/]
  ]
  for (const [how, f, told] of failing) {
    it.effect(`that ${how}: each of its deliveries fails with that, and the next batch runs`, () => {
      const seen: Array<string> = []
      const redelivery = Redelivery.make((failure) => {
        seen.push(String(failure.error))
        return settle(failure)
      })
      return batching(
        {
          size: 3,
          window: "1 second",
          messages: 3,
          worker: { redelivery },
          f: (_, batch) => (batch === 1 ? f() : Effect.void)
        },
        (stage) =>
          Effect.gen(function* () {
            yield* Effect.sleep("10 seconds")
            assert.strictEqual(seen.length, 3)
            for (const error of seen) assert.match(error, told)
            assert.deepStrictEqual(yield* stage.sqs.messages("jobs"), [])
            assert.strictEqual(stage.batches.length, 2)
          })
      )
    })
  }
  it.effect("an answer of plain JavaScript that is no list is success, as with any handler", () =>
    batching({ size: 2, window: "1 second", messages: 2, f: (() => Effect.succeed(null)) as never }, (stage) =>
      Effect.gen(function* () {
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(yield* stage.sqs.messages("jobs"), [])
      })
    )
  )

  it.effect("a cause is kept: a defect is none of the errors that a tag names", () => {
    const causes: Array<boolean> = []
    return batching(
      {
        size: 2,
        window: "1 second",
        messages: 2,
        f: () => Effect.die(new Odd({ n: 1 })),
        worker: {
          redelivery: Redelivery.make((x) =>
            Effect.zipRight(
              Effect.sync(() => causes.push(Cause.isDie(x.cause))),
              settle(x)
            )
          ).pipe(Redelivery.catchTag("Odd", Redelivery.delete))
        }
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 second")
          assert.deepStrictEqual(causes, [true, true])
          assert.strictEqual((yield* stage.sqs.messages("jobs")).length, 2)
        })
    )
  })

  it.effect("a retry joins a new batch", () =>
    batching(
      {
        size: 2,
        window: "1 second",
        messages: 2,
        worker: { policy: Policy.make({ retry: Schedule.spaced("5 seconds") }) },
        f: (_, batch) => (batch === 1 ? Effect.fail("once") : Effect.void)
      },
      (stage) =>
        Effect.gen(function* () {
          yield* Effect.sleep("30 seconds")
          assert.deepStrictEqual(stage.batches, [
            { at: 0, bodies: [1, 2] },
            { at: 5_000, bodies: [1, 2] }
          ])
          assert.strictEqual(view(stage.sqs).deliveries.length, 2)
        })
    )
  )
})

describe("a batch handler", () => {
  it.effect("has the services that it was made with, and serves a stream too", () =>
    simulate({}, (sqs) =>
      Effect.gen(function* () {
        class Table extends Context.Tag("test/Table")<Table, Array<number>>() {}
        const table: Array<number> = []
        for (const n of [1, 2, 3]) yield* send(sqs, Numbers, n)
        const make = BatchHandler.make(Numbers, { size: 3, window: "1 minute" }, (deliveries) =>
          Effect.map(Table, (rows) => void rows.push(...deliveries.map((d) => d.body)))
        ).pipe(Effect.provideService(Table, table))
        const settled: Array<boolean> = []
        yield* beside(
          Effect.flatMap(make, (handler) =>
            Consumer.stream(Numbers).pipe(
              Stream.mapEffect((d) => d.process(handler), { concurrency: "unbounded", unordered: true }),
              Stream.runForEach((s) => Effect.sync(() => void settled.push(s.confirmed)))
            )
          )
        )
        yield* Effect.sleep("1 second")
        assert.deepStrictEqual(table, [1, 2, 3])
        assert.deepStrictEqual(settled, [true, true, true])
      })
    )
  )
})
