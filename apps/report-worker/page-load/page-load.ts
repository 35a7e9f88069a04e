/**
 * The operations page under load, in a real Chromium:
 *
 *   npm run page-load -- --jobs 1000 --leases 100 --events 500 --seconds 10
 *
 * The app's own server, in a process of its own, has so many jobs in its database and so many deliveries in hand, and publishes so
 * many changes a second: beats, progress, deliveries that end and come, and jobs that are written into the database. It measures
 * the part Now, then the list of all jobs, then Now again while another client has opened the stream of events and never reads.
 * Exit code 1 when a bound is not kept. It needs Chromium (Debian: chromium).
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { fork } from "node:child_process"
import { once } from "node:events"
import { connect } from "node:net"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import type { Browser, Page } from "playwright-core"
import { browser } from "../test-browser/browser.js"
import * as Probe from "./Probe.js"
import type { Published, Ready, Reply, Request, Size } from "./Protocol.js"
import * as Trace from "./Trace.js"

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "1000" },
    leases: { type: "string", default: "100" },
    events: { type: "string", default: "500" },
    seconds: { type: "string", default: "10" }
  }
})

const whole = (name: keyof typeof values, most: number): number => {
  const n = Number(values[name])
  if (Number.isInteger(n) && n >= 1 && n <= most) return n
  process.stderr.write(`--${name} ${values[name]}: a whole number from 1 to ${most} is needed\n`)
  process.exit(2)
}
const size: Size = {
  jobs: whole("jobs", 1000),
  leases: whole("leases", 500),
  events: whole("events", 2000),
  seconds: whole("seconds", 60)
}

const longTaskMs = 50
const latencyMs = 250
/** that a client which never reads may cost a publisher: of the time without it */
const slowdown = 1.5
/** what a client that never reads may hold */
const heldBytes = 16 * 2 ** 20
/** more than its connection holds, wherever that is */
const floodChanges = 20_000

type Asked = Request extends infer R ? (R extends Request ? Omit<R, "id"> : never) : never

/** the process with the server, and how it is asked */
const server = Effect.gen(function* () {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      fork(fileURLToPath(new URL("server.ts", import.meta.url)), [JSON.stringify(size)], {
        execArgv: ["--expose-gc", "--conditions=@effect-sqs/source", "--import=tsx"]
      })
    ),
    (started) => Effect.sync(() => started.kill("SIGKILL"))
  )
  const replies = new Map<number, (reply: Reply) => void>()
  const [{ url }] = yield* Effect.promise(() => once(child, "message") as Promise<[Ready]>)
  child.on("message", (reply: Reply) => replies.get(reply.id)?.(reply))
  child.on("exit", (code) => {
    process.stderr.write(`the process with the server ended (${code})\n`)
    process.exit(1)
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => child.removeAllListeners("exit")))
  let count = 0
  const ask = (request: Asked) =>
    Effect.promise(
      () =>
        new Promise<Reply>((resolve) => {
          const id = count++
          replies.set(id, resolve)
          child.send({ ...request, id })
        })
    )
  const published = (reply: Reply) => reply.published!
  return {
    url,
    publish: (seconds: number) => Effect.map(ask({ ask: "publish", seconds }), published),
    flood: Effect.map(ask({ ask: "flood", changes: floodChanges }), published),
    memory: Effect.map(ask({ ask: "memory" }), (reply) => reply.bytes!)
  }
})

type Server = Effect.Effect.Success<typeof server>

/** a client that asks for the events, and then reads nothing at all */
const deaf = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const { host, hostname, port } = new URL(url)
      const socket = connect({ host: hostname, port: Number(port) })
      socket.pause()
      socket.on("error", () => undefined)
      await once(socket, "connect")
      socket.write(`GET /api/events HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      return socket
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

const opened = (from: Browser, url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const context = await from.newContext({ viewport: { width: 1280, height: 900 }, locale: "en-GB" })
      const page = await context.newPage()
      page.setDefaultTimeout(60_000)
      await Probe.put(page)
      await page.goto(url)
      return page
    }),
    (page) => Effect.promise(() => page.context().close())
  )

const rows = { now: "ul .lease:not(.over)", jobs: "tbody tr" }

/** all rows are there that are asked for */
const filled = async (part: keyof typeof rows, page: Page) => {
  const all = page.locator(rows[part])
  await all.first().waitFor()
  const more = page.getByRole("button", { name: "More" })
  for (;;) {
    const n = await all.count()
    if (n >= size[part === "now" ? "leases" : "jobs"]) return n
    if (part === "jobs") await more.click()
    await all.nth(n).waitFor()
  }
}

interface Spread {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

const spreadOf = (numbers: ReadonlyArray<number>): Spread => {
  const sorted = [...numbers].sort((a, b) => a - b)
  const at = (p: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? NaN
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}

/** how long it took to those that came */
const delays = (
  published: ReadonlyArray<readonly [string | number, number]>,
  came: ReadonlyArray<readonly [string | number, number]>
) => {
  const at = new Map(published)
  return spreadOf(came.flatMap(([key, seen]) => (at.has(key) ? [seen - at.get(key)!] : [])))
}

interface Measured {
  readonly name: string
  readonly shown: number
  readonly published: Published
  readonly tasks: ReadonlyArray<Trace.Task>
  readonly longTasks: Probe.Noted["longTasks"]
  readonly arrived: Spread
  readonly drawn: Spread
  readonly painted: Spread
  readonly listed: Spread
}

const measure = (name: string, part: keyof typeof rows, from: Browser, { publish, url }: Server) =>
  Effect.scoped(
    Effect.gen(function* () {
      const page = yield* opened(from, `${url}/#/${part}`)
      const shown = yield* Effect.promise(() => filled(part, page))
      // what opening it costs is over, and its code is warm
      yield* publish(2)
      yield* Effect.promise(() => page.evaluate("scrollTo(0, 0)"))
      yield* Effect.promise(() => Probe.clear(page))
      yield* Effect.promise(() => Trace.start(from, page))
      const published = yield* publish(size.seconds)
      yield* Effect.sleep("300 millis")
      const tasks = yield* Effect.promise(() => Trace.stop(from))
      const noted = yield* Effect.promise(() => Probe.read(page))
      // one that was published while its row was out of sight is drawn when the row comes into sight
      const publishedAt = new Map(published.beats)
      const beats = noted.beats.filter(([beat, , , inSight]) => (publishedAt.get(beat) ?? Infinity) > inSight)
      return {
        name,
        shown,
        published,
        tasks,
        longTasks: noted.longTasks,
        arrived: delays(published.stamps, noted.arrived),
        drawn: delays(
          published.beats,
          beats.map(([beat, at]) => [beat, at])
        ),
        painted: delays(
          published.beats,
          beats.map(([beat, , at]) => [beat, at])
        ),
        listed: delays(published.finished, noted.finished)
      } satisfies Measured
    })
  )

const ms = (n: number) => (n < 10 ? n.toFixed(1) : n.toFixed(0))
const spread = ({ count, max, p50, p99 }: Spread) =>
  count === 0 ? "–" : `p50 ${ms(p50)}  p99 ${ms(p99)}  longest ${ms(max)} ms  (${count})`

const taskText = ({ ms: took, parts, processorMs }: Trace.Task) =>
  `${ms(took)} ms (${ms(processorMs)} of processor: ${parts.map(([what, n]) => `${what} ${ms(n)}`).join(", ")})`

const microsOf = ({ changes, publisherMs }: Published) => (1000 * publisherMs) / changes

const linesOf = (m: Measured): ReadonlyArray<readonly [string, string]> => [
  ["rows", String(m.shown)],
  ["changes published", `${m.published.changes} in ${(m.published.tookMs / 1000).toFixed(1)} s`],
  [`tasks above ${longTaskMs} ms`, `${m.tasks.filter((task) => task.ms > longTaskMs).length} of ${m.tasks.length}`],
  ["longest tasks", m.tasks.slice(0, 3).map(taskText).join("\n")],
  ["longest by processor", taskText(m.tasks.reduce((a, b) => (b.processorMs > a.processorMs ? b : a)))],
  ["change to event in the page", spread(m.arrived)],
  ...(m.drawn.count === 0 ? [] : [["change to timeline", spread(m.drawn)] as const]),
  ...(m.painted.count === 0 ? [] : [["change to screen", spread(m.painted)] as const]),
  ...(m.listed.count === 0 ? [] : [["end of a job to its row", spread(m.listed)] as const]),
  ["publishing a change", `${microsOf(m.published).toFixed(0)} µs, longest turn ${ms(m.published.longestMs)} ms`],
  ["event loop of the server", `p99 ${ms(m.published.loopMs[0]!)} ms late, longest ${ms(m.published.loopMs[1]!)} ms`]
]

const table = (title: string, lines: ReadonlyArray<readonly [string, string]>) =>
  [title, ...lines.map(([name, text]) => `  ${name.padEnd(28)} ${text.replaceAll("\n", `\n${" ".repeat(31)}`)}`)].join(
    "\n"
  )

const faultsOf = (m: Measured): ReadonlyArray<string> => {
  const longest = Math.max(m.tasks[0]!.ms, ...m.longTasks.map((task) => task.ms))
  const busiest = Math.max(...m.tasks.map((task) => task.processorMs))
  const late = Math.max(m.arrived.max, m.drawn.count === 0 ? 0 : m.drawn.max)
  const wantedBeats = m.drawn.count === 0 && m.name !== "Jobs"
  return [
    ...(longest > longTaskMs
      ? [
          `${m.name}: a task of ${ms(longest)} ms, at most ${longTaskMs} are allowed` +
            (busiest <= longTaskMs
              ? ` (none had the processor for more than ${ms(busiest)} ms: this machine is busy with something else)`
              : "")
        ]
      : []),
    ...(late > latencyMs ? [`${m.name}: a change took ${ms(late)} ms, at most ${latencyMs} are allowed`] : []),
    ...(m.arrived.count < m.published.stamps.length
      ? [
          `${m.name}: ${m.published.stamps.length - m.arrived.count} of ${m.published.stamps.length} changes did not come`
        ]
      : []),
    ...(wantedBeats ? [`${m.name}: no beat was seen on the timeline`] : []),
    ...(m.published.tookMs > size.seconds * 1100
      ? [`${m.name}: this machine did not publish ${size.events} changes a second`]
      : [])
  ]
}

const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

const program = Effect.gen(function* () {
  const from = yield* browser
  const site = yield* server
  const now = yield* measure("Now", "now", from, site)
  yield* Console.log(table("Now", linesOf(now)))
  const jobs = yield* measure("Jobs", "jobs", from, site)
  yield* Console.log(table("Jobs", linesOf(jobs)))

  // a first one makes the code fast
  yield* site.flood
  const without = yield* site.flood
  const before = yield* site.memory
  yield* deaf(site.url)
  yield* Effect.sleep("500 millis")
  const withIt = yield* site.flood
  const after = yield* site.memory
  yield* site.flood
  const later = yield* site.memory
  const both = yield* measure("Now, beside a client that never reads", "now", from, site)
  yield* Console.log(table(both.name, linesOf(both)))
  yield* Console.log(
    table("A client that never reads", [
      [
        `${floodChanges} changes at once`,
        `${microsOf(withIt).toFixed(1)} µs each, without it ${microsOf(without).toFixed(1)}`
      ],
      ["memory of the server", `${mib(after - before)} more, ${mib(later - before)} after as many changes again`]
    ])
  )

  const faults = [
    ...[now, jobs, both].flatMap(faultsOf),
    ...(microsOf(both.published) > slowdown * microsOf(now.published) + 20
      ? [`a client that never reads makes publishing slower: ${microsOf(both.published).toFixed(0)} µs a change`]
      : []),
    ...(Math.max(after, later) - before > heldBytes
      ? [
          `a client that never reads holds ${mib(Math.max(after, later) - before)}, at most ${mib(heldBytes)} are allowed`
        ]
      : [])
  ]
  yield* Console.log(faults.length === 0 ? "\nall bounds are kept" : `\nNOT KEPT\n${faults.join("\n")}`)
  yield* Effect.sync(() => void (process.exitCode = faults.length === 0 ? 0 : 1))
}).pipe(Effect.scoped)

NodeRuntime.runMain(program)
