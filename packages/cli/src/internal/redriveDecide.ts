/** What is done with one dead letter: sent, deleted or kept, and why. The first rule that speaks decides. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { type DeadLetter, kindKey, kindOf } from "../DeadLetter.js"
import type { LedgerUnavailable } from "../DeadLetterError.js"
import { type DeadLetterFilter, matches } from "../DeadLetterFilter.js"
import type { Past } from "../RedriveAudit.js"
import type { LedgerLook } from "../RedriveLedger.js"

export interface Destination {
  readonly source: string | null
  readonly url: string
  readonly name: string
  readonly maxBytes: number
}

export type Decision =
  | {
      readonly _tag: "Send"
      readonly to: Destination
      readonly key: string | undefined
      readonly namespace: string | undefined
    }
  | { readonly _tag: "Delete"; readonly why: string }
  | {
      readonly _tag: "Keep"
      readonly outcome: "kept" | "unknown"
      readonly why: string
      /** on a FIFO queue: what comes after it in its group must not overtake it */
      readonly stopsGroup: boolean
    }

export interface Rules {
  readonly filter: DeadLetterFilter
  /** only these; `undefined`: all */
  readonly kinds: ReadonlySet<string> | undefined
  readonly destinations: ReadonlyMap<string | null, Destination>
  readonly maxRedrives: number
  readonly fifo: boolean
  readonly keyOf: ((letter: DeadLetter) => string | undefined) | undefined
  readonly namespace: string | null
  readonly ledger: LedgerLook | undefined
  readonly past: ReadonlyMap<string, Past>
  readonly hasKey: (namespace: string, key: string) => boolean
  readonly resendUnknown: boolean
}

/** SQS knows a deduplication id for five minutes */
const deduplicatedMs = 240_000

export const NO_DESTINATION = "its source is not known: say where with --to or --unknown-to"

const keep = (why: string, stopsGroup = true): Decision => ({ _tag: "Keep", outcome: "kept", why, stopsGroup })
const unknown = (why: string): Decision => ({ _tag: "Keep", outcome: "unknown", why, stopsGroup: true })

/** What the log of an earlier run says of it; `undefined`: nothing that decides. */
const byPast = (rules: Rules, past: Past, now: number): Decision | "resend" | undefined => {
  if (past.state === "sent") return { _tag: "Delete", why: "sent by an earlier run of this plan" }
  if (past.state === "refused") return undefined
  if (rules.resendUnknown || (rules.fifo && now - past.at < deduplicatedMs)) return "resend"
  return unknown("an earlier run may have sent it: check, then say --resend-unknown")
}

export const decide = (rules: Rules, letter: DeadLetter): Effect.Effect<Decision, LedgerUnavailable> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const past = rules.past.get(letter.messageId)
    const before = past === undefined ? undefined : byPast(rules, past, now)
    if (before !== undefined && before !== "resend" && before._tag === "Delete") return before
    if (past === undefined) {
      if (!matches(rules.filter, letter)) return keep("not meant by the filter", false)
      if (rules.kinds !== undefined && !rules.kinds.has(kindKey(kindOf(letter)))) {
        return keep("of a kind that the dry run did not show: make a new plan")
      }
    }
    const to = rules.destinations.get(letter.source ?? null)
    if (to === undefined) {
      return keep(letter.source === undefined ? NO_DESTINATION : `${letter.source} cannot take it: see the checks`)
    }
    if (letter.redrives >= rules.maxRedrives) return keep(`redriven ${letter.redrives} times already`)
    if (rules.keyOf === undefined) {
      return before === undefined || before === "resend"
        ? { _tag: "Send", to, key: undefined, namespace: undefined }
        : before
    }
    const key = rules.keyOf(letter)
    if (key === undefined) return keep("it has no business key where --key says")
    const namespace = rules.namespace ?? to.name
    if (rules.ledger !== undefined) {
      const advice = yield* rules.ledger(namespace, key)
      if (advice.action === "delete") return { _tag: "Delete", why: advice.why }
      if (advice.action === "keep") return keep(advice.why)
    }
    if (before !== undefined && before !== "resend") return before
    if (before === undefined && rules.hasKey(namespace, key)) {
      return keep("this redrive sends another message of the same key: run again after that")
    }
    return { _tag: "Send", to, key, namespace }
  })
