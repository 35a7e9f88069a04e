import { assert, describe, it } from "@effect/vitest"
import * as Journal from "@effect-sqs/testing/Journal"

const expired = (n: number): Journal.JournalEntry => ({
  _tag: "Expired",
  at: n,
  call: undefined,
  queue: "jobs",
  messageId: `m-${n}`
})
const times = (journal: Journal.Journal) => journal.entries.map((entry) => entry.at)

describe("Journal", () => {
  it("keeps everything in order", () => {
    const journal = Journal.make()
    for (let n = 0; n < 5; n++) journal.append(expired(n))
    assert.deepStrictEqual(times(journal), [0, 1, 2, 3, 4])
    assert.isTrue(journal.enabled)
  })

  it("keeps the last n, oldest first, and counts all", () => {
    const journal = Journal.make(3)
    for (let n = 0; n < 8; n++) journal.append(expired(n))
    assert.deepStrictEqual(times(journal), [5, 6, 7])
    assert.strictEqual(journal.appended, 8)
    journal.clear()
    journal.append(expired(9))
    assert.deepStrictEqual(times(journal), [9])
  })

  it("keeps nothing when off", () => {
    const journal = Journal.make("off")
    journal.append(expired(1))
    assert.deepStrictEqual(times(journal), [])
    assert.isFalse(journal.enabled)
  })

  it("gives a copy", () => {
    const journal = Journal.make()
    journal.append(expired(1))
    const before = journal.entries
    journal.append(expired(2))
    assert.strictEqual(before.length, 1)
  })
})
