import { Consumer, SqsQueue } from "@effect-sqs/core"
import { VirtualSqs } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema, Scope, TestClock } from "effect"
import { jobs, passUntilDone } from "./support.js"

const Jobs = SqsQueue.make("jobs", { schema: Schema.Number })

describe("drain", () => {
  it.scoped("a consumer that was made in an uninterruptible region interrupts its handlers all the same", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* virtual.send("jobs", "1")
      const scope = yield* Scope.make()
      let interrupted = 0
      yield* Consumer.make(Jobs, { drain: "5 seconds" }, () =>
        Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      ).pipe(Scope.extend(scope), Effect.uninterruptible)
      yield* TestClock.adjust("1 second")
      const exit = yield* passUntilDone(yield* Effect.fork(Scope.close(scope, Exit.void)))
      assert.strictEqual(interrupted, 1)
      assert.include(Cause.pretty(Exit.isFailure(exit) ? exit.cause : Cause.empty), "1 interrupted at the deadline")
    }).pipe(Effect.provide(jobs()))
  )
})
