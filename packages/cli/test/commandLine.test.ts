/** The command as a new user types it, in a process of its own, against the SQS server in another. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Console, Effect } from "effect"
import { spawn } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import path from "node:path"
import { Main } from "../src/index.js"
import { program } from "./programs.js"

const source = (file: string) => new URL(file, import.meta.url).pathname

/** No credentials, no region, no profile, and no machine that could give a role. */
const bare = {
  PATH: process.env["PATH"] ?? "",
  HOME: "/nonexistent",
  AWS_EC2_METADATA_DISABLED: "true",
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true"
}

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

interface Run {
  readonly env?: Record<string, string>
  /** sends Ctrl-C when this shows on stderr */
  readonly interruptAt?: RegExp
  /** sends Ctrl-C when this has come */
  readonly interruptAfter?: Promise<unknown>
}

const run = (args: ReadonlyArray<string>, { env = {}, interruptAfter, interruptAt }: Run = {}) =>
  new Promise<Ended>((resolve) => {
    const child = spawn(process.execPath, [program("effect-sqs"), ...args], {
      env: { ...bare, ...env },
      cwd: source("../../..")
    })
    let out = ""
    let err = ""
    let isInterrupted = false
    // once: a second Ctrl-C ends it on the spot
    const interrupt = () => {
      if (!isInterrupted) child.kill("SIGINT")
      isInterrupted = true
    }
    void interruptAfter?.then(interrupt)
    child.stdout.on("data", (chunk) => (out += String(chunk)))
    child.stderr.on("data", (chunk) => {
      err += String(chunk)
      if (interruptAt?.test(err) === true) interrupt()
    })
    child.on("close", (code) => resolve({ code, out, err }))
  })

/** The same without a process of its own, for what is refused before anything begins. */
const inProcess = async (args: ReadonlyArray<string>): Promise<Ended> => {
  let out = ""
  let err = ""
  const code = await Effect.runPromise(
    Console.consoleWith((given) =>
      Effect.withConsole(Main.run(["node", "effect-sqs", ...args]), {
        ...given,
        log: (text: string) => Effect.sync(() => void (out += `${text}\n`)),
        error: (text: string) => Effect.sync(() => void (err += `${text}\n`))
      })
    )
  )
  return { code, out, err }
}

/** Few at a time: each is a process. */
const all = async (runs: ReadonlyArray<() => Promise<Ended>>): Promise<ReadonlyArray<Ended>> => {
  const ended: Array<Ended> = []
  for (let i = 0; i < runs.length; i += 2) ended.push(...(await Promise.all(runs.slice(i, i + 2).map((r) => r()))))
  return ended
}

const serve = (...args: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, [program("sqs"), "--port", "0", ...args])
  const url = new Promise<string>((resolve, reject) => {
    let out = ""
    child.stdout.on("data", (chunk) => {
      out += String(chunk)
      const found = /AWS_ENDPOINT_URL_SQS=(http:\/\/127\.0\.0\.1:\d+)/.exec(out)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.on("close", () => reject(new Error(`the server ended: ${out}`)))
  })
  return { url, stop: () => child.kill() }
}

/** The last thing that a doctor does before it waits is to probe the permissions. */
const untilProbed = async (url: string): Promise<void> => {
  for (;;) {
    const journal = await (await fetch(`${url}/_journal`)).text()
    if (["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility"].every((name) => journal.includes(name))) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const noTrace = ({ err, out }: Ended) => assert.notMatch(out + err, /^\s+at |node:internal|Error:/m)

const servers = [
  serve(
    ...["--queue", "dead,MessageRetentionPeriod=1209600", "--queue", "jobs,VisibilityTimeout=60"],
    ...["--dlq", "jobs:dead:5", "--queue", "lone"]
  ),
  serve("--queue", "jobs", "--deny", "sqs:GetQueueUrl"),
  serve("--queue", "jobs", "--deny", "sqs:GetQueueAttributes"),
  serve("--queue", "jobs")
]
let endpoint = ""
let denying = ""
let unreadable = ""
let stopping = ""
let folder = ""

beforeAll(async () => {
  ;[endpoint, denying, unreadable, stopping] = (await Promise.all(servers.map((s) => s.url))) as [
    string,
    string,
    string,
    string
  ]
  folder = await mkdtemp(path.join(tmpdir(), "effect-sqs-"))
}, 120_000)

afterAll(async () => {
  for (const { stop } of servers) stop()
  await rm(folder, { recursive: true })
})

const long = { timeout: 300_000 }

describe("effect-sqs", () => {
  it("explains itself: the commands, their flags, the exit codes, completions", long, async () => {
    const [alone, help, plan, completions] = await all([
      () => run([]),
      () => run(["--help"]),
      () => run(["plan", "--help"]),
      () => run(["--completions", "bash"])
    ])
    assert.deepStrictEqual([alone!.code, alone!.out], [help!.code, help!.out])
    for (const word of ["plan", "doctor", "dlq", "lab", "EXIT CODES", "130  stopped"]) assert.include(help!.out, word)
    for (const flag of ["visibility", "heartbeat", "change", "run", "runs", "from", "price", "svg", "json"]) {
      assert.include(plan!.out, `--${flag}`)
    }
    assert.include(completions!.out, "doctor")
    for (const ended of [alone!, help!, plan!, completions!]) {
      assert.deepStrictEqual([ended.code, ended.err], [0, ""])
      assert.notInclude(ended.out, "\u001b", "no colours: it is no terminal")
    }
  })

  it("plan draws, writes a picture, and answers as JSON", long, async () => {
    const svg = path.join(folder, "plan.svg")
    const runs = path.join(folder, "runs.txt")
    await writeFile(runs, "20\n45\n90\n")
    const [text, json, coloured] = await all([
      () => run(["plan", "--visibility", "30s", "--run", "90s", "--svg", svg]),
      () => run(["plan", "--visibility", "60", "--change", "20=60", "--change", "70=60", "--runs", runs, "--json"]),
      () => run(["plan", "--run", "45s"], { env: { FORCE_COLOR: "1" } })
    ])
    assert.deepStrictEqual([text!.code, text!.err], [0, ""])
    assert.include(text!.out, "1m: from 30s to 1m 30s two workers or more are at the same job")
    assert.match(await readFile(svg, "utf8"), /^<svg /)
    const { timeline } = JSON.parse(json!.out) as { timeline: { extensions: Array<{ hiddenUntilSeconds: number }> } }
    assert.deepStrictEqual(
      timeline.extensions.map((e) => e.hiddenUntilSeconds),
      [80, 130]
    )
    assert.include(coloured!.out, "\u001b[1m")
  })

  it("doctor tells a queue in order from one that is not, by its exit code too", long, async () => {
    const [healthy, broken, json] = await all([
      () => run(["doctor", "--endpoint", endpoint, "--queue", "jobs", "--wait", "100ms"]),
      () => run(["doctor", "--queue", `${endpoint}/000000000000/lone`, "--wait", "0"]),
      () => run(["doctor", "--endpoint", endpoint, "--queue", "lone", "--wait", "0", "--json"])
    ])
    assert.deepStrictEqual([healthy!.code, healthy!.err], [0, ""])
    assert.include(healthy!.out, "✓ In order")
    assert.deepStrictEqual([broken!.code, broken!.err], [1, ""])
    assert.include(broken!.out, "✗ fault: There is no dead-letter queue.")
    assert.include(broken!.out, `--endpoint-url ${endpoint}`)
    const report = JSON.parse(json!.out) as { findings: Array<{ id: string }> }
    assert.deepStrictEqual([json!.code, report.findings.map((f) => f.id)], [1, ["no-dead-letter-queue"]])
  })

  const wrong: ReadonlyArray<{
    readonly title: string
    readonly args: () => ReadonlyArray<string>
    readonly env?: Record<string, string>
    readonly code: number
    readonly says: RegExp
  }> = [
    {
      title: "a queue that does not exist",
      args: () => ["doctor", "--endpoint", endpoint, "--queue", "nope"],
      code: 3,
      says: /^There is no queue nope at http:.*: check --queue, --region, --endpoint and the account .*\n$/
    },
    {
      title: "a URL of a queue that does not exist",
      args: () => ["doctor", "--queue", `${endpoint}/000000000000/nope`],
      code: 3,
      says: /^There is no queue nope at http:/
    },
    {
      title: "an endpoint that nobody listens on",
      args: () => ["doctor", "--endpoint", "http://127.0.0.1:9", "--queue", "jobs"],
      code: 3,
      says: /^http:\/\/127\.0\.0\.1:9 cannot be reached \(ECONNREFUSED\): check --endpoint, and that it is running\.\n$/
    },
    {
      title: "an endpoint that is no URL",
      args: () => ["doctor", "--endpoint", "localhost:9324", "--queue", "jobs"],
      code: 2,
      says: /^--endpoint localhost:9324: expected a URL as http:\/\/localhost:9324\./
    },
    {
      title: "no region",
      args: () => ["doctor", "--queue", "jobs"],
      code: 3,
      says: /^No region is known: give --region, or set AWS_REGION\.\n$/
    },
    {
      title: "a region that the URL does not agree with",
      args: () => [
        ...["doctor", "--region", "us-east-1"],
        ...["--queue", "https://sqs.eu-west-1.amazonaws.com/000000000000/jobs"]
      ],
      code: 2,
      says: /^The queue's URL is of region eu-west-1, but --region says us-east-1: leave --region out/
    },
    {
      title: "no credentials",
      args: () => ["doctor", "--queue", "jobs", "--region", "eu-west-1"],
      code: 3,
      says: /^No credentials were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY\.\n$/
    },
    {
      title: "a profile that is not there",
      args: () => ["doctor", "--queue", "jobs", "--region", "eu-west-1"],
      env: { AWS_PROFILE: "nobody" },
      code: 3,
      says: /^No credentials were found: set AWS_PROFILE/
    },
    {
      title: "no permission to look the queue up",
      args: () => ["doctor", "--endpoint", denying, "--queue", "jobs"],
      code: 3,
      says: /^sqs:GetQueueUrl on jobs is not allowed: let the policy of these credentials allow it, or use others/
    },
    { title: "no queue", args: () => ["doctor"], code: 2, says: /^Expected to find option: '--queue'/ },
    {
      title: "a queue's name that cannot be",
      args: () => ["doctor", "--queue", "no pe"],
      code: 2,
      says: /^--queue no pe: expected the name of a queue, or its URL\./
    },
    { title: "a command that there is not", args: () => ["plam"], code: 2, says: /Invalid subcommand for effect-sqs/ },
    {
      title: "no run time",
      args: () => ["plan", "--visibility", "30s"],
      code: 2,
      says: /^Give the run time by one of --run 90s, --runs FILE and --from FILE\. See --help\.\n$/
    },
    {
      title: "a duration that is none",
      args: () => ["plan", "--run", "soon"],
      code: 2,
      says: /^--run soon: expected a duration as 90s, 2m, 1\.5h or 500ms\./
    },
    {
      title: "a file that is not there",
      args: () => ["plan", "--from", "/nonexistent/metrics.json"],
      code: 2,
      says: /^\/nonexistent\/metrics\.json cannot be read: it, or its directory, does not exist\.\n$/
    },
    {
      title: "a file that cannot be written",
      args: () => ["plan", "--run", "9s", "--svg", "/nonexistent/plan.svg"],
      code: 2,
      says: /^\/nonexistent\/plan\.svg cannot be written: it, or its directory, does not exist\.\n$/
    },
    {
      title: "a set of options that a consumer refuses",
      args: () => ["lab", "--run", "9s", "--set", "odd:visibility=30s,heartbeat=40s"],
      code: 2,
      says: /^odd: lease\.heartbeat must be shorter than visibility/
    }
  ]
  for (const { args, code, env = {}, says, title } of wrong) {
    it(`${title}: a sentence that says what to do, and exit code ${code}`, long, async () => {
      const ended = code === 2 ? await inProcess(args()) : await run(args(), { env })
      assert.match(ended.err, says)
      assert.deepStrictEqual([ended.code, ended.out], [code, ""])
      noTrace(ended)
    })
  }

  it("no permission to read a queue: what could not be seen is said", long, async () => {
    const ended = await run(["doctor", "--endpoint", unreadable, "--queue", "jobs"])
    assert.include(ended.out, "? unseen: sqs:GetQueueAttributes on jobs is not allowed to these credentials.")
    assert.deepStrictEqual([ended.code, ended.err], [1, ""])
    noTrace(ended)
  })

  it("lab gives the same numbers twice", long, async () => {
    const args = [
      "lab",
      "--run",
      "10s..50s",
      "--workers",
      "2",
      "--for",
      "5m",
      "--crashes",
      "6",
      "--seed",
      "x",
      "--json"
    ]
    const [first, second] = await all([() => run(args), () => run(args)])
    assert.strictEqual(first!.code, 0)
    assert.deepStrictEqual(first, second)
    assert.lengthOf((JSON.parse(first!.out) as { trials: Array<unknown> }).trials, 2)
  })

  it("Ctrl-C in the middle: it stops, says so, and exits with 130", long, async () => {
    const ended = await all([
      () =>
        run(["lab", "--run", "60s", "--workers", "20", "--for", "1000h", "--rate", "0.1", "--progress"], {
          interruptAt: /of the jobs sent/
        }),
      () =>
        run(["doctor", "--endpoint", stopping, "--queue", "jobs", "--wait", "10m"], {
          interruptAfter: untilProbed(stopping)
        })
    ])
    for (const one of ended) {
      assert.strictEqual(one.code, 130)
      assert.match(one.err, /Stopped\.\n$/)
      assert.strictEqual(one.out, "")
      noTrace(one)
    }
  })

  it("a reader that has seen enough ends it without a word", long, async () => {
    const ended = await new Promise<Ended>((resolve) => {
      const child = spawn(process.execPath, [program("effect-sqs"), "plan", "--run", "90s"], {
        env: bare,
        cwd: source("../../..")
      })
      child.stdout.destroy()
      let err = ""
      child.stderr.on("data", (chunk) => (err += String(chunk)))
      child.on("close", (code) => resolve({ code, out: "", err }))
    })
    assert.deepStrictEqual([ended.code, ended.err], [0, ""])
  })
})
