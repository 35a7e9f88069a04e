import { assert, describe, it } from "@effect/vitest"
import { broken } from "./invariantJournals.js"
import { Builder } from "./journalBuilder.js"

describe("Invariants: order in a group", () => {
  it("held in hand behind one that SQS itself removed: the one between, no job, was given out again since", () => {
    const journal = new Builder()
      .sent("a", "g")
      .sent("b", "g")
      .sent("c", "g")
      .receive(["a", "b", "c"], 30)
      .start("a#1")
      .end("a#1", "failure")
      .change("a#1", 5)
      .at(5)
      .deadLettered("a")
      .at(7)
      .change("b#1", 0)
      .receive(["b"], 30)
      .delete("b#2")
      .start("c#1")
    assert.deepStrictEqual(broken(journal, { kind: "fifo", policyDeletes: true, neverRuns: (id) => id === "b" }), [])
  })
})
