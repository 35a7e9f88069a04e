/** Message move tasks: from a queue of dead letters to where they came from, or to one queue, at a given rate. */
import { apiError, invalidParameter, invalidValue } from "./apiError.js"
import { isObject } from "./input.js"
import type { StoredMessage } from "./message.js"
import type { VirtualQueue } from "./queue.js"
import type { WorldOf } from "./world.js"

type Status = "RUNNING" | "COMPLETED" | "CANCELLING" | "CANCELLED" | "FAILED"

interface MoveTask {
  readonly id: string
  readonly sourceArn: string
  readonly destinationArn: string | undefined
  readonly rate: number | undefined
  readonly startedAt: number
  readonly toMove: number
  moved: number
  status: Status
  failure: string | undefined
  /** epoch ms of the next message */
  nextAt: number
}

/** What AWS does without a rate is its own affair; this is fast, and still takes time. */
const defaultRate = 500
const longestMs = 36 * 3_600_000
const mostListed = 10

const notThere = (parameter: string) =>
  apiError("ResourceNotFoundException", `The resource that you specified for the ${parameter} parameter doesn't exist.`)

const handleOf = (task: MoveTask): string =>
  Buffer.from(JSON.stringify({ taskId: task.id, sourceArn: task.sourceArn })).toString("base64")

const readHandle = (handle: string): { readonly taskId: string; readonly sourceArn: string } => {
  try {
    const json: unknown = JSON.parse(Buffer.from(handle, "base64").toString("utf8"))
    if (isObject(json) && typeof json["taskId"] === "string" && typeof json["sourceArn"] === "string") {
      return { taskId: json["taskId"], sourceArn: json["sourceArn"] }
    }
  } catch {
    // not of ours
  }
  throw invalidValue("Value for parameter TaskHandle is invalid.")
}

export class MoveTasks {
  private tasks: Array<MoveTask> = []
  private readonly active = new Set<MoveTask>()

  constructor(
    private readonly world: WorldOf<VirtualQueue>,
    private readonly queues: () => Iterable<VirtualQueue>,
    private readonly nextId: () => string
  ) {}

  /** when the next message is due to move, in epoch ms */
  get nextAt(): number | undefined {
    let next: number | undefined
    for (const task of this.active) if (next === undefined || task.nextAt < next) next = task.nextAt
    return next
  }

  start(
    sourceArn: string,
    destinationArn: string | undefined,
    rate: number | undefined,
    now: number
  ): { readonly TaskHandle: string } {
    if (rate !== undefined && (rate < 1 || rate > 500)) {
      throw invalidParameter(rate, "MaxNumberOfMessagesPerSecond", "Must be between 1 and 500, if provided.")
    }
    const source = this.world.queueByArn(sourceArn)
    if (source === undefined) throw notThere("SourceArn")
    const isTarget = [...this.queues()].some((q) => q.settings.redrive?.deadLetterTargetArn === sourceArn)
    if (!isTarget) throw invalidValue("Source queue must be configured as a Dead Letter Queue.")
    if (destinationArn !== undefined) {
      const destination = this.world.queueByArn(destinationArn)
      if (destination === undefined) throw notThere("DestinationArn")
      if (destination.kind !== source.kind) {
        throw invalidValue("The source queue and the destination queue must be of the same type.")
      }
    }
    if ([...this.active].some((task) => task.sourceArn === sourceArn)) {
      throw invalidValue(
        "There is already a task running. Only one active task is allowed for a source queue arn at a given time."
      )
    }
    if (this.active.size >= 100) {
      throw apiError("OverLimit", "The number of active message move tasks of this account is at its limit of 100.")
    }
    const task: MoveTask = {
      id: this.nextId(),
      sourceArn,
      destinationArn,
      rate,
      startedAt: now,
      toMove: source.counts.visible,
      moved: 0,
      status: "RUNNING",
      failure: undefined,
      nextAt: now
    }
    this.remember(task)
    this.active.add(task)
    return { TaskHandle: handleOf(task) }
  }

  cancel(handle: string, now: number): { readonly ApproximateNumberOfMessagesMoved: number } {
    const { sourceArn, taskId } = readHandle(handle)
    if (this.world.queueByArn(sourceArn) === undefined) throw notThere("SourceArn")
    const task = this.tasks.find(({ id }) => id === taskId)
    if (task === undefined) throw apiError("ResourceNotFoundException", "Task does not exist.")
    if (task.status !== "RUNNING") {
      throw apiError("UnsupportedOperation", "Only a message move task that is RUNNING can be cancelled.")
    }
    // the message that is on its way still moves
    task.status = "CANCELLING"
    task.nextAt = Math.max(task.nextAt, now)
    return { ApproximateNumberOfMessagesMoved: task.moved }
  }

  list(sourceArn: string, max: number | undefined): { readonly Results: ReadonlyArray<object> } {
    if (max !== undefined && (max < 1 || max > mostListed)) {
      throw invalidParameter(max, "MaxResults", `Must be between 1 and ${mostListed}, if provided.`)
    }
    if (this.world.queueByArn(sourceArn) === undefined) throw notThere("SourceArn")
    const own = this.tasks.filter((task) => task.sourceArn === sourceArn).reverse()
    return {
      Results: own.slice(0, max ?? 1).map((task) => ({
        ...(task.status === "RUNNING" ? { TaskHandle: handleOf(task) } : {}),
        Status: task.status,
        SourceArn: task.sourceArn,
        ...(task.destinationArn === undefined ? {} : { DestinationArn: task.destinationArn }),
        ...(task.rate === undefined ? {} : { MaxNumberOfMessagesPerSecond: task.rate }),
        ApproximateNumberOfMessagesMoved: task.moved,
        ApproximateNumberOfMessagesToMove: task.toMove,
        ...(task.failure === undefined ? {} : { FailureReason: task.failure }),
        StartedTimestamp: task.startedAt
      }))
    }
  }

  /** Moves what is due. Tasks take turns in the order of time. */
  advance(now: number): void {
    while (this.active.size > 0) {
      let task: MoveTask | undefined
      for (const other of this.active) if (task === undefined || other.nextAt < task.nextAt) task = other
      if (task === undefined || task.nextAt > now) return
      this.step(task)
    }
  }

  /** As many tasks of a queue are kept as can be listed. */
  private remember(task: MoveTask): void {
    const [oldest, ...others] = this.tasks.filter(({ sourceArn }) => sourceArn === task.sourceArn)
    if (others.length >= mostListed - 1) this.tasks = this.tasks.filter((other) => other !== oldest)
    this.tasks.push(task)
  }

  private step(task: MoveTask): void {
    const at = task.nextAt
    const source = this.world.queueByArn(task.sourceArn)
    if (source === undefined) return this.fail(task, "AWS.SimpleQueueService.NonExistentQueue")
    source.settle(at)
    const message = source.nextForMove()
    if (message === undefined || at - task.startedAt > longestMs) {
      return this.end(task, task.status === "CANCELLING" ? "CANCELLED" : "COMPLETED")
    }
    const destinationArn = task.destinationArn ?? message.content.deadLetterSourceArn
    if (destinationArn === undefined) return this.fail(task, "CouldNotDetermineMessageSource")
    const destination = this.world.queueByArn(destinationArn)
    if (destination === undefined) return this.fail(task, "AWS.SimpleQueueService.NonExistentQueue")
    this.move(message, source, destination, at)
    task.moved++
    if (task.status === "CANCELLING") return this.end(task, "CANCELLED")
    if (source.nextForMove() === undefined) return this.end(task, "COMPLETED")
    task.nextAt = at + 1000 / (task.rate ?? defaultRate)
  }

  private move(message: StoredMessage, source: VirtualQueue, destination: VirtualQueue, at: number): void {
    source.remove(message)
    const kept = this.world.read("receiveCountAfterMoveTask") === "kept"
    const now = Math.floor(at)
    const stored = destination.store(
      {
        ...message.content,
        id: this.world.nextMessageId(),
        sentAt: now,
        sequenceNumber: destination.kind === "fifo" ? this.world.nextSequenceNumber() : undefined,
        deadLetterSourceArn: undefined
      },
      {
        now,
        retainedFrom: now,
        delayMs: 0,
        receiveCount: kept ? message.receiveCount : 0,
        firstReceivedAt: kept ? message.firstReceivedAt : undefined
      }
    )
    this.world.journal.append({
      _tag: "Redriven",
      at: now,
      call: undefined,
      queue: source.name,
      messageId: message.content.id,
      target: destination.name,
      newMessageId: stored.content.id
    })
  }

  private end(task: MoveTask, status: Status): void {
    task.status = status
    this.active.delete(task)
  }

  private fail(task: MoveTask, reason: string): void {
    task.failure = reason
    this.end(task, "FAILED")
  }
}
