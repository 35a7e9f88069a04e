import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "fast-check"
import { ExpiringMap } from "../src/internal/expiringMap.js"
import { Heap } from "../src/internal/heap.js"
import { generator, uuid } from "../src/internal/ids.js"
import * as Handle from "../src/internal/receiptHandle.js"

interface Item {
  readonly key: number
  place: number
}

describe("Heap", () => {
  it("gives its items in order, whatever is removed in between", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.integer({ min: -3, max: 60 }), { maxLength: 200 }), (actions) => {
        const heap = new Heap<"place", Item>("place", (a, b) => a.key < b.key)
        let held: Array<Item> = []
        for (const action of actions) {
          if (action >= 0) {
            const item = { key: action, place: -1 }
            heap.push(item)
            held.push(item)
          } else if (action === -1 && held.length > 0) {
            const gone = held[Math.floor(held.length / 2)]!
            heap.remove(gone)
            held = held.filter((item) => item !== gone)
            assert.isFalse(heap.has(gone))
          } else {
            const top = heap.pop()
            assert.strictEqual(top?.key, held.length === 0 ? undefined : Math.min(...held.map(({ key }) => key)))
            held = held.filter((item) => item !== top)
          }
          assert.strictEqual(heap.size, held.length)
          assert.isTrue(held.every((item) => heap.has(item)))
        }
      })
    )
  })
})

describe("ExpiringMap", () => {
  it("knows what was put in within its lifetime, the latest value of a key", () => {
    const map = new ExpiringMap<string>(1000)
    map.set("a", "first", 0)
    map.set("b", "b", 500)
    assert.strictEqual(map.get("a", 999), "first")
    assert.strictEqual(map.get("a", 1000), undefined)
    map.set("a", "second", 1000)
    assert.strictEqual(map.get("b", 1499), "b")
    assert.strictEqual(map.get("b", 1500), undefined)
    assert.strictEqual(map.get("a", 1999), "second")
  })

  it("an older entry of a key does not take the newer one along", () => {
    const map = new ExpiringMap<number>(1000)
    map.set("a", 1, 0)
    map.set("a", 2, 600)
    assert.strictEqual(map.get("a", 1200), 2)
    assert.strictEqual(map.get("a", 1600), undefined)
  })
})

describe("receipt handles", () => {
  it("say what they were issued for", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.nat(2 ** 31 - 1),
        FastCheck.nat(2 ** 31 - 1),
        FastCheck.integer({ min: 1, max: 2 ** 31 - 1 }),
        FastCheck.nat(),
        (queueUid, serial, receive, receivedAt) => {
          const handle = Handle.encode(queueUid, serial, receive, receivedAt)
          assert.isAtMost(handle.length, 1024)
          assert.deepStrictEqual(Handle.decode(handle), { queueUid, serial, receive, receivedAt })
        }
      )
    )
  })

  it("no other string is one", () => {
    const handle = Handle.encode(1, 2, 3, 4)
    FastCheck.assert(FastCheck.property(FastCheck.string(), (text) => Handle.decode(text) === undefined))
    FastCheck.assert(
      FastCheck.property(
        FastCheck.nat(handle.length - 1),
        FastCheck.constantFrom("A", "x", "0", "!"),
        (at, character) => {
          const changed = handle.slice(0, at) + character + handle.slice(at + 1)
          return changed === handle || Handle.decode(changed) === undefined
        }
      )
    )
  })
})

describe("ids", () => {
  it("are UUIDs that follow from the seed and do not repeat", () => {
    const ids = (seed: string) => {
      const next = generator(seed)
      return Array.from({ length: 10_000 }, () => uuid(next))
    }
    const first = ids("a")
    assert.deepStrictEqual(first, ids("a"))
    assert.strictEqual(new Set([...first, ...ids("b")]).size, 20_000)
    for (const id of first.slice(0, 100))
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })
})
