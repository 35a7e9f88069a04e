/**
 * Idempotent jobs on SQL. `SqliteFile` is not here: it needs `@effect/sql-libsql` and `@libsql/client`, import it by its
 * own path.
 *
 * @since 0.1.0
 */
export * as Claim from "./Claim.js"
export * as ClaimOutcome from "./ClaimOutcome.js"
export * as Handler from "./Handler.js"
export * as Keys from "./Keys.js"
export * as Ledger from "./Ledger.js"
export * as LedgerError from "./LedgerError.js"
export * as LedgerEvent from "./LedgerEvent.js"
export * as LedgerMetrics from "./LedgerMetrics.js"
export * as LedgerRecord from "./LedgerRecord.js"
export * as LedgerService from "./LedgerService.js"
export * as LedgerStore from "./LedgerStore.js"
export * as MemoryStore from "./MemoryStore.js"
export * as Once from "./Once.js"
export * as Outside from "./Outside.js"
export * as PgStore from "./PgStore.js"
export * as Reconciler from "./Reconciler.js"
export * as SqliteStore from "./SqliteStore.js"
export * as Step from "./Step.js"
export * as Verdict from "./Verdict.js"
