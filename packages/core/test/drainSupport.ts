/** What a drain told, and when it ended. */
import { type Consumer, Drain, SqsQueue } from "@effect-sqs/core"
import { assert } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, Fiber, Option, Schema, TestClock } from "effect"

export const Jobs = SqsQueue.make("jobs", { schema: Schema.Number })

/** What the consumer tells of its drains. */
export const listen = () => {
  const reports: Array<Drain.DrainReport> = []
  const began: Array<{ readonly running: number; readonly waiting: number }> = []
  const onEvent: NonNullable<Consumer.Parts["onEvent"]> = (e) =>
    Effect.sync(() => {
      if (e._tag === "Drained") reports.push(e.report)
      if (e._tag === "Draining") began.push({ running: e.running, waiting: e.waiting })
    })
  return { reports, began, onEvent }
}

export const became = (report: Drain.DrainReport | undefined) => report?.deliveries.map((d) => d.became).sort()

/** Whether it ends within so much virtual time, and not before it has passed. */
export const endsAfter = <A, E>(
  fiber: Fiber.RuntimeFiber<A, E>,
  duration: Duration.DurationInput,
  within: Duration.DurationInput = 100
) =>
  Effect.gen(function* () {
    yield* TestClock.adjust(duration)
    assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)), `ended before ${Duration.format(duration)} had passed`)
    yield* TestClock.adjust(within)
    const exit = yield* Fiber.poll(fiber)
    assert.isTrue(Option.isSome(exit), `still there after ${Duration.format(Duration.sum(duration, within))}`)
    return Option.getOrThrow(exit)
  })

export const endsAtOnce = <A, E>(fiber: Fiber.RuntimeFiber<A, E>) =>
  Effect.gen(function* () {
    yield* TestClock.adjust(1)
    const exit = yield* Fiber.poll(fiber)
    assert.isTrue(Option.isSome(exit), "still there")
    return Option.getOrThrow(exit)
  })

export const incompleteOf = <E>(exit: Exit.Exit<unknown, E>) =>
  Exit.isFailure(exit)
    ? [...Cause.defects(exit.cause)].find((d): d is Drain.DrainIncomplete => d instanceof Drain.DrainIncomplete)
    : undefined

export const isClean = <E>(exit: Exit.Exit<unknown, E>) => Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)
