import * as Duration from "effect/Duration"
import type { Settled } from "../Settlement.js"
import type { Forker } from "./fork.js"

/** What a group needs to know of its members. */
export interface Member {
  readonly phase: "waiting" | "running" | "ending" | "settled"
  readonly messageId: string
  readonly message: { readonly groupId: string | undefined }
  readonly lease: { readonly remainingMs: number }
  readonly giveBack: (after: Duration.DurationInput) => void
}

interface Group<M> {
  /** whose turn it is; `undefined`: the group waits behind a failure for its head to come back */
  head: M | undefined
  /** in the order of their receives */
  behind: Array<M>
  /** of the head that failed */
  readonly failed: { readonly messageId: string; readonly cancel: () => void } | undefined
}

/** How much longer than the head that failed its first follower stays hidden: the head must get here first. */
const BEHIND_HEAD_MS = 2_000
/** A follower is not held longer than that: its heartbeat would cost more than another receive. */
const LONGEST_HOLD_MS = 60_000

/**
 * FIFO order: inside a group one at a time, and the next starts after the previous is confirmed.
 *
 * When one fails, none of its group may overtake it. SQS hands out a group from its first message on, up to the first that
 * is hidden; so it is enough to keep the first follower hidden, and the others can go back at once. While that one stays
 * in hand, leased, the head comes back alone: however often it fails, what is behind it spends no receive counts, and
 * when it succeeds the follower starts at once.
 */
export class Groups<M extends Member> {
  private readonly groups = new Map<string, Group<M>>()
  private held = 0

  constructor(
    private readonly forker: Pick<Forker<never>, "after">,
    /** how many followers may be held: they take the room of other groups */
    private readonly mostHeld: number
  ) {}

  /** Whether this delivery may go on; else it waits behind its group. */
  enter(member: M): boolean {
    const id = idOf(member)
    const group = this.groups.get(id)
    if (group === undefined) {
      this.groups.set(id, { head: member, behind: [], failed: undefined })
      return true
    }
    if (group.failed !== undefined && group.failed.messageId === member.messageId) {
      this.closeGroup(id, group)
      this.groups.set(id, { head: member, behind: group.behind, failed: undefined })
      return true
    }
    group.behind.push(member)
    return false
  }

  /** A member has ended; the answer is the next of its group that may go on. */
  settled(member: M, settled: Settled): M | undefined {
    const id = idOf(member)
    const group = this.groups.get(id)
    if (group === undefined) return undefined
    if (group.head !== member) {
      this.leftBehind(id, group, member)
      return undefined
    }
    const waiting = group.behind.filter((m) => m.phase === "waiting")
    this.groups.delete(id)
    if (isGone(settled)) return this.next(id, waiting)
    // it is here again already: what came with it or after it is in order
    const again = waiting.findIndex((m) => m.messageId === member.messageId)
    if (again >= 0) {
      for (const m of waiting.slice(0, again)) m.giveBack(0)
      return this.next(id, waiting.slice(again))
    }
    this.afterFailure(id, member, hiddenMs(member, settled), waiting)
    return undefined
  }

  private next(id: string, waiting: ReadonlyArray<M>): M | undefined {
    const [head, ...behind] = waiting
    if (head !== undefined) this.groups.set(id, { head, behind, failed: undefined })
    return head
  }

  private afterFailure(id: string, head: M, headHiddenMs: number, waiting: ReadonlyArray<M>): void {
    const [first, ...others] = waiting
    if (first === undefined) return
    const ms = headHiddenMs + BEHIND_HEAD_MS
    const holds = this.held < this.mostHeld && ms <= LONGEST_HOLD_MS + BEHIND_HEAD_MS
    if (holds) {
      this.held++
      // the head went elsewhere, to another worker or to the dead letters
      const cancel = this.forker.after(ms, () => this.giveUp(id))
      this.groups.set(id, { head: undefined, behind: [first], failed: { messageId: head.messageId, cancel } })
    } else first.giveBack(Duration.millis(ms))
    for (const m of others) m.giveBack(0)
  }

  private giveUp(id: string): void {
    const group = this.groups.get(id)
    if (group?.failed === undefined) return
    this.closeGroup(id, group)
    for (const m of group.behind) if (m.phase === "waiting") m.giveBack(0)
  }

  private closeGroup(id: string, group: Group<M>): void {
    this.groups.delete(id)
    if (group.failed === undefined) return
    group.failed.cancel()
    this.held--
  }

  /** One that waited is gone, unrun: what follows it must not overtake it. */
  private leftBehind(id: string, group: Group<M>, member: M): void {
    const at = group.behind.indexOf(member)
    if (at < 0) return
    const after = group.behind.splice(at)
    if (group.head === undefined && group.behind.length === 0) this.closeGroup(id, group)
    for (const m of after) if (m.phase === "waiting") m.giveBack(0)
  }

  /** groups that wait behind a failure */
  get blocked(): number {
    return this.held
  }
}

const idOf = (member: Member) => member.message.groupId ?? ""

const isGone = ({ asked, confirmed }: Settled) => confirmed && (asked._tag === "Delete" || asked._tag === "DeadLetter")

/** for how long SQS keeps hiding a message that is not gone; 0: nobody knows */
const hiddenMs = (member: Member, { asked, confirmed }: Settled): number =>
  confirmed && asked._tag === "Release" ? Duration.toMillis(asked.after) : member.lease.remainingMs
