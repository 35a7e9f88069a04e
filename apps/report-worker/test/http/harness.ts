/**
 * The API on a real port, with a real database and a real folder, over an SQS that is virtual and spoken to by HTTP. What a
 * job does is played.
 */
import * as RedriveMoveTasks from "@effect-sqs/cli/RedriveMoveTasks"
import * as SqsInspector from "@effect-sqs/cli/SqsInspector"
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import * as Consumer from "@effect-sqs/core/Consumer"
import type { Delivery } from "@effect-sqs/core/Delivery"
import * as Redelivery from "@effect-sqs/core/Redelivery"
import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { readdirSync } from "node:fs"
import * as http from "node:http"
import * as path from "node:path"
import { Control } from "../../src/http/Control.js"
import { Health } from "../../src/http/Health.js"
import * as Live from "../../src/http/Live.js"
import * as Server from "../../src/http/Server.js"
import { type ReportJob, reportJobs } from "../../src/ReportJob.js"
import * as FolderStore from "../../src/store/FolderStore.js"
import { type Backend, sqlite, temporaryFolder } from "../jobs/backend.js"

export const queue = "jobs"

/** a clock that goes so many times as fast: a look into a dead-letter queue waits for seconds of SQS */
const hasty = (times: number): Clock.Clock => {
  const clock = Clock.make()
  const began = clock.unsafeCurrentTimeMillis()
  const ms = () => began + (clock.unsafeCurrentTimeMillis() - began) * times
  return {
    ...clock,
    unsafeCurrentTimeMillis: ms,
    unsafeCurrentTimeNanos: () => BigInt(Math.round(ms())) * 1_000_000n,
    currentTimeMillis: Effect.sync(ms),
    currentTimeNanos: Effect.sync(() => BigInt(Math.round(ms())) * 1_000_000n),
    sleep: (duration) => clock.sleep(Duration.times(duration, 1 / times))
  }
}

const underClock = <A, E, R>(layer: Layer.Layer<A, E, R>, clock: Clock.Clock): Layer.Layer<A, E, R> =>
  Layer.scopedContext(Effect.withClock(Layer.build(layer), clock))

const sqs = (times: number) =>
  Layer.unwrapEffect(
    Effect.map(SqsServer.SqsServer, ({ url }) => {
      const options = {
        endpoint: url,
        region: "us-east-1",
        credentials: { accessKeyId: "local", secretAccessKey: "local" }
      }
      return Layer.mergeAll(
        AwsSqs.layerWith(options),
        SqsInspector.layerWith(options),
        RedriveMoveTasks.layerWith(options)
      )
    })
  ).pipe(
    Layer.provideMerge(
      underClock(
        SqsServer.layer({ host: "127.0.0.1", port: 0 }).pipe(
          Layer.provideMerge(
            VirtualSqs.layer({
              queues: [
                "jobs-dlq",
                {
                  name: queue,
                  attributes: { VisibilityTimeout: 30 },
                  deadLetters: { queue: "jobs-dlq", maxReceiveCount: 3 }
                }
              ]
            })
          )
        ),
        hasty(times)
      )
    )
  )

export interface Site {
  readonly url: string
  readonly port: number
  readonly folder: string
}

export class TheSite extends Context.Tag("test/Site")<TheSite, Site>() {}

export interface Options extends Partial<Pick<Server.ServerOptions, "tokens" | "hosts" | "readOnly" | "host">> {
  readonly backend?: Backend
  /** how many times as fast the time of SQS goes */
  readonly sqsTimes?: number
}

/** the services of a site, and the site itself */
export const site = ({ backend = sqlite, sqsTimes = 1, ...options }: Options = {}) =>
  Layer.unwrapScoped(
    Effect.map(Effect.all([temporaryFolder, backend.fresh]), ([folder, database]) =>
      Layer.effect(
        TheSite,
        Effect.map(HttpServer.HttpServer, ({ address }) => {
          const port = address._tag === "TcpAddress" ? address.port : 0
          return { url: `http://127.0.0.1:${port}`, port, folder }
        })
      ).pipe(
        Layer.provideMerge(
          Server.layer({
            host: "127.0.0.1",
            port: 0,
            queue,
            deadLetterQueue: undefined,
            tokens: [],
            hosts: [],
            readOnly: false,
            folder: path.join(folder, "operations"),
            ...options
          })
        ),
        Layer.provideMerge(
          Live.layer({
            queue,
            concurrency: 2,
            lease: { visibilityMs: 30_000, heartbeatMs: 15_000, limitMs: 43_190_000 }
          })
        ),
        Layer.provideMerge(Control.layer),
        Layer.provideMerge(Health.layer),
        Layer.provideMerge(FolderStore.layer(path.join(folder, "artifacts"))),
        Layer.provideMerge(database),
        Layer.provideMerge(sqs(sqsTimes)),
        Layer.provideMerge(NodeFileSystem.layer)
      )
    )
  ).pipe(Layer.provide(Logger.remove(Logger.defaultLogger)))

/** a consumer beside it, whose handler is played */
export const consuming = (handler: (job: ReportJob, delivery: Delivery<ReportJob>) => Effect.Effect<void, Error>) =>
  Effect.gen(function* () {
    const live = yield* Live.Live
    const health = yield* Health
    const consumer = yield* Consumer.make(
      reportJobs(queue),
      {
        concurrency: 2,
        receive: { waitTime: "1 second" },
        drain: "1 second",
        redelivery: Redelivery.deadLetter,
        onEvent: (event) => Effect.zipRight(live.observe(event), health.observe(event))
      },
      (job, delivery) => Effect.zipRight(live.named(delivery, job.jobId), handler(job, delivery))
    )
    yield* Effect.flatMap(Control, ({ attach }) => attach(consumer))
    return consumer
  })

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: any
}

export const ask = (
  method: string,
  where: string,
  o: { readonly body?: unknown; readonly raw?: string; readonly headers?: Record<string, string> } = {}
): Effect.Effect<Answer, never, TheSite> =>
  Effect.flatMap(TheSite, ({ url }) =>
    Effect.promise(async (signal) => {
      const body = o.raw ?? (o.body === undefined ? undefined : JSON.stringify(o.body))
      const response = await fetch(`${url}${where}`, {
        method,
        signal,
        headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...o.headers },
        ...(body === undefined ? {} : { body })
      })
      const text = await response.text()
      const isJson = response.headers.get("content-type")?.startsWith("application/json") === true
      return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
    })
  )

/** the same with headers that `fetch` does not let one choose */
export const askAs = (host: string, where: string): Effect.Effect<number, never, TheSite> =>
  Effect.flatMap(TheSite, ({ port }) =>
    Effect.async<number>((resume) => {
      const request = http.get({ host: "127.0.0.1", port, path: where, headers: { host } }, (response) => {
        response.resume()
        resume(Effect.succeed(response.statusCode ?? 0))
      })
      return Effect.sync(() => request.destroy())
    })
  )

export interface Told {
  readonly id: string
  readonly event: string
  readonly data: any
}

/** The events as a browser gets them, until `enough` of them are there. */
export const events = (
  enough: (told: ReadonlyArray<Told>) => boolean,
  headers: Record<string, string> = {}
): Effect.Effect<ReadonlyArray<Told>, never, TheSite> =>
  Effect.flatMap(TheSite, ({ url }) =>
    Effect.promise(async (signal) => {
      const stop = new AbortController()
      signal.addEventListener("abort", () => stop.abort())
      const response = await fetch(`${url}/api/events`, { headers, signal: stop.signal })
      const told: Array<Told> = []
      let text = ""
      for await (const chunk of response.body!) {
        text += Buffer.from(chunk).toString("utf8")
        const parts = text.split("\n\n")
        text = parts.pop()!
        for (const part of parts) {
          const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(part)?.[1]
          const event = field("event")
          if (event !== undefined) told.push({ id: field("id")!, event, data: JSON.parse(field("data")!) })
        }
        if (enough(told)) break
      }
      stop.abort()
      return told
    })
  )

/** a folder of its own for temporary files, so that one sees which come into being */
export const ownTmp = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const before = process.env["TMPDIR"]
  yield* Effect.acquireRelease(
    Effect.sync(() => (process.env["TMPDIR"] = folder)),
    () =>
      Effect.sync(() => {
        if (before === undefined) delete process.env["TMPDIR"]
        else process.env["TMPDIR"] = before
      })
  )
  return Effect.sync(() => readdirSync(folder))
})

/** what happens beside the test is looked for again and again */
export const until = <A, E, R>(look: Effect.Effect<A, E, R>, holds: (a: A) => boolean): Effect.Effect<A, E, R> =>
  Effect.flatMap(look, (a) =>
    holds(a) ? Effect.succeed(a) : Effect.zipRight(Effect.sleep("10 millis"), until(look, holds))
  )
