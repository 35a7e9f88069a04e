import * as PlatformError from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { query, render as renderExtract } from "../src/render/Render.js"
import { FlightDelaysJob, type ReportJob } from "../src/ReportJob.js"

const job = (o: Partial<FlightDelaysJob> = {}) =>
  new FlightDelaysJob({ jobId: "t", locale: "ko", period: "2001-02", airport: "DEN", ...o })

const ignore = () => Effect.void

/** The job's figures in a real file of its own. */
const figures = (j: ReportJob) =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(`${tmpdir()}/render-`)),
      (made) => Effect.sync(() => rmSync(made, { recursive: true }))
    )
    const extract = `${folder}/figures.json`
    yield* Effect.provide(query(j, extract), NodeFileSystem.layer)
    return extract
  })

/** Query and drawing in one. */
const render = (j: ReportJob, path: string, onProgress: Parameters<typeof renderExtract>[3]) =>
  Effect.scoped(Effect.flatMap(figures(j), (extract) => renderExtract(j, extract, path, onProgress)))

/** Files that remember what was done to them; `beforeWrite` gets the number of the write. */
const memory = (beforeWrite: (n: number) => Effect.Effect<void, PlatformError.PlatformError> = ignore) => {
  const events: Array<string> = []
  let writes = 0
  const file = {
    writeAll: (bytes: Uint8Array) =>
      Effect.andThen(
        Effect.suspend(() => beforeWrite(++writes)),
        Effect.sync(() => events.push(bytes.length > 0 ? "write" : "empty"))
      ),
    sync: Effect.sync(() => events.push("sync"))
  } as unknown as FileSystem.File
  const layer = FileSystem.layerNoop({
    open: (path) =>
      Effect.acquireRelease(
        Effect.sync(() => (events.push(`open ${path}`), file)),
        () => Effect.sync(() => events.push("close"))
      ),
    readFileString: (path) => Effect.sync(() => readFileSync(path, "utf8")),
    remove: (path) => Effect.sync(() => events.push(`remove ${path}`))
  })
  return { events, layer }
}

describe("render", () => {
  it.scoped("writes the report and tells its pages, its size and its checksum", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = `${yield* fs.makeTempDirectoryScoped()}/report.pdf`
      const rendered = yield* render(job(), path, ignore)
      const bytes = Buffer.from(yield* fs.readFile(path))
      assert.deepStrictEqual(
        { ...rendered },
        { _tag: "Rendered", pages: 4, bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") }
      )
      assert.strictEqual(bytes.subarray(0, 8).toString(), "%PDF-1.7")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("is on disk before it is told: the last write, the sync, the close", () => {
    const { events, layer } = memory()
    return Effect.gen(function* () {
      yield* render(job(), "/r.pdf", ignore)
      assert.strictEqual(events[0], "open /r.pdf")
      assert.deepStrictEqual(events.slice(-3), ["write", "sync", "close"])
      assert.notInclude(events, "remove /r.pdf")
    }).pipe(Effect.provide(layer))
  })

  it.scoped("keeps the pace that the job asks for, and tells how far it is", () => {
    const told: Array<string> = []
    return Effect.gen(function* () {
      const slow = job({ pagesPerSecond: 0.1 })
      // real files take real time: they are read before the clock is turned
      const extract = yield* figures(slow)
      const fiber = yield* Effect.fork(
        renderExtract(slow, extract, "/r.pdf", (p) => Effect.sync(() => told.push(`${p.pages}/${p.of}`)))
      )
      yield* TestClock.adjust("39999 millis")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Fiber.join(fiber)).pages, 4)
      assert.deepStrictEqual(told, ["2/4", "3/4", "4/4", "4/4"])
    }).pipe(Effect.provide(memory().layer))
  })

  it.effect("stops at the next page when it is interrupted, and leaves no file", () =>
    Effect.gen(function* () {
      const atThird = yield* Deferred.make<void>()
      // the third write waits: the interruption comes in the middle of the report
      const { events, layer } = memory((n) =>
        n === 3 ? Effect.andThen(Deferred.succeed(atThird, undefined), Effect.never) : Effect.void
      )
      const fiber = yield* Effect.fork(
        Effect.provide(render(job({ period: "2001-Q1", minDelay: -1000 }), "/r.pdf", ignore), layer)
      )
      yield* Deferred.await(atThird)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(events, ["open /r.pdf", "write", "write", "close", "remove /r.pdf"])
    })
  )

  it.effect("fails with the system's words when the disk is full, and leaves no file", () => {
    const full = new PlatformError.SystemError({
      reason: "Unknown",
      module: "FileSystem",
      method: "writeAll",
      cause: new Error("ENOSPC: no space left on device, write")
    })
    const { events, layer } = memory((n) => (n === 2 ? Effect.fail(full) : Effect.void))
    return Effect.gen(function* () {
      const error = yield* Effect.flip(render(job(), "/r.pdf", ignore))
      assert.strictEqual(error._tag, "StoreFailed")
      assert.strictEqual(error.message, "/r.pdf cannot be written: ENOSPC: no space left on device, write")
      assert.deepStrictEqual(events, ["open /r.pdf", "write", "close", "remove /r.pdf"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("opens no file for a report that cannot be", () => {
    const { events, layer } = memory()
    return Effect.gen(function* () {
      const error = yield* Effect.flip(render(job({ airport: "ZZZ" }), "/r.pdf", ignore))
      assert.strictEqual(error._tag, "UnknownAirport")
      assert.deepStrictEqual(events, [])
    }).pipe(Effect.provide(layer))
  })
})
