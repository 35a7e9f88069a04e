/**
 * Draws reports in threads of their own, so that heartbeats and receives never wait for a page. The threads are
 * started once and kept; one that dies is replaced.
 *
 * @since 0.1.0
 */
import * as Worker from "@effect/platform/Worker"
import * as NodeWorker from "@effect/platform-node/NodeWorker"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as WorkerThreads from "node:worker_threads"
import { type RenderError, RenderThreadLost } from "../ReportError.js"
import type { ReportJob } from "../ReportJob.js"
import {
  type Extract,
  type Progress,
  QueryReport,
  Rendered,
  RenderReport,
  type RenderRequest
} from "./RenderProtocol.js"

/** Enough for reports of thousands of pages; a thread that wants more is ended, and the worker lives. */
const threadMemoryMb = 512

const startTimeoutSeconds = 30

const resourceLimits = { maxOldGenerationSizeMb: threadMemoryMb }

/**
 * Starts a render thread: from source in development, from `dist` with plain Node.
 *
 * @since 0.1.0
 * @category threads
 */
export const startThread = () =>
  import.meta.url.endsWith(".ts")
    ? new WorkerThreads.Worker(new URL("../../dev/render-thread.mjs", import.meta.url), {
        workerData: new URL("./renderThread.ts", import.meta.url).href,
        execArgv: ["--conditions=@effect-sqs/source"],
        resourceLimits
      })
    : new WorkerThreads.Worker(new URL("./renderThread.js", import.meta.url), { resourceLimits })

/**
 * @since 0.1.0
 * @category services
 */
export class RenderPool extends Context.Tag("@effect-sqs/report-worker/RenderPool")<
  RenderPool,
  {
    /** Works out what the job's report says, into a new file. A thread that dies fails with `RenderThreadLost`. */
    readonly query: (job: ReportJob, extractFile: string) => Effect.Effect<Extract, RenderError | RenderThreadLost>
    /**
     * Draws what is in `extractFile` into a new file at `path`. An interruption reaches the thread between two pages. A thread
     * that dies fails with `RenderThreadLost`, and the next report gets a new one.
     */
    readonly render: (
      job: ReportJob,
      extractFile: string,
      path: string,
      onProgress: (progress: Progress) => Effect.Effect<void>
    ) => Effect.Effect<Rendered, RenderError | RenderThreadLost>
  }
>() {
  /**
   * As many threads as asked, running when the layer is built; it fails when they do not come up within 30 s.
   *
   * @category layers
   */
  static readonly layer = (
    threads: number,
    start: () => WorkerThreads.Worker = startThread
  ): Layer.Layer<RenderPool, RenderThreadLost> =>
    Layer.scoped(RenderPool, make(threads)).pipe(Layer.provide(NodeWorker.layer(start)))
}

type Thread = Worker.SerializedWorker<RenderRequest>

/**
 * All threads at once, each in a scope of its own: they end side by side too, for one that cannot hear has five seconds.
 *
 * Not `Worker.makePoolSerialized`: it starts its threads uninterruptibly, so that one which always dies at its start would
 * be tried for ever, and no timeout would help.
 */
const startAll = (threads: number) =>
  Effect.gen(function* () {
    const all = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.parallel)
    const startOne = Effect.flatMap(Scope.fork(all, ExecutionStrategy.sequential), (own) =>
      Scope.extend(Worker.makeSerialized<RenderRequest>({}), own)
    )
    return yield* Effect.replicateEffect(startOne, threads, { concurrency: "unbounded" })
  }).pipe(
    Effect.mapError((e) => new RenderThreadLost({ detail: e.message })),
    Effect.timeoutFail({
      duration: Duration.seconds(startTimeoutSeconds),
      onTimeout: () => new RenderThreadLost({ detail: `not all came up within ${startTimeoutSeconds} s` })
    })
  )

const queryIn = (
  thread: Thread,
  job: ReportJob,
  path: string
): Effect.Effect<Extract, RenderError | RenderThreadLost> =>
  thread.executeEffect(new QueryReport({ job, extractFile: path })).pipe(
    Effect.catchTags({
      ParseError: () => new RenderThreadLost({ detail: "it ended while working figures out" }),
      WorkerError: (e) => new RenderThreadLost({ detail: e.message })
    })
  )

const renderIn = (
  thread: Thread,
  job: ReportJob,
  extract: string,
  path: string,
  onProgress: (progress: Progress) => Effect.Effect<void>
): Effect.Effect<Rendered, RenderError | RenderThreadLost> =>
  thread.execute(new RenderReport({ job, extract, path })).pipe(
    Stream.tap((answer) => (answer instanceof Rendered ? Effect.void : onProgress(answer))),
    Stream.filter((answer) => answer instanceof Rendered),
    Stream.runHead,
    Effect.flatten,
    Effect.catchTags({
      // What a dead thread leaves is decoded as one of our failures, and that is a ParseError.
      ParseError: () => new RenderThreadLost({ detail: "it ended while drawing" }),
      WorkerError: (e) => new RenderThreadLost({ detail: e.message }),
      NoSuchElementException: () => new RenderThreadLost({ detail: "it gave no answer" })
    })
  )

const make = (threads: number) =>
  Effect.gen(function* () {
    const free = Array.from(yield* startAll(threads))
    const permits = yield* Effect.makeSemaphore(threads)
    const using = <A, E>(work: (thread: Thread) => Effect.Effect<A, E>) =>
      permits.withPermits(1)(
        Effect.acquireUseRelease(
          Effect.sync(() => free.pop()!),
          work,
          (thread) => Effect.sync(() => free.push(thread))
        )
      )
    return RenderPool.of({
      query: (job, path) => using((thread) => queryIn(thread, job, path)),
      render: (job, extract, path, onProgress) => using((thread) => renderIn(thread, job, extract, path, onProgress))
    })
  })
