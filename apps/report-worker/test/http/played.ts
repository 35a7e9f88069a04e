/** Jobs as workers leave them, without a worker. */
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import * as path from "node:path"
import { JobResult } from "../../src/jobs/JobRow.js"
import { JobStore } from "../../src/jobs/JobStore.js"
import { namespaces } from "../../src/Policies.js"
import { FlightDelaysJob, type ReportJob, reportJobs } from "../../src/ReportJob.js"
import { ArtifactStore, artifactName } from "../../src/store/ArtifactStore.js"
import { queue } from "./harness.js"

export const jobOf = (jobId: string, more: object = {}) =>
  new FlightDelaysJob({ jobId, locale: "en", period: "2001-02", ...more })

/** as the API takes it */
export const bodyOf = (jobId: string, more: object = {}) => ({
  job: { jobId, report: "flight-delays", locale: "en", period: "2001-02", ...more }
})

/** an accepted job as if a worker had finished it: row, ledger and report */
export const finish = (job: ReportJob, content: string) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const store = yield* ArtifactStore
    const file = path.join(store.workFolder, `drawn-${job.jobId}`)
    writeFileSync(file, content)
    const sha256 = createHash("sha256").update(content).digest("hex")
    const { location, name } = yield* store.put(artifactName(job), file, sha256)
    yield* jobs.started(job.jobId, { receiveCount: 1, nextAt: 0 })
    const result = new JobResult({ artifact: name, location, bytes: content.length, sha256 })
    yield* Ledger.once({ namespace: namespaces.reports, key: job.jobId, result: Schema.Void }, (claim) =>
      claim.commit(jobs.finished(job.jobId, result, { nextAt: 0 }))
    )
  })

/** a finished job with a delivery whose call nobody saw end */
export const undecided = (jobId: string) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const job = jobOf(jobId, { webhook: { url: "https://receiver.example/reports?secret=1", idempotent: false } })
    yield* jobs.accept(job)
    yield* finish(job, `the report ${jobId}`)
    yield* Ledger.once({ namespace: namespaces.deliveries, key: jobId, result: Schema.Void }, () =>
      Ledger.outside("ref", Ledger.ambiguous({ timeout: "1 second" }), () => Effect.fail("cut"))
    ).pipe(Effect.ignore)
    yield* jobs.delivery(jobId, "unknown", "cut")
  })

/** a dead letter; answers its id */
export const letter = (body: string, attributes: Record<string, string> = {}) =>
  Effect.flatMap(VirtualSqs.VirtualSqs, (virtual) => virtual.send("jobs-dlq", body, { attributes }))

/** a dead letter of a job */
export const letterOf = (jobId: string, reason: string) =>
  Effect.flatMap(reportJobs(queue).encode(jobOf(jobId)), (body) =>
    letter(body, { "effect_sqs.reason": reason, "effect_sqs.origin": queue })
  )
