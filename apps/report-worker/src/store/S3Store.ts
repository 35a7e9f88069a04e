/**
 * Artifacts in a bucket of S3, for workers on several machines.
 *
 * @since 0.1.0
 */
import {
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig
} from "@aws-sdk/client-s3"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { createReadStream } from "node:fs"
import path from "node:path"
import type { Readable } from "node:stream"
import { ArtifactNotFound, StoreFailed } from "../ReportError.js"
import { type Artifact, ArtifactStore, isArtifactName } from "./ArtifactStore.js"
import { checked, type Digest } from "./LocalFile.js"
import { fromThrown, S3CallFailed } from "./S3Error.js"
import * as WorkFolder from "./WorkFolder.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface S3StoreOptions {
  readonly bucket: string
  /** what all names begin with; empty, or it ends with a slash */
  readonly prefix: string
  /** a local folder for unfinished work */
  readonly workFolder: string
  /** the most that one call may take, and the longest pause within a download; default 1 minute */
  readonly timeout?: Duration.DurationInput | undefined
  /** region, credentials and endpoint are the SDK's to find, unless they are given here */
  readonly client?: Pick<S3ClientConfig, "region" | "credentials" | "endpoint"> | undefined
}

const retries = Schedule.exponential("200 millis").pipe(Schedule.jittered, Schedule.intersect(Schedule.recurs(5)))

const contentTypes: Readonly<Record<string, string>> = {
  ".csv": "text/csv; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".json": "application/json",
  ".pdf": "application/pdf",
  ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
}

const versionWarningSwitch = "AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"

/** On an older Node the SDK prints at its first client which Node later versions of it will need; its package says so too. */
const withoutVersionWarning = <A>(construct: () => A): A => {
  if (process.env[versionWarningSwitch] !== undefined) return construct()
  process.env[versionWarningSwitch] = "true"
  try {
    return construct()
  } finally {
    delete process.env[versionWarningSwitch]
  }
}

/** What is no AWS endpoint rarely has a host for each bucket. */
const hasOwnEndpoint = (options: S3StoreOptions) =>
  options.client?.endpoint !== undefined ||
  (process.env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS !== "true" &&
    Boolean(process.env.AWS_ENDPOINT_URL_S3 || process.env.AWS_ENDPOINT_URL))

/** Without one the SDK warns on the console of each upload that failed; its failure says the same. */
const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {} }

const makeClient = (options: S3StoreOptions) =>
  withoutVersionWarning(
    () =>
      new S3Client({
        ...options.client,
        logger: silent,
        forcePathStyle: hasOwnEndpoint(options),
        // Calls are tried again here: the SDK does not for bodies that are streams.
        maxAttempts: 1
      })
  )

const make = (options: S3StoreOptions) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const { bucket, prefix } = options
    const timeout = Duration.decode(options.timeout ?? "1 minute")
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => makeClient(options)),
      (opened) => Effect.sync(() => opened.destroy())
    )

    /** One call, which an interruption aborts. */
    const call = <A>(send: (signal: AbortSignal) => Promise<A>): Effect.Effect<A, S3CallFailed> =>
      Effect.tryPromise({ try: send, catch: (e) => fromThrown(e, options) }).pipe(
        Effect.timeoutFail({
          duration: timeout,
          onTimeout: () => fromThrown(new Error(`none within ${Duration.format(timeout)}`), options)
        })
      )

    const again = <A>(effect: Effect.Effect<A, S3CallFailed>): Effect.Effect<A, S3CallFailed> =>
      Effect.retry(effect, { schedule: retries, while: (e) => e.temporary })
    const keyOf = (name: string) => prefix + name
    const locationOf = (name: string) => `s3://${bucket}/${keyOf(name)}`
    const failed =
      (location: string, doing: "written" | "read") =>
      <A>(effect: Effect.Effect<A, S3CallFailed>) =>
        Effect.mapError(effect, (e: S3CallFailed) => new StoreFailed({ path: location, detail: e.detail, doing }))

    const head = (name: string): Effect.Effect<Option.Option<Artifact>, S3CallFailed> =>
      call((abortSignal) =>
        client.send(new HeadObjectCommand({ Bucket: bucket, Key: keyOf(name) }), { abortSignal })
      ).pipe(
        Effect.flatMap(({ ContentLength, Metadata }) =>
          ContentLength === undefined || Metadata?.sha256 === undefined
            ? new S3CallFailed({
                code: "NoHash",
                status: 200,
                detail:
                  "what lies there is no artifact of a report worker, it has no sha256 in its metadata: move it away",
                temporary: false
              })
            : Effect.succeed(
                Option.some<Artifact>({
                  name,
                  location: locationOf(name),
                  bytes: ContentLength,
                  sha256: Metadata.sha256
                })
              )
        ),
        // Without a body the code is not told; a bucket that is gone comes out at the next put.
        Effect.catchIf(
          (e) => e.status === 404,
          () => Effect.succeed(Option.none<Artifact>())
        )
      )

    /** True when it is kept now, false when something was there already. */
    const upload = (name: string, file: string, made: Digest): Effect.Effect<boolean, S3CallFailed> =>
      Effect.acquireUseRelease(
        Effect.sync(() => createReadStream(file)),
        (body) =>
          call((abortSignal) =>
            client.send(
              new PutObjectCommand({
                Bucket: bucket,
                Key: keyOf(name),
                Body: body,
                ContentLength: made.bytes,
                ContentType: contentTypes[path.extname(name)],
                Metadata: { sha256: made.sha256 },
                // S3 refuses what arrives otherwise.
                ChecksumSHA256: Buffer.from(made.sha256, "hex").toString("base64"),
                IfNoneMatch: "*"
              }),
              { abortSignal }
            )
          ),
        (body) => Effect.sync(() => body.destroy())
      ).pipe(
        Effect.as(true),
        Effect.catchIf(
          (e) => e.status === 412,
          () => Effect.succeed(false)
        )
      )

    const find = (name: string) =>
      isArtifactName(name) ? head(name).pipe(again, failed(locationOf(name), "read")) : Effect.succeedNone

    yield* call((abortSignal) => client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal })).pipe(
      Effect.mapError((e) => (e.status === 404 ? fromThrown({ name: "NoSuchBucket" }, options) : e)),
      again,
      failed(`s3://${bucket}`, "read")
    )

    return ArtifactStore.of({
      workFolder: yield* WorkFolder.open(options.workFolder),
      find,
      put: (name, file, sha256) =>
        Effect.gen(function* () {
          if (!isArtifactName(name)) return yield* new StoreFailed({ path: name, detail: "no name for an artifact" })
          const location = locationOf(name)
          const there = yield* find(name)
          if (Option.isSome(there)) return there.value
          const made = yield* checked(fs, file, sha256, location)
          if (yield* upload(name, file, made).pipe(again, failed(location, "written"))) {
            return { name, location, bytes: made.bytes, sha256 }
          }
          return yield* Effect.flatMap(
            find(name),
            Option.match({
              onNone: () => new StoreFailed({ path: location, detail: "it was removed while it was kept" }),
              onSome: (artifact) => Effect.succeed(artifact)
            })
          )
        }),
      read: (name) => {
        const notFound = () => new ArtifactNotFound({ artifact: name })
        if (!isArtifactName(name)) return Stream.fail(notFound())
        const cut = (detail: string) => new StoreFailed({ path: locationOf(name), detail, doing: "read" })
        const body = call((abortSignal) =>
          client.send(new GetObjectCommand({ Bucket: bucket, Key: keyOf(name) }), { abortSignal })
        ).pipe(
          again,
          Effect.mapError((e) => (e.code === "NoSuchKey" ? notFound() : cut(e.detail)))
        )
        return Stream.unwrap(
          Effect.map(body, (answer) =>
            NodeStream.fromReadable<StoreFailed, Uint8Array>(
              () => answer.Body as Readable,
              (e) => cut(`the download broke off: ${e instanceof Error ? e.message : String(e)}`)
            ).pipe(Stream.timeoutFail(() => cut(`the download stood still for ${Duration.format(timeout)}`), timeout))
          )
        )
      }
    })
  })

/**
 * Artifacts in a bucket. It fails when the bucket is not there or may not be listed: without that S3 answers "denied" for
 * what is not there.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: S3StoreOptions): Layer.Layer<ArtifactStore, StoreFailed, FileSystem.FileSystem> =>
  Layer.scoped(ArtifactStore, make(options))
