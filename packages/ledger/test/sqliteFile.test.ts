/** An SQLite file that others write to as well. Real time: the waiting is for real locks. */
import * as SqliteFile from "@effect-sqs/ledger/SqliteFile"
import * as SqliteStore from "@effect-sqs/ledger/SqliteStore"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import { createClient } from "@libsql/client"
import { Context, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import * as path from "node:path"
import { temporaryFolder } from "./support/backend.js"

const file = Effect.map(temporaryFolder, (folder) => path.join(folder, "shared 100%?#.db"))

const open = (filename: string, busyTimeout: "5 seconds" | "100 millis" = "5 seconds") =>
  Effect.map(Layer.build(SqliteFile.layer({ filename, busyTimeout })), Context.get(SqlClient.SqlClient))

/** somebody else, with a connection of their own, who holds the file's write lock until told otherwise */
const holder = (filename: string) =>
  Effect.gen(function* () {
    const url = `file:${filename.split("/").map(encodeURIComponent).join("/")}`
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => createClient({ url })),
      (c) => Effect.sync(() => c.close())
    )
    const transaction = yield* Effect.promise(() => client.transaction("write"))
    return Effect.promise(() => transaction.commit())
  })

const table = (sql: SqlClient.SqlClient) => sql`CREATE TABLE IF NOT EXISTS t (x INTEGER UNIQUE)`
const count = (sql: SqlClient.SqlClient) =>
  Effect.map(sql<{ n: number }>`SELECT count(*) AS n FROM t`, (rows) => rows[0]!.n)

/** turns of the event loop while an effect runs */
const turnsDuring = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(self)
    let turns = 0
    for (;;) {
      const exit = yield* Fiber.poll(fiber)
      if (exit._tag === "Some") return { turns, exit: exit.value }
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      turns++
    }
  })

describe("SqliteFile", () => {
  it.scopedLive("waits for another's lock, lets the event loop turn meanwhile, and gets through", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const sql = yield* open(filename)
      yield* table(sql)
      for (const write of [sql`INSERT INTO t VALUES (1)`, sql.withTransaction(sql`INSERT INTO t VALUES (2)`)]) {
        const release = yield* holder(filename)
        const releasing = yield* Effect.fork(Effect.zipRight(Effect.yieldNow(), Effect.delay(release, "50 millis")))
        const { exit, turns } = yield* turnsDuring(write)
        yield* Fiber.join(releasing)
        assert.isTrue(Exit.isSuccess(exit))
        assert.isAbove(turns, 20)
      }
      assert.strictEqual(yield* count(sql), 2)
    })
  )

  it.scopedLive("gives up with SQLITE_BUSY, and works again afterwards: nothing is stuck", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const sql = yield* open(filename, "100 millis")
      yield* table(sql)
      const release = yield* holder(filename)
      const tries = [
        sql`INSERT INTO t VALUES (1)`,
        sql.withTransaction(sql`INSERT INTO t VALUES (2)`),
        sql.withTransaction(Effect.zipRight(sql`SELECT 1`, sql`INSERT INTO t VALUES (3)`))
      ]
      for (const write of tries) {
        const error = yield* Effect.flip(write)
        assert.include(String((error.cause as Error).message), "SQLITE_BUSY")
      }
      yield* release
      for (const write of tries) yield* write
      assert.strictEqual(yield* count(sql), 3)
      // nobody else is locked out by what was left of the tries
      const other = yield* open(filename, "100 millis")
      yield* other`INSERT INTO t VALUES (4)`
      assert.strictEqual(yield* count(sql), 4)
    })
  )

  it.scopedLive("interrupted while it waits, it does not write later", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const sql = yield* open(filename)
      yield* table(sql)
      const release = yield* holder(filename)
      const begun = yield* Deferred.make<void>()
      const waiting = yield* Effect.fork(
        sql.withTransaction(Effect.zipRight(Deferred.succeed(begun, undefined), sql`INSERT INTO t VALUES (1)`))
      )
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(waiting)
      yield* release
      yield* sql.withTransaction(sql`INSERT INTO t VALUES (2)`)
      assert.deepStrictEqual(yield* sql`SELECT x FROM t`, [{ x: 2 }])
    })
  )

  it.scopedLive("a statement that fails inside a transaction leaves it usable; a failed transaction rolls back", () =>
    Effect.gen(function* () {
      const sql = yield* open(yield* file)
      yield* table(sql)
      yield* sql`INSERT INTO t VALUES (1)`
      yield* sql.withTransaction(
        Effect.zipRight(Effect.ignore(sql`INSERT INTO t VALUES (1)`), sql`INSERT INTO t VALUES (2)`)
      )
      yield* Effect.ignore(sql.withTransaction(Effect.zipRight(sql`INSERT INTO t VALUES (3)`, Effect.fail("no"))))
      yield* sql.withTransaction(
        Effect.zipRight(
          Effect.ignore(sql.withTransaction(Effect.zipRight(sql`INSERT INTO t VALUES (4)`, Effect.fail("inner")))),
          sql`INSERT INTO t VALUES (5)`
        )
      )
      assert.deepStrictEqual(yield* sql`SELECT x FROM t ORDER BY x`, [{ x: 1 }, { x: 2 }, { x: 5 }])
    })
  )

  it.scopedLive("an empty transaction does nothing, and waits for nobody", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const sql = yield* open(filename)
      const release = yield* holder(filename)
      assert.strictEqual(yield* sql.withTransaction(Effect.succeed("nothing")), "nothing")
      yield* release
    })
  )

  it.scopedLive("eight clients that start at once create the tables together", () =>
    Effect.gen(function* () {
      const filename = yield* file
      yield* Effect.forEach(
        Array.from({ length: 8 }, (_, n) => n),
        () => Layer.build(SqliteStore.layer.pipe(Layer.provide(SqliteFile.layer({ filename })))),
        { concurrency: "unbounded" }
      )
      const sql = yield* open(filename)
      const tables = yield* sql`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`
      assert.deepStrictEqual(tables, [{ name: "effect_ledger" }, { name: "effect_ledger_memory" }])
    })
  )

  it.scopedLive("a folder that is not there is told by name", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(open("/nowhere/ledger.db"))
      assert.include(error.message, "open /nowhere/ledger.db")
    })
  )
})
