/** A store between the ledger and the real one: loses requests and answers, holds calls up, and counts. */
import { LedgerStoreError } from "@effect-sqs/ledger/LedgerError"
import { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import { Context, Deferred, Effect, Layer } from "effect"

/** `transaction`: its request is BEGIN, its answer that of COMMIT */
export type Operation = Exclude<keyof LedgerStore["Type"], "inTransaction">

/** `request`: the call does not reach the store; `answer`: it does its work, and the answer is lost */
export type Lost = "request" | "answer"

export interface Held {
  /** the call has come to the point where it is held */
  readonly reached: Effect.Effect<void>
  readonly release: Effect.Effect<void>
}

interface Hold {
  readonly at: "before" | "after"
  readonly reached: Deferred.Deferred<void>
  readonly released: Deferred.Deferred<void>
}

export class Faults extends Context.Tag("test/Faults")<
  Faults,
  {
    /** the next `times` calls of this operation are lost so */
    readonly lose: (operation: Operation, lost: Lost, times?: number) => Effect.Effect<void>
    /** the next call fails with an error of the database's own */
    readonly refuse: (operation: Operation) => Effect.Effect<void>
    /** the next call waits, before or after the store has done it */
    readonly hold: (operation: Operation, at: "before" | "after") => Effect.Effect<Held>
    /** waits until this many calls of this operation have been answered, whatever the answer */
    readonly answered: (operation: Operation, count: number) => Effect.Effect<void>
    readonly count: (operation: Operation) => number
  }
>() {}

const make = (store: LedgerStore["Type"]) => {
  const losing = new Map<Operation, Array<Lost | "refused">>()
  const holding = new Map<Operation, Array<Hold>>()
  const counts = new Map<Operation, number>()
  const waiting: Array<{
    readonly operation: Operation
    readonly count: number
    readonly done: Deferred.Deferred<void>
  }> = []

  const error = (operation: Operation, reason: "lost" | "refused") =>
    new LedgerStoreError({ operation, reason, detail: "a fault of the test" })

  const count = (operation: Operation) => counts.get(operation) ?? 0

  const wrap = <A>(
    operation: Operation,
    call: Effect.Effect<A, LedgerStoreError>
  ): Effect.Effect<A, LedgerStoreError> =>
    Effect.gen(function* () {
      const hold = holding.get(operation)?.shift()
      const pause = (at: Hold["at"]) =>
        hold?.at === at
          ? Effect.zipRight(Deferred.succeed(hold.reached, undefined), Deferred.await(hold.released))
          : Effect.void
      const fault = losing.get(operation)?.shift()
      yield* pause("before")
      if (fault === "request") return yield* error(operation, "lost")
      if (fault === "refused") return yield* error(operation, "refused")
      const answer = yield* call
      yield* pause("after")
      return fault === "answer" ? yield* error(operation, "lost") : answer
    }).pipe(
      Effect.onExit(() =>
        Effect.suspend(() => {
          counts.set(operation, count(operation) + 1)
          return Effect.forEach(
            waiting.filter((w) => w.operation === operation && w.count <= count(operation)),
            (w) => Deferred.succeed(w.done, undefined),
            { discard: true }
          )
        })
      )
    )

  const wrapped = Object.fromEntries(
    Object.entries(store).map(([name, member]) =>
      typeof member === "function"
        ? [name, (...args: Array<any>) => wrap(name as Operation, (member as any)(...args))]
        : [name, member]
    )
  ) as unknown as LedgerStore["Type"]

  const push = <A>(map: Map<Operation, Array<A>>, operation: Operation, ...items: Array<A>) =>
    Effect.sync(() => void map.set(operation, [...(map.get(operation) ?? []), ...items]))

  const faults: Faults["Type"] = {
    lose: (operation, lost, times = 1) => push(losing, operation, ...Array.from({ length: times }, () => lost)),
    refuse: (operation) => push(losing, operation, "refused"),
    hold: (operation, at) =>
      Effect.gen(function* () {
        const reached = yield* Deferred.make<void>()
        const released = yield* Deferred.make<void>()
        yield* push(holding, operation, { at, reached, released })
        return { reached: Deferred.await(reached), release: Deferred.succeed(released, undefined) }
      }),
    answered: (operation, wanted) =>
      Effect.gen(function* () {
        if (count(operation) >= wanted) return
        const done = yield* Deferred.make<void>()
        waiting.push({ operation, count: wanted, done })
        yield* Deferred.await(done)
      }),
    count
  }
  return Context.make(LedgerStore, wrapped).pipe(Context.add(Faults, faults))
}

/** the store with faults, in front of the store that is provided */
export const layer: Layer.Layer<LedgerStore | Faults, never, LedgerStore> = Layer.effectContext(
  Effect.map(LedgerStore, make)
)
