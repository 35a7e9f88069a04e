import * as JournalQuery from "@effect-sqs/testing/JournalQuery"
import * as Tracking from "@effect-sqs/testing/Tracking"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { assert, describe, it } from "@effect/vitest"
import * as Sqs from "@effect-sqs/core/Sqs"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { standing } from "../src/demo/Board.js"
import { deviations, type Fact, gather, type Told } from "../src/demo/Facts.js"
import { type Kind, longFactor, scenes, visibilitySeconds } from "../src/demo/Story.js"

/** The facts as the story wants them. */
const right: Record<Kind, Omit<Fact, "jobId" | "kind">> = {
  ordinary: { receives: 1, heartbeats: 0, runs: 1, outcome: "completed", artifact: "out/a.pdf" },
  long: { receives: 1, heartbeats: 6, runs: 1, outcome: "completed", artifact: "out/b.pdf" },
  flaky: { receives: 3, heartbeats: 0, runs: 3, outcome: "completed", artifact: "out/c.pdf" },
  failing: { receives: 1, heartbeats: 0, runs: 1, outcome: "dead-lettered", artifact: null },
  malformed: { receives: 1, heartbeats: 0, runs: 0, outcome: "dead-lettered", artifact: null }
}

const told = (changed?: Kind, change: Partial<Fact> = {}, longestRunMs?: number): ReadonlyArray<Told> =>
  scenes.map((scene) => ({
    scene,
    life: undefined,
    reason: undefined,
    longestRunMs: longestRunMs ?? longFactor * visibilitySeconds * 1000,
    fact: {
      jobId: scene.job?.jobId ?? null,
      kind: scene.kind,
      ...right[scene.kind],
      ...(scene.kind === changed ? change : {})
    }
  }))

describe("the story", () => {
  it("has twelve jobs: eight ordinary ones and one of each other kind", () => {
    const kinds = scenes.map((s) => s.kind)
    assert.strictEqual(kinds.filter((k) => k === "ordinary").length, 8)
    assert.deepStrictEqual(kinds.filter((k) => k !== "ordinary").sort(), ["failing", "flaky", "long", "malformed"])
    assert.strictEqual(new Set(scenes.map((s) => s.body)).size, 12)
  })

  it("is as told only if nothing deviates", () => {
    assert.deepStrictEqual(deviations(told(), 2), [])
    const wrong: ReadonlyArray<readonly [Kind, Partial<Fact>]> = [
      ["ordinary", { receives: 2 }],
      ["ordinary", { runs: 2 }],
      ["ordinary", { artifact: null }],
      ["ordinary", { outcome: "open" }],
      ["long", { receives: 2 }],
      ["long", { heartbeats: 1 }],
      ["flaky", { receives: 4 }],
      ["flaky", { outcome: "dead-lettered" }],
      ["failing", { outcome: "completed" }],
      ["failing", { artifact: "out/x.pdf" }],
      ["failing", { runs: 0, receives: 0 }],
      ["malformed", { runs: 1 }],
      ["malformed", { outcome: "open" }]
    ]
    for (const [kind, change] of wrong) {
      assert.isAbove(deviations(told(kind, change), 2).length, 0, `${kind} ${JSON.stringify(change)}`)
    }
    assert.isAbove(deviations(told(undefined, {}, 11_000), 2).length, 0, "the long job was not long")
    assert.deepStrictEqual(deviations(told(), 3), ["3 messages in the dead-letter queue, not 2"])
  })
})

describe("the facts", () => {
  it.effect("are those of the server: receives, beats, runs, dead letters", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const sqs = yield* Sqs.Sqs
      const [queueUrl, deadUrl] = [virtual.queueUrl("jobs"), virtual.queueUrl("dead")]
      const ids = yield* Effect.forEach(scenes, (s) => virtual.send("jobs", s.body))
      const life = () => JournalQuery.read(virtual.journal.entries).messages.get(ids[0]!)
      assert.strictEqual(standing(life(), 0), "in the queue")

      // the long job, by hand: two beats, done; then the next one is dead-lettered
      const [long, flaky] = yield* sqs.receive({ queueUrl, maxMessages: 2, waitTimeSeconds: 0 })
      const beat = sqs.changeVisibilityBatch(queueUrl, [
        { receiptHandle: long!.receiptHandle, visibilityTimeoutSeconds: 4 }
      ])
      const run = Tracking.tracked({ journal: virtual.journal, queue: "jobs" }, () =>
        Effect.repeatN(Effect.andThen(Effect.sleep("2 seconds"), beat), 1)
      )
      const running = yield* Effect.fork(run("", long!))
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(standing(life(), 1000), "drawing")
      yield* TestClock.adjust("5 seconds")
      yield* running.await
      assert.strictEqual(standing(life(), 6000), "comes again in 2.0 s")
      yield* sqs.deleteBatch(queueUrl, [long!.receiptHandle, flaky!.receiptHandle])
      yield* virtual.send("dead", flaky!.body, {
        attributes: { "effect_sqs.message_id": flaky!.messageId, "effect_sqs.reason": "no use" }
      })
      assert.strictEqual(standing(life(), 6000), "done")

      const dead = yield* sqs.receive({ queueUrl: deadUrl, maxMessages: 10, waitTimeSeconds: 0 })
      const gathered = gather(JournalQuery.read(virtual.journal.entries), ids, dead, () => null)
      const facts = gathered.map(({ fact }) => fact)
      const common = { artifact: null, receives: 1 }
      assert.deepStrictEqual(facts.slice(0, 2), [
        { ...common, jobId: scenes[0]!.job!.jobId, kind: "long", heartbeats: 2, runs: 1, outcome: "completed" },
        { ...common, jobId: scenes[1]!.job!.jobId, kind: "flaky", heartbeats: 0, runs: 0, outcome: "dead-lettered" }
      ])
      assert.isTrue(facts.slice(2).every((f) => f.receives === 0 && f.outcome === "open"))
      assert.strictEqual(gathered[1]!.reason, "no use")
      assert.strictEqual(gathered[0]!.longestRunMs, 4000)
    }).pipe(Effect.provide(VirtualSqs.layer({ queues: ["dead", "jobs"] })))
  )
})
