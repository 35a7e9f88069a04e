import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { artifactName } from "../src/store/ArtifactStore.js"
import { FlightDelaysJob, ReportJob, reportJobs, RouteTrafficJob, WildlifeStrikesJob } from "../src/ReportJob.js"

const good = { report: "flight-delays", jobId: "den-2001-02", locale: "ko", period: "2001-02", airport: "DEN" }

/** The faults of a body: field and words. */
const faults = (body: unknown): ReadonlyArray<string> => {
  const decoded = Schema.decodeUnknownEither(ReportJob, { errors: "all" })(body)
  return Either.isRight(decoded)
    ? []
    : ParseResult.ArrayFormatter.formatErrorSync(decoded.left).map((i) => `${i.path.join(".")}: ${i.message}`)
}

describe("ReportJob", () => {
  it("takes a body with its defaults", () => {
    const job = Schema.decodeUnknownSync(ReportJob)(good)
    assert.instanceOf(job, FlightDelaysJob)
    assert.strictEqual(job.format, "pdf")
    assert.strictEqual(job.minDelay, 15)
    assert.isUndefined(job.drill)
  })

  it("says of each fault what is expected, all at once", () => {
    assert.deepStrictEqual(
      faults({ ...good, jobId: "../../etc/passwd", locale: "de", period: "2001-07", airport: "den", minDelay: 1e9 }),
      [
        `jobId: expected 1 to 48 lower-case letters, digits or hyphens, not "../../etc/passwd"`,
        `locale: expected "en" or "ko", not "de"`,
        'period: expected 2001-01, 2001-02, 2001-03 or 2001-Q1, not "2001-07"',
        `airport: expected a code of three capital letters such as "DEN", not "den"`,
        "minDelay: expected a whole number of minutes from -1000 to 1000, not 1000000000"
      ]
    )
    assert.deepStrictEqual(faults({ ...good, pagesPerSecond: 0, drill: { unavailableReceives: 99 } }), [
      "pagesPerSecond: expected a number from 0.1 to 1000, not 0",
      "drill.unavailableReceives: expected a whole number from 0 to 10, not 99"
    ])
  })

  it("refuses an unknown report, a missing field, a misspelt one, and what is no job at all", () => {
    assert.match(
      faults({ ...good, report: "profits" })[0]!,
      /^report: Expected "flight-delays" \| "wildlife-strikes" \| "route-traffic", actual "profits"/
    )
    const { period: _, ...without } = good
    assert.deepStrictEqual(faults(without), ["period: is missing"])
    assert.match(faults({ ...good, airprot: "DEN" })[0]!, /^airprot: is unexpected/)
    for (const body of ["hello", 7, null, [], {}]) assert.isAbove(faults(body).length, 0)
  })

  it("takes the other reports with their defaults", () => {
    const common = { jobId: "a", locale: "en" }
    const strikes = Schema.decodeUnknownSync(ReportJob)({ ...common, report: "wildlife-strikes" })
    assert.deepStrictEqual(
      strikes,
      new WildlifeStrikesJob({ jobId: "a", locale: "en", from: 1990, to: 2002, minCost: 1, format: "pdf" })
    )
    const routes = Schema.decodeUnknownSync(ReportJob)({
      ...common,
      report: "route-traffic",
      airport: "DEN",
      format: "html"
    })
    assert.deepStrictEqual(routes, new RouteTrafficJob({ jobId: "a", locale: "en", airport: "DEN", format: "html" }))
  })

  it("says what does not go together, and does not repeat what is huge or may be secret", () => {
    const strikes = { report: "wildlife-strikes", jobId: "a", locale: "en" }
    assert.deepStrictEqual(faults({ ...strikes, from: 1999, to: 1991 }), [
      "to: expected a year not before 1999, not 1991"
    ])
    assert.deepStrictEqual(faults({ ...strikes, from: 1989, minCost: -1 }), [
      "from: expected a year from 1990 to 2002, not 1989",
      "minCost: expected a whole number of dollars from 0 to 1000000000, not -1"
    ])
    const routes = { report: "route-traffic", jobId: "a", locale: "en" }
    const one = ["airport: expected either airport or state, one of the two"]
    assert.deepStrictEqual(faults(routes), one)
    assert.deepStrictEqual(faults({ ...routes, airport: "DEN", state: "CO" }), one)
    const huge = faults({ ...routes, airport: "D".repeat(1_000_000) })
    assert.match(huge[0]!, /^airport: expected a code of three capital letters such as "DEN", not "D{79}… \(1000002 /)
    for (const url of ["ftp://x/y", "https://user:secret@x/y", "x", `https://x/${"y".repeat(2000)}`]) {
      assert.deepStrictEqual(faults({ ...routes, airport: "DEN", webhook: { url, idempotent: true } }), [
        "webhook.url: expected an http or https URL of at most 2000 characters without user and password"
      ])
    }
    const webhook = { url: "https://x/y", idempotent: 1, statusUrl: "file:///etc/passwd", retries: 3 }
    assert.deepStrictEqual(
      faults({ ...routes, airport: "DEN", webhook }).map((fault) => fault.split(":")[0]),
      ["webhook.retries", "webhook.idempotent", "webhook.statusUrl"]
    )
    assert.deepStrictEqual(faults({ ...routes, airport: "DEN", format: "doc" }), [
      `format: expected "pdf", "xlsx", "csv" or "html", not "doc"`
    ])
    assert.match(faults(7)[0]!, /Expected a job: an object that says which report/)
  })

  it.effect("goes over the wire and back", () =>
    Effect.gen(function* () {
      const queue = reportJobs("report-jobs")
      const job = new FlightDelaysJob({ jobId: "a", locale: "en", period: "2001-Q1", pagesPerSecond: 2.5 })
      assert.deepStrictEqual(yield* queue.decode(yield* queue.encode(job)), job)
      const refused = yield* Effect.flip(queue.decode(`{"report":"flight-delays","jobId":"a b"}`))
      assert.match(refused.message, /jobId: expected 1 to 48 lower-case letters, digits or hyphens/)
    })
  )
})

describe("artifactName", () => {
  const job = (o: Partial<FlightDelaysJob>) =>
    new FlightDelaysJob({ jobId: "a", locale: "en", period: "2001-01", ...o })

  it("follows from what decides the content, and from nothing else", () => {
    const name = artifactName(job({}))
    assert.match(name, /^a-[0-9a-f]{12}\.pdf$/)
    assert.strictEqual(artifactName(job({ pagesPerSecond: 3, drill: { unavailableReceives: 2 } })), name)
    assert.strictEqual(artifactName(job({ webhook: { url: "https://x/y", idempotent: true } })), name)
    assert.match(artifactName(job({ format: "csv" })), /^a-[0-9a-f]{12}\.csv$/)
    const others = [
      job({ locale: "ko" }),
      job({ period: "2001-02" }),
      job({ airport: "DEN" }),
      job({ minDelay: 16 }),
      job({ jobId: "b" }),
      job({ format: "html" })
    ].map(artifactName)
    assert.strictEqual(new Set([name, ...others]).size, 7)
  })
})
