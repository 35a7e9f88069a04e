/** What the worker does with messages whose jobs fail, in virtual time. */
import * as Sqs from "@effect-sqs/core/Sqs"
import * as JournalQuery from "@effect-sqs/testing/JournalQuery"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import { JobStore } from "../src/jobs/JobStore.js"
import type { PipelineError } from "../src/Pipeline.js"
import * as Policies from "../src/Policies.js"
import { RenderThreadLost, StepTimedOut } from "../src/ReportError.js"
import * as ReportWorker from "../src/ReportWorker.js"
import { job } from "./jobs/suite.js"
import { row, send, settings, simulated } from "./support/workshop.js"

const start = Effect.forkScoped(ReportWorker.run(settings))

const dead = Effect.flatMap(VirtualSqs.VirtualSqs, (virtual) => virtual.messages("jobs-dlq"))
const left = Effect.flatMap(VirtualSqs.VirtualSqs, (virtual) => virtual.messages("jobs"))
const reasons = Effect.map(dead, (all) => all.map((m) => m.attributes["effect_sqs.reason"]?.StringValue))

/** when each delivery of the message was received, in seconds since the first */
const receives = (messageId: string) =>
  Effect.map(VirtualSqs.VirtualSqs, ({ journal }) => {
    const at = JournalQuery.deliveriesOf(JournalQuery.read(journal.entries), messageId).map((d) => d.received.at / 1000)
    return at.map((t) => t - at[0]!)
  })

describe("ReportWorker", () => {
  simulated("sends what the database has, makes it, and ends in order: the consumer before all else", (workshop) =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      yield* jobs.accept(job("a"))
      workshop.drawing = () => Effect.sleep("10 seconds")
      const drained = yield* Ref.make<ReadonlyArray<string>>([])
      const worker = yield* Effect.fork(
        ReportWorker.run(settings, {
          onEvent: (event) =>
            event._tag === "Draining" || event._tag === "Drained"
              ? Ref.update(drained, (all) => [...all, event._tag])
              : Effect.void
        })
      )
      yield* Effect.sleep("3 seconds")
      assert.strictEqual((yield* row("a")).state, "running")
      // the running job may end, its progress is still written, and nothing new begins
      yield* jobs.accept(job("b"))
      yield* Fiber.interrupt(worker)
      assert.deepStrictEqual([(yield* row("a")).state, (yield* row("b")).runs], ["completed", 0])
      assert.deepStrictEqual(yield* Ref.get(drained), ["Draining", "Drained"])
    })
  )

  simulated("takes an outage as passing: the job comes again later and later, and is done", (workshop) =>
    Effect.gen(function* () {
      const id = yield* send(job("a", { drill: { unavailableReceives: 2 } }))
      yield* start
      yield* Effect.sleep("10 minutes")
      const [, second, third, ...more] = yield* receives(id)
      assert.deepStrictEqual(more, [])
      // 10 s and 20 s, each cut by a random factor of at least a half, and rounded up to seconds
      assert.isTrue(second! >= 5 && second! <= 11, `${second!}`)
      assert.isTrue(third! - second! >= 10 && third! - second! <= 21, `${third! - second!}`)
      assert.deepStrictEqual([(yield* row("a")).state, workshop.counts.query], ["completed", 1])
    })
  )

  simulated("draws again on the spot when a render thread was lost", (workshop) =>
    Effect.gen(function* () {
      workshop.drawing = (_, time) =>
        time === 1 ? Effect.fail(new RenderThreadLost({ detail: "it ended while drawing" })) : Effect.void
      const id = yield* send(job("a"))
      yield* start
      yield* Effect.sleep("1 minute")
      assert.deepStrictEqual([workshop.counts.render, (yield* receives(id)).length], [2, 1])
      // nothing half-written stays
      assert.deepStrictEqual([...workshop.files], [])
      assert.deepStrictEqual([(yield* row("a")).state, yield* left, yield* dead], ["completed", [], []])
    })
  )

  simulated("dead-letters with the reason at the last receive, before SQS does it without", (workshop) =>
    Effect.gen(function* () {
      workshop.drawing = () => Effect.fail(new RenderThreadLost({ detail: "it ended while drawing" }))
      yield* send(job("a"))
      yield* start
      yield* Effect.sleep("1 hour")
      // four receives, in each one more try
      assert.deepStrictEqual([workshop.counts.query, workshop.counts.render], [1, 8])
      const reason = "RenderThreadLost: the render thread is gone: it ended while drawing"
      assert.deepStrictEqual(
        [yield* reasons, (yield* row("a")).state, (yield* row("a")).reason],
        [[reason], "failed", reason]
      )
    })
  )

  simulated("ends a step that takes longer than its policy allows, and tries again", (workshop) =>
    Effect.gen(function* () {
      workshop.querying = (_, time) => (time === 1 ? Effect.never : Effect.void)
      yield* send(job("a"))
      yield* start
      yield* Effect.sleep("301 seconds")
      assert.strictEqual((yield* row("a")).reason, "the step query did not end within 300 s")
      yield* Effect.sleep("1 minute")
      assert.deepStrictEqual([(yield* row("a")).state, workshop.counts.query], ["completed", 2])
    })
  )

  simulated("a job for later does not run before its time, whoever sends it", () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      const at = (yield* Clock.currentTimeMillis) + 3_600_000
      yield* jobs.accept(job("a"), { notBefore: at })
      yield* send(job("a"))
      yield* start
      yield* Effect.sleep("59 minutes")
      assert.deepStrictEqual([(yield* row("a")).runs, yield* dead], [0, []])
      yield* Effect.sleep("2 minutes")
      const a = yield* row("a")
      assert.deepStrictEqual([a.state, a.startedAt! >= at && a.startedAt! < at + 5000], ["completed", true])
    })
  )

  simulated("a long job that tells nothing is not taken for a lost one", (workshop) =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      workshop.drawing = () => Effect.sleep("50 minutes")
      yield* jobs.accept(job("a"))
      yield* start
      yield* Effect.sleep("51 minutes")
      const a = yield* row("a")
      assert.deepStrictEqual([a.state, a.sends, a.runs], ["completed", 1, 1])
    })
  )

  simulated("writes how far it is once a second at most, however often it is told", (workshop) =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      let writes = 0
      const counting = {
        ...jobs,
        progress: (...[id, p, o]: Parameters<typeof jobs.progress>) => {
          if (!o.isNew) writes++
          return jobs.progress(id, p, o)
        }
      }
      workshop.progressing = (tell) =>
        Effect.forEach(Array.from({ length: 100 }), (_, i) => Effect.zipRight(tell(i, 100), Effect.sleep("100 millis")))
      yield* send(job("a"))
      yield* Effect.provideService(start, JobStore, counting)
      yield* Effect.sleep("20 seconds")
      assert.strictEqual((yield* row("a")).state, "completed")
      assert.isTrue(writes >= 9 && writes <= 11, `${writes} writes in 10 s`)
    })
  )

  simulated("a job that is lost with its queue is sent again, and done once", (workshop) =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      const sqs = yield* Sqs.Sqs
      yield* jobs.accept(job("a"))
      // a worker takes it, and dies with the queue
      yield* jobs.takeDue({ limit: 1, holdMs: 1000 })
      const queueUrl = yield* sqs.queueUrl("jobs")
      assert.deepStrictEqual(yield* sqs.receive({ queueUrl, maxMessages: 10, waitTimeSeconds: 0 }), [])
      yield* start
      yield* Effect.sleep("10 seconds")
      assert.deepStrictEqual([(yield* row("a")).state, workshop.counts.render], ["completed", 1])
    })
  )
})

describe("Policies", () => {
  it("are printed as a table, each step and each failure", () => {
    for (const name of [...Object.keys(Policies.steps), ...Object.keys(Policies.failures)]) {
      assert.match(Policies.describe, new RegExp(`^  ${name} +\\S`, "m"))
    }
    assert.match(Policies.describe, /^ {2}query +5m +2 +1s +SourceUnavailable, StoreFailed$/m)
    assert.match(Policies.describe, /^ {2}\(database\) +4 +200ms +JobStoreFailed$/m)
    assert.match(Policies.describe, /^ {2}UnknownAirport +reject +dead-letter +no second try/m)
  })

  it("have a line for each way in which a run can fail", () => {
    // this does not compile when one is missing
    const all: Record<PipelineError["_tag"], Policies.FailurePolicy> = Policies.failures
    assert.isTrue(Object.values(all).every((policy) => policy.why !== ""))
  })

  it("a bug, and what has no entry, comes again", () => {
    assert.strictEqual(Policies.failing(new Error("a bug"))._tag, "Retry")
    assert.strictEqual(Policies.failing(new StepTimedOut({ step: "render", seconds: 1 }))._tag, "Retry")
    assert.strictEqual(Policies.failing({ _tag: "UnknownAirport" })._tag, "Reject")
    assert.strictEqual(Policies.failing({ _tag: "toString" })._tag, "Retry")
  })
})
