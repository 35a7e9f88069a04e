import { assert, describe, it } from "@effect/vitest"
import { Invariants, JournalQuery } from "@effect-sqs/testing"
import { Builder, failed, refused } from "./journalBuilder.js"
import { at, received, running, good, type Case } from "./invariantJournals.js"

const fine: ReadonlyArray<Case> = [
  { name: "an ordinary life", journal: good, expectations: { concurrency: 1, drained: true, stoppedAt: at(41.5) } },
  {
    name: "an empty journal",
    journal: () => new Builder(),
    expectations: { concurrency: 1, drained: true, kind: "fifo" }
  },
  {
    name: "a delete of what an earlier delivery had finished",
    journal: () =>
      running()
        .at(29)
        .end("m#1")
        .delete("m#1", { outcome: failed("ServiceUnavailable") })
        .at(31)
        .receive(["m"], 30)
        .delete("m#2")
  },
  {
    name: "a dead-letter copy, then the delete, tried again",
    journal: () =>
      running()
        .end("m#1", "failure")
        .sent("copy", undefined, "dead")
        .delete("m#1", { outcome: failed("ServiceUnavailable") })
        .at(1)
        .delete("m#1"),
    expectations: { deadLetterQueue: "dead" }
  },
  {
    name: "a policy that deletes",
    journal: () => running().end("m#1", "failure").delete("m#1"),
    expectations: { policyDeletes: true }
  },
  {
    name: "a handler that could not be interrupted, given back at the end of the drain",
    journal: () => running().at(20).change("m#1", 0).at(25).end("m#1"),
    expectations: { stoppedAt: at(10) }
  },
  {
    name: "a lost lease, the run cut in time",
    journal: () => running().at(30).end("m#1", "interrupted"),
    expectations: { drained: true }
  },
  {
    name: "a refused beat, the run cut, nothing settled",
    journal: () =>
      running()
        .at(15)
        .change("m#1", 30, { outcome: refused("MessageNotInflight", { senderFault: true }) })
        .end("m#1", "interrupted"),
    expectations: { drained: true }
  },
  {
    name: "SQS hands a hidden message out again",
    journal: () =>
      running().at(5).receive(["m"], 30).start("m#2").at(8).end("m#1").delete("m#1").at(9).end("m#2").delete("m#2"),
    expectations: { concurrency: 2 }
  },
  {
    name: "a handler that may go on without its lease",
    journal: () =>
      running().at(35).receive(["m"], 30).start("m#2").at(40).end("m#1").delete("m#1").end("m#2").delete("m#2"),
    expectations: { onLeaseLost: "continue" }
  },
  {
    name: "an answer that never arrived is nobody's",
    journal: () =>
      new Builder()
        .sent("m")
        .receive(["m"], 30, { outcome: { _tag: "Lost" }, effect: true })
        .at(40),
    expectations: { concurrency: 1, drained: true, stoppedAt: at(-1) }
  },
  {
    name: "left to SQS",
    journal: () => running().end("m#1", "failure").at(5),
    expectations: { drained: true, leaves: true }
  },
  {
    name: "other queues are not ours",
    journal: () => received().delete("m#1"),
    expectations: { queue: "another" }
  },
  {
    name: "what cannot be decoded never runs",
    journal: () => good().sent("b").receive(["b"], 30).at(80).deadLettered("b"),
    expectations: { neverRuns: (id) => id === "b" }
  },
  {
    name: "a group in order, a failure given back with what is behind it",
    journal: () =>
      new Builder()
        .sent("a", "g")
        .sent("b", "g")
        .sent("x", "h")
        .receive(["a", "b", "x"], 30)
        .start("a#1")
        .start("x#1")
        .at(1)
        .end("a#1", "failure")
        .change("a#1", 0)
        .change("b#1", 0)
        .at(2)
        .receive(["a", "b"], 30)
        .start("a#2")
        .at(3)
        .end("a#2")
        .delete("a#2", { takes: 0.5 })
        .at(4)
        .start("b#2")
        .end("b#2")
        .delete("b#2")
        .end("x#1")
        .delete("x#1"),
    expectations: { kind: "fifo", concurrency: 3, drained: true }
  },
  {
    name: "a group whose delete was lost to us, but SQS gives out the next",
    journal: () =>
      new Builder()
        .sent("a", "g")
        .sent("b", "g")
        .receive(["a"], 30)
        .start("a#1")
        .end("a#1")
        .delete("a#1", { outcome: { _tag: "Lost" }, effect: true })
        .at(1)
        .receive(["b"], 30)
        .start("b#1"),
    expectations: { kind: "fifo" }
  }
]

describe("Invariants: what is right passes", () => {
  for (const { expectations, journal, name } of fine) {
    it(name, () => assert.deepStrictEqual(Invariants.check(journal().entries, expectations), []))
  }
})

describe("Invariants: failures", () => {
  const journal = () => running().at(5).end("m#1", "failure").delete("m#1")

  it("throws with the names, the context and the message's timeline", () => {
    try {
      Invariants.assertAll(journal().entries, { context: "seed 42" })
    } catch (error) {
      assert.instanceOf(error, Invariants.InvariantsBroken)
      const { message } = error as Invariants.InvariantsBroken
      assert.match(message, /^deletedOnlyAfterSuccess broken \(seed 42\)/)
      assert.include(message, "delivery m#1 (receive count 1): deleted, and no run of the message had succeeded")
      assert.include(message, "delivery 1    R")
      assert.include(message, "run ends, failure")
      return
    }
    assert.fail("nothing thrown")
  })

  it("says nothing of a good journal, read before or not", () => {
    Invariants.assertAll(good().entries)
    Invariants.assertAll(JournalQuery.read(good().entries))
  })

  it("shows a few lives of many", () => {
    const b = new Builder()
    for (let i = 0; i < 50; i++)
      b.sent(`m-${i}`)
        .receive([`m-${i}`], 30)
        .delete(`m-${i}#1`)
    const view = JournalQuery.read(b.entries)
    const text = Invariants.explain(view, Invariants.check(view))
    assert.include(text, "… and 30 more")
    assert.strictEqual(text.split("message m-").length - 1, 3)
  })
})
