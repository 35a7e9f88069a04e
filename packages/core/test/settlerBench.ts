/** A batcher of settlements in simulated time, on a port that a test makes. */
import type { Sqs } from "@effect-sqs/core"
import { SqsError } from "@effect-sqs/core"
import { SimClock } from "@effect-sqs/testing"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Fork from "../src/internal/fork.js"
import * as Settler from "../src/internal/settler.js"
import * as Time from "../src/internal/time.js"

export type Results = ReadonlyArray<Sqs.EntryResult>

export type Send = (entries: ReadonlyArray<number>, call: number) => Effect.Effect<Results, SqsError.SqsError>

export interface Call {
  readonly at: number
  readonly entries: ReadonlyArray<number>
}

export interface Answered {
  readonly at: number
  readonly sentAt: number
  readonly result: Sqs.EntryResult | undefined
}

export const LINGER_MS = 50

export const CALL_TIMEOUT_MS = 1_000

export const done: Sqs.EntryResult = { _tag: "Done", value: undefined }

export const fields = { operation: "DeleteMessageBatch", queue: "jobs", code: "Code", detail: "by plan" } as const

export const throttled = new SqsError.Throttled(fields)

export const failed = (error: SqsError.SqsError): Sqs.EntryResult => ({ _tag: "Failed", error })

export const allDone: Send = (entries) => Effect.succeed(entries.map(() => done))

export interface Bench {
  readonly calls: Array<Call>
  readonly answers: Map<number, Answered>
  readonly batcher: Settler.Batcher<number>
  /** adds an entry; times are ms from now. Answers the way to take it back */
  readonly add: (entry: number, timing?: Partial<Settler.Timing>) => () => boolean
  idle: boolean
}

/** A batcher on a port that is a function, in simulated time from 0. */
export const bench = <A, E>(
  options: { readonly send?: Send; readonly late?: "send" | "drop"; readonly seed?: number },
  script: (bench: Bench) => Effect.Effect<A, E>
) =>
  SimClock.run(
    Effect.gen(function* () {
      const clock = Time.make(yield* Effect.clock)
      const forker = Fork.make(yield* Effect.runtime<never>(), yield* Effect.clock)
      const send = options.send ?? allDone
      const calls: Array<Call> = []
      const answers = new Map<number, Answered>()
      const batcher = new Settler.Batcher<number>(
        {
          operation: "DeleteMessageBatch",
          queue: "jobs",
          lingerMs: LINGER_MS,
          callTimeoutMs: CALL_TIMEOUT_MS,
          send: (entries) => {
            calls.push({ at: clock.now(), entries })
            return send(entries, calls.length)
          },
          isIdle: () => self.idle,
          late: options.late ?? "send"
        },
        forker,
        clock
      )
      const self: Bench = {
        calls,
        answers,
        batcher,
        idle: false,
        add: (entry, { patient = false, retried = true, sendBy = Infinity, until = Infinity } = {}) => {
          const now = clock.now()
          return batcher.add(
            entry,
            { sendBy: now + sendBy, patient, until: now + until, retried },
            (result, sentAt) => {
              check(!answers.has(entry), "a caller is answered once")
              answers.set(entry, { at: clock.now(), sentAt, result })
            }
          )
        }
      }
      return yield* script(self)
    }),
    { start: 0, seed: options.seed ?? 0 }
  )

/** cheaper than an assertion, where there are very many */
export const check = (ok: boolean, what: string) => {
  if (!ok) assert.fail(what)
}

export const numbers = (n: number) => Array.from({ length: n }, (_, i) => i)
