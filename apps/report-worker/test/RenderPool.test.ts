import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import * as WorkerThreads from "node:worker_threads"
import { RenderPool, startThread } from "../src/render/RenderPool.js"
import { FlightDelaysJob } from "../src/ReportJob.js"

const job = (jobId: string, o: Partial<FlightDelaysJob> = {}) =>
  new FlightDelaysJob({ jobId, locale: "ko", period: "2001-02", airport: "DEN", ...o })

/** Goes on for minutes, and tells after its first page. */
const slow = (jobId: string) => job(jobId, { pagesPerSecond: 0.1 })

/** Threads that start from source, on a busy machine. */
const patienceMs = 120_000

const ignore = () => Effect.void

/** One thread, the handles of all that were started, a folder. */
const setup = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  const started: Array<WorkerThreads.Worker> = []
  const live = RenderPool.layer(1, () => {
    const thread = startThread()
    started.push(thread)
    return thread
    // the platform warns of a thread that ended; here it is meant to
  }).pipe(Layer.provide(Logger.remove(Logger.defaultLogger)))
  const draw = (j: FlightDelaysJob, onProgress: () => Effect.Effect<unknown> = ignore) =>
    Effect.flatMap(RenderPool, (pool) =>
      Effect.zipRight(
        pool.query(j, `${folder}/${j.jobId}.json`),
        pool.render(j, `${folder}/${j.jobId}.json`, `${folder}/${j.jobId}.pdf`, () => Effect.asVoid(onProgress()))
      )
    )
  const names = fs.readDirectory(folder)
  return { fs, folder, started, context: yield* Layer.build(live), names, draw }
})

describe("RenderPool", () => {
  it.scopedLive(
    "draws in a thread, and its failures arrive as they are",
    () =>
      Effect.gen(function* () {
        const { context, draw, fs, folder, names, started } = yield* setup
        yield* Effect.gen(function* () {
          const { bytes } = yield* draw(job("den"))
          const file = yield* fs.readFile(`${folder}/den.pdf`)
          assert.deepStrictEqual([file.length, Buffer.from(file.subarray(0, 5)).toString()], [bytes, "%PDF-"])

          const unknown = yield* Effect.flip(draw(job("zzz", { airport: "ZZZ" })))
          assert.strictEqual(unknown.message, "no airport ZZZ in the flight data: check the code")

          const pool = yield* RenderPool
          const noFolder = yield* Effect.flip(
            pool.render(job("den"), `${folder}/den.json`, `${folder}/none/x.pdf`, ignore)
          )
          assert.match(noFolder.message, /none\/x\.pdf cannot be written: ENOENT/)
        }).pipe(Effect.provide(context))
        assert.strictEqual(started.length, 1)
        assert.deepStrictEqual((yield* names).sort(), ["den.json", "den.pdf"])
      }).pipe(Effect.provide(NodeFileSystem.layer)),
    patienceMs
  )

  it.scopedLive(
    "an interruption reaches the thread between two pages: the file goes, the thread draws on",
    () =>
      Effect.gen(function* () {
        const { context, draw, folder, fs, started } = yield* setup
        yield* Effect.gen(function* () {
          const pool = yield* RenderPool
          const drawing = yield* Deferred.make<void>()
          const path = `${folder}/slow.pdf`
          yield* pool.query(slow("slow"), `${folder}/slow.json`)
          const fiber = yield* Effect.fork(
            pool.render(slow("slow"), `${folder}/slow.json`, path, () => Deferred.succeed(drawing, undefined))
          )
          yield* Deferred.await(drawing)
          assert.isTrue(yield* fs.exists(path))
          yield* Fiber.interrupt(fiber)
          // only the thread itself takes this file away
          yield* fs.exists(path).pipe(Effect.repeat({ while: (there) => there, schedule: Schedule.spaced("5 millis") }))
          assert.isAbove((yield* draw(job("next"))).pages ?? 0, 0)
        }).pipe(Effect.provide(context))
        assert.strictEqual(started.length, 1)
      }).pipe(Effect.provide(NodeFileSystem.layer)),
    patienceMs
  )

  it.scopedLive(
    "a thread that dies is an error worth another try: a new thread draws",
    () =>
      Effect.gen(function* () {
        const { context, draw, started } = yield* setup
        yield* Effect.gen(function* () {
          const drawing = yield* Deferred.make<void>()
          const fiber = yield* Effect.fork(draw(slow("slow"), () => Deferred.succeed(drawing, undefined)))
          yield* Deferred.await(drawing)
          yield* Effect.promise(() => started[0]!.terminate())
          const exit = yield* Fiber.await(fiber)
          const error = Exit.isFailure(exit) ? yield* Effect.flip(exit) : undefined
          assert.strictEqual(error?._tag, "RenderThreadLost")
          assert.isAbove((yield* draw(job("next"))).pages ?? 0, 0)
        }).pipe(Effect.provide(context))
        assert.strictEqual(started.length, 2)
      }).pipe(Effect.provide(NodeFileSystem.layer)),
    patienceMs
  )

  it.effect("fails at its start when no thread comes up", () =>
    Effect.gen(function* () {
      const dead = () => new WorkerThreads.Worker("process.exit(1)", { eval: true })
      const fiber = yield* Effect.fork(Effect.flip(Effect.scoped(Layer.build(RenderPool.layer(1, dead)))))
      yield* TestClock.adjust("30 seconds")
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error._tag, "RenderThreadLost")
      assert.match(error.message, /not all came up within 30 s/)
    })
  )
})
