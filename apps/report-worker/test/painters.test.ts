import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readSheet } from "read-excel-file/node"
import { describe as describeReport } from "../src/report/Describe.js"
import { paint } from "../src/report/Paint.js"
import type { Report } from "../src/report/Report.js"
import { FlightDelaysJob, type Format, type ReportJob, RouteTrafficJob, WildlifeStrikesJob } from "../src/ReportJob.js"

const jobs: ReadonlyArray<ReportJob> = (["en", "ko"] as const).flatMap((locale) => [
  new FlightDelaysJob({ jobId: "flights", locale, period: "2001-02", airport: "DEN" }),
  new WildlifeStrikesJob({ jobId: "birds", locale, state: "TX", from: 1995, to: 1999 }),
  new RouteTrafficJob({ jobId: "routes", locale, airport: "DEN" })
])

const painted = (report: Report, format: Format) =>
  Effect.promise(async () => {
    const parts: Array<Uint8Array> = []
    let last = { pages: 0, of: 1 }
    for await (const step of paint(report, format)) {
      parts.push(...step.bytes)
      last = step
    }
    return { bytes: Buffer.concat(parts), last }
  })

/** As the render thread gets it: out of a file. */
const extracted = (job: ReportJob) =>
  Effect.map(describeReport(job), (report) => JSON.parse(JSON.stringify(report)) as Report)

const tricky: Report = {
  locale: "en",
  title: "Tricky",
  subject: `<b>"Tom & Jerry's"</b>`,
  period: "always",
  tiles: [{ value: "1", unit: "", label: "one" }],
  charts: [{ title: "a < b", note: "", description: `"quoted" & more`, width: 10, height: 10, marks: [] }],
  note: "",
  source: "",
  tables: [
    {
      title: "Cells",
      none: "",
      columns: [
        { head: "text", kind: "text", share: 1 },
        { head: "place", kind: "coded", share: 1 },
        { head: "n", kind: "whole", share: 1, alertFrom: 5 }
      ],
      rows: [
        ["=1+1", ["A,B", `say "hi"`], -3],
        ["+cmd", null, 5],
        ["@x", ["-1", "two\nlines"], null],
        ["<script>alert(1)</script>", ["C", "plain"], 1234567]
      ]
    }
  ]
}

describe("the painters", () => {
  for (const job of jobs) {
    for (const format of ["pdf", "xlsx", "csv", "html"] as const) {
      it.effect(`${job.report} in ${job.locale} as ${format}: the same bytes each time, and an end to the work`, () =>
        Effect.gen(function* () {
          const report = yield* extracted(job)
          const first = yield* painted(report, format)
          const again = yield* painted(yield* extracted(job), format)
          assert.isAbove(first.bytes.length, 500)
          assert.isTrue(first.bytes.equals(again.bytes))
          assert.strictEqual(first.last.pages, first.last.of)
        })
      )
    }

    it.effect(`${job.report} in ${job.locale}: every row is in the workbook, in the CSV and on the page`, () =>
      Effect.gen(function* () {
        const report = yield* extracted(job)
        const table = report.tables[report.tables.length - 1]!
        const csv = (yield* painted(report, "csv")).bytes.toString("utf8")
        assert.strictEqual(csv.trimEnd().split("\r\n").length, table.rows.length + 1)
        assert.strictEqual(csv.charCodeAt(0), 0xfeff)
        const html = (yield* painted(report, "html")).bytes.toString("utf8")
        const rows = report.tables.reduce((n, t) => n + t.rows.length, 0)
        assert.strictEqual([...html.matchAll(/<th scope="row"/g)].length, rows)
        const book = (yield* painted(report, "xlsx")).bytes
        for (const [i, { rows, columns }] of report.tables.entries()) {
          const sheet = yield* Effect.promise(() => readSheet(book, i + 2))
          assert.strictEqual(sheet.length, rows.length + 1)
          const coded = columns.filter((c) => c.kind === "coded").length
          assert.strictEqual(sheet[0]!.length, columns.length + coded)
        }
      })
    )
  }

  it.effect("CSV: quotes where they are needed, and nothing that a spreadsheet would run", () =>
    Effect.gen(function* () {
      const { bytes } = yield* painted(tricky, "csv")
      assert.strictEqual(
        bytes.toString("utf8"),
        '\uFEFFtext,place,"place, name",n\r\n' +
          `'=1+1,"A,B","say ""hi""",-3\r\n` +
          "'+cmd,,,5\r\n" +
          `'@x,'-1,"two\nlines",\r\n` +
          "<script>alert(1)</script>,C,plain,1234567\r\n"
      )
    })
  )

  it.effect("XLSX: numbers are numbers, and another reader reads what was written", () =>
    Effect.gen(function* () {
      const { bytes } = yield* painted(tricky, "xlsx")
      const rows = yield* Effect.promise(() => readSheet(bytes, "Cells"))
      assert.deepStrictEqual(rows, [
        ["text", "place", "place, name", "n"],
        ["=1+1", "A,B", `say "hi"`, -3],
        ["+cmd", null, null, 5],
        ["@x", "-1", "two\nlines", null],
        ["<script>alert(1)</script>", "C", "plain", 1234567]
      ])
    })
  )

  it.effect("HTML: everything escaped, no script, charts and tables named", () =>
    Effect.gen(function* () {
      const html = (yield* painted(tricky, "html")).bytes.toString("utf8")
      assert.notMatch(html, /<script/)
      assert.include(html, "&lt;b&gt;&quot;Tom &amp; Jerry&#39;s&quot;&lt;/b&gt;")
      assert.include(html, `<html lang="en">`)
      assert.include(html, "<caption>Cells</caption>")
      assert.include(html, `<desc id="chart-1-desc">&quot;quoted&quot; &amp; more</desc>`)
      assert.include(html, `<td class="number alert">5</td>`)
      assert.include(html, `<td class="number">-3</td>`)
    })
  )

  it.effect("a table without rows says so", () =>
    Effect.gen(function* () {
      const empty: Report = { ...tricky, tables: [{ ...tricky.tables[0]!, rows: [], none: "Nothing & nobody." }] }
      assert.include((yield* painted(empty, "html")).bytes.toString("utf8"), "Nothing &amp; nobody.")
      assert.strictEqual((yield* painted(empty, "csv")).bytes.toString("utf8").trimEnd().split("\r\n").length, 1)
    })
  )
})
