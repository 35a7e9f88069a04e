/** Answers that are lost on a real connection: it is cut when the server has done the work, before anybody is told. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as PgStore from "@effect-sqs/ledger/PgStore"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { newKey, record, run } from "../test/support/jobs.js"
import { client } from "./support/postgres.js"
import { proxy } from "./support/proxy.js"

const policy = Ledger.ambiguous({ timeout: "10 seconds", result: Schema.String })

const through = (url: string) =>
  Ledger.layer.pipe(Layer.provideMerge(PgStore.layer), Layer.provideMerge(client({ url, maxConnections: 5 })))

const table = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`CREATE TABLE IF NOT EXISTS answered_row (key TEXT NOT NULL)`
)

describe("answers lost on the way", () => {
  for (const [what, statement] of [
    ["the claim", "INSERT INTO effect_ledger AS l"],
    ["the begin of a call", "UPDATE effect_ledger SET call_ref"],
    ["the end of a call, at its COMMIT", "COMMIT"],
    [
      "a step",
      "INSERT INTO effect_ledger_memory (namespace, key, name, result, attempt, created_at)\n          SELECT"
    ],
    ["the completion", "SET state = 'completed'"]
  ] as const) {
    it.scopedLive(`${what}: one run, one call, one result, and the next message is given it`, () =>
      Effect.gen(function* () {
        const door = yield* proxy(process.env.LEDGER_PG_URL!)
        yield* Effect.gen(function* () {
          const key = newKey()
          let ran = 0
          let called = 0
          const job = () =>
            Effect.gen(function* () {
              ran++
              const charge = yield* Ledger.outside("charge", policy, () => Effect.sync(() => `charge ${++called}`))
              return yield* Ledger.step("note", Schema.String, Effect.succeed(`${charge}, noted`))
            })
          door.cut(statement)
          assert.strictEqual(yield* run(key, job), "charge 1, noted")
          assert.strictEqual(yield* run(key, job), "charge 1, noted")
          assert.deepStrictEqual([door.cuts(), ran, called], [1, 1, 1])
          const row = yield* record(key)
          assert.deepStrictEqual([row.state, row.attempt], ["completed", 1])
        }).pipe(Effect.provide(through(door.url)))
      })
    )
  }

  for (const retries of [0, 3]) {
    it.scopedLive(`COMMIT of the job's own rows, which the job tries ${retries} times more: one row, one result`, () =>
      Effect.gen(function* () {
        const door = yield* proxy(process.env.LEDGER_PG_URL!)
        yield* Effect.gen(function* () {
          yield* table
          const sql = yield* SqlClient.SqlClient
          const key = newKey()
          const job = (claim: Ledger.Claim<string>) =>
            Effect.retry(claim.commit(Effect.as(sql`INSERT INTO answered_row VALUES (${key})`, "committed")), {
              times: retries
            })
          door.cut("COMMIT")
          assert.strictEqual(yield* run(key, job), "committed")
          assert.strictEqual(door.cuts(), 1)
          assert.strictEqual((yield* sql`SELECT key FROM answered_row WHERE key = ${key}`).length, 1)
        }).pipe(Effect.provide(through(door.url)))
      })
    )
  }
})
