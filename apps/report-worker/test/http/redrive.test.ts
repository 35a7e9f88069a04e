import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readdirSync, readFileSync } from "node:fs"
import * as path from "node:path"
import { FlightDelaysJob, reportJobs } from "../../src/ReportJob.js"
import { ask, queue, site, TheSite } from "./harness.js"

describe("a redrive that is held back", () => {
  it.scopedLive("sends no more than it may, at the rate that was asked for; the others stay, with the reason", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs.VirtualSqs
      const messageIds: Array<string> = []
      for (let n = 0; n < 5; n++) {
        const job = new FlightDelaysJob({ jobId: `held-${n}`, locale: "en", period: "2001-02" })
        const body = yield* reportJobs(queue).encode(job)
        messageIds.push(yield* virtual.send("jobs-dlq", body, { attributes: { "effect_sqs.origin": queue } }))
      }
      const redrive = (body: object) => ask("POST", "/api/dead-letters/redrive", { body: { messageIds, ...body } })

      const { body } = yield* redrive({ atMost: 2, perSecond: 40 })
      assert.deepStrictEqual([body.sent, body.kept, body.failed], [2, 3, 0])
      assert.deepStrictEqual(
        body.reasons.filter(({ outcome }: any) => outcome === "kept"),
        [{ outcome: "kept", why: "not sent: the plan sends 2", count: 3 }]
      )
      assert.strictEqual((yield* virtual.messages(queue)).length, 2)
      assert.strictEqual((yield* virtual.messages("jobs-dlq")).length, 3)

      // the plan that was applied is kept
      const operations = path.join((yield* TheSite).folder, "operations")
      const limits = () =>
        readdirSync(operations)
          .filter((file) => /^redrive-.*\.json$/.test(file))
          .map((file) => JSON.parse(readFileSync(path.join(operations, file), "utf8")).limits)
          .map(({ rate, total }) => [rate, total])
      assert.deepStrictEqual(limits(), [[40, 2]])

      for (const wrong of [{ atMost: 0 }, { atMost: 101 }, { perSecond: 0 }, { perSecond: 51 }, { perSecond: 0.5 }]) {
        const refused = yield* redrive(wrong)
        assert.deepStrictEqual([refused.status, refused.body._tag], [400, "HttpApiDecodeError"])
      }

      // nothing said: all of them, ten a second
      const all = yield* redrive({})
      assert.deepStrictEqual([all.body.sent, all.body.kept], [3, 2])
      assert.deepInclude(limits(), [10, 5])
    }).pipe(Effect.provide(site({ sqsTimes: 20 })))
  )
})
