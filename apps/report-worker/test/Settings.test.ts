import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import { describe as described, settings } from "../src/Settings.js"

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
        REPORT_LOG_LEVEL: "Warning"
      })
      const shown = Object.values(s).map((v) => (Duration.isDuration(v) ? Duration.format(v) : v))
      assert.deepStrictEqual(shown, [
        "http://127.0.0.1:9324/000000000000/jobs",
        "jobs-dlq",
        "/srv/reports",
        8,
        6,
        "1m 30s",
        "30s",
        "2m",
        "1h",
        "1s",
        "1m",
        "2s",
        "5s",
        LogLevel.Warning
      ])
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
        `  REPORT_DRAIN is "4 parsecs": expected a duration such as "90 seconds"`,
        `  REPORT_LOG_LEVEL is "loud": expected debug, info, warning or error`,
        "Set them right in the environment, or leave them out for the default; --help tells all of them."
      ])
    })
  )

  it.effect("are held against each other", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        read({ REPORT_THREADS: "2", REPORT_CONCURRENCY: "3", REPORT_REDELIVERY_FROM: "1 hour" })
      )
      assert.match(message, /REPORT_CONCURRENCY is 3 and REPORT_THREADS 2: a job that waits for a thread/)
      assert.match(message, /REPORT_REDELIVERY_FROM is longer than REPORT_REDELIVERY_TO/)
    })
  )

  it.effect("are all described, each with its default", () =>
    Effect.gen(function* () {
      const keys = Object.keys(yield* settings).length
      assert.strictEqual([...described.matchAll(/^ {2}REPORT_[A-Z_]+ +\S/gm)].length, keys)
      assert.strictEqual([...described.matchAll(/; default: \S/g)].length, keys)
    })
  )
})
