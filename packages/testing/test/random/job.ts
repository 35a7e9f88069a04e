/** What handlers do in a random run, and what the policies make of it. */
import { type Delivery, Redelivery, Settlement } from "@effect-sqs/core"
import { SimClock } from "@effect-sqs/testing"
import { Data, Deferred, Effect, Exit, Schedule, Schema } from "effect"
import { dice, type RedeliveryName, type Scene } from "./scene.js"

export const Job = Schema.Struct({ n: Schema.Number })
export type Job = typeof Job.Type

export class Failed extends Data.TaggedError("Failed")<{ readonly why: string }> {}
export class Busy extends Data.TaggedError("Busy")<{ readonly retryAfter: number }> {}

/** From this number on messages are probes: they hold their places until all are taken. */
export const FIRST_PROBE = 1_000_000

export interface Probes {
  running: number
  most: number
  readonly done: Deferred.Deferred<void>
}

export const policyOf = (name: RedeliveryName): Redelivery.Redelivery<any> | undefined => {
  switch (name) {
    case "default":
      return undefined
    case "at once":
      return Redelivery.release(0)
    case "soon":
      return Redelivery.release("3 seconds")
    case "late":
      return Redelivery.release("1 minute")
    case "leave":
      return Redelivery.leave
    case "delete":
      return Redelivery.delete
    case "deadLetter":
      return Redelivery.deadLetter
    case "backoff":
      return Redelivery.schedule(Schedule.exponential("1 second").pipe(Schedule.intersect(Schedule.recurs(2))), {
        whenOver: Redelivery.deadLetter
      })
    case "byTag":
      return Redelivery.release("2 seconds").pipe(
        Redelivery.catchTag("Failed", Redelivery.deadLetter),
        Redelivery.catchError(Busy, (e) => Redelivery.release(e.retryAfter))
      )
    case "lastAttempt":
      return Redelivery.release("1 second").pipe(Redelivery.lastAttempt(Redelivery.deadLetter))
    case "dies":
      return Redelivery.make(() => Effect.die("a policy that dies"))
  }
}

const settlements = [
  Settlement.Delete,
  Settlement.Release("4 seconds"),
  Settlement.Release(0),
  Settlement.DeadLetter("enough"),
  Settlement.Leave
]

/** One run, drawn from the seed, the message and the receive. `mayDelete` hears of messages that a policy may delete. */
export const handlerOf =
  (scene: Scene, redelivery: RedeliveryName, probes: Probes, mayDelete: (messageId: string) => void) =>
  (job: Job, delivery: Delivery.Delivery<Job>): Effect.Effect<void, Failed | Busy | Settlement.EndWith> =>
    Effect.gen(function* () {
      if (job.n >= FIRST_PROBE) return yield* probe(probes)
      if ((yield* SimClock.progress).elapsedMs >= scene.calmAt) return yield* Effect.sleep(10)
      const { chance, int, one } = dice(scene.seed, "run", job.n, delivery.receiveCount)
      const { jobs } = scene
      const ms = chance("short", 0.5) ? int("ms", 0, jobs.longestMs / 10) : int("ms", 0, jobs.longestMs)
      const ignoresMs = chance("ignores", 0.5) ? int("ignores ms", 0, jobs.ignoresMs) : 0
      const sleeps = chance("at once", 0.1) ? Effect.void : Effect.sleep(ms)
      const work = chance("deaf", 0.5)
        ? Effect.onInterrupt(sleeps, () => Effect.sleep(ignoresMs))
        : Effect.zipRight(Effect.uninterruptible(Effect.sleep(Math.min(ms, ignoresMs))), sleeps)
      const byHand = delivery
        .extend(int("extend", 500, 90_000))
        .pipe(Effect.delay(int("extend at", 0, ms)), Effect.ignore)
      yield* chance("by hand", jobs.byHand)
        ? Effect.all([work, byHand], { concurrency: "unbounded", discard: true })
        : work
      if (chance("dies", jobs.dying)) return yield* Effect.die(new Error("by chance"))
      if (chance("ends", jobs.ending)) {
        const settlement = one("settlement", settlements)
        if (settlement === Settlement.Delete) mayDelete(delivery.messageId)
        return yield* Settlement.endWith(settlement)
      }
      if (chance("fails", jobs.failing)) {
        return yield* chance("busy", 0.3)
          ? new Busy({ retryAfter: int("retry after", 0, 20_000) })
          : new Failed({ why: "by chance" })
      }
    }).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (redelivery === "delete" && Exit.isFailure(exit)) mayDelete(delivery.messageId)
        })
      )
    )

const probe = (probes: Probes) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      probes.running++
      probes.most = Math.max(probes.most, probes.running)
    }),
    () => Deferred.await(probes.done),
    () =>
      Effect.sync(() => {
        probes.running--
      })
  )
