/** Worker processes that are killed without warning and started again. */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createWriteStream } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"

/** the built program: it starts faster than from source, and is what a deploy has */
const program = fileURLToPath(new URL("../dist/main.js", import.meta.url))

export interface Workers {
  /**
   * Kills one with SIGKILL, whatever it does; another takes its place at once. Not while fewer than two receive: on a slow
   * machine none would ever get further than its start.
   */
  readonly killOne: Effect.Effect<void>
  readonly kills: () => number
  /** asks all of them to stop in order; answers the exit codes of those that had begun to receive */
  readonly stopAll: Effect.Effect<ReadonlyArray<number | null>>
  /** ends that nobody asked for of workers that had begun to receive: exit codes */
  readonly ownEnds: () => ReadonlyArray<number | null>
  /** workers that could not begin, since SQS or the database was away; another has taken the place */
  readonly failedStarts: () => number
}

/** `count` workers with this environment; what each says is in a file of `folder`. */
export const make = (count: number, environment: (n: number) => Record<string, string>, folder: string) =>
  Effect.gen(function* () {
    const running: Array<ChildProcess> = []
    const receiving = new Set<ChildProcess>()
    const ownEnds: Array<number | null> = []
    let kills = 0
    let failedStarts = 0
    let stopping = false

    const begin = (n: number) => {
      const child = spawn(process.execPath, [program, "worker"], {
        env: { ...process.env, ...environment(n) },
        stdio: ["ignore", "pipe", "pipe"]
      })
      const log = createWriteStream(path.join(folder, `worker-${n}.log`), { flags: "a" })
      child.stdout.pipe(log, { end: false })
      child.stdout.on("data", (said: Buffer) => {
        if (said.includes("waiting for jobs on")) receiving.add(child)
      })
      child.stderr.pipe(log, { end: false })
      child.once("close", (code, signal) => {
        log.end()
        const received = receiving.delete(child)
        if (stopping || signal === "SIGKILL") return
        if (received) ownEnds.push(code)
        else failedStarts++
        running[n] = begin(n)
      })
      return child
    }

    yield* Effect.acquireRelease(
      Effect.sync(() => {
        for (let n = 0; n < count; n++) running[n] = begin(n)
      }),
      () =>
        Effect.sync(() => {
          stopping = true
          running.forEach((child) => child.kill("SIGKILL"))
        })
    )

    const workers: Workers = {
      killOne: Effect.map(Random.next, (drawn) => {
        const alive = [...receiving].sort((a, b) => running.indexOf(a) - running.indexOf(b))
        const child = alive[Math.floor(drawn * alive.length)]
        if (child === undefined || alive.length < Math.min(2, count)) return
        kills++
        receiving.delete(child)
        child.kill("SIGKILL")
        const n = running.indexOf(child)
        running[n] = begin(n)
      }),
      kills: () => kills,
      stopAll: Effect.promise(async () => {
        stopping = true
        const codes = [...receiving].map(async (child) => {
          const closed = once(child, "close") as Promise<[number | null]>
          child.kill("SIGTERM")
          return (await closed)[0]
        })
        return Promise.all(codes)
      }),
      ownEnds: () => ownEnds,
      failedStarts: () => failedStarts
    }
    return workers
  })
