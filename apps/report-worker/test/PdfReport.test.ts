import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inflateSync } from "node:zlib"
import { extractText, getDocumentProxy } from "unpdf"
import * as FlightData from "../src/data/FlightData.js"
import * as FlightDelays from "../src/data/FlightDelays.js"
import { pdfReport } from "../src/pdf/PdfReport.js"
import { flightDelaysReport } from "../src/report/FlightDelaysReport.js"
import { FlightDelaysJob } from "../src/ReportJob.js"

const bytesOf = (o: Partial<FlightDelaysJob>) =>
  Effect.gen(function* () {
    const job = new FlightDelaysJob({ jobId: "t", locale: "en", period: "2001-02", ...o })
    const report = yield* FlightDelays.make(job, yield* FlightData.load)
    const steps = [...pdfReport(flightDelaysReport(report, job.locale))]
    return { report, steps, bytes: Buffer.concat(steps.flatMap((s) => s.bytes)) }
  })

const pagesOf = (bytes: Buffer) =>
  Effect.promise(async () => (await extractText(await getDocumentProxy(new Uint8Array(bytes)))).text)

/** The drawing operators of the first stream, one a line. */
const drawing = (bytes: Buffer): string => {
  const text = bytes.toString("latin1")
  const from = text.indexOf("stream\n") + "stream\n".length
  return inflateSync(Buffer.from(text.slice(from, text.indexOf("\nendstream")), "latin1")).toString("latin1")
}

const count = (pages: ReadonlyArray<string>, what: string) => pages.filter((page) => page.includes(what)).length

describe("the flight-delays PDF", () => {
  it.effect("has a cover, the airports and every listed flight under a head on each page, in English", () =>
    Effect.gen(function* () {
      const { bytes, report } = yield* bytesOf({ airport: "DEN", minDelay: 0 })
      const pages = yield* pagesOf(bytes)
      assert.strictEqual(pages.length, 2 + Math.ceil(report.listed.length / 44))
      assert.isAbove(pages.length, 4)
      const [cover, airports, ...listing] = pages
      for (const words of [
        "Flight delays",
        "Denver Intl (DEN)",
        "February 2001",
        "Mean arrival delay",
        "mean of 7 days"
      ]) {
        assert.include(cover!, words)
      }
      assert.include(airports!, "By airport at the other end")
      assert.strictEqual(count(listing, "Departed From To Miles Delay, min"), listing.length)
      pages.forEach((page, i) => assert.include(page, `Page ${i + 1} of ${pages.length}`))
      const rows = listing.flatMap((page) => [...page.matchAll(/(2001-02-\d\d) (\d\d:\d\d)/g)])
      assert.deepStrictEqual(
        rows.map((m) => `${m[1]} ${m[2]}`),
        report.listed.map((f) => f.departed)
      )
    })
  )

  it.effect("has its words in Hangul in Korean", () =>
    Effect.gen(function* () {
      const { bytes } = yield* bytesOf({ airport: "DEN", locale: "ko" })
      const pages = yield* pagesOf(bytes)
      for (const words of ["항공편 지연 보고서", "2001년 2월", "평균 도착 지연", "주말", "출처: 미국 교통통계국"]) {
        assert.include(pages[0]!, words)
      }
      assert.include(pages[2]!, "출발 일시 출발지 도착지 거리(마일) 지연(분)")
      assert.match(pages[2]!, /2001-02-02 19:40/)
      assert.include(pages[2]!, `3 / ${pages.length}쪽`)
      const { info } = (yield* Effect.promise(async () =>
        (await getDocumentProxy(new Uint8Array(bytes))).getMetadata()
      )) as { info: { Title: string; Language: string } }
      assert.strictEqual(info.Title, "항공편 지연 보고서 · Denver Intl (DEN) · 2001년 2월")
      assert.strictEqual(info.Language, "ko")
    })
  )

  it.effect("has two charts drawn as vectors on its cover", () =>
    Effect.gen(function* () {
      const { steps } = yield* bytesOf({})
      // the cover is written out when the second page begins
      const cover = drawing(Buffer.concat(steps.slice(0, 2).flatMap((step) => step.bytes)))
      const times = (operator: RegExp) => [...cover.matchAll(operator)].length
      assert.isAtLeast(times(/^f$/gm), 28 + 12, "a filled column for each day, a bar for each of twelve airports")
      assert.isAtLeast(times(/^S$/gm), 4 + 4, "the lines of two grids")
      assert.isAtLeast(times(/ c$/gm), 20, "the curve of seven days' means")
    })
  )

  it.effect("says so when no flight was late enough", () =>
    Effect.gen(function* () {
      const pages = yield* pagesOf((yield* bytesOf({ minDelay: 1000 })).bytes)
      assert.strictEqual(pages.length, 3)
      assert.include(pages[2]!, "No flight arrived that late.")
    })
  )

  it.effect("has the same bytes each time, and others for another job", () =>
    Effect.gen(function* () {
      const first = yield* bytesOf({ locale: "ko", minDelay: 60 })
      const again = yield* bytesOf({ locale: "ko", minDelay: 60 })
      const other = yield* bytesOf({ locale: "ko", minDelay: 61 })
      assert.isTrue(first.bytes.equals(again.bytes))
      assert.isFalse(first.bytes.equals(other.bytes))
      assert.notInclude(first.bytes.toString("latin1"), String(new Date().getUTCFullYear()))
    })
  )

  it.effect("comes page by page: bytes are handed out long before the last page", () =>
    Effect.gen(function* () {
      const { bytes, steps } = yield* bytesOf({ minDelay: 15 })
      const half = steps.slice(0, Math.floor(steps.length / 2)).flatMap((s) => s.bytes)
      assert.isAbove(Buffer.concat(half).length, bytes.length / 8)
      assert.deepStrictEqual(
        steps.map((s) => s.pages),
        [...Array.from({ length: steps.length - 1 }, (_, i) => i + 1), steps.length - 1]
      )
    })
  )
})
