import { assert, describe, it } from "@effect/vitest"
import { Groups, type Member } from "../src/internal/groups.js"
import { Delete, Leave, Release, type Settled } from "../src/Settlement.js"

/** A member as the dispatcher has it in hand; `back` holds what was given back, in that order. */
class Waiting implements Member {
  phase: Member["phase"] = "waiting"
  readonly message: { readonly groupId: string }
  readonly lease = { remainingMs: 30_000 }

  constructor(
    readonly messageId: string,
    private readonly back: Array<string>,
    groupId: string
  ) {
    this.message = { groupId }
  }

  giveBack(): void {
    this.phase = "ending"
    this.back.push(this.messageId)
  }
}

const stage = (mostHeld = 10) => {
  const back: Array<string> = []
  let alarm: (() => void) | undefined
  const forker = {
    after: (_ms: number, f: () => void) => {
      alarm = f
      return () => {
        alarm = undefined
      }
    }
  }
  const groups = new Groups<Waiting>(forker, { mostHeld, beats: true })
  const receiveOf = (groupId: string, ...ids: ReadonlyArray<string>) =>
    ids.map((id) => {
      const member = new Waiting(id, back, groupId)
      groups.enter(member)
      return member
    })
  const receive = (...ids: ReadonlyArray<string>) => receiveOf("g", ...ids)
  return { back, groups, receive, receiveOf, ring: () => alarm?.() }
}

const deleted: Settled = { asked: Delete, confirmed: true, problem: undefined }
const failed: Settled = { asked: Release("10 seconds"), confirmed: true, problem: undefined }
const left: Settled = { asked: Leave, confirmed: true, problem: undefined }

describe("the order of a group", () => {
  it("one that is on its way back is not overtaken when its head is done", () => {
    const { back, groups, receive } = stage()
    const [head, first, second, third] = receive("head", "first", "second", "third")
    first!.giveBack()
    assert.isUndefined(groups.settled(head!, deleted))
    assert.deepStrictEqual(back, ["first", "second", "third"])
    assert.deepStrictEqual([second!.phase, third!.phase], ["ending", "ending"])
  })

  it("what is before one that is on its way back goes on, and what is behind it goes back", () => {
    const { back, groups, receive } = stage()
    const [head, first, second] = receive("head", "first", "second", "third")
    second!.giveBack()
    assert.strictEqual(groups.settled(head!, deleted), first)
    assert.deepStrictEqual(back, ["second", "third"])
    assert.isUndefined(groups.settled(first!, deleted))
  })

  it("one that is on its way back is not overtaken when its head fails", () => {
    const { back, groups, receive } = stage()
    const [head, , second] = receive("head", "first", "second", "third")
    second!.giveBack()
    assert.isUndefined(groups.settled(head!, failed))
    // the first is held, and the head comes back alone
    assert.deepStrictEqual(back, ["second", "third"])
    assert.strictEqual(groups.blocked, 1)
  })

  for (const [which, room] of [
    [0, 2],
    [1, 1]
  ] as const) {
    it(`what is left behind number ${which + 1} that went makes room to hold ${room} of others`, () => {
      const { back, groups, receive, receiveOf } = stage(2)
      const [head, ...held] = receive("head", "first", "second")
      groups.settled(head!, failed)
      held[which]!.giveBack()
      groups.settled(held[which]!, left)
      assert.deepStrictEqual(back, ["first", "second"].slice(which))
      assert.strictEqual(groups.blocked, which)
      const [other, ...behind] = receiveOf("h", "other", "next", "last")
      groups.settled(other!, failed)
      assert.strictEqual(behind.filter((m) => m.phase === "waiting").length, room)
    })
  }

  it("one that is on its way back is not overtaken when its head went elsewhere", () => {
    const { back, groups, receive, ring } = stage()
    const [head, first] = receive("head", "first", "second", "third")
    groups.settled(head!, left)
    assert.deepStrictEqual(back, [])
    first!.giveBack()
    ring()
    assert.deepStrictEqual(back, ["first", "second", "third"])
    assert.strictEqual(groups.blocked, 0)
  })
})
