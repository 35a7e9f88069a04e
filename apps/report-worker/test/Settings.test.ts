import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import { describe as described, settings, settingsIn } from "../src/Settings.js"

const read = (environment: Record<string, string>) =>
  Effect.withConfigProvider(settings, ConfigProvider.fromMap(new Map(Object.entries(environment))))

describe("Settings", () => {
  it.effect("need no environment; an empty variable is none", () =>
    Effect.gen(function* () {
      const none = yield* read({})
      assert.strictEqual(none.queue, "report-jobs")
      assert.strictEqual(none.concurrency, none.threads)
      assert.isUndefined(none.visibility)
      assert.isTrue(Duration.equals(none.drain, "30 seconds"))
      assert.deepStrictEqual(yield* read({ REPORT_QUEUE: "", REPORT_DRAIN: " " }), none)
    })
  )

  it.effect("are read from every key", () =>
    Effect.gen(function* () {
      const s = yield* read({
        REPORT_QUEUE: "http://127.0.0.1:9324/000000000000/jobs",
        REPORT_DLQ: "jobs-dlq",
        REPORT_OUT: "/srv/reports",
        REPORT_STORE: "s3://reports/2026/",
        REPORT_DATABASE: "/srv/jobs.db",
        REPORT_CLAIM: "20 seconds",
        REPORT_RESEND: "5 minutes",
        REPORT_WEBHOOK_TIMEOUT: "3 seconds",
        REPORT_WEBHOOK_PRIVATE: "yes",
        REPORT_THREADS: "8",
        REPORT_CONCURRENCY: "6",
        REPORT_VISIBILITY: "90 seconds",
        REPORT_HEARTBEAT: "30 seconds",
        REPORT_EXTEND_BY: "2 minutes",
        REPORT_LEASE_LIMIT: "1 hour",
        REPORT_REDELIVERY_FROM: "1 second",
        REPORT_REDELIVERY_TO: "1 minute",
        REPORT_WAIT_TIME: "2 seconds",
        REPORT_DRAIN: "5 seconds",
        REPORT_HEALTH: "[::1]:8080",
        REPORT_PAGE: "8321",
        REPORT_PAGE_TOKENS: "ann:a-token-that-is-long-enough:read",
        REPORT_PAGE_HOSTS: "ops.example.org, Reports.example.org",
        REPORT_PAGE_READ_ONLY: "yes",
        REPORT_LOG_LEVEL: "Warning"
      })
      assert.deepStrictEqual(
        s.pageTokens.map(({ name, readOnly }) => [name, readOnly]),
        [["ann", true]]
      )
      const { pageTokens: _, ...plain } = s
      const shown = Object.entries(plain).map(([key, v]) => [key, Duration.isDuration(v) ? Duration.format(v) : v])
      assert.deepStrictEqual(Object.fromEntries(shown), {
        queue: "http://127.0.0.1:9324/000000000000/jobs",
        deadLetterQueue: "jobs-dlq",
        out: "/srv/reports",
        store: { _tag: "S3", bucket: "reports", prefix: "2026/" },
        database: { _tag: "SqliteFile", filename: "/srv/jobs.db" },
        claim: "20s",
        resend: "5m",
        webhookTimeout: "3s",
        webhookPrivate: true,
        threads: 8,
        concurrency: 6,
        visibility: "1m 30s",
        heartbeat: "30s",
        extendBy: "2m",
        limit: "1h",
        redeliveryFrom: "1s",
        redeliveryTo: "1m",
        waitTime: "2s",
        drain: "5s",
        health: { host: "::1", port: 8080 },
        page: { host: "127.0.0.1", port: 8321 },
        pageHosts: ["ops.example.org", "reports.example.org"],
        pageReadOnly: true,
        logLevel: LogLevel.Warning
      })
    })
  )

  it.effect("say where things are: under REPORT_OUT, or where they are told", () =>
    Effect.gen(function* () {
      const embedded = yield* read({ REPORT_OUT: "/srv" })
      assert.deepStrictEqual(embedded.store, { _tag: "Folder", path: "/srv/artifacts" })
      assert.deepStrictEqual(embedded.database, { _tag: "SqliteFile", filename: "/srv/jobs.db" })
      const url = "postgres://user:secret@db.example/reports"
      const shared = yield* read({ REPORT_DATABASE_URL: url, REPORT_STORE: "s3://reports" })
      assert.deepStrictEqual(shared.store, { _tag: "S3", bucket: "reports", prefix: "" })
      assert.strictEqual(shared.database._tag === "PostgreSQL" && Redacted.value(shared.database.url), url)
      assert.notInclude(String(JSON.stringify(shared)), "secret")
      assert.deepStrictEqual((yield* read({ REPORT_STORE: "../reports" })).store, {
        _tag: "Folder",
        path: "../reports"
      })
    })
  )

  it.effect("tell no secret, and know one database only", () =>
    Effect.gen(function* () {
      const wrong = yield* Effect.flip(read({ REPORT_DATABASE_URL: "mysql://user:secret@db.example/reports" }))
      assert.match(wrong.message, /REPORT_DATABASE_URL is not a URL that can be used: expected a URL such as postgres:/)
      assert.notInclude(wrong.message, "secret")
      const both = yield* Effect.flip(
        read({ REPORT_DATABASE: "jobs.db", REPORT_DATABASE_URL: "postgres://user:secret@db.example/reports" })
      )
      assert.match(both.message, /REPORT_DATABASE and REPORT_DATABASE_URL are both given/)
      assert.notInclude(both.message, "secret")
      const store = yield* Effect.flip(
        read({ REPORT_STORE: "gs://bucket/reports", REPORT_WEBHOOK_PRIVATE: "1", REPORT_HEALTH: "80800" })
      )
      assert.match(store.message, /REPORT_STORE is "gs:.*expected a folder, or s3:/)
      assert.match(store.message, /REPORT_HEALTH is "80800": expected an address such as 0/)
      assert.match(store.message, /REPORT_WEBHOOK_PRIVATE is "1": expected yes or no/)
    })
  )

  it.effect("let the page be reached from elsewhere only with tokens, and tell none of them", () =>
    Effect.gen(function* () {
      const open = yield* Effect.flip(read({ REPORT_PAGE: "0.0.0.0:8321" }))
      assert.match(open.message, /REPORT_PAGE is 0\.0\.0\.0:8321, which others reach: give REPORT_PAGE_TOKENS too/)
      const short = yield* Effect.flip(read({ REPORT_PAGE: "0.0.0.0:8321", REPORT_PAGE_TOKENS: "ann:secret" }))
      assert.match(short.message, /REPORT_PAGE_TOKENS is not what can be used: expected name:token/)
      assert.notInclude(short.message, "secret")
      const closed = yield* read({ REPORT_PAGE: "0.0.0.0:8321", REPORT_PAGE_TOKENS: "ann:a-token-that-is-long-enough" })
      assert.deepStrictEqual(closed.page, { host: "0.0.0.0", port: 8321 })
      assert.notInclude(String(JSON.stringify(closed)), "a-token-that")
      assert.isUndefined((yield* read({})).page)
    })
  )

  it.effect("tell all faults at once, with the value and what was expected", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        read({ REPORT_QUEUE: "a b", REPORT_THREADS: "0", REPORT_DRAIN: "4 parsecs", REPORT_LOG_LEVEL: "loud" })
      )
      assert.deepStrictEqual(message.split("\n"), [
        "4 settings cannot be used:",
        `  REPORT_QUEUE is "a b": expected a name or a URL`,
        `  REPORT_THREADS is "0": expected a whole number from 1 to 64`,
        `  REPORT_DRAIN is "4 parsecs": expected a duration such as 90s, 2m or "2 minutes"`,
        `  REPORT_LOG_LEVEL is "loud": expected debug, info, warning or error`,
        "Set them right in the environment, or leave them out for the default; --help tells all of them."
      ])
    })
  )

  it.effect("durations are short or in words, and have a unit; a port alone is one of this machine", () =>
    Effect.gen(function* () {
      const s = yield* read({
        REPORT_DRAIN: "15s",
        REPORT_CLAIM: "1m 30s",
        REPORT_RESEND: "2 hours",
        REPORT_WAIT_TIME: "1.5 seconds",
        REPORT_HEALTH: "8080"
      })
      const durations = [s.drain, s.claim, s.resend, s.waitTime!].map((d) => Duration.toMillis(d))
      assert.deepStrictEqual(durations, [15_000, 90_000, 7_200_000, 1500])
      assert.deepStrictEqual(s.health, { host: "127.0.0.1", port: 8080 })
      const { faults } = yield* Effect.flip(read({ REPORT_DRAIN: "15", REPORT_CLAIM: "0s", REPORT_RESEND: "Infinity" }))
      assert.strictEqual(faults.length, 3)
    })
  )

  it.effect("misspelt ones are told, beside all other faults; what is somebody else's is left alone", () =>
    Effect.gen(function* () {
      const names = [
        "REPORT_QUEUE",
        "REPORT_QEUE",
        "REPORT_DATABSE_URL",
        "REPORT_PAGE_HOST",
        "REPORT_DARIN",
        // of Kubernetes, beside services of these names
        "REPORT_PORT",
        "REPORT_WORKER_SERVICE_HOST",
        "PATH"
      ]
      const { faults } = yield* Effect.flip(
        Effect.withConfigProvider(settingsIn(names), ConfigProvider.fromMap(new Map([["REPORT_THREADS", "0"]])))
      )
      assert.deepStrictEqual(faults, [
        "REPORT_QEUE is no setting: is REPORT_QUEUE meant?",
        "REPORT_DATABSE_URL is no setting: is REPORT_DATABASE_URL meant?",
        "REPORT_PAGE_HOST is no setting: is REPORT_PAGE_HOSTS meant?",
        "REPORT_DARIN is no setting: is REPORT_DRAIN meant?",
        `REPORT_THREADS is "0": expected a whole number from 1 to 64`
      ])
      yield* Effect.withConfigProvider(settingsIn(["REPORT_PORT"]), ConfigProvider.fromMap(new Map()))
    })
  )

  it.effect("are held against each other", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        read({ REPORT_THREADS: "2", REPORT_CONCURRENCY: "3", REPORT_REDELIVERY_FROM: "1 hour" })
      )
      assert.match(message, /REPORT_CONCURRENCY is 3 and REPORT_THREADS 2: a job that waits for a thread/)
      assert.match(message, /REPORT_REDELIVERY_FROM is longer than REPORT_REDELIVERY_TO/)
      const late = yield* Effect.flip(read({ REPORT_HEARTBEAT: "1h", REPORT_VISIBILITY: "30s" }))
      assert.deepStrictEqual(late.faults, [
        "REPORT_HEARTBEAT is 1h and REPORT_VISIBILITY 30s: it must beat before that is over; half of it leaves two tries"
      ])
      const short = yield* Effect.flip(
        read({ REPORT_HEARTBEAT: "20s", REPORT_VISIBILITY: "2m", REPORT_EXTEND_BY: "20s" })
      )
      assert.match(short.message, /REPORT_HEARTBEAT is 20s and REPORT_EXTEND_BY 20s/)
    })
  )

  it.effect("are all described, each with its default", () =>
    Effect.gen(function* () {
      // the database has two keys, of which one is given
      const keys = Object.keys(yield* settings).length + 1
      assert.strictEqual([...described.matchAll(/^ {2}REPORT_[A-Z_]+ +\S/gm)].length, keys)
      assert.strictEqual([...described.matchAll(/; default: \S/g)].length, keys)
    })
  )
})
