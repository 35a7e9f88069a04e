import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { ArtifactStore } from "../src/ArtifactStore.js"

/** A store in a folder of its own; `names` is what the folder holds. */
const withStore = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = `${yield* fs.makeTempDirectoryScoped()}/reports`
  const open = Effect.map(Layer.build(ArtifactStore.layerFolder(folder)), (context) =>
    Option.getOrThrow(Option.fromNullable(context.unsafeMap.get(ArtifactStore.key) as typeof ArtifactStore.Service))
  )
  return { fs, folder, open, store: yield* open, names: fs.readDirectory(folder) }
})

describe("ArtifactStore", () => {
  it.scoped("keeps what was written under its name, and finds it", () =>
    Effect.gen(function* () {
      const { folder, fs, names, store } = yield* withStore
      assert.isTrue(Option.isNone(yield* store.find("a.pdf")))
      const path = yield* store.put("a.pdf", (file) => fs.writeFileString(file, "whole"))
      assert.strictEqual(path, `${folder}/a.pdf`)
      assert.deepStrictEqual(yield* store.find("a.pdf"), Option.some(path))
      assert.strictEqual(yield* fs.readFileString(path), "whole")
      assert.deepStrictEqual(yield* names, ["a.pdf"])
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.scoped("shows nothing of a write that goes on, fails, dies or is interrupted", () =>
    Effect.gen(function* () {
      const { fs, names, store } = yield* withStore
      const half = (then: Effect.Effect<never, string>) =>
        store.put("a.pdf", (file) => Effect.andThen(fs.writeFileString(file, "ha"), then))
      assert.deepStrictEqual(yield* Effect.either(half(Effect.fail("no"))), Either.left("no"))
      yield* Effect.exit(half(Effect.die("bug")))
      assert.deepStrictEqual(yield* names, [])

      const writing = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(half(Effect.andThen(Deferred.succeed(writing, undefined), Effect.never)))
      yield* Deferred.await(writing)
      assert.isTrue(Option.isNone(yield* store.find("a.pdf")))
      assert.strictEqual((yield* names).length, 1)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* names, [])
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.scoped("never writes a finished artifact again", () =>
    Effect.gen(function* () {
      const { fs, names, store } = yield* withStore
      const put = (text: string) => store.put("a.pdf", (file) => fs.writeFileString(file, text))
      const [path] = yield* Effect.all([put("first"), put("first"), put("first")], { concurrency: "unbounded" })
      assert.strictEqual(yield* put("second"), path)
      assert.strictEqual(yield* fs.readFileString(path), "first")
      assert.deepStrictEqual(yield* names, ["a.pdf"])
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.scoped("sweeps at its start what a killed worker left a day ago, and nothing younger", () =>
    Effect.gen(function* () {
      const { folder, fs, names, open } = yield* withStore
      const dayMs = 86_400_000
      yield* TestClock.setTime(10 * dayMs)
      yield* Effect.forEach(
        [
          [".old.pdf.1.part", 8.9 * dayMs],
          [".young.pdf.2.part", 9.1 * dayMs],
          ["old.pdf", dayMs]
        ] as const,
        ([name, at]) =>
          Effect.andThen(
            fs.writeFileString(`${folder}/${name}`, "x"),
            fs.utimes(`${folder}/${name}`, new Date(at), new Date(at))
          )
      )
      yield* open
      assert.deepStrictEqual((yield* names).sort(), [".young.pdf.2.part", "old.pdf"])
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.scoped("fails at its start when the folder cannot be", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* fs.makeTempFileScoped()
      const error = yield* Effect.flip(Layer.build(ArtifactStore.layerFolder(`${file}/reports`)))
      assert.strictEqual(error._tag, "StoreFailed")
      assert.match(error.message, /reports cannot be written: (ENOTDIR|EEXIST)/)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.scoped("fails with the system's words when the folder has gone", () =>
    Effect.gen(function* () {
      const { folder, fs, store } = yield* withStore
      const gone = store.put("a.pdf", (file) =>
        Effect.andThen(fs.writeFileString(file, "whole"), fs.remove(folder, { recursive: true }))
      )
      const error = yield* Effect.flip(gone)
      assert.match(error.message, /a\.pdf cannot be written: ENOENT/)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})
