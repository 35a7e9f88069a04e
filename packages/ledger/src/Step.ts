/**
 * `step`: long jobs in short pieces.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import { type ClaimError, CurrentClaim } from "./Claim.js"
import { patiently } from "./internal/calls.js"
import * as running from "./internal/runningClaim.js"
import * as values from "./internal/values.js"

/** kept apart from the references of outside calls, which are remembered beside them */
const memoryName = (step: string) => `step:${step}`

/**
 * A piece of a job whose result is remembered: a later run of the job is given the result and goes on after the last step
 * that finished. Names have 1 to 500 characters, are unique within a job, and must stay the same from one version of the
 * program to the next.
 *
 * A step that was cut off runs again: what it does outside the database belongs into `outside`. Inside a transaction of the
 * caller the memory is part of it.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * import * as Ledger from "@effect-sqs/ledger/Ledger"
 * import { Effect, Schema } from "effect"
 *
 * declare const render: Effect.Effect<string>
 * declare const upload: (file: string) => Effect.Effect<string>
 *
 * export const report = (key: string) =>
 *   Ledger.once({ namespace: "reports", key, result: Schema.String }, () =>
 *     Effect.gen(function* () {
 *       const file = yield* Ledger.step("render", Schema.String, render)
 *       return yield* Ledger.step("upload", Schema.String, upload(file))
 *     })
 *   )
 */
export const step = <A, I, RS, E, R>(
  name: string,
  result: Schema.Schema<A, I, RS>,
  run: Effect.Effect<A, E, R>
): Effect.Effect<A, E | ClaimError, CurrentClaim | RS | R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const claim = yield* CurrentClaim
      const { holder, ledger } = claim
      yield* values.checkName(holder, "the name of a step", name)
      const what = `the result of step ${name}`
      const remembered = yield* patiently(ledger, "recall", ledger.store.recall(holder, memoryName(name)))
      if (Option.isSome(remembered)) return yield* values.decode(holder, what, result, remembered.value)
      const a = yield* restore(run)
      const text = yield* values.encode(holder, what, result, a, ledger.settings.maxResultBytes)
      yield* running.write(
        claim,
        "remember",
        Effect.map(ledger.store.remember(holder, { name: memoryName(name), result: text }), (done) =>
          done ? Option.some(undefined) : Option.none()
        ),
        () => Effect.void
      )
      return a
    })
  )
