/**
 * Applies the plan of a redrive.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import { Sqs } from "@effect-sqs/core/Sqs"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { kindKey } from "./DeadLetter.js"
import { type DeadLetterError, Refused } from "./DeadLetterError.js"
import * as Hands from "./internal/deadLetterHand.js"
import { Books } from "./internal/redriveBooks.js"
import type { Rules } from "./internal/redriveDecide.js"
import type { Phase } from "./internal/redriveIntake.js"
import { run } from "./internal/redriveRun.js"
import * as Audit from "./RedriveAudit.js"
import { keyReader, type LedgerLook } from "./RedriveLedger.js"
import { RedriveMoveTasks } from "./RedriveMoveTasks.js"
import { hash, type RedrivePlan } from "./RedrivePlan.js"
import type { RedriveCounts, RedriveReport } from "./RedriveReport.js"

/**
 * Where a redrive is.
 *
 * @since 0.1.0
 * @category models
 */
export interface RedriveProgress {
  readonly phase: Phase
  readonly counts: RedriveCounts
  /** of those kept, how many are in hand and not decided yet */
  readonly undecided: number
  readonly settled: RedriveReport["settled"]
  /** how many the plan sends at most */
  readonly total: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ApplyOptions {
  readonly plan: RedrivePlan
  /** name of the dead-letter queue, as typed by who knows what this does */
  readonly confirm: string
  /** path of the audit log; an earlier one of the same plan is continued */
  readonly audit: string
  /** who does it, for the log */
  readonly actor: string
  /** needed when the plan was made with one */
  readonly ledger?: LedgerLook | undefined
  /** send again what an earlier run may have sent already, without knowing */
  readonly resendUnknown?: boolean | undefined
  readonly onProgress?: ((progress: RedriveProgress) => Effect.Effect<void>) | undefined
  /** told at the end, also when the redrive is interrupted; all is put back by then */
  readonly onReport?: ((report: RedriveReport) => Effect.Effect<void>) | undefined
}

const check = ({ confirm, ledger, plan }: ApplyOptions): Effect.Effect<void, Refused> => {
  if (confirm !== plan.queue.name) {
    return Effect.fail(
      new Refused({
        sentence: `This plan is for ${plan.queue.name}, but --confirm says ${confirm}: nothing was sent. Say --confirm ${plan.queue.name} if you mean it.`
      })
    )
  }
  if (plan.ledger && ledger === undefined) {
    return Effect.fail(
      new Refused({
        sentence: "This plan was made with a ledger: say --ledger again, so that it is asked before each send."
      })
    )
  }
  if (ledger !== undefined && plan.key === null) {
    return Effect.fail(
      new Refused({
        sentence:
          "This plan does not say where the business key is, so the ledger cannot be asked: make a new plan with --key."
      })
    )
  }
  return Effect.void
}

/**
 * Sends what the plan says, a canary first, and deletes from the dead-letter queue what SQS confirmed to have taken. What it
 * took and did not send is put back, also when it is interrupted: then the batch in hand is finished first.
 *
 * Fails when nothing was begun; later faults are in the report as `stopped`.
 *
 * @since 0.1.0
 * @category commands
 */
export const apply = (
  options: ApplyOptions
): Effect.Effect<RedriveReport, DeadLetterError, Sqs | RedriveMoveTasks | FileSystem.FileSystem> =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* check(options)
      const { plan } = options
      const sqs = yield* Sqs
      const tasks = yield* RedriveMoveTasks
      if (yield* Effect.orElseSucceed(tasks.isRunning(plan.queue.arn), () => false)) {
        return yield* new Refused({
          sentence: `A move task of SQS is running on ${plan.queue.name}: wait for it, or cancel it (aws sqs cancel-message-move-task). Nothing was sent.`
        })
      }
      const keyOf = plan.key === null ? undefined : yield* keyReader(plan.key)
      const planHash = hash(plan)
      const audit = yield* Audit.open(
        options.audit,
        { id: plan.id, hash: planHash, queue: plan.queue.name },
        options.actor
      )
      const books = new Books(plan.id, plan.limits, audit.past)
      const rules: Rules = {
        filter: plan.filter,
        kinds: new Set(
          plan.kinds.map((k) => kindKey({ reason: k.reason, type: k.type ?? undefined, source: k.source ?? undefined }))
        ),
        destinations: new Map(plan.destinations.map((d) => [d.source, d])),
        maxRedrives: plan.limits.maxRedrives,
        fifo: plan.queue.kind === "fifo",
        keyOf,
        namespace: plan.namespace,
        ledger: options.ledger,
        past: audit.past,
        hasKey: (namespace, key) => books.hasKey(namespace, key),
        resendUnknown: options.resendUnknown === true
      }
      const progress = (phase: Phase) =>
        options.onProgress?.({
          phase,
          counts: books.counts(),
          undecided: books.undecided(),
          settled: books.settled(),
          total: plan.limits.total
        }) ?? Effect.void
      const startedAt = yield* Clock.currentTimeMillis
      let notPutBack = 0
      const attempt = Effect.scoped(
        Effect.gen(function* () {
          const hand = yield* Hands.make(sqs, plan.queue.url, plan.limits.visibilitySeconds)
          yield* Effect.addFinalizer(() => Effect.map(hand.releaseAll, (n) => (notPutBack = n)))
          return yield* run({ plan, sqs, hand, audit, books, rules, progress })
        })
      )

      const reportOf = (exit: Exit.Exit<string | undefined, DeadLetterError>): Effect.Effect<RedriveReport> =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const isInterrupted = Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)
          const stopped = Exit.isSuccess(exit) ? exit.value : isInterrupted ? "interrupted" : sentenceOf(exit.cause)
          const undecided = stopped === undefined ? `not reached: --total ${plan.limits.total}` : "not reached: stopped"
          return {
            ...books.counts(),
            queue: plan.queue.name,
            redrive: plan.id,
            plan: planHash,
            resumed: audit.resumed,
            reasons: books.reasons(undecided),
            settled: books.settled(),
            stopped,
            isInterrupted,
            notPutBack,
            audit: options.audit,
            tookMs: now - startedAt
          }
        })

      return yield* Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const exit = yield* Effect.exit(restore(attempt))
          // nothing came into hand: the error itself says more than a report of zeros
          if (Exit.isFailure(exit) && books.counts().received === 0 && !Cause.isInterruptedOnly(exit.cause)) {
            return yield* Effect.failCause(exit.cause)
          }
          const report = yield* reportOf(exit)
          yield* Effect.ignore(audit.append([{ step: "finished", report }]))
          if (options.onReport !== undefined) yield* options.onReport(report)
          return report
        })
      )
    })
  )

const sentenceOf = (cause: Cause.Cause<DeadLetterError>): string => {
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : String(error)
}
