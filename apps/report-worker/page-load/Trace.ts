/** The browser's own record of what the thread of a page did. */
import type { Browser, Page } from "playwright-core"

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  /** µs */
  readonly ts: number
  readonly dur?: number
  /** µs that the thread had the processor */
  readonly tdur?: number
  readonly args: { readonly name?: string }
}

export interface Task {
  readonly ms: number
  /** of these, how long it had the processor */
  readonly processorMs: number
  /** what it was busy with, the longest first */
  readonly parts: ReadonlyArray<readonly [what: string, ms: number]>
}

const categories = [
  "-*",
  "devtools.timeline",
  "disabled-by-default-devtools.timeline",
  "v8.execute",
  "blink.user_timing"
]

export const start = (browser: Browser, page: Page) => browser.startTracing(page, { categories })

const kinds: Readonly<Record<string, string>> = {
  FunctionCall: "script",
  EvaluateScript: "script",
  EventDispatch: "script",
  TimerFire: "script",
  FireAnimationFrame: "script",
  RunMicrotasks: "script",
  "v8.callFunction": "script",
  UpdateLayoutTree: "style",
  Layout: "layout",
  PrePaint: "before paint",
  Paint: "paint",
  Layerize: "layers",
  UpdateLayer: "layers",
  Commit: "commit",
  MinorGC: "collection",
  MajorGC: "collection",
  "V8.GC_MC_BACKGROUND_MARKING": "collection"
}

/** a span's own time is what its inner ones leave of it */
const partsOf = (inner: ReadonlyArray<TraceEvent>): Task["parts"] => {
  const ms = new Map<string, number>()
  const add = (name: string, us: number) => {
    const kind = kinds[name]
    if (kind !== undefined) ms.set(kind, (ms.get(kind) ?? 0) + us / 1000)
  }
  const open: Array<TraceEvent> = []
  for (const event of inner) {
    if (kinds[event.name] === undefined) continue
    while (open.length > 0 && open.at(-1)!.ts + open.at(-1)!.dur! <= event.ts) open.pop()
    const outer = open.at(-1)
    if (outer !== undefined) add(outer.name, -event.dur!)
    add(event.name, event.dur!)
    open.push(event)
  }
  return [...ms].filter(([, n]) => n >= 0.1).sort(([, a], [, b]) => b - a)
}

/** All tasks of the page's thread, the longest first. */
export const stop = async (browser: Browser): Promise<ReadonlyArray<Task>> => {
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString("utf8")) as {
    readonly traceEvents: ReadonlyArray<TraceEvent>
  }
  const threads = traceEvents
    .filter(({ args, name, ph }) => ph === "M" && name === "thread_name" && args.name === "CrRendererMain")
    .map(({ pid, tid }) => {
      const own = traceEvents
        .filter((e) => e.ph === "X" && e.pid === pid && e.tid === tid && e.dur !== undefined)
        .sort((a, b) => a.ts - b.ts || b.dur! - a.dur!)
      return { own, tasks: own.filter(({ name }) => name === "RunTask") }
    })
  // a browser keeps an idle thread for the next page
  const busiest = threads.sort((a, b) => b.tasks.length - a.tasks.length)[0]
  if (busiest === undefined || busiest.tasks.length === 0) throw new Error("the trace has no task of the page")
  const { own, tasks } = busiest
  let i = 0
  return tasks
    .map((task) => {
      const inner: Array<TraceEvent> = []
      while (i < own.length && own[i]!.ts < task.ts + task.dur!) {
        if (own[i]!.ts >= task.ts && own[i] !== task) inner.push(own[i]!)
        i++
      }
      return { ms: task.dur! / 1000, processorMs: (task.tdur ?? task.dur!) / 1000, parts: partsOf(inner) }
    })
    .sort((a, b) => b.ms - a.ms)
}
