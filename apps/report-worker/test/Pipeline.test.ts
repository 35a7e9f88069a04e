/** The pipeline under the worker, in virtual time: what is run again, what is not, and what becomes of message and row. */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as Fault from "@effect-sqs/testing/Fault"
import * as SimClock from "@effect-sqs/testing/SimClock"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { assert, describe } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { JobStoreFailed } from "../src/jobs/JobError.js"
import { JobStore } from "../src/jobs/JobStore.js"
import { StoreFailed, UnknownAirport } from "../src/ReportError.js"
import * as ReportWorker from "../src/ReportWorker.js"
import { job } from "./jobs/suite.js"
import { events, row, send, settings, simulated, type Workshop } from "./support/workshop.js"

const start = Effect.forkScoped(ReportWorker.run(settings))

const left = Effect.flatMap(VirtualSqs.VirtualSqs, (virtual) => virtual.messages("jobs"))
const dead = Effect.flatMap(VirtualSqs.VirtualSqs, (virtual) => virtual.messages("jobs-dlq"))
const reasons = Effect.map(dead, (all) => all.map((m) => m.attributes["effect_sqs.reason"]?.StringValue))

/** The receive counts of what came again and was not run, as the job's history has them. */
const duplicates = (id: string) =>
  Effect.map(events(id), (all) => all.flatMap((e) => (e.kind === "duplicate" ? [e.detail["receive"]] : [])))

const once = { query: 1, render: 1, extracts: 1, artifacts: 1, told: 0 }

/** A process of its own: it dies as the step begins, or as the message would be deleted. */
const dyingAt = (workshop: Workshop, moment: string, how: "kill" | "stop") =>
  Effect.gen(function* () {
    const reached = yield* Deferred.make<void>()
    const here = Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never)
    const dying = Layer.effect(
      JobStore,
      Effect.map(JobStore, (jobs) =>
        JobStore.of({
          ...jobs,
          progress: (id, p, o) => (o.isNew && p.step === moment ? here : jobs.progress(id, p, o))
        })
      )
    )
    const process = yield* SimClock.spawn(
      moment,
      ReportWorker.run({ ...settings, drain: Duration.millis(1) }).pipe(
        Effect.provide(Layer.provideMerge(dying, workshop.process))
      )
    )
    yield* Deferred.await(reached)
    yield* how === "kill" ? process.kill : process.terminate
    yield* process.await
  })

describe("Pipeline", () => {
  simulated("makes a report in steps, keeps it once, and deletes the message", (workshop) =>
    Effect.gen(function* () {
      workshop.drawing = () => Effect.sleep("3 seconds")
      yield* send(job("a"))
      yield* start
      yield* Effect.sleep("2 seconds")
      const running = yield* row("a")
      assert.deepStrictEqual([running.state, running.runs, { ...running.progress }], [
        "running",
        1,
        { step: "render", done: 1, of: 2 }
      ] as Array<unknown>)
      yield* Effect.sleep("10 seconds")
      const a = yield* row("a")
      assert.deepStrictEqual([a.state, a.sendAt, a.result?.pages], ["completed", undefined, 2])
      assert.strictEqual(workshop.kept.get(a.result!.artifact)?.location, a.result!.location)
      assert.deepStrictEqual([workshop.counts, yield* left, yield* dead], [once, [], []])
      assert.deepStrictEqual(
        (yield* events("a")).map((e) => (e.kind === "step" ? e.detail["step"] : e.kind)),
        ["accepted", "started", "query", "render", "store", "complete", "completed"]
      )
      // nothing is left of what lay between the steps
      assert.deepStrictEqual([...workshop.files], [])
    })
  )

  simulated("many messages of one job, at once and later: one run, one report, one row", (workshop) =>
    Effect.gen(function* () {
      workshop.drawing = () => Effect.sleep("20 seconds")
      yield* Effect.repeatN(send(job("a")), 2)
      // only how fast it is drawn differs
      yield* send(job("a", { pagesPerSecond: 10 }))
      yield* start
      yield* Effect.sleep("10 minutes")
      yield* send(job("a"))
      yield* Effect.sleep("1 minute")
      assert.deepStrictEqual([workshop.counts, yield* left, yield* reasons], [once, [], []])
      assert.deepStrictEqual([(yield* row("a")).state, (yield* row("a")).runs], ["completed", 1])
      assert.deepStrictEqual(yield* duplicates("a"), [2, 2, 2, 1])
    })
  )

  for (const how of ["kill", "stop"] as const) {
    for (const [moment, counts] of [
      ["query", once],
      ["render", once],
      ["store", once],
      ["complete", once]
    ] as const) {
      simulated(
        `${how === "kill" ? "killed" : "stopped"} before ${moment}, the next worker goes on there`,
        (workshop) =>
          Effect.gen(function* () {
            yield* send(job("a"))
            yield* dyingAt(workshop, moment, how)
            assert.strictEqual((yield* row("a")).state, how === "kill" ? "running" : "queued")
            yield* start
            yield* Effect.sleep("10 minutes")
            assert.deepStrictEqual([workshop.counts, yield* left, yield* dead], [counts, [], []])
            assert.deepStrictEqual([(yield* row("a")).state, (yield* row("a")).runs], ["completed", 2])
            assert.strictEqual((yield* events("a")).filter((e) => e.kind === "completed").length, 1)
          })
      )
    }
  }

  simulated(
    "killed before store, another machine fetches the figures and draws again, and keeps one report",
    (workshop) =>
      Effect.gen(function* () {
        yield* send(job("a"))
        yield* dyingAt(workshop, "store", "kill")
        workshop.moveAway()
        yield* start
        yield* Effect.sleep("10 minutes")
        assert.deepStrictEqual(workshop.counts, { ...once, render: 2 })
        assert.deepStrictEqual([(yield* row("a")).state, workshop.kept.size], ["completed", 2])
      })
  )

  simulated(
    "finished, but its message cannot be deleted: it comes again, and is not run again",
    (workshop) =>
      Effect.gen(function* () {
        yield* send(job("a"))
        const first = yield* start
        yield* Effect.sleep("70 seconds")
        yield* Fiber.interrupt(first)
        assert.strictEqual((yield* left).length, 1)
        yield* start
        yield* Effect.sleep("10 minutes")
        assert.deepStrictEqual([workshop.counts, yield* left], [once, []])
        assert.strictEqual((yield* row("a")).runs, 1)
        assert.deepStrictEqual(yield* duplicates("a"), [2, 3])
      }),
    {
      faults: Fault.error("ServiceUnavailable", { httpStatus: 503 }).pipe(
        Fault.on("DeleteMessageBatch"),
        Fault.during("0 seconds", "2 minutes")
      )
    }
  )

  simulated(
    "finished, and its delete fails until the lease ends: the worker that remembers deletes it, and the job tells of it",
    (workshop) =>
      Effect.gen(function* () {
        yield* send(job("a"))
        yield* start
        yield* Effect.sleep("10 minutes")
        assert.deepStrictEqual([workshop.counts, yield* left, (yield* row("a")).runs], [once, [], 1])
        assert.deepStrictEqual(yield* duplicates("a"), [2, 3])
      }),
    {
      faults: Fault.error("ServiceUnavailable", { httpStatus: 503 }).pipe(
        Fault.on("DeleteMessageBatch"),
        Fault.during("0 seconds", "2 minutes")
      )
    }
  )

  simulated("what no second try can help ends in the dead-letter queue and in the row, with the reason", (workshop) =>
    Effect.gen(function* () {
      workshop.querying = () => Effect.fail(new UnknownAirport({ airport: "ZZZ" }))
      yield* send(job("a"))
      yield* start
      yield* Effect.sleep("1 hour")
      const reason = "UnknownAirport: no airport ZZZ in the flight data: check the code"
      assert.deepStrictEqual([yield* reasons, yield* left, workshop.counts.query], [[reason], [], 1])
      const a = yield* row("a")
      assert.deepStrictEqual([a.state, a.reason, a.sendAt], ["failed", reason, undefined])
      // a second message of it is not run
      yield* send(job("a"))
      yield* Effect.sleep("1 minute")
      assert.strictEqual(workshop.counts.query, 1)
      assert.match((yield* reasons)[1]!, /^LedgerRejected: reports\/a was rejected: .*no airport ZZZ/)
    })
  )

  simulated("what fails at every receive ends there too; a redrive may complete it", (workshop) =>
    Effect.gen(function* () {
      let full = true
      workshop.storing = (name) =>
        full && !name.startsWith("extracts/")
          ? Effect.fail(new StoreFailed({ path: "/kept", detail: "the disk is full" }))
          : Effect.void
      yield* send(job("a"))
      yield* start
      yield* Effect.sleep("10 seconds")
      assert.deepStrictEqual(
        [(yield* row("a")).state, (yield* row("a")).reason],
        ["queued", "/kept cannot be written: the disk is full"]
      )
      yield* Effect.sleep("1 hour")
      const reason = "StoreFailed: /kept cannot be written: the disk is full"
      assert.deepStrictEqual(
        [yield* reasons, (yield* row("a")).state, (yield* row("a")).reason],
        [[reason], "failed", reason]
      )
      // four receives, each with one try and three repeated on the spot; drawn once
      assert.deepStrictEqual(workshop.counts, { query: 1, render: 1, extracts: 1, artifacts: 16, told: 0 })
      full = false
      yield* send(job("a"))
      yield* Effect.sleep("1 minute")
      assert.deepStrictEqual([(yield* row("a")).state, (yield* row("a")).reason], ["completed", undefined])
      assert.strictEqual(workshop.counts.render, 1)
    })
  )

  simulated("a body that cannot be read ends in the dead-letter queue; the job that was sent with it has failed", () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      const virtual = yield* VirtualSqs.VirtualSqs
      yield* jobs.accept(job("a"))
      const [due] = yield* jobs.takeDue({ limit: 1, holdMs: 60_000 })
      const messageId = yield* virtual.send("jobs", "hello")
      yield* jobs.sent(due!, { messageId, nextAt: Number.MAX_SAFE_INTEGER })
      yield* virtual.send("jobs", `{"report":"flight-delays","jobId":"../x","locale":"en","period":"2001-01"}`)
      yield* start
      yield* Effect.sleep("1 minute")
      const [one, other] = (yield* reasons).sort()
      assert.match(one!, /it is not JSON/)
      assert.match(other!, /jobId: expected 1 to 48 lower-case letters, digits or hyphens/)
      assert.strictEqual((yield* row("a")).state, "failed")
      assert.match((yield* row("a")).reason!, /it is not JSON/)
    })
  )

  simulated("a cancelled job is not run, and its message deleted; a running one is stopped", (workshop) =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      yield* jobs.accept(job("a"))
      yield* send(job("a"))
      yield* jobs.cancel("a")
      workshop.drawing = () => Effect.sleep("10 minutes")
      yield* send(job("b"))
      yield* start
      yield* Effect.sleep("5 seconds")
      assert.deepStrictEqual([workshop.counts.query, (yield* left).length], [1, 1])
      yield* jobs.cancel("b")
      // the next renewal of the claim tells it
      yield* Effect.sleep("25 seconds")
      assert.deepStrictEqual([yield* left, yield* dead], [[], []])
      assert.deepStrictEqual([(yield* row("a")).state, (yield* row("b")).state], ["cancelled", "cancelled"])
      assert.deepStrictEqual([(yield* row("a")).runs, workshop.counts.artifacts], [0, 0])
    })
  )

  simulated("another job under a known id is refused, and the known one is not touched", (workshop) =>
    Effect.gen(function* () {
      workshop.drawing = () => Effect.sleep("30 seconds")
      yield* send(job("a"))
      yield* start
      yield* Effect.sleep("5 seconds")
      yield* send(job("a", { locale: "ko" }))
      yield* Effect.sleep("5 minutes")
      assert.match((yield* reasons)[0]!, /^JobConflict: job a is known with other parameters/)
      assert.deepStrictEqual([(yield* row("a")).state, workshop.counts.artifacts], ["completed", 1])
    })
  )

  simulated("a database that cannot write progress, or forgets what was decided, fails no job", (workshop) =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      const down = Effect.fail(new JobStoreFailed({ operation: "test", detail: "it is away" }))
      const away = { ...jobs, progress: () => down, waiting: () => Effect.never, failed: () => down }
      workshop.drawing = (_, time) => (time === 1 ? Effect.dieMessage("a bug") : Effect.sleep("5 seconds"))
      yield* send(job("a"))
      yield* Effect.provideService(start, JobStore, away)
      yield* Effect.sleep("10 minutes")
      assert.deepStrictEqual([(yield* row("a")).state, yield* left, yield* dead], ["completed", [], []])
    })
  )

  simulated("a database that is away: the job comes again, the worker lives, the job is done", () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      let up = false
      const down = Effect.fail(new JobStoreFailed({ operation: "test", detail: "it is away" }))
      const shaky = {
        ...jobs,
        admit: (...a: Parameters<typeof jobs.admit>) => Effect.suspend(() => (up ? jobs.admit(...a) : down)),
        takeDue: () => down
      }
      yield* send(job("a"))
      yield* Effect.provideService(start, JobStore, shaky)
      yield* Effect.sleep("15 seconds")
      assert.strictEqual((yield* left).length, 1)
      up = true
      yield* Effect.sleep("5 minutes")
      assert.deepStrictEqual([(yield* row("a")).state, yield* left], ["completed", []])
    })
  )

  simulated("the ledger and the row agree: the report is completed with the result that the row has", () =>
    Effect.gen(function* () {
      yield* send(job("a"))
      yield* start
      yield* Effect.sleep("1 minute")
      const record = yield* Effect.flatten(Ledger.get({ namespace: "reports", key: "a" }))
      const { result } = yield* row("a")
      assert.strictEqual(record.state, "completed")
      assert.deepInclude(JSON.parse(record.result!).value, { artifact: result!.artifact, sha256: result!.sha256 })
    })
  )
})
