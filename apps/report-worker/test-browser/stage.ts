/** A worker on which a lot is going on: runs of all kinds, dead letters, undecided deliveries, finished jobs. */
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import * as path from "node:path"
import { Live } from "../src/http/Live.js"
import { JobProgress, JobResult } from "../src/jobs/JobRow.js"
import { JobStore } from "../src/jobs/JobStore.js"
import { namespaces } from "../src/Policies.js"
import { FlightDelaysJob, type ReportJob, reportJobs } from "../src/ReportJob.js"
import { ArtifactStore, artifactName } from "../src/store/ArtifactStore.js"
import { consuming, queue } from "../test/http/harness.js"

export const jobOf = (jobId: string, more: object = {}) =>
  new FlightDelaysJob({ jobId, locale: "en", period: "2001-02", ...more })

/** the message of a job, in the queue */
export const send = (job: ReportJob, where = queue, attributes: Record<string, string> = {}) =>
  Effect.flatMap(VirtualSqs.VirtualSqs, (virtual) =>
    Effect.flatMap(reportJobs(queue).encode(job), (body) => virtual.send(where, body, { attributes }))
  )

export const letter = (job: ReportJob, reason: string) =>
  send(job, "jobs-dlq", { "effect_sqs.reason": reason, "effect_sqs.origin": queue })

export const finish = (job: ReportJob, content = "%PDF-1.7 a report") =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const store = yield* ArtifactStore
    const file = path.join(store.workFolder, `drawn-${job.jobId}`)
    writeFileSync(file, content)
    const kept = yield* store.put(artifactName(job), file, createHash("sha256").update(content).digest("hex"))
    const result = { artifact: kept.name, location: kept.location, bytes: kept.bytes, sha256: kept.sha256, pages: 49 }
    yield* jobs.finished(job.jobId, new JobResult(result), { nextAt: 0 })
  })

/** a delivery whose call nobody saw end */
export const undecided = (jobId: string) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const job = jobOf(jobId, { webhook: { url: "https://receiver.example/reports", idempotent: false } })
    yield* jobs.accept(job)
    yield* jobs.started(jobId, { receiveCount: 1, nextAt: 0 })
    yield* finish(job)
    yield* Ledger.once({ namespace: namespaces.deliveries, key: jobId, result: Schema.Void }, () =>
      Ledger.outside(`report-${jobId}`, Ledger.ambiguous({ timeout: "1 second" }), () =>
        Effect.fail(new Error("the connection was cut after the request was sent"))
      )
    ).pipe(Effect.ignore)
    yield* jobs.delivery(jobId, "unknown", "the connection was cut after the request was sent")
  })

/** a worker that takes `pages` and `pause` from what a job is to be played as */
export const playing = (
  plays: Record<string, { readonly pages: number; readonly pause: Duration.DurationInput }>,
  over?: Deferred.Deferred<void>
) =>
  Effect.flatMap(Effect.context<ArtifactStore | JobStore | Live>(), (context) =>
    consuming((job, delivery) =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const live = yield* Live
        const { pages, pause } = plays[job.jobId] ?? { pages: 10, pause: "100 millis" }
        const now = yield* Clock.currentTimeMillis
        yield* jobs.admit(job, { messageId: delivery.messageId, nextAt: now + 600_000 })
        yield* jobs.started(job.jobId, { receiveCount: delivery.receiveCount, nextAt: now + 600_000 })
        yield* jobs.progress(job.jobId, new JobProgress({ step: "render" }), { isNew: true, nextAt: now + 600_000 })
        if (pages === 0) return yield* Effect.fail(new Error("no flights from DEN in 2001-02"))
        for (let done = 1; done <= pages; done++) {
          yield* Effect.sleep(pause)
          if (over !== undefined && (yield* Deferred.isDone(over))) break
          yield* live.progress(job.jobId, done, pages)
          const progress = new JobProgress({ step: "render", done, of: pages })
          if (done % 5 === 0) yield* jobs.progress(job.jobId, progress, { isNew: false, nextAt: now + 600_000 })
        }
        yield* finish(job)
      }).pipe(Effect.asVoid, Effect.provide(context))
    )
  )

/** what a page shows after some hours */
export const busy = Effect.gen(function* () {
  const jobs = yield* JobStore
  for (let i = 0; i < 24; i++) {
    const job = jobOf(`flights-${2001 + (i % 3)}-${i}`, i % 4 === 0 ? { format: "xlsx" } : {})
    yield* jobs.accept(job, i % 7 === 3 ? { notBefore: Date.UTC(2099, 0, 1) } : {})
    if (i % 7 === 3) continue
    if (i % 5 === 4) yield* jobs.failed(job.jobId, "no flights from DEN in 2001-02 are at least 900 minutes late")
    else if (i % 6 !== 5) {
      yield* jobs.started(job.jobId, { receiveCount: 1, nextAt: 0 })
      yield* finish(job)
    }
  }
  for (let i = 0; i < 5; i++) yield* letter(jobOf(`lost-${i}`), `no flights of ${1990 + i} in the data`)
  yield* letter(jobOf("lost-5"), "the render thread was lost three times: out of memory")
  yield* undecided("told-1")
  yield* undecided("told-2")
})
