/**
 * Workers that die, wake up late and fight for the same keys, on a real database; then a look at what is left.
 *
 *   node --conditions=@effect-sqs/source --import tsx packages/ledger/soak/soak.ts pg [seconds] [workers]
 *   node --conditions=@effect-sqs/source --import tsx packages/ledger/soak/soak.ts sqlite [seconds] [workers]
 *
 * 30 % of the runs die: before a call, in the middle of one, or they sleep past the end of their claim and complete late.
 * What must hold: each key completes with exactly one business row, written by the attempt that completed it, and no
 * outside call is made twice. On SQLite another process keeps the file busy, and the event loop must not stand still.
 */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import type { LedgerStoreError } from "@effect-sqs/ledger/LedgerError"
import * as LedgerMetrics from "@effect-sqs/ledger/LedgerMetrics"
import { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import * as PgStore from "@effect-sqs/ledger/PgStore"
import * as SqliteFile from "@effect-sqs/ledger/SqliteFile"
import * as SqliteStore from "@effect-sqs/ledger/SqliteStore"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as SqlClient from "@effect/sql/SqlClient"
import { Console, Effect, Either, Exit, Fiber, Layer, Metric, Option, Random, Redacted, Schedule, Schema } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { child } from "../test/support/child.js"
import { start } from "../test-pg/support/server.js"
import { watchLoop, watchSqlite } from "./loop.js"

const [kind = "pg", seconds = "10", workerCount = "24"] = process.argv.slice(2)
const namespace = `soak ${process.pid}`
const keysPerRound = 60
const claimMs = 500

/** the outside: who called with which reference, and it was carried out */
const charged = new Map<string, number>()
const charge = (ref: string) => charged.set(ref, (charged.get(ref) ?? 0) + 1)

const tally: Record<string, number> = {}
const count = (what: string) => void (tally[what] = (tally[what] ?? 0) + 1)

const insertRow = (key: string, attempt: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`INSERT INTO soak_row (key, attempt) VALUES (${key}, ${attempt})`)

const nap = (least: number, most: number) =>
  Effect.flatMap(Random.nextIntBetween(least, most), (ms) => Effect.sleep(ms))

const policy = Ledger.ambiguous({ timeout: claimMs / 2 })

/** a run that lives */
const works = (key: string) =>
  Ledger.once({ namespace, key, result: Schema.Number }, (claim) =>
    Effect.gen(function* () {
      yield* nap(1, claimMs / 5)
      yield* Ledger.outside(`charge ${key}`, policy, (call) => Effect.sync(() => void charge(call.ref)))
      yield* nap(1, claimMs / 5)
      return yield* claim.commit(Effect.as(insertRow(key, claim.attempt), claim.attempt))
    })
  )

const claimAs = (key: string) =>
  Effect.gen(function* () {
    const owner = globalThis.crypto.randomUUID()
    const outcome = yield* Ledger.claim({ namespace, key, owner })
    return outcome._tag === "Claimed" ? Option.some({ namespace, key, attempt: outcome.attempt, owner }) : Option.none()
  })

/** the bare store does not try again */
const again = <A>(self: Effect.Effect<A, LedgerStoreError>) =>
  Effect.retry(self, { times: 20, while: (e) => e.retryable })

/** one that dies: nobody renews, nobody cleans up */
const dies = (key: string, how: "before a call" | "in a call" | "and wakes up") =>
  Effect.gen(function* () {
    const store = yield* LedgerStore
    const holder = yield* claimAs(key)
    if (Option.isNone(holder)) return count("died without a claim")
    count(`died ${how}`)
    const ref = `charge ${key}`
    if (how === "in a call") {
      if (Option.isSome(yield* again(store.recall(holder.value, ref)))) return
      const begun = yield* again(store.begin(holder.value, { ref, policy: "ambiguous", timeoutMs: 1, seq: 1 }))
      if (Option.isSome(begun) && (yield* Random.nextBoolean)) charge(ref)
    }
    if (how === "and wakes up") {
      yield* nap(claimMs, 3 * claimMs)
      const late = Ledger.transaction(
        Effect.zipRight(
          insertRow(key, holder.value.attempt),
          Effect.filterOrFail(
            store.complete(holder.value, { result: `{"value":${holder.value.attempt}}`, retentionMs: 86_400_000 }),
            Option.isSome,
            () => "refused" as const
          )
        )
      )
      count(
        Exit.isSuccess(yield* Effect.exit(late)) ? "late completion, nobody had taken over" : "late completion refused"
      )
    }
  })

const one = (key: string) =>
  Effect.gen(function* () {
    const lot = yield* Random.next
    if (lot < 0.1) return yield* dies(key, "before a call")
    if (lot < 0.18) return yield* dies(key, "in a call")
    if (lot < 0.3) return yield* dies(key, "and wakes up")
    const ended = yield* Effect.either(works(key))
    if (Either.isRight(ended)) return count("given the result")
    const error = ended.left
    count(`${error._tag}${error._tag === "LedgerClaimLost" ? ` (${error.reason})` : ""}`)
    if (error._tag === "LedgerStoreError") yield* Console.error(error.message)
    if (error._tag === "LedgerBusy") yield* Effect.sleep(Math.min(error.remainingMs, claimMs) + 1)
  })

const completed = Effect.map(Ledger.list({ namespace, states: ["completed"], limit: 1_000_000 }), (rows) => rows)

const round = (n: number) =>
  Effect.gen(function* () {
    const keys = Array.from({ length: keysPerRound }, (_, i) => `${n}-${i}`)
    const open = new Set(keys)
    const look = Effect.map(completed, (rows) => {
      for (const row of rows) open.delete(row.key)
    })
    const worker = Effect.gen(function* () {
      while (open.size > 0) yield* one([...open][yield* Random.nextIntBetween(0, open.size)]!)
    })
    const looking = yield* Effect.fork(Effect.repeat(look, Schedule.spaced("100 millis")))
    yield* Effect.all(
      Array.from({ length: Number(workerCount) }, () => worker),
      { concurrency: "unbounded" }
    )
    yield* Fiber.interrupt(looking)
  })

const verify = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // who is still asleep wakes up first
  yield* Effect.sleep(4 * claimMs)
  const rows = yield* sql<{ key: string; attempt: number | string; n: number | string }>`
    SELECT key, max(attempt) AS attempt, count(*) AS n FROM soak_row GROUP BY key`
  const done = new Map((yield* completed).map((row) => [row.key, row]))
  const faults = [
    ...rows.filter((r) => Number(r.n) !== 1).map((r) => `${r.key}: ${r.n} business rows`),
    ...rows
      .filter((r) => done.get(r.key)?.attempt !== Number(r.attempt))
      .map((r) => `${r.key}: row of another attempt`),
    ...[...done.keys()].filter((key) => !rows.some((r) => r.key === key)).map((key) => `${key}: no business row`),
    ...[...charged].filter(([, n]) => n > 1).map(([ref, n]) => `${ref}: made ${n} times`)
  ]
  return {
    keys: done.size,
    highestAttempt: Math.max(...[...done.values()].map((row) => row.attempt)),
    calls: charged.size,
    faults
  }
})

const reconciler = Ledger.reconciler({
  namespace,
  every: "50 millis",
  batch: 100,
  ask: (call) =>
    Effect.sync(() => (charged.has(call.ref) ? Verdict.Happened({ result: undefined }) : Verdict.DidNotHappen()))
})

const metricOf = (metric: Metric.Metric.Counter<number>) =>
  Effect.map(Metric.value(Metric.tagged(metric, "namespace", namespace)), (state) => state.count)

const soak = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE soak_row (key TEXT NOT NULL, attempt BIGINT NOT NULL)`
  const reconciling = yield* Effect.fork(reconciler)
  const startedAt = yield* Effect.clockWith((c) => c.currentTimeMillis)
  // what the machine itself does to a process that never blocks for long, in the same seconds
  const noise = yield* child("../../soak/noise.ts", seconds)
  yield* noise.says("started")
  const loop = watchLoop()
  for (let n = 0; ; n++) {
    yield* round(n)
    const now = yield* Effect.clockWith((c) => c.currentTimeMillis)
    if (now - startedAt > Number(seconds) * 1000) break
  }
  const eventLoop = loop()
  const result = yield* verify
  const quiet = JSON.parse((yield* noise.says("noise")).slice("noise".length)) as unknown
  yield* Fiber.interrupt(reconciling)
  yield* Console.log(
    JSON.stringify(
      {
        store: kind,
        workers: Number(workerCount),
        claimMs,
        ...result,
        runs: tally,
        takenOver: yield* metricOf(LedgerMetrics.claimsTakenOver),
        suppressed: yield* metricOf(LedgerMetrics.duplicatesSuppressed),
        unknown: yield* metricOf(LedgerMetrics.outcomesUnknown),
        eventLoop,
        eventLoopOfAProcessBesideIt: quiet
      },
      undefined,
      2
    )
  )
  return result.faults.length === 0
})

const options = Ledger.layerWith({ claim: claimMs, retention: "1 day" })

const onPg = Effect.gen(function* () {
  const server = yield* Effect.acquireRelease(Effect.promise(start), (s) => Effect.sync(s.stop))
  const database = PgClient.layer({ url: Redacted.make(server.url), maxConnections: 30 })
  return yield* Effect.provide(soak, options.pipe(Layer.provideMerge(PgStore.layer), Layer.provideMerge(database)))
})

const onSqlite = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "effect-sqs-soak-"))),
    (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
  )
  const filename = path.join(folder, "soak.db")
  watchSqlite()
  const database = SqliteFile.layer({ filename })
  return yield* Effect.gen(function* () {
    const busy = yield* child("../../soak/busy.ts", filename)
    yield* busy.says("busy")
    return yield* soak
  }).pipe(Effect.provide(options.pipe(Layer.provideMerge(SqliteStore.layer), Layer.provideMerge(database))))
})

void Effect.runPromise(Effect.scoped(kind === "pg" ? onPg : onSqlite)).then((held) => process.exit(held ? 0 : 1))
