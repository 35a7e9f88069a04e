import { Sqs } from "@effect-sqs/core"
import { Fault, Invariants } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { run, storm } from "./scenario.js"

type Port = Sqs.Sqs["Type"]

/** Consumers that are wrong in one way: the real one, with a port between that does what a wrong one would. */
const mutants: Record<string, (sqs: Port) => Port> = {
  deletedOnlyAfterSuccess: (sqs) => ({
    ...sqs,
    // deletes on receipt
    receive: (request) =>
      Effect.tap(sqs.receive(request), (messages) =>
        messages.length === 0
          ? Effect.void
          : sqs.deleteBatch(
              request.queueUrl,
              messages.map((m) => m.receiptHandle)
            )
      )
  }),
  settledOnce: (sqs) => ({
    ...sqs,
    deleteBatch: (url, handles) => Effect.zipRight(sqs.deleteBatch(url, handles), sqs.deleteBatch(url, handles))
  }),
  noBeatAfterSettlement: (sqs) => ({
    ...sqs,
    deleteBatch: (url, handles) =>
      Effect.zipLeft(
        sqs.deleteBatch(url, handles),
        sqs.changeVisibilityBatch(
          url,
          handles.map((receiptHandle) => ({ receiptHandle, visibilityTimeoutSeconds: 20 }))
        )
      )
  }),
  oneBeatAtATime: (sqs) => ({
    ...sqs,
    changeVisibilityBatch: (url, entries) =>
      Effect.map(
        Effect.all(
          [1, 2].map(() => sqs.changeVisibilityBatch(url, entries)),
          { concurrency: "unbounded" }
        ),
        ([first]) => first!
      )
  }),
  withinTwelveHours: (sqs) => ({
    ...sqs,
    changeVisibilityBatch: (url, entries) =>
      sqs.changeVisibilityBatch(
        url,
        entries.map((e) => (e.visibilityTimeoutSeconds === 0 ? e : { ...e, visibilityTimeoutSeconds: 43_200 }))
      )
  }),
  // believes that it beats
  endsWithLease: (sqs) => ({
    ...sqs,
    changeVisibilityBatch: (url, entries) =>
      entries.some((e) => e.visibilityTimeoutSeconds === 20)
        ? Effect.succeed(entries.map(() => Sqs.done))
        : sqs.changeVisibilityBatch(url, entries)
  }),
  // believes that it deletes
  nothingStranded: (sqs) => ({
    ...sqs,
    deleteBatch: (_, handles) => Effect.succeed(handles.map(() => Sqs.done))
  }),
  // asks again at once
  retriedByClass: (sqs) => ({
    ...sqs,
    deleteBatch: (url, handles) =>
      Effect.flatMap(sqs.deleteBatch(url, handles), (results) =>
        results.some((r) => r._tag === "Failed") ? sqs.deleteBatch(url, handles) : Effect.succeed(results)
      )
  }),
  inHandWithinBounds: (sqs) => ({
    ...sqs,
    receive: (request) =>
      Effect.map(
        Effect.all([request.maxMessages, 10].map((maxMessages) => sqs.receive({ ...request, maxMessages }))),
        (both) => both.flat()
      )
  })
}

const seeds = (n: number) => Array.from({ length: n }, (_, i) => i)

describe("The real consumer", () => {
  for (const seed of seeds(6)) {
    for (const kind of ["standard", "fifo"] as const) {
      for (const mishaps of [false, true]) {
        const weather = mishaps ? "with a process that stalls and a wall clock that jumps" : "in bad weather"
        it.effect(`holds all invariants: seed ${seed}, ${kind}, ${weather}`, () =>
          Effect.gen(function* () {
            const faults = storm(seed, kind)
            const { entries, expectations } = yield* run({ seed, kind, faults, mishaps })
            assert.isTrue(entries.some((e) => e._tag === "RunEnded"))
            Invariants.assertAll(entries, { ...expectations, context: `${expectations.context}, ${faults}` })
          })
        )
      }
    }
  }

  it.effect("does exactly the same again for the same seed", () =>
    Effect.gen(function* () {
      for (const seed of [0, 1, 2]) {
        const scenario = { seed, kind: "standard", faults: storm(seed, "standard") } as const
        const [first, second] = [yield* run(scenario), yield* run(scenario)]
        assert.isAbove(first.entries.length, 300)
        assert.deepStrictEqual(first.entries, second.entries)
      }
    })
  )
})

describe("A wrong consumer", () => {
  for (const [name, through] of Object.entries(mutants)) {
    it.effect(`is caught: ${name}`, () =>
      Effect.gen(function* () {
        const broken = new Set<string>()
        for (const seed of seeds(4)) {
          const faults = Fault.all(
            Fault.latencyBetween(seed, "10 millis", "200 millis"),
            Fault.randomEntries(seed, 0.2, "InternalError").pipe(Fault.on("DeleteMessageBatch"))
          )
          const { entries, expectations } = yield* run({ seed, kind: "standard", through, faults })
          for (const violation of Invariants.check(entries, expectations)) broken.add(violation.invariant)
        }
        assert.include([...broken], name)
      })
    )
  }
})
