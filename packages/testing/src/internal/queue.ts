/** One queue: its messages and what becomes of them. Plain state; every method is told the time, in epoch ms. */
import { apiError, invalidParameter } from "./apiError.js"
import { ExpiringMap } from "./expiringMap.js"
import { expired, issuedBy, mayChange, stateOf, unavailable } from "./handles.js"
import { Heap } from "./heap.js"
import {
  type Arrival,
  Delayed,
  Gone,
  InFlight,
  type MessageContent,
  type StoredMessage,
  storeMessage,
  Visible
} from "./message.js"
import type { QueueKind, QueueSettings } from "./queueAttributes.js"
import * as Handle from "./receiptHandle.js"
import { allowsSource } from "./redrivePolicy.js"
import { fifoShelf, type Shelf, standardShelf } from "./shelf.js"
import type { WorldOf } from "./world.js"

/** A message and the handle of one receive of it. */
export interface HandedOut {
  readonly message: StoredMessage
  readonly handle: string
  readonly receive: number
}

/** The first send under a deduplication id. */
export interface FirstSend {
  readonly messageId: string
  readonly sequenceNumber: string
}

const fiveMinutesMs = 300_000
const purgeIntervalMs = 60_000
const visibilityCapMs = 43_200_000

/** By the time at which something happens to it, and by age among equals. */
const byDue = (a: StoredMessage, b: StoredMessage) =>
  a.visibleAt < b.visibleAt || (a.visibleAt === b.visibleAt && a.serial < b.serial)
const byAge = (a: StoredMessage, b: StoredMessage) =>
  a.retainedFrom < b.retainedFrom || (a.retainedFrom === b.retainedFrom && a.serial < b.serial)

export class VirtualQueue {
  readonly messages = new Map<number, StoredMessage>()
  readonly tags = new Map<string, string>()
  readonly deduplication = new ExpiringMap<FirstSend>(fiveMinutesMs)
  readonly deduplicationScope: "queue" | "messageGroup"
  lastModifiedAt: number
  private readonly shelf: Shelf
  /** delayed and in flight, by the time at which they become visible */
  private readonly due = new Heap<"duePlace", StoredMessage>("duePlace", byDue)
  private readonly age = new Heap<"agePlace", StoredMessage>("agePlace", byAge)
  private readonly attempts = new ExpiringMap<ReadonlyArray<HandedOut>>(fiveMinutesMs)
  private delayedCount = 0
  private inFlightCount = 0
  private purgedAt: number | undefined

  constructor(
    private readonly world: WorldOf<VirtualQueue>,
    readonly name: string,
    readonly uid: number,
    readonly arn: string,
    readonly kind: QueueKind,
    public settings: QueueSettings,
    readonly createdAt: number
  ) {
    this.lastModifiedAt = createdAt
    this.deduplicationScope = settings.deduplicationScope
    let turn = 0
    this.shelf =
      kind === "standard"
        ? standardShelf()
        : fifoShelf(() => (world.isFixed("groupOrder") ? ++turn : Math.floor(world.draw() * 1e9)))
  }

  get counts() {
    const { delayedCount: delayed, inFlightCount: inFlight } = this
    return { visible: this.messages.size - delayed - inFlight, inFlight, delayed }
  }

  /** something could be handed out */
  get available(): boolean {
    return this.shelf.available && this.inFlightCount < this.world.inFlightLimit
  }

  get full(): boolean {
    return this.inFlightCount >= this.world.inFlightLimit
  }

  /** when the next message becomes visible by itself, in epoch ms */
  get nextDueAt(): number | undefined {
    return this.due.peek()?.visibleAt
  }

  /** Lets happen what time alone does: delays and visibility timeouts end, retention runs out. */
  settle(now: number): void {
    for (let m = this.due.peek(); m !== undefined && m.visibleAt <= now; m = this.due.peek()) {
      const returned = m.state === InFlight
      this.show(m)
      if (returned && this.mustMove(m) && this.world.read("deadLetterMove") === "atTimeout") {
        this.deadLetter(m, m.visibleAt)
      }
    }
    const { retentionMs } = this.settings
    for (let m = this.age.peek(); m !== undefined && m.retainedFrom + retentionMs <= now; m = this.age.peek()) {
      this.remove(m)
      this.world.journal.append({
        _tag: "Expired",
        at: m.retainedFrom + retentionMs,
        call: undefined,
        queue: this.name,
        messageId: m.content.id
      })
    }
  }

  store(content: MessageContent, arrival: Arrival): StoredMessage {
    const message = storeMessage(content, this.world.nextSerial(), arrival)
    this.messages.set(message.serial, message)
    this.age.push(message)
    if (message.state === Delayed) {
      this.due.push(message)
      this.delayedCount++
    }
    this.shelf.add(message)
    this.world.touched(this)
    return message
  }

  receive(now: number, max: number, visibilityTimeoutMs: number): Array<HandedOut> {
    const out: Array<HandedOut> = []
    this.shelf.take(Math.min(max, this.world.inFlightLimit - this.inFlightCount), (message) => {
      if (this.mustMove(message)) {
        this.deadLetter(message, now)
        return "takenAway"
      }
      out.push(this.handOut(message, now, visibilityTimeoutMs))
      return "handedOut"
    })
    return out
  }

  /** Hands out up to `max` messages that are hidden from everybody, as a standard queue now and then does. */
  receiveHidden(
    now: number,
    max: number,
    visibilityTimeoutMs: number,
    except: ReadonlyArray<HandedOut>
  ): Array<HandedOut> {
    const just = new Set(except.map(({ message }) => message))
    const hidden = this.due.values().filter((m) => m.state === InFlight && !just.has(m))
    return hidden.slice(0, max).map((message) => {
      this.show(message)
      this.shelf.hidden(message)
      return this.handOut(message, now, visibilityTimeoutMs)
    })
  }

  /** The messages of an earlier receive with this id, their timeout restarted; `undefined`: receive anew. */
  receiveAgain(attemptId: string, now: number, visibilityTimeoutMs: number): ReadonlyArray<HandedOut> | undefined {
    const earlier = this.attempts.get(attemptId, now)
    if (earlier === undefined) return undefined
    if (earlier.some(({ message }) => message.state === Gone || message.changed)) {
      throw invalidParameter(
        attemptId,
        "ReceiveRequestAttemptId",
        "The receiveRequestAttemptId is not valid anymore since the receive call is not retryable."
      )
    }
    if (!earlier.every(({ message, receive }) => message.state === InFlight && message.receives === receive)) {
      return undefined
    }
    for (const { message } of earlier) this.hideUntil(message, now + visibilityTimeoutMs)
    return earlier
  }

  rememberAttempt(attemptId: string, handedOut: ReadonlyArray<HandedOut>, now: number): void {
    if (handedOut.length > 0) this.attempts.set(attemptId, handedOut, now)
  }

  changeVisibility(handle: string, timeoutSeconds: number, now: number): void {
    const issued = issuedBy(this.uid, handle)
    const message = this.messages.get(issued.serial)
    if (message === undefined) throw unavailable(handle)
    const state = stateOf(message, issued)
    const until = now + timeoutSeconds * 1000
    // the whole 43,200 s are never left once the receive has been answered
    if (timeoutSeconds === visibilityCapMs / 1000 || until > issued.receivedAt + visibilityCapMs) {
      throw invalidParameter(
        timeoutSeconds,
        "VisibilityTimeout",
        "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
      )
    }
    if (!mayChange(this.world, this.kind, handle, state)) return
    message.changed = true
    if (timeoutSeconds > 0) this.hideUntil(message, until)
    else if (message.state === InFlight) this.show(message)
    this.world.journal.append({
      _tag: "VisibilityChanged",
      at: now,
      call: this.world.call,
      queue: this.name,
      messageId: message.content.id,
      receiptHandle: handle,
      timeoutSeconds,
      visibleAt: until,
      handle: state
    })
  }

  delete(handle: string, now: number): void {
    const issued = issuedBy(this.uid, handle)
    const message = this.messages.get(issued.serial)
    if (message === undefined) return
    const state = stateOf(message, issued)
    if (this.kind === "fifo" && state !== "current") throw expired(handle)
    if (state === "old" && this.world.read("oldHandleDelete") === "ignored") return
    this.remove(message)
    this.world.journal.append({
      _tag: "Deleted",
      at: now,
      call: this.world.call,
      queue: this.name,
      messageId: message.content.id,
      receiptHandle: handle,
      handle: state
    })
  }

  /** What a handle stands for; `undefined` where it is none of this queue's or the message is gone. */
  messageOf(handle: string): StoredMessage | undefined {
    const issued = Handle.decode(handle)
    return issued === undefined || issued.queueUid !== this.uid ? undefined : this.messages.get(issued.serial)
  }

  /** The message that a move task takes next. */
  nextForMove(): StoredMessage | undefined {
    return this.shelf.next()
  }

  purge(now: number): void {
    if (this.purgedAt !== undefined && now < this.purgedAt + purgeIntervalMs) {
      throw apiError(
        "PurgeQueueInProgress",
        `Only one PurgeQueue operation on ${this.name} is allowed every 60 seconds.`
      )
    }
    this.purgedAt = now
    this.clear(now)
  }

  clear(now: number): void {
    for (const message of this.messages.values()) {
      message.state = Gone
      this.world.journal.append({
        _tag: "Purged",
        at: now,
        call: this.world.call,
        queue: this.name,
        messageId: message.content.id
      })
    }
    this.messages.clear()
    this.due.clear()
    this.age.clear()
    this.shelf.clear()
    this.deduplication.clear()
    this.attempts.clear()
    this.delayedCount = this.inFlightCount = 0
  }

  /** The new attributes hold at once. A new delay also moves the messages that a FIFO queue still delays. */
  change(settings: QueueSettings, now: number): void {
    const delayChanged = settings.delayMs !== this.settings.delayMs
    this.settings = settings
    this.lastModifiedAt = now
    if (!delayChanged || this.kind === "standard") return
    for (const message of this.due.values().filter((m) => m.state === Delayed)) {
      this.due.remove(message)
      message.visibleAt = message.content.sentAt + settings.delayMs
      this.due.push(message)
    }
    this.settle(now)
  }

  private mustMove(message: StoredMessage): boolean {
    const { redrive } = this.settings
    if (redrive === undefined || message.receives < redrive.maxReceiveCount) return false
    const target = this.world.queueByArn(redrive.deadLetterTargetArn)
    return target !== undefined && allowsSource(target.settings.redriveAllow, this.arn)
  }

  private deadLetter(message: StoredMessage, now: number): void {
    const target = this.world.queueByArn(this.settings.redrive?.deadLetterTargetArn ?? "")
    if (target === undefined) return
    this.remove(message)
    const fifo = this.kind === "fifo"
    target.store(
      {
        ...message.content,
        deadLetterSourceArn: this.arn,
        deduplicationId: fifo ? message.content.id : message.content.deduplicationId,
        sequenceNumber: fifo ? this.world.nextSequenceNumber() : undefined
      },
      {
        now,
        retainedFrom: fifo ? now : message.retainedFrom,
        delayMs: 0,
        receiveCount: message.receiveCount,
        firstReceivedAt: message.firstReceivedAt
      }
    )
    this.world.journal.append({
      _tag: "DeadLettered",
      at: now,
      call: this.world.call,
      queue: this.name,
      messageId: message.content.id,
      target: target.name,
      receiveCount: message.receiveCount
    })
  }

  /** A visible message, no longer on the shelf, goes out. */
  private handOut(message: StoredMessage, now: number, visibilityTimeoutMs: number): HandedOut {
    message.receives++
    message.receiveCount++
    message.receivedAt = now
    message.firstReceivedAt ??= now
    message.changed = false
    message.visibleAt = now + visibilityTimeoutMs
    if (visibilityTimeoutMs > 0) {
      message.state = InFlight
      this.due.push(message)
      this.inFlightCount++
    }
    const handle = Handle.encode(this.uid, message.serial, message.receives, now)
    if (this.world.journal.enabled) {
      this.world.journal.append({
        _tag: "Received",
        at: now,
        call: this.world.call,
        queue: this.name,
        messageId: message.content.id,
        receiptHandle: handle,
        receiveCount: message.receiveCount,
        visibleAt: message.visibleAt,
        groupId: message.content.groupId
      })
    }
    return { message, handle, receive: message.receives }
  }

  private show(message: StoredMessage): void {
    this.leaveDue(message)
    message.state = Visible
    this.shelf.shown(message)
    this.world.touched(this)
  }

  private hideUntil(message: StoredMessage, until: number): void {
    this.leaveDue(message)
    const wasVisible = message.state === Visible
    message.state = InFlight
    message.visibleAt = until
    this.due.push(message)
    this.inFlightCount++
    if (wasVisible) this.shelf.hidden(message)
  }

  /** takes a delayed or hidden message out of the heap and of its count */
  private leaveDue(message: StoredMessage): void {
    if (message.state === Visible) return
    this.due.remove(message)
    if (message.state === InFlight) this.inFlightCount--
    else this.delayedCount--
  }

  /** Takes a message out for good: deleted, expired, or on its way to another queue. */
  remove(message: StoredMessage): void {
    this.leaveDue(message)
    message.state = Gone
    this.age.remove(message)
    this.shelf.remove(message)
    this.messages.delete(message.serial)
    // a group may have become free, and there is room in flight again
    this.world.touched(this)
  }
}
