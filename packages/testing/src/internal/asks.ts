/** What was asked of SQS for each receipt handle, put together from the beginnings, effects and ends of the calls. */
import type { CallEnded, CallStarted, JournalEntry } from "../Journal.js"
import type { Ask, Delivery } from "../JournalLife.js"

interface Begun {
  readonly entry: CallStarted
  readonly index: number
  end: { readonly entry: CallEnded; readonly index: number } | undefined
}

const isDelete = (operation: string) => operation.startsWith("DeleteMessage")
const isChange = (operation: string) => operation.startsWith("ChangeMessageVisibility")

const effectKey = (call: number, receiptHandle: string) => `${call} ${receiptHandle}`

export const asksByHandle = (entries: ReadonlyArray<JournalEntry>): Map<string, Array<Ask>> => {
  const calls = new Map<number, Begun>()
  const effects = new Set<string>()
  entries.forEach((entry, index) => {
    if (entry._tag === "CallStarted") {
      if (isDelete(entry.operation) || isChange(entry.operation))
        calls.set(entry.call, { entry, index, end: undefined })
    } else if (entry._tag === "CallEnded") {
      const begun = calls.get(entry.call)
      if (begun !== undefined) begun.end = { entry, index }
    } else if ((entry._tag === "Deleted" || entry._tag === "VisibilityChanged") && entry.call !== undefined) {
      effects.add(effectKey(entry.call, entry.receiptHandle))
    }
  })
  const asks = new Map<string, Array<Ask>>()
  for (const begun of calls.values()) {
    begun.entry.input.entries?.forEach(({ receiptHandle, visibilityTimeoutSeconds }, position) => {
      if (receiptHandle === undefined) return
      const ask: Ask = {
        kind: isDelete(begun.entry.operation) ? "delete" : visibilityTimeoutSeconds === 0 ? "release" : "beat",
        call: begun.entry.call,
        sent: { at: begun.entry.at, index: begun.index },
        ended: begun.end === undefined ? undefined : { at: begun.end.entry.at, index: begun.end.index },
        timeoutSeconds: visibilityTimeoutSeconds,
        tookEffect: effects.has(effectKey(begun.entry.call, receiptHandle)),
        ...outcomeOf(begun, position)
      }
      const list = asks.get(receiptHandle)
      if (list === undefined) asks.set(receiptHandle, [ask])
      else list.push(ask)
    })
  }
  return asks
}

const outcomeOf = (
  begun: Begun,
  position: number
): Pick<Ask, "outcome" | "code" | "detail" | "status" | "senderFault"> => {
  const none = { code: undefined, detail: undefined, status: undefined, senderFault: undefined }
  const outcome = begun.end?.entry.outcome
  switch (outcome?._tag) {
    case undefined:
      return { outcome: "open", ...none }
    case "Lost":
      return { outcome: "lost", ...none }
    case "Interrupted":
      return { outcome: "interrupted", ...none }
    case "Failed":
      return {
        outcome: "failed",
        code: outcome.code,
        detail: outcome.message,
        status: outcome.status,
        senderFault: undefined
      }
    case "Answered": {
      const refused = outcome.refused.find((r) => r.index === position)
      return refused === undefined
        ? { outcome: "done", ...none }
        : {
            outcome: "refused",
            code: refused.code,
            detail: refused.message,
            status: undefined,
            senderFault: refused.senderFault
          }
    }
  }
}

/** What the beats ask for that were sent while a handler ran, so are beats for certain; in s. */
export const usualExtensions = (deliveries: ReadonlyArray<Delivery>): ReadonlySet<number> => {
  const usual = new Set<number>()
  for (const { asks, runs } of deliveries) {
    for (const { kind, sent, timeoutSeconds } of asks) {
      const during = runs.some(
        (r) => r.started.index < sent.index && (r.ended === undefined || r.ended.index > sent.index)
      )
      if (kind === "beat" && during && timeoutSeconds !== undefined) usual.add(timeoutSeconds)
    }
  }
  return usual
}

/**
 * Tells releases with a delay from beats. After the last run's end a change is a release, if the delivery is never deleted,
 * and if it is the last or asks for what no beat asks. When it never ran, its last change is one if no beat asks for so much, and
 * it shortens the lease or was done, with those tries before it that failed.
 */
export const classify = (delivery: Delivery, usual: ReadonlySet<number>): ReadonlyArray<Ask> => {
  const { asks, deadlines, runs } = delivery
  if (asks.some((ask) => ask.kind === "delete")) return asks
  const release = (ask: Ask): Ask => ({ ...ask, kind: "release" })
  const until = (ask: Ask) => ask.sent.at + ask.timeoutSeconds! * 1000
  const before = (ask: Ask) => (deadlines.findLast((d) => d.from.index <= ask.sent.index) ?? deadlines[0]!).until
  if (runs.length > 0) {
    const ended = runs.at(-1)!.ended
    if (ended === undefined) return asks
    // a settlement may have to wait, and then the lease is kept: what follows is what settles
    const keeps = (ask: Ask, i: number) =>
      i < asks.length - 1 &&
      (usual.has(ask.timeoutSeconds!) ||
        (ask.outcome === "done" && until(ask) > before(ask)) ||
        // another try of a release asks for less and less, by as much as has passed
        asks.slice(i + 1).some((later) => later.timeoutSeconds! > ask.timeoutSeconds!) ||
        (ask.outcome !== "done" && until(asks[i + 1]!) < until(ask) - 1000))
    const kept = asks.findLastIndex(keeps)
    return asks.map((ask, i) => (ask.kind === "beat" && ask.sent.index > ended.index && i > kept ? release(ask) : ask))
  }
  const isUnusual = (ask: Ask) => ask.outcome === "done" && usual.size > 0 && !usual.has(ask.timeoutSeconds!)
  const shortens = (ask: Ask) => until(ask) < before(ask) && !usual.has(ask.timeoutSeconds!)
  const isRelease = (ask: Ask) => ask.kind === "beat" && (shortens(ask) || isUnusual(ask))
  // the last one, and those before it of which it is another try
  const others = asks.findLastIndex((ask, i) => !isRelease(ask) || (i < asks.length - 1 && ask.outcome === "done"))
  return asks.map((ask, i) => (i > others ? release(ask) : ask))
}
