/** A redrive that asks a ledger on PostgreSQL. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as PgStore from "@effect-sqs/ledger/PgStore"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema } from "effect"
import path from "node:path"
import { apply } from "../src/RedriveApply.js"
import { dryRun } from "../src/RedriveDryRun.js"
import * as RedriveLedger from "../src/RedriveLedger.js"
import { bodies, deadLetters, directory, pair, served } from "../test/deadLetters.support.js"

const url = () => process.env["LEDGER_PG_URL"]!

describe("redrive with a ledger on PostgreSQL", () => {
  it.scopedLive("completed: deleted, not sent; not there: sent", () =>
    Effect.gen(function* () {
      const worker = yield* Layer.build(
        Ledger.layer.pipe(
          Layer.provide(PgStore.layer),
          Layer.provide(PgClient.layer({ url: Redacted.make(url()), maxConnections: 2 }))
        )
      )
      const namespace = `jobs-${process.pid}`
      yield* Effect.provide(
        Ledger.once({ namespace, key: "k0", payload: 0, result: Schema.Void }, () => Effect.void),
        worker
      )
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", [{ body: '{"id":"k0"}' }, { body: '{"id":"k1"}' }])
      const ledger = yield* Effect.provide(RedriveLedger.look, yield* Layer.build(RedriveLedger.layer(url())))
      const audit = path.join(yield* directory, "audit.jsonl")
      const report = yield* Effect.gen(function* () {
        const limits = { canary: 0, settleMs: 300 }
        const { plan } = yield* dryRun({ queue: "dead", key: "$.id", namespace, ledger, limits })
        assert.deepStrictEqual(plan.delete, [{ why: "completed in the ledger", count: 1 }])
        return yield* apply({ plan, confirm: "dead", audit, actor: "t", ledger })
      }).pipe(Effect.provide(sqs.services))
      assert.deepInclude(report, { received: 2, sent: 1, deleted: 1 })
      assert.deepStrictEqual(yield* bodies(sqs, "jobs"), ['{"id":"k1"}'])
      assert.deepStrictEqual(yield* bodies(sqs, "dead"), [])
    })
  )
})
