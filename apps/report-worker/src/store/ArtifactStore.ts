/**
 * The port to where finished reports are kept. A name in it is a whole, durable artifact or nothing; what is there once is
 * never written again.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import type { ArtifactNotFound, StoreFailed } from "../ReportError.js"
import { ReportJob } from "../ReportJob.js"
import { dataVersion, layoutVersion } from "../Versions.js"

const encode = Schema.encodeSync(ReportJob)

/**
 * The name of a job's report: the job's own, and a key of all that decides the content, so that the same name never
 * means two contents. How fast it is drawn, and who is told of it, are not in the key.
 *
 * @since 0.1.0
 * @category naming
 */
export const artifactName = (job: ReportJob): string => {
  const { drill: _drill, jobId, pagesPerSecond: _pace, webhook: _receiver, ...content } = encode(job)
  const sorted = Object.entries(content).sort(([a], [b]) => (a < b ? -1 : 1))
  const key = createHash("sha256")
    .update(JSON.stringify([sorted, dataVersion, layoutVersion]))
    .digest("hex")
  return `${jobId}-${key.slice(0, 12)}.${job.format}`
}

const segment = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/

/**
 * Whether a store takes the name: up to five parts of letters, digits, dots, hyphens and underscores between slashes, none
 * of which begins with a dot. No other name is ever looked for, so that none leads out of the store.
 *
 * @since 0.1.0
 * @category naming
 */
export const isArtifactName = (name: string): boolean => {
  const parts = name.split("/")
  return parts.length <= 5 && parts.every((part) => segment.test(part))
}

/**
 * What is kept under a name.
 *
 * @since 0.1.0
 * @category models
 */
export interface Artifact {
  readonly name: string
  /** a path, or `s3://bucket/key` */
  readonly location: string
  readonly bytes: number
  /** of the bytes that are kept, in hexadecimal digits */
  readonly sha256: string
}

/**
 * @since 0.1.0
 * @category services
 */
export class ArtifactStore extends Context.Tag("@effect-sqs/report-worker/ArtifactStore")<
  ArtifactStore,
  {
    /** what is kept under the name */
    readonly find: (name: string) => Effect.Effect<Option.Option<Artifact>, StoreFailed>
    /**
     * Keeps a finished local file, which is best made in `workFolder`, under the name; durable when it succeeds. Its bytes
     * must have the hash that is given. An artifact that is there already stays as it is, and is the answer, whatever its
     * hash. The file is left to whoever made it, and must not be written to any more: it may be the artifact itself.
     */
    readonly put: (name: string, file: string, sha256: string) => Effect.Effect<Artifact, StoreFailed>
    /** the bytes, for downloads */
    readonly read: (name: string) => Stream.Stream<Uint8Array, StoreFailed | ArtifactNotFound>
    /** a local folder for unfinished work; what is older than a day is swept when the store is opened */
    readonly workFolder: string
  }
>() {}
