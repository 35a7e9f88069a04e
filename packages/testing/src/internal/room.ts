/**
 * The room behind both doors: calls come in by name and JSON, meet faults and denials, have their effect, wait where
 * they are polls, and are written down. Here everything is synchronous; `doors.ts` makes effects and callbacks of it.
 */
import type * as Clock from "effect/Clock"
import * as FaultPlan from "../FaultPlan.js"
import type { CallOutcome } from "../Journal.js"
import { Account, type AccountOptions } from "./account.js"
import { ApiError, apiError, apiErrorOfCode } from "./apiError.js"
import type { Json } from "./input.js"
import { type OperationContext, operations, Poll } from "./operations.js"
import { Polls, type SetTimer } from "./polls.js"
import type { Process } from "./simulation.js"
import { answered, failed, faultEntries, isSingle, queueNameOf, summarize } from "./summary.js"

export interface RoomOptions extends AccountOptions {
  readonly faults: FaultPlan.FaultPlan | undefined
  /** actions as IAM names them, with or without `sqs:` */
  readonly deny: ReadonlyArray<string>
  /** what URLs begin with that are not asked for through a server */
  readonly baseUrl: string
}

/** A call on its way. */
export interface Call {
  readonly number: number
  readonly operation: string
  readonly input: Json
  readonly queueName: string
  readonly baseUrl: string
  readonly startedAt: number
  /** who calls; `undefined`: nobody of a simulation */
  readonly process: Process | undefined
  /** `undefined`: no fault strikes this call */
  readonly decision: FaultPlan.FaultDecision | undefined
  /** a fault or a time limit may keep the answer from the caller: its end is written down behind them */
  isWatched: boolean
  /** it has had its effect */
  done: boolean
  ended: boolean
}

export type Answer = object

/** IAM knows one action for a call and its batch. */
const actionOf = (operation: string): string =>
  `sqs:${operation.replace(/^sqs:/i, "").replace(/Batch$/, "")}`.toLowerCase()

/** What throws an `ApiError` gives it instead. */
const caught = <A>(run: () => A): A | ApiError => {
  try {
    return run()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

export class Room {
  readonly account: Account
  readonly polls: Polls
  private readonly faults: FaultPlan.RunningFaults | undefined
  private readonly denied: ReadonlySet<string>
  private calls = 0

  constructor(
    readonly options: RoomOptions,
    /** for the waiting that faults ask for */
    readonly clock: Clock.Clock,
    /** epoch ms */
    readonly now: () => number,
    setTimer: SetTimer
  ) {
    this.account = new Account(options)
    this.faults = options.faults === undefined ? undefined : FaultPlan.start(options.faults, now())
    this.denied = new Set(options.deny.map(actionOf))
    this.polls = new Polls(this.account, now, setTimer)
  }

  /** Writes a call down and asks the faults. `process` is who calls, if that is known. */
  begin(operation: string, input: Json, baseUrl: string, process?: Process): Call {
    const number = ++this.calls
    const startedAt = this.now()
    const queueName = queueNameOf(input)
    const { account, faults } = this
    const decision = faults?.decide({
      operation,
      queueName,
      input,
      entries: faultEntries(account, operation, queueName, input),
      now: startedAt
    })
    const struck = decision !== undefined && !FaultPlan.isNothing(decision)
    if (account.journal.enabled) {
      const common = { at: startedAt, call: number, operation, queue: queueName === "" ? undefined : queueName }
      account.journal.append({
        _tag: "CallStarted",
        ...common,
        input: summarize(account, operation, queueName, input),
        ...(process === undefined ? {} : { process: process.name })
      })
      if (struck) account.journal.append({ _tag: "FaultInjected", ...common, fault: FaultPlan.describe(decision) })
    }
    return {
      number,
      operation,
      input,
      queueName,
      baseUrl,
      startedAt,
      process,
      decision: struck ? decision : undefined,
      isWatched: struck,
      done: false,
      ended: false
    }
  }

  /** The effect of a call: its answer, or the poll that goes on waiting for it. */
  execute(call: Call): Answer | ApiError | Poll {
    return this.inCall(call, (now) => {
      const operation = operations.get(call.operation)
      if (operation === undefined)
        throw apiError("UnknownOperationException", "The action or operation requested is invalid.")
      if (this.denied.size > 0 && this.denied.has(actionOf(call.operation))) throw this.accessDenied(call)
      const fault = isSingle(call.operation) ? call.decision?.entryErrors?.get(0) : undefined
      if (fault !== undefined) throw apiErrorOfCode(fault.code, fault.detail)
      return operation({ account: this.account, now, baseUrl: call.baseUrl, decision: call.decision }, call.input)
    })
  }

  /** Does something to the account outside of any call: no faults, no denial, no entry for a call. */
  directly<A>(run: (context: OperationContext) => A): A | ApiError {
    const now = this.now()
    this.account.advance(now)
    const result = caught(() => run({ account: this.account, now, baseUrl: this.options.baseUrl, decision: undefined }))
    this.polls.serve()
    return result
  }

  /** A poll that was woken tries again; `undefined`: it has to wait on. */
  resume(call: Call, poll: Poll): Answer | ApiError | undefined {
    return this.inCall(call, (now) => poll.attempt({ account: this.account, now, decision: call.decision }))
  }

  /** Writes the end of a call down, once. */
  end(call: Call, outcome: () => CallOutcome): void {
    if (call.ended) return
    call.ended = true
    if (!this.account.journal.enabled) return
    this.account.journal.append({
      _tag: "CallEnded",
      at: this.now(),
      startedAt: call.startedAt,
      call: call.number,
      operation: call.operation,
      queue: call.queueName === "" ? undefined : call.queueName,
      outcome: outcome()
    })
  }

  outcomeOf(call: Call, result: Answer | ApiError): CallOutcome {
    return result instanceof ApiError ? failed(result) : answered(call.operation, call.input, result)
  }

  private inCall<A>(call: Call, run: (now: number) => A): A | ApiError {
    const { account } = this
    const now = this.now()
    account.call = undefined
    account.advance(now)
    account.call = call.number
    const result = caught(() => run(now))
    account.call = undefined
    call.done = !(result instanceof ApiError) && !(result instanceof Poll) && result !== undefined
    this.polls.serve()
    return result
  }

  private accessDenied(call: Call): ApiError {
    const action = actionOf(call.operation)
    const { accountId } = this.options
    return apiError(
      "AccessDeniedException",
      `User: arn:aws:iam::${accountId}:user/virtual is not authorized to perform: ${action} on resource: ` +
        `${this.account.arnOf(call.queueName)} because no identity-based policy allows the ${action} action`
    )
  }
}
