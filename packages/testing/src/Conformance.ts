/**
 * What SQS does, as a suite of checks: run it on this package's virtual SQS, on an emulator, or on AWS. Each check says how
 * well we know that AWS behaves so.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { batches, limits } from "./internal/conformance/batches.js"
import { fifo } from "./internal/conformance/fifo.js"
import { fromWire, toWire } from "./internal/conformance/binary.js"
import { type Check, CheckFailed, type Door, type Evidence, type Reply } from "./internal/conformance/kit.js"
import { queues } from "./internal/conformance/queues.js"
import { receiving } from "./internal/conformance/receiving.js"
import { moveTasks, redrive } from "./internal/conformance/redrive.js"
import { sending } from "./internal/conformance/sending.js"
import { deleting, visibility } from "./internal/conformance/visibility.js"
import { wire } from "./internal/conformance/wire.js"
import { VirtualSqs } from "./VirtualSqs.js"

export {
  /**
   * @since 0.1.0
   * @category errors
   */
  CheckFailed
}
export type {
  /**
   * @since 0.1.0
   * @category models
   */
  Check,
  /**
   * @since 0.1.0
   * @category models
   */
  Door,
  /**
   * @since 0.1.0
   * @category models
   */
  Evidence,
  /**
   * @since 0.1.0
   * @category models
   */
  Reply
}
export type {
  /**
   * @since 0.1.0
   * @category models
   */
  RawReply,
  /**
   * @since 0.1.0
   * @category models
   */
  RawRequest
} from "./internal/conformance/kit.js"

/**
 * All checks, by what they are about.
 *
 * @since 0.1.0
 * @category constants
 */
export const suite: ReadonlyArray<Check> = [
  ...receiving,
  ...visibility,
  ...deleting,
  ...batches,
  ...limits,
  ...fifo,
  ...sending,
  ...redrive,
  ...moveTasks,
  ...queues,
  ...wire
]

/**
 * What became of a check.
 *
 * @since 0.1.0
 * @category models
 */
export interface Result {
  readonly check: Check
  readonly status: "passed" | "failed" | "skipped"
  /** of a failure, or of a skip */
  readonly reason: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface RunOptions {
  readonly checks?: ReadonlyArray<Check> | undefined
  /** how many at once; 1. More than one needs a clock that checks do not move for each other: the real one */
  readonly concurrency?: number | undefined
  /** checks that let more time pass, in s, are skipped; none is */
  readonly maxSeconds?: number | undefined
  /** what the names of the queues begin with; `conformance` */
  readonly prefix?: string | undefined
  /** is told of each result as it comes */
  readonly onResult?: ((result: Result) => Effect.Effect<void>) | undefined
}

const skipReason = (check: Check, door: Door, maxSeconds: number): string | undefined =>
  check.seconds > maxSeconds
    ? `takes ${check.seconds} s`
    : check.needs !== undefined && door[check.needs] === undefined
      ? `this door has no ${check.needs}`
      : undefined

/**
 * Runs checks through a door. It does not fail: a failed check is a result.
 *
 * @since 0.1.0
 * @category running
 */
export const run = (door: Door, options: RunOptions = {}): Effect.Effect<ReadonlyArray<Result>> =>
  Effect.forEach(
    options.checks ?? suite,
    (check) =>
      Effect.gen(function* () {
        const skipped = skipReason(check, door, options.maxSeconds ?? Infinity)
        const exit =
          skipped === undefined ? yield* Effect.exit(check.run(door, options.prefix ?? "conformance")) : Exit.void
        const result: Result = Exit.isFailure(exit)
          ? { check, status: "failed", reason: failureOf(exit.cause) }
          : { check, status: skipped === undefined ? "passed" : "skipped", reason: skipped }
        if (options.onResult !== undefined) yield* options.onResult(result)
        return result
      }),
    { concurrency: options.concurrency ?? 1 }
  )

const failureOf = (cause: Cause.Cause<CheckFailed>): string => {
  const error = Cause.squash(cause)
  return error instanceof CheckFailed ? error.reason : Cause.pretty(cause)
}

/**
 * The door into a virtual SQS of this package, in process. `advance` moves the clock that it was built under, by ms: on
 * `TestClock` that is `TestClock.adjust`.
 *
 * @since 0.1.0
 * @category doors
 */
export const virtualDoor = (
  advance: (ms: number) => Effect.Effect<void>,
  options: { readonly inFlightLimit?: number | undefined } = {}
): Effect.Effect<Door, never, VirtualSqs> =>
  Effect.map(VirtualSqs, (virtual): Door => ({
    call: (operation, input) =>
      Effect.match(virtual.api(operation, toWire(input)), {
        onFailure: (e): Reply => ({
          _tag: "Error",
          name: e.modelled ? e.shape : e.code,
          message: e.detail,
          status: e.status
        }),
        onSuccess: (output): Reply => ({ _tag: "Answer", output: fromWire(output) })
      }),
    now: Effect.clockWith((clock) => clock.currentTimeMillis),
    advance: (seconds) => advance(Math.round(seconds * 1000)),
    pollsOpened: (queueUrl, polls) =>
      Effect.yieldNow().pipe(
        Effect.zipRight(Effect.orDie(virtual.openPolls(queueUrl))),
        Effect.repeat({ until: (open) => open >= polls }),
        Effect.asVoid
      ),
    toleranceMs: 0,
    inFlightLimit: options.inFlightLimit
  }))
