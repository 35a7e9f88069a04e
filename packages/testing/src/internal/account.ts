/** The queues of one account in one region, and what they share. */
import type { Journal } from "../Journal.js"
import { readings, type VirtualSqsPolicy } from "../VirtualSqsPolicy.js"
import {
  apiError,
  type ApiError,
  invalidParameter,
  invalidValue,
  missingParameter,
  queueDoesNotExist
} from "./apiError.js"
import { generator, uuid } from "./ids.js"
import type { Json } from "./input.js"
import { optionalString } from "./input.js"
import { MoveTasks } from "./moveTasks.js"
import { VirtualQueue } from "./queue.js"
import { applyAttributes, differingAttribute, type QueueKind, type QueueSettings } from "./queueAttributes.js"
import { allowsSource } from "./redrivePolicy.js"
import type { Readings, WorldOf } from "./world.js"

export interface AccountOptions {
  readonly accountId: string
  readonly region: string
  readonly policy: VirtualSqsPolicy
  readonly seed: number | string
  readonly journal: Journal
  readonly inFlightLimit: number
}

const recentlyDeletedMs = 60_000
/** 20 digits, growing, not consecutive */
const firstSequenceNumber = 18_870_000_000_000_000_000n
const sequenceStep = 256n

export class Account implements WorldOf<VirtualQueue> {
  readonly journal: Journal
  readonly inFlightLimit: number
  readonly moveTasks: MoveTasks
  /** queues in which messages may have become available since the polls were last looked after */
  readonly dirty = new Set<VirtualQueue>()
  call: number | undefined
  private readonly queues = new Map<string, VirtualQueue>()
  private readonly byArn = new Map<string, VirtualQueue>()
  private readonly deletedAt = new Map<string, number>()
  private readonly bits: () => number
  private readonly draws: () => number
  private serial = 0
  private uid = 0
  private sequence = 0n

  constructor(readonly options: AccountOptions) {
    this.journal = options.journal
    this.inFlightLimit = options.inFlightLimit
    this.bits = generator(`${options.seed} ids`)
    this.draws = generator(`${options.seed} policy`)
    this.moveTasks = new MoveTasks(this, () => this.queues.values(), this.nextMessageId)
  }

  readonly nextSerial = () => ++this.serial
  readonly nextMessageId = () => uuid(this.bits)
  readonly nextSequenceNumber = () => String(firstSequenceNumber + ++this.sequence * sequenceStep)
  readonly queueByArn = (arn: string) => this.byArn.get(arn)
  readonly touched = (queue: VirtualQueue) => void this.dirty.add(queue)
  readonly draw = () => this.draws() / 0x1_0000_0000
  readonly isFixed = (point: keyof VirtualSqsPolicy) => this.options.policy[point] !== "random"
  readonly read = <K extends keyof VirtualSqsPolicy>(point: K): Readings[K] => {
    const reading = this.options.policy[point]
    const all = readings[point] as ReadonlyArray<unknown>
    return (reading === "random" ? all[Math.floor(this.draw() * all.length)] : reading) as Readings[K]
  }

  /** Lets happen in other queues what time alone does and what can be seen in any. */
  advance(now: number): void {
    this.moveTasks.advance(now)
    if (this.options.policy.deadLetterMove === "atReceive") return
    for (const queue of this.queues.values()) if (queue.settings.redrive !== undefined) queue.settle(now)
  }

  all(): Iterable<VirtualQueue> {
    return this.queues.values()
  }

  find(name: string): VirtualQueue | undefined {
    return this.queues.get(name)
  }

  arnOf(name: string): string {
    return `arn:aws:sqs:${this.options.region}:${this.options.accountId}:${name}`
  }

  /** The queue that a request names by its URL, or by its bare name. */
  byUrl(input: Json): VirtualQueue {
    const url = optionalString(input, "QueueUrl")
    if (url === undefined || url === "") throw missingParameter("QueueUrl")
    const queue = this.queues.get(this.nameOf(url))
    if (queue === undefined) throw queueDoesNotExist()
    return queue
  }

  nameOf(url: string): string {
    const slash = url.lastIndexOf("/")
    if (slash < 0) return url
    const name = url.slice(slash + 1)
    if (name === "") throw apiError("InvalidAddress", `The address ${url} is not valid for this endpoint.`)
    const account = url.slice(url.lastIndexOf("/", slash - 1) + 1, slash)
    return account === this.options.accountId ? name : ""
  }

  create(
    name: string,
    attributes: ReadonlyMap<string, string>,
    tags: ReadonlyMap<string, string>,
    now: number
  ): VirtualQueue {
    const fifo = attributes.get("FifoQueue")?.toLowerCase() === "true"
    checkName(name, fifo)
    const kind: QueueKind = fifo ? "fifo" : "standard"
    const existing = this.queues.get(name)
    if (existing !== undefined) {
      const different = differingAttribute(existing.kind, existing.settings.texts, attributes)
      if (different === undefined) return existing
      throw apiError(
        "QueueNameExists",
        `A queue already exists with the same name and a different value for attribute ${different}`
      )
    }
    const deletedAt = this.deletedAt.get(name)
    if (deletedAt !== undefined && now < deletedAt + recentlyDeletedMs) {
      throw apiError(
        "QueueDeletedRecently",
        "You must wait 60 seconds after deleting a queue before you can create another with the same name."
      )
    }
    this.deletedAt.delete(name)
    const arn = this.arnOf(name)
    const settings = applyAttributes(kind, undefined, attributes)
    this.checkRedrive(kind, arn, settings, attributes)
    const queue = new VirtualQueue(this, name, ++this.uid, arn, kind, settings, now)
    for (const [key, value] of tags) queue.tags.set(key, value)
    this.queues.set(name, queue)
    this.byArn.set(arn, queue)
    return queue
  }

  change(queue: VirtualQueue, changes: ReadonlyMap<string, string>, now: number): void {
    const settings = applyAttributes(queue.kind, queue.settings.texts, changes)
    this.checkRedrive(queue.kind, queue.arn, settings, changes)
    queue.change(settings, now)
  }

  delete(queue: VirtualQueue, now: number): void {
    queue.clear(now)
    this.queues.delete(queue.name)
    this.byArn.delete(queue.arn)
    for (const [name, at] of this.deletedAt) if (at + recentlyDeletedMs <= now) this.deletedAt.delete(name)
    this.deletedAt.set(queue.name, now)
    this.dirty.add(queue)
  }

  private checkRedrive(
    kind: QueueKind,
    arn: string,
    settings: QueueSettings,
    changes: ReadonlyMap<string, string>
  ): void {
    const text = changes.get("RedrivePolicy")
    if (text === undefined || settings.redrive === undefined) return
    const refuse = (reason: string): ApiError => invalidParameter(text, "RedrivePolicy", reason)
    const target = this.byArn.get(settings.redrive.deadLetterTargetArn)
    if (target === undefined) throw refuse("Dead letter target does not exist.")
    if (target.kind !== kind) throw refuse("Dead-letter queue must be same type of queue as the source.")
    if (!allowsSource(target.settings.redriveAllow, arn)) {
      throw refuse("The redrive allow policy of the dead-letter queue does not permit this queue.")
    }
  }
}

const checkName = (name: string, fifo: boolean): void => {
  if (fifo) {
    if (!/^[A-Za-z0-9_-]{1,75}\.fifo$/.test(name)) {
      throw invalidValue(
        "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with " +
          ".fifo suffix and be 1 to 80 in length"
      )
    }
  } else if (!/^[A-Za-z0-9_-]{1,80}$/.test(name)) {
    throw invalidValue("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
  }
}
