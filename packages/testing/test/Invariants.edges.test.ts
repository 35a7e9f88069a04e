/** For each invariant what is almost wrong, and passes; and where it was near, what is almost right, and is caught. */
import { assert, describe, it } from "@effect/vitest"
import { Invariants } from "@effect-sqs/testing"
import { at, broken, type Case, good, received, running } from "./invariantJournals.js"
import { Builder, failed, refused } from "./journalBuilder.js"

const gone = refused("ReceiptHandleIsInvalid", { senderFault: true })

const givenUp = () =>
  running()
    .at(5)
    .end("m#1")
    .delete("m#1", { outcome: failed("ServiceUnavailable") })
    .at(40)
    .sent("later")

const passes: Record<string, ReadonlyArray<Case>> = {
  deletedOnlyAfterSuccess: [
    {
      name: "deleted by the policy, and deleted again when it came again since that had failed",
      journal: () =>
        running()
          .at(20)
          .end("m#1", "failure")
          .delete("m#1", { outcome: failed("ServiceUnavailable") })
          .at(31)
          .receive(["m"], 30)
          .delete("m#2"),
      expectations: { policyDeletes: true }
    },
    {
      name: "cannot be decoded, and the policy deletes that",
      journal: () => received().delete("m#1"),
      expectations: { policyDeletes: true, neverRuns: () => true }
    }
  ],
  settledAfterRun: [
    { name: "settled at the instant of the end", journal: () => running().at(5).end("m#1").delete("m#1") }
  ],
  noBeatAfterSettlement: [
    {
      name: "a beat is answered at the instant of the settlement",
      journal: () => running().at(9).change("m#1", 30, { takes: 1 }).at(10).end("m#1").delete("m#1")
    }
  ],
  oneBeatAtATime: [
    {
      name: "the next at the instant of the answer",
      journal: () =>
        running()
          .at(10)
          .change("m#1", 30, { takes: 5, outcome: failed("ServiceUnavailable"), effect: false })
          .at(15)
          .change("m#1", 30, { takes: 1 })
          .at(20)
          .end("m#1")
          .delete("m#1")
    }
  ],
  settledOnce: [
    {
      name: "again after an answer that was lost",
      journal: () =>
        running()
          .end("m#1")
          .delete("m#1", { outcome: { _tag: "Lost" }, effect: true })
          .at(1)
          .delete("m#1")
    }
  ],
  withinTwelveHours: [
    {
      name: "to the second",
      journal: () => running(43_000).at(42_000).change("m#1", 1_200).at(42_100).end("m#1").delete("m#1")
    }
  ],
  endsWithLease: [
    {
      name: "the answer of the receive was long under way: the lease counts from a second before it",
      journal: () =>
        new Builder().sent("m").receive(["m"], 30, { takes: 5 }).at(5).start("m#1").at(33.9).end("m#1", "interrupted"),
      expectations: { graceMs: 0 }
    },
    {
      name: "SQS says that it extended the lease, and did not",
      journal: () => running().at(15).change("m#1", 30, { effect: false }).at(44).end("m#1", "interrupted"),
      expectations: { graceMs: 0 }
    }
  ],
  oneRunAtATime: [
    {
      name: "one after the other",
      journal: () => running().at(5).end("m#1", "failure").at(6).start("m#1").at(7).end("m#1").delete("m#1")
    }
  ],
  noBeatAfterLoss: [
    {
      name: "a denial tells nothing of the lease",
      journal: () =>
        running()
          .at(10)
          .change("m#1", 30, { outcome: { _tag: "Failed", code: "AccessDenied", message: "no", status: 403 } })
          .at(12)
          .change("m#1", 30)
          .at(20)
          .end("m#1")
          .delete("m#1")
    },
    {
      name: "the settlement was decided before the news came",
      journal: () =>
        running()
          .at(10)
          .change("m#1", 30, { takes: 2, outcome: gone })
          .at(11)
          .end("m#1", "failure")
          .at(12)
          .change("m#1", 0)
    }
  ],
  runningWithinConcurrency: [
    {
      name: "the next at the instant of an end",
      journal: () =>
        new Builder().sent("a").sent("b").receive(["a", "b"], 30).start("a#1").at(5).end("a#1").start("b#1"),
      expectations: { concurrency: 1, prefetch: 1 }
    }
  ],
  inHandWithinBounds: [
    {
      name: "what came while the process slept: its lease may have been over when that woke",
      journal: () => new Builder().sent("a").sent("b").receive(["a"], 2).receive(["b"], 30).start("b#1"),
      expectations: { concurrency: 1, stallMs: 2_000 }
    },
    {
      name: "and so may that of the first of a group, and then the next of the group is on its way back",
      journal: () =>
        new Builder()
          .sent("a", "g")
          .sent("b", "g")
          .sent("c", "h")
          .receive(["a"], 2)
          .receive(["b"], 30)
          .receive(["c"], 30)
          .start("c#1"),
      expectations: { concurrency: 1, kind: "fifo", stallMs: 2_000 }
    },
    {
      name: "what comes again though its work was done takes no place",
      journal: () =>
        running()
          .at(20)
          .end("m#1")
          .delete("m#1", { outcome: failed("ServiceUnavailable") })
          .sent("b")
          .at(31)
          .receive(["m", "b"], 30)
          .start("b#1")
          .delete("m#2"),
      expectations: { concurrency: 1 }
    },
    {
      name: "what waited to the limit of its lease is on its way back",
      journal: () => received().sent("b").at(20).receive(["b"], 30).start("b#1").at(21).change("m#1", 0).at(22),
      expectations: { concurrency: 1, limitMs: 20_000 }
    },
    {
      name: "the lease of what waited counted as over, a little before it was",
      journal: () => received().sent("b").at(28.1).receive(["b"], 30).start("b#1"),
      expectations: { concurrency: 1 }
    },
    {
      name: "the lease of one before it in its group was lost: it is on its way back",
      journal: () =>
        new Builder()
          .sent("a", "g")
          .sent("b", "g")
          .sent("c", "h")
          .sent("d", "i")
          .receive(["a", "b"], 30)
          .start("a#1")
          .at(10)
          .change("a#1", 30, { outcome: gone })
          .end("a#1", "interrupted")
          .receive(["c", "d"], 30)
          .start("c#1"),
      expectations: { concurrency: 1, prefetch: 1, kind: "fifo" }
    }
  ],
  startsUnderLease: [
    {
      name: "another try of a handler that may go on without its lease",
      journal: () => running().at(29).end("m#1", "failure").at(31).start("m#1").at(32).end("m#1").delete("m#1"),
      expectations: { onLeaseLost: "continue" }
    },
    {
      name: "the answer took almost as long as the lease",
      journal: () => new Builder().sent("m").receive(["m"], 2, { takes: 3 }).at(3).start("m#1").end("m#1").delete("m#1")
    }
  ],
  retriedByClass: [
    {
      name: "given up with little of the lease left",
      journal: () =>
        running()
          .at(21)
          .end("m#1")
          .delete("m#1", { outcome: failed("ServiceUnavailable") })
          .at(40)
          .sent("later"),
      expectations: { drained: true }
    },
    {
      name: "given up on waking from a sleep that took the rest of the lease",
      journal: givenUp,
      expectations: { drained: true, stallMs: 20_000 }
    }
  ],
  groupOrder: [
    {
      name: "the next at the instant of the confirmation",
      journal: () =>
        new Builder()
          .sent("a", "g")
          .sent("b", "g")
          .receive(["a", "b"], 30)
          .start("a#1")
          .end("a#1")
          .delete("a#1", { takes: 1 })
          .at(1)
          .start("b#1"),
      expectations: { kind: "fifo" }
    }
  ],
  nothingStranded: [
    {
      name: "waited until its lease ran out: the beat had no success",
      journal: () =>
        received()
          .at(15)
          .change("m#1", 30, { outcome: failed("ServiceUnavailable") })
          .at(35)
          .sent("later"),
      expectations: { drained: true }
    },
    {
      name: "waited until its lease ran out: the beat's answer came when it counted as over",
      journal: () => received().at(25).change("m#1", 30, { takes: 4.5 }).at(60).sent("later"),
      expectations: { drained: true }
    },
    {
      name: "waited until its lease ran out: nothing beats",
      journal: () => received().at(35).sent("later"),
      expectations: { drained: true, mayRunOut: true }
    },
    {
      name: "its copy for the dead-letter queue was not accepted while the lease lasted",
      journal: () => {
        const b = running().at(5).end("m#1", "failure").at(6)
        const call = { call: 99, operation: "SendMessageBatch", queue: "dead" } as const
        b.entries.push({ _tag: "CallEnded", ...call, at: at(7), startedAt: at(6), outcome: failed("Throttled") })
        return b.at(31).sent("later")
      },
      expectations: { drained: true, deadLetterQueue: "dead" }
    },
    {
      name: "a release that reads like a beat, of which the consumer told",
      journal: () => received().at(5).change("m#1", 60).at(10).sent("later"),
      expectations: { drained: true, isSettled: (handle) => handle === "m#1" }
    }
  ],
  stopRunsNothing: [
    {
      name: "a retry inside a delivery that had begun",
      journal: () => running().at(5).end("m#1", "failure").at(6).start("m#1").at(7).end("m#1").delete("m#1"),
      expectations: { stoppedAt: at(5.5) }
    }
  ],
  neverRanNeverDead: [
    {
      name: "the weather took its leases",
      journal: () => {
        const b = good().sent("b")
        for (const [i, from] of [50, 90, 130].entries())
          b.at(from)
            .receive(["b"], 30)
            .at(from + 15)
            .change(`b#${i + 1}`, 30, { outcome: failed("ServiceUnavailable") })
        return b.at(170).deadLettered("b")
      }
    }
  ]
}

const caught: Record<string, ReadonlyArray<Case>> = {
  startsUnderLease: [
    {
      name: "another try after the lease",
      journal: () => running().at(29).end("m#1", "failure").at(30.5).start("m#1").at(30.6).end("m#1").delete("m#1")
    }
  ],
  retriedByClass: [
    {
      name: "given up with more lease left than the process can have slept",
      journal: givenUp,
      expectations: { drained: true, stallMs: 5_000 }
    },
    {
      name: "given up with lease left that a beat had brought",
      journal: () =>
        running()
          .at(15)
          .change("m#1", 30)
          .at(21)
          .end("m#1")
          .delete("m#1", { outcome: failed("ServiceUnavailable") })
          .at(60)
          .sent("later"),
      expectations: { drained: true }
    }
  ],
  nothingStranded: [
    {
      name: "waited until its lease ran out, and nobody tried to extend it",
      journal: () => received().at(35).sent("later"),
      expectations: { drained: true }
    },
    {
      name: "waited until its lease ran out, though each beat had success",
      journal: () => received().at(15).change("m#1", 30).at(60).sent("later"),
      expectations: { drained: true }
    },
    {
      name: "success of a handler that may go on without its lease",
      journal: () => running().at(31).end("m#1").at(32).sent("later"),
      expectations: { drained: true, onLeaseLost: "continue" }
    },
    {
      name: "a success, and a beat was on the wire",
      journal: () => running().at(15).change("m#1", 30, { takes: 2 }).at(16).end("m#1").at(60).sent("later"),
      expectations: { drained: true }
    }
  ],
  noBeatAfterLoss: [
    {
      name: "given back though SQS had said that it is not ours",
      journal: () => received().at(10).change("m#1", 30, { outcome: gone }).at(11).change("m#1", 0)
    }
  ],
  inHandWithinBounds: [
    {
      name: "a handler that goes on without its lease keeps its place",
      journal: () => running().sent("b").at(31).receive(["b"], 30),
      expectations: { concurrency: 1, onLeaseLost: "continue" }
    }
  ],
  endsWithLease: [
    {
      name: "by a millisecond, where there is no grace",
      journal: () => running().at(30.001).end("m#1", "interrupted"),
      expectations: { graceMs: 0 }
    }
  ],
  deletedOnlyAfterSuccess: [
    {
      name: "the policy deletes, but this one never ran",
      journal: () => received().delete("m#1"),
      expectations: { policyDeletes: true }
    }
  ],
  stopRunsNothing: [
    {
      name: "began after the stop, by a millisecond",
      journal: () => received().at(5.001).start("m#1").end("m#1").delete("m#1"),
      expectations: { stoppedAt: at(5) }
    }
  ]
}

describe("Invariants: what is almost wrong passes", () => {
  for (const [invariant, cases] of Object.entries(passes)) {
    for (const { expectations, journal, name } of cases)
      it(`${invariant}: ${name}`, () => assert.deepStrictEqual(broken(journal(), expectations), []))
  }

  it("there is a case for every invariant", () => {
    assert.deepStrictEqual(Object.keys(passes).sort(), Invariants.all.map((i) => i.name).sort())
  })
})

describe("Invariants: what is almost right is caught", () => {
  for (const [invariant, cases] of Object.entries(caught)) {
    for (const { expectations, journal, name } of cases)
      it(`${invariant}: ${name}`, () => assert.deepStrictEqual(broken(journal(), expectations), [invariant]))
  }
})
