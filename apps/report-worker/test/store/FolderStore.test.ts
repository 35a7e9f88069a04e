import { SystemError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { ArtifactStore } from "../../src/store/ArtifactStore.js"
import * as FolderStore from "../../src/store/FolderStore.js"
import { contract, finished, put, sha256 } from "./suite.js"

const opened = (folder: string) =>
  Effect.map(Layer.build(FolderStore.layer(folder)), (context) => Context.get(context, ArtifactStore))

const open = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = `${yield* fs.makeTempDirectoryScoped()}/reports`
  const scope = yield* Effect.scope
  const again = opened(folder).pipe(
    Effect.provideService(FileSystem.FileSystem, fs),
    Effect.provideService(Scope.Scope, scope)
  )
  return { fs, folder, store: yield* again, again, at: (name: string) => `${folder}/${name}` }
})

describe("FolderStore", () => {
  contract(open, Effect.provide(NodeFileSystem.layer))

  it.scopedLive("a finished file is one link to what was made: nothing is copied", () =>
    Effect.gen(function* () {
      const { folder, fs, store } = yield* open
      const made = yield* finished(store, "made.pdf", "whole")
      yield* store.put("a.pdf", made.file, made.sha256)
      assert.deepStrictEqual((yield* fs.stat(`${folder}/a.pdf`)).ino, (yield* fs.stat(made.file)).ino)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.scopedLive("fails at its start when the folder cannot be", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = yield* fs.makeTempFileScoped()
      const error = yield* Effect.flip(opened(`${file}/reports`))
      assert.strictEqual(error._tag, "StoreFailed")
      assert.match(error.message, /reports\/\.work cannot be written: (ENOTDIR|EEXIST)/)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.scopedLive("fails with the system's words when something is in the way, and when the folder has gone", () =>
    Effect.gen(function* () {
      const { folder, fs, store } = yield* open
      yield* put(store, "a", "a file where a folder is wanted")
      assert.match(
        (yield* Effect.flip(put(store, "a/b.pdf", "x"))).message,
        /a\/b\.pdf cannot be (written|read): ENOTDIR/
      )
      yield* fs.makeDirectory(`${folder}/c.pdf`)
      assert.match((yield* Effect.flip(store.find("c.pdf"))).message, /c\.pdf cannot be read: EISDIR/)
      const made = yield* finished(store, "made.pdf", "whole")
      yield* fs.remove(folder, { recursive: true })
      assert.match(
        (yield* Effect.flip(store.put("d.pdf", made.file, made.sha256))).message,
        /made\.pdf cannot be read: ENOENT/
      )
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.scopedLive("a file from another file system is copied, and nothing of the copy stays", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const others: FileSystem.FileSystem = {
        ...fs,
        link: (from, to) =>
          from.includes("/elsewhere/")
            ? Effect.fail(
                new SystemError({
                  module: "FileSystem",
                  method: "link",
                  reason: "Unknown",
                  cause: Object.assign(new Error("EXDEV: cross-device link not permitted"), { code: "EXDEV" })
                })
              )
            : fs.link(from, to)
      }
      yield* Effect.gen(function* () {
        const { folder, store } = yield* open
        const elsewhere = `${yield* fs.makeTempDirectoryScoped()}/elsewhere`
        yield* fs.makeDirectory(elsewhere)
        yield* fs.writeFileString(`${elsewhere}/made.pdf`, "whole")
        const artifact = yield* store.put("a.pdf", `${elsewhere}/made.pdf`, sha256("whole"))
        assert.strictEqual(artifact.bytes, 5)
        assert.strictEqual(yield* fs.readFileString(`${folder}/a.pdf`), "whole")
        assert.deepStrictEqual(yield* fs.readDirectory(store.workFolder), [])
      }).pipe(Effect.provideService(FileSystem.FileSystem, others))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})
