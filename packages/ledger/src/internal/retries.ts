/** How often, and how fast, what a database could not do is tried again. */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { LedgerStoreError } from "../LedgerError.js"

/** 8 tries more, about 2.5 s in all: a conflict is over in milliseconds, a fail-over is not for us to sit out */
export const schedule = Schedule.exponential("20 millis").pipe(
  Schedule.union(Schedule.spaced("1 second")),
  Schedule.jitteredWith({ min: 0.5, max: 1 }),
  Schedule.intersect(Schedule.recurs(8))
)

export const retryConflicts = <A, R>(self: Effect.Effect<A, LedgerStoreError, R>) =>
  Effect.retry(self, { schedule, while: (e) => e.reason === "conflict" })
