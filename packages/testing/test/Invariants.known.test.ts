/** What a consumer cannot know is not held against it; what it can know is. Each case beside its opposite. */
import type { Invariants } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { at, broken, received, running } from "./invariantJournals.js"
import { Builder, failed, refused } from "./journalBuilder.js"

const cutByHand = (code: string) =>
  running()
    .at(5)
    .change("m#1", 2, { takes: 0.1, outcome: refused(code) })
    .at(7)
    .end("m#1", "interrupted")
    .at(40)

const afterTheStop = { stoppedAt: at(-1) }

const givenBackAfterABeatOf = (seconds: number) =>
  received().at(0.5).change("m#1", 30, { takes: seconds }).at(6).change("m#1", 0)

const releasedUnrun = (times: number) => {
  const journal = new Builder().sent("other").receive(["other"], 30).start("other#1").end("other#1").delete("other#1")
  journal.sent("m")
  for (let n = 1; n <= times; n++) {
    journal
      .at(10 * n)
      .receive(["m"], 30)
      .at(10 * n + 6)
      .change(`m#${n}`, 0)
  }
  return journal.at(10 * times + 7).deadLettered("m")
}

/** Three receives, the answers of so many of them lost, and one release. */
const burnedBy = (lost: number) => {
  const journal = new Builder().sent("other").receive(["other"], 30).start("other#1").end("other#1").delete("other#1")
  journal.sent("m")
  for (let n = 1; n <= 3; n++) {
    journal.at(40 * n).receive(["m"], 30, n <= lost ? { outcome: failed("ECONNRESET"), effect: true } : {})
    if (n > lost) journal.at(40 * n + 1).change(`m#${n}`, 0)
  }
  return journal.at(200).deadLettered("m")
}

/** The first of a group ran, SQS failed at its delete, and its lease is over when another group's message comes. */
const deleteFailed = (next: number) =>
  new Builder()
    .sent("a", "g")
    .sent("b", "g")
    .sent("c", "h")
    .receive(["a"], 10)
    .start("a#1")
    .at(2)
    .end("a#1")
    .delete("a#1", { outcome: failed("ServiceUnavailable") })
    .receive(["b"], 30)
    .at(next)
    .receive(["c"], 30)
    .start("c#1")

const pairs: ReadonlyArray<{
  readonly invariant: string
  readonly passes: readonly [what: string, () => Builder, Invariants.Expectations]
  readonly caught: readonly [what: string, () => Builder, Invariants.Expectations]
}> = [
  {
    invariant: "nothingStranded",
    passes: [
      "a slot cut short by hand, and SQS had a fault: it may be cut",
      () => cutByHand("InternalError"),
      { drained: true }
    ],
    caught: ["and SQS was throttling: it is not", () => cutByHand("RequestThrottled"), { drained: true }]
  },
  {
    invariant: "nothingStranded",
    passes: [
      "its process slept when it came: it may have been there all the time",
      () => received().at(20).sent("later"),
      { drained: true, mayRunOut: true, stallMs: 10_000 }
    ],
    caught: [
      "its process was awake",
      () => received().at(20).sent("later"),
      { drained: true, mayRunOut: true, stallMs: 0 }
    ]
  },
  {
    invariant: "stopRunsNothing",
    passes: [
      "what cannot be decoded is for a policy to decide",
      () => received().at(20).sent("later"),
      { ...afterTheStop, neverRuns: (id) => id === "m" }
    ],
    caught: ["what can be is given back", () => received().at(20).sent("later"), afterTheStop]
  },
  {
    invariant: "stopRunsNothing",
    passes: ["a release waits for the beat that is on the wire", () => givenBackAfterABeatOf(5.5), afterTheStop],
    caught: ["and for nothing else", () => givenBackAfterABeatOf(2), afterTheStop]
  },
  {
    invariant: "neverRanNeverDead",
    passes: ["given back at its limit", () => releasedUnrun(3), { limitMs: 6_000 }],
    caught: ["given back long before", () => releasedUnrun(3), { limitMs: 60_000 }]
  },
  {
    invariant: "neverRanNeverDead",
    passes: ["received by another process", () => releasedUnrun(3), { process: "mine" }],
    caught: ["by whoever it is", () => releasedUnrun(3), {}]
  },
  {
    invariant: "neverRanNeverDead",
    passes: ["most answers were lost", () => burnedBy(2), {}],
    caught: ["most arrived", () => burnedBy(1), {}]
  },
  {
    invariant: "inHandWithinBounds",
    passes: [
      "the lease of the first of a group ended before SQS took its delete: the next is on its way back",
      () => deleteFailed(11),
      { concurrency: 1, kind: "fifo" }
    ],
    caught: ["while that lease lives the next waits", () => deleteFailed(5), { concurrency: 1, kind: "fifo" }]
  }
]

describe("Invariants: what a consumer knows", () => {
  for (const { caught, invariant, passes } of pairs) {
    it(`${invariant}: ${passes[0]}`, () => {
      assert.notInclude(broken(passes[1](), passes[2]), invariant)
    })
    it(`${invariant}: ${caught[0]}`, () => {
      assert.include(broken(caught[1](), caught[2]), invariant)
    })
  }

  it("an extension that keeps a lease while its release is held is no settlement", () => {
    const journal = running()
      .at(5)
      .end("m#1", "failure")
      .change("m#1", 120, { takes: 1 })
      .at(6)
      .change("m#1", 1, { takes: 1 })
      .at(7)
    assert.deepStrictEqual(broken(journal), [])
  })

  it("nor is one without an answer: a release follows at once, and is no other try of it", () => {
    const again = (seconds: number) =>
      running()
        .at(5)
        .end("m#1", "failure")
        .change("m#1", 10, { takes: 1, outcome: { _tag: "Interrupted" } })
        .at(6)
        .change("m#1", seconds)
        .at(7)
    assert.notInclude(broken(again(0)), "retriedByClass")
    assert.include(broken(again(9)), "retriedByClass")
  })

  it("a release that follows a release is", () => {
    const journal = running()
      .at(5)
      .end("m#1", "failure")
      .change("m#1", 3, { takes: 1 })
      .at(6)
      .change("m#1", 1, { takes: 1 })
      .at(7)
    assert.deepStrictEqual(broken(journal), ["settledOnce"])
  })
})
