/**
 * The processes of a benchmark: the server, and one for each run of a subject.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import type { Measured } from "./Meter.js"
import type { ScenarioRun } from "./Scenarios.js"
import type { Command } from "./server.js"
import { idealMs } from "./Work.js"

/** What one run gave: measured in its process, and seen by the server. */
export interface Row extends Measured {
  readonly label: string
  readonly requestsPerMessage: number
  /** makespan over that of a perfect schedule; `undefined` when handlers end at once */
  readonly overIdeal: number | undefined
}

const script = (name: string) => fileURLToPath(new URL(`./${name}.js`, import.meta.url))

type Child = ChildProcessByStdio<Writable, Readable, null>

const start = (name: string, args: ReadonlyArray<string>): Child =>
  spawn(process.execPath, ["--expose-gc", script(name), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true" }
  })

/** The lines that a child prints, one after the other; `undefined` when it has ended. */
const linesOf = (child: Child) => {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return async (): Promise<any> => {
    const line = await lines.next()
    if (line.done === true)
      throw new Error(`a process of the benchmark has ended: ${child.spawnargs.slice(1).join(" ")}`)
    return JSON.parse(line.value)
  }
}

/** Runs a program that prints one line of JSON. */
export const runOnce = async <A>(name: string, argument: unknown): Promise<A> => {
  const child = start(name, [JSON.stringify(argument)])
  try {
    return await linesOf(child)()
  } finally {
    child.kill()
  }
}

export class Server {
  private queues = 0

  private constructor(
    private readonly child: Child,
    private readonly next: () => Promise<any>,
    readonly endpoint: string
  ) {}

  static async start(latencyMs: number): Promise<Server> {
    const child = start("server", [String(latencyMs)])
    const next = linesOf(child)
    return new Server(child, next, await next())
  }

  async ask<A>(command: Command): Promise<A> {
    this.child.stdin.write(`${JSON.stringify(command)}\n`)
    return (await this.next()) as A
  }

  /** One subject works off a queue of its own. */
  async run({ concurrency, count, label, subject, warm, work }: ScenarioRun): Promise<Row> {
    const queue = `bench-${++this.queues}`
    const queueUrl = await this.ask<string>({ do: "fill", queue, work, count })
    const { endpoint } = this
    const measured = await runOnce<Measured>("subject", { subject, endpoint, queueUrl, concurrency, work, count, warm })
    const requests = await this.ask<Record<string, number>>({ do: "requests" })
    await this.ask({ do: "drop", queue })
    const total = Object.values(requests).reduce((sum, n) => sum + n, 0)
    const ideal = idealMs(work, count, concurrency)
    return {
      label,
      ...measured,
      requestsPerMessage: total / count,
      overIdeal: work.kind === "uneven" ? measured.makespanMs / ideal : undefined
    }
  }

  stop(): void {
    this.child.stdin.end()
  }
}
