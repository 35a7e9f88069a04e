/** Journals by hand, for the tests of what reads them. Times in seconds after `T0`. */
import { type Journal } from "@effect-sqs/testing"

export const T0 = Date.UTC(2026, 0, 1)

interface CallOptions {
  /** s between the call and its answer */
  readonly takes?: number
  /** the answer, unless all went well */
  readonly outcome?: Journal.CallOutcome | "open"
  /** for `outcome`s other than an answer: the effect took place all the same */
  readonly effect?: boolean
}

const answered: Journal.CallOutcome = { _tag: "Answered", messageIds: [], refused: [] }

export const failed = (code: string, message = "by hand"): Journal.CallOutcome => ({
  _tag: "Failed",
  code,
  message,
  status: 500
})

export const refused = (code: string, options: { index?: number; senderFault?: boolean; message?: string } = {}) => ({
  _tag: "Answered" as const,
  messageIds: [],
  refused: [
    {
      index: options.index ?? 0,
      code,
      message: options.message ?? "by hand",
      senderFault: options.senderFault ?? false
    }
  ]
})

/** A journal under construction: each step appends what the virtual SQS would. */
export class Builder {
  readonly entries: Array<Journal.JournalEntry> = []
  private now = T0
  private call = 0
  private sequence = 0
  private readonly pending: Array<{ readonly at: number; readonly entry: () => Journal.JournalEntry }> = []
  private readonly messageOf = new Map<string, string>()
  private readonly groupOf = new Map<string, string | undefined>()
  private readonly counts = new Map<string, number>()

  constructor(readonly queue = "jobs") {}

  /** Moves to so many seconds after T0; answers that come before are written. */
  at(seconds: number): this {
    const to = T0 + seconds * 1000
    for (;;) {
      const next = this.pending.filter((p) => p.at <= to).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.pending.splice(this.pending.indexOf(next), 1)
      this.now = next.at
      this.entries.push(next.entry())
    }
    this.now = to
    return this
  }

  sent(messageId: string, groupId?: string, queue = this.queue): this {
    this.groupOf.set(messageId, groupId)
    this.entries.push({
      _tag: "Sent",
      at: this.now,
      call: undefined,
      queue,
      messageId,
      visibleAt: this.now,
      bodyBytes: 2,
      groupId,
      sequenceNumber: groupId === undefined ? undefined : String(++this.sequence).padStart(20, "0")
    })
    return this
  }

  /** One receive that hands out messages; handles are `messageId#receiveCount`. */
  receive(messageIds: ReadonlyArray<string>, visibility: number, options: CallOptions = {}): this {
    return this.operation("ReceiveMessage", { maxMessages: 10 }, options, (call) => {
      for (const messageId of messageIds) {
        const receiveCount = (this.counts.get(messageId) ?? 0) + 1
        this.counts.set(messageId, receiveCount)
        const receiptHandle = `${messageId}#${receiveCount}`
        this.messageOf.set(receiptHandle, messageId)
        this.entries.push({
          _tag: "Received",
          at: this.now,
          call,
          queue: this.queue,
          messageId,
          receiptHandle,
          receiveCount,
          visibleAt: this.now + visibility * 1000,
          groupId: this.groupOf.get(messageId)
        })
      }
    })
  }

  /** A beat, or a release. */
  change(receiptHandle: string, timeoutSeconds: number, options: CallOptions = {}): this {
    const messageId = this.messageOf.get(receiptHandle)
    const entry = { receiptHandle, visibilityTimeoutSeconds: timeoutSeconds, ...(messageId && { messageId }) }
    return this.operation("ChangeMessageVisibilityBatch", { entries: [entry] }, options, (call) => {
      if (messageId === undefined) return
      this.entries.push({
        _tag: "VisibilityChanged",
        at: this.now,
        call,
        queue: this.queue,
        messageId,
        receiptHandle,
        timeoutSeconds,
        visibleAt: this.now + timeoutSeconds * 1000,
        handle: "current"
      })
    })
  }

  delete(receiptHandle: string, options: CallOptions = {}): this {
    const messageId = this.messageOf.get(receiptHandle)
    const entry = { receiptHandle, ...(messageId && { messageId }) }
    return this.operation("DeleteMessageBatch", { entries: [entry] }, options, (call) => {
      if (messageId === undefined) return
      const { now: at, queue } = this
      this.entries.push({ _tag: "Deleted", at, call, queue, messageId, receiptHandle, handle: "current" })
    })
  }

  start(receiptHandle: string): this {
    const messageId = this.messageOf.get(receiptHandle) ?? "?"
    this.entries.push({ _tag: "RunStarted", at: this.now, queue: this.queue, messageId, receiptHandle })
    return this
  }

  end(receiptHandle: string, outcome: Journal.RunEnded["outcome"] = "success", reason?: string): this {
    const messageId = this.messageOf.get(receiptHandle) ?? "?"
    this.entries.push({
      _tag: "RunEnded",
      at: this.now,
      queue: this.queue,
      messageId,
      receiptHandle,
      outcome,
      ...(reason === undefined ? {} : { reason })
    })
    return this
  }

  deadLettered(messageId: string, target = "dead"): this {
    this.entries.push({
      _tag: "DeadLettered",
      at: this.now,
      call: undefined,
      queue: this.queue,
      messageId,
      target,
      receiveCount: this.counts.get(messageId) ?? 0
    })
    return this
  }

  private operation(
    operation: string,
    input: Journal.CallInput,
    options: CallOptions,
    effect: (call: number) => void
  ): this {
    const call = ++this.call
    const startedAt = this.now
    const { queue } = this
    this.entries.push({ _tag: "CallStarted", at: startedAt, call, operation, queue, input })
    const outcome = options.outcome ?? answered
    const happens =
      options.effect ?? (outcome !== "open" && outcome._tag === "Answered" && outcome.refused.length === 0)
    if (happens) effect(call)
    if (outcome === "open") return this
    const at = startedAt + (options.takes ?? 0) * 1000
    const ended = (): Journal.JournalEntry => ({ _tag: "CallEnded", at, startedAt, call, operation, queue, outcome })
    if (at === startedAt) this.entries.push(ended())
    else this.pending.push({ at, entry: ended })
    return this
  }
}
