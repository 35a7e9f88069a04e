import { assert, describe, it } from "@effect/vitest"
import { Invariants } from "@effect-sqs/testing"
import { Builder, failed, refused } from "./journalBuilder.js"
import { at, broken, received, running, good, type Case } from "./invariantJournals.js"

/** Each journal breaks the invariant it stands under, and no other. */
const bad: Record<string, ReadonlyArray<Case>> = {
  deletedOnlyAfterSuccess: [
    { name: "never run", journal: () => received().delete("m#1") },
    { name: "failed", journal: () => running().end("m#1", "failure").delete("m#1") },
    { name: "interrupted", journal: () => running().end("m#1", "interrupted").delete("m#1") },
    { name: "died", journal: () => running().end("m#1", "defect").delete("m#1") },
    {
      name: "dead-lettered, but the copy came later",
      journal: () => running().end("m#1", "failure").delete("m#1").sent("copy", undefined, "dead"),
      expectations: { deadLetterQueue: "dead" }
    },
    {
      name: "one copy for two messages",
      journal: () =>
        new Builder()
          .sent("a")
          .sent("b")
          .receive(["a", "b"], 30)
          .sent("copy", undefined, "dead")
          .delete("a#1")
          .delete("b#1"),
      expectations: { deadLetterQueue: "dead" }
    }
  ],
  settledAfterRun: [
    { name: "released while running", journal: () => running().at(5).change("m#1", 0).at(6).end("m#1", "failure") },
    {
      name: "released while running, before the stop",
      journal: () => running().at(5).change("m#1", 0).at(6).end("m#1", "failure"),
      expectations: { stoppedAt: at(7) }
    },
    {
      name: "deleted while a second run went on",
      journal: () => running().end("m#1").start("m#1").at(5).delete("m#1").at(6).end("m#1")
    }
  ],
  noBeatAfterSettlement: [
    { name: "beat after the delete", journal: () => running().at(9).end("m#1").delete("m#1").at(10).change("m#1", 30) },
    {
      name: "released while a beat was on the wire",
      journal: () =>
        running().at(9).change("m#1", 30, { takes: 1 }).at(9.5).end("m#1", "failure").change("m#1", 0).at(11)
    },
    {
      name: "beat on the wire",
      journal: () => running().at(9).change("m#1", 30, { takes: 1 }).at(9.5).end("m#1").delete("m#1").at(11)
    },
    {
      name: "beat that is never answered",
      journal: () => running().at(9).change("m#1", 30, { outcome: "open" }).at(9.5).end("m#1").delete("m#1").at(11)
    }
  ],
  oneBeatAtATime: [
    {
      name: "a slow beat is overtaken",
      journal: () =>
        running()
          .at(10)
          .change("m#1", 30, { takes: 5 })
          .at(12)
          .change("m#1", 30, { takes: 1 })
          .at(20)
          .end("m#1")
          .delete("m#1")
    }
  ],
  settledOnce: [
    { name: "deleted twice", journal: () => running().end("m#1").delete("m#1").at(1).delete("m#1") },
    {
      name: "released, then released again",
      journal: () => running().end("m#1", "failure").change("m#1", 10).at(1).change("m#1", 0)
    },
    {
      name: "again before the answer",
      journal: () => running().end("m#1").delete("m#1", { takes: 2 }).at(1).delete("m#1").at(5)
    },
    { name: "a handle of nobody", journal: () => good().delete("x#1", { outcome: refused("ReceiptHandleIsInvalid") }) }
  ],
  withinTwelveHours: [
    {
      name: "beat",
      journal: () => running(43_000).at(42_000).change("m#1", 1201).at(42_100).end("m#1").delete("m#1")
    },
    {
      name: "release",
      journal: () =>
        running(30)
          .at(10)
          .end("m#1", "failure")
          .change("m#1", 43_191, { outcome: refused("X", { senderFault: true }) })
    }
  ],
  endsWithLease: [
    { name: "ended late", journal: () => running().at(31.5).end("m#1", "interrupted") },
    { name: "goes on", journal: () => running().at(40).sent("later") },
    {
      name: "a beat without effect does not help",
      journal: () =>
        running()
          .at(20)
          .change("m#1", 30, { outcome: failed("ServiceUnavailable") })
          .at(40)
          .end("m#1", "failure")
    },
    {
      name: "grace as given",
      journal: () => running().at(36).end("m#1", "interrupted"),
      expectations: { graceMs: 5000 }
    }
  ],
  oneRunAtATime: [
    {
      name: "twice in one delivery",
      journal: () => running().at(1).start("m#1").at(2).end("m#1").end("m#1").delete("m#1")
    }
  ],
  noBeatAfterLoss: [
    {
      name: "beats on after the refusal",
      journal: () =>
        running()
          .at(10)
          .change("m#1", 30, { outcome: refused("ReceiptHandleIsInvalid", { senderFault: true }) })
          .at(20)
          .change("m#1", 30, { outcome: refused("ReceiptHandleIsInvalid", { senderFault: true }) })
          .at(21)
          .end("m#1", "interrupted")
    }
  ],
  runningWithinConcurrency: [
    {
      name: "three at once",
      journal: () =>
        new Builder().sent("a").sent("b").sent("c").receive(["a", "b", "c"], 30).start("a#1").start("b#1").start("c#1"),
      expectations: { concurrency: 2, prefetch: 5 }
    }
  ],
  inHandWithinBounds: [
    {
      name: "one too many waits",
      journal: () => new Builder().sent("a").sent("b").sent("c").receive(["a", "b", "c"], 30).start("a#1"),
      expectations: { concurrency: 1, prefetch: 1 }
    },
    {
      name: "received before a slot was free",
      journal: () =>
        new Builder().sent("a").sent("b").receive(["a"], 30).start("a#1").at(1).receive(["b"], 30).at(2).end("a#1"),
      expectations: { concurrency: 1 }
    }
  ],
  startsUnderLease: [
    { name: "after the deadline", journal: () => received().at(30).start("m#1").at(30.5).end("m#1").delete("m#1") }
  ],
  retriedByClass: [
    {
      name: "tried again though it cannot help",
      journal: () =>
        running()
          .end("m#1")
          .delete("m#1", { outcome: refused("InvalidParameterValue", { senderFault: true }) })
          .at(1)
          .delete("m#1")
    },
    {
      name: "without a pause",
      journal: () =>
        running()
          .end("m#1")
          .delete("m#1", { outcome: refused("InternalError") })
          .delete("m#1")
    },
    {
      name: "given up",
      journal: () =>
        running()
          .end("m#1")
          .delete("m#1", { outcome: failed("ServiceUnavailable") })
          .at(15)
          .sent("later"),
      expectations: { drained: true }
    },
    {
      name: "given up when the answer was lost",
      journal: () =>
        running()
          .end("m#1")
          .delete("m#1", { outcome: { _tag: "Lost" } })
          .at(15)
          .sent("later"),
      expectations: { drained: true }
    }
  ],
  groupOrder: [
    {
      name: "behind one that SQS itself removed, before anything could tell",
      journal: () =>
        new Builder()
          .sent("a", "g")
          .sent("b", "g")
          .receive(["a", "b"], 30)
          .start("a#1")
          .end("a#1", "failure")
          .change("a#1", 5)
          .at(5)
          .deadLettered("a")
          .start("b#1"),
      expectations: { kind: "fifo" }
    },
    {
      name: "two at once",
      journal: () => new Builder().sent("a", "g").sent("b", "g").receive(["a", "b"], 30).start("b#1").start("a#1"),
      expectations: { kind: "fifo" }
    },
    {
      name: "before the first is settled",
      journal: () =>
        new Builder().sent("a", "g").sent("b", "g").receive(["a", "b"], 30).start("a#1").end("a#1").start("b#1"),
      expectations: { kind: "fifo" }
    },
    {
      name: "before the first is confirmed",
      journal: () =>
        new Builder()
          .sent("a", "g")
          .sent("b", "g")
          .receive(["a", "b"], 30)
          .start("a#1")
          .end("a#1")
          .delete("a#1", { takes: 1 })
          .at(0.5)
          .start("b#1"),
      expectations: { kind: "fifo" }
    },
    {
      name: "though the first failed",
      journal: () =>
        new Builder()
          .sent("a", "g")
          .sent("b", "g")
          .receive(["a", "b"], 30)
          .start("a#1")
          .end("a#1", "failure")
          .change("a#1", 5)
          .start("b#1"),
      expectations: { kind: "fifo" }
    }
  ],
  nothingStranded: [
    { name: "never run", journal: () => received().at(5), expectations: { drained: true } },
    { name: "still running", journal: () => running().at(5), expectations: { drained: true } },
    {
      name: "success, not deleted",
      journal: () => running().at(5).end("m#1"),
      expectations: { drained: true, leaves: true }
    },
    {
      name: "failure, not settled",
      journal: () => running().at(5).end("m#1", "failure"),
      expectations: { drained: true }
    }
  ],
  stopRunsNothing: [
    { name: "a run", journal: () => received().at(5).start("m#1"), expectations: { stoppedAt: at(4) } },
    {
      name: "given back late",
      journal: () => new Builder().sent("m").at(5).receive(["m"], 30).at(6.5).change("m#1", 0),
      expectations: { stoppedAt: at(4) }
    },
    {
      name: "kept",
      journal: () => new Builder().sent("m").at(5).receive(["m"], 30).at(10).sent("later"),
      expectations: { stoppedAt: at(4) }
    }
  ],
  neverRanNeverDead: [
    {
      name: "burned by receives",
      journal: () => good().sent("b").receive(["b"], 30).at(80).receive(["b"], 30).at(120).deadLettered("b")
    }
  ]
}

describe("Invariants: each is caught", () => {
  for (const [name, cases] of Object.entries(bad)) {
    for (const { expectations, journal, ...c } of cases) {
      it(`${name}: ${c.name}`, () => assert.deepStrictEqual(broken(journal(), expectations), [name]))
    }
  }

  it("there is a case for every invariant", () => {
    assert.deepStrictEqual(Object.keys(bad).sort(), Invariants.all.map((i) => i.name).sort())
  })

  it("oneRunAtATime: the message came again after the lease had run out, and the first run went on", () => {
    const b = running().at(31).receive(["m"], 30).start("m#2").at(35).end("m#1").at(36).end("m#2")
    assert.deepStrictEqual(broken(b, { graceMs: 500 }), ["endsWithLease", "oneRunAtATime"])
  })
})
