/**
 * The engine of `SimClock`: it owns the run queue of all fibers and the heap of all timers of one simulation, so it
 * knows exactly when nothing can run any more, and only then moves the time.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import { globalValue } from "effect/GlobalValue"
import * as Option from "effect/Option"
import { hasProperty } from "effect/Predicate"
import * as Scheduler from "effect/Scheduler"
import { PCGRandom } from "effect/Utils"
import { type Timer, Timers } from "./timers.js"

export interface Settings {
  readonly startMs: number
  readonly limitMs: number
  readonly tasksPerInstant: number
  readonly order: "fifo" | "random"
  readonly randomSeed: number
}

export type StuckReason = "deadlock" | "livelock" | "timeLimit"

/** A turn of Node's event loop is taken at least after so many tasks, so that signals and test runners live on. */
const TASKS_PER_TURN = 20_000
/** And after so many moves of the time. */
const JUMPS_PER_TURN = 200

/** More often than that the time does not move within one millisecond: it creeps, and will never get on. */
const INSTANTS_PER_MS = 100_000

interface Entry {
  readonly task: Scheduler.Task
  readonly process: Process
}

/**
 * One machine with one event loop: its fibers run on its scheduler and read its clock. All processes of a simulation share
 * the flow of time; each has its own wall clock, its own stalls, its own end.
 */
export class Process implements Scheduler.Scheduler {
  readonly clock: ProcessClock
  /** what this wall clock is ahead of the true time */
  offsetMs = 0
  dead = false
  private externals = 0
  private stalledUntil = -1
  private held: Array<[Entry, number]> = []
  private readonly onStallEnd: Array<() => void> = []

  constructor(
    readonly simulation: Simulation,
    readonly name: string
  ) {
    this.clock = new ProcessClock(this)
  }

  readonly shouldYield = Scheduler.defaultShouldYield

  scheduleTask(task: Scheduler.Task, priority: number): void {
    if (this.dead) return
    const entry: Entry = { task, process: this }
    if (this.stalled) this.held.push([entry, priority])
    else this.simulation.enqueue(entry, priority)
  }

  get stalled(): boolean {
    return this.stalledUntil >= 0
  }

  hold(entry: Entry, priority: number): void {
    this.held.push([entry, priority])
  }

  /** Nothing of this process runs for so long; `first` runs before everything that has come in meanwhile. */
  stall(ms: number, first: () => void): void {
    this.onStallEnd.push(first)
    const until = this.simulation.elapsedMs + ms
    this.stalledUntil = Math.max(this.stalledUntil, until)
    this.simulation.addTimer(
      until,
      () => {
        if (this.dead || !this.stalled || this.simulation.elapsedMs < this.stalledUntil) return
        this.stalledUntil = -1
        const held = this.held
        this.held = []
        for (const resume of this.onStallEnd.splice(0)) resume()
        for (const [entry, priority] of held) this.simulation.enqueue(entry, priority)
      },
      this
    )
  }

  /** One fiber more, or less, waits for the real world. */
  external(change: 1 | -1): void {
    if (this.dead) return
    this.externals += change
    this.simulation.externals += change
  }

  kill(): void {
    if (this.dead) return
    this.dead = true
    this.held = []
    this.simulation.externals -= this.externals
    for (const resume of this.onStallEnd.splice(0)) resume()
    this.simulation.wake()
  }
}

/** The clock of one process. Its milliseconds can be set; its nanoseconds only ever flow. */
export class ProcessClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: typeof Clock.ClockTypeId = Clock.ClockTypeId
  constructor(readonly process: Process) {}

  unsafeCurrentTimeMillis(): number {
    const { offsetMs, simulation } = this.process
    return Math.floor(simulation.settings.startMs + simulation.elapsedMs + offsetMs)
  }

  unsafeCurrentTimeNanos(): bigint {
    const { simulation } = this.process
    return simulation.startNanos + BigInt(Math.round(simulation.elapsedMs * 1e6))
  }

  readonly currentTimeMillis = Effect.sync(() => this.unsafeCurrentTimeMillis())
  readonly currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    const ms = Duration.toMillis(duration)
    if (ms === Infinity) return Effect.never
    return Effect.async<void>((resume) => {
      const { simulation } = this.process
      if (simulation.isSuspicious) simulation.suspect(`${this.process.name}: a sleep of ${brief(ms)} ms${inSpan()}`)
      const fire = () => {
        if (!this.process.dead) resume(Effect.void)
      }
      const timer = simulation.addTimer(simulation.elapsedMs + Math.max(0, ms), fire, this.process)
      return Effect.sync(() => simulation.removeTimer(timer))
    })
  }
}

/** Short, so that what is nearly the same reads the same. */
const brief = (ms: number): number => Number(ms.toPrecision(2))

/** The span of the fiber that asks. */
const inSpan = (): string => {
  const span = Option.getOrUndefined(Fiber.getCurrentFiber())?.currentSpan
  return span?._tag === "Span" ? ` in ${span.name}` : ""
}

/** So many of the things that go on and on are told. */
const SUSPECTS = 5

export class Simulation {
  /** the flow of time since the start; never moved back */
  elapsedMs = 0
  /** timers fired so far */
  steps = 0
  /** how many fibers wait for the real world now */
  externals = 0
  /** why it was given up, if it was */
  stuckReason: StuckReason | undefined
  /** then: what was waited for, or what went on and on */
  waitingFor: ReadonlyArray<string> = []
  readonly startNanos: bigint
  private readonly processes: Array<Process> = []
  private readonly timers = new Timers()
  private readonly random: PCGRandom
  private queue = new Scheduler.PriorityBuckets<Entry>()
  private timerCount = 0
  /** of the present millisecond, which begins at the first instant after the one before has ended */
  private tasksNow = 0
  private jumps = 0
  private instantsNow = 0
  private nextMs = 0
  private readonly suspects = new Map<string, number>()
  private closing = false
  private readonly onEnds: Array<() => void> = []
  private state: "idle" | "scheduled" | "running" | "ended" = "idle"

  constructor(readonly settings: Settings) {
    this.startNanos = BigInt(Math.floor(settings.startMs)) * 1_000_000n
    this.random = new PCGRandom(settings.randomSeed)
  }

  addProcess(name: string): Process {
    const process = new Process(this, name)
    this.processes.push(process)
    return process
  }

  enqueue(entry: Entry, priority: number): void {
    this.queue.scheduleTask(entry, priority)
    this.wake()
  }

  addTimer(at: number, fire: () => void, process: Process): Timer {
    this.timerCount++
    const tie = this.settings.order === "fifo" ? this.timerCount : this.random.number()
    const timer = this.timers.add(at, tie, fire, process)
    this.wake()
    return timer
  }

  removeTimer(timer: Timer): void {
    this.timers.remove(timer)
  }

  /**
   * Ends the simulation once all fibers that were started in it have ended: those that are left are interrupted one after
   * the other, the oldest first, since the oldest is the one that knows how to stop the others. If one cannot end, the rest is
   * given up.
   */
  close(): void {
    this.closing = true
    const oldest = this.roots().find(({ process }) => !process.dead)
    if (oldest === undefined) return this.end()
    oldest.fiber.addObserver(() => this.close())
    oldest.fiber.unsafeInterruptAsFork(FiberId.none)
  }

  /** After this nothing runs any more. */
  private end(): void {
    if (this.ended) return
    this.state = "ended"
    for (const process of this.processes) process.kill()
    this.queue = new Scheduler.PriorityBuckets()
    for (const { fiber } of this.roots()) forget(fiber)
    for (const callback of this.onEnds) callback()
  }

  /** Calls back when the simulation has ended, at once if it has. */
  onEnd(callback: () => void): void {
    if (this.ended) callback()
    else this.onEnds.push(callback)
  }

  private roots(): Array<{ readonly fiber: Fiber.RuntimeFiber<unknown, unknown>; readonly process: Process }> {
    const found: Array<{ readonly fiber: Fiber.RuntimeFiber<unknown, unknown>; readonly process: Process }> = []
    for (const fiber of Effect.runSync(Fiber.roots)) {
      const scheduler = fiber.currentScheduler
      if (scheduler instanceof Process && scheduler.simulation === this && fiber.unsafePoll() === null) {
        found.push({ fiber, process: scheduler })
      }
    }
    return found
  }

  wake(): void {
    if (this.state !== "idle") return
    this.state = "scheduled"
    setImmediate(this.turn)
  }

  /**
   * Promises that need no real input have all settled when it begins, since it begins with microtasks and ticks behind it;
   * so an empty queue at this point means that nothing can run.
   */
  private readonly turn = (): void => {
    if (this.ended) return
    this.state = "running"
    if (this.queue.buckets.length === 0 && this.externals === 0) this.jump()
    this.drain()
    if (this.ended) return
    if (this.queue.buckets.length === 0 && this.externals > 0) {
      this.state = "idle"
      this.tasksNow = 0
      return
    }
    this.state = "scheduled"
    if (this.queue.buckets.length > 0 || ++this.jumps >= JUMPS_PER_TURN) {
      this.jumps = 0
      setImmediate(this.turn)
    } else settled(this.turn)
  }

  get ended(): boolean {
    return this.state === "ended"
  }

  private newMs(): void {
    this.nextMs = this.elapsedMs + 1
    this.tasksNow = 0
    this.instantsNow = 0
    if (this.suspects.size > 0) this.suspects.clear()
  }

  /** It may be going round in circles: what goes on is noted. */
  get isSuspicious(): boolean {
    return this.tasksNow > this.settings.tasksPerInstant / 2 || this.instantsNow > INSTANTS_PER_MS / 2
  }

  suspect(what: string): void {
    this.suspects.set(what, (this.suspects.get(what) ?? 0) + 1)
  }

  /** Moves the time to the next timer and fires all that are due, each with all that follows from it. */
  private jump(): void {
    const next = this.timers.first
    if (next === undefined) return this.stuck("deadlock")
    if (next.at > this.settings.limitMs) return this.stuck("timeLimit")
    if (next.at > this.elapsedMs) {
      this.elapsedMs = next.at
      if (next.at >= this.nextMs) this.newMs()
      else if (++this.instantsNow > INSTANTS_PER_MS) return this.stuck("livelock")
    }
    for (let timer = this.timers.first; timer !== undefined && timer.at <= this.elapsedMs; timer = this.timers.first) {
      this.timers.remove(timer)
      this.steps++
      timer.fire()
      this.drain()
      if (this.ended || this.queue.buckets.length > 0) return
    }
  }

  /** Runs tasks until none is left or the turn's share is used up. */
  private drain(): void {
    let left = TASKS_PER_TURN
    while (this.queue.buckets.length > 0 && left > 0) {
      const buckets = this.queue.buckets
      this.queue.buckets = []
      for (const [priority, entries] of buckets) {
        if (this.settings.order === "random") this.shuffle(entries)
        for (const entry of entries) {
          if (this.ended) return
          const { process } = entry
          if (process.dead) continue
          if (process.stalled) {
            process.hold(entry, priority)
            continue
          }
          left--
          entry.task()
          if (++this.tasksNow > this.settings.tasksPerInstant) return this.stuck("livelock")
          if (this.isSuspicious) this.suspect(`${process.name}: a fiber that goes on`)
        }
      }
    }
  }

  private shuffle(entries: Array<Entry>): void {
    for (let i = entries.length - 1; i > 0; i--) {
      const j = this.random.integer(i + 1)
      const entry = entries[i]!
      entries[i] = entries[j]!
      entries[j] = entry
    }
  }

  private stuck(reason: StuckReason): void {
    if (!this.closing) {
      this.stuckReason = reason
      this.waitingFor = reason === "livelock" ? this.mostSuspect() : this.nextTimers()
    }
    this.end()
  }

  private mostSuspect(): ReadonlyArray<string> {
    const most = [...this.suspects].sort((a, b) => b[1] - a[1]).slice(0, SUSPECTS)
    return most.map(([what, times]) => `${what}, ${times} times within a millisecond`)
  }

  private nextTimers(): ReadonlyArray<string> {
    const alive = this.processes.filter((process) => !process.dead)
    return alive.map((process) => {
      const next = this.timers.all.reduce((least, t) => (t.owner === process ? Math.min(least, t.at) : least), Infinity)
      return `${process.name}: ${next === Infinity ? "no timer" : `a timer, in ${brief(next - this.elapsedMs)} ms`}`
    })
  }
}

/** Ticks and microtasks that wait for each other, no deeper than that: an event loop's turn costs ten times as much. */
const HOPS = 4

/** Calls `f` when all microtasks and ticks are done, and what follows from them. */
const settled = (f: () => void, hops = HOPS): void =>
  queueMicrotask(() => process.nextTick(hops === 1 ? f : () => settled(f, hops - 1)))

/**
 * Effect keeps every root fiber that has not ended in a global set. Those that an ended simulation gave up never will, so
 * they are taken out. They are not told that they ended: who observes them would run code in the name of a dead process.
 */
const forget = (fiber: unknown): void => {
  const scope: unknown = globalValue(Symbol.for("effect/FiberScope/Global"), () => undefined)
  if (hasProperty(scope, "roots") && scope.roots instanceof Set) scope.roots.delete(fiber)
}
