import * as Producer from "@effect-sqs/core/Producer"
import * as Sqs from "@effect-sqs/core/Sqs"
import * as Fault from "@effect-sqs/testing/Fault"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { assert, describe } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { JobStore } from "../../src/jobs/JobStore.js"
import * as Outbox from "../../src/jobs/Outbox.js"
import { reportJobs } from "../../src/ReportJob.js"
import { row, settings, simulated } from "../support/workshop.js"
import { job } from "./suite.js"

const options = { queue: "jobs", resend: settings.resend }

/** an outbox as each worker has one */
const start = Effect.forkScoped(Outbox.run(options))

const accept = (id: string, notBefore?: number) =>
  Effect.flatMap(JobStore, (jobs) => jobs.accept(job(id), { notBefore }))

const messages = Effect.flatMap(VirtualSqs.VirtualSqs, (virtual) => virtual.messages("jobs"))

const ids = Effect.map(messages, (all) => all.map((m) => JSON.parse(m.body).jobId as string).sort())

/** the queue loses all that it has */
const loseAll = Effect.gen(function* () {
  const sqs = yield* Sqs.Sqs
  const queueUrl = yield* sqs.queueUrl("jobs")
  const all = yield* sqs.receive({ queueUrl, maxMessages: 10, waitTimeSeconds: 0 })
  yield* sqs.deleteBatch(
    queueUrl,
    all.map((m) => m.receiptHandle)
  )
  assert.deepStrictEqual(yield* ids, [])
})

describe("Outbox", () => {
  simulated("sends what was accepted, once, and says so in the row", () =>
    Effect.gen(function* () {
      yield* accept("a")
      yield* accept("b")
      yield* start
      yield* Effect.sleep("9 minutes")
      assert.deepStrictEqual(yield* ids, ["a", "b"])
      const [first] = yield* messages
      const a = yield* row("a")
      assert.deepStrictEqual([a.state, a.sends, a.messageId], ["queued", 1, first!.messageId])
      yield* accept("c")
      yield* Effect.sleep("2 seconds")
      assert.deepStrictEqual(yield* ids, ["a", "b", "c"])
    })
  )

  simulated("a queue that lost everything is filled again, later and later, and not for ever", () =>
    Effect.gen(function* () {
      yield* accept("a")
      const producer = yield* Producer.make(reportJobs("jobs"))
      const pauses: Array<number> = []
      for (let minutes = 0; minutes < 20 * 60; minutes++) {
        yield* Effect.delay(Outbox.pass(options, producer), "1 minute")
        if ((yield* messages).length === 0) continue
        pauses.push(minutes)
        yield* loseAll
      }
      assert.deepStrictEqual(
        pauses.map((at, i) => at - (pauses[i - 1] ?? 0)),
        [0, 10, 20, 40, 80, 120, 120, 120, 120, 120]
      )
      const a = yield* row("a")
      assert.strictEqual(a.state, "failed")
      assert.match(a.reason!, /^sent 10 times without coming to an end/)
    })
  )

  simulated("a job for in an hour waits in the database, then in the queue, and is visible at its time", () =>
    Effect.gen(function* () {
      const start_ = yield* Clock.currentTimeMillis
      const at = start_ + 3_600_000
      yield* accept("a", at)
      yield* start
      yield* Effect.sleep("44 minutes")
      assert.deepStrictEqual([yield* ids, (yield* row("a")).state], [[], "scheduled"])
      yield* Effect.sleep("15 minutes")
      const { counters } = yield* VirtualSqs.VirtualSqs
      assert.strictEqual((yield* row("a")).state, "queued")
      assert.deepStrictEqual(yield* counters("jobs"), { visible: 0, inFlight: 0, delayed: 1 })
      yield* Effect.sleep("62 seconds")
      assert.deepStrictEqual(yield* counters("jobs"), { visible: 1, inFlight: 0, delayed: 0 })
      // the pause begins when the message is visible
      yield* Effect.sleep("8 minutes")
      assert.deepStrictEqual(yield* ids, ["a"])
    })
  )

  simulated("several outboxes on one database send each job once", () =>
    Effect.gen(function* () {
      for (let i = 0; i < 25; i++) yield* accept(`j-${i}`)
      yield* Effect.forEach([1, 2, 3], () => start)
      yield* Effect.sleep("1 minute")
      assert.strictEqual((yield* messages).length, 25)
      assert.strictEqual(new Set(yield* ids).size, 25)
    })
  )

  simulated("killed between the send and its mark, another sends once more when the hold ends", () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      yield* accept("a")
      const producer = yield* Producer.make(reportJobs("jobs"))
      const dying = { ...jobs, sent: () => Effect.interrupt }
      const exit = yield* Effect.exit(Effect.provideService(Outbox.pass(options, producer), JobStore, dying))
      assert.strictEqual(exit._tag, "Failure")
      assert.deepStrictEqual([yield* ids, (yield* row("a")).sends], [["a"], 0])
      yield* start
      yield* Effect.sleep("25 seconds")
      assert.deepStrictEqual(yield* ids, ["a"])
      yield* Effect.sleep("10 seconds")
      assert.deepStrictEqual([yield* ids, (yield* row("a")).sends], [["a", "a"], 1])
    })
  )

  simulated(
    "SQS refuses for a while: the job waits in the database, and is sent afterwards",
    () =>
      Effect.gen(function* () {
        yield* accept("a")
        const outbox = yield* start
        yield* Effect.sleep("1 minute")
        assert.deepStrictEqual([yield* ids, (yield* row("a")).state], [[], "accepted"])
        yield* Effect.sleep("3 minutes")
        assert.deepStrictEqual([yield* ids, (yield* row("a")).state], [["a"], "queued"])
        yield* Fiber.interrupt(outbox)
      }),
    {
      faults: Fault.error("ServiceUnavailable", { httpStatus: 503 }).pipe(
        Fault.on("SendMessageBatch"),
        Fault.during("0 seconds", "2 minutes")
      )
    }
  )

  simulated("what is cancelled, or puts itself off by running, is not sent", () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      yield* accept("a")
      yield* jobs.cancel("a")
      yield* accept("b")
      yield* start
      yield* Effect.sleep("2 seconds")
      assert.deepStrictEqual(yield* ids, ["b"])
      yield* loseAll
      const now = yield* Clock.currentTimeMillis
      yield* jobs.started("b", { receiveCount: 1, nextAt: now + 60 * 60_000 })
      yield* Effect.sleep("59 minutes")
      assert.deepStrictEqual(yield* ids, [])
      yield* Effect.sleep("2 minutes")
      assert.deepStrictEqual(yield* ids, ["b"])
    })
  )
})
