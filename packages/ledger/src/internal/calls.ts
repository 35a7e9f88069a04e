/**
 * How the ledger calls its store. Each write may be repeated safely, so one whose answer is lost is sent again; a conflict
 * too. Inside a transaction nothing is repeated: after a conflict the whole transaction has to be.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { LedgerStoreError } from "../LedgerError.js"
import { LedgerEvent } from "../LedgerEvent.js"
import type { Ledger } from "../LedgerService.js"
import { apart } from "./apart.js"
import { schedule } from "./retries.js"
import { conflictIn } from "./sqlErrors.js"

type Service = Ledger["Type"]

/** One call, with a limit on the time it may take. */
export const once = <A, R>(
  ledger: Service,
  operation: string,
  self: Effect.Effect<A, LedgerStoreError, R>
): Effect.Effect<A, LedgerStoreError, R> =>
  Effect.flatMap(ledger.store.inTransaction, (inside) =>
    inside ? self : within(operation, self, ledger.settings.storeTimeoutMs)
  )

/** the limit works although the caller may be uninterruptible, and an interruption of such a caller cuts nothing off */
const within = <A, R>(operation: string, self: Effect.Effect<A, LedgerStoreError, R>, ms: number) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatten(
      apart(
        Effect.timeoutFail(self, {
          duration: ms,
          onTimeout: () => new LedgerStoreError({ operation, reason: "lost", detail: `no answer within ${ms} ms` })
        }),
        restore
      )
    )
  )

/** Several calls that are worth a try, and not a wait: what is not written by then, the end of the claim will say. */
export const briefly = <A, R>(ledger: Service, operation: string, self: Effect.Effect<A, LedgerStoreError, R>) =>
  within(operation, self, 2 * ledger.settings.storeTimeoutMs)

const retried = (ledger: Service, operation: string, reason: string) =>
  ledger.emit(LedgerEvent.Retried({ operation, reason }))

/** The call, repeated while that can help. */
export const patiently = <A, R>(
  ledger: Service,
  operation: string,
  self: Effect.Effect<A, LedgerStoreError, R>
): Effect.Effect<A, LedgerStoreError, R> =>
  Effect.flatMap(ledger.store.inTransaction, (inside) =>
    inside
      ? self
      : once(ledger, operation, self).pipe(
          Effect.tapError((e) => (e.retryable ? retried(ledger, operation, e.reason) : Effect.void)),
          Effect.retry({ schedule, while: (e) => e.retryable })
        )
  )

/**
 * A transaction, repeated as a whole after a conflict, wherever in it that came up: as a failure of a statement, wrapped in
 * an error of the user's, as a defect, or at COMMIT. Inside another transaction it is a part of that one, and not repeated.
 */
export const transaction = <A, E, R>(
  ledger: Service,
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E | LedgerStoreError, R> => {
  const step = ledger.store.transaction(self)
  const repeated = Effect.sandbox(step).pipe(
    Effect.tapError((cause) =>
      Option.isSome(conflictIn(cause)) ? retried(ledger, "transaction", "conflict") : Effect.void
    ),
    Effect.retry({ schedule, while: (cause) => Option.isSome(conflictIn(cause)) }),
    Effect.unsandbox
  )
  return Effect.flatMap(ledger.store.inTransaction, (inside) => (inside ? step : repeated))
}
