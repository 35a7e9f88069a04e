import * as Ledger from "@effect-sqs/ledger/Ledger"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import path from "node:path"
import { JobResult } from "../src/jobs/JobRow.js"
import { JobStore } from "../src/jobs/JobStore.js"
import * as Database from "../src/jobs/Database.js"
import * as NotBefore from "../src/cli/NotBefore.js"
import { jsonFault } from "../src/cli/jsonFault.js"
import { table, widthOf } from "../src/cli/table.js"
import { type Ended, fresh, withSettings } from "./cli.support.js"

const den = ["submit", "flight-delays", "--id", "den-feb", "--period", "2001-02", "--airport", "DEN"]

const lines = (text: string): ReadonlyArray<Record<string, unknown>> =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>)

const isOneSentence = (ended: Ended, code: number, says: RegExp) => {
  assert.match(ended.err, says)
  assert.deepStrictEqual([ended.code, ended.out], [code, ""])
  assert.notMatch(ended.err, /\n\s+at |Error:|\u001b/)
}

/** what a worker would do to the database of these command lines */
const inDatabase = <A, E>(file: string, use: Effect.Effect<A, E, JobStore | Ledger.Ledger>) =>
  Effect.provide(use, Database.layer({ _tag: "SqliteFile", filename: file }))

const result = new JobResult({ artifact: "a.pdf", location: "/reports/a.pdf", bytes: 173_204, sha256: "00", pages: 49 })

/** the report is there, and of its delivery nobody knows the end */
const inDoubt = (id: string) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    yield* jobs.started(id, { receiveCount: 1, nextAt: 1e15 })
    yield* Ledger.transaction(jobs.finished(id, result, { nextAt: 1e15 }))
    const policy = Ledger.ambiguous({ timeout: "1 second", result: Schema.Void })
    yield* Effect.either(
      Ledger.once({ namespace: "deliveries", key: id, result: Schema.Void, failure: () => Ledger.retry() }, () =>
        Ledger.outside(`report:${id}`, policy, () => Effect.fail("cut"))
      )
    )
    yield* jobs.delivery(id, "unknown", "nobody saw it end")
  })

describe("submit", () => {
  it.scoped("accepts a job by flags; the same again is known, another one under its id is refused", () =>
    Effect.gen(function* () {
      const { run } = yield* fresh
      assert.deepStrictEqual(yield* run(...den), { code: 0, out: "den-feb: accepted\n", err: "" })
      const again = yield* run(...den)
      assert.deepStrictEqual(
        [again.code, again.out],
        [0, "den-feb: known already, nothing was changed; it is accepted\n"]
      )
      isOneSentence(yield* run(...den, "--locale", "ko"), 3, /^job den-feb is known with other parameters: give .*\n$/)
      const [row] = lines((yield* run("list", "--json")).out)
      assert.deepStrictEqual(row!.job, {
        report: "flight-delays",
        jobId: "den-feb",
        locale: "en",
        format: "pdf",
        period: "2001-02",
        airport: "DEN",
        minDelay: 15
      })
    })
  )

  it.scoped("takes every field of the contract as a flag, the webhook too", () =>
    Effect.gen(function* () {
      const { run } = yield* fresh
      const strikes = yield* run(
        ...["submit", "wildlife-strikes", "--state", "TX", "--from", "1995", "--to", "1999", "--min-cost", "0"],
        ...["--locale", "ko", "--format", "csv", "--pages-per-second", "0.5", "--id", "tx", "--json"],
        ...["--webhook", "https://a.example/b", "--webhook-idempotent", "--webhook-status", "https://a.example/c"]
      )
      assert.strictEqual(strikes.code, 0, strikes.err)
      const [row] = lines(strikes.out)
      assert.deepStrictEqual([row!.id, row!.acceptance, row!.delivery], ["tx", "Accepted", "pending"])
      assert.deepStrictEqual(row!.job, {
        ...{ report: "wildlife-strikes", jobId: "tx", locale: "ko", format: "csv", pagesPerSecond: 0.5 },
        ...{ state: "TX", from: 1995, to: 1999, minCost: 0 },
        webhook: { url: "https://a.example/b", idempotent: true, statusUrl: "https://a.example/c" }
      })
      const routes = yield* run("submit", "route-traffic", "--airport", "DEN")
      assert.match(routes.out, /^route-traffic-19700101-[0-9a-z]{6}: accepted\n$/)
    })
  )

  it.scoped("not before: as a duration, told as a time", () =>
    Effect.gen(function* () {
      const { run } = yield* fresh
      const later = yield* run(...den, "--not-before", "in 20 minutes")
      assert.strictEqual(later.out, "den-feb: accepted, not before 1970-01-01T00:20:00Z (in 20 min)\n")
      assert.include((yield* run("status", "den-feb")).out, "den-feb  scheduled\n")
    })
  )

  const wrong: ReadonlyArray<readonly [string, ReadonlyArray<string>, RegExp]> = [
    ["an unknown report", ["submit", "weather"], /Invalid subcommand for report-worker/],
    ["a parameter that is missing", ["submit", "flight-delays"], /Expected to find option: '--period'/],
    ["a wrong one", [...den, "--min-delay", "x"], /^--min-delay: expected a whole number of minutes.*, not "x"\n$/],
    ["a huge one", [...den, "--min-delay", "1e308"], /^--min-delay: expected .* from -1000 to 1000, not 1e\+308\n$/],
    ["a text without an end", [...den.slice(0, -1), "D".repeat(100_000)], /^--airport: expected a code.{1,200}…\n$/],
    [
      "a path in an id",
      ["submit", "route-traffic", "--state", "TX", "--id", "../../etc"],
      /^--id: expected 1 to 48 .*, not "\.\.\/\.\.\/etc"\n$/
    ],
    ["two that exclude each other", ["submit", "route-traffic"], /^--airport: expected either airport or state/],
    ["a webhook that is no URL", [...den, "--webhook", "ftp://x"], /^--webhook: expected an http or https URL/],
    [
      "a promise of nobody",
      [...den, "--webhook-idempotent"],
      /^--webhook-idempotent .*: name it by --webhook URL\.\n$/
    ],
    ["a status URL of nobody", [...den, "--webhook-status", "https://x"], /^--webhook-status .* by --webhook URL\.\n$/],
    ["a time that is none", [...den, "--not-before", "soon"], /^--not-before soon: expected a time such as .*\n$/],
    ["a time that is past", [...den, "--not-before", "1969-12-31"], /^--not-before 1969-12-31: that is past: leave/],
    ["a time far away", [...den, "--not-before", "99999 days"], /: that is more than a year away\.\n$/],
    ["a flag that there is not", [...den, "--colour", "red"], /Received unknown argument: '--colour'/],
    [
      "a file that is not there",
      ["submit", "file", "/nonexistent"],
      /^\/nonexistent cannot be read: it does not exist/
    ],
    ["a path for an id", ["status", "../x"], /^\.\.\/x is no id of a job: expected 1 to 48/],
    ["an escape sequence", ["status", "\u001b[31m"], /^\?\[31m is no id of a job/],
    ["no id", ["cancel"], /^Give ID: cancel ID\.\n$/],
    ["too much", ["status", "a", "b"], /^b is too much: status ID\.\n$/],
    ["a state that there is not", ["list", "--state", "dead"], /^--state dead: expected one of scheduled, accepted/],
    [
      "a limit without limit",
      ["list", "--limit", "1000000"],
      /^--limit 1000000: expected a whole number from 1 to 500/
    ],
    [
      "a verdict that is none",
      ["decide", "a", "perhaps"],
      /^perhaps is no verdict: give happened or did-not-happen\.\n$/
    ]
  ]
  it.scoped("every wrong input is a sentence, exit code 2, and nothing is written", () =>
    Effect.gen(function* () {
      const { file, run } = yield* fresh
      for (const [title, args, says] of wrong) {
        const ended = yield* run(...args)
        assert.strictEqual(ended.code, 2, title)
        isOneSentence(ended, 2, says)
      }
      assert.isFalse(existsSync(file))
    })
  )

  it.scoped("a setting that cannot be used, and a database that cannot be reached", () =>
    Effect.gen(function* () {
      isOneSentence(yield* withSettings({ REPORT_DRAIN: "soon" })("list"), 2, /REPORT_DRAIN is "soon": expected/)
      const url = "postgres://me:secret@127.0.0.1:1/reports?sslmode=disable"
      const away = yield* withSettings({ REPORT_DATABASE_URL: url })(...den)
      isOneSentence(
        away,
        4,
        /^The database postgres:\/\/127\.0\.0\.1:1\/reports cannot be used: .*ECONNREFUSED.*: check /
      )
      assert.notInclude(away.err, "secret")
      const { file, folder, run } = yield* fresh
      isOneSentence(yield* run("list"), 4, /^There is no database .*jobs\.db yet: submit a job, or set /)
      assert.isFalse(existsSync(file))
      mkdirSync(file)
      isOneSentence(yield* run(...den), 4, /jobs\.db cannot be used: .*: check REPORT_DATABASE and REPORT_OUT/)
      assert.isTrue(existsSync(folder))
    })
  )
})

describe("submit file", () => {
  const job = (jobId: string, more: object = {}) =>
    JSON.stringify({ report: "flight-delays", jobId, locale: "en", period: "2001-02", ...more })

  const submitted = (text: string) =>
    Effect.gen(function* () {
      const { file, folder, run } = yield* fresh
      const jobs = path.join(folder, "jobs.json")
      writeFileSync(jobs, text)
      return { ended: yield* run("submit", "file", jobs), file, jobs, run }
    })

  it.scoped("takes one job, an array, or one in each line", () =>
    Effect.gen(function* () {
      const texts = [
        job("a"),
        JSON.stringify(JSON.parse(job("a")), null, 2),
        `[${job("a")}]`,
        `\uFEFF\n${job("a")}\r\n\n`
      ]
      for (const text of texts) {
        const { ended } = yield* submitted(text)
        assert.deepStrictEqual([ended.code, ended.out, ended.err], [0, "a: accepted\n", ""])
      }
      const { ended } = yield* submitted(`${job("a")}\n${job("b")}\n${job("a")}`)
      assert.match(ended.out, /^a: accepted\nb: accepted\na: known already, nothing was changed/)
    })
  )

  it.scoped("tells all faults with their lines, and accepts nothing then", () =>
    Effect.gen(function* () {
      const text = [job("a"), job("../b", { airprot: "DEN" }), "", job("a", { locale: "ko" }), `{"report":"x"}`, "[1]"]
      const { ended, file, jobs } = yield* submitted(text.join("\n"))
      assert.strictEqual(ended.code, 2)
      assert.deepStrictEqual(ended.err.trimEnd().split("\n"), [
        `${jobs} cannot be used, and nothing of it was accepted:`,
        "  line 2, airprot: there is no such field; flight-delays has jobId, locale, format, pagesPerSecond, webhook, drill, report, period, airport, minDelay",
        `  line 2, jobId: expected 1 to 48 lower-case letters, digits or hyphens, not "../b"`,
        "  line 4: the id a is that of another job, line 1: give each an id of its own",
        `  line 5, report: there is no report "x": expected flight-delays, wildlife-strikes, route-traffic`,
        `  line 6: expected a job, an object such as {"report": "flight-delays", …}`
      ])
      assert.isFalse(existsSync(file))
    })
  )

  it.scoped("tells the line where a text stops being JSON", () =>
    Effect.gen(function* () {
      const inLines = yield* submitted(`${job("a")}\n${job("b")}}\n`)
      isOneSentence(inLines.ended, 2, /accepted:\n {2}line 2: this is no JSON, at \}\n$/)
      const document = yield* submitted(`{\n  "report": "flight-delays",\n  "jobId": "a"\n  "locale": "en"\n}`)
      isOneSentence(document.ended, 2, /\n {2}line 4: this is no JSON, at "locale": "en"\n$/)
      isOneSentence(
        (yield* submitted(`{\n"report": "x"\n\n`)).ended,
        2,
        /line 2: this is no JSON, it ends too early\n$/
      )
      isOneSentence((yield* submitted(" \n")).ended, 2, /jobs\.json is empty: expected jobs/)
      isOneSentence((yield* submitted("[]")).ended, 2, /jobs\.json has no jobs/)
      const many = yield* submitted(Array.from({ length: 12 }, () => "{}").join("\n"))
      isOneSentence(many.ended, 2, /line 10, report: is missing.*\n {2}and 2 more\n$/s)
    })
  )

  it.scoped("an id that is taken refuses the whole file", () =>
    Effect.gen(function* () {
      const { jobs, run } = yield* submitted(job("b"))
      writeFileSync(jobs, [job("a"), job("b", { locale: "ko" }), job("c")].join("\n"))
      isOneSentence(
        yield* run("submit", "file", jobs),
        3,
        /^job b is known with other parameters.*; nothing was accepted\n$/
      )
      assert.deepStrictEqual(
        lines((yield* run("list", "--json")).out).map((row) => row.id),
        ["b"]
      )
    })
  )
})

describe("status, list and cancel", () => {
  it.scoped("an unknown id is exit code 3, and says where the others are", () =>
    Effect.gen(function* () {
      const { run } = yield* fresh
      yield* run(...den)
      for (const args of [
        ["status", "x"],
        ["status", "x", "--follow"],
        ["cancel", "x"],
        ["decide", "x", "happened"]
      ]) {
        isOneSentence(yield* run(...args), 3, /^There is no job x: report-worker list shows those that there are\.\n$/)
      }
    })
  )

  it.scoped("cancel cancels once, and never what has ended", () =>
    Effect.gen(function* () {
      const { file, run } = yield* fresh
      yield* run(...den)
      assert.strictEqual((yield* run("cancel", "den-feb")).out, "den-feb: cancelled\n")
      assert.strictEqual((yield* run("cancel", "den-feb")).out, "den-feb: was cancelled before\n")
      const followed = yield* run("status", "den-feb", "--follow")
      assert.strictEqual(followed.code, 1)
      assert.match(followed.err, /den-feb was cancelled\.\n$/)
      yield* run("submit", "flight-delays", "--period", "2001-01", "--id", "done")
      yield* inDatabase(
        file,
        Effect.gen(function* () {
          const jobs = yield* JobStore
          yield* jobs.started("done", { receiveCount: 1, nextAt: 0 })
          yield* Ledger.transaction(jobs.finished("done", result, { nextAt: 0 }))
        })
      )
      isOneSentence(yield* run("cancel", "done"), 3, /^job done cannot be cancelled: it is completed\n$/)
      const status = yield* run("status", "done", "--follow")
      assert.strictEqual(status.code, 0)
      assert.match(
        status.out,
        /done {2}completed\n(.*\n)+ {2}result +\/reports\/a\.pdf\n +49 pages, 173 kB\n(.*\n)+.* started +run 1/
      )
      const [json] = lines((yield* run("status", "done", "--json")).out)
      assert.deepStrictEqual(
        (json!.history as Array<{ kind: string }>).map(({ kind }) => kind),
        ["accepted", "started", "completed"]
      )
    })
  )

  it.scoped("list shows the newest first, in pages, filtered, and within the screen", () =>
    Effect.gen(function* () {
      const { run } = yield* fresh
      const long = "x".repeat(48)
      for (const id of ["a", "b", long]) {
        yield* run("submit", "flight-delays", "--period", "2001-01", "--id", id)
        yield* TestClock.adjust("1 minute")
      }
      yield* run("cancel", "b")
      const ids = (ended: Ended) => lines(ended.out).map((row) => row.id)
      const first = yield* run("list", "--limit", "2", "--json")
      assert.deepStrictEqual(ids(first), [long, "b"])
      assert.strictEqual(first.err, "There are more: add --before b for the next ones.\n")
      const second = yield* run("list", "--limit", "2", "--before", "b", "--json")
      assert.deepStrictEqual([ids(second), second.err], [["a"], ""])
      assert.deepStrictEqual(ids(yield* run("list", "--state", "cancelled", "--state", "failed", "--json")), ["b"])
      assert.deepStrictEqual(ids(yield* run("list", "--text", "xx", "--json")), [long])
      const none = yield* run("list", "--delivery", "review")
      assert.deepStrictEqual([none.code, none.out, none.err], [0, "", "There is no such job.\n"])
      const all = (yield* run("list")).out.trimEnd().split("\n")
      assert.match(all[0]!, /^JOB +STATE +REPORT +ACCEPTED$/)
      assert.match(all[3]!, /^a +accepted +flight-delays 2001-01 15 +3 min ago$/)
      assert.isTrue(all.every((line) => widthOf(line) <= 100))
    })
  )

  it.scoped("follows a job to its end, and tells the history meanwhile", () =>
    Effect.gen(function* () {
      const { file, run } = yield* fresh
      yield* run(...den)
      const followed = yield* Effect.fork(run("status", "den-feb", "--follow"))
      yield* inDatabase(
        file,
        Effect.flatMap(JobStore, (jobs) => jobs.failed("den-feb", "no flights"))
      )
      const ticking = yield* Effect.fork(
        Effect.forever(Effect.zipRight(TestClock.adjust("1 second"), Effect.yieldNow()))
      )
      const { code, err } = yield* Fiber.join(followed)
      yield* Fiber.interrupt(ticking)
      assert.strictEqual(code, 1)
      assert.match(err, /den-feb {2}\S+ {2}accepted\n.*failed +no flights\nden-feb failed: no flights\.\n$/)
    })
  )
})

describe("decide", () => {
  it.scoped("happened: it counts as delivered, with the note in its history; and it is said once", () =>
    Effect.gen(function* () {
      const { file, run } = yield* fresh
      yield* run(...den, "--webhook", "https://a.example/")
      isOneSentence(
        yield* run("decide", "den-feb", "happened"),
        3,
        /^The delivery of den-feb is not in doubt \(pending\)/
      )
      yield* inDatabase(file, inDoubt("den-feb"))
      const waiting = yield* run("status", "den-feb", "--follow")
      assert.strictEqual(waiting.code, 1)
      assert.match(waiting.err, /nobody knows whether its receiver was told/)
      const decided = yield* run("decide", "den-feb", "happened", "--note", "the receiver's log has it")
      assert.deepStrictEqual([decided.code, decided.out, decided.err], [0, "den-feb: counts as delivered\n", ""])
      const { out } = yield* run("status", "den-feb")
      assert.include(out, "den-feb  completed, delivered\n")
      assert.include(out, "delivery   delivered: a person says: happened, the receiver's log has it\n")
      isOneSentence(yield* run("decide", "den-feb", "happened"), 3, /is not in doubt \(delivered\)/)
    })
  )

  it.scoped("did-not-happen: it is to be delivered again", () =>
    Effect.gen(function* () {
      const { file, run } = yield* fresh
      yield* run(...den, "--webhook", "https://a.example/")
      yield* inDatabase(file, inDoubt("den-feb"))
      const decided = yield* run("decide", "den-feb", "did-not-happen", "--json")
      assert.strictEqual(lines(decided.out)[0]!.delivery, "pending")
      const record = yield* inDatabase(file, Ledger.get({ namespace: "deliveries", key: "den-feb" }))
      assert.strictEqual(record._tag === "Some" ? record.value.state : "", "retryable")
      yield* run("submit", "flight-delays", "--period", "2001-01", "--id", "alone")
      isOneSentence(yield* run("decide", "alone", "happened"), 3, /^alone is to be delivered to nobody/)
    })
  )
})

describe("the parts", () => {
  it("times are read by ISO 8601 and as durations", () => {
    const now = Date.parse("2026-12-01T00:00:00Z")
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["in 20 minutes", "2026-12-01T00:20:00.000Z"],
      ["1.5h", "2026-12-01T01:30:00.000Z"],
      ["In 3 Days", "2026-12-04T00:00:00.000Z"],
      ["2026-12-24T08:00Z", "2026-12-24T08:00:00.000Z"],
      ["2026-12-24 08:00+09:00", "2026-12-23T23:00:00.000Z"]
    ]
    for (const [text, at] of cases) {
      assert.deepStrictEqual(NotBefore.parse(text, now), Either.right(Date.parse(at)), text)
    }
    for (const text of ["", "20", "in", "2026-02-30", "2026-13-01", "-5m", "tomorrow", "2026-12-24T25:00Z"]) {
      assert.isTrue(Either.isLeft(NotBefore.parse(text, Date.parse("2026-01-01T00:00Z"))), text)
    }
  })

  it("the place where a text stops being JSON", () => {
    const cases: ReadonlyArray<readonly [string, number, string]> = [
      ['{"a": [1, 2,, 3]}', 1, "at , 3]}"],
      ['{"a": "b\nc"}', 1, 'at "b'],
      ['{\n"a": tru\n}', 2, "at tru"],
      ["[1]\n[2]", 2, "at [2]"],
      ["{'a': 1}", 1, "at 'a': 1}"],
      ['{"a"', 1, "it ends too early"],
      ["[01]", 1, "at 1]"]
    ]
    for (const [text, line, what] of cases) assert.deepStrictEqual(jsonFault(text), { line, what }, text)
    assert.deepStrictEqual(jsonFault("[".repeat(100_000)), { line: 1, what: "it ends too early" })
  })

  it("a table is cut to the screen, the widest column first", () => {
    const rows = [
      ["A", "B"],
      ["x".repeat(50), "y".repeat(10)]
    ]
    assert.deepStrictEqual(
      table(rows, 32).map((line) => widthOf(line)),
      [23, 32]
    )
    assert.strictEqual(table(rows, 32)[1], `${"x".repeat(19)}…  ${"y".repeat(10)}`)
  })
})
