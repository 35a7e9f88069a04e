/**
 * How late the timers of this process are, and why: because something here blocked, or because the machine gave the CPU to
 * others. Linux tells the second (`schedstat`: time on a run queue); elsewhere it is counted as the first.
 */
import * as fs from "node:fs"
import { createRequire } from "node:module"

/** ms that the main thread has waited for a CPU so far */
const waitedMs = (): number => {
  try {
    const [, waited] = fs.readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")
    return Number(waited) / 1e6
  } catch {
    return 0
  }
}

/** wall time of `f`, and the same without what it waited for a CPU */
const timed = <A>(f: () => A, tell: (ms: number, ownMs: number) => void): A => {
  const waited = waitedMs()
  const from = performance.now()
  try {
    return f()
  } finally {
    const ms = performance.now() - from
    tell(ms, ms - (waitedMs() - waited))
  }
}

const calls = { count: 0, longestMs: 0, longestOwnMs: 0 }

/** watches the calls that the SQLite driver makes: each is synchronous, and blocks the loop for as long as it takes */
const watchCalls = (prototype: Record<string, any>, methods: ReadonlyArray<string>) => {
  for (const method of methods) {
    const original = prototype[method] as (...args: Array<unknown>) => unknown
    prototype[method] = function (this: unknown, ...args: Array<unknown>) {
      return timed(
        () => original.apply(this, args),
        (ms, ownMs) => {
          calls.count++
          calls.longestMs = Math.max(calls.longestMs, ms)
          calls.longestOwnMs = Math.max(calls.longestOwnMs, ownMs)
        }
      )
    }
  }
}

export const watchSqlite = () => {
  const Database = createRequire(createRequire(import.meta.url).resolve("@libsql/client"))("libsql") as {
    new (path: string): { prepare: (sql: string) => object; close: () => void }
    prototype: Record<string, any>
  }
  const database = new Database(":memory:")
  watchCalls(Object.getPrototypeOf(database.prepare("SELECT 1")) as Record<string, any>, [
    "run",
    "all",
    "iterate",
    "get"
  ])
  database.close()
  watchCalls(Database.prototype, ["prepare", "exec", "close"])
}

const everyMs = 5

/** a timer every 5 ms, until it is asked for what it saw */
export const watchLoop = () => {
  const late: Array<number> = []
  const own: Array<number> = []
  let last = performance.now()
  let waited = waitedMs()
  const timer = setInterval(() => {
    const now = performance.now()
    const waitedNow = waitedMs()
    late.push(Math.max(0, now - last - everyMs))
    own.push(Math.max(0, now - last - everyMs - (waitedNow - waited)))
    last = now
    waited = waitedNow
  }, everyMs)
  const shape = (values: Array<number>) => {
    const sorted = values.sort((a, b) => a - b)
    const at = (part: number) => Math.round(10 * (sorted[Math.floor(part * (sorted.length - 1))] ?? 0)) / 10
    return { p50: at(0.5), p99: at(0.99), max: at(1) }
  }
  return () => {
    clearInterval(timer)
    return { lateMs: shape(late), lateMsWithoutWaitingForACpu: shape(own), sqliteCalls: calls }
  }
}
