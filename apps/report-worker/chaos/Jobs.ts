/** The jobs of a run, drawn from its seed: small reports in every format, each to be delivered. */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { FlightDelaysJob, type ReportJob } from "../src/ReportJob.js"

const airports = ["ATL", "BOS", "DEN", "DFW", "JFK", "LAX", "MIA", "MSP", "ORD", "PHX", "SEA", "SFO"] as const
const periods = ["2001-01", "2001-02", "2001-03"] as const
const formats = ["csv", "csv", "html", "xlsx", "pdf"] as const

const pick = <A>(all: ReadonlyArray<A>) => Effect.map(Random.nextIntBetween(0, all.length), (i) => all[i]!)

/** Half of the receivers honour idempotency keys; half of the others can be asked what became of one. */
export const draw = (count: number, receiver: { readonly url: string }): Effect.Effect<ReadonlyArray<ReportJob>> =>
  Effect.forEach(Array.from({ length: count }).keys(), (n) =>
    Effect.gen(function* () {
      const jobId = `chaos-${n}`
      const webhook =
        n % 2 === 0
          ? { url: `${receiver.url}/honours`, idempotent: true }
          : {
              url: `${receiver.url}/ignores`,
              idempotent: false,
              ...(n % 4 === 1 ? { statusUrl: `${receiver.url}/status` } : {})
            }
      return new FlightDelaysJob({
        jobId,
        locale: n % 3 === 0 ? "ko" : "en",
        period: yield* pick(periods),
        airport: yield* pick(airports),
        format: yield* pick(formats),
        webhook
      })
    })
  )
