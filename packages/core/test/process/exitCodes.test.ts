import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const script = fileURLToPath(new URL("worker.ts", import.meta.url))

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly output: string
}

/** Starts the worker; `onRunning` is called when its handler runs. */
const start = (kind: string, drainSeconds: number, onRunning: (kill: () => void) => void): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [
      "--conditions=@effect-sqs/source",
      "--import",
      "tsx",
      script,
      kind,
      String(drainSeconds)
    ])
    let output = ""
    let seen = false
    const hear = (chunk: Buffer) => {
      output += chunk.toString()
      if (seen || !output.includes("running\n")) return
      seen = true
      onRunning(() => child.kill("SIGTERM"))
    }
    child.stdout.on("data", hear)
    child.stderr.on("data", hear)
    child.on("error", reject)
    child.on("close", (code, signal) => resolve({ code, signal, output }))
  })

// starting a process is most of it: all at once
describe.concurrent("a worker's process", { timeout: 300_000 }, () => {
  it("D10 SIGTERM and a clean drain: exit code 0", async () => {
    const ended = await start("short", 30, (kill) => kill())
    assert.strictEqual(ended.code, 0, ended.output)
    assert.include(ended.output, "left: 0 visible, 0 in flight")
    assert.include(ended.output, "jobs: drained in")
  })

  it("D10 SIGTERM and handlers cut at the deadline: exit code other than 0, messages released", async () => {
    const ended = await start("endless", 1, (kill) => kill())
    assert.strictEqual(ended.code, 1, ended.output)
    assert.include(ended.output, "left: 1 visible, 0 in flight")
    assert.match(ended.output, /drain not complete.*1 delivery\n.*: interrupted/)
  })

  it("D11 a handler that cannot be interrupted does not keep the process: exit code other than 0", async () => {
    const ended = await start("stubborn", 1, (kill) => kill())
    assert.strictEqual(ended.code, 1, ended.output)
    assert.match(ended.output, /drain not complete.*1 delivery\n.*: abandoned/)
  })

  it("D6 a second SIGTERM ends the process at once", async () => {
    const ended = await start("stubborn", 600, (kill) => {
      kill()
      const again = setInterval(kill, 200)
      again.unref()
    })
    assert.notStrictEqual(ended.code, 0, ended.output)
    assert.notInclude(ended.output, "drain not complete")
  })
})
