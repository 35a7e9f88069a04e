/** The books of a redrive: one outcome for each message received, what was sent and how it settled, and when it is too much. */
import type { DeadLetter } from "../DeadLetter.js"
import { AttributeName, textOf } from "../DeadLetter.js"
import type { Past } from "../RedriveAudit.js"
import type { RedriveLimits } from "../RedrivePlan.js"
import type { RedriveCounts, RedriveOutcome, RedriveReport } from "../RedriveReport.js"

export interface Attempt {
  readonly messageId: string
  readonly originalMessageId: string
  readonly newMessageId: string | undefined
  readonly groupId: string | undefined
  readonly namespace: string | undefined
  readonly key: string | undefined
  state: "pending" | "completed" | "failed"
}

/** below so many a share says little */
const FEWEST_FOR_SHARE = 10

export class Books {
  private readonly outcomes = new Map<string, { readonly outcome: RedriveOutcome; readonly why: string } | undefined>()
  /** in the order of sending, earlier runs included; refused sends are attempts that failed */
  readonly attempts: Array<Attempt> = []
  private readonly byNewId = new Map<string, Attempt>()
  private readonly keys = new Set<string>()

  constructor(
    private readonly redriveId: string,
    private readonly limits: RedriveLimits,
    past: ReadonlyMap<string, Past>
  ) {
    for (const p of past.values()) {
      if (p.state === "refused") continue
      const { key, namespace } = p.sending
      if (key !== undefined) this.reserveKey(namespace ?? "", key)
      this.attempted({ ...p.sending, newMessageId: p.newMessageId }, p.settled ?? "pending")
    }
  }

  /** `false`: this message was received before, in this run */
  receive(messageId: string): boolean {
    if (this.outcomes.has(messageId)) return false
    this.outcomes.set(messageId, undefined)
    return true
  }

  set(messageId: string, outcome: RedriveOutcome, why: string): void {
    this.outcomes.set(messageId, { outcome, why })
  }

  outcomeOf(messageId: string): RedriveOutcome | undefined {
    return this.outcomes.get(messageId)?.outcome
  }

  /** Notes a send, before it is known how it ended. */
  attempted(
    of: {
      readonly messageId: string
      readonly originalMessageId: string
      readonly newMessageId: string | undefined
      readonly groupId?: string | undefined
      readonly namespace?: string | undefined
      readonly key?: string | undefined
    },
    state: Attempt["state"]
  ): void {
    const attempt: Attempt = {
      messageId: of.messageId,
      originalMessageId: of.originalMessageId,
      newMessageId: of.newMessageId,
      groupId: of.groupId,
      namespace: of.namespace,
      key: of.key,
      state
    }
    // one that nobody knew the end of is sent again: it takes the place of the first
    const before = this.attempts.findIndex((a) => a.messageId === of.messageId && a.newMessageId === undefined)
    if (before >= 0) this.attempts.splice(before, 1)
    this.attempts.push(attempt)
    if (of.newMessageId !== undefined) this.byNewId.set(of.newMessageId, attempt)
  }

  /** Notes that a message of this key is sent. */
  reserveKey(namespace: string, key: string): void {
    this.keys.add(JSON.stringify([namespace, key]))
  }

  /** whether this redrive sends, sent, or may have sent a message of this key */
  hasKey(namespace: string, key: string): boolean {
    return this.keys.has(JSON.stringify([namespace, key]))
  }

  /** whether SQS gave this id to the copy of another message */
  isTaken(newMessageId: string): boolean {
    return this.byNewId.has(newMessageId)
  }

  /** The send whose copy came back as this dead letter; `true` when it is one of ours and nobody knows which. */
  returnedFrom(letter: DeadLetter): Attempt | true | undefined {
    const recorded = letter.message.attributes[AttributeName.messageId]
    const found =
      this.byNewId.get(letter.messageId) ?? (recorded === undefined ? undefined : this.byNewId.get(textOf(recorded)))
    if (found !== undefined) return found
    if (letter.redriveId !== this.redriveId) return undefined
    return this.attempts.find((a) => a.originalMessageId === letter.originalMessageId && a.state === "pending") ?? true
  }

  pending(): ReadonlyArray<Attempt> {
    return this.attempts.filter((a) => a.state === "pending")
  }

  /** how many may still be sent: what SQS has or may have counts, what it refused does not */
  left(): number {
    const used = this.attempts.filter((a) => a.state !== "failed" || a.newMessageId !== undefined).length
    return Math.max(0, this.limits.total - used)
  }

  /** why to stop, if too many failed again */
  tooMany(): string | undefined {
    const { stopInARow, stopPercent } = this.limits
    let inARow = 0
    let failed = 0
    for (const { state } of this.attempts) {
      inARow = state === "failed" ? inARow + 1 : 0
      if (state === "failed") failed++
      if (inARow >= stopInARow) return `${inARow} messages in a row failed again`
    }
    const percent = (100 * failed) / Math.max(1, this.attempts.length)
    return this.attempts.length >= FEWEST_FOR_SHARE && percent > stopPercent
      ? `${failed} of ${this.attempts.length} messages sent failed again (${Math.round(percent)} %, the limit is ${stopPercent} %)`
      : undefined
  }

  /** how many are in hand, and nothing is decided yet */
  undecided(): number {
    let n = 0
    for (const o of this.outcomes.values()) if (o === undefined) n++
    return n
  }

  counts(): RedriveCounts {
    const counts = { received: this.outcomes.size, sent: 0, deleted: 0, kept: 0, failed: 0, unknown: 0 }
    for (const o of this.outcomes.values()) counts[o?.outcome ?? "kept"]++
    return counts
  }

  reasons(undecided: string): RedriveReport["reasons"] {
    const counted = new Map<string, { outcome: RedriveOutcome; why: string; count: number }>()
    for (const o of this.outcomes.values()) {
      const { outcome, why } = o ?? { outcome: "kept" as const, why: undecided }
      const id = `${outcome} ${why}`
      const found = counted.get(id)
      if (found === undefined) counted.set(id, { outcome, why, count: 1 })
      else found.count++
    }
    return [...counted.values()].sort((a, b) => b.count - a.count)
  }

  settled(): RedriveReport["settled"] {
    const settled = { completed: 0, failed: 0, pending: 0 }
    for (const { state } of this.attempts) settled[state]++
    return settled
  }
}
