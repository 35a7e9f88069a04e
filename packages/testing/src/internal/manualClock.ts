/** A clock that stands until it is moved, while the real world (sockets) goes on around it. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { Heap } from "./heap.js"

interface Sleeper {
  readonly at: number
  readonly order: number
  readonly wake: () => void
  place: number
}

/** One turn of the event loop: what became ready has run. */
const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

export class ManualClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: typeof Clock.ClockTypeId = Clock.ClockTypeId
  private readonly sleepers = new Heap<"place", Sleeper>(
    "place",
    (a, b) => a.at < b.at || (a.at === b.at && a.order < b.order)
  )
  private order = 0

  /** `nowMs`: epoch ms */
  constructor(private nowMs: number) {}

  unsafeCurrentTimeMillis(): number {
    return this.nowMs
  }

  unsafeCurrentTimeNanos(): bigint {
    return BigInt(this.nowMs) * 1_000_000n
  }

  readonly currentTimeMillis = Effect.sync(() => this.unsafeCurrentTimeMillis())
  readonly currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const sleeper: Sleeper = {
        at: this.nowMs + Duration.toMillis(duration),
        order: ++this.order,
        wake: () => resume(Effect.void),
        place: -1
      }
      this.sleepers.push(sleeper)
      return Effect.sync(() => this.sleepers.remove(sleeper))
    })
  }

  /** Moves the time, and lets everything that is due on the way happen at its own time. */
  advance(ms: number): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const until = this.nowMs + ms
      // fibers that are about to sleep get to do so first
      yield* turn
      for (let next = this.sleepers.peek(); next !== undefined && next.at <= until; next = this.sleepers.peek()) {
        this.nowMs = Math.max(this.nowMs, next.at)
        this.sleepers.remove(next)
        next.wake()
        yield* turn
      }
      this.nowMs = until
    })
  }
}
