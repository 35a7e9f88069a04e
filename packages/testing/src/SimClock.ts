/**
 * Virtual time for long simulations: hours of hundreds of workers in seconds, the same for the same seed.
 *
 * `run` takes over scheduler, clock and random numbers of one effect. It runs all fibers until none can go on, then moves
 * the time to the next timer; nobody adjusts it by hand. When no fiber can go on and no timer is left, it fails with
 * `SimStuck` instead of hanging.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import { hash } from "effect/Hash"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import { type Process, ProcessClock, Simulation, type StuckReason } from "./internal/simulation.js"

/**
 * The simulation cannot end. `deadlock`: the main effect waits, no fiber can go on, and no timer is left. `livelock`: fibers
 * went on and on within one millisecond. `timeLimit`: the virtual time is over.
 *
 * @since 0.1.0
 * @category errors
 */
export class SimStuck extends Schema.TaggedError<SimStuck>()("SimStuck", {
  reason: Schema.Literal("deadlock", "livelock", "timeLimit"),
  /** virtual ms since the start */
  elapsedMs: Schema.Number,
  seed: Schema.Union(Schema.String, Schema.Number),
  /** what each process waited for, or, of a livelock, what went on and on, the most frequent first */
  waitingFor: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] })
}) {
  override get message() {
    const at = `${Duration.format(Duration.millis(this.elapsedMs))} after the start (seed ${JSON.stringify(this.seed)})`
    return [`${at}: ${explanations[this.reason]}`, ...this.waitingFor.map((line) => `  ${line}`)].join("\n")
  }
}

const explanations: Record<StuckReason, string> = {
  deadlock:
    "deadlock: the main effect waits, no fiber can go on and no timer is left. Look for a Deferred, queue or message " +
    "that nobody will complete. Real I/O is not waited for unless it is wrapped in SimClock.external.",
  livelock:
    "livelock: fibers go on and on, and no millisecond passes. Look for a loop without a delay, or raise tasksPerInstant.",
  timeLimit:
    "the virtual time limit is reached and the main effect has not ended. Stop what runs for ever, or raise limit."
}

/**
 * How a simulation runs; all is optional.
 *
 * @since 0.1.0
 * @category models
 */
export interface SimOptions {
  /** epoch ms at the start; 2026-01-01T00:00:00Z */
  readonly start?: number | undefined
  /** of Effect's `Random`, and of `order: "random"`; 0 */
  readonly seed?: number | string | undefined
  /**
   * `fifo`: fibers go on in the order in which they became ready, timers of one instant in the order in which they were
   * set. `random`: in an order drawn from the seed, so that many seeds try many interleavings. `fifo` unless said.
   */
  readonly order?: "fifo" | "random" | undefined
  /** virtual time after which the simulation is given up; 30 days */
  readonly limit?: Duration.DurationInput | undefined
  /** fiber steps within one millisecond of virtual time after which it is given up; 5,000,000 */
  readonly tasksPerInstant?: number | undefined
}

/**
 * Runs an effect in virtual time. All that it needs of time and chance comes from the simulation: build layers inside, since
 * what was built outside lives by the outer clock. When the effect has ended, fibers that it left behind are interrupted, still
 * in virtual time.
 *
 * @since 0.1.0
 * @category running
 * @example
 * import { SimClock } from "@effect-sqs/testing"
 * import { Effect } from "effect"
 *
 * // an hour in a few milliseconds
 * const hour = SimClock.run(Effect.sleep("1 minute").pipe(Effect.repeatN(59), Effect.timed), { seed: 42 })
 * Effect.runPromise(hour).then(([duration]) => console.log(String(duration)))
 */
export const run = <A, E, R>(effect: Effect.Effect<A, E, R>, options?: SimOptions): Effect.Effect<A, E | SimStuck, R> =>
  Effect.flatMap(Effect.runtime<R>(), (runtime) =>
    Effect.async<A, E | SimStuck>((resume) => {
      const seed = options?.seed ?? 0
      const simulation = new Simulation({
        startMs: options?.start ?? Date.UTC(2026, 0, 1),
        limitMs: Duration.toMillis(options?.limit ?? "30 days"),
        tasksPerInstant: options?.tasksPerInstant ?? 5_000_000,
        order: options?.order ?? "fifo",
        randomSeed: hash(seed)
      })
      const fiber = launch(runtime, Effect.withRandom(effect, Random.make(seed)), simulation.addProcess("main"))
      let result: Effect.Effect<A, E | SimStuck> | undefined
      fiber.addObserver((exit) => {
        if (simulation.ended) return
        result = exit
        simulation.close()
      })
      simulation.onEnd(() => {
        const reason = simulation.stuckReason ?? "deadlock"
        resume(
          result ??
            Effect.fail(
              new SimStuck({ reason, elapsedMs: simulation.elapsedMs, seed, waitingFor: simulation.waitingFor })
            )
        )
      })
      return Effect.async<void>((interrupted) => {
        simulation.onEnd(() => interrupted(Effect.void))
        fiber.unsafeInterruptAsFork(FiberId.none)
      })
    })
  )

const launch = <A, E, R>(runtime: Runtime.Runtime<R>, effect: Effect.Effect<A, E, R>, process: Process) =>
  Runtime.runFork(runtime)(Effect.withClock(effect, process.clock), { scheduler: process, immediate: false })

const withProcess = <A, E, R>(f: (process: Process) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) =>
    clock instanceof ProcessClock
      ? f(clock.process)
      : Effect.dieMessage("SimClock: not in a simulation. Wrap the whole test in SimClock.run.")
  )

/**
 * The wall clock of this process is set forward, or back by a negative number of ms. `Clock.currentTimeMillis` shows it;
 * nanoseconds, timers and all other processes do not.
 *
 * @since 0.1.0
 * @category what befalls a process
 */
export const jumpMillis = (ms: number): Effect.Effect<void> =>
  withProcess((process) =>
    Effect.sync(() => {
      process.offsetMs += ms
    })
  )

/**
 * The event loop of this process is blocked: time passes, and neither timers nor answers come through until it is over. Then
 * the caller goes on first.
 *
 * @since 0.1.0
 * @category what befalls a process
 */
export const stall = (duration: Duration.DurationInput): Effect.Effect<void> =>
  withProcess((process) => blocked(process, duration))

const blocked = (process: Process, duration: Duration.DurationInput): Effect.Effect<void> =>
  Effect.async<void>((resume) => process.stall(Duration.toMillis(duration), () => resume(Effect.void)))

/**
 * Marks an effect that waits for the real world (a socket, a file, a worker thread): until it has ended the virtual time
 * stands still. How long it takes, and what else was going on, is then no longer a matter of the seed.
 *
 * @since 0.1.0
 * @category running
 */
export const external = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  withProcess((process) =>
    Effect.acquireUseRelease(
      Effect.sync(() => process.external(1)),
      () => effect,
      () => Effect.sync(() => process.external(-1))
    )
  )

/**
 * The time without the jumps of any wall clock, in epoch ms: what a server on another machine would say. Outside of a
 * simulation it is `Clock.currentTimeMillis`.
 *
 * @since 0.1.0
 * @category running
 */
export const trueTimeMillis: Effect.Effect<number> = Effect.clockWith((clock) =>
  clock instanceof ProcessClock
    ? Effect.sync(() => Math.floor(clock.process.simulation.settings.startMs + clock.process.simulation.elapsedMs))
    : clock.currentTimeMillis
)

/**
 * How far this simulation has come: virtual ms since the start, and timers that have fired.
 *
 * @since 0.1.0
 * @category running
 */
export const progress: Effect.Effect<{ readonly elapsedMs: number; readonly timersFired: number }> = withProcess(
  ({ simulation }) => Effect.sync(() => ({ elapsedMs: simulation.elapsedMs, timersFired: simulation.steps }))
)

/**
 * A worker on a machine of its own: own wall clock, own stalls, own death.
 *
 * @since 0.1.0
 * @category processes
 */
export interface SimProcess<out A, out E> {
  readonly name: string
  /** how it ended; of a killed one, an interruption */
  readonly await: Effect.Effect<Exit.Exit<A, E>>
  /** asks it to stop, as SIGTERM does; does not wait */
  readonly terminate: Effect.Effect<void>
  /** ends it on the spot, as SIGKILL or a power cut does: no finalizer runs, no timer fires, nothing more is sent */
  readonly kill: Effect.Effect<void>
  /** blocks its event loop; returns when that is over */
  readonly stall: (duration: Duration.DurationInput) => Effect.Effect<void>
  /** sets its wall clock forward, or back by a negative number of ms */
  readonly jumpMillis: (ms: number) => Effect.Effect<void>
}

/**
 * Starts an effect as a process of its own in this simulation. Services that it is given from outside are shared, as a
 * server is: what they do in fibers of the process stops with the process.
 *
 * @since 0.1.0
 * @category processes
 */
export const spawn = <A, E, R>(
  name: string,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<SimProcess<A, E>, never, R> =>
  Effect.flatMap(Effect.runtime<R>(), (runtime) =>
    withProcess(({ simulation }) =>
      Effect.map(Deferred.make<Exit.Exit<A, E>>(), (ended) => {
        const process = simulation.addProcess(name)
        const fiber = launch(runtime, effect, process)
        fiber.addObserver((exit) => Deferred.unsafeDone(ended, Effect.succeed(exit)))
        return {
          name,
          await: Deferred.await(ended),
          terminate: Effect.sync(() => fiber.unsafeInterruptAsFork(FiberId.none)),
          kill: Effect.sync(() => {
            process.kill()
            Deferred.unsafeDone(ended, Effect.succeed(Exit.interrupt(FiberId.none)))
          }),
          stall: (duration) => Effect.suspend(() => (process.dead ? Effect.void : blocked(process, duration))),
          jumpMillis: (ms) =>
            Effect.sync(() => {
              process.offsetMs += ms
            })
        }
      })
    )
  )
