import { assert, describe, it } from "@effect/vitest"
import { JournalQuery } from "@effect-sqs/testing"
import { Builder, failed, refused, T0 } from "./journalBuilder.js"

const read = (b: Builder) => JournalQuery.read(b.entries)

/** kind, s after T0 when it was sent, and what came of it */
const told = (asks: ReadonlyArray<JournalQuery.Ask>) =>
  asks.map((a) => `${(a.sent.at - T0) / 1000} ${a.kind} ${a.outcome}`)

/** received twice: the first delivery's lease ran out, the second succeeded */
const twice = () =>
  new Builder()
    .sent("m")
    .at(1)
    .receive(["m"], 30, { takes: 0.2 })
    .at(1.5)
    .start("m#1")
    .at(21)
    .change("m#1", 30, { takes: 0.1 })
    .at(41)
    .change("m#1", 30, { outcome: failed("ServiceUnavailable") })
    .at(51)
    .end("m#1", "interrupted")
    .at(60)
    .receive(["m"], 30)
    .start("m#2")
    .at(80)
    .change("m#2", 30)
    .at(85)
    .end("m#2")
    .delete("m#2", { takes: 0.5 })
    .at(90)

describe("JournalQuery", () => {
  it("tells the deliveries of a message, each with its arrival, runs and end", () => {
    const view = read(twice())
    const [first, second, ...more] = JournalQuery.deliveriesOf(view, "m")
    assert.deepStrictEqual(more, [])
    assert.strictEqual(first?.received.at, T0 + 1000)
    assert.strictEqual(first?.arrived?.at, T0 + 1200)
    assert.deepStrictEqual(
      [first, second].map((d) => [d?.receiptHandle, d?.receiveCount, d?.runs.map((r) => r.outcome)]),
      [
        ["m#1", 1, ["interrupted"]],
        ["m#2", 2, ["success"]]
      ]
    )
    assert.strictEqual(JournalQuery.settlementOf(first!), undefined)
    assert.strictEqual(JournalQuery.settlementOf(second!)?.kind, "delete")
    assert.strictEqual(JournalQuery.settlementOf(second!)?.ended?.at, T0 + 85_500)
    assert.strictEqual(view.messages.get("m")?.end?._tag, "Deleted")
    assert.deepStrictEqual(JournalQuery.deliveriesOf(view, "unknown"), [])
  })

  it("tells the beats of all deliveries, with their answers", () => {
    assert.deepStrictEqual(told(JournalQuery.beatsOf(read(twice()), "m")), [
      "21 beat done",
      "41 beat failed",
      "80 beat done"
    ])
  })

  it("moves the deadline with what took effect, and with nothing else", () => {
    const [first] = JournalQuery.deliveriesOf(read(twice()), "m")
    assert.deepStrictEqual(
      first?.deadlines.map((d) => [(d.from.at - T0) / 1000, (d.until - T0) / 1000]),
      [
        [1, 31],
        [21, 51]
      ]
    )
    const beat = first?.asks[0]?.sent.index ?? 0
    assert.strictEqual(JournalQuery.deadlineAt(first!, beat), T0 + 31_000)
    assert.strictEqual(JournalQuery.deadlineAt(first!, beat + 1), T0 + 51_000)
  })

  it("knows an effect whose answer was lost, and an answer that never came", () => {
    const view = read(
      new Builder()
        .sent("m")
        .receive(["m"], 30)
        .start("m#1")
        .at(10)
        .change("m#1", 30, { outcome: { _tag: "Lost" }, effect: true })
        .at(20)
        .change("m#1", 30, { outcome: "open" })
        .at(25)
        .change("m#1", 30, { outcome: { _tag: "Interrupted" } })
        .at(26)
        .delete("m#1", { outcome: refused("InternalError", { senderFault: true }) })
        .delete("m#1")
    )
    const [delivery] = JournalQuery.deliveriesOf(view, "m")
    assert.deepStrictEqual(
      delivery?.asks.map((a) => [a.kind, a.outcome, a.tookEffect]),
      [
        ["beat", "lost", true],
        ["beat", "open", false],
        ["beat", "interrupted", false],
        ["delete", "refused", false],
        ["delete", "done", true]
      ]
    )
    assert.deepInclude(delivery?.asks[3], { code: "InternalError", senderFault: true })
    assert.deepStrictEqual(told(JournalQuery.settlementsOf(delivery!)), ["26 delete refused", "26 delete done"])
  })

  it("tells a release with a delay from a beat by the end of the run", () => {
    const released = new Builder().sent("m").receive(["m"], 30).start("m#1").at(15).change("m#1", 30).at(20)
    released.end("m#1", "failure").change("m#1", 10)
    assert.deepStrictEqual(told(JournalQuery.deliveriesOf(read(released), "m")[0]!.asks), [
      "15 beat done",
      "20 release done"
    ])
    // kept hidden while the delete is tried again: a beat
    const kept = new Builder().sent("m").receive(["m"], 30).start("m#1").at(20).end("m#1")
    kept
      .delete("m#1", { outcome: failed("ServiceUnavailable") })
      .at(25)
      .change("m#1", 30)
      .at(30)
      .delete("m#1")
    assert.deepStrictEqual(told(JournalQuery.beatsOf(read(kept), "m")), ["25 beat done"])
    // never run: visibility 0 gives back, more keeps
    const waiting = new Builder().sent("m").receive(["m"], 30).at(15).change("m#1", 30).at(20).change("m#1", 0)
    assert.deepStrictEqual(told(JournalQuery.deliveriesOf(read(waiting), "m")[0]!.asks), [
      "15 beat done",
      "20 release done"
    ])
  })

  it("sees runs that overlap, also one that never ends, and not those that only touch", () => {
    const two = (second: number, endFirst: boolean) => {
      const b = new Builder().sent("m").receive(["m"], 30).start("m#1").at(second).receive(["m"], 30)
      if (endFirst) b.end("m#1")
      return b.start("m#2").at(60).end("m#2")
    }
    assert.isTrue(JournalQuery.runsOverlap(read(two(31, false)), "m"))
    assert.isFalse(JournalQuery.runsOverlap(read(two(31, true)), "m"))
    assert.isFalse(JournalQuery.runsOverlap(read(twice()), "m"))
    assert.deepStrictEqual(
      JournalQuery.runsOf(read(two(31, true)), "m").map((r) => r.receiptHandle),
      ["m#1", "m#2"]
    )
  })

  it("a dead-lettered message keeps its life", () => {
    const life = read(new Builder().sent("m").receive(["m"], 30).at(31).deadLettered("m")).messages.get("m")
    assert.deepInclude(life?.deadLettered[0], { target: "dead", receiveCount: 1 })
    assert.strictEqual(life?.end, undefined)
  })
})
