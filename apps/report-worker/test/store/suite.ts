/** What every artifact store must do. */
import * as FileSystem from "@effect/platform/FileSystem"
import { assert, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import type { ArtifactNotFound, StoreFailed } from "../../src/ReportError.js"
import { type ArtifactStore } from "../../src/store/ArtifactStore.js"

type Store = typeof ArtifactStore.Service

export const sha256 = (content: Uint8Array | string) => createHash("sha256").update(content).digest("hex")

/** A finished file in the store's work folder, and its hash. */
export const finished = (store: Store, name: string, content: Uint8Array | string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const file = `${store.workFolder}/${name}`
    yield* fs.writeFile(file, typeof content === "string" ? Buffer.from(content) : content)
    return { file, sha256: sha256(content) }
  })

export const put = (store: Store, name: string, content: Uint8Array | string) =>
  Effect.flatMap(finished(store, `${sha256(name + content)}.made`, content), (made) =>
    store.put(name, made.file, made.sha256)
  )

export const contentOf = (store: Store, name: string): Effect.Effect<Buffer, StoreFailed | ArtifactNotFound> =>
  Effect.map(Stream.runCollect(store.read(name)), (chunks) => Buffer.concat(Chunk.toReadonlyArray(chunks)))

/** Larger than any buffer on the way, and no two parts of it alike. */
const large = Buffer.concat(Array.from({ length: 40_000 }, (_, i) => createHash("sha256").update(`${i}`).digest()))

/** `open` opens a store that holds nothing, and can be opened again over the same content; `at` is where a name lies. */
export const contract = (
  open: Effect.Effect<
    { readonly store: Store; readonly again: Effect.Effect<Store, StoreFailed>; readonly at: (name: string) => string },
    unknown,
    FileSystem.FileSystem | Scope.Scope
  >,
  provide: <A, E>(effect: Effect.Effect<A, E, FileSystem.FileSystem | Scope.Scope>) => Effect.Effect<A, E, Scope.Scope>
) => {
  const scoped = (name: string, test: Effect.Effect<void, unknown, FileSystem.FileSystem | Scope.Scope>) =>
    it.scopedLive(name, () => provide(test))

  scoped(
    "keeps a file under its name, finds it and gives it back, also after it is opened again",
    Effect.gen(function* () {
      const { again, at, store } = yield* open
      assert.deepStrictEqual(yield* store.find("a.pdf"), Option.none())
      const artifact = yield* put(store, "a.pdf", "whole")
      assert.deepStrictEqual(artifact, {
        name: "a.pdf",
        location: at("a.pdf"),
        bytes: 5,
        sha256: sha256("whole")
      })
      assert.deepStrictEqual(yield* store.find("a.pdf"), Option.some(artifact))
      assert.strictEqual((yield* contentOf(store, "a.pdf")).toString(), "whole")
      const later = yield* again
      assert.deepStrictEqual(yield* later.find("a.pdf"), Option.some(artifact))
      assert.strictEqual((yield* contentOf(later, "a.pdf")).toString(), "whole")
    })
  )

  scoped(
    "keeps large and empty files byte by byte, and names with folders",
    Effect.gen(function* () {
      const { store } = yield* open
      const artifact = yield* put(store, "extracts/den/large.json", large)
      assert.deepStrictEqual([artifact.bytes, artifact.sha256], [large.length, sha256(large)])
      assert.isTrue((yield* contentOf(store, "extracts/den/large.json")).equals(large))
      assert.strictEqual((yield* put(store, "empty.csv", "")).bytes, 0)
      assert.strictEqual((yield* contentOf(store, "empty.csv")).length, 0)
    })
  )

  scoped(
    "never writes what is there again: the first content stays, and is the answer",
    Effect.gen(function* () {
      const { store } = yield* open
      const contents = ["first", "second", "third"]
      const all = yield* Effect.forEach(contents, (content) => put(store, "a.pdf", content), { concurrency: 3 })
      const kept = (yield* contentOf(store, "a.pdf")).toString()
      assert.include(contents, kept)
      assert.deepStrictEqual([...new Set(all.map((a) => a.sha256))], [sha256(kept)])
      assert.strictEqual((yield* put(store, "a.pdf", "late")).sha256, sha256(kept))
      assert.strictEqual((yield* contentOf(store, "a.pdf")).toString(), kept)
    })
  )

  scoped(
    "does not keep a file whose bytes are others than was said",
    Effect.gen(function* () {
      const { store } = yield* open
      const made = yield* finished(store, "cut.pdf", "cut o")
      const error = yield* Effect.flip(store.put("a.pdf", made.file, sha256("cut off")))
      assert.match(error.message, /a\.pdf cannot be written: .*draw it again/)
      assert.deepStrictEqual(yield* store.find("a.pdf"), Option.none())
      assert.strictEqual((yield* put(store, "a.pdf", "whole")).sha256, sha256("whole"))
    })
  )

  scoped(
    "says so when the file to keep is not there",
    Effect.gen(function* () {
      const { store } = yield* open
      const error = yield* Effect.flip(store.put("a.pdf", `${store.workFolder}/none`, sha256("")))
      assert.match(error.message, /none cannot be read: ENOENT/)
      assert.deepStrictEqual(yield* store.find("a.pdf"), Option.none())
    })
  )

  scoped(
    "leaves the file to whoever made it",
    Effect.gen(function* () {
      const { store } = yield* open
      const fs = yield* FileSystem.FileSystem
      const made = yield* finished(store, "made.pdf", "whole")
      yield* store.put("a.pdf", made.file, made.sha256)
      assert.strictEqual(yield* fs.readFileString(made.file), "whole")
      yield* fs.remove(made.file)
      assert.strictEqual((yield* contentOf(store, "a.pdf")).toString(), "whole")
    })
  )

  scoped(
    "tells what is not there from what cannot be read",
    Effect.gen(function* () {
      const { store } = yield* open
      const error = yield* Effect.flip(contentOf(store, "none.pdf"))
      assert.deepStrictEqual([error._tag, error.message], ["ArtifactNotFound", "there is no artifact none.pdf"])
    })
  )

  for (const name of [
    "../a.pdf",
    "/etc/passwd",
    "a/../../b",
    "",
    ".work/x",
    "a//b",
    "a\0b",
    "a/b/c/d/e/f",
    "x".repeat(201)
  ]) {
    scoped(
      `takes no name that could lead elsewhere: ${JSON.stringify(name.slice(0, 20))}`,
      Effect.gen(function* () {
        const { store } = yield* open
        const made = yield* finished(store, "made.pdf", "whole")
        assert.match((yield* Effect.flip(store.put(name, made.file, made.sha256))).message, /no name for an artifact/)
        assert.deepStrictEqual(yield* store.find(name), Option.none())
        assert.strictEqual((yield* Effect.flip(contentOf(store, name)))._tag, "ArtifactNotFound")
      })
    )
  }

  scoped(
    "sweeps when it is opened what a killed worker left in the work folder a day ago, and nothing younger",
    Effect.gen(function* () {
      const { again, store } = yield* open
      const fs = yield* FileSystem.FileSystem
      const artifact = yield* put(store, "a.pdf", "whole")
      const left = yield* fs.readDirectory(store.workFolder)
      yield* Effect.forEach([...left, "old"], (name) => fs.remove(`${store.workFolder}/${name}`, { force: true }))
      for (const [name, hours] of [
        ["old", 25],
        ["young", 23]
      ] as const) {
        const at = new Date(Date.now() - hours * 3_600_000)
        yield* fs.writeFileString(`${store.workFolder}/${name}`, "x")
        yield* fs.utimes(`${store.workFolder}/${name}`, at, at)
      }
      yield* again
      assert.deepStrictEqual(yield* fs.readDirectory(store.workFolder), ["young"])
      assert.deepStrictEqual(yield* store.find("a.pdf"), Option.some(artifact))
    })
  )
}
