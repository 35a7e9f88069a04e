/**
 * The tables, in the two dialects. Times are epoch milliseconds, values JSON text: the same on both, and no driver gets
 * a chance to convert them. Written so that it can be run again and by several processes at once.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"

/** names this migration among the advisory locks of a PostgreSQL database: the ASCII of "ledger" */
const advisoryLock = 0x6c6564676572

const columns = `
  namespace TEXT NOT NULL CHECK (length(namespace) BETWEEN 1 AND 512),
  key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 512),
  payload_hash TEXT,
  state TEXT NOT NULL
    CHECK (state IN ('in_progress', 'retryable', 'completed', 'rejected', 'cancelled', 'unknown', 'review')),
  attempt BIGINT NOT NULL CHECK (attempt >= 1),
  owner TEXT,
  claim_until BIGINT,
  claimed_from TEXT CHECK (claimed_from IN ('new', 'retryable', 'expired')),
  call_ref TEXT,
  call_policy TEXT CHECK (call_policy IN ('replayable', 'ambiguous')),
  call_started_at BIGINT,
  call_seq BIGINT NOT NULL,
  not_before BIGINT,
  result TEXT,
  error TEXT,
  cancel_requested_at BIGINT,
  reconcile_tries BIGINT NOT NULL,
  reconcile_at BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  completed_at BIGINT,
  expires_at BIGINT,
  PRIMARY KEY (namespace, key),
  CHECK ((state = 'in_progress') = (owner IS NOT NULL AND claim_until IS NOT NULL)),
  CHECK (state <> 'completed' OR (result IS NOT NULL AND completed_at IS NOT NULL)),
  CHECK (state NOT IN ('unknown', 'review') OR (call_ref IS NOT NULL AND expires_at IS NULL)),
  CHECK ((state = 'unknown') = (reconcile_at IS NOT NULL)),
  CHECK ((call_ref IS NULL) = (call_policy IS NULL) AND (call_ref IS NULL) = (call_started_at IS NULL))`

const memoryColumns = `
  namespace TEXT NOT NULL,
  key TEXT NOT NULL,
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 512),
  result TEXT NOT NULL,
  attempt BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (namespace, key, name)`

const indices = [
  `CREATE INDEX IF NOT EXISTS effect_ledger_due ON effect_ledger (namespace, reconcile_at) WHERE state = 'unknown'`,
  `CREATE INDEX IF NOT EXISTS effect_ledger_open ON effect_ledger (namespace, claim_until)
    WHERE state = 'in_progress' AND call_policy = 'ambiguous'`,
  `CREATE INDEX IF NOT EXISTS effect_ledger_expires ON effect_ledger (expires_at)`,
  `CREATE INDEX IF NOT EXISTS effect_ledger_state ON effect_ledger (state, updated_at)`
]

const pg = [
  `SELECT pg_advisory_xact_lock(${advisoryLock})`,
  `CREATE TABLE IF NOT EXISTS effect_ledger (${columns})`,
  `CREATE TABLE IF NOT EXISTS effect_ledger_memory (${memoryColumns},
    FOREIGN KEY (namespace, key) REFERENCES effect_ledger ON DELETE CASCADE)`,
  ...indices
]

/** STRICT knows INTEGER, not BIGINT. The trigger stands for the foreign key, which needs a PRAGMA a connection. */
const sqlite = [
  `CREATE TABLE IF NOT EXISTS effect_ledger (${columns.replaceAll("BIGINT", "INTEGER")}) STRICT`,
  `CREATE TABLE IF NOT EXISTS effect_ledger_memory (${memoryColumns.replaceAll("BIGINT", "INTEGER")})
    STRICT`,
  `CREATE TRIGGER IF NOT EXISTS effect_ledger_forget AFTER DELETE ON effect_ledger BEGIN
    DELETE FROM effect_ledger_memory WHERE namespace = OLD.namespace AND key = OLD.key;
  END`,
  ...indices
]

/** in one transaction: on PostgreSQL the lock lasts as long, on SQLite a writer is alone anyway */
export const migration = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError> =>
  sql.withTransaction(
    Effect.forEach(sql.onDialectOrElse({ pg: () => pg, orElse: () => sqlite }), (statement) => sql.unsafe(statement), {
      discard: true
    })
  )
