/** The two ways into a room: as an effect, in process, and with a callback, for a server. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Runtime from "effect/Runtime"
import { runFork } from "effect/Runtime"
import * as FaultPlan from "../FaultPlan.js"
import { ApiError, apiErrorOfCode } from "./apiError.js"
import type { Json } from "./input.js"
import { Poll } from "./operations.js"
import type { Waiter } from "./polls.js"
import type { Answer, Call, Room } from "./room.js"
import { Process } from "./simulation.js"

/** What a caller gets whose connection broke. */
export const connectionReset = new ApiError("ConnectionReset", "ECONNRESET", "The connection was reset.", 0, false, "")

const asEffect = (result: Answer | ApiError): Effect.Effect<Answer, ApiError> =>
  result instanceof ApiError ? Effect.fail(result) : Effect.succeed(result)

/** What a caller gets that has waited for its answer long enough. */
const timedOut = (ms: number) => new ApiError("TimeoutError", "TimeoutError", `no answer within ${ms} ms`, 0, false, "")

/** Ends a call that nothing stands around. Where something does, `watched` says how it ended. */
const end = (room: Room, call: Call, result: Answer | ApiError): void => {
  if (!call.isWatched) room.end(call, () => room.outcomeOf(call, result))
}

/** A poll that can wait, be woken, and be left. */
const makePlace = (room: Room, isAway: () => boolean) => {
  let waiter: Waiter | undefined
  return {
    wait: (poll: Poll, wake: () => void) => {
      waiter = room.polls.wait(poll, wake, isAway)
    },
    leave: () => {
      if (waiter === undefined) return
      room.polls.leave(waiter)
      waiter = undefined
      room.polls.serve()
    }
  }
}

/** Messages are taken by the caller's own fiber, when it runs again: an interrupted poll has taken none. */
const untilAnswered = (room: Room, call: Call, poll: Poll): Effect.Effect<Answer, ApiError> =>
  Effect.uninterruptibleMask((restore) => {
    const { process } = call
    const place = makePlace(room, () => process !== undefined && (process.stalled || process.dead))
    const woken = restore(Effect.async<void>((resume) => place.wait(poll, () => resume(Effect.void)))).pipe(
      Effect.onInterrupt(() =>
        Effect.sync(() => {
          place.leave()
          if (!call.isWatched) room.end(call, () => ({ _tag: "Interrupted" }))
        })
      )
    )
    const again: Effect.Effect<Answer, ApiError> = Effect.flatMap(woken, () => {
      place.leave()
      const result = room.resume(call, poll)
      if (result === undefined) return again
      end(room, call, result)
      return asEffect(result)
    })
    return again
  })

const carryOut = (room: Room, call: Call): Effect.Effect<Answer, ApiError> =>
  Effect.suspend(() => {
    const result = room.execute(call)
    if (result instanceof Poll) return untilAnswered(room, call, result)
    end(room, call, result)
    return asEffect(result)
  })

const errorOf = (exit: Exit.Exit<Answer, ApiError>): ApiError | undefined =>
  Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined

const underFaults = (room: Room, call: Call, decision: FaultPlan.FaultDecision): Effect.Effect<Answer, ApiError> =>
  FaultPlan.around(decision, {
    effect: carryOut(room, call),
    onError: (error) => asEffect(apiErrorOfCode(error.code, error.detail, error.httpStatus)),
    onReset: Effect.fail(connectionReset)
  }).pipe(Effect.withClock(room.clock))

/** Writes down how a call ended for its caller. */
const watched = (room: Room, call: Call, answer: Effect.Effect<Answer, ApiError>): Effect.Effect<Answer, ApiError> =>
  Effect.onExit(answer, (exit) =>
    Effect.sync(() =>
      room.end(call, () => {
        const error = errorOf(exit)
        if (Exit.isSuccess(exit)) return room.outcomeOf(call, exit.value)
        if (call.done) return { _tag: "Lost" }
        return error === undefined ? { _tag: "Interrupted" } : room.outcomeOf(call, error)
      })
    )
  )

/** A call as an effect. Its caller waits for an answer for `timeoutMs`, and hears of none that comes later. */
export const run = (
  room: Room,
  request: { readonly operation: string; readonly input: Json; readonly baseUrl: string },
  timeoutMs?: number
): Effect.Effect<Answer, ApiError> =>
  Effect.withFiberRuntime((fiber) => {
    const scheduler = fiber.currentScheduler
    const process = scheduler instanceof Process ? scheduler : undefined
    const call = room.begin(request.operation, request.input, request.baseUrl, process)
    if (timeoutMs !== undefined) call.isWatched = true
    const carriedOut = call.decision === undefined ? carryOut(room, call) : underFaults(room, call, call.decision)
    const inTime =
      timeoutMs === undefined
        ? carriedOut
        : Effect.timeoutFail(Effect.interruptible(carriedOut), {
            duration: timeoutMs,
            onTimeout: () => timedOut(timeoutMs)
          })
    return call.isWatched ? watched(room, call, inTime) : inTime
  })

/** Who is answered by a callback. */
export interface Caller {
  /** asked before a poll takes messages */
  readonly isThere: () => boolean
  readonly answer: (answer: Answer | ApiError) => void
}

/**
 * A call with a callback, which is called once, before this returns if the answer is there. Gives the way to call it off.
 * The caller may be gone without having done so.
 */
export const handle = (
  room: Room,
  runtime: Runtime.Runtime<never>,
  request: { readonly operation: string; readonly input: Json; readonly baseUrl: string },
  caller: Caller
): (() => void) => {
  const call = room.begin(request.operation, request.input, request.baseUrl)
  if (call.decision !== undefined) {
    const fiber = runFork(runtime)(watched(room, call, underFaults(room, call, call.decision)))
    fiber.addObserver((exit) => {
      const error = errorOf(exit)
      if (Exit.isSuccess(exit)) caller.answer(exit.value)
      else if (error !== undefined) caller.answer(error)
      else if (!Exit.isInterrupted(exit)) caller.answer(apiErrorOfCode("InternalFailure", Cause.pretty(exit.cause)))
    })
    return () => fiber.unsafeInterruptAsFork(fiber.id())
  }
  const result = room.execute(call)
  if (result instanceof Poll) return waitFor(room, call, result, caller)
  end(room, call, result)
  caller.answer(result)
  return nothingToCallOff
}

const nothingToCallOff = () => {}

const waitFor = (room: Room, call: Call, poll: Poll, caller: Caller): (() => void) => {
  const place = makePlace(room, () => false)
  const callOff = () => {
    place.leave()
    room.end(call, () => ({ _tag: "Interrupted" }))
  }
  const wait = () =>
    place.wait(poll, () => {
      if (!caller.isThere()) return callOff()
      place.leave()
      const result = room.resume(call, poll)
      if (result === undefined) return wait()
      end(room, call, result)
      caller.answer(result)
    })
  wait()
  return callOff
}
