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
  readonly head: M | undefined
  /** in the order of their receives */
  readonly behind: Array<M>
  /** what failed, or went back, before those that are behind; the last of it comes right before them */
  readonly failed: { readonly before: ReadonlyArray<string>; readonly cancel: () => void } | undefined
}

/** How much longer than the head that failed its followers stay hidden: the head must get here first. */
const BEHIND_HEAD_MS = 2_000
/** Followers are not held longer than that: they take the places of other groups. */
const LONGEST_HOLD_MS = 900_000

export interface GroupsOptions {
  /** how many followers may be held */
  readonly mostHeld: number
  /** whether leases last longer than SQS granted at the receive */
  readonly beats: boolean
}

/**
 * FIFO order: inside a group one at a time, and the next starts after the previous is confirmed.
 *
 * When one fails, none of its group may overtake it. SQS hands out a group from its first message on, up to the first that
 * is hidden. So while the followers stay in hand, leased, the head comes back alone: however often it fails, what is
 * behind it spends no receive counts, and when it succeeds they follow at once. When they are more than may be held, the
 * first is enough to keep the others where they are; those spend one receive.
 */
export class Groups<M extends Member> {
  private readonly groups = new Map<string, Group<M>>()
  /** followers behind failures */
  private held = 0
  /** groups that wait behind a failure */
  blocked = 0

  constructor(
    private readonly forker: Pick<Forker<never>, "after">,
    private readonly options: GroupsOptions
  ) {}

  /** those whose turn comes after a member that is in hand */
  get following(): number {
    let n = 0
    for (const { behind, head } of this.groups.values()) if (head !== undefined) n += behind.length
    return n
  }

  /** Whether this delivery may go on; else it waits behind its group. */
  enter(member: M): boolean {
    const id = idOf(member)
    const group = this.groups.get(id)
    if (group === undefined) {
      this.groups.set(id, { head: member, behind: [], failed: undefined })
      return true
    }
    const { behind, failed } = group
    if (failed !== undefined && failed.before.includes(member.messageId)) {
      const isNext = failed.before[failed.before.length - 1] === member.messageId
      this.closeGroup(id, group)
      this.groups.set(id, { head: member, behind: isNext ? behind : [], failed: undefined })
      // what went back after it must get here before them
      if (!isNext) giveBack(behind)
      return true
    }
    behind.push(member)
    if (failed !== undefined) this.held++
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
    const waiting = inOrder(group.behind)
    this.groups.delete(id)
    if (isGone(settled)) return this.next(id, waiting)
    // it is here again already: what came with it or after it is in order
    const again = waiting.findIndex((m) => m.messageId === member.messageId)
    if (again >= 0) {
      giveBack(waiting.slice(0, again))
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
    const [first] = waiting
    if (first === undefined) return
    const ms = headHiddenMs + BEHIND_HEAD_MS
    const lasts = this.options.beats || first.lease.remainingMs > ms
    const n = lasts && headHiddenMs <= LONGEST_HOLD_MS ? Math.min(this.room(), waiting.length) : 0
    if (n > 0) {
      this.held += n
      this.hold(id, [head.messageId], waiting.slice(0, n), ms)
    } else first.giveBack(Duration.millis(ms))
    giveBack(waiting.slice(Math.max(1, n)))
  }

  /** How many more may be held: one at least, if another group holds more than its first. */
  private room(): number {
    const free = this.options.mostHeld - this.held
    if (free > 0) return free
    for (const { behind, failed } of this.groups.values()) {
      const last = behind[behind.length - 1]
      if (failed === undefined || behind.length < 2 || last!.phase !== "waiting") continue
      behind.pop()
      this.held--
      last!.giveBack(0)
      return 1
    }
    return 0
  }

  private hold(id: string, before: ReadonlyArray<string>, behind: ReadonlyArray<M>, ms: number): void {
    const cancel = this.forker.after(ms, () => this.goneElsewhere(id))
    this.groups.set(id, { head: undefined, behind: [...behind], failed: { before, cancel } })
    this.blocked++
  }

  /**
   * The head went elsewhere, to another worker or to the dead letters. Its first follower is given back, and is what the
   * others wait for: when it comes again it is first, and they have spent no receive.
   */
  private goneElsewhere(id: string): void {
    const group = this.groups.get(id)
    if (group?.failed === undefined) return
    this.closeGroup(id, group)
    const [first, ...others] = inOrder(group.behind)
    if (first === undefined) return
    if (others.length > 0) {
      this.held += others.length
      this.hold(id, [...group.failed.before, first.messageId], others, BEHIND_HEAD_MS)
    }
    first.giveBack(0)
  }

  private closeGroup(id: string, { behind, failed }: Group<M>): void {
    this.groups.delete(id)
    if (failed === undefined) return
    failed.cancel()
    this.held -= behind.length
    this.blocked--
  }

  /** One that waited is gone, unrun: what follows it must not overtake it. */
  private leftBehind(id: string, group: Group<M>, member: M): void {
    const at = group.behind.indexOf(member)
    if (at < 0) return
    const after = group.behind.splice(at)
    if (group.failed !== undefined) this.held -= after.length
    if (group.head === undefined && group.behind.length === 0) this.closeGroup(id, group)
    giveBack(after)
  }
}

/** Those that may go on. One that is on its way back already must not be overtaken: what is behind it goes back too. */
const inOrder = <M extends Member>(members: ReadonlyArray<M>): ReadonlyArray<M> => {
  const at = members.findIndex((m) => m.phase !== "waiting")
  if (at < 0) return members
  giveBack(members.slice(at))
  return members.slice(0, at)
}

const giveBack = (members: ReadonlyArray<Member>) => {
  for (const m of members) if (m.phase === "waiting") m.giveBack(0)
}

const idOf = (member: Member) => member.message.groupId ?? ""

const isGone = ({ asked, confirmed }: Settled) => confirmed && (asked._tag === "Delete" || asked._tag === "DeadLetter")

/** for how long SQS keeps hiding a message that is not gone; 0: nobody knows */
const hiddenMs = (member: Member, { asked, confirmed }: Settled): number =>
  confirmed && asked._tag === "Release" ? Duration.toMillis(asked.after) : member.lease.remainingMs
