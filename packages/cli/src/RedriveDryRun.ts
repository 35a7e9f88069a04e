/**
 * The dry run of a redrive: looks, decides what would be done with each message, puts all back, and makes the plan.
 *
 * @since 0.1.0
 */
import type { Sqs } from "@effect-sqs/core/Sqs"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { ageMs, type DeadLetter, kindKey, kindOf } from "./DeadLetter.js"
import { type DeadLetterError, Refused } from "./DeadLetterError.js"
import { type DeadLetterFilter, matches } from "./DeadLetterFilter.js"
import * as Queue from "./DeadLetterQueue.js"
import { scan, type ScanEnd } from "./DeadLetterScan.js"
import { decide, type Decision, type Destination } from "./internal/redriveDecide.js"
import { keyReader, type LedgerLook } from "./RedriveLedger.js"
import type { RedriveMoveTasks } from "./RedriveMoveTasks.js"
import { defaultLimits, type RedriveLimits, type RedrivePlan } from "./RedrivePlan.js"
import { type Check, preflight } from "./RedrivePreflight.js"
import type { SqsInspector } from "./SqsInspector.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface DryRunOptions {
  readonly queue: string
  readonly anyQueue?: boolean | undefined
  readonly filter?: DeadLetterFilter | undefined
  /** for all messages, instead of their sources; name or URL */
  readonly to?: string | undefined
  /** for messages whose source is not known; name or URL */
  readonly unknownTo?: string | undefined
  /** where the business key is: `$.orderId`, `attribute:name` */
  readonly key?: string | undefined
  /** of the keys in the ledger; default: the name of the target queue */
  readonly namespace?: string | undefined
  readonly ledger?: LedgerLook | undefined
  readonly limits?: { readonly [K in keyof RedriveLimits]?: RedriveLimits[K] | undefined } | undefined
  /** how many messages the look takes at most; default 1,000 */
  readonly scan?: number | undefined
  readonly time?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface DryRun {
  readonly plan: RedrivePlan
  readonly checks: ReadonlyArray<Check>
  /** messages that the look received: each of them counts one receive more than before */
  readonly looked: number
  readonly end: ScanEnd
  readonly notPutBack: number
}

/** the ledger's default */
const ledgerRetentionMs = 45 * 24 * 3_600_000

interface Counted {
  readonly reason: string
  readonly type: string | undefined
  readonly source: string | undefined
  readonly example: string
  count: number
  send: number
}

const add = (counts: Map<string, number>, why: string) => counts.set(why, (counts.get(why) ?? 0) + 1)

const listed = (counts: ReadonlyMap<string, number>) =>
  [...counts].map(([why, count]) => ({ why, count })).sort((a, b) => b.count - a.count)

/**
 * Makes the plan. Nothing is sent and nothing is deleted.
 *
 * @since 0.1.0
 * @category commands
 */
export const dryRun = (
  options: DryRunOptions
): Effect.Effect<DryRun, DeadLetterError, Sqs | SqsInspector | RedriveMoveTasks> =>
  Effect.gen(function* () {
    if (options.ledger !== undefined && options.key === undefined) {
      return yield* new Refused({
        sentence: "The ledger is asked by business key: say with --key where it is, as $.orderId or attribute:order-id."
      })
    }
    const keyOf = options.key === undefined ? undefined : yield* keyReader(options.key)
    const queue = yield* Queue.open(options.queue, options)
    const filter = options.filter ?? {}
    const { end, notPutBack, seen } = yield* scan(queue.url, (letter) => Effect.succeed(letter), {
      max: options.scan,
      time: options.time
    })
    const meant = seen.filter((letter) => matches(filter, letter))
    const { checks, targets } = yield* preflight(queue, new Set(meant.map((l) => l.source)), options)
    const destinations = [...targets].map(([source, { attributes, name, url }]): Destination => ({
      source,
      url,
      name,
      maxBytes: attributes.maximumMessageBytes
    }))
    const now = yield* Clock.currentTimeMillis

    const keys = new Set<string>()
    const kinds = new Map<string, Counted>()
    const deletes = new Map<string, number>()
    const keeps = new Map<string, number>()
    const stoppedGroups = new Set<string>()
    let send = 0
    const note = (letter: DeadLetter, decision: Decision) => {
      const kind = kindOf(letter)
      const counted = kinds.get(kindKey(kind)) ?? { ...kind, example: letter.messageId, count: 0, send: 0 }
      kinds.set(kindKey(kind), counted)
      counted.count++
      if (decision._tag === "Send") {
        counted.send++
        send++
        if (decision.key !== undefined) keys.add(JSON.stringify([decision.namespace, decision.key]))
      } else if (decision._tag === "Delete") add(deletes, decision.why)
      else add(keeps, decision.why)
    }
    const rules = {
      filter,
      kinds: undefined,
      destinations: new Map(destinations.map((d) => [d.source, d])),
      maxRedrives: options.limits?.maxRedrives ?? defaultLimits.maxRedrives,
      fifo: queue.attributes.kind === "fifo",
      keyOf,
      namespace: options.namespace ?? null,
      ledger: options.ledger,
      past: new Map(),
      hasKey: (namespace: string, key: string) => keys.has(JSON.stringify([namespace, key])),
      resendUnknown: false
    }
    for (const letter of meant) {
      const { groupId } = letter.message
      if (rules.fifo && groupId !== undefined && stoppedGroups.has(groupId)) {
        note(letter, {
          _tag: "Keep",
          outcome: "kept",
          why: "a message before it in its group is kept",
          stopsGroup: true
        })
        continue
      }
      const decision = yield* decide(rules, letter)
      if (decision._tag === "Keep" && decision.stopsGroup && groupId !== undefined) stoppedGroups.add(groupId)
      note(letter, decision)
    }
    const notMeant = seen.length - meant.length
    if (notMeant > 0) keeps.set("not meant by the filter", notMeant)

    const plan: RedrivePlan = {
      version: 1,
      id: randomUUID(),
      createdAt: now,
      queue: { url: queue.url, name: queue.name, arn: queue.attributes.arn, kind: queue.attributes.kind },
      filter,
      destinations,
      key: options.key ?? null,
      namespace: options.namespace ?? null,
      ledger: options.ledger !== undefined,
      kinds: [...kinds.values()]
        .sort((a, b) => b.count - a.count)
        .map((k) => ({ ...k, type: k.type ?? null, source: k.source ?? null })),
      seen: seen.length,
      send,
      delete: listed(deletes),
      keep: listed(keeps),
      notes: notesOf(options, queue, meant, end, now),
      limits: { ...defaultLimits, total: totalOf(queue, send, end), ...definedOf(options.limits ?? {}) }
    }
    return { plan, checks, looked: seen.length, end, notPutBack }
  })

const definedOf = (limits: NonNullable<DryRunOptions["limits"]>): Partial<RedriveLimits> =>
  Object.fromEntries(Object.entries(limits).filter(([, v]) => v !== undefined))

/** What was seen; on a FIFO queue SQS does not show all, and what lies behind is of the kinds that were seen or kept. */
const totalOf = (queue: Queue.DeadLetterQueue, send: number, end: ScanEnd): number =>
  queue.attributes.kind === "fifo" && end === "all seen" ? Math.max(send, queue.attributes.messages) : send

const notesOf = (
  options: DryRunOptions,
  queue: Queue.DeadLetterQueue,
  meant: ReadonlyArray<DeadLetter>,
  end: ScanEnd,
  now: number
): Array<string> => {
  const notes: Array<string> = []
  const old = meant.filter((l) => (ageMs(l, now) ?? 0) > ledgerRetentionMs).length
  if (options.ledger !== undefined && old > 0) {
    notes.push(
      `${old} messages are older than 45 days, for which a ledger remembers keys unless told otherwise: that a key is not ` +
        "there does not say that its job was not done."
    )
  }
  if (options.ledger === undefined) {
    notes.push(
      "No ledger is asked (--ledger, --key): whether a job was done already is not known, and a job that is sent again runs again."
    )
  }
  const oldest = Math.max(0, ...meant.map((l) => ageMs(l, now) ?? 0))
  const retentionMs = queue.attributes.retentionSeconds * 1000
  if (oldest > retentionMs * 0.8) {
    notes.push(
      `The oldest message has used up ${Math.min(100, Math.round((100 * oldest) / retentionMs))} % of the retention of ` +
        `${queue.name}: SQS deletes it when that ends. Raise MessageRetentionPeriod (at most 14 days), or act now.`
    )
  }
  if (queue.attributes.redrivePolicy !== undefined) {
    notes.push(
      `${queue.name} has a redrive policy of its own: after ${queue.attributes.redrivePolicy.maxReceiveCount} receives ` +
        "messages move on, and looks count as receives."
    )
  }
  if (queue.attributes.kind === "fifo") {
    notes.push(
      "FIFO: SQS shows at most the first ten messages of a group until these are gone; the others are decided when their turn comes."
    )
  }
  if (end !== "all seen") {
    notes.push(
      `The look ended after ${meant.length} messages that are meant (${end === "max" ? "--scan" : "--scan-time"}); ` +
        "the plan sends no more than it saw unless you say --total."
    )
  }
  return notes
}
