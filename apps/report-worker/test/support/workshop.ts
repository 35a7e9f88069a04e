/**
 * The worker without its surroundings, in virtual time: SQS is virtual, the database a real SQLite file, and threads, store
 * and receiver are played, and count what is asked of them.
 */
import type * as Sqs from "@effect-sqs/core/Sqs"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as SimClock from "@effect-sqs/testing/SimClock"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as PlatformError from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import { it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import * as path from "node:path"
import * as Database from "../../src/jobs/Database.js"
import { JobStore } from "../../src/jobs/JobStore.js"
import type { PipelineServices } from "../../src/Pipeline.js"
import { Extract, Progress, Rendered } from "../../src/render/RenderProtocol.js"
import { RenderPool } from "../../src/render/RenderPool.js"
import { ArtifactNotFound, type RenderError, type RenderThreadLost, type StoreFailed } from "../../src/ReportError.js"
import { reportJobs, type ReportJob } from "../../src/ReportJob.js"
import type { WorkerSettings } from "../../src/ReportWorker.js"
import { type Artifact, ArtifactStore } from "../../src/store/ArtifactStore.js"
import { Webhook } from "../../src/webhook/Webhook.js"
import { temporaryFolder } from "../jobs/backend.js"

export const settings: WorkerSettings = {
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
  drain: Duration.seconds(30),
  resend: Duration.minutes(10),
  webhookTimeout: Duration.seconds(10)
}

/** Until it has answered, the virtual time stands still. */
const external = <S extends object>(service: S): S => {
  const outside = (value: unknown): unknown =>
    Effect.isEffect(value)
      ? SimClock.external(value)
      : typeof value === "function"
        ? (...args: ReadonlyArray<unknown>) => outside(value(...args))
        : value
  return Object.fromEntries(Object.entries(service).map(([key, value]) => [key, outside(value)])) as S
}

type Services = PipelineServices | Sqs.Sqs | VirtualSqs.VirtualSqs

/** What is played, and what became of it. */
export class Workshop {
  /** how often each piece was asked for */
  readonly counts = { query: 0, render: 0, extracts: 0, artifacts: 0, told: 0 }
  /** what this machine has on its disk: names and sizes */
  readonly files = new Map<string, number>()
  /** what the store keeps, seen from all machines */
  readonly kept = new Map<string, Artifact>()
  querying: (job: ReportJob, time: number) => Effect.Effect<void, RenderError | RenderThreadLost> = () => Effect.void
  drawing: (job: ReportJob, time: number) => Effect.Effect<void, RenderError | RenderThreadLost> = () => Effect.void
  progressing: (tell: (pages: number, of: number) => Effect.Effect<void>) => Effect.Effect<unknown> = (tell) =>
    tell(1, 2)
  storing: (name: string, time: number) => Effect.Effect<void, StoreFailed> = () => Effect.void
  telling: typeof Webhook.Service.deliver = () => Effect.succeed({ status: 200, reported: false })
  asking: typeof Webhook.Service.ask = () => Effect.die("nobody is asked here")

  constructor(readonly database: string) {}

  private readonly played: typeof RenderPool.Service = {
    query: (job, file) =>
      Effect.gen(this, function* () {
        yield* this.querying(job, ++this.counts.query)
        this.files.set(file, 10)
        return new Extract({ rows: 1, bytes: 10, sha256: "extract" })
      }),
    render: (job, extract, file, onProgress) =>
      Effect.gen(this, function* () {
        if (!this.files.has(extract)) return yield* Effect.dieMessage(`no extract ${extract}`)
        const time = ++this.counts.render
        this.files.set(file, 1)
        yield* this.progressing((pages, of) => onProgress(new Progress({ pages, of })))
        yield* this.drawing(job, time)
        this.files.set(file, 100)
        return new Rendered({ pages: 2, bytes: 100, sha256: "drawn" })
      })
  }
  private readonly pool = RenderPool.of(this.played)

  private readonly store = ArtifactStore.of({
    workFolder: "/work",
    find: (name) => Effect.sync(() => Option.fromNullable(this.kept.get(name))),
    put: (name, file, sha256) =>
      Effect.gen(this, function* () {
        const time = name.startsWith("extracts/") ? ++this.counts.extracts : ++this.counts.artifacts
        yield* this.storing(name, time)
        const there = this.kept.get(name)
        if (there !== undefined) return there
        const bytes = this.files.get(file)
        if (bytes === undefined) return yield* Effect.dieMessage(`no file ${file}`)
        const artifact = { name, location: `/kept/${name}`, bytes, sha256 }
        this.kept.set(name, artifact)
        return artifact
      }),
    read: (name) =>
      this.kept.has(name) ? Stream.make(new Uint8Array(10)) : Stream.fail(new ArtifactNotFound({ artifact: name }))
  })

  private readonly webhook = Webhook.of({
    deliver: (target, notice, call) =>
      Effect.suspend(() => {
        this.counts.told++
        return this.telling(target, notice, call)
      }),
    ask: (target, call) => this.asking(target, call)
  })

  private readonly disk = FileSystem.layerNoop({
    stat: (file) => {
      const size = this.files.get(file)
      return size === undefined
        ? Effect.fail(
            new PlatformError.SystemError({
              reason: "NotFound",
              module: "FileSystem",
              method: "stat",
              pathOrDescriptor: file
            })
          )
        : Effect.succeed({ type: "File", size: FileSystem.Size(size) } as FileSystem.File.Info)
    },
    remove: (file) => Effect.sync(() => void this.files.delete(file)),
    sink: (file) => Sink.map(Sink.drain, () => void this.files.set(file, 10))
  })

  /** another machine: what was in the work folder is not there */
  moveAway(): void {
    this.files.clear()
  }

  /** the services of one process, on a database */
  around<A, E>(database: Layer.Layer<A, E>): Layer.Layer<A | Exclude<PipelineServices, JobStore | Ledger.Ledger>, E> {
    return Layer.mergeAll(
      database,
      Layer.succeed(RenderPool, this.pool),
      Layer.succeed(ArtifactStore, this.store),
      Layer.succeed(Webhook, this.webhook),
      this.disk
    )
  }

  /** the services of one process in virtual time: an own client of the database, for which the time stands still */
  get process(): Layer.Layer<PipelineServices> {
    return this.around(
      Layer.scopedContext(
        Effect.map(
          SimClock.external(
            Layer.build(Layer.fresh(Database.layer({ _tag: "SqliteFile", filename: this.database }))).pipe(Effect.orDie)
          ),
          (context) => {
            const ledger = Context.get(context, Ledger.Ledger)
            return Context.make(JobStore, external(Context.get(context, JobStore))).pipe(
              Context.add(Ledger.Ledger, { ...ledger, store: external(ledger.store) })
            )
          }
        )
      )
    )
  }
}

export const queues = {
  queues: [
    "jobs-dlq",
    { name: "jobs", attributes: { VisibilityTimeout: 60 }, deadLetters: { queue: "jobs-dlq", maxReceiveCount: 4 } }
  ]
} satisfies VirtualSqs.VirtualSqsOptions

/** A test in virtual time. The services are those of the test itself, which looks at what the workers do. */
export const simulated = (
  name: string,
  test: (workshop: Workshop) => Effect.Effect<void, unknown, Services | Scope.Scope>,
  options: Partial<VirtualSqs.VirtualSqsOptions> = {}
) =>
  it.scopedLive(name, () =>
    Effect.flatMap(temporaryFolder, (folder) => {
      const workshop = new Workshop(path.join(folder, "jobs.db"))
      const quiet = Logger.minimumLogLevel(process.env["TEST_LOG"] === undefined ? LogLevel.None : LogLevel.Debug)
      const layer = Layer.mergeAll(workshop.process, VirtualSqs.layer({ ...queues, ...options }), quiet)
      return SimClock.run(Effect.scoped(Effect.provide(test(workshop), layer)))
    })
  )

/** the message of a job, sent by somebody else than the outbox */
export const send = (job: ReportJob) =>
  Effect.flatMap(VirtualSqs.VirtualSqs, (virtual) =>
    Effect.flatMap(reportJobs("jobs").encode(job), (body) => virtual.send("jobs", body))
  )

export const row = (id: string) => Effect.flatMap(JobStore, (jobs) => Effect.flatten(jobs.get(id)))

export const events = (id: string) => Effect.flatMap(JobStore, (jobs) => jobs.events(id))
