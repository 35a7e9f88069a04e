/**
 * The audit log of a redrive: JSON lines, only ever appended, written to the disk before and after each step that cannot be
 * taken back. From it a redrive that was cut off goes on, and sends nothing twice that is known to be sent.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { FileUnusable } from "./DeadLetterError.js"
import { lock } from "./internal/redriveLock.js"

/**
 * One step. `messageId` is always that of the message in the dead-letter queue.
 *
 * @since 0.1.0
 * @category models
 */
export type AuditStep =
  | {
      readonly step: "started"
      readonly redrive: string
      readonly plan: string
      readonly queue: string
      readonly actor: string
      readonly resumed: boolean
    }
  | { readonly step: "decided"; readonly messageId: string; readonly action: "delete" | "keep"; readonly why: string }
  | {
      /** written before the send */
      readonly step: "sending"
      readonly messageId: string
      readonly originalMessageId: string
      readonly to: string
      readonly redriveCount: number
      readonly key?: string | undefined
      readonly namespace?: string | undefined
      readonly groupId?: string | undefined
      readonly deduplicationId?: string | undefined
      /** what did not fit on the message as attributes */
      readonly omitted?: ReadonlyArray<string> | undefined
    }
  | {
      readonly step: "sent"
      readonly messageId: string
      readonly newMessageId: string
      readonly sequenceNumber?: string | undefined
    }
  /** SQS said that it did not take it */
  | { readonly step: "refused"; readonly messageId: string; readonly error: string }
  /** nobody knows whether SQS took it */
  | { readonly step: "unknown"; readonly messageId: string; readonly error: string }
  | { readonly step: "deleted"; readonly messageId: string }
  /** the copy came back into the dead-letter queue, there as `as` */
  | { readonly step: "returned"; readonly messageId: string; readonly as: string }
  | { readonly step: "settled"; readonly messageId: string; readonly state: string }
  | { readonly step: "canary"; readonly passed: boolean; readonly why: string }
  | { readonly step: "finished"; readonly report: unknown }

/**
 * What an earlier run did with a message.
 *
 * @since 0.1.0
 * @category models
 */
export interface Past {
  readonly state: "sending" | "sent" | "refused" | "unknown"
  readonly sending: Extract<AuditStep, { readonly step: "sending" }>
  /** epoch ms of the send */
  readonly at: number
  readonly newMessageId: string | undefined
  readonly isDeleted: boolean
  readonly settled: "completed" | "failed" | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface AuditLog {
  readonly path: string
  /** by MessageId in the dead-letter queue, in the order of sending */
  readonly past: ReadonlyMap<string, Past>
  readonly resumed: boolean
  /** messages that earlier runs deleted without a send */
  readonly deletedUnsent: number
  /** how the canary of an earlier run ended, if there was one */
  readonly canary: "passed" | "failed" | undefined
  /** Appends the steps and has them on the disk when it succeeds. */
  readonly append: (steps: ReadonlyArray<AuditStep>) => Effect.Effect<void, FileUnusable>
}

type Line = AuditStep & { readonly at: number }

const damaged = (path: string, line: number) =>
  new FileUnusable({
    path,
    detail:
      `line ${line} of the audit log cannot be read, so it is not known what was sent. ` +
      "Restore the file; without it make a new plan, and expect that messages in the queue were sent already."
  })

/** A line may be torn where a run was cut off: at the end, or before the next start. */
const parse = (path: string, text: string): Effect.Effect<ReadonlyArray<Line>, FileUnusable> =>
  Effect.gen(function* () {
    const lines: Array<Line> = []
    let torn: number | undefined
    for (const [i, line] of text.split("\n").entries()) {
      if (line === "") continue
      const parsed = Option.liftThrowable(() => JSON.parse(line) as Line)()
      if (Option.isNone(parsed) || typeof parsed.value !== "object" || parsed.value?.step === undefined) {
        if (torn !== undefined) return yield* damaged(path, torn)
        torn = i + 1
        continue
      }
      if (torn !== undefined) {
        if (parsed.value.step !== "started") return yield* damaged(path, torn)
        torn = undefined
      }
      lines.push(parsed.value)
    }
    return lines
  })

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const pastOf = (lines: ReadonlyArray<Line>): Map<string, Past> => {
  const past = new Map<string, Mutable<Past>>()
  for (const line of lines) {
    if (line.step === "sending") {
      past.set(line.messageId, {
        state: "sending",
        sending: line,
        at: line.at,
        newMessageId: undefined,
        isDeleted: false,
        settled: undefined
      })
      continue
    }
    const found = "messageId" in line ? past.get(line.messageId) : undefined
    if (found === undefined) continue
    if (line.step === "sent") {
      found.state = "sent"
      found.newMessageId = line.newMessageId
    } else if (line.step === "refused" || line.step === "unknown") found.state = line.step
    else if (line.step === "deleted") found.isDeleted = true
    else if (line.step === "returned") found.settled = "failed"
    else if (line.step === "settled") found.settled = line.state === "completed" ? "completed" : "failed"
  }
  return past
}

/**
 * Opens the log of a plan, new or with what earlier runs wrote. Fails when it belongs to another plan.
 *
 * @since 0.1.0
 * @category constructors
 */
export const open = (
  path: string,
  plan: { readonly id: string; readonly hash: string; readonly queue: string },
  actor: string
): Effect.Effect<AuditLog, FileUnusable, FileSystem.FileSystem | Scope.Scope> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const cannot = (e: { readonly message: string }) =>
      new FileUnusable({
        path,
        detail: `the audit log cannot be written (${e.message}). Nothing is sent without it: give another --audit.`
      })
    yield* lock(path)
    const text = (yield* Effect.mapError(fs.exists(path), cannot))
      ? yield* Effect.mapError(fs.readFileString(path), cannot)
      : ""
    const lines = yield* parse(path, text)
    const other = lines.find((line) => line.step === "started" && line.plan !== plan.hash)
    if (other !== undefined) {
      return yield* new FileUnusable({
        path,
        detail: "this is the audit log of another plan. Give another --audit, or leave it out."
      })
    }
    const file = yield* Effect.mapError(fs.open(path, { flag: "a" }), cannot)
    const encoder = new TextEncoder()
    const append: AuditLog["append"] = (steps) =>
      Effect.uninterruptible(
        Effect.gen(function* () {
          if (steps.length === 0) return
          const at = yield* Clock.currentTimeMillis
          yield* file.writeAll(encoder.encode(steps.map((step) => `${JSON.stringify({ at, ...step })}\n`).join("")))
          yield* file.sync
        }).pipe(Effect.mapError(cannot))
      )
    if (text !== "" && !text.endsWith("\n")) yield* Effect.mapError(file.writeAll(encoder.encode("\n")), cannot)
    const resumed = lines.length > 0
    const canary = lines.findLast((line) => line.step === "canary")
    yield* append([{ step: "started", redrive: plan.id, plan: plan.hash, queue: plan.queue, actor, resumed }])
    const past = pastOf(lines)
    return {
      path,
      past,
      deletedUnsent: lines.filter((line) => line.step === "deleted" && !past.has(line.messageId)).length,
      resumed,
      canary: canary?.step !== "canary" ? undefined : canary.passed ? "passed" : "failed",
      append
    }
  })
