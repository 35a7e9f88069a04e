import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as JournalQuery from "@effect-sqs/testing/JournalQuery"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { ArtifactStore } from "../src/store/ArtifactStore.js"
import { Rendered } from "../src/render/RenderProtocol.js"
import { RenderPool } from "../src/render/RenderPool.js"
import { type RenderError, RenderThreadLost, UnknownAirport } from "../src/ReportError.js"
import { FlightDelaysJob, reportJobs } from "../src/ReportJob.js"
import * as ReportWorker from "../src/ReportWorker.js"

const settings: ReportWorker.WorkerSettings = {
  queue: "jobs",
  deadLetterQueue: undefined,
  concurrency: 2,
  visibility: undefined,
  heartbeat: undefined,
  extendBy: undefined,
  limit: undefined,
  redeliveryFrom: Duration.seconds(10),
  redeliveryTo: Duration.minutes(15),
  waitTime: Duration.seconds(20),
  drain: Duration.seconds(30)
}

const job = (o: Partial<FlightDelaysJob> = {}) =>
  new FlightDelaysJob({ jobId: "den", locale: "en", period: "2001-02", airport: "DEN", ...o })

const artifact = (name: string) => ({ name, location: name, bytes: 1, sha256: "" })

/**
 * The worker on a virtual SQS, with a store in memory and a pool that does what `draw` says. `after` sends the bodies,
 * lets the time pass and answers what is to be looked at.
 */
const working = (
  draw: (job: FlightDelaysJob, time: number) => Effect.Effect<void, RenderError | RenderThreadLost>,
  bodies: ReadonlyArray<string>,
  passes: Duration.DurationInput
) => {
  const kept = new Set<string>()
  const store = ArtifactStore.of({
    workFolder: "/none",
    find: (name) => Effect.sync(() => (kept.has(name) ? Option.some(artifact(name)) : Option.none())),
    put: (name) =>
      Effect.as(
        Effect.sync(() => kept.add(name)),
        artifact(name)
      ),
    read: () => Stream.die("nobody reads")
  })
  let drawn = 0
  const pool = RenderPool.of({
    render: (j) => Effect.as(draw(j, ++drawn), new Rendered({ pages: 1, bytes: 1, sha256: "" }))
  })
  return Effect.gen(function* () {
    const virtual = yield* VirtualSqs.VirtualSqs
    const ids = yield* Effect.forEach(bodies, (body) => virtual.send("jobs", body))
    const fiber = yield* Effect.fork(ReportWorker.run(settings))
    yield* TestClock.adjust(passes)
    const stopping = yield* Effect.fork(Fiber.interrupt(fiber))
    yield* TestClock.adjust("1 minutes")
    yield* Fiber.join(stopping)
    const view = JournalQuery.read(virtual.journal.entries)
    return {
      kept,
      drawn,
      dead: yield* virtual.messages("jobs-dlq"),
      left: yield* virtual.messages("jobs"),
      receivedAtSeconds: ids.map((id) => JournalQuery.deliveriesOf(view, id).map((d) => d.received.at / 1000))
    }
  }).pipe(
    Effect.provideService(ArtifactStore, store),
    Effect.provideService(RenderPool, pool),
    Effect.provide(
      VirtualSqs.layer({
        queues: [
          "jobs-dlq",
          {
            name: "jobs",
            attributes: { VisibilityTimeout: 60 },
            deadLetters: { queue: "jobs-dlq", maxReceiveCount: 4 }
          }
        ]
      })
    )
  )
}

const text = (j: FlightDelaysJob) => reportJobs("jobs").encode(j)

type DeadLetters = Effect.Effect.Success<ReturnType<typeof working>>["dead"]

/** Why each is there, as its copy says. */
const reasons = (dead: DeadLetters) => dead.map((m) => m.attributes["effect_sqs.reason"]?.StringValue)

describe("ReportWorker", () => {
  it.effect("draws a report, keeps it, and deletes the job", () =>
    Effect.gen(function* () {
      const seen = yield* working(() => Effect.void, [yield* text(job())], "30 seconds")
      assert.strictEqual(seen.kept.size, 1)
      assert.deepStrictEqual([seen.left, seen.dead], [[], []])
    })
  )

  it.effect("does not draw again what an earlier run had finished", () =>
    Effect.gen(function* () {
      const body = yield* text(job())
      const seen = yield* working(() => Effect.void, [body, body, body], "2 minutes")
      // two ran at once, the third found the file
      assert.isAtMost(seen.drawn, 2)
      assert.deepStrictEqual([seen.left, seen.dead, seen.kept.size], [[], [], 1])
    })
  )

  it.effect("dead-letters at once what no second try can help, with the reason", () =>
    Effect.gen(function* () {
      const never = () => Effect.fail(new UnknownAirport({ airport: "ZZZ" }))
      const seen = yield* working(never, [yield* text(job({ airport: "ZZZ" }))], "1 hours")
      assert.strictEqual(seen.receivedAtSeconds[0]!.length, 1)
      assert.deepStrictEqual(reasons(seen.dead), ["UnknownAirport: no airport ZZZ in the flight data: check the code"])
      assert.deepStrictEqual(seen.left, [])
    })
  )

  it.effect("dead-letters what is no job, with the reason and without running", () =>
    Effect.gen(function* () {
      const bodies = ["hello", `{"report":"flight-delays","jobId":"../x","locale":"en","period":"2001-01"}`]
      const seen = yield* working(() => Effect.void, bodies, "1 hours")
      assert.strictEqual(seen.drawn, 0)
      const [one, other] = reasons(seen.dead).sort()
      assert.match(one!, /it is not JSON/)
      assert.match(other!, /jobId: expected 1 to 48 lower-case letters, digits or hyphens/)
    })
  )

  it.effect("takes an outage as passing: the job comes again later and later, and is done", () =>
    Effect.gen(function* () {
      const seen = yield* working(
        () => Effect.void,
        [yield* text(job({ drill: { unavailableReceives: 2 } }))],
        "10 minutes"
      )
      const [first, second, third] = seen.receivedAtSeconds[0]!
      assert.strictEqual(seen.receivedAtSeconds[0]!.length, 3)
      // 10 s and 20 s, each cut by a random factor of at least a half, and rounded up to seconds
      assert.isTrue(second! - first! >= 5 && second! - first! <= 11, `${second! - first!}`)
      assert.isTrue(third! - second! >= 10 && third! - second! <= 21, `${third! - second!}`)
      assert.strictEqual(seen.kept.size, 1)
    })
  )

  it.effect("tries again when a render thread was lost", () =>
    Effect.gen(function* () {
      const once = (_: FlightDelaysJob, time: number) =>
        time === 1 ? Effect.fail(new RenderThreadLost({ detail: "it ended while drawing" })) : Effect.void
      const seen = yield* working(once, [yield* text(job())], "1 minutes")
      assert.deepStrictEqual([seen.drawn, seen.kept.size, seen.left.length, seen.dead.length], [2, 1, 0, 0])
    })
  )

  it.effect("dead-letters with the reason at the last receive, before SQS does it without", () =>
    Effect.gen(function* () {
      const always = () => Effect.fail(new RenderThreadLost({ detail: "it ended while drawing" }))
      const seen = yield* working(always, [yield* text(job())], "1 hours")
      assert.strictEqual(seen.drawn, 4)
      assert.deepStrictEqual(reasons(seen.dead), [
        "RenderThreadLost: the render thread is gone: it ended while drawing"
      ])
    })
  )
})
