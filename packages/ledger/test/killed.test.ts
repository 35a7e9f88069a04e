/** A process that dies in the middle of its transaction, on a file that another goes on with. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as SqliteFile from "@effect-sqs/ledger/SqliteFile"
import * as SqliteStore from "@effect-sqs/ledger/SqliteStore"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Schema, TestClock } from "effect"
import * as path from "node:path"
import { Rows, SqlRows, temporaryFolder } from "./support/backend.js"
import { child } from "./support/child.js"
import { record } from "./support/jobs.js"

it.scoped("killed between rows and completion: neither is there, and the next run does both", () =>
  Effect.gen(function* () {
    const filename = path.join(yield* temporaryFolder, "ledger.db")
    const worker = yield* child("killed.ts", "sqlite", filename, "a")
    yield* worker.says("inserted")
    yield* worker.kill
    yield* Effect.gen(function* () {
      const rows = yield* Rows
      assert.deepStrictEqual(yield* rows.of("a"), [])
      assert.deepStrictEqual([(yield* record("a")).state, (yield* record("a")).attempt], ["in_progress", 1])
      // long after the claim has ended, by the clock that the dead process had
      yield* TestClock.setTime(32_503_680_000_000)
      const result = yield* Ledger.once({ namespace: "tests", key: "a", result: Schema.String }, (claim) =>
        claim.commit(Effect.as(rows.insert("a", "the taker"), "the taker"))
      )
      assert.strictEqual(result, "the taker")
      assert.deepStrictEqual(yield* rows.of("a"), ["the taker"])
      assert.strictEqual((yield* record("a")).attempt, 2)
    }).pipe(
      Effect.provide(
        Ledger.layer.pipe(
          Layer.provideMerge(Layer.merge(SqliteStore.layer, SqlRows)),
          Layer.provide(SqliteFile.layer({ filename }))
        )
      )
    )
  })
)
