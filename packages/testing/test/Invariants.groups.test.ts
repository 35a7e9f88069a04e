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

  it("two runs of one message at once are no matter of order", () => {
    const journal = new Builder()
      .sent("a", "g")
      .receive(["a"], 30)
      .start("a#1")
      .at(10)
      .change("a#1", 0)
      .receive(["a"], 30)
      .start("a#2")
      .end("a#1", "failure")
    assert.notInclude(broken(journal, { kind: "fifo" }), "groupOrder")
  })

  it("nor is one that starts while another runs that SQS had moved away, its lease cut short by an older handle", () => {
    const journal = (moved: boolean) => {
      const built = new Builder().sent("a", "g").sent("b", "g").receive(["a"], 5).at(6).receive(["a"], 30).start("a#2")
      if (moved) built.change("a#1", 0).deadLettered("a")
      return built.at(7).receive(["b"], 30).start("b#1")
    }
    assert.notInclude(broken(journal(true), { kind: "fifo" }), "groupOrder")
    assert.include(broken(journal(false), { kind: "fifo" }), "groupOrder")
  })

  for (const [what, visibility, expected] of [
    ["nor is one that starts under a lease that SQS had ended, its answer was long on its way", 1, "startsUnderLease"],
    ["but under a lease that lasts it is", 30, "groupOrder"]
  ] as const) {
    it(what, () => {
      const journal = new Builder()
        .sent("a", "g")
        .sent("b", "g")
        .receive(["a"], visibility)
        .at(2)
        .deadLettered("a")
        .receive(["b"], 30)
        .start("b#1")
        .start("a#1")
      assert.deepStrictEqual(broken(journal, { kind: "fifo" }), [expected])
    })
  }
})
