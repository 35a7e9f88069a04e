/**
 * The dead-letter queue for the page, by the functions of the operator's tool: looked at, redriven through the ledger,
 * discarded into a file that is kept. One look at a time, since a look hides what it looks at from the next one.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as DeadLetter from "@effect-sqs/cli/DeadLetter"
import * as DeadLetterDiscard from "@effect-sqs/cli/DeadLetterDiscard"
import type { DeadLetterError } from "@effect-sqs/cli/DeadLetterError"
import * as DeadLetterList from "@effect-sqs/cli/DeadLetterList"
import * as DeadLetterShow from "@effect-sqs/cli/DeadLetterShow"
import * as RedriveApply from "@effect-sqs/cli/RedriveApply"
import * as RedriveDryRun from "@effect-sqs/cli/RedriveDryRun"
import * as RedriveLedger from "@effect-sqs/cli/RedriveLedger"
import type { RedriveMoveTasks } from "@effect-sqs/cli/RedriveMoveTasks"
import * as RedrivePlan from "@effect-sqs/cli/RedrivePlan"
import type { RedriveReport } from "@effect-sqs/cli/RedriveReport"
import type { SqsInspector } from "@effect-sqs/cli/SqsInspector"
import type { Sqs } from "@effect-sqs/core/Sqs"
import { nameOf } from "@effect-sqs/core/SqsQueue"
import { type Ledger } from "@effect-sqs/ledger/LedgerService"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import path from "node:path"
import { JobStore } from "../jobs/JobStore.js"
import { namespaces } from "../Policies.js"
import { Conflict, NotFound, Unavailable } from "./Api.js"
import type * as View from "./View.js"
import { deadLetterUrl, type Queues } from "./Watch.js"

/** a person waits */
const lookTime = "15 seconds"
/** who comes when so many are at it or wait is told to come again */
const atOnce = 5
/** messages that are sent back in a second, unless it is said */
const defaultPerSecond = 10
/** messages a look takes at most */
const lookMax = 1000

type Failed = typeof Conflict.Type | typeof NotFound.Type | typeof Unavailable.Type

const problemOf = (e: DeadLetterError): typeof Conflict.Type | typeof Unavailable.Type =>
  e._tag === "NotADeadLetterQueue" || e._tag === "Refused"
    ? Conflict.make({ message: e.message })
    : Unavailable.make({ message: e.message })

/**
 * @since 0.1.0
 * @category services
 */
export class DeadLetters extends Context.Tag("@effect-sqs/report-worker/DeadLetters")<
  DeadLetters,
  {
    readonly list: Effect.Effect<View.DeadLetters, typeof Conflict.Type | typeof Unavailable.Type>
    readonly show: (messageId: string) => Effect.Effect<View.DeadLetterDetail, Failed>
    /** `told` gets what came of it, also when it is interrupted: all else is put back by then */
    readonly redrive: (
      messageIds: ReadonlyArray<string>,
      limits: { readonly atMost?: number | undefined; readonly perSecond?: number | undefined },
      actor: string,
      told: (result: View.Redriven) => Effect.Effect<void>
    ) => Effect.Effect<View.Redriven, typeof Conflict.Type | typeof Unavailable.Type>
    /** `told` as with `redrive` */
    readonly discard: (
      messageIds: ReadonlyArray<string>,
      reason: string,
      actor: string,
      told: (result: View.Discarded) => Effect.Effect<void>
    ) => Effect.Effect<View.Discarded, typeof Conflict.Type | typeof Unavailable.Type>
  }
>() {}

const groupsOf = ({ messages }: DeadLetterList.DeadLetterList, groups: DeadLetterList.DeadLetterList["groups"]) =>
  groups.map((group) => ({
    reason: group.reason,
    source: group.source,
    count: group.count,
    oldestMs: group.oldestMs,
    youngestMs: group.youngestMs,
    messageIds: messages
      .filter((line) => DeadLetter.kindKey(line) === DeadLetter.kindKey(group))
      .map(({ messageId }) => messageId)
  }))

const jobIdOf = (letter: DeadLetter.DeadLetter) => {
  const body = DeadLetter.json(letter)
  const id = typeof body === "object" && body !== null && "jobId" in body ? body.jobId : undefined
  return typeof id === "string" ? id : undefined
}

/**
 * What the ledger says of a job before it is sent again. A report that is completed is not needed any more, unless its
 * delivery is to be tried again.
 */
const ledgerLook = Effect.gen(function* () {
  const look = yield* RedriveLedger.look
  const jobs = yield* JobStore
  return ((namespace, key) =>
    Effect.gen(function* () {
      const report = yield* look(namespace, key)
      if (report.state !== "completed") return report
      const row = yield* Effect.orElseSucceed(jobs.get(key), () => Option.none())
      const isOpen = Option.exists(row, ({ delivery }) => delivery === "pending" || delivery === "refused")
      if (!isOpen) return report
      const delivery = yield* look(namespaces.deliveries, key)
      return delivery.state === "retryable" ? delivery : report
    })) satisfies RedriveLedger.LedgerLook
})

const busy = Effect.fail(
  Unavailable.make({ message: "others are looking into the dead-letter queue: try again in a moment" })
)

/** what was asked for and not seen */
const absent = (count: number) =>
  count > 0 ? [{ outcome: "kept", why: "not in the dead-letter queue now, or in somebody else's hands", count }] : []

/** what was asked for beyond the limit, and not looked at */
const unreached = (count: number, total: number) =>
  count > 0 ? [{ outcome: "kept", why: `not sent: the plan sends ${total}`, count }] : []

/** whether a reason is one of a message that was asked for */
const isAbout = (why: string) => why !== "not meant by the filter" && !why.startsWith("not reached: --total")

const make = (options: Queues & { readonly folder: string }) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<
      FileSystem.FileSystem | JobStore | Ledger | RedriveMoveTasks | Sqs | SqsInspector
    >()
    const fs = yield* FileSystem.FileSystem
    const one = yield* Effect.makeSemaphore(1)
    const ledger = yield* ledgerLook

    const queue = deadLetterUrl(options).pipe(
      Effect.mapError((e) => Unavailable.make({ message: e.message })),
      Effect.flatMap(
        Option.match({
          onNone: () =>
            Effect.fail(
              Conflict.make({ message: `${nameOf(options.queue)} has no dead-letter queue that is known here` })
            ),
          onSome: Effect.succeed
        })
      )
    )

    let here = 0
    const looking = <A, E, R>(use: (url: string) => Effect.Effect<A, E, R>) =>
      Effect.acquireUseRelease(
        Effect.suspend(() => (here < atOnce ? Effect.sync(() => void here++) : busy)),
        () => Effect.flatMap(queue, use).pipe(one.withPermits(1), Effect.provide(context)),
        () => Effect.sync(() => void here--)
      )

    /** what is kept of a redrive or a discard */
    const file = (name: string) =>
      fs.makeDirectory(options.folder, { recursive: true }).pipe(
        Effect.mapError((e) => Unavailable.make({ message: `${options.folder} cannot be written: ${e.message}` })),
        Effect.as(path.join(options.folder, name))
      )

    const look = { anyQueue: true, max: lookMax, time: lookTime } as const

    return DeadLetters.of({
      list: looking((url) =>
        Effect.map(Effect.mapError(DeadLetterList.list(url, look), problemOf), (list) => ({
          queue: list.queue.name,
          looked: list.looked,
          complete: list.end === "all seen",
          // those that speak of flags of the command are not for the page
          notes: list.notes.filter((note) => !note.includes("--")),
          groups: groupsOf(list, list.groups),
          messages: list.messages.map((line) => ({
            messageId: line.messageId,
            reason: line.reasonText,
            ageMs: line.ageMs,
            receiveCount: line.receiveCount,
            redrives: line.redrives,
            bytes: line.bodyBytes
          }))
        }))
      ),

      show: (messageId) =>
        looking((url) =>
          DeadLetterShow.show(url, messageId, look).pipe(
            Effect.mapError((e) =>
              e._tag === "Refused"
                ? NotFound.make({
                    message: "this message is not in the dead-letter queue now, or in somebody else's hands"
                  })
                : problemOf(e)
            ),
            Effect.map(({ history, letter }) => ({
              messageId,
              body: letter.message.body,
              jobId: jobIdOf(letter),
              reason: letter.reason,
              error: letter.error,
              attributes: Object.fromEntries(
                Object.entries(letter.message.attributes).map(([name, value]) => [name, DeadLetter.textOf(value)])
              ),
              history: history.map(({ at, what }) => ({ at, what }))
            }))
          )
        ),

      redrive: (asked, { atMost, perSecond = defaultPerSecond }, actor, told) =>
        looking((url) =>
          Effect.gen(function* () {
            const messageIds = [...new Set(asked)]
            const total = Math.min(atMost ?? messageIds.length, messageIds.length)
            const { checks, plan } = yield* Effect.mapError(
              RedriveDryRun.dryRun({
                ...look,
                queue: url,
                filter: { messageIds },
                // a letter whose source is not recorded can only be ours
                unknownTo: nameOf(options.queue),
                key: "$.jobId",
                namespace: namespaces.reports,
                ledger,
                scan: lookMax,
                // a person chose these few: they are the canary
                limits: { canary: 0, settleMs: 0, rate: perSecond, total }
              }),
              problemOf
            )
            const blocks = checks.filter(({ state }) => state === "blocks")
            if (blocks.length > 0) {
              return yield* Effect.fail(Conflict.make({ message: blocks.map(({ text }) => text).join(" ") }))
            }
            const kept = plan.keep
              .filter(({ why }) => isAbout(why))
              .map(({ count, why }) => ({ outcome: "kept", why, count }))
            if (plan.send === 0 && plan.delete.length === 0) {
              const seen = kept.reduce((n, k) => n + k.count, 0)
              const reasons = [...kept, ...absent(messageIds.length - seen)]
              const nothing = { sent: 0, deleted: 0, kept: messageIds.length, failed: 0, unknown: 0, reasons }
              yield* told(nothing)
              return nothing
            }
            const planFile = yield* file(`redrive-${plan.id}.json`)
            yield* Effect.mapError(RedrivePlan.write(plan, planFile), problemOf)
            const resultOf = (report: RedriveReport): View.Redriven => {
              const { deleted, failed, sent, stopped, unknown } = report
              // of those that were asked for: what else the look had in its hands went back unread
              const reasons = report.reasons.filter(({ outcome, why }) => outcome !== "kept" || isAbout(why))
              const rest = Math.max(0, messageIds.length - sent - deleted - failed - unknown)
              const seen = reasons.reduce((n, { count, outcome }) => (outcome === "kept" ? n + count : n), 0)
              const isFull = sent + failed + unknown >= total && total < messageIds.length
              return {
                sent,
                deleted,
                kept: rest,
                failed,
                unknown,
                reasons: [...reasons, ...(isFull ? unreached(rest - seen, total) : absent(rest - seen))],
                stopped
              }
            }
            const apply = RedriveApply.apply({
              plan,
              confirm: plan.queue.name,
              audit: planFile.replace(/\.json$/, ".audit.jsonl"),
              actor,
              ledger,
              onReport: (report) => told(resultOf(report))
            })
            return resultOf(yield* Effect.mapError(apply, problemOf))
          })
        ),

      discard: (messageIds, reason, actor, told) =>
        looking((url) =>
          Effect.gen(function* () {
            const keepIn = yield* file(`discarded-${nameOf(url)}.jsonl`)
            const resultOf = ({ discarded, failed, stopped }: DeadLetterDiscard.DiscardReport): View.Discarded => ({
              discarded,
              failed,
              keptIn: keepIn,
              stopped
            })
            const discard = DeadLetterDiscard.discard({
              queue: url,
              anyQueue: true,
              filter: { messageIds },
              reason,
              keepIn,
              confirm: nameOf(url),
              actor,
              max: lookMax,
              onReport: (report) => told(resultOf(report))
            })
            return resultOf(yield* Effect.mapError(discard, problemOf))
          })
        )
    })
  })

/**
 * `folder`: where plans, logs and discarded messages are kept.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: Queues & { readonly folder: string }
): Layer.Layer<DeadLetters, never, FileSystem.FileSystem | JobStore | Ledger | RedriveMoveTasks | Sqs | SqsInspector> =>
  Layer.effect(DeadLetters, make(options))
