/** Delivery under the ledger: receivers that know the key, receivers that do not, and what is found out afterwards. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import * as SimClock from "@effect-sqs/testing/SimClock"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { assert, describe } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Deliveries from "../src/jobs/Deliveries.js"
import * as ReportWorker from "../src/ReportWorker.js"
import { WebhookFailed, WebhookRefused, WebhookUnreachable } from "../src/webhook/WebhookError.js"
import { job } from "./jobs/suite.js"
import { events, row, send, settings, simulated, type Workshop } from "./support/workshop.js"

const start = Effect.forkScoped(ReportWorker.run(settings))

const left = Effect.flatMap(VirtualSqs.VirtualSqs, (virtual) => virtual.messages("jobs"))
const dead = Effect.flatMap(VirtualSqs.VirtualSqs, (virtual) => virtual.messages("jobs-dlq"))

const url = "https://receiver.example/reports"
const knowing = job("a", { webhook: { url, idempotent: true } })
const plain = job("a", { webhook: { url, idempotent: false, statusUrl: "https://receiver.example/status" } })

const ok = Effect.succeed({ status: 200, reported: false })
const cutOff = new WebhookFailed({ url, detail: "the connection was lost" })

const standing = Effect.map(row("a"), (a) => [a.state, a.delivery])

/** the states of the delivery, in their order */
const deliveries = Effect.map(events("a"), (all) =>
  all.filter((e) => e.kind === "delivery").map((e) => e.detail["state"])
)

/** all that happened to the report itself: once */
const madeOnce = (workshop: Workshop) =>
  assert.deepStrictEqual({ ...workshop.counts, told: 0 }, { query: 1, render: 1, extracts: 1, artifacts: 1, told: 0 })

/** a worker that dies while the receiver is told */
const killedWhileTelling = (workshop: Workshop) =>
  Effect.gen(function* () {
    const reached = yield* Deferred.make<void>()
    workshop.telling = () => Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never)
    const worker = yield* SimClock.spawn("first", Effect.provide(ReportWorker.run(settings), workshop.process))
    yield* Deferred.await(reached)
    yield* worker.kill
    workshop.telling = () => ok
  })

describe("Deliveries", () => {
  simulated("tells the receiver once, whatever comes again", (workshop) =>
    Effect.gen(function* () {
      const keys: Array<string> = []
      workshop.telling = (target, notice, call) => {
        keys.push(`${target.url} ${call.ref} ${notice.jobId} ${notice.artifact.sha256}`)
        return ok
      }
      yield* Effect.repeatN(send(knowing), 2)
      yield* start
      yield* Effect.sleep("10 minutes")
      assert.deepStrictEqual(keys, [`${url} report:a a drawn`])
      assert.deepStrictEqual([yield* standing, yield* deliveries], [["completed", "delivered"], ["delivered"]])
      assert.deepStrictEqual([yield* left, yield* dead], [[], []])
    })
  )

  simulated("a receiver that knows the key is told again, under the same key, until it answers", (workshop) =>
    Effect.gen(function* () {
      const refs: Array<string> = []
      workshop.telling = (_target, _notice, call) => {
        refs.push(call.ref)
        return refs.length < 3 ? Effect.fail(cutOff) : ok
      }
      yield* send(knowing)
      yield* start
      yield* Effect.sleep("10 minutes")
      assert.deepStrictEqual(refs, ["report:a", "report:a", "report:a"])
      assert.deepStrictEqual(yield* standing, ["completed", "delivered"])
      madeOnce(workshop)
    })
  )

  simulated(
    "killed while telling one that knows the key: the next worker tells it again, and makes nothing again",
    (w) =>
      Effect.gen(function* () {
        yield* send(knowing)
        yield* killedWhileTelling(w)
        assert.deepStrictEqual(yield* standing, ["completed", "pending"])
        yield* start
        yield* Effect.sleep("10 minutes")
        assert.deepStrictEqual([w.counts.told, yield* standing, yield* left], [2, ["completed", "delivered"], []])
        madeOnce(w)
      })
  )

  simulated("one that does not know it is not told again: it is asked, and has it", (workshop) =>
    Effect.gen(function* () {
      workshop.telling = () => Effect.fail(cutOff)
      let asked = 0
      workshop.asking = (target, call) =>
        Effect.sync(() => {
          asked++
          assert.deepStrictEqual([target.statusUrl, call.ref], ["https://receiver.example/status", "report:a"])
          return asked < 3 ? Verdict.StillUnknown() : Verdict.Happened({ result: { status: 200, reported: true } })
        })
      yield* send(plain)
      yield* start
      yield* Effect.sleep("9 seconds")
      // the message is gone: row and reconciler have it now
      assert.deepStrictEqual([yield* standing, yield* left], [["completed", "unknown"], []])
      yield* Effect.sleep("10 minutes")
      assert.deepStrictEqual([workshop.counts.told, asked], [1, 3])
      assert.deepStrictEqual(yield* standing, ["completed", "delivered"])
      assert.deepStrictEqual(yield* deliveries, ["unknown", "pending", "delivered"])
      madeOnce(workshop)
    })
  )

  simulated("it is told again when it says that it has nothing", (workshop) =>
    Effect.gen(function* () {
      workshop.telling = () => (workshop.counts.told === 1 ? Effect.fail(cutOff) : ok)
      workshop.asking = () => Effect.succeed(Verdict.DidNotHappen())
      yield* send(plain)
      yield* start
      yield* Effect.sleep("5 minutes")
      assert.deepStrictEqual([workshop.counts.told, yield* standing], [2, ["completed", "delivered"]])
    })
  )

  simulated("killed while telling it: unknown, not told again, and found out", (workshop) =>
    Effect.gen(function* () {
      workshop.asking = () => Effect.succeed(Verdict.Happened({ result: { status: 200, reported: true } }))
      yield* send(plain)
      yield* killedWhileTelling(workshop)
      yield* start
      yield* Effect.sleep("30 minutes")
      assert.deepStrictEqual([workshop.counts.told, yield* standing], [1, ["completed", "delivered"]])
      assert.deepStrictEqual([yield* left, yield* dead], [[], []])
    })
  )

  simulated("what cannot be found out waits for a person, whose verdict the row follows", (workshop) =>
    Effect.gen(function* () {
      workshop.telling = () => Effect.fail(cutOff)
      workshop.asking = () => Effect.succeed(Verdict.StillUnknown())
      yield* send(plain)
      const worker = yield* start
      yield* Effect.sleep("1 minute")
      yield* Fiber.interrupt(worker)
      assert.deepStrictEqual(yield* standing, ["completed", "unknown"])
      // the questions come later and later, for hours
      yield* Effect.repeatN(Effect.delay(Deliveries.pass, "10 minutes"), 60)
      assert.deepStrictEqual([yield* standing, workshop.counts.told], [["completed", "review"], 1])
      const [waiting] = yield* Ledger.reviews({ namespace: "deliveries" })
      yield* Ledger.decide(waiting!, Verdict.Rejected({ reason: "sent by post" }))
      yield* Deliveries.pass
      const a = yield* row("a")
      assert.deepStrictEqual([a.state, a.delivery, a.reason], ["completed", "refused", "sent by post"])
      assert.strictEqual(workshop.counts.told, 1)
    })
  )

  simulated("a surely failed call of it is made again", (workshop) =>
    Effect.gen(function* () {
      workshop.telling = () =>
        workshop.counts.told < 3 ? Effect.fail(new WebhookUnreachable({ url, detail: "no connection" })) : ok
      yield* send(plain)
      yield* start
      yield* Effect.sleep("5 minutes")
      assert.deepStrictEqual([workshop.counts.told, yield* standing], [3, ["completed", "delivered"]])
    })
  )

  simulated("a receiver that says no: the message is dead-lettered with the reason, the report stays", (workshop) =>
    Effect.gen(function* () {
      workshop.telling = () => Effect.fail(new WebhookRefused({ url, detail: "it answered 410" }))
      yield* send(knowing)
      yield* start
      yield* Effect.sleep("1 hour")
      const reason = `WebhookRefused: ${url} was not told: it answered 410`
      assert.deepStrictEqual(
        (yield* dead).map((m) => m.attributes["effect_sqs.reason"]?.StringValue),
        [reason]
      )
      const a = yield* row("a")
      assert.deepStrictEqual([a.state, a.delivery, a.reason, a.sendAt], ["completed", "refused", reason, undefined])
      assert.strictEqual(workshop.counts.told, 1)
      assert.isDefined(a.result)
    })
  )

  simulated("a receiver that is away for days is given up at the last receive, and a redrive delivers", (workshop) =>
    Effect.gen(function* () {
      workshop.telling = () => Effect.fail(new WebhookUnreachable({ url, detail: "no connection" }))
      yield* send(knowing)
      yield* start
      yield* Effect.sleep("3 hours")
      assert.deepStrictEqual(yield* standing, ["completed", "refused"])
      assert.strictEqual((yield* dead).length, 1)
      workshop.telling = () => ok
      yield* send(knowing)
      yield* Effect.sleep("1 minute")
      assert.deepStrictEqual(yield* standing, ["completed", "delivered"])
      madeOnce(workshop)
    })
  )

  simulated("stopped while it tells one that does not know the key: what happens is known, or unknown", (workshop) =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      workshop.telling = () => Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never)
      workshop.asking = () => Effect.succeed(Verdict.Happened({ result: { status: 200, reported: true } }))
      yield* send(plain)
      const worker = yield* SimClock.spawn(
        "first",
        Effect.provide(ReportWorker.run({ ...settings, drain: Duration.millis(1) }), workshop.process)
      )
      yield* Deferred.await(reached)
      yield* worker.terminate
      yield* worker.await
      yield* start
      yield* Effect.sleep("30 minutes")
      assert.deepStrictEqual([workshop.counts.told, yield* standing, yield* left], [1, ["completed", "delivered"], []])
    })
  )
})
