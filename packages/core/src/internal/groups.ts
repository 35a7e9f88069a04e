import * as Duration from "effect/Duration"
import type { Settled } from "../Settlement.js"

/** What a group needs to know of its members. */
export interface Member {
  readonly phase: "waiting" | "running" | "ending" | "settled"
  readonly message: { readonly groupId: string | undefined }
  readonly giveBack: (after: Duration.DurationInput) => void
}

/**
 * How much longer than the head its followers stay hidden. When the head is visible again it is received alone, so that
 * messages that never ran do not spend their receive counts on its failures.
 */
const BEHIND_HEAD = Duration.seconds(2)

/**
 * FIFO order: inside a group one at a time, and the next starts after the previous is confirmed. When one fails, the
 * rest of its group in hand is given back unrun, so that SQS hands them out in order again.
 */
export class Groups<M extends Member> {
  private readonly heads = new Map<string, M>()
  private readonly behind = new Map<string, Array<M>>()

  /** Whether this delivery may go on; else it waits behind its group. */
  enter(member: M): boolean {
    const id = member.message.groupId ?? ""
    if (!this.heads.has(id)) {
      this.heads.set(id, member)
      return true
    }
    const queue = this.behind.get(id)
    if (queue === undefined) this.behind.set(id, [member])
    else queue.push(member)
    return false
  }

  /** A member has ended; the answer is the next of its group that may go on. */
  settled(member: M, settled: Settled): M | undefined {
    const id = member.message.groupId ?? ""
    if (this.heads.get(id) !== member) {
      this.leftBehind(id, member)
      return undefined
    }
    this.heads.delete(id)
    const followers = this.behind.get(id)
    this.behind.delete(id)
    if (followers === undefined) return undefined
    const waiting = followers.filter((m) => m.phase === "waiting")
    const gone = settled.confirmed && (settled.asked._tag === "Delete" || settled.asked._tag === "DeadLetter")
    if (!gone) {
      const after =
        settled.asked._tag === "Release" && Duration.greaterThan(settled.asked.after, Duration.zero)
          ? Duration.sum(settled.asked.after, BEHIND_HEAD)
          : Duration.zero
      for (const m of waiting) m.giveBack(after)
      return undefined
    }
    const [next, ...rest] = waiting
    if (next === undefined) return undefined
    this.heads.set(id, next)
    if (rest.length > 0) this.behind.set(id, rest)
    return next
  }

  /** One that waited is gone, unrun: what follows it must not overtake it. */
  private leftBehind(id: string, member: M): void {
    const queue = this.behind.get(id)
    const at = queue?.indexOf(member) ?? -1
    if (queue === undefined || at < 0) return
    const after = queue.splice(at)
    if (queue.length === 0) this.behind.delete(id)
    for (const m of after) if (m.phase === "waiting") m.giveBack(0)
  }

  /** groups with something waiting behind their head */
  get blocked(): number {
    return this.behind.size
  }
}
