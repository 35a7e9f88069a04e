/** What a redrive takes in: messages received, those that came back noticed, the others decided one after the other. */
import type { ReceivedMessage, Sqs } from "@effect-sqs/core/Sqs"
import type { SqsError } from "@effect-sqs/core/SqsError"
import * as Effect from "effect/Effect"
import { type DeadLetter, fromMessage } from "../DeadLetter.js"
import type { FileUnusable, LedgerUnavailable } from "../DeadLetterError.js"
import type { AuditLog, AuditStep } from "../RedriveAudit.js"
import type { RedrivePlan } from "../RedrivePlan.js"
import { BATCH } from "./deadLetterCalls.js"
import type { Hand } from "./deadLetterHand.js"
import type { Books } from "./redriveBooks.js"
import { type Copy, copyOf } from "./redriveCopy.js"
import { decide, type Decision, type Rules } from "./redriveDecide.js"

export type Phase = "canary" | "waiting for the canary" | "sending" | "waiting"

export interface Parts {
  readonly plan: RedrivePlan
  readonly sqs: Sqs["Type"]
  readonly hand: Hand
  readonly audit: AuditLog
  readonly books: Books
  readonly rules: Rules
  readonly progress: (phase: Phase) => Effect.Effect<void>
}

export type RunError = SqsError | FileUnusable | LedgerUnavailable

export interface Outgoing {
  readonly letter: DeadLetter
  readonly decision: Extract<Decision, { readonly _tag: "Send" }>
  readonly copy: Copy
}

const maxBatchBytes = 1_048_576
/** a batch with all its repetitions takes less */
const leastLeaseMs = 60_000
const emptyReceives = 2
/** messages that wait in hand: while all of a queue is in hand, what comes is what came back */
const mostWaiting = 1000
const mostWaitingChars = 100_000_000
export const CAME_BACK = "came back after this redrive sent it"

export const makeIntake = ({ audit, books, hand, plan, rules }: Parts) => {
  const queue: Array<DeadLetter> = []
  let bytes = 0
  const stoppedGroups = new Set<string>()

  const stopGroup = (letter: DeadLetter) => {
    const { groupId } = letter.message
    if (rules.fifo && groupId !== undefined) stoppedGroups.add(groupId)
  }

  /** Notes what came; answers the steps to log. */
  const accept = (message: ReceivedMessage): Array<AuditStep> => {
    const letter = fromMessage(message)
    const { messageId } = letter
    const isNew = books.receive(messageId)
    if (!isNew && (books.outcomeOf(messageId) !== undefined || queue.some((l) => l.messageId === messageId))) return []
    const attempt = books.returnedFrom(letter)
    if (attempt === undefined) {
      queue.push(letter)
      bytes += message.body.length
      return []
    }
    books.set(messageId, "kept", CAME_BACK)
    stopGroup(letter)
    if (attempt === true || attempt.state === "failed") return []
    attempt.state = "failed"
    return [{ step: "returned", messageId: attempt.messageId, as: messageId }]
  }

  /** One receive; answers how many messages it gave. */
  const look = (waitSeconds: number): Effect.Effect<number, RunError> =>
    Effect.uninterruptible(
      Effect.flatMap(hand.receive(BATCH, waitSeconds), (messages) =>
        Effect.as(audit.append(messages.flatMap(accept)), messages.length)
      )
    )

  /** Receives until there is something to decide; `false`: there is nothing more. */
  const fill = (waitSeconds: number): Effect.Effect<boolean, RunError> =>
    Effect.gen(function* () {
      const before = queue.length
      for (let empty = 0; empty < (waitSeconds === 0 ? 1 : emptyReceives);) {
        if (books.counts().received >= plan.limits.scan) return false
        if ((yield* look(waitSeconds)) === 0) empty++
        if (queue.length > before) return true
      }
      return false
    })

  /** Takes the next one whose group, on a FIFO queue, is not among these. */
  const next = (groups: ReadonlySet<string>): DeadLetter | undefined => {
    const at = queue.findIndex(
      ({ message: { groupId } }) => !rules.fifo || groupId === undefined || !groups.has(groupId)
    )
    if (at < 0) return undefined
    const [letter] = queue.splice(at, 1)
    bytes -= letter!.message.body.length
    return letter
  }

  /** Puts back what waits in these groups, so that what came back behind it can be seen. */
  const letGo = (groups: ReadonlySet<string>): Effect.Effect<void> =>
    Effect.suspend(() => {
      const gone = queue.filter(({ message: { groupId } }) => groupId !== undefined && groups.has(groupId))
      for (const letter of gone) {
        queue.splice(queue.indexOf(letter), 1)
        bytes -= letter.message.body.length
      }
      return Effect.asVoid(hand.release(gone.map((l) => l.messageId)))
    })

  return {
    look,
    fill,
    next,
    letGo,
    stopGroup,
    putBack: (letter: DeadLetter) => {
      queue.unshift(letter)
      bytes += letter.message.body.length
    },
    isStopped: (letter: DeadLetter) =>
      letter.message.groupId !== undefined && stoppedGroups.has(letter.message.groupId),
    hasRoom: () => queue.length < mostWaiting && bytes < mostWaitingChars && books.counts().received < plan.limits.scan
  }
}

export type Intake = ReturnType<typeof makeIntake>

/** Whether an earlier run left something open that has not been met yet. */
export const isOpen = ({ books, rules }: Parts, met?: ReadonlySet<string>): boolean =>
  [...rules.past].some(
    ([id, p]) => !p.isDeleted && p.state !== "refused" && books.outcomeOf(id) === undefined && met?.has(id) !== true
  )

/** how many the plan would have deleted without a send, less those that are deleted */
export const deletesLeft = ({ audit, books, plan }: Parts): number =>
  plan.delete.reduce((sum, { count }) => sum + count, 0) - audit.deletedUnsent - books.counts().deleted

/**
 * Decides until there is a batch, or nothing is left. At most `left` that are new to this plan are sent; `undefined`: only what
 * an earlier run left open is dealt with. What is to be deleted without a send is deleted here.
 */
export const gather = (
  parts: Parts,
  intake: Intake,
  max: number,
  left: number | undefined
): Effect.Effect<ReadonlyArray<Outgoing>, RunError> =>
  Effect.gen(function* () {
    const { audit, books, hand, plan, rules } = parts
    const batch: Array<Outgoing> = []
    const groups = new Set<string>()
    const later: Array<DeadLetter> = []
    const met = new Set<string>()
    let fresh = 0
    const steps: Array<AuditStep> = []
    const deletes: Array<{ readonly messageId: string; readonly why: string }> = []
    let bytes = 0

    const keep = (letter: DeadLetter, outcome: "kept" | "unknown" | "failed", why: string, stopsGroup: boolean) => {
      books.set(letter.messageId, outcome, why)
      steps.push({ step: "decided", messageId: letter.messageId, action: "keep", why })
      if (stopsGroup) intake.stopGroup(letter)
    }
    const flush = Effect.uninterruptible(
      Effect.gen(function* () {
        yield* audit.append(steps.splice(0))
        const ids = deletes.splice(0)
        const removed = yield* hand.remove(ids.map((d) => d.messageId))
        for (const { messageId, why } of ids) {
          if (removed.has(messageId)) books.set(messageId, "deleted", why)
          else books.set(messageId, "kept", `${why}, but its delete was not confirmed: run again`)
        }
        yield* audit.append([...removed].map((messageId) => ({ step: "deleted", messageId })))
      })
    )

    const goesOn = () =>
      left === undefined ? isOpen(parts, met) : fresh < left || deletesLeft(parts) - deletes.length > 0
    while (batch.length < max && goesOn()) {
      const letter = intake.next(groups)
      if (letter === undefined) {
        if (yield* intake.fill(batch.length > 0 ? 0 : 1)) continue
        // on a FIFO queue a delete makes the next of its group visible
        if (batch.length > 0 || deletes.length === 0 || !rules.fifo) break
        yield* flush
        continue
      }
      met.add(letter.messageId)
      const isNew = !rules.past.has(letter.messageId)
      if (isNew && left === undefined) {
        later.push(letter)
        continue
      }
      if (intake.isStopped(letter)) {
        keep(letter, "kept", "a message before it in its group was kept or failed", true)
        continue
      }
      if ((yield* hand.remainingMs(letter.messageId)) < Math.min(leastLeaseMs, plan.limits.visibilitySeconds * 500)) {
        keep(letter, "kept", "its lease was lost: somebody else may have it", true)
        continue
      }
      const decision = yield* decide(rules, letter)
      if (decision._tag === "Keep") keep(letter, decision.outcome, decision.why, decision.stopsGroup)
      else if (decision._tag === "Delete") {
        steps.push({ step: "decided", messageId: letter.messageId, action: "delete", why: decision.why })
        deletes.push({ messageId: letter.messageId, why: decision.why })
        if (deletes.length === BATCH) yield* flush
      } else if (isNew && left !== undefined && fresh >= left) {
        keep(letter, "kept", `not sent: the plan sends ${plan.limits.total}`, true)
      } else {
        const { maxBytes } = decision.to
        const copy = copyOf(letter, { id: plan.id, fifo: rules.fifo, maxBytes })
        if (copy.bytes > maxBytes) {
          keep(letter, "failed", `longer than ${decision.to.name} takes (${maxBytes} bytes)`, true)
        } else if (bytes + copy.bytes > maxBatchBytes) {
          intake.putBack(letter)
          break
        } else {
          bytes += copy.bytes
          batch.push({ letter, decision, copy })
          if (isNew) fresh++
          if (letter.message.groupId !== undefined) groups.add(letter.message.groupId)
          if (decision.key !== undefined) books.reserveKey(decision.namespace ?? "", decision.key)
        }
      }
    }
    yield* flush
    for (const letter of later.reverse()) intake.putBack(letter)
    return batch
  })
