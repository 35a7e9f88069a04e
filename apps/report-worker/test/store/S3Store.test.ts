import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { ArtifactStore } from "../../src/store/ArtifactStore.js"
import * as S3Store from "../../src/store/S3Store.js"
import * as S3Server from "./s3Server.js"
import { contentOf, contract, finished, put, sha256 } from "./suite.js"

const patience = 20_000

const opening = (fault?: Parameters<typeof S3Server.make>[0], options: Partial<S3Store.S3StoreOptions> = {}) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const workFolder = `${yield* fs.makeTempDirectoryScoped()}/work`
    const server = yield* S3Server.make(fault)
    const scope = yield* Effect.scope
    const again = Layer.build(
      S3Store.layer({
        bucket: S3Server.bucket,
        prefix: "daily/",
        workFolder,
        client: { endpoint: server.url, region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } },
        ...options
      })
    ).pipe(
      Effect.map((context) => Context.get(context, ArtifactStore)),
      Effect.provideService(FileSystem.FileSystem, fs),
      Effect.provideService(Scope.Scope, scope)
    )
    return { server, again, at: (name: string) => `s3://reports/daily/${name}` }
  })

const open = (fault?: Parameters<typeof S3Server.make>[0], options: Partial<S3Store.S3StoreOptions> = {}) =>
  Effect.flatMap(opening(fault, options), (opened) => Effect.map(opened.again, (store) => ({ ...opened, store })))

const scoped = (name: string, test: Effect.Effect<void, unknown, FileSystem.FileSystem | Scope.Scope>) =>
  it.scopedLive(name, () => Effect.provide(test, NodeFileSystem.layer), patience)

/** Faults of the puts, in their order; then none. */
const puts =
  (...faults: ReadonlyArray<S3Server.Fault>) =>
  (method: string, _: string, n: number) =>
    method === "PUT" ? faults[n - 1] : undefined

describe("S3Store", () => {
  contract(open(), Effect.provide(NodeFileSystem.layer))

  scoped(
    "gives each object its type and its hash, under the prefix",
    Effect.gen(function* () {
      const { server, store } = yield* open()
      yield* put(store, "extracts/a.json", "{}")
      const { body, ...rest } = server.objects.get("daily/extracts/a.json")!
      assert.deepStrictEqual(rest, { type: "application/json", sha256: sha256("{}") })
      assert.strictEqual(body.toString(), "{}")
    })
  )

  const passing: ReadonlyArray<readonly [string, S3Server.Fault]> = [
    ["a conflict", { status: 409, code: "ConditionalRequestConflict" }],
    ["a broken server", { status: 500, code: "InternalError" }],
    ["one that is asked too much", { status: 503, code: "SlowDown" }],
    ["a request that took too long", { status: 400, code: "RequestTimeout" }],
    ["a connection that breaks", "cut"],
    ["no answer", "hang"]
  ]
  for (const [name, fault] of passing) {
    scoped(
      `tries again after ${name}`,
      Effect.gen(function* () {
        const { server, store } = yield* open(puts(fault), { timeout: "500 millis" })
        const artifact = yield* put(store, "a.pdf", "whole")
        assert.strictEqual(artifact.sha256, sha256("whole"))
        assert.strictEqual(server.objects.get("daily/a.pdf")?.body.toString(), "whole")
        assert.deepStrictEqual(server.calls.slice(1), ["HEAD daily/a.pdf", "PUT daily/a.pdf", "PUT daily/a.pdf"])
      })
    )
  }

  for (const fault of ["cut-after", "hang-after"] as const) {
    scoped(
      `finds its own work after a lost answer (${fault})`,
      Effect.gen(function* () {
        const { server, store } = yield* open(puts(fault), { timeout: "500 millis" })
        assert.deepStrictEqual((yield* put(store, "a.pdf", "whole")).sha256, sha256("whole"))
        assert.deepStrictEqual(server.calls.slice(1), [
          "HEAD daily/a.pdf",
          "PUT daily/a.pdf",
          "PUT daily/a.pdf",
          "HEAD daily/a.pdf"
        ])
      })
    )
  }

  scoped(
    "gives up after six tries, and says what S3 said",
    Effect.gen(function* () {
      const { server, store } = yield* open(
        puts(...Array.from({ length: 9 }, () => ({ status: 503, code: "SlowDown" })))
      )
      const error = yield* Effect.flip(put(store, "a.pdf", "whole"))
      assert.match(
        error.message,
        /^s3:\/\/reports\/daily\/a\.pdf cannot be written: S3 answered 503, SlowDown: by plan$/
      )
      assert.strictEqual(server.calls.filter((c) => c.startsWith("PUT")).length, 6)
      assert.deepStrictEqual(yield* store.find("a.pdf"), Option.none())
    })
  )

  const lasting: ReadonlyArray<readonly [number, string, RegExp]> = [
    [403, "AccessDenied", /access is denied: .*s3:PutObject on arn:aws:s3:::reports\/daily\/\*$/],
    [403, "ExpiredToken", /its credentials are refused \(ExpiredToken\): renew them$/],
    [404, "NoSuchBucket", /there is no bucket reports: create it/],
    [301, "PermanentRedirect", /the bucket reports is in another region: set AWS_REGION to it$/],
    [400, "EntityTooLarge", /S3 answered 400, EntityTooLarge: by plan$/]
  ]
  for (const [status, code, expected] of lasting) {
    scoped(
      `says at once what is to be done: ${code}`,
      Effect.gen(function* () {
        const { server, store } = yield* open(puts({ status, code }))
        const error = yield* Effect.flip(put(store, "a.pdf", "whole"))
        assert.match(error.message, expected)
        assert.strictEqual(server.calls.filter((c) => c.startsWith("PUT")).length, 1)
      })
    )
  }

  scoped(
    "does not open without its bucket, without the right to list it, and without credentials",
    Effect.gen(function* () {
      const { again } = yield* opening(undefined, { bucket: "other" })
      assert.match(
        (yield* Effect.flip(again)).message,
        /^s3:\/\/other cannot be read: there is no bucket other: create it/
      )
      const denied = yield* opening((method) => (method === "HEAD" ? { status: 403, code: "" } : undefined))
      assert.match((yield* Effect.flip(denied.again)).message, /access is denied: the worker needs s3:ListBucket on/)
      const nobody = Object.assign(new Error("none"), { name: "CredentialsProviderError" })
      const without = yield* opening(undefined, {
        client: { endpoint: "http://127.0.0.1:9", region: "us-east-1", credentials: () => Promise.reject(nobody) }
      })
      assert.match((yield* Effect.flip(without.again)).message, /there are no credentials: give the worker a role/)
    })
  )

  scoped(
    "takes nothing for an artifact that has no hash",
    Effect.gen(function* () {
      const { server, store } = yield* open()
      server.objects.set("daily/a.pdf", { body: Buffer.from("?"), type: undefined, sha256: undefined })
      assert.match(
        (yield* Effect.flip(put(store, "a.pdf", "whole"))).message,
        /is no artifact of a report worker.*move it away/
      )
      assert.strictEqual(server.objects.get("daily/a.pdf")?.body.toString(), "?")
    })
  )

  scoped(
    "a download that breaks off or stands still fails; one that could not begin is tried again",
    Effect.gen(function* () {
      const gets: Record<number, S3Server.Fault> = { 1: { status: 500, code: "InternalError" }, 3: "half", 5: "stall" }
      const { store } = yield* open((method, _, n) => (method === "GET" ? gets[n] : undefined), {
        timeout: "500 millis"
      })
      yield* put(store, "a.pdf", "x".repeat(100_000))
      assert.strictEqual((yield* contentOf(store, "a.pdf")).length, 100_000)
      const broken = yield* Effect.flip(contentOf(store, "a.pdf"))
      assert.match(broken.message, /daily\/a\.pdf cannot be read: the download broke off: aborted/)
      assert.strictEqual((yield* contentOf(store, "a.pdf")).length, 100_000)
      const still = yield* Effect.flip(contentOf(store, "a.pdf"))
      assert.match(still.message, /daily\/a\.pdf cannot be read: the download stood still for 500ms/)
    })
  )

  scoped(
    "an interruption aborts the request, and whoever has read enough closes the download",
    Effect.gen(function* () {
      const { server, store } = yield* open((method, key) => {
        if (method === "GET") return "stall"
        return method === "PUT" && key === "daily/a.pdf" ? "hang" : undefined
      })
      const made = yield* finished(store, "made", "whole")
      const fiber = yield* Effect.fork(store.put("a.pdf", made.file, made.sha256))
      const until = (met: () => boolean) =>
        Effect.sync(met).pipe(Effect.repeat({ until: (is) => is, schedule: Schedule.spaced("5 millis") }))
      yield* until(() => server.calls.includes("PUT daily/a.pdf"))
      yield* Fiber.interrupt(fiber).pipe(Effect.timeout(Duration.seconds(5)))
      yield* until(() => server.aborted.includes("PUT"))

      yield* put(store, "b.pdf", "x".repeat(1000))
      yield* Stream.runDrain(Stream.take(store.read("b.pdf"), 1))
      yield* until(() => server.aborted.includes("GET"))
    })
  )
})
