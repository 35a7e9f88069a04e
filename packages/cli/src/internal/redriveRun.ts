/**
 * The run of a redrive: take, decide, send, delete what SQS confirmed, again. What cannot be taken back is in the audit log
 * before it is done.
 */
import type { SqsError } from "@effect-sqs/core/SqsError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { AuditStep } from "../RedriveAudit.js"
import { BATCH, patiently } from "./deadLetterCalls.js"
import type { Attempt } from "./redriveBooks.js"
import type { Destination } from "./redriveDecide.js"
import {
  deletesLeft,
  gather,
  type Intake,
  isOpen,
  makeIntake,
  type Outgoing,
  type Parts,
  type RunError
} from "./redriveIntake.js"
import { send, type SendOutcome } from "./redriveSend.js"

/** SQS hides a message for 12 h at most */
const longestRunMs = 11 * 3_600_000
/** batches between two looks at how full the targets are */
const backlogEvery = 10
const pollMs = 1000
const lookupsAtOnce = 8
/** at a FIFO queue that was let go: ten groups or more */
const mostLooks = 10

/** batches one after another without an answer: more of them would only be more of which nothing is known */
const mostUnanswered = 3

/** errors of a send after which further ones would fail too */
const endsTheRun: ReadonlySet<SqsError["_tag"]> = new Set([
  "AccessDenied",
  "QueueMissing",
  "CredentialsExpired",
  "NetworkError"
])

const sendingStep = ({ copy, decision, letter }: Outgoing): AuditStep => ({
  step: "sending",
  messageId: letter.messageId,
  originalMessageId: letter.originalMessageId,
  to: decision.to.url,
  redriveCount: letter.redrives + 1,
  key: decision.key,
  namespace: decision.namespace,
  groupId: letter.message.groupId,
  deduplicationId: copy.entry.deduplicationId,
  ...(copy.omitted.length === 0 ? {} : { omitted: copy.omitted })
})

interface Dispatched {
  /** why the run has to end, if so */
  readonly end: string | undefined
  /** the error, when of none of the batch it is known that SQS took it */
  readonly unanswered: string | undefined
}

/** Sends a batch, then deletes what SQS took. */
const dispatch = (
  { audit, books, hand, sqs }: Parts,
  intake: Intake,
  batch: ReadonlyArray<Outgoing>
): Effect.Effect<Dispatched, RunError> =>
  Effect.uninterruptible(
    Effect.gen(function* () {
      yield* audit.append(batch.map(sendingStep))
      // until more is known
      for (const { letter } of batch) books.set(letter.messageId, "unknown", "it was being sent when the run stopped")
      const byTarget = new Map<Destination, Array<Outgoing>>()
      for (const one of batch) {
        const { to } = one.decision
        const same = byTarget.get(to)
        if (same === undefined) byTarget.set(to, [one])
        else same.push(one)
      }
      const steps: Array<AuditStep> = []
      const sent: Array<string> = []
      let end: string | undefined
      let unanswered: string | undefined
      const note = (one: Outgoing, given: SendOutcome) => {
        const { letter } = one
        const { messageId } = letter
        const { groupId } = letter.message
        const outcome: SendOutcome | "taken" =
          given._tag === "Sent" && books.isTaken(given.sent.messageId) ? "taken" : given
        const newMessageId = outcome !== "taken" && outcome._tag === "Sent" ? outcome.sent.messageId : undefined
        const isRefused = outcome !== "taken" && outcome._tag === "Refused"
        const { key, namespace } = one.decision
        const { originalMessageId } = letter
        books.attempted(
          { messageId, originalMessageId, newMessageId, groupId, namespace, key },
          isRefused ? "failed" : "pending"
        )
        if (outcome === "taken") {
          const error = "SQS took it for a copy that it has already"
          books.set(messageId, "unknown", error)
          steps.push({ step: "unknown", messageId, error })
        } else if (outcome._tag === "Sent") {
          sent.push(messageId)
          const { sequenceNumber } = outcome.sent
          steps.push({ step: "sent", messageId, newMessageId: outcome.sent.messageId, sequenceNumber })
        } else {
          const error = `${outcome.error.code}: ${outcome.error.detail}`
          const isUnknown = outcome._tag === "Unknown"
          books.set(
            messageId,
            isUnknown ? "unknown" : "failed",
            isUnknown
              ? "no answer to its send: SQS may have it, or not"
              : `not taken by ${one.decision.to.name}: ${error}`
          )
          steps.push({ step: isUnknown ? "unknown" : "refused", messageId, error })
          if (isUnknown) unanswered = outcome.error.message
          else if (endsTheRun.has(outcome.error._tag)) end = outcome.error.message
        }
        if (newMessageId === undefined) intake.stopGroup(letter)
      }
      for (const [to, some] of byTarget) {
        const outcomes = yield* send(
          sqs,
          to.url,
          some.map((one) => one.copy.entry)
        )
        some.forEach((one, i) => note(one, outcomes[i]!))
      }
      yield* audit.append(steps)
      const removed = yield* hand.remove(sent)
      for (const one of batch) {
        const { messageId } = one.letter
        if (removed.has(messageId)) books.set(messageId, "sent", `to ${one.decision.to.name}`)
        else if (sent.includes(messageId)) {
          books.set(messageId, "unknown", "sent, but its delete was not confirmed: run again, it is not sent twice")
          intake.stopGroup(one.letter)
        }
      }
      yield* audit.append([...removed].map((messageId) => ({ step: "deleted", messageId })))
      return { end, unanswered: sent.length === 0 ? unanswered : undefined }
    })
  )

/** Asks the ledger how the jobs of these messages ended. */
const settleByLedger = ({ audit, books, rules }: Parts): Effect.Effect<void, RunError> =>
  Effect.suspend(() => {
    const { ledger } = rules
    if (ledger === undefined) return Effect.void
    const steps: Array<AuditStep> = []
    const ask = (attempt: Attempt) =>
      attempt.key === undefined
        ? Effect.void
        : Effect.map(ledger(attempt.namespace ?? "", attempt.key), ({ state }) => {
            const isDone = state === "completed"
            if (!isDone && state !== "rejected" && state !== "unknown" && state !== "review") return
            attempt.state = isDone ? "completed" : "failed"
            steps.push({ step: "settled", messageId: attempt.messageId, state })
          })
    return Effect.zipRight(
      Effect.forEach(books.pending(), ask, { concurrency: lookupsAtOnce, discard: true }),
      Effect.suspend(() => audit.append(steps))
    )
  })

/** Waits until all that was sent is settled, or the time is over, or it is too much. */
const settle = (parts: Parts, intake: Intake, phase: "waiting for the canary" | "waiting") =>
  Effect.gen(function* () {
    const { books, plan, progress, rules } = parts
    const until = (yield* Clock.currentTimeMillis) + plan.limits.settleMs
    for (;;) {
      yield* settleByLedger(parts)
      const got = intake.hasRoom() ? yield* intake.look(1) : 0
      yield* progress(phase)
      if (books.pending().length === 0 || books.tooMany() !== undefined) return
      if ((yield* Clock.currentTimeMillis) >= until) break
      if (got === 0) yield* Effect.sleep(pollMs)
    }
    if (!rules.fifo) return
    // on a FIFO queue a copy that came back is behind those of its group that are in hand
    yield* intake.letGo(new Set(books.pending().flatMap((a) => a.groupId ?? [])))
    for (let n = 0; n < mostLooks && intake.hasRoom() && (yield* intake.look(1)) > 0; n++);
  })

const tooFull = ({ plan, sqs }: Parts) =>
  Effect.gen(function* () {
    const { maxBacklog } = plan.limits
    if (maxBacklog === null) return undefined
    for (const { name, url } of plan.destinations) {
      const { messages } = yield* patiently(sqs.attributes(url))
      if (messages > maxBacklog) {
        return `${name} holds about ${messages} messages, the limit is ${maxBacklog}: run again when its workers have caught up`
      }
    }
    return undefined
  })

const canaryVerdict = ({ books, plan, rules }: Parts): { readonly passed: boolean; readonly why: string } => {
  const { completed, failed, pending } = books.settled()
  const all = completed + failed + pending
  // without a ledger nothing says that a job is done: that it did not come back has to do
  const good = rules.ledger === undefined ? all - failed : completed
  const told =
    rules.ledger === undefined
      ? `${failed} of ${all} came back or were refused`
      : `${completed} of ${all} completed, ${failed} failed, ${pending} neither in time`
  return { passed: 100 * (all - good) <= plan.limits.stopPercent * all, why: told }
}

/** Answers why it stopped before all was done, or nothing. */
export const run = (parts: Parts): Effect.Effect<string | undefined, RunError> =>
  Effect.gen(function* () {
    const { audit, books, plan, progress, rules } = parts
    const { limits } = plan
    const intake = makeIntake(parts)
    const startedAt = yield* Clock.currentTimeMillis
    let nextAt = startedAt
    let unanswered = 0

    /** One batch at the rate; `done`: there was nothing to send. */
    const step = (left: number | undefined) =>
      Effect.gen(function* () {
        const batch = yield* gather(parts, intake, Math.min(Math.max(1, Math.ceil(limits.rate)), BATCH), left)
        if (batch.length === 0) return "done" as const
        const now = yield* Clock.currentTimeMillis
        if (nextAt > now) yield* Effect.sleep(nextAt - now)
        nextAt = Math.max(nextAt, now) + (1000 * batch.length) / limits.rate
        const dispatched = yield* dispatch(parts, intake, batch)
        unanswered = dispatched.unanswered === undefined ? 0 : unanswered + 1
        const end = dispatched.end ?? (unanswered < mostUnanswered ? undefined : dispatched.unanswered)
        return { sent: batch.length, end: end ?? books.tooMany() }
      })

    while (isOpen(parts)) {
      const result = yield* step(undefined)
      yield* progress("sending")
      if (result === "done") break
      if (result.end !== undefined) return result.end
    }
    const before = audit.canary === "failed" ? "the canary of an earlier run did not pass" : books.tooMany()
    if (before !== undefined) return `${before}: mend the cause, then make a new plan`
    const full = yield* tooFull(parts)
    if (full !== undefined) return full

    if (limits.canary > 0 && audit.canary !== "passed") {
      let left = Math.min(limits.canary - books.attempts.length, books.left())
      while (left > 0) {
        const result = yield* step(left)
        yield* progress("canary")
        if (result === "done") break
        if (result.end !== undefined) return result.end
        left -= result.sent
      }
      if (books.attempts.length > 0) {
        yield* settle(parts, intake, "waiting for the canary")
        const verdict = canaryVerdict(parts)
        yield* audit.append([{ step: "canary", ...verdict }])
        if (!verdict.passed) return `the canary did not pass: ${verdict.why}`
      }
    }
    for (let n = 1; books.left() > 0 || deletesLeft(parts) > 0; n++) {
      // what came back is seen only behind all others
      while (intake.hasRoom() && (yield* intake.look(0)) > 0);
      const again = books.tooMany() ?? (n % backlogEvery === 0 ? yield* tooFull(parts) : undefined)
      if (again !== undefined) return again
      const result = yield* step(books.left())
      yield* progress("sending")
      if (result === "done") break
      if (result.end !== undefined) return result.end
      if ((yield* Clock.currentTimeMillis) - startedAt > longestRunMs)
        return "it ran for 11 hours: run it again to go on"
    }
    if (rules.ledger !== undefined && books.pending().length > 0) yield* settle(parts, intake, "waiting")
    return (
      books.tooMany() ??
      (books.counts().received < limits.scan
        ? undefined
        : `${limits.scan} messages were received, more are not taken at once: run it again to go on`)
    )
  })
