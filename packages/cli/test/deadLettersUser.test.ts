/** Each command as a new user types it: wrong queue, wrong region, no credentials, no permission, Ctrl-C. */
import { Fault } from "@effect-sqs/testing"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Console, Effect } from "effect"
import type { ChildProcess } from "node:child_process"
import { existsSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as Main from "../src/Main.js"
import { command } from "./deadLetters.command.js"
import { bodies, counters, deadLetters, directory, pair, put, served } from "./deadLetters.support.js"

const noProfile = {
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_PROFILE: undefined,
  AWS_REGION: undefined,
  AWS_ENDPOINT_URL_SQS: undefined,
  AWS_EC2_METADATA_DISABLED: "true",
  AWS_SHARED_CREDENTIALS_FILE: "/nonexistent",
  AWS_CONFIG_FILE: "/nonexistent"
}

/** The command line in this process: what it prints, and its exit code. */
const typed = (...args: ReadonlyArray<string>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const before = Object.fromEntries(Object.keys(noProfile).map((name) => [name, process.env[name]]))
      setEnv(noProfile)
      return before
    }),
    () =>
      Effect.gen(function* () {
        const out: Array<string> = []
        const err: Array<string> = []
        const console = yield* Effect.console
        const code = yield* Main.run(["node", "effect-sqs", ...args]).pipe(
          Console.withConsole({
            ...console,
            log: (...texts) => Effect.sync(() => out.push(texts.join(" "))),
            error: (...texts) => Effect.sync(() => err.push(texts.join(" ")))
          })
        )
        const told = { code, out: out.join("\n"), err: err.join("\n") }
        // no stack trace, ever
        assert.notMatch(`${told.out}\n${told.err}`, /\n\s+at .+\(|\.ts:\d+|\.js:\d+/)
        return told
      }),
    (before) => Effect.sync(() => setEnv(before))
  )

const setEnv = (values: Record<string, string | undefined>) => {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}

const commands = (queue: string, more: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => [
  ["dlq", "ls", "--queue", queue, ...more],
  ["dlq", "show", "--queue", queue, ...more, "1"],
  ["dlq", "redrive", "--queue", queue, ...more],
  ["dlq", "discard", "--queue", queue, ...more],
  ["dlq", "discard", "--queue", queue, "--because", "old", "--all", "--confirm", queue, "--keep-in", kept, ...more]
]

/** not in the working directory */
const kept = path.join(tmpdir(), `discarded-${process.pid}.jsonl`)
afterAll(() => rmSync(kept, { force: true }))

const numbered = (n: number) => Array.from({ length: n }, (_, i) => ({ body: `{"id":"k${i}"}` }))

describe("a new user", () => {
  it.scopedLive("names a queue that does not exist, or one that is no dead-letter queue", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      for (const args of commands("jbos-dead", ["--endpoint", sqs.url])) {
        const { code, err } = yield* typed(...args)
        assert.strictEqual(code, 3, err)
        assert.match(err, /There is no queue jbos-dead at http/)
      }
      for (const args of commands("jobs", ["--endpoint", sqs.url])) {
        const { code, err } = yield* typed(...args)
        assert.strictEqual(code, 2, err)
        assert.match(err, /Its dead-letter queue is dead: say --queue dead/)
      }
    })
  )

  it.scopedLive("has no region, the wrong one, no credentials, or the wrong endpoint", () =>
    Effect.gen(function* () {
      for (const args of commands("dead", [])) {
        assert.match((yield* typed(...args)).err, /No region is known: give --region, or set AWS_REGION/)
      }
      for (const args of commands("dead", ["--region", "eu-west-1"])) {
        const { code, err } = yield* typed(...args)
        assert.strictEqual(code, 3)
        assert.match(err, /No credentials were found: set AWS_PROFILE/)
      }
      const url = "https://sqs.eu-west-1.amazonaws.com/123456789012/dead"
      const wrong = yield* typed("dlq", "ls", "--queue", url, "--region", "us-east-1")
      assert.match(wrong.err, /of region eu-west-1, but --region says us-east-1/)
      const closed = yield* typed("dlq", "ls", "--queue", "dead", "--endpoint", "http://127.0.0.1:9")
      assert.match(closed.err, /http:\/\/127.0.0.1:9 cannot be reached \(ECONNREFUSED\)/)
    })
  )

  it.scopedLive("may not receive, or not delete", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead"), deny: ["sqs:ReceiveMessage"] })
      for (const args of commands("dead", ["--endpoint", sqs.url])) {
        const { code, err } = yield* typed(...args)
        assert.strictEqual(code, 3, err)
        assert.match(err, /sqs:ReceiveMessage on dead is not allowed/)
      }
      const other = yield* served({ queues: pair("jobs", "dead"), deny: ["sqs:DeleteMessage"] })
      yield* put(other, "dead", { body: "x" })
      const plan = path.join(yield* directory, "p.json")
      const redrive = ["dlq", "redrive", "--queue", "dead", "--endpoint", other.url, "--to", "jobs", "--plan", plan]
      const { code, out } = yield* typed(...redrive)
      assert.strictEqual(code, 1)
      assert.match(out, /x sqs:DeleteMessage on dead is not allowed/)
      assert.isFalse(existsSync(plan))
    })
  )

  it.scopedLive("may not send: the first send says so, nothing is lost, and the rest is not tried", () =>
    Effect.gen(function* () {
      const sqs = yield* served({
        queues: pair("jobs", "dead"),
        faults: Fault.error("AccessDenied", { httpStatus: 403 }).pipe(Fault.on("SendMessageBatch"))
      })
      yield* deadLetters(sqs, "jobs", numbered(30))
      const plan = path.join(yield* directory, "p.json")
      const redrive = ["dlq", "redrive", "--queue", "dead", "--endpoint", sqs.url, "--plan", plan]
      assert.strictEqual((yield* typed(...redrive)).code, 0)
      const { code, out } = yield* typed(...redrive, "--confirm", "dead")
      assert.strictEqual(code, 1)
      assert.match(out, /Allow sqs:SendMessage on this queue/)
      assert.match(out, /sent 0 \+ deleted 0 \+ kept \d+ \+ failed 5 \+ unknown 0/)
      assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 30, inFlight: 0, delayed: 0 })
    })
  )

  it.scopedLive("redrives: dry run, plan, canary, rest; then again, and nothing is left to do", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", numbered(12))
      const plan = path.join(yield* directory, "p.json")
      const redrive = ["dlq", "redrive", "--queue", "dead", "--endpoint", sqs.url, "--plan", plan]
      const planned = yield* typed(...redrive, "--settle", "1s", "--rate", "1000")
      assert.strictEqual(planned.code, 0, planned.err)
      assert.match(planned.out, /nothing was sent/)
      assert.include(planned.out, `--plan ${plan} --endpoint ${sqs.url} --confirm dead`)
      assert.match((yield* typed(...redrive)).err, /this file exists/)
      const wrong = yield* typed(...redrive, "--confirm", "jobs")
      assert.deepStrictEqual([wrong.code, /for dead, but --confirm says jobs/.test(wrong.err)], [2, true])
      const mixed = yield* typed(...redrive, "--confirm", "dead", "--total", "3")
      assert.match(mixed.err, /With --confirm the plan says/)
      const done = yield* typed(...redrive, "--confirm", "dead")
      assert.strictEqual(done.code, 0, done.err)
      assert.match(done.out, /received 12 = sent 12 \+ deleted 0 \+ kept 0 \+ failed 0 \+ unknown 0/)
      const again = yield* typed(...redrive, "--confirm", "dead", "--json")
      assert.deepInclude(JSON.parse(again.out), { received: 0, sent: 0, resumed: true })
      assert.strictEqual((yield* bodies(sqs, "jobs")).length, 12)
    })
  )

  it.scopedLive("names a ledger that is not there, or no key for it", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      const redrive = ["dlq", "redrive", "--queue", "dead", "--endpoint", sqs.url]
      const file = path.join(yield* directory, "none.db")
      const missing = yield* typed(...redrive, "--ledger", file, "--key", "$.id")
      assert.deepStrictEqual([missing.code, existsSync(file)], [2, false])
      assert.match(missing.err, /there is no file .*none.db/)
      const closed = yield* typed(...redrive, "--ledger", "postgres://u:secret@127.0.0.1:9/x", "--key", "$.id")
      assert.strictEqual(closed.code, 2)
      assert.match(closed.err, /The ledger cannot be asked/)
      assert.notInclude(closed.err, "secret")
      assert.match((yield* typed(...redrive, "--ledger", "env:NO_SUCH")).err, /this variable is not set/)
      assert.match((yield* typed(...redrive, "--key", "id")).err, /expected a path as \$\.orderId/)
      assert.match((yield* typed(...redrive, "--body", "id=1")).err, /expected a path and a comparison/)
    })
  )

  const interrupted = (operation: string, queue: string, after: number) => {
    const started: { child: ChildProcess | undefined } = { child: undefined }
    const faults = Fault.perform(
      "ctrl-c",
      Effect.sync(() => started.child?.kill("SIGINT"))
    ).pipe(
      Fault.on(operation),
      Fault.queue(queue),
      Fault.when(() => started.child !== undefined),
      Fault.after(after),
      Fault.times(1)
    )
    return { started, faults }
  }

  it.scopedLive(
    "presses Ctrl-C while looking: all is put back",
    () =>
      Effect.gen(function* () {
        const { faults, started } = interrupted("ReceiveMessage", "dead", 1)
        const sqs = yield* served({ queues: pair("jobs", "dead"), faults })
        yield* deadLetters(sqs, "jobs", numbered(35))
        const ended = yield* command(["dlq", "ls", "--queue", "dead", "--endpoint", sqs.url], {
          cwd: yield* directory,
          onStart: (child) => (started.child = child)
        })
        assert.strictEqual(ended.code, 130, ended.stderr)
        assert.match(ended.stderr, /What was taken is put back/)
        assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 35, inFlight: 0, delayed: 0 })
      }),
    120_000
  )

  it.scopedLive(
    "presses Ctrl-C during a redrive: the batch is finished, the report comes, all else is put back",
    () =>
      Effect.gen(function* () {
        const { faults, started } = interrupted("SendMessageBatch", "jobs", 0)
        const sqs = yield* served({ queues: pair("jobs", "dead"), faults })
        yield* deadLetters(sqs, "jobs", numbered(35))
        const cwd = yield* directory
        const run = (...more: ReadonlyArray<string>) =>
          command(["dlq", "redrive", "--queue", "dead", "--endpoint", sqs.url, ...more], {
            cwd,
            onStart: (child) => (started.child = child)
          })
        assert.strictEqual((yield* run("--canary", "0")).code, 0)
        const ended = yield* run("--confirm", "dead")
        assert.strictEqual(ended.code, 130, ended.stderr)
        assert.match(ended.stdout, /received 10 = sent 10|received \d+ = sent 10 \+ deleted 0/)
        assert.match(ended.stdout, /Stopped: interrupted/)
        assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 25, inFlight: 0, delayed: 0 })
        assert.strictEqual((yield* bodies(sqs, "jobs")).length, 10)
      }),
    120_000
  )
})
