/** Which errors of a database mean what. Looks through wrappers: drivers and users wrap errors in errors. */
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import { hasProperty } from "effect/Predicate"
import { LedgerStoreError } from "../LedgerError.js"

/** serialization failure, deadlock: nothing was done, and doing the whole again is the remedy */
const conflictCodes = new Set(["40001", "40P01", "SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", "SQLITE_BUSY_RECOVERY"])

/** the connection broke, the server stops or starts, the statement was cut off */
const lostCodes = /^(08...|57P0[1-3]|57014|E[A-Z]+)$/

const maxDepth = 8

/** the code of SQLSTATE, of SQLite, or of Node's network errors, wherever in the chain of causes it is */
export const codeOf = (error: unknown): string | undefined => {
  let e = error
  for (let depth = 0; depth < maxDepth && e !== undefined && e !== null; depth++) {
    if (hasProperty(e, "code") && typeof e.code === "string" && e.code !== "") return e.code
    e = hasProperty(e, "cause") ? e.cause : undefined
  }
  return undefined
}

/** the innermost text: outer ones say only that a statement failed */
const textOf = (error: unknown): string => {
  let text = ""
  let e = error
  for (let depth = 0; depth < maxDepth && e !== undefined && e !== null; depth++) {
    if (hasProperty(e, "message") && typeof e.message === "string" && e.message !== "") text = e.message
    e = hasProperty(e, "cause") ? e.cause : undefined
  }
  return text === "" ? String(error) : text
}

const isConflictError = (error: unknown): boolean => {
  let e = error
  for (let depth = 0; depth < maxDepth && e !== undefined && e !== null; depth++) {
    if (e instanceof LedgerStoreError && e.reason === "conflict") return true
    e = hasProperty(e, "cause") ? e.cause : undefined
  }
  const code = codeOf(error)
  return code !== undefined && conflictCodes.has(code)
}

/** a conflict anywhere in a cause, also as a defect: a COMMIT that fails is one in `@effect/sql` */
export const conflictIn = (cause: Cause.Cause<unknown>): Option.Option<unknown> =>
  Option.fromNullable([...Cause.failures(cause), ...Cause.defects(cause)].find(isConflictError))

/** An answer without a code came from no server: it is counted as no answer, which is the careful reading. */
export const toStoreError =
  (operation: string) =>
  (cause: unknown): LedgerStoreError => {
    const code = codeOf(cause)
    const reason = isConflictError(cause) ? "conflict" : code === undefined || lostCodes.test(code) ? "lost" : "refused"
    return new LedgerStoreError({
      operation,
      reason,
      detail: code === undefined ? textOf(cause) : `${code}: ${textOf(cause)}`,
      cause
    })
  }
