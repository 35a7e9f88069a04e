import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { createServer } from "node:net"
import { FlagError, help, readFlags, type ServerFlags } from "../src/internal/commandLine.js"

const flags = (...args: ReadonlyArray<string>): ServerFlags => {
  const read = readFlags(args)
  if (read === "help" || read instanceof FlagError) return assert.fail(read === "help" ? read : read.sentence)
  return read
}
const wrong = (...args: ReadonlyArray<string>): string => {
  const read = readFlags(args)
  return read instanceof FlagError ? read.sentence : assert.fail("the flags were accepted")
}

describe("flags of the server", () => {
  it("have defaults", () => {
    assert.deepStrictEqual(flags(), {
      host: "127.0.0.1",
      port: 9324,
      accountId: "000000000000",
      region: "us-east-1",
      queues: [],
      deny: [],
      journal: 1000,
      policy: {},
      seed: undefined
    })
  })

  it("make queues with attributes and dead-letter queues, targets first", () => {
    const { queues } = flags(
      ...["--queue", "jobs,VisibilityTimeout=4,DelaySeconds=1", "--queue", "plain"],
      ...["--dlq", "jobs:dead:3", "--dlq", "dead:deadest:2"]
    )
    assert.deepStrictEqual(queues, [
      { name: "plain", attributes: {} },
      { name: "deadest" },
      { name: "dead", deadLetters: { queue: "deadest", maxReceiveCount: 2 } },
      {
        name: "jobs",
        attributes: { VisibilityTimeout: "4", DelaySeconds: "1" },
        deadLetters: { queue: "dead", maxReceiveCount: 3 }
      }
    ])
  })

  it("read the rest", () => {
    const read = flags(
      ...["--deny", "sqs:ReceiveMessage", "--deny", "DeleteMessage", "--journal", "all", "--port", "0"],
      ...["--policy", "oldHandleDelete=ignored", "--policy", "shortPoll=random", "--seed", "x"]
    )
    assert.deepInclude(read, {
      port: 0,
      deny: ["ReceiveMessage", "DeleteMessage"],
      journal: "all",
      policy: { oldHandleDelete: "ignored", shortPoll: "random" },
      seed: "x"
    })
    assert.strictEqual(readFlags(["--port", "1", "--help"]), "help")
  })

  it("are explained, each of them", () => {
    for (const flag of [
      "port",
      "host",
      "queue",
      "dlq",
      "deny",
      "journal",
      "account",
      "region",
      "policy",
      "seed",
      "help"
    ]) {
      assert.include(help, `--${flag}`)
    }
  })

  it("are refused in a sentence that says what is wrong", () => {
    assert.strictEqual(wrong("--port", "x"), "--port x: expected a whole number from 0 to 65535.")
    assert.match(wrong("--nonsense"), /Unknown option '--nonsense'/)
    assert.match(wrong("stray"), /Unexpected argument 'stray'/)
    assert.match(wrong("--queue", "jobs,VisibilityTimeout"), /"VisibilityTimeout" is not of the form/)
    assert.match(wrong("--queue", "jobs", "--queue", "jobs"), /given twice/)
    assert.match(wrong("--dlq", "jobs:dead"), /expected SOURCE:TARGET:N/)
    assert.match(wrong("--dlq", "a:b:1", "--dlq", "b:a:1"), /each other's dead-letter queues/)
    assert.match(wrong("--dlq", "a:b:1", "--dlq", "a:c:1"), /has a dead-letter queue already/)
    assert.match(wrong("--deny", "sqs:Nonsense"), /SQS has no such action/)
    assert.match(wrong("--journal", "some"), /--journal some/)
    assert.match(wrong("--policy", "nonsense=1"), /expected POINT=READING/)
    assert.match(wrong("--policy", "shortPoll=perhaps"), /shortPoll can be complete, sampled, random/)
    assert.match(wrong("--account", "12"), /expected 12 digits/)
    assert.match(wrong("--region", "No Region"), /expected a region's name/)
  })
})

/** Runs the command; `stop` gets a signal as soon as the banner is there. */
const command = (args: ReadonlyArray<string>, stop?: NodeJS.Signals) =>
  new Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>((resolve) => {
    const bin = new URL("../src/bin/sqs.ts", import.meta.url).pathname
    const child = spawn(process.execPath, ["--conditions=@effect-sqs/source", "--import", "tsx", bin, ...args])
    let out = ""
    let err = ""
    child.stdout.on("data", (chunk) => {
      out += String(chunk)
      if (stop !== undefined && out.includes("Stop: Ctrl-C")) child.kill(stop)
    })
    child.stderr.on("data", (chunk) => (err += String(chunk)))
    child.on("close", (code) => resolve({ code, out, err }))
  })

describe("the server as a command", () => {
  it("tells its endpoint and stops cleanly on a signal", { timeout: 60_000 }, async () => {
    const args = ["--port", "0", "--queue", "jobs"]
    for (const { code, err, out } of await Promise.all([command(args, "SIGTERM"), command(args, "SIGINT")])) {
      assert.deepStrictEqual([code, err], [0, ""])
      const endpoint = /AWS_ENDPOINT_URL_SQS=(http:\/\/127\.0\.0\.1:\d+)/.exec(out)?.[1]
      assert.include(out, `${endpoint}/000000000000/jobs`)
    }
  })

  it(
    "exits with 1 and a sentence when the port is in use, with 2 when a queue is refused",
    { timeout: 60_000 },
    async () => {
      const other = createServer()
      await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
      const { port } = other.address() as { port: number }
      const [used, refused] = await Promise.all([
        command(["--port", String(port)]),
        command(["--port", "0", "--queue", "jobs,VisibilityTimeout=x"])
      ])
      other.close()
      assert.deepStrictEqual(
        [used.code, used.err],
        [
          1,
          `Cannot listen on 127.0.0.1, port ${port}: the port is in use. Stop what listens there, or choose another port.\n`
        ]
      )
      assert.deepStrictEqual(
        [refused.code, refused.err],
        [2, "--queue jobs: Invalid value for the parameter VisibilityTimeout. See --help.\n"]
      )
    }
  )
})
