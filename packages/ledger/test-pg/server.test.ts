/** What only a server shows: real races, locks, deadlocks, its own clock, broken connections. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { LedgerStoreError } from "@effect-sqs/ledger/LedgerError"
import { LedgerStore } from "@effect-sqs/ledger/LedgerStore"
import * as PgStore from "@effect-sqs/ledger/PgStore"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, TestClock } from "effect"
import { child } from "../test/support/child.js"
import { deadOwner, failureOf, idOf, newKey, record, run } from "../test/support/jobs.js"
import { client } from "./support/postgres.js"

/** on the server's clock, as in production */
const production = (options: { readonly maxConnections?: number; readonly url?: string } = {}) =>
  Ledger.layerWith({ claim: "1 minute" }).pipe(
    Layer.provideMerge(PgStore.layer),
    Layer.provideMerge(client(options)),
    Layer.orDie
  )

const rowsOf = (key: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<{ value: string }>`SELECT value FROM business_row WHERE key = ${key}`, (rows) =>
      rows.map((row) => row.value)
    )
  )

const insert = (key: string, value: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`INSERT INTO business_row (key, value) VALUES (${key}, ${value})`)

const businessTable = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.withTransaction(
    Effect.zipRight(
      sql`SELECT pg_advisory_xact_lock(4711)`,
      sql`CREATE TABLE IF NOT EXISTS business_row (key TEXT NOT NULL, value TEXT NOT NULL)`
    )
  )
)

/** a setting for all connections of a client */
const withSetting = (setting: string) => {
  const url = new URL(process.env.LEDGER_PG_URL!)
  url.searchParams.set("options", `-c ${setting}`)
  return url.toString().replaceAll("+", "%20")
}

const race = (keys: number, racers: number, expected: number) =>
  Effect.forEach(
    Array.from({ length: keys }, newKey),
    (key) =>
      Effect.gen(function* () {
        for (let attempt = 1; attempt <= expected; attempt++) {
          const outcomes = yield* Effect.forEach(
            Array.from({ length: racers }, (_, n) => `${key} ${attempt} ${n}`),
            (owner) => Ledger.claim({ ...idOf(key), owner, claim: "1 hour" }),
            { concurrency: "unbounded" }
          )
          const winners = outcomes.filter((o) => o._tag === "Claimed")
          assert.deepStrictEqual(
            winners.map((o) => o.attempt),
            [attempt]
          )
          const sql = yield* SqlClient.SqlClient
          // a raw statement, which nobody tries again where transactions are serializable
          yield* Effect.retry(sql`UPDATE effect_ledger SET claim_until = 0 WHERE key = ${key}`, { times: 20 })
        }
      }),
    { concurrency: 2, discard: true }
  )

describe("on a server", () => {
  it.live("G12: 40 first claims and 40 takeovers on each of 10 keys: one winner each, no deadlock", () =>
    Effect.provide(race(10, 40, 3), production({ maxConnections: 40 }))
  )

  for (const level of ["repeatable read", "serializable"]) {
    it.live(`G12: the same where ${level} is the default: the losers' 40001 are tried again`, () =>
      Effect.provide(
        race(4, 20, 2),
        production({
          maxConnections: 20,
          url: withSetting(`default_transaction_isolation=${level.replace(" ", "\\ ")}`)
        })
      )
    )
  }

  it.effect("T13: clocks of processes that differ by minutes, or decades, change nothing", () =>
    Effect.gen(function* () {
      const key = newKey()
      yield* deadOwner(key)
      for (const at of [0, 4_102_444_800_000]) {
        yield* TestClock.setTime(at)
        const busy = yield* Effect.flip(run(key, () => Effect.die("ran")))
        const remaining = busy._tag === "LedgerBusy" ? busy.remainingMs : -1
        assert.isTrue(remaining > 0 && remaining <= 60_000, `remaining ${remaining}`)
      }
    }).pipe(Effect.provide(production()))
  )

  it.live("eight processes that start at once on an empty database create the tables together", () =>
    Effect.gen(function* () {
      const name = `fresh_${process.pid}_${newKey().replaceAll("-", "_").toLowerCase()}`
      const sql = yield* SqlClient.SqlClient
      yield* sql.unsafe(`CREATE DATABASE ${name}`)
      const url = new URL(process.env.LEDGER_PG_URL!)
      url.pathname = `/${name}`
      const built = Layer.build(Layer.provide(PgStore.layer, client({ url: url.toString(), maxConnections: 2 })))
      yield* Effect.scoped(
        Effect.all(
          Array.from({ length: 8 }, () => built),
          { concurrency: "unbounded" }
        )
      )
      yield* sql.unsafe(`DROP DATABASE ${name} WITH (FORCE)`)
    }).pipe(Effect.provide(client({ maxConnections: 2 })))
  )

  it.live("a deadlock between the rows of two jobs: one is tried again as a whole, both complete", () =>
    Effect.gen(function* () {
      yield* businessTable
      const sql = yield* SqlClient.SqlClient
      const [a, b] = [newKey(), newKey()]
      yield* insert(a, "0")
      yield* insert(b, "0")
      const met = yield* Deferred.make<void>()
      let here = 0
      let tries = 0
      const add = (key: string) => sql`UPDATE business_row SET value = (value::int + 1)::text WHERE key = ${key}`
      const job = (first: string, second: string) =>
        run(newKey(), (claim) =>
          claim.commit(
            Effect.gen(function* () {
              tries++
              yield* add(first)
              if (++here === 2) yield* Deferred.succeed(met, undefined)
              yield* Deferred.await(met)
              yield* add(second)
              return "done"
            })
          )
        )
      const results = yield* Effect.all([job(a, b), job(b, a)], { concurrency: 2 })
      assert.deepStrictEqual(results, ["done", "done"])
      assert.strictEqual(tries, 3)
      assert.deepStrictEqual([yield* rowsOf(a), yield* rowsOf(b)], [["2"], ["2"]])
    }).pipe(Effect.provide(production()))
  )

  it.live("a serialization failure, also one that comes at COMMIT, is tried again as a whole", () =>
    Effect.gen(function* () {
      yield* businessTable
      const sql = yield* SqlClient.SqlClient
      const group = newKey()
      const met = yield* Deferred.make<void>()
      let here = 0
      let tries = 0
      const one = () =>
        run(newKey(), (claim) =>
          claim.commit(
            Effect.gen(function* () {
              tries++
              yield* sql`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`
              const before = yield* rowsOf(group)
              if (++here === 2) yield* Deferred.succeed(met, undefined)
              yield* Deferred.await(met)
              yield* insert(group, `row ${before.length + 1}`)
              return "done"
            })
          )
        )
      assert.deepStrictEqual(yield* Effect.all([one(), one()], { concurrency: 2 }), ["done", "done"])
      assert.isAtLeast(tries, 3)
      assert.deepStrictEqual([...(yield* rowsOf(group))].sort(), ["row 1", "row 2"])
    }).pipe(Effect.provide(production()))
  )

  it.live("what fails at COMMIT is a typed failure, not a defect, and is not tried again when that cannot help", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE IF NOT EXISTS deferred_row (x TEXT UNIQUE DEFERRABLE INITIALLY DEFERRED)`
      const value = newKey()
      yield* sql`INSERT INTO deferred_row VALUES (${value})`
      const key = newKey()
      let tries = 0
      const error = yield* Effect.flip(
        run(key, (claim) =>
          claim.commit(
            Effect.suspend(() => (tries++, Effect.as(sql`INSERT INTO deferred_row VALUES (${value})`, "done")))
          )
        )
      )
      assert.instanceOf(error, LedgerStoreError)
      assert.deepInclude(error, { operation: "COMMIT", reason: "refused" })
      assert.deepStrictEqual([tries, (yield* record(key)).state], [1, "retryable"])
    }).pipe(Effect.provide(production()))
  )

  it.live("the connection breaks before COMMIT: rolled back, typed, to be tried again", () =>
    Effect.gen(function* () {
      yield* businessTable
      const sql = yield* SqlClient.SqlClient
      const store = yield* LedgerStore
      const key = newKey()
      const pid = yield* Deferred.make<number>()
      const broken = yield* Deferred.make<void>()
      const owner = yield* Effect.fork(
        run(key, (claim) =>
          store.transaction(
            Effect.gen(function* () {
              yield* insert(key, "row")
              yield* claim.complete("done")
              const [self] = yield* sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`
              yield* Deferred.succeed(pid, self!.pid)
              yield* Deferred.await(broken)
              return "done"
            })
          )
        )
      )
      yield* sql`SELECT pg_terminate_backend(${yield* Deferred.await(pid)}, 5000)`
      yield* Deferred.succeed(broken, undefined)
      const error = yield* Effect.flip(Fiber.join(owner))
      assert.deepInclude(error, { _tag: "LedgerStoreError", operation: "COMMIT", reason: "lost" })
      assert.deepStrictEqual(yield* rowsOf(key), [])
      assert.strictEqual((yield* record(key)).state, "retryable")
      assert.strictEqual(yield* run(key, () => Effect.succeed("second")), "second")
    }).pipe(Effect.provide(production()))
  )

  it.live("the reason of a rollback survives a ROLLBACK that fails", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const store = yield* LedgerStore
      const exit = yield* Effect.exit(
        store.transaction(
          Effect.zipRight(
            Effect.ignore(sql`SELECT pg_terminate_backend(pg_backend_pid())`),
            Effect.fail("the reason" as const)
          )
        )
      )
      assert.deepStrictEqual(exit, Exit.fail("the reason"))
    }).pipe(Effect.provide(production()))
  )

  it.live(
    "a row that somebody keeps locked: no answer in time is a typed failure, and the connection is given back",
    () =>
      Effect.gen(function* () {
        const key = newKey()
        yield* deadOwner(key)
        const sql = yield* SqlClient.SqlClient
        const locked = yield* Deferred.make<void>()
        const done = yield* Deferred.make<void>()
        const locker = yield* Effect.fork(
          sql.withTransaction(
            Effect.all([
              sql`SELECT 1 FROM effect_ledger WHERE key = ${key} FOR UPDATE`,
              Deferred.succeed(locked, undefined),
              Deferred.await(done)
            ])
          )
        )
        yield* Deferred.await(locked)
        const impatient = Ledger.layerWith({ storeTimeout: "20 millis" }).pipe(Layer.provide(PgStore.layerStore))
        assert.strictEqual(yield* failureOf(Effect.provide(Ledger.cancel(idOf(key)), impatient)), "LedgerStoreError")
        yield* Deferred.succeed(done, undefined)
        yield* Fiber.join(locker)
        assert.strictEqual((yield* Ledger.cancel(idOf(key))).state, "cancelled")
      }).pipe(Effect.provide(production({ maxConnections: 3 })))
  )

  it.live("twenty jobs with rows on two connections: all complete", () =>
    Effect.gen(function* () {
      yield* businessTable
      const keys = Array.from({ length: 20 }, newKey)
      yield* Effect.forEach(keys, (key) => run(key, (claim) => claim.commit(Effect.as(insert(key, "row"), "done"))), {
        concurrency: "unbounded"
      })
      for (const key of keys) assert.deepStrictEqual(yield* rowsOf(key), ["row"])
    }).pipe(Effect.provide(production({ maxConnections: 2 })))
  )

  it.scopedLive("killed between rows and completion: neither is there, and the next run does both", () =>
    Effect.gen(function* () {
      yield* businessTable
      const key = newKey()
      const worker = yield* child("killed.ts", "pg", process.env.LEDGER_PG_URL!, key)
      yield* worker.says("inserted")
      yield* worker.kill
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(yield* rowsOf(key), [])
      assert.strictEqual((yield* record(key)).state, "in_progress")
      yield* sql`UPDATE effect_ledger SET claim_until = 0 WHERE key = ${key}`
      const job = (claim: Ledger.Claim<string>) => claim.commit(Effect.as(insert(key, "the taker"), "the taker"))
      assert.strictEqual(yield* run(key, job), "the taker")
      assert.deepStrictEqual(yield* rowsOf(key), ["the taker"])
    }).pipe(Effect.provide(production()))
  )
})
