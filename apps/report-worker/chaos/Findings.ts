/** What must hold after everything that went wrong, looked up in the database, the store and the receivers' own books. */
import { Ledger } from "@effect-sqs/ledger/LedgerService"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import path from "node:path"
import { JobStore } from "../src/jobs/JobStore.js"
import type { Received } from "../src/receiver/Receiver.js"
import type { ReportJob } from "../src/ReportJob.js"

export interface Findings {
  readonly faults: ReadonlyArray<string>
  readonly facts: Readonly<Record<string, number>>
}

const sha256 = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex")

const filesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []))

export const look = (o: {
  readonly jobs: ReadonlyArray<ReportJob>
  readonly artifacts: string
  /** by job id */
  readonly received: ReadonlyMap<string, Pick<Received, "requests" | "effects">>
  /** by job id: requests that were turned away without an effect (429), which may be sent again by anybody */
  readonly turnedAway: ReadonlyMap<string, number>
}): Effect.Effect<Findings, unknown, JobStore | Ledger> =>
  Effect.gen(function* () {
    const store = yield* JobStore
    const { store: ledger } = yield* Ledger
    const faults: Array<string> = []
    const facts: Record<string, number> = {}
    const count = (what: string, by = 1) => void (facts[what] = (facts[what] ?? 0) + by)
    const found = filesIn(o.artifacts)
    const expected = new Set<string>()

    for (const job of o.jobs) {
      const id = job.jobId
      const fault = (what: string) => void faults.push(`${id}: ${what}`)
      const row = Option.getOrUndefined(yield* store.get(id))
      if (row === undefined) {
        fault("has no row")
        continue
      }
      count(`jobs ${row.state}`)
      count("messages sent", row.sends)
      count("runs", row.runs)
      if (row.state !== "completed") fault(`is ${row.state}: ${row.reason ?? "no reason"}`)

      const events = yield* store.events(id)
      const completions = events.filter((e) => e.kind === "completed").length
      if (completions !== 1) fault(`was completed ${completions} times`)
      const entry = yield* ledger.read({ namespace: "reports", key: id })
      const state = Option.match(entry, { onNone: () => "not there", onSome: (s) => s.record.state })
      if (state !== "completed") fault(`in the ledger: ${state}`)

      if (row.result !== undefined) {
        const { artifact, sha256: hash } = row.result
        expected.add(artifact)
        if (!found.includes(artifact)) fault(`its artifact ${artifact} is not there`)
        else if (sha256(path.join(o.artifacts, artifact)) !== hash) fault(`its artifact ${artifact} has other bytes`)
      }

      const { effects, requests } = o.received.get(id) ?? { effects: 0, requests: 0 }
      if (job.webhook === undefined) continue
      count(`deliveries ${row.delivery}`)
      count("requests to receivers", requests)
      if (effects > 1) fault(`its delivery happened ${effects} times`)
      if (row.delivery === "delivered" && effects === 0) fault("counts as delivered, and the receiver does not know it")
      if (job.webhook.idempotent) {
        if (row.delivery !== "delivered") fault(`its delivery can be repeated and is ${row.delivery}`)
      } else {
        // one that its receiver knows not to have happened may be sent again
        const uncertain = requests - (o.turnedAway.get(id) ?? 0)
        if (uncertain > 1 && job.webhook.statusUrl === undefined)
          fault(`was sent ${uncertain} times to a receiver that knows no keys`)
        if (!["delivered", "unknown", "review"].includes(row.delivery)) fault(`its delivery is ${row.delivery}`)
        if (row.delivery === "delivered" && requests === 0) fault("counts as delivered and was never sent")
      }
    }
    for (const name of found) if (!expected.has(name)) faults.push(`the artifact ${name} belongs to no job`)
    count("artifacts", found.length)
    return { faults, facts }
  })
